"""The model parameters of every provider, as data.

Request builders, the loader's checks, the editor schema and the manual all read these rows. Source: spec providers
10.2, 11, 12 and 13; design D19 for ``store``.
"""

from __future__ import annotations

from dataclasses import replace

from pytest_mindtrial.suite.parameter_builders import (
    effort,
    generation,
    max_completion_tokens,
    max_tokens,
    penalties,
    response_format,
    seed,
    share,
    stream,
    temperature,
    text_response_format,
    top_k,
    top_p,
)
from pytest_mindtrial.suite.parameter_types import Dialect, Exclusion, ParameterTable, Row

__all__ = ["TABLES"]

_EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
_NO_RESPONSES: tuple[Dialect, ...] = ("responses",)
_NO_CHAT: tuple[Dialect, ...] = ("chat",)


_OPENAI = ParameterTable(
    "openai",
    (
        text_response_format(),
        effort(_EFFORTS, "How much a reasoning model thinks first; older models know fewer words."),
        Row(
            "reasoning-context",
            "choice",
            "Which earlier reasoning items are used again in later turns (Responses API).",
            choices=("auto", "current_turn", "all_turns"),
            responses_target="reasoning.context",
            ignored_in=_NO_CHAT,
        ),
        Row(
            "reasoning-mode",
            "choice",
            "Another way of executing the reasoning; slower and dearer (Responses API).",
            choices=("pro",),
            responses_target="reasoning.mode",
            ignored_in=_NO_CHAT,
        ),
        Row(
            "verbosity",
            "choice",
            "Length of the answer.",
            choices=("low", "medium", "high"),
            target="verbosity",
            responses_target="text.verbosity",
        ),
        temperature(2),
        top_p(default="1.0"),
        *penalties(ignored_in=_NO_RESPONSES),
        max_completion_tokens("Upper limit of tokens the model may generate, reasoning included."),
        Row(
            "store",
            "bool",
            "Responses API: false keeps no state at the service; reasoning then travels encrypted with each turn.",
            default="true",
            ignored_in=_NO_CHAT,
        ),
    ),
)

_ANTHROPIC_GONE = "Newer Claude models (Opus 4.7 and later) answer non-default values with a 400 error."

_ANTHROPIC = ParameterTable(
    "anthropic",
    (
        max_tokens(1, default="32768"),
        Row(
            "thinking-budget-tokens",
            "int",
            "Extended thinking with a fixed budget, smaller than max-tokens. Ignored when effort is set.",
            minimum=1024,
            deprecated="Newer Claude models reject fixed budgets with a 400 error; use effort.",
        ),
        Row(
            "effort",
            "choice",
            "Adaptive thinking and its depth; thinking-budget-tokens is then ignored.",
            choices=("low", "medium", "high", "xhigh", "max"),
        ),
        Row(
            "thinking",
            "choice",
            "Override of the thinking mode: off, or only between tool calls. Not together with thinking-budget-tokens, "
            "and with effort up to high only.",
            choices=("disabled", "between_tools"),
        ),
        temperature(1, deprecated=_ANTHROPIC_GONE),
        top_p(deprecated=_ANTHROPIC_GONE),
        top_k(deprecated=_ANTHROPIC_GONE),
        stream("Advisable with a large max-tokens: long silent requests time out."),
        Row(
            "legacy-structured-output",
            "bool",
            "Ask for the answer through a submit_response tool instead of an enforced schema.",
            default="false",
        ),
        Row(
            "prompt-cache-ttl",
            "choice",
            "Switch prompt caching on, with this life time of the cache.",
            choices=("5m", "1h"),
            default="no caching",
        ),
    ),
)

_GOOGLE_RESOLUTIONS = {word: f"MEDIA_RESOLUTION_{word.upper()}" for word in ("low", "medium", "high")}
_GOOGLE_LEVELS = {word: word.upper() for word in ("minimal", "low", "medium", "high")}


_GOOGLE = ParameterTable(
    "google",
    (
        text_response_format(),
        Row(
            "text-response-format-with-tools",
            "bool",
            "Plain text as above, but only for tasks with tools (models before Gemini 3 need it).",
            default="false",
        ),
        generation(
            Row(
                "thinking-level",
                "choice",
                "Upper limit of the model's reasoning depth.",
                choices=tuple(_GOOGLE_LEVELS),
                target="thinkingConfig.thinkingLevel",
                values=_GOOGLE_LEVELS,
            )
        ),
        generation(
            Row(
                "media-resolution",
                "choice",
                "Tokens spent per picture: low 280, medium 560, high 1120.",
                choices=tuple(_GOOGLE_RESOLUTIONS),
                target="mediaResolution",
                values=_GOOGLE_RESOLUTIONS,
            )
        ),
        *map(
            generation,
            (temperature(2), top_p(target="topP"), top_k(target="topK"), *penalties(None, camel=True), seed()),
        ),
    ),
)

_DEEPSEEK = ParameterTable(
    "deepseek",
    (
        temperature(2),
        top_p(),
        *penalties(),
        Row(
            "thinking",
            "choice",
            "Reasoning before the answer. While enabled, the service ignores temperature, top-p and the penalties.",
            choices=("enabled", "disabled"),
            target="thinking.type",
        ),
        effort(("low", "medium", "high", "xhigh", "max"), "Depth of the reasoning; sent as written.", default="high"),
        max_tokens(1),
    ),
)

_MISTRAL = ParameterTable(
    "mistralai",
    (
        temperature(1.5, default=""),
        top_p(),
        max_tokens(0),
        *penalties(),
        seed("random-seed"),
        Row(
            "prompt-mode",
            "choice",
            "Ask older reasoning models to reason.",
            choices=("reasoning",),
            target="prompt_mode",
        ),
        effort(("none", "minimal", "low", "medium", "high", "xhigh"), "Depth of the reasoning of current models."),
        Row("safe-prompt", "bool", "Let the service filter content by its usage policies.", target="safe_prompt"),
    ),
)

_XAI = ParameterTable(
    "xai",
    (
        temperature(2),
        top_p(default="1.0"),
        max_completion_tokens("Upper limit of visible tokens; reasoning is not capped by it."),
        *penalties(),
        effort(("low", "medium", "high", "xhigh"), "Depth of the reasoning; not every Grok model accepts it."),
        seed(),
    ),
)

_USE_COMPLETION = "Use max-completion-tokens."

_ALIBABA = ParameterTable(
    "alibaba",
    (
        response_format("an enforced schema that is also described in words"),
        stream("Some models (QwQ, QVQ, Qwen-Omni) demand it."),
        Row("enable-thinking", "bool", "Switch hybrid thinking on or off.", target="enable_thinking"),
        Row(
            "preserve-thinking",
            "bool",
            "Send earlier reasoning back in tool-call turns; it then counts as input.",
            target="preserve_thinking",
        ),
        Row("thinking-budget", "int", "Token budget of the thinking alone.", minimum=1, target="thinking_budget"),
        effort(_EFFORTS),
        temperature(2),
        top_p(),
        max_tokens(0, deprecated=_USE_COMPLETION),
        max_completion_tokens("Upper limit of tokens the model may generate, reasoning included."),
        *penalties(),
        seed(minimum=0, maximum=2**32 - 1),
        text_response_format("Use response-format: text."),
        Row(
            "disable-legacy-json-mode",
            "bool",
            "Leave out the description of the schema in words.",
            default="false",
            deprecated="Use response-format: json-schema.",
        ),
    ),
    (
        Exclusion("thinking-budget", "reasoning-effort", "give either the budget or the effort"),
        Exclusion("max-tokens", "max-completion-tokens", "max-tokens is the deprecated one"),
        Exclusion("response-format", "text-response-format", "text-response-format is the deprecated one"),
        Exclusion("response-format", "disable-legacy-json-mode", "disable-legacy-json-mode is the deprecated one"),
    ),
)

_FIXED_BY_KIMI = ("kimi-k2.5", "kimi-k2.6")


def _fixed_by_kimi(row: Row) -> Row:
    """Return a row with the note that some models fix its value."""
    note = f"{row.description} {' and '.join(_FIXED_BY_KIMI)} fix it and answer any value with an error."
    return replace(row, description=note, rejected_by=_FIXED_BY_KIMI)


_MOONSHOT = ParameterTable(
    "moonshotai",
    (
        _fixed_by_kimi(temperature(1, default="0.0")),
        _fixed_by_kimi(top_p(default="1.0")),
        max_tokens(0, deprecated=_USE_COMPLETION),
        max_completion_tokens("Upper limit of tokens the model may generate."),
        effort(("low", "high", "max"), "Depth of the reasoning of Kimi K3."),
        response_format("json-object"),
        stream(),
        *map(_fixed_by_kimi, penalties()),
        Row(
            "thinking",
            "choice",
            "Reasoning of models that can switch it.",
            choices=("enabled", "disabled"),
            target="thinking.type",
        ),
        Row(
            "preserve-thinking",
            "choice",
            "Keep earlier reasoning across the turns of one task.",
            choices=("all",),
            target="thinking.keep",
        ),
    ),
    (Exclusion("max-tokens", "max-completion-tokens", "max-tokens is the deprecated one"),),
)


_OPENROUTER = ParameterTable(
    "openrouter",
    (
        response_format("json-schema"),
        temperature(2),
        top_p(default="1.0"),
        top_k("Only the K most likely tokens are considered; 0 switches the limit off."),
        share("min-p", "Tokens less likely than this share of the likeliest one are dropped."),
        share("top-a", "Tokens far less likely than the likeliest one are dropped."),
        *penalties(),
        share("repetition-penalty", "Values above 1 discourage tokens of the input.", maximum=2, default="1.0"),
        max_tokens(1),
        max_completion_tokens("Upper limit of tokens the model may generate; the newer name."),
        effort(_EFFORTS),
        seed(minimum=None, maximum=None),
        Row(
            "parallel-tool-calls",
            "bool",
            "Whether the model may call several tools in one turn.",
            default="true",
            target="parallel_tool_calls",
        ),
        Row(
            "verbosity",
            "choice",
            "Length of the answer.",
            choices=("low", "medium", "high"),
            default="medium",
            target="verbosity",
        ),
        Row(
            "server-tools",
            "server-tools",
            "Tools that the service itself runs: a list of entries with a type and, optionally, parameters.",
        ),
    ),
    (Exclusion("max-tokens", "max-completion-tokens", "give one of the two"),),
    passes_unknown=True,
    reserved=("model", "messages"),
)

_LOCAL = ParameterTable(
    "local",
    (
        text_response_format(),
        temperature(2),
        top_p(default="1.0"),
        top_k(),
        seed(minimum=0, maximum=2**32 - 1),
        max_tokens(1),
    ),
)

TABLES: dict[str, ParameterTable] = {
    table.provider: table
    for table in (
        _OPENAI,
        _GOOGLE,
        _ANTHROPIC,
        _DEEPSEEK,
        _MISTRAL,
        _XAI,
        _ALIBABA,
        _MOONSHOT,
        _OPENROUTER,
        ParameterTable("mock", (), is_free=True),
        _LOCAL,
    )
}
"""Provider name → its table, in the order of the manual; the names are all providers there are.

`providers.profiles.register_profile` adds to it, so that files may name further vendors.
"""
