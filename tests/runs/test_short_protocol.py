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


def _process(project: Project, *args: str) -> pytest.RunResult:
    """Run where no other thread and no other plugin keeps items from going the short way."""
    return project.run_process("-p", "no:hypothesispytest", "-p", "no:pytest_cov", *args)


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
    _process(project, *files)
    short, short_xml = _spied(project), (project.path / "out.xml").read_text()

    project.write("watching.py", WATCHING)
    project.pytester.syspathinsert()
    _process(project, "-p", "watching", *files)
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


def test_reports_that_passed_items_make_name_their_item(project: Project) -> None:
    project.mock({"behaviour": "perfect"}, _tasks("first", "second", "third"))
    project.write(
        "conftest.py",
        """
        import os
        from pathlib import Path

        SEEN = []

        def pytest_runtest_logreport(report):
            SEEN.append(os.environ.get("PYTEST_CURRENT_TEST", "none"))

        def pytest_unconfigure(config):
            Path("seen").write_text(" ".join(SEEN[3:6]))
        """,
    )
    _process(project, "tasks.yaml").assert_outcomes(passed=3)
    node = "tasks.yaml::second[mock-m]"
    assert (project.path / "seen").read_text() == f"{node} (setup) {node} (call) none"


def test_what_a_thread_of_a_conftest_prints_is_captured(project: Project) -> None:
    project.mock({"behaviour": "perfect", "delay": "100ms"}, _tasks("first", "second", "third", "fourth"))
    project.write(
        "conftest.py",
        """
        import sys, threading, time

        def talk():
            while True:
                print("GET / 200", file=sys.stderr)
                time.sleep(0.01)

        def pytest_sessionstart():
            threading.Thread(target=talk, daemon=True).start()
        """,
    )
    outcome = _process(project, "tasks.yaml", "--mt-concurrency=1", "-rP")
    outcome.assert_outcomes(passed=4)
    assert str(outcome.stdout).count("Captured stderr setup") == 4


def test_an_item_that_must_be_waited_for_goes_through_pytests_phases(project: Project) -> None:
    project.mock({"behaviour": "perfect", "delay": "50ms"}, _tasks("first", "second", "third", "fourth"))
    project.write(
        "conftest.py",
        """
        import logging

        from pytest_mindtrial.plugin.runner import Runner
        from pytest_mindtrial.plugin.waiting import Waiting

        result = Waiting.result

        def noted(self, future):
            if not future.done():
                logging.getLogger("mine").warning("waited")
            return result(self, future)

        def pytest_configure(config):
            Waiting.result = noted
        """,
    )
    outcome = _process(project, "tasks.yaml", "--mt-concurrency=1", "-rP")
    outcome.assert_outcomes(passed=4)
    assert str(outcome.stdout).count("Captured log setup") >= 3


@pytest.mark.parametrize("option", ["--log-cli-level=INFO", "-olog_cli=true"])
def test_live_logs_name_the_phase_in_which_something_is_logged(project: Project, option: str) -> None:
    project.mock({"behaviour": "perfect"}, _tasks("first", "second", "third"))
    project.write(
        "conftest.py",
        """
        import logging

        from pytest_mindtrial.plugin.waiting import Waiting

        def pytest_configure(config):
            Waiting.give_way = lambda self: logging.getLogger("mine").warning("gave way")
        """,
    )
    outcome = _process(project, "tasks.yaml", option)
    outcome.assert_outcomes(passed=3)
    assert str(outcome.stdout).count("live log setup") == 3


def test_what_encloses_items_is_set_up_before_the_first_and_torn_down_after_the_last(project: Project) -> None:
    project.mock({"behaviour": "perfect"}, _tasks("first", "second", "third"))
    project.write(
        "conftest.py",
        """
        def note(text):
            with open("seen", "a") as file:
                file.write(text + " ")

        def pytest_runtest_logreport(report):
            if report.when == "call":
                note(report.nodeid.partition("::")[2].partition("[")[0])
        """,
    )
    project.write(
        "__init__.py",
        "from .conftest import note\ndef setup_module():\n note('up')\ndef teardown_module():\n note('down')\n",
    )
    _process(project, "tasks.yaml", "--rootdir=.").assert_outcomes(passed=3)
    assert (project.path / "seen").read_text() == "up first second third down "


def test_no_item_passes_where_what_encloses_it_cannot_be_set_up(project: Project) -> None:
    project.mock({"behaviour": "perfect"}, _tasks("first", "second", "third"))
    project.write("__init__.py", "def setup_module(): raise OSError('no disk')")
    _process(project, "tasks.yaml").assert_outcomes(errors=3)


def test_marks_that_pytest_decides_by_count_for_results_of_earlier_sessions(project: Project) -> None:
    project.mock({"behaviour": "perfect"}, _tasks("first", "second", "third"))
    _process(project, "tasks.yaml").assert_outcomes(passed=3)
    project.write(
        "conftest.py",
        """
        import pytest

        def pytest_collection_modifyitems(items):
            items[1].add_marker(pytest.mark.xfail(strict=True))
        """,
    )
    _process(project, "tasks.yaml", "--mt-resume=results/out.journal.jsonl").assert_outcomes(passed=2, failed=1)


def test_marks_count_that_are_given_while_items_run(project: Project) -> None:
    project.mock({"behaviour": "perfect"}, _tasks("first", "second", "third", "fourth"))
    project.write(
        "conftest.py",
        """
        import pytest

        ITEMS = []

        def pytest_collection_modifyitems(items):
            ITEMS.extend(items)

        def pytest_runtest_logfinish(nodeid):
            if "second" in nodeid:
                ITEMS[2].add_marker(pytest.mark.skip("enough"))
        """,
    )
    _process(project, "tasks.yaml").assert_outcomes(passed=3, skipped=1)


def test_a_fixture_that_a_conftest_adds_to_one_item_is_set_up(project: Project) -> None:
    project.mock({"behaviour": "perfect"}, _tasks("first", "second", "third"))
    project.write(
        "conftest.py",
        """
        import pytest

        @pytest.fixture
        def mine():
            open("seen", "w").close()

        def pytest_collection_modifyitems(items):
            items[1].fixturenames = [*items[1].fixturenames, "mine"]
        """,
    )
    _process(project, "tasks.yaml").assert_outcomes(passed=3)
    assert (project.path / "seen").exists()


def test_a_hook_without_a_module_takes_part_too(project: Project) -> None:
    project.mock({"behaviour": "perfect"}, _tasks("first", "second", "third"))
    project.write(
        "conftest.py",
        """
        hooks = {"SEEN": []}
        exec("def pytest_runtest_setup(item): SEEN.append(item)", hooks)
        pytest_runtest_setup = hooks["pytest_runtest_setup"]

        def pytest_unconfigure(config):
            assert len(hooks["SEEN"]) == 3
        """,
    )
    outcome = _process(project, "tasks.yaml")
    outcome.assert_outcomes(passed=3)
    assert outcome.ret == 0
