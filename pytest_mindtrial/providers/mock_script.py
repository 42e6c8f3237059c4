"""What a mock run is told to do: its ``model-parameters``, checked and made ready for look-up.

Does not answer anything (``providers/mock.py``). Source: design D13; the table below is the reference.

=============  ====================================================================================================
key            meaning
=============  ====================================================================================================
behaviour      ``perfect`` (default): the first accepted answer; ``careless``: a wrong one from time to time;
               ``echo``: the last tool result, feedback or prompt; ``script``: only ``answers``
accuracy       0–1, share of right answers of ``careless`` (default 0.7)
answers        task → answer: a text, a number, an object, or a list of them, one per answer of the conversation
               (the last one stays); ``{by-repeat: [...]}`` holds one of these per repeat
tool-calls     task → list with one entry per turn: ``{name, arguments}`` or a list of them; then comes the answer
faults         task → list with one entry per request: ``ok``, ``http-NNN``, ``reset``, ``timeout``, ``refusal``,
               ``truncated``, ``invalid-json``, ``empty``, or ``{fault: http-429, retry-after: 2}`` (seconds)
delay          time per request, a Go duration (default ``0s``)
jitter         further time, between zero and this (default ``0s``)
tokens         ``{input, output, reasoning, cache-read, cache-write}`` of every request, or ``none`` (nothing
               reported); by default derived from the lengths of the texts
verdicts       how the run judges: a list of ``{contains: TEXT, verdict: VALUE}``, the first whose text occurs in
               the judged answer counts; without one it says correct when the answer equals an accepted one
=============  ====================================================================================================

A task is named by its name or by a glob (``*``, ``?``, ``[…]``); the exact name wins, then the first match in the file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Generic, TypeVar, cast

from pytest_mindtrial.core.durations import parse_duration
from pytest_mindtrial.core.errors import ConfigError, Position
from pytest_mindtrial.suite.model import Run
from pytest_mindtrial.suite.suggest import allowed_list, near_match

__all__ = ["ByTask", "Fault", "MockScript", "ScriptedCall", "read_script"]

T = TypeVar("T")

BEHAVIOURS = ("perfect", "careless", "echo", "script")
TOKEN_KINDS = ("input", "output", "reasoning", "cache-read", "cache-write")
REPLY_FAULTS = ("refusal", "truncated", "invalid-json", "empty")
FAULTS = ("ok", "http-NNN", "reset", "timeout", *REPLY_FAULTS)
KEYS = ("behaviour", "accuracy", "answers", "tool-calls", "faults", "delay", "jitter", "tokens", "verdicts")


@dataclass(frozen=True, slots=True)
class Fault:
    """What goes wrong with one request; ``ok`` = nothing. ``retry_after_s`` is the service's hint, if it gives one."""

    kind: str = "ok"
    retry_after_s: float | None = None

    @property
    def status(self) -> int | None:
        """HTTP status of an ``http-NNN`` fault."""
        return int(self.kind[5:]) if self.kind.startswith("http-") else None


@dataclass(frozen=True, slots=True)
class ScriptedCall:
    """One tool call the mock makes; ``arguments`` is an object, or a text that is sent as it is."""

    name: str
    arguments: Any


class ByTask(Generic[T]):
    """Values by task name or glob; remembers what it found, so that a look-up costs one dictionary access."""

    def __init__(self, entries: Mapping[str, T], missing: T) -> None:
        self._entries = entries
        self._missing = missing
        self._found: dict[str, T] = {}

    def __getitem__(self, task: str) -> T:
        try:
            return self._found[task]
        except KeyError:
            return self._found.setdefault(task, self._search(task))

    def _search(self, task: str) -> T:
        if task in self._entries:
            return self._entries[task]
        return next((value for glob, value in self._entries.items() if fnmatchcase(task, glob)), self._missing)


@dataclass(frozen=True, slots=True)
class MockScript:
    """Checked parameters of a mock run; times in seconds.

    Attributes:
        tokens: Fixed counters by kind; None = derived from lengths; empty = nothing is reported.
        verdicts: Pairs of text in the judged answer and verdict.
    """

    behaviour: str = "perfect"
    accuracy: float = 0.7
    answers: ByTask[Any] = field(default_factory=lambda: ByTask[Any]({}, None))
    tool_calls: ByTask[tuple[tuple[ScriptedCall, ...], ...]] = field(default_factory=lambda: ByTask({}, ()))
    faults: ByTask[tuple[Fault, ...]] = field(default_factory=lambda: ByTask({}, ()))
    delay_s: float = 0.0
    jitter_s: float = 0.0
    tokens: Mapping[str, int] | None = None
    verdicts: tuple[tuple[str, Any], ...] = ()

    def answer(self, task: str, repeat: int | None, answered: int) -> Any:
        """Return the scripted answer, or None when the script has none.

        Args:
            task: Task name.
            repeat: 1-based repeat index, if the task is repeated.
            answered: Answers already given in this conversation.
        """
        value = self.answers[task]
        if isinstance(value, Mapping) and value.keys() == {"by-repeat"}:
            value = _entry(value["by-repeat"], (repeat or 1) - 1)
        return _entry(value, answered) if isinstance(value, list) else value


def _entry(values: Sequence[Any], index: int) -> Any:
    return values[min(index, len(values) - 1)]


def read_script(run: Run) -> MockScript:
    """Read the parameters of a mock run.

    Raises:
        ConfigError: A key is unknown or a value has the wrong form; the text names the key and what is allowed.
    """
    reader = _Reader(run)
    parameters = run.parameters
    for name in parameters:
        if name not in KEYS:
            reader.fail(f"unknown model parameter {name!r}{near_match(name, KEYS)} (allowed: {allowed_list(KEYS)})")
    accuracy = reader.number("accuracy", parameters.get("accuracy", 0.7))
    if accuracy > 1:
        reader.fail(f"accuracy: must be between 0 and 1, found {accuracy:g}")
    return MockScript(
        behaviour=reader.choice("behaviour", parameters.get("behaviour", "perfect"), BEHAVIOURS),
        accuracy=accuracy,
        answers=ByTask(
            {task: reader.answer(f"answers[{task!r}]", value) for task, value in reader.by_task("answers")}, None
        ),
        tool_calls=ByTask(
            {task: reader.turns(f"tool-calls[{task!r}]", value) for task, value in reader.by_task("tool-calls")}, ()
        ),
        faults=ByTask(
            {task: reader.faults(f"faults[{task!r}]", value) for task, value in reader.by_task("faults")}, ()
        ),
        delay_s=reader.duration("delay", parameters.get("delay", "0s")),
        jitter_s=reader.duration("jitter", parameters.get("jitter", "0s")),
        tokens=reader.tokens(parameters.get("tokens")),
        verdicts=reader.verdicts(parameters.get("verdicts", [])),
    )


class _Reader:
    """Turns plain YAML values into script values; every mistake names the run and the key."""

    def __init__(self, run: Run) -> None:
        self._where: tuple[str, Position | None] = (f"mock run {run.name!r}: ", run.position)
        self._parameters = run.parameters

    def fail(self, message: str) -> Any:
        raise ConfigError(self._where[0] + message, self._where[1])

    def choice(self, key: str, value: Any, allowed: Sequence[str]) -> str:
        if not isinstance(value, str) or value not in allowed:
            hint = near_match(str(value), allowed)
            self.fail(f"{key}: must be one of {allowed_list(allowed)}, found {value!r}{hint}")
        return cast("str", value)

    def number(self, key: str, value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
            self.fail(f"{key}: must be a number of at least 0, found {value!r}")
        return float(value)

    def duration(self, key: str, value: Any) -> float:
        try:
            seconds = parse_duration(value if isinstance(value, str) else repr(value)) / 1e9
        except ValueError as error:
            return cast("float", self.fail(f"{key}: {error}"))
        if seconds < 0:
            self.fail(f"{key}: must not be negative, found {value!r}")
        return seconds

    def by_task(self, key: str) -> list[tuple[str, Any]]:
        value = self._parameters.get(key, {})
        if not isinstance(value, Mapping):
            self.fail(f"{key}: must be a map from task name or glob to its entry, found {value!r}")
        return [(str(task), entry) for task, entry in value.items()]

    def answer(self, key: str, value: Any) -> Any:
        if isinstance(value, Mapping) and value.keys() == {"by-repeat"}:
            entries = self._list(f"{key}.by-repeat", value["by-repeat"])
            return {"by-repeat": [self.answer(f"{key}.by-repeat[{i}]", entry) for i, entry in enumerate(entries)]}
        if value is None:
            self.fail(f'{key}: has no answer; write "" for an empty one')
        return self._list(key, value) if isinstance(value, list | tuple) else value

    def turns(self, key: str, value: Any) -> tuple[tuple[ScriptedCall, ...], ...]:
        turns = []
        for index, turn in enumerate(self._list(key, value)):
            calls = turn if isinstance(turn, list | tuple) else [turn]
            turns.append(tuple(self._call(f"{key}[{index}]", call) for call in calls))
        return tuple(turns)

    def _call(self, key: str, value: Any) -> ScriptedCall:
        if not isinstance(value, Mapping) or not isinstance(value.get("name"), str):
            self.fail(f"{key}: must be a map with name and arguments, found {value!r}")
        self._known(key, value, ("name", "arguments"))
        return ScriptedCall(value["name"], value.get("arguments", {}))

    def faults(self, key: str, value: Any) -> tuple[Fault, ...]:
        return tuple(self._fault(f"{key}[{i}]", entry) for i, entry in enumerate(self._list(key, value)))

    def _fault(self, key: str, value: Any) -> Fault:
        hint = None
        if isinstance(value, Mapping):
            self._known(key, value, ("fault", "retry-after"))
            if "retry-after" in value:
                hint = self.number(f"{key}.retry-after", value["retry-after"])
            value = value.get("fault")
        if not isinstance(value, str) or not (
            value in FAULTS[2:] or value == "ok" or re.fullmatch("http-[345]..", value)
        ):
            near = near_match(str(value), FAULTS)
            self.fail(f"{key}: must be one of {allowed_list(FAULTS)}, found {value!r}{near}")
        return Fault(str(value), hint)

    def tokens(self, value: Any) -> Mapping[str, int] | None:
        if value is None:
            return None
        if value == "none":
            return {}
        if not isinstance(value, Mapping):
            self.fail(f"tokens: must be none or a map with {allowed_list(TOKEN_KINDS)}, found {value!r}")
        self._known("tokens", value, TOKEN_KINDS)
        for kind, count in value.items():
            if isinstance(count, bool) or not isinstance(count, int) or count < 0:
                self.fail(f"tokens.{kind}: must be a whole number of at least 0, found {count!r}")
        return dict(value)

    def verdicts(self, value: Any) -> tuple[tuple[str, Any], ...]:
        rules = self._list("verdicts", value) if value != [] else []
        for index, rule in enumerate(rules):
            if not isinstance(rule, Mapping) or "verdict" not in rule:
                self.fail(f"verdicts[{index}]: must be a map with contains and verdict, found {rule!r}")
            self._known(f"verdicts[{index}]", rule, ("contains", "verdict"))
        return tuple((str(rule.get("contains", "")), rule["verdict"]) for rule in rules)

    def _list(self, key: str, value: Any) -> list[Any]:
        if not isinstance(value, list | tuple) or not value:
            self.fail(f"{key}: must be a list with at least one entry, found {value!r}")
        return list(value)

    def _known(self, key: str, value: Mapping[Any, Any], allowed: Sequence[str]) -> None:
        for name in value:
            if name not in allowed:
                hint = near_match(str(name), allowed)
                self.fail(f"{key}: unknown key {name!r}{hint} (allowed: {allowed_list(allowed)})")
