"""Content digests that decide whether a finished attempt may be used again (``--mt-resume``).

A definition is kept in parts that carry the words of the task file, so that a difference can be named. Position, labels
and display settings do not count: moving or tagging a task does not invalidate its results. What conftest hooks give
instead of a run's own client or a task's own validator is not covered. Source: design D7; field pain 12.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from pytest_mindtrial.core.ids import content_digest
from pytest_mindtrial.suite.files import check_local, local_path
from pytest_mindtrial.suite.model import (
    Config,
    FileRef,
    Judge,
    JudgePrompt,
    JudgeSelection,
    Provider,
    Rules,
    Run,
    Task,
)

__all__ = ["GRADING_PARTS", "RUN_PARTS", "Definition", "Definitions", "file_digest", "run_parts", "task_parts"]

GRADING_PARTS = frozenset(("expected-result", "validation-rules", "judge-prompt", "judge", "custom-validator"))
"""Parts that decide only how an answer is graded; a change in any other part makes it an answer to another question."""

RUN_PARTS = frozenset(("run", "model", "model-parameters", "text-only", "disable-structured-output", "endpoint"))
"""Parts that decide who answers, not what is asked."""

_DIGITS = 16

FileDigest = Callable[[FileRef], str]


def file_digest(file: FileRef) -> str:
    """Return what stands for a file's content without a download: local bytes, or the URL.

    A local file that cannot be read counts as absent; the attempt itself reports it.
    """
    path = local_path(file)
    if path is None:
        return f"url:{file.uri}"
    if check_local(file) is not None:
        return "absent"
    try:
        info = path.stat()
        return _bytes_digest(str(path), info.st_mtime_ns, info.st_size)
    except OSError:
        return "absent"


@lru_cache(maxsize=4096)
def _bytes_digest(path: str, modified_ns: int, size_bytes: int) -> str:
    """Return the digest of a file; read again only when its time or size changed."""
    return content_digest(Path(path).read_bytes())


class Definition(NamedTuple):
    """Everything that decides an attempt and its verdict, as digests.

    Attributes:
        digest: Of all parts together.
        parts: Part, in the words of the files → the first digits of its digest.
    """

    digest: str
    parts: Mapping[str, str]


class Definitions:
    """Makes definitions; what attempts have in common is digested once.

    Args:
        files: Gives the digest of an attached file's content.
    """

    def __init__(self, files: FileDigest = file_digest) -> None:
        self._files = files
        # Keyed by identity, because tasks hold mappings; the values keep the objects alive, so that ids stay unique.
        self._known: dict[tuple[int, ...], tuple[Any, Mapping[str, str]]] = {}

    def of(
        self,
        task: Task,
        run: Run,
        repeat: int | None = None,
        *,
        provider: Provider | None = None,
        config: Config | None = None,
        overridden: Iterable[str] = (),
    ) -> Definition:
        """Return the definition of one attempt.

        Args:
            task: The task.
            run: The run.
            repeat: 1-based repeat index; None without repeats.
            provider: The run's provider entry; its endpoint counts, not its key.
            config: Where the task's judge, tools and services are defined.
            overridden: Names of fixtures whose objects were used instead; what those do cannot be known.
        """
        parts = {
            **self._once((task,), lambda: task_parts(task, self._files)),
            **self._once((run,), lambda: run_parts(run)),
        }
        if config is not None and (task.rules.method in ("semantic", "custom") or task.tools):
            parts |= self._once((task, config), lambda: _configured_parts(task, config))
        if provider is not None and provider.client.endpoint:
            parts["endpoint"] = _short(provider.client.endpoint)
        if repeat is not None:
            parts["repeat"] = _short(repeat)
        if names := sorted(overridden):
            parts["fixtures"] = _short(names)
        return Definition(content_digest("definition-1", parts), parts)

    def _once(self, key: tuple[Any, ...], make: Callable[[], Mapping[str, str]]) -> Mapping[str, str]:
        ids = tuple(map(id, key))
        known = self._known.get(ids)
        if known is None:
            known = self._known[ids] = (key, make())
        return known[1]


def task_parts(task: Task, files: FileDigest = file_digest) -> dict[str, str]:
    """Return the parts that a task file decides; what is absent has no part."""
    values = {
        "name": task.name,
        "prompt": task.prompt,
        "response-result-format": task.response_format,
        "expected-result": task.expected,
        "system-prompt": task.system_prompt,
        "files": [[file.name, file.type, file.image_detail, file.access, files(file)] for file in task.files],
        "tool-selector": [asdict(tool) for tool in task.tools],
        "service-inputs": task.service_inputs,
        "max-turns": task.max_turns,
    }
    parts = {name: _short(value) for name, value in values.items() if value or name in ("prompt", "expected-result")}
    has_own_prompt = task.rules.judge.prompt != JudgePrompt()
    rules = _judge_prompt_rules(task.rules) if has_own_prompt else _plain_rules(task.rules)
    return {**parts, **rules}


@lru_cache(maxsize=1024)
def _plain_rules(rules: Rules) -> dict[str, str]:
    """Return the part of rules without a prompt of their own: texts and truth values; thousands of tasks share few."""
    return _rules_parts(rules)


def _judge_prompt_rules(rules: Rules) -> dict[str, str]:
    return _rules_parts(rules) | {"judge-prompt": _short(asdict(rules.judge.prompt))}


def _rules_parts(rules: Rules) -> dict[str, str]:
    facts = asdict(rules)
    judge = facts.pop("judge")
    del judge["prompt"]
    return {"validation-rules": _short([facts, judge])}


def run_parts(run: Run) -> dict[str, str]:
    """Return the parts that a run decides: model and parameters, not limits, retries or prices."""
    values = {
        "run": [run.provider, run.name],
        "model": run.model,
        "model-parameters": run.parameters,
        "text-only": run.text_only,
        "disable-structured-output": run.disable_structured_output,
    }
    return {name: _short(value) for name, value in values.items() if value}


def _configured_parts(task: Task, config: Config) -> dict[str, str]:
    """Return the parts that stand in the configuration: judge, custom validator, tools and the services they use."""
    parts: dict[str, str] = {}
    if task.rules.method == "semantic":
        parts["judge"] = _short(_judge_facts(task.rules.judge, config.judges))
    selected = {selection.name for selection in task.tools}
    tools = [tool for tool in config.tools if tool.name in selected]
    validators = [item for item in config.validators if item.name == task.rules.custom_validator]
    uses = [use for tool in tools for use in tool.dependencies]
    uses += [use for validator in validators for use in validator.dependencies]
    used = {use.service for use in uses}
    services = [service for service in config.services if service.name in used]
    for name, items in (("tools", tools), ("custom-validator", validators), ("services", services)):
        if items:
            parts[name] = _short([_without_position(item) for item in items])
    return parts


def _judge_facts(selection: JudgeSelection, judges: Iterable[Judge]) -> Any:
    """Return what the judge sends; nothing where it is not configured, which the attempt reports itself."""
    for judge in judges:
        if judge.name == selection.name:
            runs = [run for run in judge.provider.runs if not selection.variant or run.name == selection.variant]
            return [judge.provider.name, judge.provider.client.endpoint, [run_parts(run) for run in runs]]
    return None


def _without_position(value: Any) -> dict[str, Any]:
    facts = asdict(value)
    facts.pop("position", None)
    return facts


def _short(value: Any) -> str:
    return content_digest(value)[:_DIGITS]
