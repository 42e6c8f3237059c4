"""``--mt-regrade``: the items of a session are answered by an earlier journal and judged by today's rules.

No model is called but judges, and those only with ``--mt-regrade-judges``. What cannot be judged so is skipped with the
reason. Does not judge (``engine/regrade.py``). Source: design D7; field pain 38.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pytest_mindtrial.core.ids import TraceIds
from pytest_mindtrial.core.record import ErrorRecord, PreviousVerdict, Result
from pytest_mindtrial.core.values import Kind
from pytest_mindtrial.plugin.resume import stored_results, taken_over, wanted_of
from pytest_mindtrial.results.reuse import Wanted, changed_parts
from pytest_mindtrial.suite.digest import GRADING_PARTS, RUN_PARTS

if TYPE_CHECKING:
    from pytest_mindtrial.engine.attempts import Attempts
    from pytest_mindtrial.engine.plan import AttemptPlan
    from pytest_mindtrial.plugin.evaluation import Evaluation
    from pytest_mindtrial.plugin.items import TaskItem

__all__ = ["Regrading"]

_TITLE = "Not Regraded"


class Regrading:
    """The stored answers of one session's items.

    Args:
        evaluation: The session's state.
        items: Our items.
        attempts: Judges.

    Raises:
        pytest.UsageError: The journal cannot be read.
    """

    def __init__(self, evaluation: Evaluation, items: list[TaskItem], attempts: Attempts) -> None:
        assert evaluation.settings.regrade is not None
        self._evaluation = evaluation
        self._journal = evaluation.settings.regrade
        self._may_ask = evaluation.settings.regrade_judges
        self._attempts = attempts
        self._stored = stored_results(self._journal, items)
        self._items = {item.nodeid: item for item in items}
        self._trace_ids = TraceIds()

    def work(self, plan: AttemptPlan) -> Callable[[], Coroutine[Any, Any, Result]]:
        """Return what judges the stored answer of an item in the engine's loop."""
        item = self._items[plan.nodeid]
        wanted = wanted_of(self._evaluation, item)
        stored = self._last_answer(wanted)

        async def judge() -> Result:
            if stored is None:
                return self._skipped(plan, item, None, "there is no result of it in the journal")
            taken = taken_over(self._evaluation, item, stored, self._journal)
            if stored.answer is None:
                return taken  # an Error or Skipped stays what it was: there is nothing to judge
            changed = changed_parts(stored.definition_parts, wanted.parts) if stored.definition_parts else []
            reason = self._obstacle(plan, changed)
            if reason:
                return self._skipped(plan, item, stored, reason)
            # The answer of another model configuration must never pass for one of today's.
            is_todays = not RUN_PARTS & set(changed)
            definition = plan.definition if is_todays else ""
            parts = plan.definition_parts if is_todays else {}
            return await self._attempts.regrade(plan, replace(taken, definition=definition, definition_parts=parts))

        return judge

    def _last_answer(self, wanted: Wanted) -> Result | None:
        stored = self._stored.of(wanted)
        answered = [result for result in stored if result.answer is not None] or stored
        return answered[-1] if answered else None

    def _obstacle(self, plan: AttemptPlan, changed: list[str]) -> str:
        """Return why a stored answer cannot be judged; blank when it can."""
        asked = [name for name in changed if name not in GRADING_PARTS and name not in RUN_PARTS]
        if asked:
            return f"the question has changed since: {', '.join(asked)}"
        method = plan.task.rules.method if plan.validator is None else ""
        if method == "custom":
            return "its custom validator needs the containers of the attempt"
        if method == "semantic" and not self._may_ask:
            return "its judge is a model; --mt-regrade-judges lets it be asked"
        return ""

    def _skipped(self, plan: AttemptPlan, item: TaskItem, stored: Result | None, reason: str) -> Result:
        """Return a result of its own, so that the stored one stays what it is in every journal."""
        return Result(
            trace_id=self._trace_ids(),
            kind=Kind.SKIPPED,
            task=item.task.name,
            provider=item.provider.name,
            run=item.run.name,
            got=reason,
            nodeid=item.nodeid,
            evaluation_seed=plan.evaluation_seed,
            metadata=item.task.metadata,
            error=ErrorRecord(_TITLE, reason, transient=False),
            repeat=item.repeat,
            source=str(item.task.position).partition(" ")[0] if item.task.position else "",
            previous=PreviousVerdict(stored.kind, stored.validation) if stored is not None else None,
        )
