"""Which stored results stand for attempts, and why not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_mindtrial.core.record import ErrorRecord, Result
from pytest_mindtrial.core.values import Kind
from pytest_mindtrial.results.reuse import StoredResults, Wanted, changed_parts

PARTS = {"prompt": "1", "model": "2"}
WANTED = Wanted("f.yaml::t[p-r]", "p", "r", "t", None, "d1", PARTS)


def stored(trace="a", kind=Kind.PASSED, definition="d1", nodeid=WANTED.nodeid, parts=PARTS, **fields):
    return Result(trace, kind, "t", "p", "r", nodeid=nodeid, definition=definition, definition_parts=parts, **fields)


def decide(*results, rerun="error", wanted=WANTED, current=()):
    return StoredResults(results, {wanted.nodeid, *current}).decide(wanted, rerun)


@pytest.mark.parametrize("kind", [Kind.PASSED, Kind.FAILED, Kind.SKIPPED])
def test_a_finished_attempt_is_used_again(kind):
    result = stored(kind=kind, finished_at="2026-01-02T03:04:05Z")
    decision = decide(result)
    assert decision.stored is result
    assert decision.reason == f"{kind.value.lower()} at 2026-01-02T03:04:05Z"


@pytest.mark.parametrize(
    "kind, rerun, is_reused",
    [
        (Kind.PASSED, "failed", True),
        (Kind.FAILED, "failed", False),
        (Kind.SKIPPED, "failed", True),
        (Kind.ERROR, "failed", False),
        (Kind.PASSED, "all", False),
        (Kind.FAILED, "error", True),
    ],
)
def test_the_users_wish_decides(kind, rerun, is_reused):
    assert (decide(stored(kind=kind), rerun=rerun).stored is not None) is is_reused


def test_errors_run_again_and_are_named():
    assert decide(stored(kind=Kind.ERROR, error=ErrorRecord("T", "m", cause="http-500"))).reason == (
        "ended in an error (http-500)"
    )
    assert decide(stored(kind=Kind.ERROR, error=ErrorRecord("T", "m"))).reason == "ended in an error (T)"
    assert decide(stored(kind=Kind.ERROR)).cause == "error"


def test_of_several_with_this_definition_the_last_one_counts():
    passed, error = stored("a"), stored("b", Kind.ERROR)
    assert decide(error, passed).stored is passed
    assert decide(passed, error).stored is None


def test_an_older_result_with_this_definition_is_found_behind_a_changed_one():
    old = stored("a")
    assert decide(old, stored("b", definition="d2")).stored is old


def test_a_change_is_named_by_its_parts():
    other = {"prompt": "9", "model": "2", "files": "3"}
    assert decide(stored(definition="d2", parts=other)).reason == "changed: prompt, files"
    assert decide(stored(definition="d2", parts={})).reason == "its definition has changed"
    assert decide(stored(definition="")).stored is None
    assert changed_parts({"a": "1"}, {"a": "1"}) == []


@pytest.mark.parametrize("change", [{"provider": "q"}, {"run": "s"}, {"task": "u"}, {"repeat": 2}])
def test_another_attempt_is_missing(change):
    assert decide(stored(), wanted=replace(WANTED, nodeid="x", **change)).cause == "missing"


def test_a_result_of_another_item_of_the_session_is_never_taken():
    twin = stored(nodeid="g.yaml::t[p-r]")
    assert decide(twin, current=["g.yaml::t[p-r]"]).cause == "missing"
    assert decide(twin).stored is twin
    own = stored("b")
    assert decide(own, stored("c", nodeid="elsewhere/f.yaml::t[p-r]")).stored is own
