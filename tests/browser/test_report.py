"""The report in a real browser, from disk."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from pytest_mindtrial.core.record import AnswerRecord, Result, ValidationRecord
from pytest_mindtrial.core.values import Kind
from pytest_mindtrial.results.statistics import summarize
from tests.golden.results.samples import EVALUATION, HOSTILE, INCOMPLETE, awkward, full, many

if TYPE_CHECKING:
    from tests.browser.conftest import Browser

pytestmark = pytest.mark.browser


DETAILS = (
    "Both fruits found",
    "I sorted the letters.",
    "value match",
    "http-429",
    "req_1",
    "tool execution timeout",
    "cache tokens included",
    "Judge reasoning:",
    "opus careful judge",
    "Transient",
    "Permanent",
    "HTTP Response",
    "from validation",
    "The reply's JSON had to be repaired",
    "tasks.yaml:41:7",
    "I shall count.",
    "01K3DQ7Z8X0000000000000001",
)


def grid() -> list[Result]:
    """Three runs over four tasks with known agreement."""
    kinds = {"a": "PPFE", "b": "PFFS", "c": "FPFP"}
    names = {"P": Kind.PASSED, "F": Kind.FAILED, "E": Kind.ERROR, "S": Kind.SKIPPED}
    return [
        Result(f"{run}{n}", names[letter], f"task {n}", "p", run, got="x", want=("y",), duration_ns=(n + 1) * 10**9)
        for run, letters in kinds.items()
        for n, letter in enumerate(letters)
    ]


def rebuilt_texts(browser: Browser) -> list[list[str]]:
    """Return for each shown diff the accepted and the given text, put together from its pieces."""
    texts: list[list[str]] = browser.js(
        "return [...document.querySelectorAll('.diff')].map((d) => ['ins', 'del'].map((away) =>"
        " [...d.childNodes].filter((n) => n.localName !== away)"
        ".map((n) => n.textContent).join('').replaceAll('¶\\n', '\\n')))"
    )
    return texts


def open_everything(browser: Browser) -> None:
    browser.click("#select-all")
    browser.click("#compare-button")
    browser.click("#analyze-button")
    browser.js(
        "[...document.querySelectorAll('#compare-matrix button')].slice(0, 9).forEach((b) => {"
        " b.click(); document.querySelector('dialog').close(); })"
    )
    for number in range(len(browser.js("return document.querySelectorAll('[aria-expanded]')"))):
        browser.js("document.querySelectorAll('#results-table [aria-expanded]')[arguments[0]].click()", number)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_hostile_text_stays_text(browser: Browser, colours: Callable[[str], None], scheme: str) -> None:
    colours(scheme)
    browser.open(awkward())
    open_everything(browser)
    assert browser.js("return window.hacked === undefined && window.onmouseover === null")
    assert browser.texts("main script, main img, main iframe, main object, main style, [onerror], [onmouseover]") == []
    assert browser.js("return [...document.querySelectorAll('a')].every((a) => a.getAttribute('href').startsWith('#'))")
    body = browser.js("return document.body.innerText.toWellFormed()")
    assert all(text in body for text in HOSTILE)
    assert browser.console() == []
    assert browser.requested() <= {"file:", "data:"}


def test_policy_stops_what_would_get_through(browser: Browser) -> None:
    browser.open(full())
    browser.js(
        "const s = document.createElement('script'); s.textContent = 'window.hacked = 9'; document.body.append(s)"
    )
    browser.js("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.hacked = 8\">')")
    browser.js("document.body.insertAdjacentHTML('beforeend', '<img src=\"http://127.0.0.1:9/x\">')")
    assert browser.js("return window.hacked === undefined")
    assert len(browser.console()) >= 3


def test_head_says_what_was_evaluated(browser: Browser) -> None:
    browser.open(full(), INCOMPLETE)
    text = browser.find("#report").text
    for fact in (
        "Mon, 24 Aug 2026 20:08:32 -0400",
        EVALUATION.seed,
        "8 of 40",
        "Interrupted by Ctrl-C",
        "Mock answers",
    ):
        assert fact in text
    browser.open([result for result in full() if not result.is_mock])
    assert browser.texts("#incomplete, #mock") == []


def test_empty_report(browser: Browser) -> None:
    browser.open([])
    assert "No results." in browser.find("#results").text
    assert browser.texts("#visible") == ["0 visible of 0"]
    assert browser.console() == []


def test_summary_sorts_and_filters(browser: Browser) -> None:
    browser.open(full())
    runs = "#summary-table tbody td:nth-child(3) .link"
    assert browser.texts(runs) == ["opus", "text-only", "careless", "gpt-5.2-xhigh"]
    browser.click("#summary-table [data-sort=pass]")
    assert browser.texts(runs) == ["opus", "gpt-5.2-xhigh", "careless", "text-only"]
    browser.click("#summary-table [data-sort=pass]")
    assert browser.texts(runs) == ["careless", "gpt-5.2-xhigh", "opus", "text-only"]
    assert (
        browser.js("return document.querySelector('#summary-table [data-sort=pass]').closest('th').ariaSort")
        == "descending"
    )
    browser.click("#summary-table tbody tr:nth-child(3) td:nth-child(3) .link")
    assert browser.texts("#visible") == ["4 visible of 8"]


def test_select_all_has_three_states(browser: Browser) -> None:
    browser.open(full())
    states = "const b = document.querySelector('#select-all'); return [b.checked, b.indeterminate]"
    assert browser.js(states) == [False, False]
    assert not browser.find("#compare-button").is_enabled()
    browser.click("#summary-table tbody tr:first-child input")
    assert browser.js(states) == [False, True]
    assert browser.find("#analyze-button").is_enabled()
    assert not browser.find("#compare-button").is_enabled()
    browser.click("#select-all")
    assert browser.js(states) == [True, False]
    browser.click("#select-all")
    assert browser.js(states) == [False, False]


@pytest.mark.parametrize(
    "selector, text, count",
    [
        ("[data-filter=search]", "ANTHROPIC|mock", 6),
        ("[data-filter=search]", "^rooks", 2),
        ("[data-filter=provider]", "openai", 2),
        ("[data-filter=run]", "opus", 4),
        ("[data-filter=task]", "rooks*, CHESS*", 3),
        ("[data-filter=task]", "log line?", 1),
        ("[data-filter=task]", "rooks", 0),
        ("[data-filter=kind]", "Error", 2),
        ("[data-filter=suite]", "core", 7),
        ("[data-filter=category]", "reasoning", 7),
        ("[data-filter=difficulty]", "hard", 7),
    ],
)
def test_filters(browser: Browser, selector: str, text: str, count: int) -> None:
    browser.open(full())
    browser.fill(f"#results {selector}", text)
    assert browser.texts("#visible") == [f"{count} visible of 8"]
    assert len(browser.texts("#results-table tbody tr.row")) == count
    browser.click("#clear")
    assert browser.texts("#visible") == ["8 visible of 8"]


def test_tags_narrow_and_bad_patterns_are_said(browser: Browser) -> None:
    browser.open(full())
    browser.js("document.querySelectorAll('#results details input').forEach((box) => box.click())")
    assert browser.texts("#visible") == ["7 visible of 8"]
    browser.click("#clear")
    browser.click("#results [data-filter=isRegexp]")
    browser.fill("#results [data-filter=task]", "([")
    assert "Not a valid pattern" in browser.texts("#results .problem")[0]
    assert browser.texts("#visible") == ["8 visible of 8"]
    browser.fill("#results [data-filter=task]", "^(log|chess)")
    assert browser.texts("#visible") == ["2 visible of 8"]


def test_cells_filter_and_columns_sort(browser: Browser) -> None:
    browser.open(full())
    browser.click("#results-table button.kind.Failed")
    assert browser.texts("#visible") == ["3 visible of 8"]
    browser.click("#clear")
    browser.click("#results-table tbody tr:nth-child(2) td.task .link")
    assert browser.texts("#visible") == ["2 visible of 8"]
    browser.click("#clear")
    browser.click("#results-table [data-sort=duration]")
    times = browser.texts("#results-table td.number")
    assert times[:3] == ["0 ms", "0 ms", "2 ms"]
    browser.click("#results-table [data-sort=status]")
    assert browser.texts("#results-table button.kind")[0].endswith("Passed")


def test_wrong_answers_show_what_is_missing_and_what_is_too_much(browser: Browser) -> None:
    result = replace(grid()[2], got="eight rooks\ncan stand", want=("nine rooks can stand", "eight rooks\ncan sit"))
    browser.open([result])
    assert browser.texts("#results-table li:nth-child(1) del") == ["nine", ""]
    assert browser.texts("#results-table li:nth-child(1) ins")[0] == "eight"
    assert "¶" in browser.texts("#results-table li:nth-child(1) ins")[1]
    assert rebuilt_texts(browser) == [["nine rooks can stand", result.got], ["eight rooks\ncan sit", result.got]]


@pytest.mark.parametrize("seed", range(3))
def test_diffs_rebuild_both_texts(browser: Browser, seed: int) -> None:
    import random

    source = random.Random(seed)
    texts = ["".join(source.choice("ab .,\n日🍇") for _ in range(source.randint(0, 60))) for _ in range(40)]
    results = [replace(grid()[2], trace_id=str(n), got=texts[n], want=(texts[n + 1],)) for n in range(39)]
    browser.open(results)
    assert rebuilt_texts(browser) == [[texts[n + 1], texts[n]] for n in range(39)]


def test_compare_matrix(browser: Browser) -> None:
    browser.open(grid())
    browser.click("#select-all")
    browser.click("#compare-button")

    def cell(row: int, column: int) -> str:
        return browser.texts(f'[data-cell="{row},{column}"]')[0].replace("\n", " ")

    assert cell(1, 0) == "66.7 % 2/3 agree"
    assert cell(0, 1) == "33.3 % 1/3 differ"
    assert cell(2, 0) == "50.0 % 2/4 agree"
    assert cell(2, 1) == "33.3 % 1/3 agree"
    assert browser.texts(".matrix .own")[1].split(" · ") == ["✓ 1 passed", "✗ 2 failed", "– 1 skipped"]
    browser.click('[data-cell="0,1"]')
    assert browser.texts("dialog li .grow") == ["task 1"]
    assert browser.js("return document.querySelector('dialog').open")
    browser.find("dialog").send_keys("\ue00c")
    assert not browser.js("return document.querySelector('dialog').open")
    browser.click('[data-cell="0,2"]')
    browser.js("document.querySelector('dialog li .kind').click()")
    assert browser.texts("tr.details") != []


def test_analysis_agrees_with_the_python_statistics(browser: Browser) -> None:
    browser.open(full())
    browser.click("#select-all")
    browser.click("#analyze-button")
    rows = [text.split("\t") for text in browser.texts("#analysis-table tbody tr")]
    for row, run in zip(rows, summarize(full()), strict=True):
        interval = run.counts.pass_interval
        counts = run.counts
        assert row[:7] == [
            run.provider,
            run.run,
            *map(str, (counts.attempted, counts.passed, counts.failed, counts.error, counts.skipped)),
        ]
        assert row[8] == (f"{interval.lower * 100:.1f} – {interval.upper * 100:.1f}" if interval else "—")
        assert row[-1] == (f"{run.cost:.4f} {run.currency}" if run.cost is not None else "—")


def test_analysis_filters_columns_and_the_rest(browser: Browser) -> None:
    browser.open(grid())
    browser.click("#select-all")
    browser.click("#analyze-button")
    browser.fill("#analysis [data-filter=task]", "task 0, task 1")
    assert browser.texts("#analysis-note") == ["6 of 12 results"]
    assert [text.split("\t")[2:7] for text in browser.texts("#analysis-table tbody tr")] == [
        ["2", "2", "0", "0", "0"],
        ["2", "1", "1", "0", "0"],
        ["2", "1", "1", "0", "0"],
    ]
    browser.click("#show-remaining")
    assert [text.split("\t")[2:7] for text in browser.texts("#remaining-table tbody tr")][1] == [
        "1",
        "0",
        "1",
        "0",
        "1",
    ]
    time_columns = browser.texts("#analysis-table tbody tr:first-child td")[11:14]
    assert time_columns == ["3.0 s", "1.5 s", "500 ms"]
    browser.js("[...document.querySelectorAll('#columns button')].find((b) => b.textContent === 'All').click()")
    assert len(browser.texts("#analysis-table thead th")) == 24
    browser.js("[...document.querySelectorAll('#columns button')].find((b) => b.textContent === 'None').click()")
    assert browser.texts("#analysis-table thead th") == []
    browser.click("#summary-table tbody input")
    assert browser.texts("#analysis-note") == ["4 of 8 results"]


def test_details_show_everything_that_is_known(browser: Browser) -> None:
    browser.open(full())
    open_everything(browser)
    text = browser.js("return document.querySelector('#results-table').innerText")
    for part in DETAILS:
        assert part in text


def test_a_schema_is_not_called_an_answer(browser: Browser) -> None:
    answer = AnswerRecord("", "", 8, ({"type": "number", "maximum": 2},))
    titles = []
    for method in ("schema", "exact"):
        browser.open([replace(grid()[2], answer=answer, validation=ValidationRecord(method))])
        browser.click("[aria-expanded]")
        titles += [text for text in browser.texts("tr.details h3") if text.startswith("Accepted")]
    assert titles == ["Accepted answer, as a JSON Schema", "Accepted answer"]


def test_deep_link_opens_the_row_on_its_page(browser: Browser) -> None:
    results = many(300)
    browser.open(results, fragment="#run-provider1-run-9-task-0027")
    browser.wait("document.querySelector('tr.details')")
    assert browser.texts("#pager span")[0] == "Page 6 of 6"
    assert (
        browser.js("return document.activeElement.getAttribute('aria-controls')")
        == "run-provider1-run-9-task-0027-details"
    )
    browser.fill("#results [data-filter=task]", "nothing")
    browser.js("location.hash = '#run-provider0-run-0-task-0000'")
    browser.wait("document.getElementById('run-provider0-run-0-task-0000-details')")
    assert browser.texts("#visible") == ["300 visible of 300"]
    assert browser.texts("#pager span")[0] == "Page 1 of 6"


def test_copying_the_trace_id(browser: Browser) -> None:
    browser.open(full())
    browser.js(
        "Object.defineProperty(navigator, 'clipboard', {value: {writeText: async (t) => { window.copied = t; }}})"
    )
    browser.js(
        "[...document.querySelectorAll('#results-table .button')].find((b) => b.textContent === 'Copy id').click()"
    )
    assert browser.js("return window.copied") == full()[0].trace_id
    browser.js("navigator.clipboard.writeText = async () => { throw new Error('no'); }")
    browser.js(
        "[...document.querySelectorAll('#results-table .button')].find((b) => b.textContent === 'Copy id').click()"
    )
    assert full()[1].trace_id in browser.find("dialog").text


def test_ten_thousand_results(browser: Browser) -> None:
    results = many(10_000)
    start = time.monotonic()
    browser.open(results)
    rendered = browser.js("return performance.getEntriesByType('navigation')[0].domInteractive")
    assert browser.texts("#visible") == ["10,000 visible of 10,000"]
    assert rendered < 3000
    assert time.monotonic() - start < 30
    assert len(browser.texts("#results-table tbody tr.row")) == 50
    began = browser.js("return performance.now()")
    browser.fill("#results [data-filter=kind]", "Error")
    browser.click("#results-table [data-sort=duration]")
    browser.click("#next-page")
    assert browser.js("return performance.now()") - began < 3000
    assert browser.texts("#pager span")[0].startswith("Page 2 of ")
    browser.click("#select-all")
    browser.click("#compare-button")
    browser.click("#analyze-button")
    assert browser.console() == []


def test_a_huge_answer_does_not_stop_the_page(browser: Browser) -> None:
    words = " ".join(f"w{n}" for n in range(30_000))
    other = " ".join(f"v{n}" for n in range(30_000))
    answer = AnswerRecord("", "", words, (other,))
    browser.open([replace(grid()[2], got=words, want=(other,), answer=answer)])
    assert "more characters in the details" in browser.find("#results-table td.answer").text
    browser.click("[aria-expanded]")
    assert "are in the journal" in browser.js("return document.querySelector('tr.details').innerText")


def test_everything_works_by_keyboard(browser: Browser) -> None:
    browser.open(full())
    reached = browser.js(
        "return [...document.querySelectorAll('main button, main input, main select, main a, main summary')]"
        ".every((n) => n.tabIndex >= 0)"
    )
    assert reached
    assert browser.js("return [...document.querySelectorAll('main button, main input, main select')].every((n) =>"
                      " n.textContent.trim() || n.getAttribute('aria-label') || n.labels?.length)")  # fmt: skip
    browser.find("#results-table .sort").send_keys("\ue007")
    assert browser.js("return document.querySelector('#results-table th').ariaSort") == "ascending"


def test_no_sideways_scrolling_on_a_phone(browser: Browser) -> None:
    metrics = {"width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    try:
        browser.open(awkward())
        assert browser.js("return document.documentElement.scrollWidth") <= 390
        browser.open(full())
        browser.js("document.querySelectorAll('#results-table [aria-expanded]').forEach((n) => n.click())")
        lefts = browser.js(
            "return [...document.querySelectorAll('tr.details thead')].map((n) => n.getBoundingClientRect().left)"
        )
        assert lefts
        assert min(lefts) >= 0
        assert browser.js("return document.documentElement.scrollWidth") <= 390
    finally:
        browser.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_repeats_show_their_estimates_and_lead_to_flaky_tries(browser: Browser) -> None:
    results = []
    for task, kinds in (("steady", "PPP"), ("shaky <b>", "PFP")):
        for number, letter in enumerate(kinds, 1):
            kind = Kind.PASSED if letter == "P" else Kind.FAILED
            results.append(replace(full()[0], task=task, kind=kind, repeat=number, provider="mock", run="m"))
    browser.open(results)
    rows = browser.texts("#repeats-table tbody tr")
    assert len(rows) == 3
    assert "83.3 %" in rows[0]
    assert "100.0 %" in rows[2]
    assert "50.0 %" in rows[2]
    assert browser.js("return document.querySelector('#repeats details.flaky').textContent").endswith("2 of 3 passed")
    browser.js("document.querySelector('#repeats details.flaky').open = true")
    browser.find("#repeats details.flaky button.link").click()
    browser.wait("document.getElementById('visible').textContent.startsWith('3 ')")
    browser.open(full()[:1])
    assert browser.js("return document.getElementById('repeats').hidden") is (full()[0].repeat is None)


def tries_of(run: str, count: int) -> list[Result]:
    """One task, tried ``count`` times, passed every other time."""
    kinds = (Kind.PASSED, Kind.FAILED)
    base = replace(full()[0], provider="mock", run=run)
    return [replace(base, kind=kinds[number % 2], repeat=number) for number in range(1, count + 1)]


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        (1, [1]),
        (2, [1, 2]),
        (4, [1, 2, 3, 4]),
        (6, [1, 2, 3, 5, 6]),
        (10, [1, 2, 3, 5, 10]),
        (30, [1, 2, 3, 5, 10, 20, 30]),
        (120, [1, 2, 3, 5, 10, 20, 50, 100, 120]),
    ],
)
def test_few_k_are_shown_and_all_on_request(browser: Browser, count: int, shown: list[int]) -> None:
    browser.open(tries_of("m", count))
    ks = [int(text) for text in browser.texts("#repeats-table tbody td:nth-child(4)")]
    assert ks == shown
    lists = browser.texts("#repeats details.every-k summary")
    assert lists == ([] if len(shown) == count else [f"mock m: every k from 1 to {count}"])
    if lists:
        browser.js("document.querySelector('#repeats details.every-k').open = true")
        browser.wait("document.querySelector('#repeats details.every-k table')")
        rows = browser.texts("#repeats details.every-k tbody tr")
        assert [int(row.split()[0]) for row in rows] == list(range(1, count + 1))
        cells = "[...document.querySelectorAll('{} td')].map((n) => n.textContent)"
        last = browser.js("return " + cells.format("#repeats details.every-k tbody tr:last-child"))
        assert last == browser.js("return " + cells.format("#repeats-table tbody tr:last-child"))[3:6]


def test_of_many_runs_the_first_and_the_last_k_are_shown(browser: Browser) -> None:
    browser.open([result for run in "abcde" for result in tries_of(run, 30)])
    assert browser.texts("#repeats-table tbody td:nth-child(4)") == ["1", "30"] * 5
    assert len(browser.texts("#repeats details.every-k")) == 5


def test_signs_that_reorder_text_are_shown_as_signs(browser: Browser) -> None:
    """Else the wrong answer ``U+202E sirap`` would look like the accepted one."""
    trick = "\u202esirap"
    results = [Result("t1", Kind.FAILED, "capital \u2066of\u2069 France", "p", "r", got=trick, want=("paris",))]
    browser.open(results)
    text = browser.js("return document.querySelector('#results').textContent")
    assert "\\u202esirap" in text
    assert "capital \\u2066of\\u2069 France" in text
    assert not set(text) & {"\u202e", "\u2066", "\u2069"}
