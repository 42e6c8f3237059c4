"""``--mt-max-cost`` and ``--mt-max-tokens``: the session stops cleanly, incomplete, and never green."""

from __future__ import annotations

import json

import pytest

PRICING = {"currency": "EUR", "input-per-million": 1000, "output-per-million": 1000}


def tasks(count=40, **changes):
    entries = [
        {"name": f"t{n:02}", "prompt": "q", "response-result-format": "w", "expected-result": "x", **changes}
        for n in range(count)
    ]
    return json.dumps({"task-config": {"tasks": entries}})


def fixed(project, suite=None, parameters=(), **run):
    """Write a suite whose every request takes 60 tokens in and 40 out: 0.1 EUR."""
    tokens = {"input": 60, "output": 40}
    project.mock({"behaviour": "perfect", "tokens": tokens, **dict(parameters)}, suite or tasks(), **run)


def test_the_session_stops_cleanly_when_the_money_is_used_up(project):
    fixed(project, pricing=PRICING)
    result = project.run("tasks.yaml", "--mt-max-cost=1.5 EUR", "--mt-concurrency=4")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    attempts = project.attempts()
    cost = sum(attempt["cost"] for attempt in attempts)
    assert 1.0 <= cost <= 1.5 + 1e-9
    passed = len(attempts)
    result.assert_outcomes(passed=passed)
    assert {attempt["kind"] for attempt in attempts} == {"Passed"}
    result.stdout.fnmatch_lines(
        [
            f"coverage: {passed} of 40 items reported *",
            f"not run: {40 - passed} items: --mt-max-cost is used up: {cost:.4f} EUR of 1.5 EUR in {passed} req*; *",
            f"budget: {cost:.4f} EUR of 1.5 EUR in {passed} requests",
            "!*--mt-max-cost is used up: *!",
        ]
    )
    assert len(project.entries()) == passed
    page = (project.path / "results/out.html").read_text(encoding="utf-8")
    assert "--mt-max-cost is used up" in page
    assert f"{passed} of 40 items were reported" in page
    finished = project.journal()[-1]
    assert (finished["type"], finished["complete"]) == ("finished", False)


def test_what_was_left_can_be_resumed(project):
    fixed(project, pricing=PRICING)
    project.run("tasks.yaml", "--mt-max-cost=2")
    done = len(project.attempts())
    result = project.run("tasks.yaml", "--mt-resume=results/out.journal.jsonl", "--mt-max-cost=9")
    result.assert_outcomes(passed=40)
    assert result.ret == 0
    result.stdout.fnmatch_lines([f"reused: {done} of 40 results *", f"budget: *of 9 EUR in {40 - done} requests"])


def test_tokens_are_limited_without_prices(project):
    fixed(project)
    result = project.run("tasks.yaml", "--mt-max-tokens=1500", "--mt-concurrency=1")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert 1000 <= 100 * len(project.attempts()) <= 1500
    result.stdout.fnmatch_lines(["budget: *of 1,500 tokens in * requests"])


def test_a_limit_that_is_not_reached_changes_nothing(project):
    fixed(project, pricing=PRICING)
    result = project.run("tasks.yaml", "--mt-max-cost=1000")
    result.assert_outcomes(passed=40)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["budget: 4.0000 EUR of 1000 EUR in 40 requests"])


def test_nothing_is_sent_when_the_first_request_is_too_dear(project):
    fixed(project, pricing=PRICING)
    result = project.run("tasks.yaml", "--mt-max-cost=0.01")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert project.attempts() == []
    result.stdout.fnmatch_lines(["not run: 40 items: *0.0000 EUR of 0.01 EUR in 0 requests*"])
    assert (project.path / "results/out.json").exists()


def test_an_attempt_that_is_cut_off_is_an_error_with_what_it_spent(project):
    calls = {"tool-calls": {"*": [{"name": "nothing", "arguments": {}}] * 30}, "behaviour": "perfect"}
    fixed(project, tasks(3), calls)
    result = project.run("tasks.yaml", "--mt-max-tokens=2500", "--mt-concurrency=1")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    (attempt,) = project.attempts()
    assert (attempt["kind"], attempt["error"]["cause"]) == ("Error", "budget")
    assert attempt["error"]["usage"]["input_tokens"] >= 60
    result.assert_outcomes(errors=1)


def test_items_with_fixtures_of_their_own_stop_too(project):
    fixed(project)
    project.write("conftest.py", "import pytest\n@pytest.fixture(autouse=True)\ndef mine():\n    yield\n")
    result = project.run("tasks.yaml", "--mt-max-tokens=1500")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert 10 <= len(project.attempts()) <= 15
    result.stdout.fnmatch_lines(["not run: *--mt-max-tokens is used up*"])


def judges(pricing):
    run = {"name": "v", "model": "judge", "model-parameters": {"tokens": {"input": 500, "output": 400}}}
    return [{"name": "j", "provider": {"name": "mock", "runs": [{**run, **pricing}]}}]


def with_judges(project, pricing):
    rules = {"validation-rules": {"judge": {"enabled": True, "name": "j", "variant": "v"}}}
    fixed(project, tasks(**rules), pricing=PRICING)
    path = project.path / "config.yaml"
    content = json.loads(path.read_text())
    content["config"]["judges"] = judges(pricing)
    path.write_text(json.dumps(content))


def test_judges_count(project):
    with_judges(project, {"pricing": PRICING})
    result = project.run("tasks.yaml", "--mt-max-cost=5", "--mt-concurrency=1")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    spent = sum(attempt["cost"] + attempt.get("judge_cost", 0) for attempt in project.attempts())
    assert 3 <= spent <= 5 + 1e-9
    assert len(project.attempts()) <= 6


def test_the_currency_of_judges_counts(project):
    with_judges(project, {"pricing": {**PRICING, "currency": "USD"}})
    result = project.run("tasks.yaml", "--mt-max-cost=5")
    result.stderr.fnmatch_lines(["ERROR: --mt-max-cost: the selected runs have prices in EUR, USD; *"])


CONFIG = """\
config:
  output-dir: results
  output-basename: out
  task-source: tasks.yaml
  providers:
    - name: openai
      client-config: {api-key: sk-0123456789, endpoint: "http://127.0.0.1:9"}
      runs:
        - {name: priced, model: a, pricing: {currency: EUR, input-per-million: 1, output-per-million: 1}}
        - {name: half, model: b, pricing: {input-per-million: 1}}
        - {name: none, model: c}
    - name: mock
      runs: [{name: free, model: m}]
"""


@pytest.mark.parametrize(
    "options, message",
    [
        (["--mt-max-cost=5"], "--mt-max-cost: what these runs cost is unknown: openai half, openai none; give them*"),
        (["--mt-max-cost=5 USD", "-k", "priced"], "--mt-max-cost is in USD, but these runs have other prices: *EUR*"),
        (["--mt-max-cost=much"], "--mt-max-cost: 'much' is not an amount above 0, such as 5 or '5 EUR'"),
        (["--mt-max-cost=0"], "--mt-max-cost: '0' is not an amount above 0*"),
        (["--mt-max-tokens=0"], "--mt-max-tokens: '0' is not a whole number from 1"),
    ],
)
def test_mistakes_are_usage_errors_before_anything_is_sent(project, options, message):
    project.suite(tasks(2), CONFIG)
    result = project.run("tasks.yaml", *options)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: {message}"])
    assert not (project.path / "results").exists()


def test_mocks_are_free_and_a_limit_of_tokens_needs_no_prices(project):
    project.suite(tasks(2), CONFIG)
    project.run("tasks.yaml", "-k", "free", "--mt-max-cost=5").assert_outcomes(passed=2, deselected=6)
    result = project.run("tasks.yaml", "-k", "free or none", "--mt-max-cost=5", "--mt-max-tokens=99999")
    result.assert_outcomes(passed=2, errors=2, deselected=4)
