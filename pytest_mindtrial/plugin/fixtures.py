"""Fixtures: the public way to look into an attempt or to replace a part of it.

Override any ``mt_*`` fixture in a conftest. Items whose fixtures are overridden run one after another with the
overriding object (design D3). An override may not have ``params``: the items of a task file come from the file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import pytest

if TYPE_CHECKING:
    from pytest_mindtrial.core.record import Result
    from pytest_mindtrial.plugin.api import MindTrial
    from pytest_mindtrial.results.evaluation import EvaluationInfo
    from pytest_mindtrial.suite.model import Run, Task


@pytest.fixture(scope="session")
def mt_evaluation(pytestconfig: pytest.Config) -> EvaluationInfo:
    """Facts of the evaluation: seed, start, suites, configuration, concurrency."""
    from pytest_mindtrial.plugin.evaluation import evaluation_of

    return evaluation_of(pytestconfig).info()


@pytest.fixture
def mt_task(request: pytest.FixtureRequest) -> Task:
    """Return the task of this item, defaults merged (`suite.model.Task`)."""
    return _item(request, "mt_task").task  # type: ignore[no-any-return]


@pytest.fixture
def mt_run(request: pytest.FixtureRequest) -> Run:
    """Return the run of this item (`suite.model.Run`)."""
    return _item(request, "mt_run").run  # type: ignore[no-any-return]


@pytest.fixture
def mt_provider(request: pytest.FixtureRequest) -> Any:
    """Return the model that answers: a `providers.base.ModelClient`.

    An override may return another client, or a callable that takes the prompt's text and returns the answer's text.
    """
    return _default(request, "mt_provider")


@pytest.fixture
def mt_validator(request: pytest.FixtureRequest) -> Any:
    """Return the validator that judges: a `validators.base.Validator`.

    An override may return another validator, or a callable that takes the answer and returns a truth value or a pair
    of truth value and reason.
    """
    return _default(request, "mt_validator")


@pytest.fixture
def mt_tools(request: pytest.FixtureRequest) -> Any:
    """Return the tools that the task selects: a mapping from names to `plugin.tool_handles.TaskTool`.

    An override may return a mapping from names to functions, which then are the tools of the attempt. A function takes
    the arguments of the call by name and returns the text for the model; it runs in this process, without isolation. A
    `TaskTool` in the mapping stays the container that it is. Names that config.yaml defines keep their description,
    parameters and limits; other functions are described by docstring and signature. An override may also return an
    object with ``call``, ``usage``, ``calls``, ``exhausted`` and ``close`` (`engine.plan.ToolExecutor`).
    """
    return _default(request, "mt_tools")


@pytest.fixture
def mt_services(request: pytest.FixtureRequest) -> Any:
    """Return the services that the task needs: a mapping from names to `sandbox.endpoints.ServiceEndpoint`.

    The addresses are those that the attempt's tools and validator see; this process cannot reach them. An override may
    return a mapping from service names to names of running containers, which then stand in for those services: they
    join the attempt's network, keep their state, and are never stopped. Their inputs have no effect.
    """
    return _default(request, "mt_services")


@pytest.fixture
def mt_result(
    request: pytest.FixtureRequest,
    mt_evaluation: EvaluationInfo,
    mt_task: Task,
    mt_run: Run,
    mt_provider: Any,
    mt_validator: Any,
    mt_tools: Any,
    mt_services: Any,
) -> Result:
    """Return the finished attempt with its verdict (`core.record.Result`); waits for it."""
    item = _item(request, "mt_result")
    return item.evaluation.overridden_result(  # type: ignore[no-any-return]
        item,
        task=mt_task,
        run=mt_run,
        client=mt_provider,
        validator=mt_validator,
        tools=mt_tools,
        services=mt_services,
    )


@pytest.fixture(scope="session")
def mindtrial(pytestconfig: pytest.Config) -> MindTrial:
    """Ask models and grade answers from hand-written tests.

    ``mindtrial.ask("2+2?", run="openai-mini").text`` and
    ``mindtrial.grade("4", expected="4").passed`` use the configuration of ``--mt-config`` (or ``mt_config``).
    ``with mindtrial.attempt(tools=["python"]) as attempt:`` starts tools and services for the time of the block.
    """
    from pytest_mindtrial.plugin.api import MindTrial
    from pytest_mindtrial.plugin.evaluation import evaluation_of

    return MindTrial(evaluation_of(pytestconfig))


def _item(request: pytest.FixtureRequest, name: str) -> Any:
    from pytest_mindtrial.plugin.items import TaskItem

    if not isinstance(request.node, TaskItem):
        _refuse(name)
    return request.node


def _default(request: pytest.FixtureRequest, name: str) -> Any:
    item = _item(request, name)
    return item.evaluation.fixture_values(item)[name]


def _refuse(name: str) -> NoReturn:
    pytest.fail(
        f"{name} belongs to items of a MindTrial task file; in a Python test use the mindtrial fixture", pytrace=False
    )
