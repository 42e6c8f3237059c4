"""Gates: the exit status follows them, and nothing else does."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

ANSWERS = {"t3": "no", "*": "x"}
FOREIGN = "def test_ordinary(): pass\n"
MODES = [pytest.param((), id="one-process"), pytest.param(("-n2",), id="n2")]


def tasks(count: int = 4, **more: Any) -> str:
    entries = [
        {"name": f"t{n}", "prompt": "q", "response-result-format": "w", "expected-result": "x", **more}
        for n in range(count)
    ]
    return json.dumps({"task-config": {"tasks": entries}})


def suite(path: Path) -> Mapping[str, str]:
    root = ElementTree.parse(path).getroot()
    return next(root.iter("testsuite")).attrib


def suite_properties(path: Path) -> dict[str, str]:
    element = ElementTree.parse(path).getroot().find("testsuite/properties")
    return {} if element is None else {entry.attrib["name"]: entry.attrib["value"] for entry in element}


def decision(project) -> dict[str, Any]:
    return json.loads((project.path / "results/out.gates.json").read_text(encoding="utf-8"))


# Spec pytest 5: three of four right, plus one ordinary test.
TABLE = [
    ([], 1, None, None),
    (["--mt-min-pass-rate=70%"], 0, "green", "*pass-rate 0.75 (3 passed of 4,*) >= 0.7 → GREEN"),
    (["--mt-min-pass-rate=0.9"], 1, "red", "*pass-rate 0.75 (3 passed of 4,*) >= 0.9 → RED"),
    (["--mt-min-pass-rate=.7", "--mt-gate=error-rate <= 0"], 0, "green", "*error-rate 0 (0 errors of 4) <= 0 → GREEN"),
    (["--mt-gate=pass-rate >= 0.7", "--mt-gate=pass-rate >= 0.8"], 1, "red", "gate: pass-rate >= 0.8 is red"),
]


@pytest.mark.parametrize(
    "mode, arguments, status, answer, line",
    [*(((), *row) for row in TABLE), *((("-n2",), *row) for row in TABLE[:3])],
    ids=[*(f"one-process-{n}" for n in range(5)), *(f"n2-{n}" for n in range(3))],
)
def test_only_the_exit_status_follows_the_gate(project, mode, arguments, status, answer, line):
    project.mock({"answers": ANSWERS}, tasks())
    project.write("test_ordinary.py", FOREIGN)
    result = project.run("tasks.yaml", "test_ordinary.py", "--junitxml=j.xml", *arguments, *mode)
    assert result.ret == status
    result.assert_outcomes(passed=4, failed=1)
    attributes = suite(project.path / "j.xml")
    assert (attributes["failures"], attributes["errors"], attributes["skipped"]) == ("1", "0", "0")
    assert suite_properties(project.path / "j.xml").get("mt_gate") == answer
    result.stdout.fnmatch_lines(["*FAILURES*", "FAILED tasks.yaml::t3*got 'no', expected 'x'"])
    if answer is None:
        assert "gate:" not in result.stdout.str()
        assert not (project.path / "results/out.gates.json").exists()
    else:
        result.stdout.fnmatch_lines([line, f"gate: {answer.upper()} (exit status {status})", "gates: *out.gates.json"])
        assert (decision(project)["answer"], decision(project)["exit_status"]) == (answer, status)


@pytest.mark.parametrize("mode", MODES)
def test_x_is_never_green(project, mode):
    project.mock({"answers": {"t0": "no", "*": "x"}}, tasks(40))
    result = project.run("tasks.yaml", "-x", "--mt-min-pass-rate=0", "--junitxml=j.xml", *mode)
    assert result.ret in (pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.INTERRUPTED)
    result.stdout.fnmatch_lines(["gate: not evaluated: *", "gate: UNDECIDED*"])
    assert suite_properties(project.path / "j.xml")["mt_gate"] == "undecided"
    assert int(suite(project.path / "j.xml")["failures"]) >= 1


@pytest.mark.parametrize("mode", MODES)
def test_collect_only_never_evaluates_and_writes_nothing(project, mode):
    project.mock({"answers": ANSWERS}, tasks())
    result = project.run("tasks.yaml", "--collect-only", "--mt-min-pass-rate=0.9", "--mt-history=h.db", *mode)
    assert result.ret == 0
    assert "gate:" not in result.stdout.str()
    assert not (project.path / "results").exists()
    assert not (project.path / "h.db").exists()


def test_a_worker_that_dies_without_a_replacement_is_not_green(project):
    project.mock({"answers": ANSWERS}, tasks(12))
    project.write(
        "conftest.py",
        """\
        import os
        def pytest_runtest_call(item):
            if item.name.startswith("t5["):
                os._exit(1)
        """,
    )
    result = project.run("tasks.yaml", "-n1", "--max-worker-restart=0", "--mt-gate=error-rate <= 1")
    assert result.ret != 0
    assert decision(project)["answer"] != "green"


@pytest.mark.parametrize(
    "body, phase",
    [
        ("def test_ordinary(): assert 0\n", "call"),
        ("import pytest\n@pytest.fixture\ndef f(): assert 0\ndef test_ordinary(f): pass\n", "setup"),
        ("import pytest\n@pytest.fixture\ndef f():\n    yield\n    assert 0\ndef test_ordinary(f): pass\n", "teardown"),
    ],
)
def test_a_failing_test_of_the_user_is_red(project, body, phase):
    project.mock({"answers": ANSWERS}, tasks())
    project.write("test_ordinary.py", body)
    result = project.run("tasks.yaml", "test_ordinary.py", "--mt-min-pass-rate=0.7")
    assert result.ret == 1, phase
    result.stdout.fnmatch_lines(["gate: 1 other tests failed", "gate: RED*"])


@pytest.mark.parametrize("item", ["t1", "t3"], ids=["right", "wrong"])
def test_a_broken_teardown_of_an_item_is_a_failure_of_the_users_own(project, item):
    project.mock({"answers": ANSWERS}, tasks())
    project.write(
        "conftest.py",
        f"""\
        import pytest
        @pytest.fixture(autouse=True)
        def cleanup(request):
            yield
            assert not request.node.name.startswith("{item}[")
        """,
    )
    assert project.run("tasks.yaml", "--mt-min-pass-rate=0.7").ret == 1
    assert decision(project)["reasons"] == ["1 other tests failed"]


def test_a_collection_error_that_is_continued_is_red(project):
    project.mock({"answers": ANSWERS}, tasks())
    project.write("test_broken.py", "import nothing_of_that_name\n")
    arguments = ("tasks.yaml", "test_broken.py", "--mt-min-pass-rate=0.7")
    assert project.run(*arguments, "--continue-on-collection-errors").ret == 1
    assert decision(project)["reasons"] == ["1 other tests failed"]
    assert project.run(*arguments).ret == pytest.ExitCode.INTERRUPTED


def test_an_attempt_without_an_answer_is_red_unless_allowed(project):
    project.mock({"answers": {"*": "x"}, "faults": {"t3": ["refusal"]}}, tasks())
    result = project.run("tasks.yaml", "--mt-min-pass-rate=0.7", "--junitxml=j.xml")
    assert result.ret == 1
    assert suite(project.path / "j.xml")["errors"] == "1"
    result.stdout.fnmatch_lines(["gate: 1 errors of 4, more than 0 allowed"])
    assert project.run("tasks.yaml", "--mt-min-pass-rate=0.7", "--mt-gate=error-rate <= 25%").ret == 0


@pytest.mark.parametrize("mode", MODES)
def test_items_that_the_user_skips_are_not_missing(project, mode):
    project.mock({"answers": ANSWERS}, tasks())
    project.write(
        "conftest.py",
        """\
        import pytest
        def pytest_collection_modifyitems(items):
            items[0].add_marker(pytest.mark.skip(reason="not today"))
        """,
    )
    result = project.run("tasks.yaml", "--mt-min-pass-rate=0.6", "--mt-markdown=r.md", *mode)
    result.assert_outcomes(passed=2, failed=1, skipped=1)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*pass-rate 0.6667 (2 passed of 3,*"])
    assert "ncomplete" not in result.stdout.str() + (project.path / "r.md").read_text(encoding="utf-8")


def test_a_session_that_is_skipped_whole_is_not_green(project):
    project.mock({"answers": ANSWERS}, tasks())
    project.write(
        "conftest.py",
        """\
        import pytest
        def pytest_collection_modifyitems(items):
            for item in items:
                item.add_marker(pytest.mark.skip(reason="not today"))
        """,
    )
    assert project.run("tasks.yaml", "--mt-min-pass-rate=0.6").ret == 1
    assert decision(project)["reasons"][0] == "incomplete: 0 of 4 items have a result"


def test_a_deselected_session_keeps_status_5(project):
    project.mock({"answers": ANSWERS}, tasks())
    assert project.run("tasks.yaml", "-k", "nothing", "--mt-min-pass-rate=0.7").ret == 5


@pytest.mark.parametrize("mode", MODES)
def test_must_pass_beats_the_rate(project, mode):
    project.mock({"answers": ANSWERS}, tasks(**{"must-pass": True}))
    result = project.run("tasks.yaml", "--mt-min-pass-rate=0.5", *mode)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["pin: must pass [[]t3 [[]mock-m]]: 1 failed → RED", "gate: must pass is red"])


def test_the_marker_pins_an_item_too(project):
    project.mock({"answers": ANSWERS}, tasks())
    project.write(
        "conftest.py",
        """\
        import pytest
        def pytest_collection_modifyitems(items):
            for item in items:
                if item.name.startswith(("t2", "t3")):
                    item.add_marker(pytest.mark.must_pass)
        """,
    )
    arguments = ("tasks.yaml", "--strict-markers", "--mt-min-pass-rate=0.5")
    assert project.run(*arguments).ret == 1
    assert [outcome["answer"] for outcome in decision(project)["outcomes"]] == ["green", "green", "red"]
    assert project.run(*arguments, "-m", "must_pass").ret == 1
    assert project.run(*arguments, "-k", "not t3").ret == 0


def test_pins_alone_leave_pytests_rule(project):
    project.mock({"answers": ANSWERS}, tasks(**{"must-pass": True}))
    result = project.run("tasks.yaml")
    assert result.ret == 1
    assert "gate:" not in result.stdout.str()


@pytest.mark.parametrize("policy, status", [("red", 1), ("green", 0)])
def test_doubt_follows_the_policy(project, policy, status):
    project.mock({"answers": {"*": "x"}}, tasks())
    result = project.run("tasks.yaml", "--mt-gate=pass^3 >= 0.5", f"--mt-undecided={policy}")
    assert result.ret == status
    result.stdout.fnmatch_lines([f"gate: UNDECIDED (exit status {status})"])


def baseline(project, answers: Mapping[str, str], count: int = 8) -> str:
    project.mock({"answers": answers}, tasks(count))
    project.run("tasks.yaml")
    (project.path / "results/out.json").rename(project.path / "old.json")
    (project.path / "results/out.journal.jsonl").rename(project.path / "old.jsonl")
    return "old.json"


@pytest.mark.parametrize("name", ["old.json", "old.jsonl"])
def test_a_significant_regression_is_red(project, name):
    baseline(project, {"*": "x"})
    project.mock({"answers": {"*": "no"}}, tasks(8))
    result = project.run("tasks.yaml", f"--mt-baseline={name}", "--mt-markdown=r.md")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["baseline: no significant regression*1 → 0 over 8 paired tasks*p 0.0039*→ RED"])
    assert "Compared with the baseline" in (project.path / "r.md").read_text(encoding="utf-8")


def test_one_unlucky_answer_is_no_regression(project):
    baseline(project, {"*": "x"})
    project.mock({"answers": ANSWERS}, tasks(8))
    result = project.run("tasks.yaml", "--mt-baseline=old.json")
    result.assert_outcomes(passed=7, failed=1)
    assert result.ret == 0
    project.mock({"answers": ANSWERS}, tasks(8))
    assert project.run("tasks.yaml", "--mt-baseline=old.json", "--mt-baseline-level=0.6").ret == 1


def test_a_baseline_without_a_common_run_decides_nothing(project):
    baseline(project, {"*": "x"})
    document = json.loads((project.path / "old.json").read_text(encoding="utf-8"))
    (entries,) = document["Results"].values()
    document["Results"] = {
        name: [entry | {"Provider": name, "Run": "other"} for entry in entries] for name in ("openai", "anthropic")
    }
    (project.path / "old.json").write_text(json.dumps(document), encoding="utf-8")
    project.mock({"answers": {"*": "x"}}, tasks(8))
    result = project.run("tasks.yaml", "--mt-baseline=old.json")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["baseline: *no run is in both results*→ UNDECIDED"])


# Usage errors come before anything is sent.
@pytest.mark.parametrize(
    "argument, message",
    [
        ("--mt-min-pass-rate=90", "--mt-min-pass-rate: '90' is not a share from 0 to 1 (or 0% to 100%)"),
        ("--mt-min-pass-rate=most", "--mt-min-pass-rate: 'most' is not a share*"),
        ("--mt-gate=pas-rate >= 1", "gate 'pas-rate >= 1', column 1: *pass-rate*"),
        ("--mt-gate=", "gate '', column 1: *"),
        ("--mt-baseline=none.json", "*none.json*"),
        ("--mt-baseline=config.yaml", "*config.yaml: results are read from .json and .jsonl files"),
        ("--mt-baseline=empty.json", "*empty.json holds no results"),
        ("--mt-baseline-level=2", "--mt-baseline-level: '2' is not a number between 0 and 1"),
        ("--mt-undecided=maybe", "mt_undecided: 'maybe' is not one of red, green"),
    ],
)
def test_bad_gates_are_usage_errors_before_anything_is_spent(project, argument, message):
    project.mock({"answers": ANSWERS}, tasks())
    project.run("tasks.yaml")
    document = project.results()
    document["Results"] = {}
    (project.path / "empty.json").write_text(json.dumps(document), encoding="utf-8")
    before = len(project.attempts())
    result = project.run("tasks.yaml", "--mt-min-pass-rate=0.1", argument)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: {message.replace('[', '[[]')}"])
    assert len(project.attempts()) == before


def test_bad_gates_are_usage_errors_under_xdist_too(project):
    project.mock({"answers": ANSWERS}, tasks())
    project.write("pytest.ini", "[pytest]\nmt_gate = pass-rate > much\n")
    result = project.run("tasks.yaml", "-n2")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert not (project.path / "results").exists()


def test_gates_from_the_ini_file_do_not_disturb_other_sessions(project):
    project.mock({"answers": ANSWERS}, tasks())
    project.write("test_ordinary.py", FOREIGN)
    project.write("pytest.ini", "[pytest]\nmt_min_pass_rate = 0.9\nmt_gate =\n  error-rate <= 0\n  pass-rate > 0.8\n")
    assert project.run("test_ordinary.py").ret == 0
    result = project.run("tasks.yaml", "--strict-config")
    assert result.ret == 1
    assert len(decision(project)["outcomes"]) == 3
    project.write("pytest.ini", "[pytest]\nmt_baseline = missing.json\n")
    assert project.run("test_ordinary.py").ret == 0
    assert project.run("tasks.yaml").ret == pytest.ExitCode.USAGE_ERROR


@pytest.mark.parametrize("arguments", [("-q",), ("-qq",), ("--no-summary",), ("-v",)])
def test_the_arithmetic_is_printed_always(project, arguments):
    project.mock({"answers": ANSWERS}, tasks())
    result = project.run("tasks.yaml", "--mt-min-pass-rate=0.7", *arguments)
    assert result.ret == 0
    lines = [line for line in result.stdout.lines if line.startswith("gate: ")]
    assert len(lines) == 2, "printed once each"


def test_an_interruption_keeps_its_status(project):
    project.mock({"answers": ANSWERS}, tasks())
    project.write(
        "conftest.py",
        """\
        def pytest_runtest_call(item):
            if item.name.startswith("t2["):
                raise KeyboardInterrupt
        """,
    )
    result = project.run_process("tasks.yaml", "--mt-min-pass-rate=0", "--mt-undecided=green")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["gate: not evaluated: the session ended with status 2"])
