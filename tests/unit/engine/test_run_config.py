"""MindTrial's RunConfig object."""

from __future__ import annotations

import json

import pytest

from pytest_mindtrial.core.schemas import compile_schema
from pytest_mindtrial.engine.run_config import run_config
from pytest_mindtrial.suite.model import Pricing, RetryPolicy, Run


def test_everything_set():
    run = Run(
        "fast", "anthropic", "claude", {"max-tokens": 100, "stream": None, "temperature": 0}, 20,
        text_only=True, disable_structured_output=True, retry_policy=RetryPolicy(5, 30),
        pricing=Pricing("EUR", 1, 10.5, 0),
    )  # fmt: skip
    config = run_config(run)
    parameters = config.pop("ModelParameters")
    assert config == {
        "Model": "claude",
        "MaxRequestsPerMinute": 20,
        "TextOnly": True,
        "DisableStructuredOutput": True,
        "RetryPolicy": {"MaxRetryAttempts": 5, "InitialDelaySeconds": 30},
        "Pricing": {"Currency": "EUR", "InputPerMillion": 1, "OutputPerMillion": 10.5, "CacheReadPerMillion": 0},
    }
    assert parameters["max-tokens"] == 100
    assert parameters["temperature"] == 0
    assert parameters["stream"] is False
    assert parameters["legacy-structured-output"] is False
    assert parameters["top-k"] is None
    assert "top-k" in parameters


def test_zero_values_are_left_out_and_an_empty_run_has_none():
    assert run_config(Run("r", "openai", "m", retry_policy=RetryPolicy())) == {"Model": "m"}
    assert run_config(Run("r", "openai", "", pricing=Pricing(""))) is None


def test_switches_that_are_tri_state_upstream_are_null():
    parameters = run_config(Run("r", "alibaba", "m", {"seed": 1}))["ModelParameters"]
    assert parameters["disable-legacy-json-mode"] is None
    assert parameters["enable-thinking"] is None
    assert parameters["text-response-format"] is False
    assert parameters["stream"] is False


def test_openrouter_keeps_pass_through_parameters():
    parameters = run_config(Run("r", "openrouter", "m", {"provider": {"order": ["a"]}}))["ModelParameters"]
    assert parameters["provider"] == {"order": ["a"]}
    assert parameters["parallel-tool-calls"] is None


@pytest.mark.parametrize("provider", ["mock", "own"])
def test_of_free_parameters_only_plain_settings_are_repeated(provider):
    run = Run("r", provider, "m", {"behaviour": "script", "answers": {"t": ["x"] * 1000}})
    assert run_config(run)["ModelParameters"] == {"behaviour": "script"}


@pytest.mark.shared_data
def test_it_fits_the_published_schema(shared_data):
    schema = json.loads((shared_data / "results-v1.schema.json").read_text())
    entry = schema["properties"]["Results"]["additionalProperties"]["items"]
    check = compile_schema(entry["properties"]["RunConfig"])
    full = Run("r", "google", "m", {"top-p": 1}, 3, False, True, True, RetryPolicy(1, 2), Pricing("USD", 1, 2, 3, 4, 5))
    assert check.fits(run_config(full))
    assert not check.fits({**run_config(full), "Name": "r"})
