"""The parameter tables against the guide they implement: names, words, ranges, defaults, deprecations; their texts."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pytest_mindtrial.suite.parameter_rows import TABLES
from pytest_mindtrial.suite.parameter_types import Row

GUIDE = next(iter(sorted((Path(__file__).parents[3] / "../shared/seeds").glob("000_*.txt"))), None)
TITLES = {
    "OpenAI": "openai",
    "OpenRouter": "openrouter",
    "Anthropic": "anthropic",
    "Google": "google",
    "DeepSeek": "deepseek",
    "Mistral AI": "mistralai",
    "xAI": "xai",
    "Alibaba": "alibaba",
    "Moonshot AI": "moonshotai",
}
OURS = {("openai", "store")}
"""Parameters beyond the guide."""


def guide_entries() -> dict[tuple[str, str], str]:
    """Return what the guide says about each parameter."""
    if GUIDE is None:
        return {}
    found = {}
    provider = ""
    for line in GUIDE.read_text(encoding="utf-8").splitlines():
        if title := re.match(r"Currently supported parameters for (.+) models include:", line):
            provider = TITLES[title[1]]
        elif provider and (entry := re.match(r"• ([a-z-]+): (.+)", line)):
            found[provider, entry[1]] = entry[2]
        elif line and not line.startswith("•"):
            provider = ""
    return found


ENTRIES = guide_entries()
ROWS = [(provider, row) for provider, table in TABLES.items() for row in table.rows]
with_guide = [
    pytest.mark.shared_data,
    pytest.mark.skipif(not ENTRIES, reason="the shared data is not here"),
]


def marked(*marks: pytest.MarkDecorator):
    def apply(function):
        for mark in marks:
            function = mark(function)
        return function

    return apply


@marked(*with_guide)
def test_the_tables_hold_the_guides_parameters_and_no_others():
    ours = {(provider, row.name) for provider, row in ROWS if provider in TITLES.values()}
    assert ours - OURS == set(ENTRIES)


@marked(*with_guide)
@pytest.mark.parametrize("provider, name", ENTRIES)
def test_words_ranges_and_deprecations_are_the_guides(provider, name):
    text, row = ENTRIES[provider, name], TABLES[provider].by_name[name]
    if (words := re.search(r"\(values: ([a-z0-9_, -]+?)(?:[,;] default:.*|\)|; default.*)", text)) is not None:
        assert row.choices == tuple(word.strip() for word in words[1].split(","))
    assert all(word in text for word in row.choices)
    if (limits := re.search(r"range: (-?[0-9.]+) to ([0-9.]+)", text)) is not None:
        assert (row.minimum, row.maximum) == (float(limits[1]), float(limits[2]))
    if (lowest := re.search(r"range: ([0-9]+) or above", text)) is not None:
        assert (row.minimum, row.maximum) == (int(lowest[1]), None)
    if (default := re.search(r"range: [^)]*default: ([0-9.]+)\)", text)) is not None and row.kind != "int":
        assert float(row.default) == float(default[1])
    if re.search(r"^If true|^Enables hybrid|^Enables streaming|default: true\)", text):
        assert row.kind == "bool"
    assert bool(row.deprecated) is ("Deprecated:" in text or (provider, name) == ("moonshotai", "max-tokens"))


@pytest.mark.parametrize("provider, row", [pytest.param(*pair, id=f"{pair[0]}-{pair[1].name}") for pair in ROWS])
def test_every_row_is_described_well_enough_for_a_manual(provider: str, row: Row):
    assert re.fullmatch(r"[A-Z][^\n]{19,299}\.", row.description), row.description
    assert "  " not in row.description
    if row.deprecated:
        assert re.fullmatch(r"[A-Z][^\n]{10,199}\.", row.deprecated)
    assert not row.default.endswith(".")
    if row.kind == "bool":
        assert row.default in ("", "true", "false")
    if row.target is None and row.responses_target is None:
        assert row.kind in ("bool", "choice", "int", "server-tools")
