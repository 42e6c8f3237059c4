from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_mindtrial.core.values import Kind
from pytest_mindtrial.plugin.evaluation import Evaluation
from tests.support.sample_results import attempt


def test_the_last_result_of_an_item_counts_once_however_late_it_comes(pytestconfig: pytest.Config) -> None:
    # Under xdist, results of other workers come between a try and its rerun.
    evaluation = Evaluation(pytestconfig)
    for number in range(6):
        evaluation.add(replace(attempt(f"t{number}", Kind.FAILED), nodeid=f"tasks.yaml::t{number}[m]"))
    evaluation.add(replace(attempt("t0"), nodeid="tasks.yaml::t0[m]"))
    assert [result.task for result in evaluation.results] == ["t0", "t1", "t2", "t3", "t4", "t5"]
    assert evaluation.counts() == {"Passed": 1, "Failed": 5}
