from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from pytest_mindtrial.core.errors import ConfigError, UnfinishedError
from pytest_mindtrial.suite.model import JudgeSelection, Rules, Task
from pytest_mindtrial.validators.custom import CustomValidator
from pytest_mindtrial.validators.judge import JudgeValidator
from pytest_mindtrial.validators.schema import SchemaValidator
from pytest_mindtrial.validators.select import accepted_form, choose_validator
from pytest_mindtrial.validators.value import ValueValidator

JUDGE = JudgeSelection(True, "strict", "fast")


def task(rules: Rules, *expected: Any) -> Task:
    return Task("t", "p", "f", expected, rules)


async def process(data: Mapping[str, Any], /) -> str:
    return ""


@pytest.mark.parametrize(
    "rules, kind, name",
    [
        (Rules(), ValueValidator, "value match"),
        (Rules(schema_validation=True), SchemaValidator, "schema match"),
        (Rules(judge=JUDGE), JudgeValidator, "fast strict judge"),
        (Rules(custom_validator="box"), CustomValidator, "custom validator box"),
        (Rules(judge=JUDGE, schema_validation=True), JudgeValidator, "fast strict judge"),
        (Rules(custom_validator="box", judge=JUDGE), CustomValidator, "custom validator box"),
    ],
)
def test_choice(rules: Rules, kind: type, name: str, scripted_judge: Any) -> None:
    validator = choose_validator(task(rules), ask=scripted_judge(Exception()), custom=process)
    assert type(validator) is kind
    assert (validator.name, validator.method) == (name, rules.method)


def test_what_is_missing_is_an_error() -> None:
    with pytest.raises(ConfigError, match="needs the judge 'strict'"):
        choose_validator(task(Rules(judge=JUDGE)), ask=None, custom=process)
    with pytest.raises(UnfinishedError, match="custom validator 'box'"):
        choose_validator(task(Rules(custom_validator="box")), ask=None, custom=None)


@pytest.mark.parametrize(
    "rules, form",
    [
        (Rules(), ("a", "b c")),
        (Rules(ignore_whitespace=True, case_sensitive=True), ("A", "a", "Bc")),
        (Rules(judge=JUDGE), ("A", "a", "B c")),
        (Rules(schema_validation=True), (" A", "a", "a", "B c")),
        (Rules(custom_validator="box"), (" A", "a", "a", "B c")),
    ],
)
def test_accepted_form(rules: Rules, form: tuple[str, ...]) -> None:
    assert accepted_form(task(rules, " A", "a", "a", "B c")) == form
