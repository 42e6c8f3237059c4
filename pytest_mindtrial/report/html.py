"""The HTML report: one static page with inert data, readable from disk, without any request.

Does not turn results into markup: the page's own script builds elements from text. All data sit in JSON blocks in
which every ``<`` is escaped, so nothing in an answer can end the block or begin a tag; a content security policy
allows exactly our style and our script by their hashes and nothing else. Source: spec mindtrial 7.5 and 10, W19;
design D17.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from importlib import resources

from pytest_mindtrial.core.jsontext import compact_json, without_markup
from pytest_mindtrial.core.record import Result
from pytest_mindtrial.report.payload import CHUNK_SIZE, body, index, with_transcript
from pytest_mindtrial.results.evaluation import EvaluationInfo

__all__ = ["body_text", "html_pieces", "page_frame", "render_html"]

_SCRIPTS = (
    *("dom", "numbers", "diff", "data", "filters"),
    *("summary", "repeats", "compare", "analysis", "details", "results", "main"),
)
"""In the order of their definitions; together one script."""

_ENCODE = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), check_circular=False).encode


def render_html(results: Sequence[Result], evaluation: EvaluationInfo) -> str:
    """Return the whole page.

    Args:
        results: In the order in which the page lists them; texts must already be free of secrets or be redacted
            afterwards (they stand in the page as JSON strings).
        evaluation: Facts for the head; incomplete and mock evaluations get a banner.
    """
    return "".join(html_pieces(results, evaluation))


def html_pieces(
    results: Sequence[Result], evaluation: EvaluationInfo, text_of: Callable[[Result, bool], str] | None = None
) -> Iterator[str]:
    """Yield the page piece by piece; as one string it takes several times the memory of the file.

    Args:
        results: As of `render_html`.
        evaluation: As of `render_html`.
        text_of: Returns the `body_text` of a result; None = makes it.
    """
    text_of = text_of or body_text
    before, after = page_frame()
    shown = with_transcript(results)
    yield before
    yield _data_block("mt-index", _inert_json(index(results, evaluation, shown)))
    for number, start in enumerate(range(0, len(results), CHUNK_SIZE)):
        chunk = slice(start, start + CHUNK_SIZE)
        texts = map(text_of, results[chunk], shown[chunk])
        yield "\n" + _data_block(f"mt-body-{number}", f"[{','.join(texts)}]")
    yield after


def body_text(result: Result, has_transcript: bool) -> str:
    """Return a result's body as it stands in a data block of the page."""
    return _inert_json(body(result, has_transcript))


def _data_block(name: str, text: str) -> str:
    return f'<script type="application/json" id="{name}">{text}</script>'


def _inert_json(data: object) -> str:
    """Return JSON without markup, by the fast encoder where it can."""
    try:
        text = _ENCODE(data)
    except (TypeError, ValueError, RecursionError):  # numbers or nesting that only our own writer takes
        return compact_json(data)
    return without_markup(text)


@functools.cache
def page_frame() -> tuple[str, str]:
    """Return what stands before and after the data: template, style and script put together, hashes filled in."""
    style = _asset("report.css")
    script = '"use strict";\n(() => {\n' + "\n".join(_asset(f"{name}.js") for name in _SCRIPTS) + "})();\n"
    policy = "; ".join(
        (
            "default-src 'none'",
            f"style-src '{_hash(style)}'",
            f"script-src '{_hash(script)}'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )
    page = _asset("report.html").replace("@csp@", policy).replace("@style@", style)
    before, after = page.replace("@script@", script).split("@payload@")
    return before, after


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _asset(name: str) -> str:
    return (resources.files("pytest_mindtrial.report") / "assets" / name).read_text(encoding="utf-8")
