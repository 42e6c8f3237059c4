"""The page: one file, inert data, a policy that names our style and script only."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mindtrial.core.record import Result
from pytest_mindtrial.core.values import Kind
from pytest_mindtrial.report.html import render_html
from tests.golden.results.samples import EVALUATION, HOSTILE, INCOMPLETE, awkward, full, many


class Page(HTMLParser):
    """Collects elements, data blocks and everything that could load or run something."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.texts: dict[str, list[str]] = {}
        self._open = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag in ("script", "style"):
            name = dict(attrs).get("id") or tag
            self._open = name
            self.texts.setdefault(name, []).append("")

    def handle_endtag(self, tag: str) -> None:
        self._open = ""

    def handle_data(self, data: str) -> None:
        if self._open:
            self.texts[self._open][-1] += data

    def block(self, name: str) -> Any:
        return json.loads(self.texts[name][0])


SAMPLES: list[Callable[[], list[Result]]] = [list, full, awkward]


@pytest.mark.parametrize("make", SAMPLES)
def test_nothing_in_the_data_becomes_an_element(make: Callable[[], list[Result]]) -> None:
    results = make()
    page, empty = Page(render_html(results, EVALUATION)), Page(render_html([], EVALUATION))
    assert [tag for tag in page.tags if tag != "script"] == [tag for tag in empty.tags if tag != "script"]
    assert page.tags.count("script") == 2 + -(-len(results) // 50)
    assert not [name for _, name, _ in page.attributes if name.startswith("on") or name == "style"]
    assert not [
        value for _, name, value in page.attributes if name in ("src", "href") and not value.startswith(("#", "data:"))
    ]


def test_policy_allows_exactly_our_style_and_script() -> None:
    page = Page(render_html(full(), EVALUATION))
    policy = next(
        value for tag, name, value in page.attributes if tag == "meta" and name == "content" and "src" in value
    )
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    for name in ("style", "script"):
        digest = base64.b64encode(hashlib.sha256(page.texts[name][0].encode()).digest()).decode()
        assert f"{name}-src 'sha256-{digest}'" in policy


def test_the_page_names_no_address() -> None:
    text = render_html([], EVALUATION)
    assert set(re.findall(r"https?://[\w./]*", text)) == {"http://www.w3.org/2000/svg", "https://schema.org/Review"}


def test_data_come_back_whole() -> None:
    results = awkward()
    page = Page(render_html(results, EVALUATION))
    index, bodies = page.block("mt-index"), page.block("mt-body-0")
    assert len(index["rows"]) == len(bodies) == len(results)
    assert [body["trace_id"] for body in bodies] == [result.trace_id for result in results]
    assert bodies[0]["got"] == HOSTILE[0]
    assert index["tasks"][0] == f"task {HOSTILE[0]}"


@given(st.text(st.characters(codec=None)))
def test_any_text_survives(text: str) -> None:
    result = Result(text, Kind.PASSED, text, text, text, got={text: text}, nodeid=text)
    page = Page(render_html([result], EVALUATION))
    body = page.block("mt-body-0")[0]
    assert body["trace_id"] == body["nodeid"] == text
    assert page.block("mt-index")["runs"][0]["provider"] == text


def test_same_input_same_bytes() -> None:
    assert render_html(full(), INCOMPLETE) == render_html(full(), INCOMPLETE)


def test_ten_thousand_results_stay_small_and_are_split() -> None:
    text = render_html(many(10_000), EVALUATION)
    page = Page(text)
    assert len(page.texts["mt-index"][0]) < 2_000_000
    assert sum(name.startswith("mt-body-") for name in page.texts) == 200
    assert len(text) < 40_000_000
