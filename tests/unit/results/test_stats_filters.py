from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mindtrial.core.errors import ConfigError
from pytest_mindtrial.core.record import Metadata, Result
from pytest_mindtrial.core.values import Kind
from pytest_mindtrial.results.stats_filters import (
    UNSPECIFIED,
    Filters,
    dimension_values,
    equals_fold,
    group_results,
    parse_group_by,
)


def result(tags: tuple[str, ...] = (), suite: str = "", model: str | None = None, kind: Kind = Kind.PASSED) -> Result:
    config = None if model is None else {"Model": model}
    return Result("", kind, "t", "Pro", "run", run_config=config, metadata=Metadata(suite, tags=tags))


@pytest.mark.parametrize(
    "text, names",
    [("provider,run", ("provider", "run")), (" TAG ,, Model ", ("tag", "model")), ("suite", ("suite",))],
)
def test_group_by(text: str, names: tuple[str, ...]) -> None:
    assert parse_group_by(text) == names


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "names none"),
        (" , ", "names none"),
        ("provder", "did you mean 'provider'"),
        ("zzz", "allowed: provider, run"),
        ("run,RUN", "'run' is given twice"),
    ],
)
def test_bad_group_by(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match="invalid group-by dimension: ") as caught:
        parse_group_by(text)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "first, second, same",
    [
        ("Straße", "STRASSE", False),
        ("Straße", "straẞe", True),
        ("ΟΔΟΣ", "οδος", True),
        ("K", "k", True),
        ("İ", "i̇", False),
        ("a", "b", False),
        ("OpenAI", "openai", True),
    ],
)
def test_folding(first: str, second: str, same: bool) -> None:
    assert equals_fold(first, second) is same


@given(st.text())
def test_folding_keeps_the_length(text: str) -> None:
    assert equals_fold(text, text)
    assert not equals_fold(text, text + "x")


@pytest.mark.parametrize(
    "filters, wanted",
    [
        (Filters(), True),
        (Filters({"provider": ["PRO"]}), True),
        (Filters({"provider": ["other", "pro"]}), True),
        (Filters({"provider": ["pro"], "suite": ["other"]}), False),
        (Filters({"suite": ["CORE"], "model": [UNSPECIFIED]}), True),
        (Filters({"category": ["(Unspecified)"]}), True),
        (Filters({"category": []}), True),
        (Filters({"tag": ["a", "b"]}), True),
        (Filters({"tag": ["a", "a"]}), True),
        (Filters({"tag": ["a", "c"]}), False),
        (Filters({"tag": ["a", "c"]}, tag_mode="any"), True),
        (Filters({"tag": [UNSPECIFIED]}), False),
        (Filters(statuses=["Passed"]), True),
        (Filters(statuses=["failed", "error"]), False),
    ],
)
def test_filters(filters: Filters, wanted: bool) -> None:
    assert filters(result(("A", "b"), "core")) is wanted


def test_untagged_results_are_found() -> None:
    assert Filters({"tag": [UNSPECIFIED]})(result())
    assert not Filters({"tag": [UNSPECIFIED, "a"]})(result())


@pytest.mark.parametrize(
    "status, mode, message",
    [
        ("pased", "all", "invalid status: 'pased'.*did you mean 'passed'"),
        ("passed", "some", "invalid tag-mode: 'some'"),
    ],
)
def test_bad_filters(status: str, mode: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Filters(statuses=[status], tag_mode=mode)


def test_dimension_values() -> None:
    item = result(("A", "a", "A", " "), "  ", "m")
    assert dimension_values(item, "tag") == ("A", "a")
    assert dimension_values(item, "suite") == (UNSPECIFIED,)
    assert dimension_values(item, "model") == ("m",)
    assert dimension_values(result(), "tag") == (UNSPECIFIED,)


def test_groups_explode_tags_and_sort_by_bytes() -> None:
    groups = group_results([result(("z", "é")), result(("Z", "\ud800")), result()], ["tag", "run"])
    assert [key for key, _ in groups] == [
        (UNSPECIFIED, "run"),
        ("Z", "run"),
        ("z", "run"),
        ("é", "run"),
        ("\ud800", "run"),
    ]


tags = st.lists(st.sampled_from(["a", "A", "b", "c"]), max_size=4).map(tuple)


@given(st.lists(tags, max_size=6), st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=3))
def test_all_is_never_wider_than_any_and_each_value_narrows(all_tags: list[tuple[str, ...]], values: list[str]) -> None:
    items = [result(item) for item in all_tags]
    every = list(filter(Filters({"tag": values}), items))
    some = list(filter(Filters({"tag": values}, tag_mode="any"), items))
    assert all(item in some for item in every)
    assert every == [item for item in items if all(Filters({"tag": [value]})(item) for value in values)]
    assert list(filter(Filters({"tag": values}), every)) == every


@given(st.lists(tags, max_size=6))
def test_grouping_without_tags_is_a_partition(all_tags: list[tuple[str, ...]]) -> None:
    items = [result(item) for item in all_tags]
    assert sum(len(members) for _, members in group_results(items, ["suite", "model"])) == len(items)
