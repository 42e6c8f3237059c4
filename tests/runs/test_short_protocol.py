"""Passed items are reported the short way, and nobody can tell (``plugin/short_protocol.py``)."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.runs.conftest import Project

MIXED = {"answers": {"wrong": "no", "*": "right"}, "faults": {"broken": ["http-500"]}}

SPY = """
    import json
    from pathlib import Path

    REPORTS = []

    def pytest_runtest_logstart(nodeid, location):
        REPORTS.append(["start", nodeid, list(location)])

    def pytest_runtest_logfinish(nodeid, location):
        REPORTS.append(["finish", nodeid, list(location)])

    def pytest_runtest_logreport(report):
        fields = ["nodeid", "when", "outcome", "location", "sections", "user_properties", "longrepr"]
        facts = [str(getattr(report, name)) for name in fields]
        REPORTS.append(["report", *facts, sorted(report.keywords), "model" if report.when == "setup" else ""])

    def pytest_unconfigure(config):
        used = config.pluginmanager.has_plugin("mindtrial-short-protocol")
        Path("spied.json").write_text(json.dumps({"short": used, "reports": REPORTS}))
"""

WATCHING = """
    def pytest_runtest_setup(item):
        pass
"""


SEEING = """
    def see(text):
        with open("seen", "a") as file:
            file.write(text)
"""


def _tasks(*names: str) -> str:
    entries = [
        f"- {{name: {name}, prompt: What?, response-result-format: a word, expected-result: right}}" for name in names
    ]
    return "task-config:\n  tasks:\n    " + "\n    ".join(entries) + "\n"


def _spied(project: Project) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((project.path / "spied.json").read_text())
    return found


def _neutral(reports: list[Any]) -> str:
    """Return reports without what differs between any two sessions."""
    text = json.dumps(reports)
    text = re.sub(r"mt_trace_id', '[^']*'", "mt_trace_id'", text)
    return re.sub(r"mt_seconds', [0-9.e-]+", "mt_seconds'", text)


def test_reports_are_those_of_pytests_own_protocol(project: Project) -> None:
    project.mock(MIXED, _tasks("first", "wrong", "second", "broken", "third", "fourth"))
    project.write("more.yaml", _tasks("fifth", "sixth", "seventh"))
    project.write("conftest.py", SPY)
    files = ("tasks.yaml", "more.yaml", "--mt-config=config.yaml", "--mt-seed=1", "--junitxml=out.xml")
    project.run(*files)
    short, short_xml = _spied(project), (project.path / "out.xml").read_text()

    project.write("watching.py", WATCHING)
    project.pytester.syspathinsert()
    project.run("-p", "watching", *files)
    long, long_xml = _spied(project), (project.path / "out.xml").read_text()

    assert (short["short"], long["short"]) == (True, False)
    assert len(short["reports"]) == 9 * 4 + 9 - 1  # an item with an error has no call
    assert _neutral(short["reports"]) == _neutral(long["reports"])

    def names(xml: str) -> list[str]:
        return re.findall(r'<testcase classname="([^"]*)" name="([^"]*)"|<(failure|error) ', xml)  # type: ignore[return-value]

    assert names(short_xml) == names(long_xml)


def test_last_item_of_a_session_tears_down_what_failed_items_have_set_up(project: Project) -> None:
    project.mock(MIXED, _tasks("wrong", "first"))
    project.write("more.yaml", _tasks("second", "wrong", "third"))
    outcome = project.run("tasks.yaml", "more.yaml", "--mt-config=config.yaml")
    outcome.assert_outcomes(passed=3, failed=2)


@pytest.mark.parametrize(
    "code",
    [
        "def pytest_runtest_setup(item): see('x')",
        "def pytest_runtest_call(item): see('x')",
        "def pytest_runtest_teardown(item): see('x')",
        "def pytest_runtest_makereport(item, call): see('x' if call.when == 'call' else '')",
        "import pytest\n@pytest.fixture(autouse=True)\ndef mine(): see('x')",
    ],
)
@pytest.mark.parametrize("place", ["conftest", "plugin"])
def test_whoever_takes_part_in_the_phases_sees_every_item(project: Project, code: str, place: str) -> None:
    project.mock({"behaviour": "perfect"}, _tasks("first", "second", "third"))
    project.write("seeing.py", SEEING)
    project.write("conftest.py" if place == "conftest" else "watching.py", f"from seeing import see\n{code}\n")
    project.pytester.syspathinsert()
    args = () if place == "conftest" else ("-p", "watching")
    project.run(*args, "tasks.yaml").assert_outcomes(passed=3)
    assert (project.path / "seen").read_text() == "xxx"


def test_an_overridden_fixture_is_asked_for_every_item(project: Project) -> None:
    project.mock({"behaviour": "perfect"}, _tasks("first", "second", "third"))
    project.write("seeing.py", SEEING)
    override = (
        "import pytest\nfrom seeing import see\n@pytest.fixture\ndef mt_task(mt_task):\n see('x')\n return mt_task\n"
    )
    project.write("conftest.py", override)
    project.run("tasks.yaml").assert_outcomes(passed=3)
    assert (project.path / "seen").read_text() == "xxx"


@pytest.mark.parametrize("option", ["--setup-show", "--setup-only"])
def test_options_that_show_phases_are_obeyed(project: Project, option: str) -> None:
    project.mock({"behaviour": "perfect"}, _tasks("first", "second", "third"))
    outcome = project.run(option, "tasks.yaml")
    assert str(outcome.stdout).count("SETUP    F mt_result") == 3


def test_what_a_users_client_prints_stands_with_a_failed_item(project: Project) -> None:
    project.mock({"behaviour": "perfect"}, _tasks("first", "second"))
    project.write(
        "conftest.py",
        """
        def pytest_mt_client(provider, run):
            def answer(text):
                print("asked the model")
                return "wrong"
            return answer
        """,
    )
    outcome = project.run("tasks.yaml")
    outcome.assert_outcomes(failed=2)
    outcome.stdout.fnmatch_lines(["*Captured stdout*", "asked the model*"])


def test_beside_ordinary_tests_every_item_goes_the_long_way(project: Project) -> None:
    project.mock({"behaviour": "perfect"}, _tasks("first", "second"))
    project.write("conftest.py", SPY)
    project.write("test_it.py", "def test_it(): pass")
    project.run("tasks.yaml", "test_it.py").assert_outcomes(passed=3)
    assert _spied(project)["short"] is False


def test_a_session_of_passed_items_names_the_item_it_waits_for(project: Project) -> None:
    project.mock({"behaviour": "perfect"}, _tasks("first", "second"))
    project.write("seeing.py", SEEING)
    project.write(
        "conftest.py",
        """
        import os
        from pytest_mindtrial.plugin.runner import Runner
        from seeing import see

        passed_ahead = Runner.passed_ahead

        def spied(self, item):
            see(os.environ["PYTEST_CURRENT_TEST"] + "|")
            return passed_ahead(self, item)

        def pytest_configure(config):
            Runner.passed_ahead = spied

        def pytest_unconfigure(config):
            Runner.passed_ahead = passed_ahead
            see(os.environ.get("PYTEST_CURRENT_TEST", "none"))
        """,
    )
    project.pytester.syspathinsert()
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("PYTEST_CURRENT_TEST", raising=False)
        project.run("tasks.yaml").assert_outcomes(passed=2)
    assert (project.path / "seen").read_text() == "tasks.yaml::first[mock-m] (setup)|none"
