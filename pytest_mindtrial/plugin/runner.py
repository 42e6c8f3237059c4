"""Drives the engine for a session: look-ahead, waiting, journal, end.

pytest's own run loop is untouched. Attempts start ahead of it, bounded by unfinished attempts per provider; each item
waits for its own attempt (design D3, spec pytest 3). Does not decide outcomes and does not print.
"""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

from pytest_mindtrial.core.errors import ConfigError, InternalError, UserError
from pytest_mindtrial.core.record import Result
from pytest_mindtrial.core.secret import Redactor
from pytest_mindtrial.core.values import Kind
from pytest_mindtrial.engine.engine import Engine
from pytest_mindtrial.engine.plan import AttemptPlan, ToolExecutor
from pytest_mindtrial.plugin.assembly import attempt_settings, response_cache, spending_limit
from pytest_mindtrial.plugin.hook_calls import client_of_hook, validator_of_hook
from pytest_mindtrial.plugin.journaling import SessionJournal
from pytest_mindtrial.plugin.outputs import Outputs
from pytest_mindtrial.plugin.preflight import sandbox_problems
from pytest_mindtrial.plugin.waiting import Waiting

if TYPE_CHECKING:
    from pytest_mindtrial.engine.budget import SpendingLimit
    from pytest_mindtrial.engine.cache import ResponseCache
    from pytest_mindtrial.engine.tickets import LaneKey
    from pytest_mindtrial.plugin.evaluation import Evaluation
    from pytest_mindtrial.plugin.items import TaskItem
    from pytest_mindtrial.plugin.regrading import Regrading
    from pytest_mindtrial.results.evaluation import EvaluationInfo
    from pytest_mindtrial.suite.model import Provider, Run, Task
    from pytest_mindtrial.validators.base import Candidate, Validator, Verdict

__all__ = ["Runner"]

T = TypeVar("T")

_CLOSE_TIMEOUT_S = 1.5


class Runner:
    """The engine of one session.

    Args:
        evaluation: The session's state.
        items: Our items in pytest's final order; under xdist those of this worker's lanes.
        known: Results that need no attempt, by node id: what a crashed predecessor had finished.

    Attributes:
        watcher: Called with every finished attempt, in the engine's thread; must not block.
        redactor: Learns every key that is resolved.
        waiting: How pytest's thread waits; there is one as soon as there is an engine.

    Invariant: the look-ahead starts no more attempts than `Engine.room` allows; under
    ``-x``/``--maxfail`` none is started further than ``concurrency`` items ahead of the one being reported.
    """

    def __init__(
        self, evaluation: Evaluation, items: list[TaskItem], known: Mapping[str, Result] | None = None
    ) -> None:
        self._evaluation = evaluation
        self._concurrency = evaluation.settings.concurrency
        self._max_fail = int(evaluation.pytest_config.getoption("maxfail", 0) or 0)
        self._lock = threading.Lock()
        self._futures: dict[str, Future[Result]] = {}
        self._position = 0
        self._places = {item.nodeid: index for index, item in enumerate(items)}
        self._ahead: dict[LaneKey, deque[tuple[int, TaskItem]]] = {}
        self._running_ahead: dict[str, LaneKey] = {}
        self._is_closed = False
        self.inline_reasons: set[str] = set()
        self.watcher: Callable[[Result], None] | None = None
        self.outputs = Outputs(evaluation)
        self.redactor = Redactor()
        self._journal: SessionJournal | None = None
        self._engine: Engine | None = None
        self._items = items
        self._known = dict(known or {})
        self._budget: SpendingLimit | None = None
        self._cache: ResponseCache | None = None
        self._regrading: Regrading | None = None

    def prepare(self) -> None:
        """Make the engine and the journal and check what the items need; nothing runs yet.

        Raises:
            pytest.UsageError: A key is missing or the output directory cannot be written; nothing was sent.
        """
        evaluation = self._evaluation
        resume = evaluation.resume_of(self._items)
        if resume is not None:
            self._known = {**resume.reused(), **self._known}
        settings, redactor = evaluation.settings, self.redactor
        try:
            self._budget = spending_limit(evaluation, self._to_run())
            self._cache = response_cache(settings, redactor)
            self._engine = Engine(
                configs=evaluation.configs,
                providers=self._selected_providers(),
                concurrency=self._concurrency,
                on_result=self._finished,
                attempts=attempt_settings(evaluation, redactor, self._cache, self._budget),
                client_hook=partial(client_of_hook, evaluation.pytest_config.hook),
                validator_hook=partial(validator_of_hook, evaluation.pytest_config.hook),
            )
            self.waiting = Waiting(self._engine, evaluation.early_reports, lambda: self.exhausted)
            problems = sandbox_problems(self._engine, self._to_run())
            if problems:
                raise ConfigError("\n".join(problems))
            self._journal = SessionJournal(self.outputs.journal, evaluation.info(), redactor)
        except UserError as error:
            raise pytest.UsageError(str(error)) from None
        if settings.regrade is not None:
            from pytest_mindtrial.plugin.regrading import Regrading

            self._regrading = Regrading(evaluation, self._items, self._engine.attempts)
        if self._budget is not None:
            self._budget.on_exhausted = lambda reason: self.engine.cancel_pending()
            from pytest_mindtrial.plugin.budgeting import BudgetHooks

            evaluation.pytest_config.pluginmanager.register(BudgetHooks(evaluation, self._budget), "mindtrial-budget")
        if resume is not None and not resume.continues(self.outputs.journal):
            for result in self._known.values():
                self._journal.attempt(result)

    def _to_run(self) -> list[TaskItem]:
        """Return the items whose model may have to be asked."""
        if self._evaluation.settings.regrade is not None:
            return []
        return [item for item in self._items if item.nodeid not in self._known]

    def attempts_to_make(self) -> Counter[tuple[str, int]]:
        """Return how many attempts the items need, by provider entry."""
        return Counter((item.provider.name, item.provider.index) for item in self._to_run())

    def start(self) -> None:
        """Start the engine and the first attempts; call `prepare` first."""
        self.engine.start()
        for index, item in enumerate(self._items):
            if self._regrading is not None:
                if not self._max_fail and self._may_run_ahead(item):
                    self._futures[item.nodeid] = self._regrade(self.plan_of(item))
            elif item.nodeid not in self._known and self._may_run_ahead(item):
                lane = (item.provider.name, item.provider.index)
                self._ahead.setdefault(lane, deque()).append((index, item))
        self._top_up()

    def _selected_providers(self) -> list[tuple[Any, Any]]:
        pairs = {(id(item.provider), item.run.name): (item.provider, item.run) for item in self._to_run()}
        return list(pairs.values())

    def _may_run_ahead(self, item: TaskItem) -> bool:
        if item.may_be_left_out:
            return False
        foreign = item.foreign_fixtures()
        if foreign is None:
            return False
        if foreign:
            self.inline_reasons.update(foreign)
            return False
        return True

    # Submitting

    def at(self, item: pytest.Item) -> None:
        """Tell that pytest has reached an item, so that further attempts may start."""
        place = self._places.get(item.nodeid)
        if place is not None:
            self._position = place
        self._top_up()

    def _top_up(self) -> None:
        with self._lock:
            if self._is_closed or self.exhausted:
                return
            plans = [plan for lane in self._ahead for plan in self._next_plans(lane)]
            self._submit(plans)

    def _next_plans(self, lane: LaneKey) -> list[AttemptPlan]:
        queue = self._ahead[lane]
        plans: list[AttemptPlan] = []
        room = self.engine.room(queue[0][1].provider) if queue else 0
        while queue and len(plans) < room:
            index, item = queue[0]
            if self._max_fail and index > self._position + self.engine.limit(item.provider):
                break
            queue.popleft()
            if index < self._position or item.nodeid in self._futures:
                continue
            self._running_ahead[item.nodeid] = lane
            plans.append(self.plan_of(item))
        return plans

    def _submit(self, plans: list[AttemptPlan]) -> list[Future[Result]]:
        if not plans:
            return []
        futures = self.engine.submit_many(plans)
        for plan, future in zip(plans, futures, strict=True):
            self._futures[plan.nodeid] = future
        return futures

    def plan_of(self, item: TaskItem, **overrides: Any) -> AttemptPlan:
        """Return the plan of an item; overrides are values of overridden fixtures."""
        values = {"task": item.task, "run": item.run, **overrides}
        definition = self._evaluation.definition_of(item, **overrides)
        return AttemptPlan(
            provider=item.provider,
            evaluation_seed=self._evaluation.seed,
            repeat=item.repeat,
            nodeid=item.nodeid,
            definition=definition.digest,
            definition_parts=definition.parts,
            **values,
        )

    # Waiting

    def result_of(self, item: TaskItem) -> Result:
        """Return the item's attempt; starts one when none was started ahead (inline items, reruns)."""
        known = self._known.pop(item.nodeid, None)
        if known is not None:
            return known
        with self._lock:
            future = self._futures.pop(item.nodeid, None)
        if future is None:
            return self.run_now(self.plan_of(item))
        result: Result = self.waiting.result(future)
        self.waiting.give_way()
        return result

    def passed_ahead(self, item: TaskItem) -> Result | None:
        """Return an attempt that was started ahead, or made in an earlier session, if it has passed by now.

        None leaves everything as it was: `result_of` then waits, and returns or raises what there is to say.
        """
        result = self._known.get(item.nodeid)
        if result is None:
            future = self._futures.get(item.nodeid)
            if future is None or not future.done() or future.cancelled() or future.exception() is not None:
                return None
            result = future.result()
        return self.result_of(item) if result.kind is Kind.PASSED else None

    def run_now(self, plan: AttemptPlan) -> Result:
        """Make one attempt, or judge its stored answer, and wait for it."""
        future = self.engine.submit(plan) if self._regrading is None else self._regrade(plan)
        result: Result = self.waiting.result(future)
        return result

    def _regrade(self, plan: AttemptPlan) -> Future[Result]:
        assert self._regrading is not None
        work = self._regrading.work(plan)

        async def judge() -> Result:
            result = await work()
            if self._journal is not None:
                self._journal.attempt(result)
            return result

        return self.engine.run(judge)

    def is_run(self, item: TaskItem) -> bool:
        """Tell whether the budget lets an item run; waits until that is known."""
        if self._budget is None or item.nodeid in self._known:
            return True
        with self._lock:
            future = self._futures.get(item.nodeid)
        if future is None:
            return not self._budget.exhausted
        self.waiting.until_done(future)
        return not (future.cancelled() and self._budget.exhausted)

    @property
    def exhausted(self) -> str:
        """Why the budget lets nothing more run; blank while it does."""
        return self._budget.exhausted if self._budget is not None else ""

    @property
    def notes(self) -> list[str]:
        """What people should know at the end: the budget's state, trouble with the cache."""
        notes = list(self._cache.notes) if self._cache is not None else []
        return [*notes, f"budget: {self._budget.spent}"] if self._budget is not None else notes

    def ask(
        self, task: Task, provider: Provider, run: Run, validator: Validator, tools: ToolExecutor | None = None
    ) -> Result:
        """Make one attempt that belongs to no item and wait for it."""
        if self._regrading is not None:
            raise pytest.UsageError("mindtrial.ask: --mt-regrade makes no model calls")
        seed = self._evaluation.seed
        plan = AttemptPlan(task, run, provider, seed, validator=validator, tools=tools)
        return self.run_now(plan)

    def grade(self, task: Task, candidate: Candidate, provider: Provider, run: Run) -> Verdict:
        """Judge one answer in the engine's loop, by the rules of a task."""
        settings = self._evaluation.settings
        if settings.regrade and task.rules.method == "semantic" and not settings.regrade_judges:
            raise pytest.UsageError("mindtrial.grade: --mt-regrade asks judges only with --mt-regrade-judges")

        async def judge() -> Verdict:
            validator = self.engine.attempts.validator_of(task, run, provider)
            return await validator.validate(candidate)

        return self.in_loop(judge)

    def in_loop(self, make: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run a coroutine function in the engine's loop and wait for it; an interruption of the wait cancels it."""
        future = self.engine.run(make)
        try:
            value: T = self.waiting.result(future)
        except BaseException:
            future.cancel()
            raise
        return value

    # Finishing

    def _finished(self, result: Result) -> None:
        """Journal a finished attempt and start the next ones; runs in the engine's thread."""
        if self._journal is not None:
            self._journal.attempt(result)
        if self.watcher is not None:
            self.watcher(result)
        with self._lock:
            lane = self._running_ahead.pop(result.nodeid, None)
            if lane is not None and not self._is_closed and not self.exhausted:
                self._submit(self._next_plans(lane))

    def progress(self) -> tuple[int, int, bool]:
        """Return how many attempts of the look-ahead have ended, how many there are, and whether any is under way."""
        with self._lock:
            done = sum(future.done() for future in self._futures.values())
            total = len(self._futures) + sum(map(len, self._ahead.values()))
            return done, total, done < len(self._futures)

    def reported(self, result: Result) -> None:
        """Journal that an item was reported."""
        if self._journal is not None:
            self._journal.reported(result)

    def close(self, evaluation: EvaluationInfo) -> None:
        """Cancel what is in flight, join the engine's thread, end the journal; idempotent.

        Args:
            evaluation: The facts at the end: whether it is complete.
        """
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
        try:
            if self._engine is not None:
                self._engine.close(_CLOSE_TIMEOUT_S)
        finally:
            if self._journal is not None:
                self._journal.close(evaluation)

    @property
    def engine(self) -> Engine:
        """The engine; there is one from `start` on."""
        if self._engine is None:
            raise InternalError("the engine was not started")
        return self._engine

    @property
    def problem(self) -> str:
        """Why the session should stop: the journal can no longer be written; blank while all is well."""
        return self._journal.problem if self._journal is not None else ""

    @property
    def journal_path(self) -> Path | None:
        """Where the journal is."""
        return self.outputs.journal if self._journal is not None else None

    def is_clean(self, result: Result) -> bool:
        """Tell whether the journal has written this very result as it is and no key was learnt since."""
        return self._journal is not None and self._journal.is_clean(result)

    def redact(self, text: str) -> str:
        """Return a text without any key."""
        return self.redactor(text)
