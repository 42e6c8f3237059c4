"""Kinds and outcomes: a wrong answer fails, no answer is an error, an unsupported task is skipped."""

from __future__ import annotations

import json
import shlex
import xml.etree.ElementTree as ET

import pytest

SUITE = """\
task-config:
  tasks:
    - {name: right, prompt: q, response-result-format: one word, expected-result: Paris}
    - {name: wrong, prompt: q, response-result-format: one word, expected-result: [Rome, Roma]}
    - {name: broken, prompt: q, response-result-format: one word, expected-result: Bern}
    - name: structured
      prompt: q
      response-result-format: {type: object, properties: {n: {type: integer}}, required: [n]}
      expected-result: {n: 4}
"""
PARAMETERS = {"answers": {"right": "paris ", "wrong": "Rom"}, "faults": {"broken": ["http-500"]}}


def test_each_kind_has_its_own_outcome(project):
    project.mock(PARAMETERS, SUITE, **{"disable-structured-output": True})
    result = project.run("tasks.yaml", "-q", "-rA")
    result.assert_outcomes(passed=1, failed=1, errors=1, skipped=1)
    assert result.ret == 1
    assert project.kinds() == {"right": "Passed", "wrong": "Failed", "broken": "Error", "structured": "Skipped"}


@pytest.mark.parametrize("swallows", [False, True])
def test_a_wrong_answer_fails_also_where_nobody_calls_the_test_function(project, swallows):
    project.mock(PARAMETERS, SUITE, **{"disable-structured-output": True})
    if swallows:
        project.write("conftest.py", "def pytest_pyfunc_call(): return True")
    result = project.run("tasks.yaml", *([] if swallows else ["-p", "no:python"]))
    result.assert_outcomes(passed=1, failed=1, errors=1, skipped=1)
    result.stdout.fnmatch_lines(["*got 'rom', expected 'rom?' (or one of 1 others)*"])


def test_failure_text_says_verdict_diff_rule_place_and_rerun(project):
    project.mock(PARAMETERS, SUITE, **{"disable-structured-output": True})
    result = project.run("tasks.yaml")
    result.stdout.fnmatch_lines(
        [
            "*got 'rom', expected 'rom?' (or one of 1 others)*",
            "*  + rom",
            "rule:  value match",
            "task:  tasks.yaml:4",
            "rerun: pytest 'tasks.yaml::wrong[[]mock-m]'",
            "FAILED tasks.yaml::wrong[[]mock-m] - got 'rom', expected 'rom?'*",
        ]
    )


def test_error_text_says_cause_and_tries(project):
    project.mock(PARAMETERS, SUITE)
    result = project.run("tasks.yaml", "-k", "broken")
    result.stdout.fnmatch_lines(["*Execution Error: *500*", "tries: #1 http-500", "ERROR tasks.yaml::broken*"])


def test_the_rerun_line_works(project):
    project.mock(PARAMETERS, SUITE)
    result = project.run("tasks.yaml::wrong[mock-m]", "--mt-config=config.yaml")
    result.assert_outcomes(failed=1)
    (line,) = [line for line in result.outlines if line.startswith("rerun: pytest ")]
    words = shlex.split(line)[2:]
    assert words[1].startswith("--mt-config=")
    project.run(*words).assert_outcomes(failed=1)


def test_tb_line_shows_one_line_per_failure(project):
    project.mock(PARAMETERS, SUITE)
    result = project.run("tasks.yaml", "--tb=line", "-k", "wrong")
    result.stdout.fnmatch_lines(["tasks.yaml:4: got 'rom', expected *"])
    assert "rule:" not in result.stdout.str()


def test_junit_tells_failure_error_and_skip_apart(project):
    project.mock(PARAMETERS, SUITE, **{"disable-structured-output": True})
    project.run("tasks.yaml", "--junitxml=junit.xml")
    suite = ET.parse(project.path / "junit.xml").getroot().find("testsuite")
    assert suite is not None
    assert {key: suite.get(key) for key in ("tests", "failures", "errors", "skipped")} == {
        "tests": "4",
        "failures": "1",
        "errors": "1",
        "skipped": "1",
    }
    failure = suite.find(".//failure")
    assert failure is not None
    assert failure.get("message", "").startswith("got 'rom', expected 'rom")


def test_pytest_html_takes_the_items(project):
    project.mock(PARAMETERS, SUITE)
    result = project.run("tasks.yaml", "--html=report.html", "--self-contained-html")
    assert result.ret == 1
    page = (project.path / "report.html").read_text(encoding="utf-8")
    assert "wrong[mock-m]" in page
    assert "expected" in page


def test_xfail_marks_and_skip_marks_of_a_conftest_are_obeyed(project):
    project.mock(PARAMETERS, SUITE)
    project.write(
        "conftest.py",
        """
        import pytest

        def pytest_collection_modifyitems(items):
            for item in items:
                if "wrong" in item.name:
                    item.add_marker(pytest.mark.xfail(reason="known"))
                if "broken" in item.name:
                    item.add_marker(pytest.mark.skip(reason="not today"))
        """,
    )
    result = project.run("tasks.yaml")
    result.assert_outcomes(passed=2, xfailed=1, skipped=1)
    assert "broken" not in project.kinds()


def test_a_failure_says_when_only_the_format_is_wrong(project):
    project.mock({"answers": {"right": "P.a r-i s"}}, SUITE)
    result = project.run("tasks.yaml", "-k", "right")
    result.stdout.fnmatch_lines(["note:  it would pass if white space, case and punctuation were ignored"])


def test_long_answers_are_compared_line_by_line(project):
    lines = [f"line {number}" for number in range(300)]
    changed = [*lines[:150], "other", *lines[151:]]
    tasks = [
        {
            "name": "long",
            "prompt": "q",
            "response-result-format": "lines",
            "expected-result": "\n".join(lines),
        }
    ]
    project.mock({"answers": {"long": "\n".join(changed)}}, json.dumps({"task-config": {"tasks": tasks}}))
    result = project.run("tasks.yaml")
    result.stdout.fnmatch_lines(["  - line 150", "  + other"])


@pytest.mark.parametrize("gate", [[], ["--mt-min-pass-rate=0.5"]], ids=["plain", "gate"])
def test_a_session_whose_report_is_lost_is_not_green(project, gate):
    project.suite()
    (project.path / "results/out.json").mkdir(parents=True)
    result = project.run("tasks.yaml", *gate)
    result.assert_outcomes(passed=2)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["not written: cannot write *out.json: Is a directory; *"])


def test_our_section_begins_after_a_blank_line(project):
    project.suite()
    lines = project.run("tasks.yaml").outlines
    (head,) = [number for number, line in enumerate(lines) if line.startswith("=") and " mindtrial" in line]
    assert lines[head - 1] == ""
    assert lines[head + 1].startswith("provider")


def test_a_failed_assertion_about_a_reply_shows_the_answer_only(project):
    project.suite()
    project.write(
        "test_ask.py",
        """
        def test_ask(mindtrial):
            reply = mindtrial.ask("Greet Alice.")
            assert "Hello" in reply.text
        """,
    )
    result = project.run("test_ask.py")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*where 'I do not know' = Reply(text='I do not know', content='I do not know').text"])
