"""The vendors as data: where they are, how they authenticate, which dialect they speak and how they differ in it.

Holds no request building (``dialects/``) and no parameters (``suite/parameter_rows.py``). Adding a vendor that speaks
the chat dialect is one more `Profile`, given to `register_profile`. Source: spec providers 2, 3, 5, 7, 10.1, 13, 14.1.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import urlsplit

from pytest_mindtrial.core.errors import ConfigError
from pytest_mindtrial.providers.base import OutputMode
from pytest_mindtrial.providers.native_files import (
    GOOGLE_DOCUMENTS,
    IMAGES,
    OPENAI_DOCUMENTS,
    NativePredicate,
    accepts_deepseek,
    accepts_mistral,
    accepts_types,
)
from pytest_mindtrial.providers.usage import UsagePaths
from pytest_mindtrial.suite.keys import KEY_VARIABLES
from pytest_mindtrial.suite.model import ClientConfig
from pytest_mindtrial.suite.parameter_rows import TABLES
from pytest_mindtrial.suite.parameter_types import Dialect as DialectName
from pytest_mindtrial.suite.parameter_types import ParameterTable

__all__ = ["DialectName", "Profile", "ReasoningReplay", "base_url", "choose_dialect", "profile_of", "register_profile"]

ReasoningReplay = Literal["whole", "with-tools", "preserve-thinking", "details"]
"""What becomes of reasoning in replayed assistant messages of the chat dialect (spec providers 5).

``whole``: the message goes back as it came; ``with-tools``: ``reasoning_content`` only beside tool calls;
``preserve-thinking``: only with that parameter; ``details``: the first of ``reasoning_details``, ``reasoning`` and
``reasoning_content``, never several.
"""


@dataclass(frozen=True, slots=True)
class Profile:
    """One vendor.

    Attributes:
        name: As in ``providers[].name``.
        base_url: Default base URL; blank = only with an endpoint.
        key_variable: Environment variable with the key; blank = none.
        dialect: The wire language; for openai the one of older models and custom endpoints, see `choose_dialect`.
        default_mode: How structured output is asked for when no switch says otherwise.
        mode_switches: Parameters that change the mode (spec providers 4.2).
        accepts: Predicate for native files.
        usage: Where token counters are.
        auth: How the key travels.
        headers: Extra headers of every request.
        instruction_role: Role of the messages that carry instructions (chat dialect).
        reasoning_replay: See `ReasoningReplay` (chat dialect).
        document_part: Shape of document parts (chat dialect).
        is_content_list: User content is always a list of parts.
        joins_announcements: Announcements of local files are joined with the prompt to one string.
        sends_cache_key: ``prompt_cache_key`` goes to the vendor's own host.
        sends_image_detail: ``detail`` goes to the vendor's own host.
        has_strict_schema: ``strict: true`` beside the response schema.
        checks_strict_schema: The vendor's strict mode refuses many schemas: tell the user before anything is sent.
        names_text_format: Plain text is asked for by name instead of leaving ``response_format`` out.
        says_tools_not_strict: ``strict: false`` in tool definitions, on the vendor's own host.
        is_local: A server of ours: reasoning in ``<think>`` is stripped, nothing vendor-specific is sent.
        table: Parameters; None = the table of that name in ``suite/parameter_rows.py``.
    """

    name: str
    base_url: str
    key_variable: str
    dialect: DialectName
    default_mode: OutputMode
    accepts: NativePredicate
    usage: UsagePaths
    mode_switches: frozenset[str] = frozenset()
    auth: Literal["bearer", "x-api-key", "x-goog-api-key"] = "bearer"
    headers: Mapping[str, str] = field(default_factory=dict)
    instruction_role: Literal["user", "system"] = "user"
    reasoning_replay: ReasoningReplay = "whole"
    document_part: Literal["file", "document_url"] = "file"
    is_content_list: bool = False
    joins_announcements: bool = False
    sends_cache_key: bool = False
    sends_image_detail: bool = False
    has_strict_schema: bool = True
    checks_strict_schema: bool = False
    names_text_format: bool = False
    says_tools_not_strict: bool = False
    is_local: bool = False
    table: ParameterTable | None = None

    @property
    def parameters(self) -> ParameterTable:
        """The parameter table."""
        return self.table or TABLES[self.name]

    def is_vendor_host(self, client: ClientConfig) -> bool:
        """Tell whether requests go to the vendor itself, so that vendor-only fields are understood."""
        if self.is_local:
            return False
        return client.endpoint is None or urlsplit(client.endpoint).hostname == urlsplit(self.base_url).hostname


_REASONING = (("completion_tokens_details", "reasoning_tokens"),)
_CACHED = (("prompt_tokens_details", "cached_tokens"),)


def _chat_usage(
    *,
    reasoning: tuple[tuple[str, ...], ...] = _REASONING,
    cache_read: tuple[tuple[str, ...], ...] = _CACHED,
    cache_write: tuple[tuple[str, ...], ...] = (),
    is_reasoning_separate: bool = False,
) -> UsagePaths:
    return UsagePaths(
        ("prompt_tokens",),
        ("completion_tokens",),
        reasoning,
        cache_read,
        cache_write,
        "cache_tokens_included",
        "reasoning_tokens_separate" if is_reasoning_separate else "reasoning_tokens_included",
    )


_OPENAI_USAGE = _chat_usage(cache_write=(("prompt_tokens_details", "cache_write_tokens"),))
_IMAGES_ONLY = accepts_types(IMAGES)

_BUILT_IN = (
    Profile(
        name="openai",
        base_url="https://api.openai.com/v1",
        key_variable="OPENAI_API_KEY",
        dialect="chat",
        default_mode="schema",
        mode_switches=frozenset(("text-response-format",)),
        accepts=accepts_types(IMAGES | OPENAI_DOCUMENTS),
        usage=_OPENAI_USAGE,
        sends_cache_key=True,
        sends_image_detail=True,
        checks_strict_schema=True,
        says_tools_not_strict=True,
    ),
    Profile(
        name="google",
        base_url="https://generativelanguage.googleapis.com/v1beta",
        key_variable="GOOGLE_API_KEY",
        dialect="google",
        default_mode="schema",
        mode_switches=frozenset(("text-response-format", "text-response-format-with-tools")),
        accepts=accepts_types(IMAGES | GOOGLE_DOCUMENTS),
        usage=UsagePaths(
            ("promptTokenCount",),
            ("candidatesTokenCount",),
            (("thoughtsTokenCount",),),
            (("cachedContentTokenCount",),),
            thinking="reasoning_tokens_separate",
        ),
        auth="x-goog-api-key",
    ),
    Profile(
        name="anthropic",
        base_url="https://api.anthropic.com",
        key_variable="ANTHROPIC_API_KEY",
        dialect="anthropic",
        default_mode="schema",
        mode_switches=frozenset(("legacy-structured-output",)),
        accepts=accepts_types(IMAGES | {"application/pdf", "text/plain"}),
        usage=UsagePaths(
            ("input_tokens",),
            ("output_tokens",),
            (("output_tokens_details", "thinking_tokens"),),
            (("cache_read_input_tokens",),),
            (("cache_creation_input_tokens",),),
            cache="cache_tokens_separate",
        ),
        auth="x-api-key",
        headers={"anthropic-version": "2023-06-01"},
    ),
    Profile(
        name="deepseek",
        base_url="https://api.deepseek.com",
        key_variable="DEEPSEEK_API_KEY",
        dialect="chat",
        default_mode="object",
        accepts=accepts_deepseek,
        usage=_chat_usage(cache_read=(("prompt_cache_hit_tokens",),)),
        instruction_role="system",
        reasoning_replay="with-tools",
        joins_announcements=True,
    ),
    Profile(
        name="mistralai",
        base_url="https://api.mistral.ai/v1",
        key_variable="MISTRAL_API_KEY",
        dialect="chat",
        default_mode="schema",
        accepts=accepts_mistral,
        usage=_chat_usage(reasoning=()),
        instruction_role="system",
        document_part="document_url",
        sends_cache_key=True,
        has_strict_schema=False,
        names_text_format=True,
    ),
    Profile(
        name="xai",
        base_url="https://api.x.ai/v1",
        key_variable="XAI_API_KEY",
        dialect="chat",
        default_mode="schema",
        accepts=accepts_types(frozenset(("image/jpeg", "image/jpg", "image/png"))),
        usage=_chat_usage(is_reasoning_separate=True),
        instruction_role="system",
        is_content_list=True,
        sends_cache_key=True,
    ),
    Profile(
        name="alibaba",
        base_url="https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
        key_variable="DASHSCOPE_API_KEY",
        dialect="chat",
        default_mode="legacy-schema",
        mode_switches=frozenset(("response-format", "text-response-format", "disable-legacy-json-mode")),
        accepts=_IMAGES_ONLY,
        usage=_chat_usage(cache_write=(("prompt_tokens_details", "cache_creation_input_tokens"),)),
        reasoning_replay="preserve-thinking",
    ),
    Profile(
        name="moonshotai",
        base_url="https://api.moonshot.ai/v1",
        key_variable="MOONSHOT_API_KEY",
        dialect="chat",
        default_mode="object",
        mode_switches=frozenset(("response-format",)),
        accepts=_IMAGES_ONLY,
        usage=_chat_usage(cache_read=(("cached_tokens",), *_CACHED)),
        sends_cache_key=True,
    ),
    Profile(
        name="openrouter",
        base_url="https://openrouter.ai/api/v1",
        key_variable="OPENROUTER_API_KEY",
        dialect="chat",
        default_mode="schema",
        mode_switches=frozenset(("response-format",)),
        accepts=accepts_types(IMAGES | {"application/pdf"}),
        usage=_OPENAI_USAGE,
        headers={"X-Title": "pytest-mindtrial"},
        reasoning_replay="details",
    ),
    Profile(
        name="local",
        base_url="",
        key_variable="",
        dialect="chat",
        default_mode="schema",
        mode_switches=frozenset(("text-response-format",)),
        accepts=accepts_types(frozenset()),
        usage=_OPENAI_USAGE,
        is_local=True,
    ),
)

_profiles: dict[str, Profile] = {profile.name: profile for profile in _BUILT_IN}


def register_profile(profile: Profile) -> None:
    """Make a further vendor known under its name, to configuration files as well.

    Raises:
        ConfigError: The name is taken, or a parameter table is missing.
    """
    if profile.name in _profiles:
        raise ConfigError(f"provider {profile.name!r} is already registered; choose another name")
    if profile.table is None and profile.name not in TABLES:
        raise ConfigError(f"provider {profile.name!r} has no parameter table; give Profile(table=ParameterTable(...))")
    _profiles[profile.name] = profile
    if profile.table is not None:
        TABLES[profile.name] = profile.table
    if profile.key_variable:
        KEY_VARIABLES[profile.name] = profile.key_variable


def profile_of(name: str) -> Profile:
    """Return a vendor's profile.

    Raises:
        ConfigError: There is no such provider that speaks HTTP.
    """
    profile = _profiles.get(name)
    if profile is None:
        near = difflib.get_close_matches(name, _profiles, 1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ConfigError(f"unknown provider {name!r}{hint} Known: {', '.join(sorted(_profiles))}")
    return profile


_CHAT_MODELS = ("gpt-3", "gpt-4", "o1", "o3", "o4")


def choose_dialect(profile: Profile, client: ClientConfig, model: str) -> DialectName:
    """Return the dialect of a run. Only openai has two (spec providers 2.1 and 10.1)."""
    if profile.name != "openai":
        return profile.dialect
    if client.api != "auto":
        return client.api
    if not profile.is_vendor_host(client) or model.strip().lower().startswith(_CHAT_MODELS):
        return "chat"
    return "responses"


_GOOGLE_VERSIONS = ("/v1", "/v1beta", "/v1alpha")


def base_url(profile: Profile, client: ClientConfig) -> str:
    """Return what paths are appended to, without a trailing slash.

    Google gets its API version and Anthropic loses its ``/v1`` here, so that the paths of the dialects are constant
    (spec providers 2.1).
    """
    url = (client.endpoint or profile.base_url).rstrip("/")
    if client.endpoint is not None and profile.dialect == "google" and not url.endswith(_GOOGLE_VERSIONS):
        url += "/v1beta"
    if profile.dialect == "anthropic":
        url = url.removesuffix("/v1")
    return url
