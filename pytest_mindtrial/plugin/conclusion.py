"""The end of a session beyond the reports: gates and the exit status, and where people look for the outcome.

The hooks stand in every session, so this module imports on use. Does not measure and does not render. Only the exit
status follows a gate; items and every other report stay as they are. Source: spec pytest 5; design D16.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pytest_mindtrial.plugin.recorder import EVALUATION, active_evaluation

if TYPE_CHECKING:
    from pytest_mindtrial.plugin.evaluation import Evaluation
    from pytest_mindtrial.plugin.gates import Gates
    from pytest_mindtrial.plugin.options import Settings
    from pytest_mindtrial.plugin.publishing import Publication
    from pytest_mindtrial.results.gate_decision import SessionFacts

__all__ = ["Conclusion"]

_YAML = (".yaml", ".yml")


class Conclusion:
    """Decides and publishes; not registered on xdist's workers.

    Args:
        config: pytest's configuration.
        settings: The effective options.
    """

    def __init__(self, config: pytest.Config, settings: Settings) -> None:
        self._config = config
        self._settings = settings
        self._gates: Gates | None = None
        self._is_interrupted = False
        self._failures: dict[str, set[str | None]] = {}
        self._pinned: set[str] = set()
        self._publication: Publication | None = None

    # Before anything is spent

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        """Read gates and baseline of the command line; a mistake there is a usage error whatever is collected."""
        given = ("mt_min_pass_rate", "mt_gate", "mt_baseline", "mt_baseline_level")
        if any(self._config.getoption(key, None) for key in given) or self._is_distributed:
            self._read_gates()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self) -> None:
        """Read gates of the ini file, once it is known that they concern this session."""
        if active_evaluation(self._config) is not None:
            self._read_gates()

    @property
    def _is_distributed(self) -> bool:
        """True where workers may start attempts before this process knows of any task file."""
        names_suite = any(argument.partition("::")[0].endswith(_YAML) for argument in self._config.args)
        return bool(self._config.getoption("tx", None)) and (names_suite or bool(self._settings.files))

    def _read_gates(self) -> None:
        if self._gates is None and self._settings.has_gates:
            from pytest_mindtrial.plugin.gates import read_gates

            self._gates = read_gates(self._settings)

    # While it runs

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remember what the results alone do not say."""
        if report.failed:
            self._failures.setdefault(report.nodeid, set()).add(report.when)
        if report.user_properties and ("must_pass", True) in map(tuple, report.user_properties):
            self._pinned.add(report.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Remember collectors that failed; with --continue-on-collection-errors the session goes on."""
        if report.failed:
            self._failures.setdefault(report.nodeid or "(session)", set()).add("collect")

    def pytest_keyboard_interrupt(self) -> None:
        """Remember that the user stopped the session."""
        self._is_interrupted = True

    # The end

    # Registered before the recorder, so that this runs after it has ended the engine and written its reports, and
    # before junit, which writes what it has by then.
    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Decide, publish, and set the exit status."""
        evaluation: Evaluation | None = self._config.stash.get(EVALUATION, None)
        if evaluation is None or not (evaluation.results or evaluation.expected):
            return
        from pytest_mindtrial.plugin._compat import add_suite_property
        from pytest_mindtrial.plugin.publishing import publish

        decision, comparison = None, None
        if self._gates is not None:
            facts = self._facts(evaluation, session, int(exitstatus))
            decision, comparison = self._gates.decide(evaluation.results, self._pinned, facts)
            if decision.answer is not None and session.exitstatus == exitstatus:  # else a report was lost
                session.exitstatus = pytest.ExitCode(decision.exit_status)
            for name, value in decision.properties().items():
                add_suite_property(self._config, name, value)
        self._publication = publish(evaluation, decision, comparison)

    def _facts(self, evaluation: Evaluation, session: pytest.Session, exitstatus: int) -> SessionFacts:
        from pytest_mindtrial.core.values import Kind
        from pytest_mindtrial.results.gate_decision import SessionFacts

        kinds = {result.nodeid: result.kind for result in evaluation.results}
        own = (Kind.FAILED, Kind.ERROR)
        foreign = sum(
            not (kinds.get(nodeid) in own and phases <= {"setup", "call", "???"})
            for nodeid, phases in self._failures.items()
        )
        return SessionFacts(
            expected=evaluation.awaited,
            reported=len(kinds),
            exit_status=exitstatus,
            interrupted=bool(self._is_interrupted or session.shouldfail or session.shouldstop),
            foreign_failures=foreign,
        )

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Print the gates' arithmetic, and where things were written."""
        self._print(terminalreporter)

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self) -> None:
        """Print the same where ``--no-summary`` left the summary out: a gate never decides silently."""
        reporter = self._config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None:
            self._print(reporter)

    def _print(self, reporter: Any) -> None:
        publication, self._publication = self._publication, None
        if publication is not None:
            publication.print_to(reporter)
