"""Right answers, wrong answers and verdicts for the mock provider.

Does not decide which of them is given (``providers/mock.py``). Everything here is a pure function of the prompt.
Source: design D13; spec mindtrial 5.3 (what a judge is asked).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from pytest_mindtrial.providers.base import Prompt
from pytest_mindtrial.providers.mock_pattern import PatternError
from pytest_mindtrial.providers.mock_schema import InstanceError, minimal_instance

__all__ = ["as_text", "judge_verdict", "right_answer", "wrong_answer"]

_DONT_KNOW = "I do not know"
_SCHEMA_WORDS = """
$schema $id $defs $ref type const enum anyOf oneOf allOf not title description properties required minimum maximum
exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength pattern format items prefixItems contains minItems
maxItems uniqueItems additionalProperties patternProperties minProperties maxProperties default examples if then else
"""
_SCHEMA_KEYS = frozenset(_SCHEMA_WORDS.split())


def as_text(value: Any) -> str:
    """Return a value as a person would write it: texts as they are, everything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def right_answer(prompt: Prompt) -> Any:
    """Return the first accepted answer; for schema validation a value the schema accepts; else a value of the format.

    Raises:
        InstanceError: No value can be made for the schema; the run needs a scripted answer.
        PatternError: The same, for a pattern in it.
    """
    if not prompt.expected:
        return minimal_instance(prompt.response_format) if prompt.wants_schema else _DONT_KNOW
    first = prompt.expected[0]
    if _is_validator_schema(first, prompt):
        first = minimal_instance(first)
    return first if prompt.wants_schema else as_text(first).strip()


def wrong_answer(prompt: Prompt) -> Any:
    """Return an answer near the right one that no accepted answer equals."""
    try:
        right = right_answer(prompt)
    except (InstanceError, PatternError):
        right = _DONT_KNOW
    if prompt.expected and _is_validator_schema(prompt.expected[0], prompt):
        return next(_rejected(right, prompt.expected[0]))
    taken = {_loose(value) for value in prompt.expected}
    return next(value for value in _variations(right, prompt.wants_schema) if _loose(value) not in taken)


def _is_validator_schema(value: Any, prompt: Prompt) -> bool:
    """Tell a schema the answer must satisfy from an object the answer must equal.

    A text task has no object answers. For a structured task an object whose keys are all words of JSON Schema is taken
    for a schema, unless the task's own format has members of these names.
    """
    if not isinstance(value, Mapping) or not value:
        return False
    if not prompt.wants_schema:
        return True
    members = prompt.response_format.get("properties", {}) if isinstance(prompt.response_format, Mapping) else {}
    return _SCHEMA_KEYS.issuperset(value) and not any(key in members for key in value)


def _loose(value: Any) -> str:
    """Return a form in which the rules of the most tolerant value match see no difference."""
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True, default=str)
    return "".join(text.split()).casefold()


def _variations(right: Any, is_structured: bool) -> Iterator[Any]:
    if is_structured:
        yield from _structured_variations(right)
        return
    text = as_text(right)
    if number := re.search(r"\d+", text):
        yield text[: number.start()] + str(int(number[0]) + 1) + text[number.end() :]
    if len(text) > 3:
        middle = len(text) // 2
        yield text[:middle] + text[middle + 1 :]
        yield text[:-1]
    yield _DONT_KNOW
    count = 2
    while True:
        yield f"{_DONT_KNOW} ({count})"
        count += 1


def _structured_variations(right: Any) -> Iterator[Any]:
    step = 1
    while True:
        changed = _changed(right, step)
        yield changed if changed is not None else [step]
        yield [right, step]
        step += 1


def _changed(value: Any, step: int) -> Any:
    """Return a copy whose first scalar differs; None when there is none."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + step
    if isinstance(value, str):
        return value + "?" * step
    if isinstance(value, Mapping):
        return _first_changed(value.items(), dict(value), step)
    if isinstance(value, list | tuple):
        return _first_changed(enumerate(value), list(value), step)
    return None


def _first_changed(members: Any, copy: Any, step: int) -> Any:
    for key, member in members:
        changed = _changed(member, step)
        if changed is not None:
            copy[key] = changed
            return copy
    return None


def _rejected(right: Any, schema: Mapping[str, Any]) -> Iterator[Any]:
    # Imported here: only a careless run with schema-validation tasks pays for it.
    import jsonschema

    check = jsonschema.Draft202012Validator({key: value for key, value in schema.items() if key != "$schema"})
    candidates: tuple[Any, ...] = (_changed(right, 7), _DONT_KNOW, "", None, -1, 1e9, [], {}, True)
    for value in candidates:
        if not check.is_valid(value):
            yield value
    yield _DONT_KNOW


def judge_verdict(prompt: Prompt, rules: tuple[tuple[str, Any], ...]) -> Any:
    """Return the verdict on the answer that a judge's prompt shows.

    The first rule whose text occurs in the answer decides, letter case aside (in the whole prompt where a template of
    the user's own hides which part is the answer). Else the answer is correct when it equals an accepted one, letter
    case and white space aside, and the verdict takes the wanted form: the boolean members of a schema say so, a text is
    ``correct`` or ``incorrect``.
    """
    shown = _SHOWN.search(prompt.text)
    heard = (shown["answer"] if shown else prompt.text).casefold()
    for text, verdict in rules:
        if text.casefold() in heard:
            return verdict
    is_correct = shown is not None and _loose(shown["answer"]) in {_loose(item) for item in _items(shown["accepted"])}
    if not prompt.wants_schema:
        return "correct" if is_correct else "incorrect"
    verdict = minimal_instance(prompt.response_format)
    if isinstance(verdict, dict):
        return {key: is_correct if isinstance(value, bool) else value for key, value in verdict.items()}
    return is_correct if isinstance(verdict, bool) else verdict


# The sections of the built-in judge prompt (validators/judge_prompt.py); a test keeps the two together.
_SHOWN = re.compile(
    r"^Accepted answers[^\n]*\n(?P<accepted>.*?)\n\nCandidate answer\n(?P<answer>.*)\n\nComparison settings$",
    re.MULTILINE | re.DOTALL,
)


def _items(text: str) -> list[str]:
    """Return the entries of a list whose entries may go over several lines."""
    return [item for item in re.split(r"^- ", text, flags=re.MULTILINE) if item.strip()]
