"""The plugin's entry point: every hook, each only delegating.

Importing this module must stay cheap: no third-party module but pytest, no engine, no YAML (design D12). Whatever a
session without task files does not need is imported inside the hook that needs it.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_mindtrial.plugin import (
    _own_imports,  # noqa: F401 - it must come first
    options,
)
from pytest_mindtrial.plugin.fixtures import (  # noqa: F401 - pytest finds fixtures in the plugin's namespace
    mindtrial,
    mt_evaluation,
    mt_provider,
    mt_result,
    mt_run,
    mt_services,
    mt_task,
    mt_tools,
    mt_validator,
)
from pytest_mindtrial.plugin.recorder import EVALUATION, Recorder, active_evaluation

_SUFFIXES = (".yaml", ".yml")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Register options and ini keys."""
    options.add_options(parser)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Register our own hook specifications."""
    from pytest_mindtrial.plugin import hookspecs

    pluginmanager.add_hookspecs(hookspecs)


def pytest_configure(config: pytest.Config) -> None:
    """Check the options; register our marker, the recorder, and the xdist side when xdist is there."""
    settings = options.read_settings(config)
    config.addinivalue_line("markers", "mindtrial: every item of a MindTrial task file")
    config.addinivalue_line("markers", "must_pass: under a gate, a session is red when this item of a task file fails")
    if options.has_conclusion(settings) and not hasattr(config, "workerinput"):
        from pytest_mindtrial.plugin.conclusion import Conclusion

        config.pluginmanager.register(Conclusion(config, settings), "mindtrial-conclusion")
    if settings.interactive:
        from pytest_mindtrial.plugin.interactive import Interactive, check_terminal

        check_terminal(config)
        config.pluginmanager.register(Interactive(config), "mindtrial-interactive")
    if config.getoption("htmlpath", None) or config.getoption("allure_report_dir", None):
        from pytest_mindtrial.plugin.companions import register_companions

        register_companions(config)
    config.pluginmanager.register(Recorder(config), "mindtrial-recorder")
    if "mindtrial" in getattr(config, "workerinput", ()):
        from pytest_mindtrial.plugin.xdist_worker import WorkerHooks

        config.pluginmanager.register(WorkerHooks(config), "mindtrial-xdist-worker")
    elif config.pluginmanager.has_plugin("xdist"):
        from pytest_mindtrial.plugin.xdist import XdistHooks

        config.pluginmanager.register(XdistHooks(config), "mindtrial-xdist")


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> Generator[None, Any, Any]:
    """Collect task files; explain a YAML file named on the command line that nobody collects."""
    others = yield
    if file_path.suffix not in _SUFFIXES:
        return others
    from pytest_mindtrial.plugin.collection import TaskFile, claims, may_claim

    if claims(file_path, parent) or (not others and may_claim(file_path, parent)):
        return [*others, TaskFile.from_parent(parent, path=file_path)]
    return others


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep this job's shard."""
    evaluation = active_evaluation(config)
    if evaluation is not None and evaluation.settings.shard is not None:
        from pytest_mindtrial.plugin.sharding import deselect_other_shards

        deselect_other_shards(config, items, evaluation.settings.shard)


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Turn a wrong configuration into a usage error, once collection is over."""
    result = yield
    evaluation = session.config.stash.get(EVALUATION, None)
    if evaluation is not None:
        evaluation.raise_usage_error()
    return result


def pytest_report_collectionfinish(config: pytest.Config, items: Sequence[pytest.Item]) -> list[str]:
    """Say what will run, where results go and with which seed."""
    evaluation = active_evaluation(config)
    if evaluation is None:
        return []
    from pytest_mindtrial.plugin.terminal import header_lines

    return header_lines(evaluation, items)


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Start the engine, which runs ahead of pytest's own loop; for a plan, run nothing."""
    evaluation = active_evaluation(session.config)
    if evaluation is None:
        return None
    from pytest_mindtrial.plugin.lifecycle import start

    is_done = start(evaluation, session)
    if evaluation.runner is not None:
        from pytest_mindtrial.plugin.short_protocol import shorten

        shorten(evaluation, session)
    return is_done


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Let further attempts start as pytest moves on; stop when results can no longer be kept."""
    evaluation = active_evaluation(item.config)
    if evaluation is None or evaluation.runner is None:
        return (yield)
    evaluation.runner.at(item)
    result = yield
    if evaluation.runner.problem:
        item.session.shouldstop = evaluation.runner.problem
    return result


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> pytest.TestReport | None:
    """Make the report of a phase that ended in one of our own outcomes."""
    if call.excinfo is None or active_evaluation(item.config) is None:
        return None
    from pytest_mindtrial.plugin.items import TaskItem
    from pytest_mindtrial.plugin.reporting import make_report

    return make_report(item, call) if isinstance(item, TaskItem) else None
