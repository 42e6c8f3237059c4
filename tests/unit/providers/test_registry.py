"""Building clients: keys, endpoints, guards, what is logged, and what is imported when."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import pytest

from pytest_mindtrial.core.errors import ConfigError, Position, UnfinishedError, UnsupportedError
from pytest_mindtrial.core.secret import Secret
from pytest_mindtrial.providers import registry
from pytest_mindtrial.providers.base import Attachment, ModelClient, Prompt
from pytest_mindtrial.providers.client import HttpModelClient
from pytest_mindtrial.providers.http import Http
from pytest_mindtrial.providers.registry import build_client, load_dialect
from pytest_mindtrial.suite.model import ClientConfig, Provider, Run

KEY = Secret("sk-0123456789")


class NoPolicy:
    """Never used: building sends nothing."""

    async def execute(self, *_: Any, **__: Any) -> Any:
        raise AssertionError


VENDORS_OWN = ClientConfig()


def build(
    name: str,
    client: ClientConfig = VENDORS_OWN,
    *,
    key: Secret | None = KEY,
    key_from_env: bool = False,
    parameters: Mapping[str, Any] | None = None,
    model: str = "gpt-4.1",
) -> ModelClient:
    run = Run("r", name, model, parameters or {})
    provider = Provider(name, 0, client, (run,), position=Position("c.yaml", 3, 5))
    return build_client(provider, run, key=key, key_from_env=key_from_env, policy=NoPolicy(), http=Http())


def test_chat_vendors_get_an_http_client() -> None:
    for name in ("openai", "deepseek", "mistralai", "xai", "alibaba", "moonshotai", "openrouter"):
        client = build(name)
        assert isinstance(client, HttpModelClient)
        assert client.is_mock is False


def test_mock_and_local_need_no_key() -> None:
    assert build("mock", key=None).is_mock is True
    assert build("local", key=None).is_mock is False


def test_a_missing_key_is_an_error_that_names_the_variable_and_the_place() -> None:
    with pytest.raises(ConfigError, match=r"c\.yaml:3:5: provider xai needs an API key: .* XAI_API_KEY"):
        build("xai", key=None)


def test_custom_endpoints_work_without_a_key() -> None:
    assert build("xai", ClientConfig(endpoint="http://127.0.0.1:1/v1"), key=None) is not None


@pytest.mark.parametrize(
    "endpoint", ["http://127.0.0.1:1", "http://localhost:1/v1", "http://[::1]:1", "https://far.example"]
)
def test_keys_from_the_environment_go_to_safe_places(endpoint: str) -> None:
    assert build("xai", ClientConfig(endpoint=endpoint), key_from_env=True) is not None


def test_keys_from_the_environment_do_not_travel_in_the_clear() -> None:
    client = ClientConfig(endpoint="http://far.example/v1")
    with pytest.raises(ConfigError, match=r"XAI_API_KEY is not sent to http://far\.example/v1"):
        build("xai", client, key_from_env=True)
    assert build("xai", client, key_from_env=False) is not None


@pytest.mark.parametrize(
    "endpoint",
    [
        "ftp://x.example",
        "x.example/v1",
        "http://",
        "http://x:port",
        "http://x:0",
        "https://x.example/ü",
        "https://x.example/?a=b",
        "https://x.example/#a",
        "https://x.example/a b",
        "https://[::1",
        "http://x\n.example",
    ],
)
def test_unusable_endpoints(endpoint: str) -> None:
    with pytest.raises(ConfigError, match="cannot be used"):
        build("xai", ClientConfig(endpoint=endpoint))


@pytest.mark.parametrize("text", ["sk-line\nbreak", " sk-space", "sk-ключ", "sk-\x00"])
def test_keys_that_no_header_can_carry_are_not_shown(text: str) -> None:
    with pytest.raises(ConfigError, match="API key") as caught:
        build("xai", key=Secret(text))
    assert "sk-" not in str(caught.value)


@pytest.mark.parametrize(
    "headers", [{"bad name": "x"}, {"": "x"}, {"x-a": "line\nbreak"}, {"x-a": "ü"}, {"naïve": "x"}, {"Host": "x"}]
)
def test_headers_that_http_cannot_carry(headers: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="header"):
        build("xai", ClientConfig(headers=headers))


def test_unknown_providers() -> None:
    with pytest.raises(ConfigError, match="did you mean 'openai'"):
        build("openay")


def test_a_dialect_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry._MODULES, "responses", "not_there")
    with pytest.raises(UnfinishedError, match="responses"):
        build("openai", model="gpt-5.2")


def test_a_dialect_with_a_missing_dependency_is_a_defect(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(name: str) -> Any:
        raise ModuleNotFoundError("no module named 'other'", name="other")

    monkeypatch.setattr(registry.importlib, "import_module", fail)
    with pytest.raises(ModuleNotFoundError):
        load_dialect("chat")


def test_ignored_parameters_and_routing_are_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "pytest_mindtrial.providers"):
        build("openai", parameters={"reasoning-mode": "pro"})
        build("openrouter", parameters={"response_format": {"type": "json_object"}})
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("INFO", "openai run r (gpt-4.1) uses the chat API"),
        ("WARNING", "run r: reasoning-mode has no meaning in the chat API of openai and is ignored"),
        ("WARNING", "run r: response_format is sent as given, but replies are read as response-format says"),
    ]


def attached(mime: str, data: bytes | None, *, is_native: bool | None = None) -> Prompt:
    return Prompt("t", "?", "text", attachments=(Attachment("f", mime, data, is_native=is_native),))


@pytest.mark.parametrize(
    "prompt",
    [attached("application/zip", b"x"), attached("application/zip", None, is_native=True), attached("", b"x")],
)
def test_unsupported_native_files_skip_the_task(prompt: Prompt) -> None:
    client = build("xai")
    for ask in (client.check, client.start):
        with pytest.raises(UnsupportedError, match="xai cannot take file 'f'") as caught:
            ask(prompt)
        assert caught.value.title == "Feature Not Supported"


@pytest.mark.parametrize(
    "prompt",
    [
        attached("image/png", b"x"),
        attached("image/png", None, is_native=True),
        attached("application/zip", None),
        attached("application/zip", None, is_native=False),
    ],
)
def test_supported_and_local_files_pass(prompt: Prompt) -> None:
    build("xai").check(prompt)


NOTES = [
    ("anthropic", "claude", {"thinking-budget-tokens": 2048}, "thinking-budget-tokens is deprecated. Newer Claude"),
    ("anthropic", "claude", {"temperature": 0}, "temperature is deprecated. Newer Claude"),
    ("anthropic", "claude", {"top-p": 0.5}, "top-p is deprecated. Newer Claude"),
    ("anthropic", "claude", {"top-k": 5}, "top-k is deprecated. Newer Claude"),
    ("alibaba", "qwen", {"max-tokens": 5}, "max-tokens is deprecated. Use max-completion-tokens."),
    (
        "alibaba",
        "qwen",
        {"text-response-format": True},
        "text-response-format is deprecated. Use response-format: text.",
    ),
    ("alibaba", "qwen", {"disable-legacy-json-mode": True}, "is deprecated. Use response-format: json-schema."),
    ("moonshotai", "kimi-k3", {"max-tokens": 5}, "max-tokens is deprecated. Use max-completion-tokens."),
    ("moonshotai", "Kimi-K2.6", {"temperature": 0}, "temperature is sent, but moonshotai is known to answer it"),
    ("moonshotai", "kimi-k2.5", {"top-p": 1}, "top-p is sent, but moonshotai is known to answer it with an error"),
    ("moonshotai", "kimi-k2.6", {"presence-penalty": 1}, "is known to answer it with an error for kimi-k2.6"),
    ("moonshotai", "kimi-k2.6", {"frequency-penalty": 1}, "is known to answer it with an error for kimi-k2.6"),
    ("moonshotai", "kimi-k3", {"temperature": 0}, None),
    ("alibaba", "qwen", {"text-response-format": False, "max-tokens": None}, None),
    ("openrouter", "m", {"temperature": 1, "extra_thing": 1}, None),
]


@pytest.mark.parametrize("vendor, model, parameters, note", NOTES)
def test_outdated_and_refused_parameters_are_told_once(
    caplog: pytest.LogCaptureFixture, vendor: str, model: str, parameters: dict[str, Any], note: str | None
) -> None:
    with caplog.at_level(logging.WARNING, "pytest_mindtrial.providers"):
        build(vendor, model=model, parameters=parameters)
    messages = [record.getMessage() for record in caplog.records]
    assert len(messages) == (0 if note is None else 1)
    assert note is None or note in messages[0]
