"""The mock's parameters: what is read, and what a user is told about mistakes."""

import pytest

from pytest_mindtrial.core.errors import ConfigError, Position
from pytest_mindtrial.providers.mock_script import ByTask, Fault, ScriptedCall, read_script
from pytest_mindtrial.suite.model import Run


def script(**parameters):
    named = {name.replace("_", "-"): value for name, value in parameters.items()}
    return read_script(Run("careless", "mock", "mock-1", parameters=named))


def test_defaults():
    empty = script()
    assert (empty.behaviour, empty.accuracy, empty.delay_s, empty.jitter_s) == ("perfect", 0.7, 0.0, 0.0)
    assert empty.tokens is None
    assert empty.answer("any", None, 0) is None
    assert empty.faults["any"] == ()


def test_everything_is_read():
    full = script(
        behaviour="script",
        accuracy=1,
        delay="1.5s",
        jitter="250ms",
        tokens={"input": 3, "cache-read": 0},
        faults={"a": ["ok", "reset", {"fault": "http-429", "retry-after": 2}]},
        tool_calls={"a": [{"name": "add", "arguments": {"x": 1}}, [{"name": "b"}, {"name": "c", "arguments": "{"}]]},
        verdicts=[{"contains": "poem", "verdict": {"correct": True}}, {"verdict": "no"}],
    )
    assert (full.behaviour, full.accuracy, full.delay_s, full.jitter_s) == ("script", 1.0, 1.5, 0.25)
    assert full.tokens == {"input": 3, "cache-read": 0}
    assert full.faults["a"] == (Fault("ok"), Fault("reset"), Fault("http-429", 2.0))
    assert full.faults["a"][2].status == 429
    assert full.faults["a"][1].status is None
    assert full.tool_calls["a"] == (
        (ScriptedCall("add", {"x": 1}),),
        (ScriptedCall("b", {}), ScriptedCall("c", "{")),
    )
    assert full.verdicts == (("poem", {"correct": True}), ("", "no"))


def test_tokens_none_means_not_reported():
    assert script(tokens="none").tokens == {}


@pytest.mark.parametrize(
    "task, expected",
    [("math", "exact"), ("math 2", "glob"), ("maths", "glob"), ("poem", None)],
)
def test_the_exact_name_wins_over_a_glob(task, expected):
    table = ByTask({"math*": "glob", "math": "exact", "*s": "later"}, None)
    assert table[task] == expected
    assert table[task] == expected  # the remembered value


@pytest.mark.parametrize(
    "value, repeat, answered, expected",
    [
        ("4", None, 3, "4"),
        (["4", "5"], None, 0, "4"),
        (["4", "5"], None, 1, "5"),
        (["4", "5"], 2, 7, "5"),
        ({"a": 1}, None, 0, {"a": 1}),
        ([[1, 2]], None, 0, [1, 2]),
        ({"by-repeat": ["r1", ["r2", "r2b"]]}, None, 0, "r1"),
        ({"by-repeat": ["r1", ["r2", "r2b"]]}, 2, 1, "r2b"),
        ({"by-repeat": ["r1", ["r2", "r2b"]]}, 9, 0, "r2"),
        ("", None, 0, ""),
        (0, None, 0, 0),
    ],
)
def test_answers(value, repeat, answered, expected):
    assert script(answers={"t": value}).answer("t", repeat, answered) == expected


@pytest.mark.parametrize(
    "parameters, message",
    [
        ({"behavior": "perfect"}, "unknown model parameter 'behavior'; did you mean 'behaviour'?"),
        ({"behaviour": "carelss"}, "behaviour: must be one of perfect, careless, echo, script, found 'carelss'; did"),
        ({"behaviour": 3}, "behaviour: must be one of"),
        ({"accuracy": 1.1}, "accuracy: must be between 0 and 1, found 1.1"),
        ({"accuracy": -1}, "accuracy: must be a number of at least 0, found -1"),
        ({"accuracy": True}, "accuracy: must be a number of at least 0, found True"),
        ({"accuracy": float("nan")}, "accuracy: must be a number of at least 0, found nan"),
        ({"delay": "5"}, "delay: '5' is not a duration; write numbers with units"),
        ({"delay": 5}, "delay: '5' is not a duration"),
        ({"jitter": "-1s"}, "jitter: must not be negative, found '-1s'"),
        ({"answers": ["4"]}, "answers: must be a map from task name or glob to its entry, found ['4']"),
        ({"answers": {"t": None}}, "answers['t']: has no answer; write \"\" for an empty one"),
        ({"answers": {"t": []}}, "answers['t']: must be a list with at least one entry, found []"),
        ({"answers": {"t": {"by-repeat": "x"}}}, "answers['t'].by-repeat: must be a list"),
        ({"answers": {"t": {"by-repeat": [None]}}}, "answers['t'].by-repeat[0]: has no answer"),
        ({"tool-calls": {"t": [{"tool": "x"}]}}, "tool-calls['t'][0]: must be a map with name and arguments"),
        ({"tool-calls": {"t": [{"name": "x", "args": {}}]}}, "tool-calls['t'][0]: unknown key 'args'"),
        ({"tool-calls": {"t": "x"}}, "tool-calls['t']: must be a list"),
        ({"faults": {"t": ["http-200"]}}, "faults['t'][0]: must be one of ok, http-NNN, reset"),
        ({"faults": {"t": ["refusl"]}}, "found 'refusl'; did you mean 'refusal'?"),
        ({"faults": {"t": ["http-NNN"]}}, "found 'http-NNN'"),
        ({"faults": {"t": [{"fault": "reset", "after": 1}]}}, "faults['t'][0]: unknown key 'after'"),
        ({"faults": {"t": [{"fault": "reset", "retry-after": "x"}]}}, "faults['t'][0].retry-after: must be a number"),
        ({"tokens": 5}, "tokens: must be none or a map with input, output"),
        ({"tokens": {"inputs": 5}}, "tokens: unknown key 'inputs'; did you mean 'input'?"),
        ({"tokens": {"input": -5}}, "tokens.input: must be a whole number of at least 0, found -5"),
        ({"verdicts": ["yes"]}, "verdicts[0]: must be a map with contains and verdict"),
        ({"verdicts": [{"verdict": 1, "contain": 2}]}, "verdicts[0]: unknown key 'contain'; did you mean 'contains'?"),
        ({"verdicts": "yes"}, "verdicts: must be a list"),
    ],
)
def test_mistakes_are_explained(parameters, message):
    run = Run("r1", "mock", "m", parameters=parameters, position=Position("config.yaml", 7, 5))
    with pytest.raises(ConfigError) as caught:
        read_script(run)
    assert str(caught.value).startswith("config.yaml:7:5: mock run 'r1': ")
    assert message in str(caught.value)
