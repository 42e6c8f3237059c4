"""Usage counters by profile paths (spec providers 7, column by column)."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_mindtrial.core.values import Usage
from pytest_mindtrial.providers.profiles import profile_of
from pytest_mindtrial.providers.usage import read_usage

CHAT = {
    "prompt_tokens": 100,
    "completion_tokens": 20,
    "total_tokens": 120,
    "prompt_tokens_details": {"cached_tokens": 8, "cache_write_tokens": 3, "cache_creation_input_tokens": 4},
    "completion_tokens_details": {"reasoning_tokens": 5},
}
IN, OUT_IN, OUT_APART = "cache_tokens_included", "reasoning_tokens_included", "reasoning_tokens_separate"


@pytest.mark.parametrize(
    "vendor, usage, counters",
    [
        ("openai", CHAT, (100, 20, 5, 3, 8, IN, OUT_IN)),
        ("openrouter", CHAT, (100, 20, 5, 3, 8, IN, OUT_IN)),
        ("deepseek", CHAT | {"prompt_cache_hit_tokens": 64}, (100, 20, 5, None, 64, IN, OUT_IN)),
        ("mistralai", CHAT, (100, 20, None, None, 8, IN, OUT_IN)),
        ("xai", CHAT, (100, 20, 5, None, 8, IN, OUT_APART)),
        ("alibaba", CHAT, (100, 20, 5, 4, 8, IN, OUT_IN)),
        ("moonshotai", CHAT | {"cached_tokens": 32}, (100, 20, 5, None, 32, IN, OUT_IN)),
        ("moonshotai", CHAT, (100, 20, 5, None, 8, IN, OUT_IN)),
        (
            "anthropic",
            {
                "input_tokens": 50,
                "output_tokens": 40,
                "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": 7,
                "output_tokens_details": {"thinking_tokens": 20},
            },
            (50, 40, 20, 0, 7, "cache_tokens_separate", OUT_IN),
        ),
        (
            "google",
            {
                "promptTokenCount": 40,
                "candidatesTokenCount": 10,
                "thoughtsTokenCount": 25,
                "cachedContentTokenCount": 0,
            },
            (40, 10, 25, None, 0, IN, OUT_APART),
        ),
    ],
)
def test_counters(vendor: str, usage: dict[str, Any], counters: tuple[Any, ...]) -> None:
    got = read_usage(profile_of(vendor).usage, usage)
    assert got == Usage(*counters, raw=(usage,))


@pytest.mark.parametrize("usage", [None, {}, [], "12", 5])
def test_nothing_reported_is_unknown_not_zero(usage: Any) -> None:
    assert read_usage(profile_of("openai").usage, usage) == Usage()


@pytest.mark.parametrize("value, counter", [(0, 0), (3.0, 3), (3.5, None), ("3", None), (True, None), (None, None)])
def test_only_whole_numbers_count(value: Any, counter: int | None) -> None:
    got = read_usage(profile_of("openai").usage, {"prompt_tokens": value, "prompt_tokens_details": None})
    assert got.input_tokens == counter
    assert got.cache_read_tokens is None
