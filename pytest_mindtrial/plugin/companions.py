"""Columns and extras for pytest-html, parameters and attachments for allure-pytest.

Registered only where those plugins are active; pytest-json-report and junit need nothing but the items' properties
(``plugin/properties.py``). Items never get a ``callspec``: editors take an item that has one for a Python function
(spec field 3.2), so allure is told the run through its own API, and two runs of one task stay two histories.
"""

from __future__ import annotations

import base64
from collections.abc import Generator, Sequence
from html import escape
from typing import Any

import pytest

from pytest_mindtrial.plugin.recorder import active_evaluation

__all__ = ["register_companions"]

_YAML = (".yaml", ".yml")
_COLUMNS = ("Run", "Kind", "Tokens in / out", "Cost")
_AFTER_TEST = 2


def register_companions(config: pytest.Config) -> None:
    """Register what the active report plugins need."""
    if config.getoption("htmlpath", None):
        config.pluginmanager.register(HtmlHooks(config), "mindtrial-html")
    if config.getoption("allure_report_dir", None):
        config.pluginmanager.register(AllureHooks(), "mindtrial-allure")


def _is_ours(item: pytest.Item) -> bool:
    """Tell items of task files from others without importing for sessions that have none."""
    if active_evaluation(item.config) is None:
        return False
    from pytest_mindtrial.plugin.items import TaskItem

    return isinstance(item, TaskItem)


class HtmlHooks:
    """Hooks of pytest-html; its table is touched only in sessions that name a task file or have ``mt_files``."""

    def __init__(self, config: pytest.Config) -> None:
        names_suite = any(argument.partition("::")[0].endswith(_YAML) for argument in config.args)
        self._has_columns = names_suite or bool(config.getini("mt_files"))

    @pytest.hookimpl(optionalhook=True)
    def pytest_html_results_table_header(self, cells: list[str]) -> None:
        """Add our columns after the test's name."""
        if self._has_columns:
            cells[_AFTER_TEST:_AFTER_TEST] = [f"<th>{name}</th>" for name in _COLUMNS]

    @pytest.hookimpl(optionalhook=True)
    def pytest_html_results_table_row(self, report: pytest.TestReport, cells: list[str]) -> None:
        """Fill our columns; empty for other tests."""
        if not self._has_columns or not cells:
            return
        properties = dict(getattr(report, "user_properties", ()))
        if "mt_trace_id" in properties:
            # A task's name is the suite's text, and pytest-html would take it for markup.
            phase = "" if report.when == "call" else f"::{report.when}"
            cells[1] = f'<td class="col-testId">{escape(report.nodeid + phase)}</td>'
        cells[_AFTER_TEST:_AFTER_TEST] = [f"<td>{escape(text)}</td>" for text in _row(properties)]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Attach prompt, answer, diff and picture to the report that decides."""
        report = yield
        if _is_ours(item) and (report.when == "call" or (report.when == "setup" and not report.passed)):
            report.extras = [*getattr(report, "extras", ()), *_extras(item)]
        return report


def _row(properties: dict[str, Any]) -> Sequence[str]:
    if "mt_trace_id" not in properties:
        return [""] * len(_COLUMNS)
    cost = properties.get("mt_cost")
    tokens = (properties.get("mt_input_tokens"), properties.get("mt_output_tokens"))
    return (
        f"{properties['mt_provider']}-{properties['mt_run']}",
        str(properties["mt_kind"]),
        " / ".join("–" if count is None else str(count) for count in tokens),
        "–" if cost is None else f"{cost:.6g} {properties.get('mt_currency', '')}".rstrip(),
    )


def _extras(item: Any) -> list[dict[str, Any]]:
    from pytest_html import extras

    from pytest_mindtrial.plugin.attachments import pictures, texts

    if item.result is None:
        return []
    found = [extras.text(text.content, name=text.name) for text in texts(item, item.result)]
    for picture in pictures(item):
        content = base64.b64encode(picture.content).decode()
        found.append(extras.image(content, "picture", picture.type, picture.extension))
    return found


class AllureHooks:
    """Hooks through which allure learns of our items, also on xdist's workers."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Name the run (and the repeat): allure tells histories apart by parameters."""
        if not _is_ours(item):
            return
        import allure

        task_item: Any = item
        allure.dynamic.parameter("run", f"{task_item.provider.name}-{task_item.run.name}")
        if task_item.repeat is not None:
            allure.dynamic.parameter("repeat", task_item.repeat)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> None:
        """Attach prompt, answer, diff and picture."""
        if not _is_ours(item):
            return
        import allure

        from pytest_mindtrial.plugin.attachments import pictures, texts

        task_item: Any = item
        if task_item.result is None:
            return
        for text in texts(task_item, task_item.result):
            allure.attach(text.content, name=text.name, attachment_type=allure.attachment_type.TEXT)
        for picture in pictures(task_item):
            allure.attach(picture.content, name="picture", attachment_type=picture.type, extension=picture.extension)
