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
import re
from collections.abc import Iterator, Sequence
from importlib import resources

from pytest_mindtrial.core.jsontext import compact_json
from pytest_mindtrial.core.record import Result
from pytest_mindtrial.report.payload import bodies, index
from pytest_mindtrial.results.evaluation import EvaluationInfo

__all__ = ["html_pieces", "render_html"]

_SCRIPTS = (
    *("dom", "numbers", "diff", "data", "filters"),
    *("summary", "repeats", "compare", "analysis", "details", "results", "main"),
)
"""In the order of their definitions; together one script."""

_UNSAFE = re.compile("[<>&\u2028\u2029\ud800-\udfff]")


def render_html(results: Sequence[Result], evaluation: EvaluationInfo) -> str:
    """Return the whole page.

    Args:
        results: In the order in which the page lists them; texts must already be free of secrets or be redacted
            afterwards (they stand in the page as JSON strings).
        evaluation: Facts for the head; incomplete and mock evaluations get a banner.
    """
    return "".join(html_pieces(results, evaluation))


def html_pieces(results: Sequence[Result], evaluation: EvaluationInfo) -> Iterator[str]:
    """Yield the page piece by piece; as one string it takes several times the memory of the file."""
    before, after = _page().split("@payload@")
    yield before
    yield _data_block("mt-index", index(results, evaluation))
    for number, chunk in enumerate(bodies(results)):
        yield "\n" + _data_block(f"mt-body-{number}", chunk)
    yield after


def _data_block(name: str, data: object) -> str:
    return f'<script type="application/json" id="{name}">{_inert_json(data)}</script>'


def _inert_json(data: object) -> str:
    """Return JSON without markup, by the fast encoder where it can."""
    try:
        text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError):  # numbers or nesting that only our own writer takes
        return compact_json(data)
    # Outside of strings JSON has none of these characters, so they can be escaped in the whole text at once.
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


@functools.cache
def _page() -> str:
    """Return the page without data: template, style and script put together, hashes filled in."""
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
    return page.replace("@script@", script)


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _asset(name: str) -> str:
    return (resources.files("pytest_mindtrial.report") / "assets" / name).read_text(encoding="utf-8")
