"""Whether rate limits hold as the service counts them, and how much of them is used.

The simulation runs the limiter on a fake clock for ten minutes with transport delays; the real run takes 90 seconds.
"""

from __future__ import annotations

import asyncio
import random

from benchmarks.experiments import Row, run_suite
from benchmarks.processes import Service
from benchmarks.server import WINDOW_S, full_windows, most_per_window
from pytest_mindtrial.core.clock import FakeClock
from pytest_mindtrial.engine.limits import Limiter

_LONGEST_DELAY_S = 0.8


async def arrivals(per_minute: int, minutes: int) -> list[float]:
    """Return when requests arrive at a service if as many are sent as the limiter lets through."""
    clock, delays = FakeClock(), random.Random(per_minute)
    limiter = Limiter(per_minute, clock)
    start, times = clock.monotonic_ns(), []
    while (now := clock.monotonic_ns() - start) < minutes * WINDOW_S * 1e9:
        token = limiter.try_reserve()
        if token is None:
            await clock.advance(0.005)
            continue
        token.stamp()
        times.append(now / 1e9 + delays.uniform(0, _LONGEST_DELAY_S))
    return sorted(times)


def simulated(times: int) -> list[Row]:
    """Ten minutes of work that never runs out, at several limits."""
    rows = []
    for limit in (20, 60, 600, 6000):  # below 20 a single request is more than 5 %
        seen = asyncio.run(arrivals(limit, 10))
        least = min(full_windows(seen, WINDOW_S))
        rows.append(Row(f"most arrivals in any 60 s ÷ limit {limit}", most_per_window(seen, WINDOW_S) / limit, "×", 1))
        rows.append(Row(f"fewest arrivals in a minute ÷ limit {limit}", least / limit, "×", 0.95, at_least=True))
    return rows


def real(times: int) -> list[Row]:
    """A whole pytest process for about 90 seconds under a limit of 1,200 requests per minute."""
    limit, items = 1200, 1800
    with Service(0.05) as service:
        ran = run_suite(items, 50, service, per_minute=limit)
    return [
        Row("most arrivals in any 60 s ÷ limit", ran.seen["most_per_window"] / limit, "×", 1),
        Row("arrivals in the first minute ÷ limit", ran.seen["per_window"][0] / limit, "×", 0.95, at_least=True),
    ]
