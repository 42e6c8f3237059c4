"""Parameters in request bodies, and the cache key."""

from __future__ import annotations

import pytest

from pytest_mindtrial.providers.body import ignored_parameters, prompt_cache_key, put, put_parameters
from pytest_mindtrial.providers.profiles import profile_of
from pytest_mindtrial.suite.model import Run
from pytest_mindtrial.suite.parameter_types import Dialect


def test_put_makes_the_objects_on_the_way() -> None:
    body: dict[str, object] = {"a": {"x": 1}}
    put(body, "a.b.c", 2)
    put(body, "d", 3)
    assert body == {"a": {"x": 1, "b": {"c": 2}}, "d": 3}


def test_zero_and_false_are_sent_and_null_is_not() -> None:
    body: dict[str, object] = {}
    parameters = {"temperature": 0, "top-p": None, "random-seed": 0, "safe-prompt": False}
    put_parameters(body, profile_of("mistralai"), Run("r", "mistralai", "m", parameters), "chat")
    assert body == {"temperature": 0, "random_seed": 0, "safe_prompt": False}


def test_words_are_mapped_and_unknown_names_left_to_the_dialect() -> None:
    body: dict[str, object] = {}
    parameters = {"thinking-level": "high", "top-k": 3, "unheard-of": 1}
    put_parameters(body, profile_of("google"), Run("r", "google", "m", parameters), "google")
    assert body == {"generationConfig": {"thinkingConfig": {"thinkingLevel": "HIGH"}, "topK": 3}}


@pytest.mark.parametrize(
    "dialect, ignored, sent",
    [
        ("chat", ("reasoning-context", "reasoning-mode"), {"presence_penalty": 1, "max_completion_tokens": 9}),
        (
            "responses",
            ("presence-penalty",),
            {"reasoning": {"context": "auto", "mode": "pro"}, "max_output_tokens": 9},
        ),
    ],
)
def test_parameters_a_dialect_cannot_carry(dialect: Dialect, ignored: tuple[str, ...], sent: object) -> None:
    parameters = {
        "reasoning-context": "auto",
        "reasoning-mode": "pro",
        "presence-penalty": 1,
        "max-completion-tokens": 9,
    }
    profile, run = profile_of("openai"), Run("r", "openai", "m", parameters)
    body: dict[str, object] = {}
    put_parameters(body, profile, run, dialect)
    assert body == sent
    assert ignored_parameters(profile, run, dialect) == ignored


def test_cache_key_is_stable_and_differs_by_run_and_model() -> None:
    runs = [Run("r", "openai", "m"), Run("r", "openai", "n"), Run("s", "openai", "m"), Run("rm", "openai", "")]
    keys = [prompt_cache_key(run) for run in runs]
    assert len(set(keys)) == 4
    assert keys[0] == prompt_cache_key(Run("r", "other", "m")) == "mt-" + keys[0][3:]
    assert len(bytes.fromhex(keys[0][3:])) == 16
