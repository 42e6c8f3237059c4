"""What a session's options mean for its sandboxes."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_mindtrial.core.secret import Redactor
from pytest_mindtrial.plugin.assembly import attempt_settings
from pytest_mindtrial.plugin.options import read_settings
from pytest_mindtrial.suite.model import Config


def sandbox_of(settings: Any, *, is_worker: bool) -> Any:
    evaluation: Any = SimpleNamespace(settings=settings, is_worker=is_worker)
    return attempt_settings(evaluation, Redactor(), None, None).sandbox(Config(Path("config.yaml"), ()))._settings


@pytest.mark.parametrize(
    "arguments, ini, pulls",
    [((), "", False), (("--mt-docker-pull",), "", True), ((), "mt_docker_pull = true", True)],
)
def test_images_are_fetched_when_option_or_ini_key_say_so(
    pytester: pytest.Pytester, arguments: tuple[str, ...], ini: str, pulls: bool
) -> None:
    pytester.makeini(f"[pytest]\n{ini}\n")
    settings = read_settings(pytester.parseconfig(*arguments))
    assert sandbox_of(settings, is_worker=False).pull is pulls


@pytest.mark.parametrize("is_worker", [True, False])
def test_workers_leave_sweeping_to_the_controller(is_worker: bool) -> None:
    settings = SimpleNamespace(docker_pull=False)
    assert sandbox_of(settings, is_worker=is_worker).sweep is not is_worker
