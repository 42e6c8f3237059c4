"""Every touch of something pytest does not promise, in one place, each guarded.

==================================  =========================================================================
what                                why, and what happens when it is gone
==================================  =========================================================================
``Item._id`` (pytest 9.2)           pytest issue 15045: a name with brackets that a plugin gave compares unequal to
                                    the id in the cache, so ``--lf`` ran everything. Absent: nothing to repair.
``Function._fixtureinfo``           tells whether a conftest overrides one of our fixtures, and is shared by the items
                                    of a file (it takes 0.15 ms to find out). Absent: items run inline, nothing shared.
``Item._report_sections``            captured output of an item whose report we build. Absent: it is not shown.
``LogXML.add_global_property``      gates as properties of junit's suite, which only a fixture can set publicly. Absent:
                                    they stand in the terminal and in the JSON only.
``capturemanager`` suspension       gives a screen the real terminal, keyboard included, and lets status lines out in
                                    the middle of an item. Absent: nothing is captured.
``runtestprotocol``                 setup, call and teardown of an item whose start was announced already. Absent: every
                                    item takes pytest's long way.
``logging-plugin`` handlers         keep log records of the engine's thread out of other items. Absent: they show.
``AssertionRewritingHook``          imports the modules of plugins in a slower way (``plugin/_own_imports.py``, because
                                    that must come first). Absent: ours are imported that way.
==================================  =========================================================================

Checked on pytest 8.0 to 9.2.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import pytest

__all__ = [
    "add_suite_property",
    "captured_sections",
    "foreign_fixtures",
    "log_handlers",
    "phases_of_pytest",
    "repair_node_id",
    "shared_fixtures",
    "uncaptured",
]


def phases_of_pytest() -> Callable[..., object] | None:
    """Return what sets an item up, calls it and tears it down, with reports; None when pytest has no such function."""
    import _pytest.runner

    return getattr(_pytest.runner, "runtestprotocol", None)


def repair_node_id(item: pytest.Item) -> None:
    """Give an item whose name holds brackets the structured id that pytest's cache expects."""
    node_id = getattr(item, "_id", None)
    if node_id is not None and hasattr(type(node_id), "parse"):
        item._id = type(node_id).parse(str(node_id))


def add_suite_property(config: pytest.Config, name: str, value: str) -> None:
    """Add a property to the test suite of junit's XML, when that is being written."""
    for plugin in config.pluginmanager.get_plugins():
        add = getattr(plugin, "add_global_property", None)
        if callable(add):
            add(name, value)


@contextmanager
def terminal_for_screens(config: pytest.Config) -> Iterator[None]:
    """Give a full-screen program the real terminal, keyboard included, for the time of the block."""
    capture = config.pluginmanager.get_plugin("capturemanager")
    if capture is None or not capture.is_globally_capturing():
        yield
        return
    capture.suspend_global_capture(in_=True)
    try:
        yield
    finally:
        capture.resume_global_capture()
        capture.suspend_global_capture()


def uncaptured(config: pytest.Config) -> AbstractContextManager[None]:
    """Return a block in which nothing is captured, also in the middle of a test."""
    disabled = getattr(config.pluginmanager.get_plugin("capturemanager"), "global_and_fixture_disabled", nullcontext)
    context: AbstractContextManager[None] = disabled()
    return context


def captured_sections(item: pytest.Item) -> list[tuple[str, str]]:
    """Return what an item printed and logged, as report sections."""
    return [(f"Captured {key} {phase}", text) for phase, key, text in getattr(item, "_report_sections", ())]


def foreign_fixtures(item: pytest.Function) -> dict[str, Any] | None:
    """Return the fixture definitions in an item's closure that come from the user's own files, by fixture name.

    Not foreign: ours, pytest's own and those of installed plugins. None when it cannot be known.
    """
    definitions = getattr(getattr(item, "_fixtureinfo", None), "name2fixturedefs", None)
    if definitions is None:
        return None
    installed = _installed_packages(item.config.pluginmanager)
    found = {}
    for name, chain in definitions.items():
        function = getattr(chain[-1], "func", None)
        module = getattr(function, "__module__", "") or ""
        if module.partition(".")[0] not in installed:
            found[name] = chain[-1]
    return found


def shared_fixtures(twin: pytest.Function) -> dict[str, Any]:
    """Return constructor arguments of an item that asks for the same fixtures as another one of its file."""
    found = getattr(twin, "_fixtureinfo", None)
    return {} if found is None else {"fixtureinfo": found}


@functools.cache
def _installed_packages(manager: pytest.PytestPluginManager) -> frozenset[str]:
    names = {"_pytest", "pytest", "pytest_mindtrial"}
    for plugin, _ in manager.list_plugin_distinfo():
        module = getattr(plugin, "__name__", type(plugin).__module__)
        names.add(module.partition(".")[0])
    return frozenset(names)


def log_handlers(config: pytest.Config) -> list[logging.Handler]:
    """Return the handlers that fill the "Captured log" sections."""
    plugin = config.pluginmanager.get_plugin("logging-plugin")
    handlers = [getattr(plugin, name, None) for name in ("caplog_handler", "report_handler")]
    return [handler for handler in handlers if isinstance(handler, logging.Handler)]
