"""What a session spent itself: reused attempts and cached replies are free."""

from __future__ import annotations

from dataclasses import replace

from pytest_mindtrial.core.record import PreviousVerdict
from pytest_mindtrial.core.values import Kind
from pytest_mindtrial.results.spending import cached_worth, reused_worth, spending_notes, spent_now
from tests.support.sample_results import attempt


def paid(task, cost, judge=None, **fields):
    return replace(attempt(task), cost=cost, judge_cost=judge, currency="USD", **fields)


def test_what_was_made_now_counts_in_full():
    assert spent_now([paid("a", 1.0, 0.25), paid("b", 2.0)]).amount == 3.25
    assert spending_notes([paid("a", 1.0)]) == []


def test_what_was_used_again_is_worth_something_but_not_spent():
    results = [paid("a", 1.0, 0.25, reused_from="j.jsonl"), paid("b", 2.0)]
    assert spent_now(results).amount == 2.0
    assert reused_worth(results).amount == 1.25
    assert spending_notes(results) == [
        "reused: 1 of 2 results from j.jsonl (worth 1.2500 USD, not spent again)",
        "spent now: 2.0000 USD",
    ]


def test_cached_replies_are_taken_off():
    results = [paid("a", 1.0, cached=2, saved=0.75), paid("b", 2.0)]
    assert spent_now(results).amount == 2.25
    assert cached_worth(results).amount == 0.75
    assert (
        spending_notes(results)[0]
        == "cached: 2 replies came from the response cache (worth 0.7500 USD, not spent again)"
    )


def test_a_saving_that_cannot_be_told_makes_the_sum_unknown():
    results = [paid("a", 1.0, cached=1)]
    assert spent_now(results).is_unknown
    assert spending_notes(results) == ["cached: 1 reply came from the response cache (worth unknown)"]


def test_a_regraded_answer_costs_only_its_new_judge():
    before = PreviousVerdict(Kind.FAILED)
    results = [paid("a", 1.0, 0.25, reused_from="j", previous=before), paid("b", 1.0, reused_from="j", previous=before)]
    assert spent_now(results).amount == 0.25
    assert reused_worth(results).amount == 2.0
    assert spending_notes(results)[-1] == "regraded: 2 answers, 2 verdicts changed (2 Failed → Passed)"
    same = replace(results[0], previous=PreviousVerdict(Kind.PASSED))
    assert spending_notes([same])[-1] == "regraded: 1 answer, 0 verdicts changed"
