"""Renders what the reports say of single results while the session waits for replies, and keeps it until the end.

At the end the reports are only put together, so that ten thousand results do not cost seconds after the last reply.
What was rendered is used only if it would be the same now: for this very result, with the secrets known now, with the
same decision about its transcript. Everything else, also what failed here, is rendered at the end, where failures are
reported. Does not write reports (``plugin/reporting.py``) and does not decide when the session has time.

Source: issue 5 (the tail of a session).
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pytest_mindtrial.core.record import Result
    from pytest_mindtrial.core.secret import Redactor
    from pytest_mindtrial.plugin.evaluation import Evaluation
    from pytest_mindtrial.results.spool import Spool

__all__ = ["EarlyReports"]

_WORK_S = 0.0005
"""Longest work in one go; then the engine's thread gets its chance, for which it would else wait 5 ms."""

_PAUSE_S = 0.00005


class _Piece(NamedTuple):
    """What is kept of a result.

    Attributes:
        result: As it was reported; held, so that no other result gets its identity.
        shown: As it may be written.
        has_transcript: How its body was rendered.
        number: Of its texts in the spools; None = none are kept.
    """

    result: Result
    shown: Result
    has_transcript: bool = False
    number: int | None = None


class EarlyReports:
    """The texts of one session's reports; for pytest's main thread.

    Args:
        evaluation: The session's state.
    """

    def __init__(self, evaluation: Evaluation) -> None:
        self._evaluation = evaluation
        settings = evaluation.settings
        wanted = {"json": settings.json, "csv": settings.csv, "html": settings.html}
        self._wanted = [name for name, is_wanted in wanted.items() if is_wanted and not evaluation.is_worker]
        self._is_over = not self._wanted
        self._steps: list[Callable[[], object]] | None = [] if evaluation.is_worker else None
        self._pieces: dict[int, _Piece] = {}
        self._spools: dict[str, Spool] = {}
        self._done = 0
        self._transcripts = 0
        self._version = 0

    # While the session waits

    @property
    def has_work(self) -> bool:
        """True when a call of `work` would find something to render."""
        # Not the latest result: when the session waits, it is often for a rerun that will replace it.
        return self._done < len(self._evaluation.results) - 1 and not self._is_over

    def work(self, is_due: Callable[[], bool]) -> None:
        """Render what has been reported, one result after the other; never raises.

        Args:
            is_due: Tells that the session has something better to do; asked after each result.
        """
        if self._steps is None:  # the first wait: requests are being sent just now
            self._steps = self._preparations()
            return
        if not (self._steps or self.has_work):
            return
        pause_at = time.monotonic() + _WORK_S
        while (self._steps or self.has_work) and not is_due():
            if time.monotonic() >= pause_at:
                time.sleep(_PAUSE_S)
                pause_at = time.monotonic() + _WORK_S
                continue
            try:
                if self._steps:
                    self._steps.pop(0)()
                else:
                    self._render_next()
            except OSError:  # no place for temporary files: everything is rendered at the end
                self.close()
            except Exception:  # rendered again at the end, where it is reported
                pass

    def _preparations(self) -> list[Callable[[], object]]:
        """Return what costs time once, in steps: importing what the end needs."""

        def load_json() -> None:
            import pytest_mindtrial.results.files
            import pytest_mindtrial.results.json_writer  # noqa: F401

        def load_html() -> None:
            from pytest_mindtrial.report.html import page_frame

            page_frame()

        def load_csv() -> None:
            import pytest_mindtrial.results.csv_writer  # noqa: F401

        def load_summary() -> None:
            import pytest_mindtrial.results.repeats
            import pytest_mindtrial.results.spending
            import pytest_mindtrial.results.summary  # noqa: F401

        steps = {"json": load_json, "csv": load_csv, "html": load_html}
        return [*(steps[name] for name in self._wanted), load_summary]

    def _render_next(self) -> None:
        from pytest_mindtrial.report.payload import MAX_TRANSCRIPTS, transcript_size
        from pytest_mindtrial.results.spool import Spool

        self._forget_outdated()
        result = self._evaluation.results[self._done]
        self._done += 1
        shown = self._piece(result).shown
        self._transcripts += transcript_size(shown)
        has_transcript = self._transcripts <= MAX_TRANSCRIPTS
        texts = {name: self._rendered(name, shown, has_transcript) for name in self._wanted}
        if not self._spools:
            self._evaluation.at_end.append(self.close)
            for name in self._wanted:
                self._spools[name] = Spool()
        (number,) = {self._spools[name].add(text) for name, text in texts.items()}
        self._keep(_Piece(result, shown, has_transcript, number))

    # At the end

    def results(self) -> list[Result]:
        """Return the session's results as they may be written, in report order."""
        self._forget_outdated()
        return [self._piece(result).shown for result in self._evaluation.results]

    def entry(self, result: Result) -> str:
        """Return the `results.json_writer.entry_text` of one of `results`."""
        return self._text("json", result)

    def row(self, result: Result) -> str:
        """Return the `results.csv_writer.csv_row` of one of `results`."""
        return self._text("csv", result)

    def body(self, result: Result, has_transcript: bool) -> str:
        """Return the `report.html.body_text` of one of `results`."""
        return self._text("html", result, has_transcript)

    def close(self) -> None:
        """Let go of all texts; what is asked for from now on is rendered. A second call does nothing."""
        self._is_over = True
        spools, self._spools = self._spools, {}
        for spool in spools.values():
            with contextlib.suppress(OSError):  # what it still wanted to write
                spool.close()

    def _text(self, name: str, result: Result, has_transcript: bool = True) -> str:
        number = self._number(name, result, has_transcript)
        if number is not None:
            try:
                return self._spools[name].read(number)
            except OSError:
                self.close()
        return self._rendered(name, result, has_transcript)

    def _number(self, name: str, result: Result, has_transcript: bool) -> int | None:
        piece = self._pieces.get(id(result))
        if piece is None or name not in self._spools:
            return None
        return piece.number if name != "html" or piece.has_transcript == has_transcript else None

    @staticmethod
    def _rendered(name: str, result: Result, has_transcript: bool) -> str:
        if name == "json":
            from pytest_mindtrial.results.json_writer import entry_text

            return entry_text(result)
        if name == "csv":
            from pytest_mindtrial.results.csv_writer import csv_row

            return csv_row(result)
        from pytest_mindtrial.report.html import body_text

        return body_text(result, has_transcript)

    # Secrets

    def _piece(self, result: Result) -> _Piece:
        """Return what is known of a result, redacted with the secrets known now."""
        piece = self._pieces.get(id(result))
        if piece is None:
            piece = _Piece(result, self._redacted(result))
            self._keep(piece)
        return piece

    def _keep(self, piece: _Piece) -> None:
        self._pieces[id(piece.result)] = self._pieces[id(piece.shown)] = piece

    def _redacted(self, result: Result) -> Result:
        keeper = self._evaluation.keeper
        if keeper is not None and keeper.is_clean(result):
            return result
        from pytest_mindtrial.results.redaction import redact_result

        return redact_result(result, self._redactor)

    def _forget_outdated(self) -> None:
        """Begin again when a secret was learnt: it may be in what was rendered before."""
        version = self._redactor.version
        if version != self._version:
            self._version = version
            self._pieces.clear()
            self._done = self._transcripts = 0

    @property
    def _redactor(self) -> Redactor:
        from pytest_mindtrial.core.secret import Redactor

        keeper = self._evaluation.keeper
        return keeper.redactor if keeper is not None else Redactor()
