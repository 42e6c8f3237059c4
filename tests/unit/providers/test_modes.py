"""Output modes (spec providers 4.2, row by row)."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_mindtrial.providers.modes import output_mode
from pytest_mindtrial.providers.profiles import profile_of
from pytest_mindtrial.suite.model import Run


@pytest.mark.parametrize(
    "vendor, parameters, has_tools, mode",
    [
        ("openai", {}, False, "schema"),
        ("openai", {"text-response-format": True}, False, "text"),
        ("openai", {"text-response-format": False}, False, "schema"),
        ("google", {}, True, "schema"),
        ("google", {"text-response-format": True}, False, "text"),
        ("google", {"text-response-format-with-tools": True}, False, "schema"),
        ("google", {"text-response-format-with-tools": True}, True, "text"),
        ("anthropic", {}, False, "schema"),
        ("anthropic", {"legacy-structured-output": True}, False, "tool"),
        ("deepseek", {}, False, "object"),
        ("mistralai", {}, False, "schema"),
        ("xai", {}, False, "schema"),
        ("alibaba", {}, False, "legacy-schema"),
        ("alibaba", {"response-format": "json-schema"}, False, "schema"),
        ("alibaba", {"response-format": "json-object"}, False, "object"),
        ("alibaba", {"response-format": "text"}, False, "text"),
        ("alibaba", {"disable-legacy-json-mode": True}, False, "schema"),
        ("alibaba", {"disable-legacy-json-mode": True, "text-response-format": True}, False, "text"),
        ("moonshotai", {}, False, "object"),
        ("moonshotai", {"response-format": "json-schema"}, False, "schema"),
        ("openrouter", {}, False, "schema"),
        ("openrouter", {"response-format": "json-object"}, False, "object"),
        ("openrouter", {"text-response-format": True}, False, "schema"),
        ("local", {}, False, "schema"),
        ("local", {"text-response-format": True}, False, "text"),
    ],
)
def test_modes(vendor: str, parameters: dict[str, Any], has_tools: bool, mode: str) -> None:
    run = Run("r", vendor, "m", parameters)
    assert output_mode(profile_of(vendor), run, has_tools=has_tools) == mode


@pytest.mark.parametrize("vendor", ["openai", "anthropic", "alibaba", "local"])
def test_unstructured_output_wins(vendor: str) -> None:
    run = Run("r", vendor, "m", {"text-response-format": True}, disable_structured_output=True)
    assert output_mode(profile_of(vendor), run, has_tools=True) == "off"
