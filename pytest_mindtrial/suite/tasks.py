"""Reads a task file: models, defaults, merging, system prompts.

Keys and ranges are in ``suite/task_models.py``, merging in ``suite/merge.py``, rules between keys in
``suite/task_rules.py``. Does not open attached files. Source: spec mindtrial 2.
"""

from __future__ import annotations

import posixpath
from functools import partial
from pathlib import Path as FilePath
from typing import Any

from pytest_mindtrial.core.errors import TaskError
from pytest_mindtrial.core.gonumbers import go_json
from pytest_mindtrial.core.record import Metadata
from pytest_mindtrial.suite.decode import decode, describe
from pytest_mindtrial.suite.file_kinds import refuse_other_kind
from pytest_mindtrial.suite.json_schema import rfc3339_dates
from pytest_mindtrial.suite.merge import SystemPrompt, file_settings, merge_rules, merge_service_inputs, merge_tools
from pytest_mindtrial.suite.model import FileRef, Rules, Suite, Task
from pytest_mindtrial.suite.nodes import ROOT, Document, Node, Path, ScalarNode, SequenceNode, child
from pytest_mindtrial.suite.problems import Problems
from pytest_mindtrial.suite.task_models import FileModel, RulesModel, TaskConfigModel, TaskFileModel, TaskModel
from pytest_mindtrial.suite.task_rules import check_service_inputs, check_task
from pytest_mindtrial.suite.templates import parse_template, template_problem
from pytest_mindtrial.suite.uris import parse_uri
from pytest_mindtrial.suite.yaml_reader import paused_gc, read_yaml_file

__all__ = ["DEFAULT_SYSTEM_PROMPT", "load_suite", "parse_suite"]

DEFAULT_SYSTEM_PROMPT = "Provide the final answer in exactly this format: "
"""Sentence before the format of a plain-text task that has no own template."""

_CONFIG: Path = (ROOT, "task-config")
_TASKS: Path = (_CONFIG, "tasks")


def load_suite(path: FilePath) -> Suite:
    """Read and check a task file.

    Args:
        path: The file; messages show it as given. Relative file URIs are relative to its directory.

    Returns:
        All tasks in file order, disabled ones included.

    Raises:
        TaskError: All mistakes of the file (up to 20 shown), each with line, column and YAML path.
    """
    return parse_suite(read_yaml_file(path, TaskError, "tasks file"), path)


def parse_suite(document: Document, path: FilePath) -> Suite:
    """Check a task file that is already read; see `load_suite`."""
    refuse_other_kind(document, "task-config", TaskError)
    problems = Problems(document, TaskError)
    with paused_gc():
        model = decode(problems, document.root, TaskFileModel)
        defaults = model.task_config if model else None
        tasks = _read_tasks(problems, defaults, path.parent)
    problems.raise_if_any()
    return Suite(path, tuple(tasks))


def _read_tasks(problems: Problems, defaults: TaskConfigModel | None, base_dir: FilePath) -> list[Task]:
    """Read the tasks; without usable defaults only each task by itself is checked."""
    config = child(problems.document.root, "task-config")
    nodes = child(config, "tasks") if config is not None else None
    if nodes is None:
        return []
    if not isinstance(nodes, SequenceNode):
        problems.add(f"must be a list of tasks, found {describe(nodes)}", nodes, _TASKS)
        return []
    builder = _Builder(problems, defaults, base_dir) if defaults is not None else None
    tasks = []
    names: dict[str, Node] = {}
    for index, node in enumerate(nodes.items):
        place: Path = (_TASKS, index)
        _check_name(problems, node, place, names)
        model = decode(problems, node, TaskModel, place)
        if model is not None and builder is not None:
            tasks.append(builder.build(model, node, place))
    return tasks


def _check_name(problems: Problems, node: Node, path: Path, names: dict[str, Node]) -> None:
    """Refuse a name used before, whatever else is wrong with the task."""
    name = child(node, "name")
    if not isinstance(name, ScalarNode) or not name.value:
        return
    if name.value not in names:
        names[name.value] = node
    else:
        place = problems.document.position(names[name.value])
        problems.add(f"task name {name.value!r} is not unique, already used at {place}", name, (path, "name"))


class _Builder:
    """Merges tasks with the defaults of one file."""

    def __init__(self, problems: Problems, defaults: TaskConfigModel, base_dir: FilePath) -> None:
        self._problems = problems
        self._defaults = defaults
        self._base_dir = base_dir
        self._rules = merge_rules(defaults.validation_rules, Rules())
        self._system_prompt = SystemPrompt().merged(defaults.system_prompt)
        self._selector = defaults.tool_selector
        self._tools = merge_tools(None, self._selector)
        self._inputs = merge_service_inputs(None, self._selector)
        self._check_default_templates()
        self._formats: dict[str, Any] = {}
        self._printed: dict[int, str] = {}
        self._metadata: dict[tuple[Any, ...], Metadata] = {}
        check_service_inputs(self._inputs, partial(self._report_default, "tool-selector"))
        if defaults.file_options is not None and defaults.file_options.access == []:
            self._report_default("file-options", "access must not be empty", "access")

    def _check_default_templates(self) -> None:
        """Report bad default templates once, not for every task."""
        template = self._system_prompt.template
        problem = template_problem(template, "system prompt") if template else None
        if problem:
            self._report_default("system-prompt", problem, "template")
            self._system_prompt = SystemPrompt(None, self._system_prompt.enable_for)
        template = self._rules.judge.prompt.template
        problem = template_problem(template, "judge prompt") if template else None
        if problem:
            self._report_default("validation-rules", problem, "judge", "prompt", "template")

    def _report_default(self, section: str, message: str, *keys: str) -> None:
        path: Path = (_CONFIG, section)
        for key in keys:
            path = (path, key)
        self._problems.add_path(message, path)

    def build(self, model: TaskModel, node: Node, path: Path) -> Task:
        """Return the task; mistakes are noted."""
        report = partial(_report, self._problems, node, path)
        selector = model.tool_selector
        if selector is not None:
            check_service_inputs(selector.service_inputs, partial(_report_in, report, "tool-selector"))
        rules = merge_rules(model.validation_rules, self._rules)
        expected = model.expected_result
        task = Task(
            name=model.name,
            prompt=model.prompt,
            response_format=self._shared_format(model),
            expected=rfc3339_dates(expected) if rules.custom_validator else expected,
            rules=rules,
            system_prompt=self._render_system_prompt(model, report),
            files=tuple(self._file(file, index, node, path) for index, file in enumerate(model.files)),
            tools=self._tools if selector is None else merge_tools(selector, self._selector),
            service_inputs=self._inputs if selector is None else merge_service_inputs(selector, self._selector),
            max_turns=self._defaults.max_turns if model.max_turns is None else model.max_turns,
            metadata=self._shared_metadata(model),
            disabled=self._defaults.disabled if model.disabled is None else model.disabled,
            position=self._problems.document.position(node, path),
            must_pass=model.must_pass,
            repeat=model.repeat,
        )
        _check_judge_template(model.validation_rules, report)
        check_task(task, report)
        return task

    def _shared_format(self, model: TaskModel) -> Any:
        """Return the format; equal schemas become one object."""
        form = model.response_result_format
        return form if isinstance(form, str) else self._formats.setdefault(repr(form), form)

    def _printed_format(self, model: TaskModel) -> str:
        """Return the format as a system prompt shows it.

        Raises:
            TypeError: It is nothing JSON can hold.
            ValueError: The same.
        """
        form = self._shared_format(model)
        if isinstance(form, str):
            return form
        if id(form) not in self._printed:
            self._printed[id(form)] = go_json(form, indent=2, escape_html=True)
        return self._printed[id(form)]

    def _shared_metadata(self, model: TaskModel) -> Metadata:
        key = (model.suite, model.category, model.difficulty, tuple(model.tags))
        return self._metadata.setdefault(key, Metadata(*key))

    def _file(self, model: FileModel, index: int, node: Node, path: Path) -> FileRef:
        detail, access = file_settings(model, self._defaults.file_options)
        if model.options is not None and model.options.access == []:
            message = f"file {model.name!r} access must not be empty (allowed: native, local)"
            self._problems.add_at(message, node, path, "files", index, "options", "access")
        try:
            parse_uri(model.uri)
        except ValueError as error:
            self._problems.add_at(str(error), node, path, "files", index, "uri")
        if "local" in access and _leaves_directory(model.name):
            message = f"file name {model.name!r} leaves the tools' directory; use a relative name without .."
            self._problems.add_at(message, node, path, "files", index, "name")
        place: Path = ((path, "files"), index)
        files = child(node, "files")
        file_node = child(files, index) if files is not None else None
        return FileRef(
            name=model.name,
            uri=model.uri,
            base_dir=self._base_dir,
            type=model.type,
            image_detail=detail,
            access=access,
            position=self._problems.document.position(file_node or node, place),
        )

    def _render_system_prompt(self, model: TaskModel, report: Any) -> str | None:
        """Return the text to send, or None for nothing."""
        settings = self._system_prompt.merged(model.system_prompt)
        form = model.response_result_format
        is_text = isinstance(form, str)
        if settings.enable_for == "none" or (not is_text and settings.enable_for != "all"):
            text = None
        elif settings.template is None:
            text = DEFAULT_SYSTEM_PROMPT + form if is_text else None
        else:
            text = self._render(settings.template, model, report)
        return text if text is not None and text.strip() else None

    def _render(self, template: str, model: TaskModel, report: Any) -> str | None:
        from pytest_mindtrial.suite.gotemplate import TemplateError  # costly, and few files have a template

        try:
            shown = self._printed_format(model)
            return parse_template(template, "system prompt").render({"ResponseResultFormat": shown})
        except TemplateError as error:
            report(error.message, "system-prompt", "template")
        except (TypeError, ValueError):
            pass  # a format JSON cannot hold; reported as an unusable schema
        return None


def _check_judge_template(own: RulesModel | None, report: Any) -> None:
    prompt = own.judge.prompt if own is not None and own.judge is not None else None
    problem = template_problem(prompt.template, "judge prompt") if prompt is not None and prompt.template else None
    if problem:
        report(problem, "validation-rules", "judge", "prompt", "template")


def _leaves_directory(name: str) -> bool:
    return name.startswith("/") or "\0" in name or ".." in posixpath.normpath(name).split("/")[:1]


def _report(problems: Problems, node: Node, path: Path, message: str, *keys: str | int) -> None:
    problems.add_at(message, node, path, *keys)


def _report_in(report: Any, section: str, message: str, *keys: str) -> None:
    report(message, section, *keys)
