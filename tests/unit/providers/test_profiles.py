"""Vendor data: endpoints, dialect choice, native files, registration (spec providers 2, 3.2 to 3.4, 10.1)."""

from __future__ import annotations

import pytest

from pytest_mindtrial.core.errors import ConfigError
from pytest_mindtrial.providers import profiles
from pytest_mindtrial.providers.native_files import GOOGLE_DOCUMENTS, IMAGES, OPENAI_DOCUMENTS
from pytest_mindtrial.providers.profiles import Profile, base_url, choose_dialect, profile_of, register_profile
from pytest_mindtrial.suite.model import ClientConfig
from pytest_mindtrial.suite.parameter_types import ParameterTable

VENDORS = ("openai", "google", "anthropic", "deepseek", "mistralai", "xai", "alibaba", "moonshotai", "openrouter")


@pytest.mark.parametrize(
    "vendor, url, variable, auth",
    [
        ("openai", "https://api.openai.com/v1", "OPENAI_API_KEY", "bearer"),
        ("google", "https://generativelanguage.googleapis.com/v1beta", "GOOGLE_API_KEY", "x-goog-api-key"),
        ("anthropic", "https://api.anthropic.com", "ANTHROPIC_API_KEY", "x-api-key"),
        ("deepseek", "https://api.deepseek.com", "DEEPSEEK_API_KEY", "bearer"),
        ("mistralai", "https://api.mistral.ai/v1", "MISTRAL_API_KEY", "bearer"),
        ("xai", "https://api.x.ai/v1", "XAI_API_KEY", "bearer"),
        ("alibaba", "https://dashscope-intl.aliyuncs.com/compatible-mode/v1", "DASHSCOPE_API_KEY", "bearer"),
        ("moonshotai", "https://api.moonshot.ai/v1", "MOONSHOT_API_KEY", "bearer"),
        ("openrouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", "bearer"),
    ],
)
def test_where_the_vendors_are(vendor: str, url: str, variable: str, auth: str) -> None:
    profile = profile_of(vendor)
    assert (base_url(profile, ClientConfig()), profile.key_variable, profile.auth) == (url, variable, auth)


@pytest.mark.parametrize(
    "vendor, endpoint, url",
    [
        ("openai", "http://localhost:8000/v1/", "http://localhost:8000/v1"),
        ("anthropic", "https://gw.example/anthropic", "https://gw.example/anthropic"),
        ("anthropic", "https://gw.example/v1/", "https://gw.example"),
        ("google", "https://gw.example", "https://gw.example/v1beta"),
        ("google", "https://gw.example/v1", "https://gw.example/v1"),
        ("google", "https://gw.example/v1beta/", "https://gw.example/v1beta"),
        ("google", "https://gw.example/v1alpha", "https://gw.example/v1alpha"),
    ],
)
def test_endpoint_replaces_the_base_url(vendor: str, endpoint: str, url: str) -> None:
    assert base_url(profile_of(vendor), ClientConfig(endpoint=endpoint)) == url


@pytest.mark.parametrize(
    "model, dialect",
    [
        ("gpt-3.5-turbo", "chat"),
        ("gpt-4.1-mini", "chat"),
        (" GPT-4o ", "chat"),
        ("o1", "chat"),
        ("o3-mini", "chat"),
        ("o4-mini", "chat"),
        ("gpt-5.2", "responses"),
        ("o5", "responses"),
        ("something-new", "responses"),
    ],
)
def test_openai_routes_by_model(model: str, dialect: str) -> None:
    assert choose_dialect(profile_of("openai"), ClientConfig(), model) == dialect


@pytest.mark.parametrize(
    "client, dialect",
    [
        (ClientConfig(endpoint="http://localhost:8000/v1"), "chat"),
        (ClientConfig(endpoint="https://api.openai.com/v1"), "responses"),
        (ClientConfig(endpoint="http://localhost:8000/v1", api="responses"), "responses"),
        (ClientConfig(api="chat"), "chat"),
    ],
)
def test_openai_endpoint_and_api_decide(client: ClientConfig, dialect: str) -> None:
    assert choose_dialect(profile_of("openai"), client, "gpt-5.2") == dialect


def test_other_vendors_have_one_dialect() -> None:
    got = {name: choose_dialect(profile_of(name), ClientConfig(api="responses"), "m") for name in VENDORS[1:]}
    assert got == dict.fromkeys(VENDORS[3:], "chat") | {"google": "google", "anthropic": "anthropic"}


def test_vendor_host() -> None:
    openai, local = profile_of("openai"), profile_of("local")
    assert openai.is_vendor_host(ClientConfig())
    assert openai.is_vendor_host(ClientConfig(endpoint="https://api.openai.com/v2"))
    assert not openai.is_vendor_host(ClientConfig(endpoint="http://127.0.0.1:1/v1"))
    assert not local.is_vendor_host(ClientConfig())


IMAGE_TYPES = ("image/jpeg", "image/jpg", "image/png", "image/gif", "image/webp")


@pytest.mark.parametrize(
    "vendor, model, images, others",
    [
        ("openai", "gpt-4.1", IMAGE_TYPES, ("application/pdf", "text/x-c++", "message/rfc822", "text/vbscript")),
        ("google", "gemini", IMAGE_TYPES, tuple(GOOGLE_DOCUMENTS)),
        ("anthropic", "claude", IMAGE_TYPES, ("application/pdf", "text/plain")),
        ("openrouter", "a/b", IMAGE_TYPES, ("application/pdf",)),
        ("mistralai", "mistral-large-2", IMAGE_TYPES, ("application/pdf",)),
        ("mistralai", "Magistral-small", IMAGE_TYPES, ("application/pdf",)),
        ("mistralai", "codestral-1", (), ()),
        ("alibaba", "qwen", IMAGE_TYPES, ()),
        ("moonshotai", "kimi", IMAGE_TYPES, ()),
        ("xai", "grok", IMAGE_TYPES[:3], ()),
        ("deepseek", "deepseek-flash", IMAGE_TYPES, ()),
        ("deepseek", "deepseek-Vision-2", IMAGE_TYPES, ()),
        ("deepseek", "deepseek-flash-2", (), ()),
        ("local", "m", (), ()),
    ],
)
def test_native_files(vendor: str, model: str, images: tuple[str, ...], others: tuple[str, ...]) -> None:
    accepts = profile_of(vendor).accepts
    pool = {*IMAGES, *GOOGLE_DOCUMENTS, *OPENAI_DOCUMENTS, "video/mp4", "application/zip", "text/x-unheard-of"}
    got = {mime for mime in pool if accepts(model, mime)}
    assert got == {*images, *(OPENAI_DOCUMENTS if vendor == "openai" else others)}
    assert set(others) <= got


def test_openai_list_has_the_size_of_the_contracts_list() -> None:
    by_kind = {kind: sum(mime.startswith(kind) for mime in OPENAI_DOCUMENTS) for kind in ("application/", "text/")}
    assert by_kind == {"application/": 42, "text/": 83}
    assert len(OPENAI_DOCUMENTS) == 126


@pytest.fixture
def clean_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_profiles", "TABLES", "KEY_VARIABLES"):
        monkeypatch.setattr(profiles, name, dict(getattr(profiles, name)))


def _own(name: str, table: ParameterTable | None = None) -> Profile:
    openai = profile_of("openai")
    return Profile(name, "https://x.example", "X", "chat", "schema", openai.accepts, openai.usage, table=table)


@pytest.mark.usefixtures("clean_registry")
def test_further_profiles_can_be_registered() -> None:
    mine = _own("mine", ParameterTable("mine", ()))
    register_profile(mine)
    assert profile_of("mine") is mine
    assert profile_of("mine").parameters.provider == "mine"


@pytest.mark.usefixtures("clean_registry")
def test_registration_refuses_taken_names_and_missing_tables() -> None:
    with pytest.raises(ConfigError, match="already registered"):
        register_profile(_own("openai"))
    with pytest.raises(ConfigError, match="parameter table"):
        register_profile(_own("mine"))


def test_unknown_provider_names_a_near_match() -> None:
    with pytest.raises(ConfigError, match="did you mean 'anthropic'"):
        profile_of("antropic")
    with pytest.raises(ConfigError, match=r"unknown provider 'zzz' Known: .*openai"):
        profile_of("zzz")
