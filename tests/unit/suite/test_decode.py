from typing import Annotated, Any, Literal

import pytest
from pydantic import Field

from pytest_mindtrial.core.errors import TaskError
from pytest_mindtrial.suite.decode import decode, describe
from pytest_mindtrial.suite.field_types import (
    Duration,
    EnvMap,
    ExpectedSet,
    PositiveDuration,
    RawNode,
    RequiredText,
    Text,
    TextMap,
    YamlModel,
    kebab,
)
from pytest_mindtrial.suite.nodes import ROOT, ScalarNode
from pytest_mindtrial.suite.problems import Problems
from pytest_mindtrial.suite.yaml_reader import read_yaml


class Inner(YamlModel):
    port_number: Annotated[int, Field(ge=1, le=65535)]
    word: Literal["low", "high"] = "low"


class Example(YamlModel):
    text: Text = ""
    maybe_text: Text | None = None
    needed: RequiredText = "x"
    flag: bool = False
    tri: bool | None = None
    count: int = 0
    size: float | None = None
    tags: list[Text] = Field(default_factory=list)
    words: list[Literal["a", "b"]] | None = None
    env: EnvMap = Field(default_factory=dict)
    names: TextMap = Field(default_factory=dict)
    nested: dict[str, dict[str, Any]] = Field(default_factory=dict)
    lists: dict[str, list[Text]] = Field(default_factory=dict)
    wait: Duration = 0.0
    limit: PositiveDuration | None = None
    anything: Any = None
    accepted: ExpectedSet = ()
    raw: RawNode = None
    inner: Inner | None = None
    inners: list[Inner] = Field(default_factory=list)


def read(text):
    document = read_yaml(text.encode(), "f.yaml", TaskError)
    problems = Problems(document, TaskError)
    model = decode(problems, document.root, Example)
    problems.raise_if_any()
    return model


def fail(text):
    with pytest.raises(TaskError) as info:
        read(text)
    return str(info.value)


def test_kebab():
    assert kebab("max_requests_per_minute") == "max-requests-per-minute"


@pytest.mark.parametrize(
    "written, text",
    [
        ("007", "007"),
        ("1.50", "1.50"),
        ("yes", "yes"),
        ("~", ""),
        ("2025-09-14", "2025-09-14"),
        ("0x1F", "0x1F"),
        ("true", "true"),
        ("'a b'", "a b"),
        ("!!int 5", "5"),
        ("!!null ''", ""),
        ("!!binary aGk=", "hi"),
    ],
)
def test_a_text_field_takes_any_scalar_literally(written, text):
    assert read(f"text: {written}").text == text


@pytest.mark.parametrize("written", ["[a]", "{a: 1}"])
def test_a_text_field_takes_no_collection(written):
    assert "f.yaml:1:7 text: must be a text, found a " in fail(f"text: {written}")


@pytest.mark.parametrize("written", ["true", "True", "yes", "on", "Y", "YES"])
def test_a_bool_field_takes_old_words_for_true(written):
    assert read(f"flag: {written}").flag is True


@pytest.mark.parametrize("written", ["false", "no", "Off", "n"])
def test_a_bool_field_takes_old_words_for_false(written):
    assert read(f"tri: {written}").tri is False


@pytest.mark.parametrize(
    "written, found",
    [("1", "the number 1"), ("'true'", "the text 'true'"), ("0", "the number 0"), ("[]", "a list"), ("{}", "a map")],
)
def test_a_bool_field_refuses_others(written, found):
    assert fail(f"flag: {written}") == f"f.yaml:1:7 flag: must be true or false, found {found}"


def test_null_is_not_written():
    model = read("tri: ~\nflag:\ncount: null\nmaybe-text: ~\ntags: ~\nenv: ~\ninner: ~\nlimit: ~")
    assert (model.tri, model.flag, model.count, model.maybe_text) == (None, False, 0, None)
    assert (model.tags, model.env, model.inner, model.limit) == ([], {}, None, None)


@pytest.mark.parametrize(
    "written, value", [("5", 5), ("0x10", 16), ("1.0", 1), ("1e3", 1000), ("-3", -3), ("0777", 511)]
)
def test_an_int_field(written, value):
    found = read(f"count: {written}").count
    assert found == value
    assert type(found) is int


@pytest.mark.parametrize("written", ["'5'", "1.9", "true", "x", "[1]", ".nan", ".inf", "1e300"])
def test_an_int_field_refuses(written):
    assert "count: must be a whole number, found " in fail(f"count: {written}")


@pytest.mark.parametrize("written, value", [("1", 1.0), ("1.5", 1.5), ("1e3", 1000.0)])
def test_a_float_field(written, value):
    assert read(f"size: {written}").size == value


@pytest.mark.parametrize("written", ["'1'", "true", "x", "{}"])
def test_a_float_field_refuses(written):
    assert "size: must be a number, found " in fail(f"size: {written}")


def test_a_list_of_texts():
    assert read("tags: [1, true, x, ~, 1.50]").tags == ["1", "true", "x", "", "1.50"]


@pytest.mark.parametrize("written", ["x", "{a: 1}"])
def test_a_list_field_takes_no_other(written):
    assert "tags: must be a list, found " in fail(f"tags: {written}")


def test_a_map_of_texts():
    assert read("env: {A: 1, B: yes, C: ~}").env == {"A": "1", "B": "yes", "C": ""}
    assert read("names: {1: x}").names == {"1": "x"}


@pytest.mark.parametrize("written", ["{'': x}", "{A=B: x}"])
def test_environment_names(written):
    assert "is no name of an environment variable" in fail(f"env: {written}")


def test_a_map_field_takes_no_other():
    assert "env: must be a map, found a list" in fail("env: [a]")
    assert "nested.a: must be a map, found the number 1" in fail("nested: {a: 1}")


def test_null_lists_inside():
    assert read("lists: {a: ~, b: [x]}").lists == {"a": [], "b": ["x"]}


def test_maps_of_maps():
    assert read("nested: {a: {b: 1, c: yes}, d: ~}").nested == {"a": {"b": 1, "c": "yes"}, "d": {}}


@pytest.mark.parametrize(
    "written, seconds",
    [("60s", 60.0), ("1m30s", 90.0), ("1.5h", 5400.0), (".5s", 0.5), ("'0'", 0.0), ('"0"', 0.0), ("-5s", -5.0)],
)
def test_a_duration_field(written, seconds):
    assert read(f"wait: {written}").wait == seconds


@pytest.mark.parametrize("written", ["60", "0", "60 s", "1d", "'60'", "true", "[1s]", "1.5"])
def test_a_duration_field_refuses(written):
    assert "wait: " in fail(f"wait: {written}")


def test_a_number_for_a_duration_gets_a_hint():
    message = (
        "must be a duration such as 60s or 1m30s, found the number 60; add a unit and write it as text, such as 60s"
    )
    assert fail("wait: 60") == f"f.yaml:1:7 wait: {message}"


@pytest.mark.parametrize("written", ["0s", "-1s"])
def test_a_positive_duration(written):
    assert fail(f"limit: {written}") == "f.yaml:1:8 limit: must be longer than 0s"


def test_untyped_values():
    assert read("anything: {a: [yes, 1e3, ~]}").anything == {"a": ["yes", 1000.0, None]}


@pytest.mark.parametrize(
    "written, values",
    [("x", ("x",)), ("{a: 1}", ({"a": 1},)), ("[1, [2]]", (1, [2])), ("[]", ()), ("~", ()), ("yes", ("yes",))],
)
def test_a_set_field(written, values):
    assert read(f"accepted: {written}").accepted == values


def test_a_raw_field_is_the_node():
    assert isinstance(read("raw: x").raw, ScalarNode)


def test_a_choice():
    assert read("inner: {port-number: 1, word: high}").inner == Inner(port_number=1, word="high")
    assert read("inner: {port-number: 1, word: ''}").inner == Inner(port_number=1)
    message = "f.yaml:1:31 inner.word: must be one of low, high, found 'hgh'; did you mean 'high'?"
    assert fail("inner: {port-number: 1, word: hgh}") == message


def test_a_list_of_choices():
    assert read("words: [a, b]").words == ["a", "b"]
    assert "words[1]: must be one of a, b, found nothing" in fail("words: [a, '']")


@pytest.mark.parametrize(
    "port, message", [("0", "must be at least 1, found 0"), ("65536", "must be at most 65535, found 65536")]
)
def test_ranges(port, message):
    assert fail(f"inners:\n  - port-number: {port}") == f"f.yaml:2:18 inners[0].port-number: {message}"


def test_missing_keys_are_placed_at_their_map():
    assert fail("inners:\n  - word: low") == "f.yaml:2:5 inners[0].port-number: is required"
    assert fail("needed: ''") == "f.yaml:1:9 needed: is required"


def test_unknown_keys_name_the_near_match_and_all_keys():
    message = fail("inner:\n  prot-number: 5\n  port-number: 5\n")
    assert message == (
        "f.yaml:2:3 inner.prot-number: unknown key 'prot-number'; did you mean 'port-number'? "
        "(allowed: port-number, word)"
    )


def test_an_underscore_is_a_near_match():
    assert "did you mean 'maybe-text'?" in fail("maybe_text: x")


def test_a_map_is_needed():
    assert "f.yaml:1:1: must be a map with the keys text, maybe-text" in fail("- a")
    assert "found the text 'hello'" in fail("hello")
    assert "inners[0]: must be a map" in fail("inners: [~]")


def test_all_mistakes_are_listed_in_file_order():
    message = fail("flag: 1\nzzz: 2\ncount: x\ninner: {port-number: 0}\nsize: true\n")
    lines = message.splitlines()
    assert lines[0] == "f.yaml: 5 problems"
    assert [line.split()[0] for line in lines[1:]] == [
        f"f.yaml:{line}" for line in ("1:7", "2:1", "3:8", "4:22", "5:7")
    ]


def test_at_most_twenty_mistakes_are_shown():
    message = fail("".join(f"zz{n}: 1\n" for n in range(25)))
    lines = message.splitlines()
    assert len(lines) == 22
    assert lines[-1] == "  … and 5 more"


def test_the_first_position_stays_known():
    with pytest.raises(TaskError) as info:
        read("a1: 1\nb1: 2\n")
    assert info.value.position.line == 1


def test_unknown_keys_may_be_gathered():
    document = read_yaml(b"port-number: 5\nextra: [1]", "f", TaskError)
    problems = Problems(document, TaskError)
    extra = {}
    assert decode(problems, document.root, Inner, ROOT, extra) == Inner(port_number=5)
    assert extra == {"extra": [1]}


def test_a_scalar_that_breaks_its_tag_is_reported_once():
    assert fail("anything: !!int x") == "f.yaml:1:11 anything: 'x' cannot be read as !!int"
    assert "cannot be read as !!int" in fail("text: !!int x")


def test_long_values_are_cut():
    assert len(fail("flag: " + "x" * 5000)) < 200
    assert len(fail("inner: {port-number: 1, word: " + "x" * 5000 + "}")) < 300


def test_describe():
    def of(text):
        return describe(read_yaml(text.encode(), "f", TaskError).root)

    assert [of(text) for text in ("1", "a", "true", "~", "2025-01-01", "[]", "{}", "!!int x")] == [
        "the number 1",
        "the text 'a'",
        "the boolean true",
        "nothing",
        "the date 2025-01-01",
        "a list",
        "a map",
        "the text 'x'",
    ]
