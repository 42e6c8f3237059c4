"""Reports make room for bursts of replies, and only for them."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from pytest_mindtrial.plugin.giving_way import give_way


@pytest.mark.parametrize("age_s, gives_way", [(0.0, True), (60.0, False)])
def test_a_report_gives_way_to_a_burst_of_replies_and_only_then(monkeypatch, age_s, gives_way):
    now = [1000.0]
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        now[0] += seconds

    monkeypatch.setattr(
        "pytest_mindtrial.plugin.giving_way.time", SimpleNamespace(monotonic=lambda: now[0], sleep=sleep)
    )
    give_way(SimpleNamespace(busy_at=now[0] - age_s))
    assert bool(slept) is gives_way
    assert sum(slept) < 0.01


def test_giving_way_ends_while_replies_never_cease(monkeypatch):
    now = [0.0]

    def sleep(seconds: float) -> None:
        now[0] += seconds

    class Busy:
        @property
        def busy_at(self) -> float:
            return now[0]

    monkeypatch.setattr(
        "pytest_mindtrial.plugin.giving_way.time", SimpleNamespace(monotonic=lambda: now[0], sleep=sleep)
    )
    give_way(Busy())
    assert 0.04 < now[0] < 0.06
