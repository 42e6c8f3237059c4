"""What was rendered early gives the same bytes as what is rendered at the end, and failing early harms nothing."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_mindtrial.core.record import Result
from pytest_mindtrial.core.secret import Redactor, Secret
from pytest_mindtrial.plugin import early_reports
from pytest_mindtrial.plugin.early_reports import EarlyReports
from pytest_mindtrial.report import html, payload
from pytest_mindtrial.results import csv_writer, json_writer, spool
from pytest_mindtrial.results.redaction import redact_results
from tests.golden.results.samples import EVALUATION, awkward, full


@pytest.fixture(autouse=True)
def open_sessions(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Close what the sessions of a test have opened."""
    made: list[EarlyReports] = []
    real = EarlyReports.__init__
    monkeypatch.setattr(
        EarlyReports, "__init__", lambda self, evaluation: (made.append(self), real(self, evaluation))[1]
    )
    yield
    for each in made:
        each.close()


class Session:
    """A session's state as far as early rendering looks at it."""

    def __init__(self, results: list[Result], **settings: bool) -> None:
        self.results = results
        self.settings = SimpleNamespace(**{"json": True, "csv": True, "html": True, **settings})
        self.is_worker = False
        self.at_end: list[Any] = []
        self.redactor = Redactor()
        self.clean: set[int] = set()
        self.keeper = self
        self.early = EarlyReports(self)  # type: ignore[arg-type]

    def is_clean(self, result: Result) -> bool:
        return id(result) in self.clean

    def work(self) -> None:
        self.early.work(lambda: False)  # the first wait: nothing is rendered yet
        self.early.work(lambda: False)

    def written(self) -> dict[str, str]:
        """Return the reports, put together as at the end of a session."""
        results, early = self.early.results(), self.early
        return {
            "json": "".join(json_writer.json_pieces(results, EVALUATION, early.entry)),
            "csv": "".join(csv_writer.csv_pieces(results, early.row)),
            "html": "".join(html.html_pieces(results, EVALUATION, early.body)),
        }

    def expected(self) -> dict[str, str]:
        """Return the reports, rendered at once."""
        results = redact_results(self.results, self.redactor)
        return {
            "json": json_writer.write_json(results, EVALUATION),
            "csv": csv_writer.write_csv(results),
            "html": html.render_html(results, EVALUATION),
        }


@pytest.fixture
def rendered(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of all texts that are rendered rather than read back."""
    names: list[str] = []
    real = EarlyReports._rendered

    def render(name: str, result: Result, has_transcript: bool) -> str:
        names.append(name)
        return real(name, result, has_transcript)

    monkeypatch.setattr(EarlyReports, "_rendered", staticmethod(render))
    return names


@pytest.fixture(params=[full, awkward])
def session(request: pytest.FixtureRequest) -> Session:
    return Session(request.param())


def test_same_bytes_and_only_the_latest_result_is_left_for_the_end(session, rendered):
    session.work()
    assert len(rendered) == 3 * (len(session.results) - 1)
    assert session.written() == session.expected()
    assert len(rendered) == 3 * len(session.results)


def test_same_bytes_without_any_early_work(session):
    assert session.written() == session.expected()


def test_reports_that_are_off_are_not_rendered(rendered):
    session = Session(full(), csv=False, html=False)
    session.work()
    assert set(rendered) == {"json"}
    assert session.written() == session.expected()
    none = Session(full(), json=False, csv=False, html=False)
    rendered.clear()
    none.work()
    assert rendered == []
    assert none.early.results() == full()


def test_a_rerun_replaces_what_was_rendered(session, rendered):
    session.work()
    session.results[0] = replace(session.results[0], got="second try", trace_id="T2")
    rendered.clear()
    assert session.written() == session.expected()
    assert len(rendered) == 6  # the replaced one and the latest
    assert "second try" in session.written()["json"]


def test_the_order_may_change_afterwards(session):
    session.work()
    session.results.reverse()
    assert session.written() == session.expected()


def test_results_may_come_while_others_are_rendered(session):
    everything = list(session.results)
    for count in range(len(everything) + 1):
        session.results[:] = everything[:count]
        session.work()
    assert session.written() == session.expected()


def test_a_secret_that_is_learnt_later_is_in_no_report(session, rendered):
    secret = session.results[0].task
    session.clean = set(map(id, session.results))  # as the journal says: by the secrets known so far
    session.work()
    session.redactor.add(Secret(secret))
    session.clean.clear()
    written = session.written()
    assert written == session.expected()
    assert secret not in written["csv"]
    assert "**********" in written["json"]


def test_what_was_rendered_with_fewer_secrets_is_rendered_again_while_waiting(session, rendered):
    session.work()
    session.redactor.add(Secret("a-secret-of-nobody"))
    session.results.append(replace(session.results[0], trace_id="T9"))
    rendered.clear()
    session.early.work(lambda: False)
    assert len(rendered) == 3 * (len(session.results) - 1)
    assert session.written() == session.expected()


def test_results_with_secrets_are_rendered_early_as_they_may_be_written(rendered):
    session = Session(full())
    session.redactor.add(Secret(session.results[0].task))
    session.work()
    rendered.clear()
    assert session.written() == session.expected()
    assert len(rendered) == 3
    assert session.results[0].task not in session.written()["html"]


def test_what_the_journal_found_clean_is_not_searched_again(monkeypatch):
    session = Session(full())
    session.clean = set(map(id, session.results))
    monkeypatch.setattr("pytest_mindtrial.results.redaction.to_wire", None)
    session.work()
    assert [shown is result for shown, result in zip(session.early.results(), session.results, strict=True)] == [
        True
    ] * len(session.results)


def test_transcripts_beyond_the_budget_are_left_out_as_they_would_be_at_the_end(monkeypatch, rendered):
    message = ({"role": "user", "text": "x" * 10},)
    results = [replace(full()[0], trace_id=f"T{number}", transcript=message) for number in range(5)]
    monkeypatch.setattr(payload, "MAX_TRANSCRIPTS", 25)
    session = Session(results, json=False, csv=False)
    session.work()
    rendered.clear()
    assert session.written()["html"] == session.expected()["html"]
    assert rendered.count("html") == 1
    results[0] = replace(results[0], transcript=())  # a rerun: now a third one fits
    assert session.written()["html"] == session.expected()["html"]


def test_a_failure_while_rendering_early_is_not_seen_and_tried_again(monkeypatch, session):
    real = json_writer.entry_text
    calls: list[Result] = []

    def fail_twice(result: Result) -> str:
        calls.append(result)
        if len(calls) < 3:
            raise RuntimeError("odd result")
        return real(result)

    monkeypatch.setattr(json_writer, "entry_text", fail_twice)
    session.work()
    assert len(calls) == len(session.results) - 1
    assert session.written() == session.expected()


@pytest.mark.parametrize("broken", ["__init__", "add", "read"])
def test_without_room_for_temporary_files_everything_is_rendered_at_the_end(monkeypatch, session, broken):
    def fail(*arguments: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(spool.Spool, broken, fail)
    session.work()
    assert session.early.has_work is False
    assert session.written() == session.expected()


def test_an_interruption_between_two_texts_mixes_nothing_up(monkeypatch, session):
    real, calls = spool.Spool.add, []

    def interrupt(self: spool.Spool, text: str) -> int:
        calls.append(text)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return real(self, text)

    monkeypatch.setattr(spool.Spool, "add", interrupt)
    with pytest.raises(KeyboardInterrupt):
        session.work()
    session.work()
    assert session.written() == session.expected()


def test_work_stops_when_something_is_due(session, rendered):
    session.early.work(lambda: False)
    session.early.work(lambda: len(rendered) >= 6)
    assert len(rendered) == 6  # of two results
    assert session.early.has_work


def test_nothing_is_done_while_something_is_due(session, rendered):
    session.early.work(lambda: True)
    session.early.work(lambda: True)
    assert rendered == []


def test_long_work_gives_the_engine_its_turn(monkeypatch):
    now, slept = [0.0], []

    def sleep(seconds: float) -> None:
        slept.append(now[0])
        now[0] += seconds

    def monotonic() -> float:
        now[0] += 0.0001
        return now[0]

    monkeypatch.setattr(early_reports, "time", SimpleNamespace(monotonic=monotonic, sleep=sleep))
    session = Session([replace(full()[0], trace_id=str(number)) for number in range(40)])
    session.work()
    assert len(slept) > 5
    assert max(later - earlier for earlier, later in itertools.pairwise(slept)) < 0.001


def test_nothing_is_loaded_or_rendered_on_a_worker(rendered):
    session = Session([])
    session.is_worker = True
    session.early = EarlyReports(session)  # type: ignore[arg-type]
    session.results = full()
    session.work()
    assert rendered == []


def test_the_spools_are_closed_with_the_session(session):
    session.work()
    (close,) = session.at_end
    files = [each._file for each in session.early._spools.values()]
    assert len(files) == 3
    close()
    close()
    assert all(file.closed for file in files)
    assert session.written() == session.expected()
