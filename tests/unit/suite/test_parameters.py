import pytest

from pytest_mindtrial.core.errors import Position
from pytest_mindtrial.suite.parameters import TABLES, check_output_mode, check_parameters


def messages(provider, **parameters):
    return [error.message for error in check_parameters(provider, parameters_of(parameters))]


def parameters_of(parameters):
    return {name.replace("_", "-"): value for name, value in parameters.items()}


@pytest.mark.parametrize("provider", sorted(TABLES))
def test_rows_are_unique_and_exclusions_name_rows(provider):
    table = TABLES[provider]
    assert len(table.by_name) == len(table.rows)
    for pair in table.exclusions:
        assert pair.first in table.by_name
        assert pair.second in table.by_name


def rows_with(kind):
    return [
        pytest.param(provider, row, id=f"{provider}-{row.name}")
        for provider, table in TABLES.items()
        for row in table.rows
        if row.kind == kind
    ]


@pytest.mark.parametrize("provider, row", rows_with("choice"))
def test_choice_takes_its_words_only(provider, row):
    assert row.choices
    for word in row.choices:
        assert check_parameters(provider, {row.name: word}) == []
    (error,) = check_parameters(provider, {row.name: "wrong"})
    assert error.message.startswith(f"{row.name}: must be one of {', '.join(row.choices)}, found 'wrong'")


@pytest.mark.parametrize("provider, row", rows_with("bool"))
@pytest.mark.parametrize("value", [1, "true", "yes", 0.0, [True]])
def test_bool_takes_booleans_only(provider, row, value):
    assert check_parameters(provider, {row.name: True}) == []
    assert check_parameters(provider, {row.name: False}) == []
    assert len(check_parameters(provider, {row.name: value})) == 1


@pytest.mark.parametrize("provider, row", [*rows_with("int"), *rows_with("number")])
def test_numbers_are_held_in_their_range(provider, row):
    step = 1 if row.kind == "int" else 0.01
    for bound, direction in ((row.minimum, -1), (row.maximum, 1)):
        if bound is None:
            continue
        inside = int(bound) if row.kind == "int" else bound
        assert check_parameters(provider, {row.name: inside}) == []
        (error,) = check_parameters(provider, {row.name: inside + direction * step})
        assert str(error).startswith(f"{row.name}: must be ")
    for value in (True, "1", [1], float("nan")):
        assert len(check_parameters(provider, {row.name: value})) == 1
    if row.kind == "int":
        assert len(check_parameters(provider, {row.name: 5.0})) == 1


RANGES = [
    ("openai", "temperature", 0, 2),
    ("openai", "top-p", 0, 1),
    ("openai", "presence-penalty", -2, 2),
    ("openai", "frequency-penalty", -2, 2),
    ("openai", "max-completion-tokens", 1, None),
    ("anthropic", "max-tokens", 1, None),
    ("anthropic", "thinking-budget-tokens", 1024, None),
    ("anthropic", "temperature", 0, 1),
    ("anthropic", "top-k", 0, None),
    ("google", "temperature", 0, 2),
    ("google", "presence-penalty", None, None),
    ("google", "seed", -(2**31), 2**31 - 1),
    ("deepseek", "max-tokens", 1, None),
    ("mistralai", "temperature", 0, 1.5),
    ("mistralai", "max-tokens", 0, None),
    ("mistralai", "random-seed", -(2**31), 2**31 - 1),
    ("xai", "seed", -(2**31), 2**31 - 1),
    ("alibaba", "seed", 0, 2**32 - 1),
    ("alibaba", "thinking-budget", 1, None),
    ("alibaba", "max-tokens", 0, None),
    ("alibaba", "max-completion-tokens", 1, None),
    ("moonshotai", "temperature", 0, 1),
    ("moonshotai", "max-tokens", 0, None),
    ("openrouter", "min-p", 0, 1),
    ("openrouter", "top-a", 0, 1),
    ("openrouter", "repetition-penalty", 0, 2),
    ("openrouter", "max-tokens", 1, None),
    ("openrouter", "seed", None, None),
    ("local", "max-tokens", 1, None),
]


@pytest.mark.parametrize("provider, name, low, high", RANGES)
def test_ranges_are_those_of_the_contract(provider, name, low, high):
    row = TABLES[provider].by_name[name]
    assert (row.minimum, row.maximum) == (low, high)


TARGETS = [
    ("openai", "chat", "reasoning-effort", "reasoning_effort"),
    ("openai", "responses", "reasoning-effort", "reasoning.effort"),
    ("openai", "chat", "reasoning-context", None),
    ("openai", "responses", "reasoning-context", "reasoning.context"),
    ("openai", "responses", "verbosity", "text.verbosity"),
    ("openai", "responses", "presence-penalty", None),
    ("openai", "chat", "presence-penalty", "presence_penalty"),
    ("openai", "responses", "max-completion-tokens", "max_output_tokens"),
    ("google", "google", "thinking-level", "generationConfig.thinkingConfig.thinkingLevel"),
    ("google", "google", "media-resolution", "generationConfig.mediaResolution"),
    ("google", "google", "top-k", "generationConfig.topK"),
    ("google", "google", "frequency-penalty", "generationConfig.frequencyPenalty"),
    ("deepseek", "chat", "thinking", "thinking.type"),
    ("mistralai", "chat", "random-seed", "random_seed"),
    ("moonshotai", "chat", "preserve-thinking", "thinking.keep"),
    ("alibaba", "chat", "thinking-budget", "thinking_budget"),
    ("openrouter", "chat", "min-p", "min_p"),
    ("anthropic", "anthropic", "max-tokens", "max_tokens"),
]


@pytest.mark.parametrize("provider, dialect, name, target", TARGETS)
def test_body_paths(provider, dialect, name, target):
    assert TABLES[provider].by_name[name].target_in(dialect) == target


def test_values_are_mapped_where_the_wire_differs():
    assert TABLES["google"].by_name["thinking-level"].sent("high") == "HIGH"
    assert TABLES["google"].by_name["media-resolution"].sent("low") == "MEDIA_RESOLUTION_LOW"
    assert TABLES["openai"].by_name["verbosity"].sent("low") == "low"


def test_unknown_key_names_the_near_match_and_all_keys():
    (message,) = messages("openai", reasoning_efort="high")
    assert "unknown model parameter 'reasoning-efort' for openai; did you mean 'reasoning-effort'?" in message
    assert "max-completion-tokens" in message


def test_unknown_key_far_from_all_has_no_guess():
    (message,) = messages("xai", zzzz=1)
    assert "did you mean" not in message


def test_positions_are_those_of_the_values():
    place = Position("config.yaml", 9, 5, "config.providers[0].runs[0].model-parameters.top-p")
    (error,) = check_parameters("openai", {"top-p": 3}, {"top-p": place})
    assert error.position == place
    assert str(error).startswith("config.yaml:9:5 config.providers[0]")


def test_null_means_not_written():
    assert check_parameters("alibaba", {"max-tokens": None, "max-completion-tokens": 5}) == []


@pytest.mark.parametrize(
    "first, second",
    [
        ({"thinking-budget": 5}, {"reasoning-effort": "low"}),
        ({"max-tokens": 5}, {"max-completion-tokens": 5}),
        ({"response-format": "text"}, {"text-response-format": True}),
        ({"response-format": "json-schema"}, {"disable-legacy-json-mode": True}),
    ],
)
def test_alibaba_exclusions(first, second):
    (error,) = check_parameters("alibaba", first | second)
    assert "cannot be combined with" in error.message
    assert check_parameters("alibaba", first) == []
    assert check_parameters("alibaba", second) == []


def test_a_boolean_written_false_excludes_nothing():
    assert check_parameters("alibaba", {"response-format": "text", "text-response-format": False}) == []


@pytest.mark.parametrize("provider", ["moonshotai", "openrouter"])
def test_both_token_limits(provider):
    (message,) = messages(provider, max_tokens=5, max_completion_tokens=5)
    assert message.startswith("max-completion-tokens: cannot be combined with max-tokens")


ANTHROPIC = [
    ({"thinking-budget-tokens": 2048, "max-tokens": 8192}, None),
    ({"thinking-budget-tokens": 8192, "max-tokens": 8192}, "must be less than max-tokens, found 8192"),
    ({"thinking-budget-tokens": 32767}, None),
    ({"thinking-budget-tokens": 32768}, "found 32768 with max-tokens 32768 (the default)"),
    ({"thinking-budget-tokens": 9000, "max-tokens": 10, "effort": "max"}, None),
    ({"thinking": "disabled", "thinking-budget-tokens": 2048}, "cannot be combined with thinking: disabled"),
    ({"thinking": "between_tools", "thinking-budget-tokens": 2048}, "cannot be combined with thinking: between_tools"),
    ({"thinking": "disabled", "effort": "high"}, None),
    ({"thinking": "disabled", "effort": "xhigh"}, "effort: xhigh cannot be combined with thinking: disabled"),
    ({"thinking": "between_tools", "effort": "max"}, "effort: max cannot be combined with thinking: between_tools"),
    ({"thinking": "between_tools", "effort": "low"}, None),
]


@pytest.mark.parametrize("parameters, fragment", ANTHROPIC)
def test_anthropic_combinations(parameters, fragment):
    errors = check_parameters("anthropic", parameters)
    if fragment is None:
        assert errors == []
    else:
        assert [fragment in error.message for error in errors] == [True]


def test_openrouter_passes_underscores_and_refuses_hyphens():
    assert messages("openrouter") == []
    assert check_parameters("openrouter", {"reasoning_effort": "xhigh", "reasoning": {"effort": "high"}}) == []
    (message,) = messages("openrouter", max_tokenz=1)
    assert "did you mean 'max-tokens'?" in message
    assert "underscores" in message


@pytest.mark.parametrize("name", ["model", "messages"])
def test_openrouter_reserved_keys(name):
    (error,) = check_parameters("openrouter", {name: "x"})
    assert "cannot be passed through" in error.message


def test_openrouter_stream_is_a_boolean():
    assert check_parameters("openrouter", {"stream": True}) == []
    (error,) = check_parameters("openrouter", {"stream": "yes"})
    assert error.message == "stream: must be true or false, found 'yes'"


@pytest.mark.parametrize(
    "value, fragment",
    [
        ("x", "must be a list"),
        (["x"], "[0] must be a map"),
        ([{"type": "a"}, {"type": "b", "params": {}}], "[1] has the unknown key 'params'"),
        ([{"parameters": {}}], "[0].type is required"),
        ([{"type": " "}], "[0].type is required"),
        ([{"type": "a", "parameters": [1]}], "[0].parameters must be a map"),
    ],
)
def test_server_tools_shape(value, fragment):
    (error,) = check_parameters("openrouter", {"server-tools": value})
    assert fragment in error.message


def test_server_tools_good():
    tools = [{"type": "openrouter:fusion", "parameters": {"model": "m"}}, {"type": "x"}]
    assert check_parameters("openrouter", {"server-tools": tools}) == []


def test_mock_takes_anything_and_local_its_table():
    assert check_parameters("mock", {"answers": {"a": 1}, "delay": "1s"}) == []
    assert len(check_parameters("local", {"top-a": 1})) == 1


def test_what_json_cannot_hold_is_not_passed_through():
    for provider in ("openrouter", "mock"):
        (error,) = check_parameters(provider, {"extra": {1: "a"}})
        assert error.message == "extra: the key 1 is not a text; put it in quotes"


def test_unknown_provider_has_no_parameters():
    (error,) = check_parameters("nobody", {"a": 1})
    assert "provider 'nobody' does not support model parameters" in error.message


@pytest.mark.parametrize("provider", ["openrouter", "alibaba", "moonshotai"])
def test_disabled_structured_output_needs_text(provider):
    assert check_output_mode(provider, {"response-format": "text"}) is None
    assert check_output_mode(provider, {}) is None
    assert "requires response format to be plain text" in check_output_mode(
        provider, {"response-format": "json-object"}
    )
    assert check_output_mode("nobody", {}) is None
