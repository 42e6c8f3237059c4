import pytest

from pytest_mindtrial.core.errors import ConfigError, Position
from pytest_mindtrial.suite.keys import KEY_VARIABLES, is_loopback, resolve_key, resolve_key_source
from pytest_mindtrial.suite.model import ClientConfig, Provider


def provider(name="openai", api_key="", endpoint=None):
    return Provider(name, 0, ClientConfig(api_key, endpoint), (), position=Position("c.yaml", 2, 3))


@pytest.mark.parametrize(
    "name, variable",
    [
        ("openai", "OPENAI_API_KEY"),
        ("google", "GOOGLE_API_KEY"),
        ("anthropic", "ANTHROPIC_API_KEY"),
        ("deepseek", "DEEPSEEK_API_KEY"),
        ("mistralai", "MISTRAL_API_KEY"),
        ("xai", "XAI_API_KEY"),
        ("alibaba", "DASHSCOPE_API_KEY"),
        ("moonshotai", "MOONSHOT_API_KEY"),
        ("openrouter", "OPENROUTER_API_KEY"),
    ],
)
def test_own_variable(name, variable):
    assert KEY_VARIABLES[name] == variable
    for written in ("", "  "):
        found = resolve_key_source(provider(name, written), {variable: " sk-1 "})
        assert found.secret.reveal() == "sk-1"
        assert found.source == "fallback"


@pytest.mark.parametrize("environ", [{}, {"OPENAI_API_KEY": " "}])
def test_a_missing_key_names_the_variable(environ):
    with pytest.raises(ConfigError) as info:
        resolve_key(provider(), environ)
    assert str(info.value).startswith(
        "c.yaml:2:3: provider 'openai' has no API key: set the environment variable OPENAI_API_KEY"
    )


def test_no_key_is_needed_with_an_own_endpoint():
    found = resolve_key_source(provider(endpoint="http://127.0.0.1:8000"), {})
    assert (found.secret, found.source) == (None, "none")


@pytest.mark.parametrize("name", ["mock", "local"])
def test_own_providers_need_none(name):
    assert resolve_key(provider(name), {"OPENAI_API_KEY": "x"}) is None


@pytest.mark.parametrize("written", ["{{.Env.KEY}}", " {{ .Env.KEY }} ", "{{.Env.KEY\t}}"])
def test_placeholder(written):
    found = resolve_key_source(provider(api_key=written), {"KEY": "sk-2\n", "OPENAI_API_KEY": "other"})
    assert found.secret.reveal() == "sk-2"
    assert found.source == "placeholder"


@pytest.mark.parametrize(
    "environ, message",
    [({}, "missing environment variable: KEY"), ({"KEY": " "}, "environment variable KEY resolved to an empty value")],
)
def test_a_placeholder_has_no_fallback(environ, message):
    with pytest.raises(ConfigError) as info:
        resolve_key(provider(api_key="{{.Env.KEY}}"), {"OPENAI_API_KEY": "other", **environ})
    assert f"failed to resolve configuration value: provider 'openai': {message}" in str(info.value)
    assert "other" not in str(info.value)


@pytest.mark.parametrize(
    "written", ["sk-3 ", "Bearer {{.Env.X}}", '{{.Env.X | printf "%s"}}', "{{.Env.1X}}", "{{.Env.}}"]
)
def test_everything_else_is_a_literal(written):
    found = resolve_key_source(provider(api_key=written), {"X": "value"})
    assert found.secret.reveal() == written
    assert found.source == "file"
    assert written not in repr(found)


def test_a_fallback_key_does_not_travel_unencrypted():
    environ = {"OPENAI_API_KEY": "sk-4"}
    with pytest.raises(ConfigError, match=r"the key of OPENAI_API_KEY is not sent unencrypted to example.org") as info:
        resolve_key(provider(endpoint="http://example.org/v1"), environ)
    assert "{{.Env.OPENAI_API_KEY}}" in str(info.value)
    assert resolve_key(provider(endpoint="https://example.org/v1"), environ).reveal() == "sk-4"
    assert resolve_key(provider(endpoint="http://localhost:1/v1"), environ).reveal() == "sk-4"
    assert resolve_key(provider(api_key="k", endpoint="http://example.org/v1"), environ).reveal() == "k"


@pytest.mark.parametrize(
    "url, loopback",
    [
        ("http://localhost/x", True),
        ("http://a.localhost:1", True),
        ("http://127.1.2.3", True),
        ("http://[::1]:80/", True),
        ("http://10.0.0.1", False),
        ("http://localhost.example.org", False),
        ("nothing", False),
    ],
)
def test_loopback(url, loopback):
    assert is_loopback(url) is loopback
