"""The controller's side of pytest-xdist: shared seed and start, expected items, crashed workers.

Registered only when xdist is installed, because unknown hook names fail a session. Source: spec pytest 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from pytest_mindtrial.core.errors import UserError

__all__ = ["XdistHooks"]


class XdistHooks:
    """Hooks that xdist calls on the controller."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        """Read the configurations before workers start: a mistake is a usage error here, a crash there."""
        if not self._config.getoption("numprocesses", None) and not self._config.getoption("tx", None):
            return
        from pytest_mindtrial.plugin.evaluation import evaluation_of

        evaluation = evaluation_of(self._config)
        for argument in self._config.args:
            path = self._config.invocation_params.dir / argument.partition("::")[0]
            if path.suffix in (".yaml", ".yml") and path.is_file():
                try:
                    evaluation.config_for(path)
                except UserError as error:
                    raise pytest.UsageError(str(error)) from None

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Give every worker the same seed and start time."""
        from pytest_mindtrial.plugin.evaluation import evaluation_of

        node.workerinput["mindtrial"] = evaluation_of(self._config).as_workerinput()

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: Any, ids: Sequence[str]) -> None:
        """Learn how many of our items there are; every worker collects the same."""
        from pytest_mindtrial.plugin.evaluation import evaluation_of

        count = sum(1 for nodeid in ids if nodeid.partition("::")[0].endswith((".yaml", ".yml")))
        evaluation_of(self._config).expected = count
