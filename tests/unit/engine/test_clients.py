"""Clients of runs and judges: when they are built, what they share, how they end."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_mindtrial.core.clock import FakeClock
from pytest_mindtrial.core.errors import ConfigError
from pytest_mindtrial.core.secret import Redactor
from pytest_mindtrial.engine.clients import Clients, ClientSettings, find_variant
from pytest_mindtrial.providers.base import Prompt
from pytest_mindtrial.suite.model import ClientConfig, Config, Judge, JudgeSelection, Provider, Run

PROMPT = Prompt("t", "What?", "one word", expected=("yes",))


def provider(name="mock", index=0, *, api_key="", shared=0, runs=None, **client):
    made = tuple(runs or (Run("a", name, "m"), Run("b", name, "m")))
    return Provider(name, index, ClientConfig(api_key=api_key, **client), made, shared)


def clients(*providers, judges=(), environ=None, **settings):
    config = Config(Path("config.yaml"), providers, tuple(judges))
    values = {"clock": FakeClock(), "environ": environ or {}, **settings}
    return Clients([config], ClientSettings(**values))


def ask(client, count=1):
    """Ask ``count`` questions one after another; return when each was answered."""

    async def scenario():
        for _ in range(count):
            await client.start(PROMPT).next_turn()

    asyncio.run(scenario())


def test_a_client_is_built_once_per_run():
    entry = provider()
    made = clients(entry)
    first = made.client_of(entry, entry.runs[0])
    assert made.client_of(entry, entry.runs[0]) is first
    assert made.client_of(entry, entry.runs[1]) is not first
    assert first.is_mock


def test_two_entries_of_one_name_are_two_clients():
    one, two = provider(index=0), provider(index=1)
    made = clients(one, two)
    assert made.client_of(one, one.runs[0]) is not made.client_of(two, two.runs[0])


def test_keys_are_resolved_on_use_and_hidden():
    redactor = Redactor()
    entry, unused = provider("xai"), provider("google", 1)
    made = clients(entry, unused, environ={"XAI_API_KEY": "sk-very-secret"}, redactor=redactor)
    assert redactor("sk-very-secret") == "sk-very-secret"
    made.client_of(entry, entry.runs[0])
    assert "sk-very-secret" not in redactor("the key sk-very-secret leaked")
    with pytest.raises(ConfigError, match="GOOGLE_API_KEY"):
        made.client_of(unused, unused.runs[0])
    asyncio.run(made.close())


def test_missing_keys_are_found_before_anything_is_sent(fake_client):
    entry = provider("openai")
    with pytest.raises(ConfigError, match="OPENAI_API_KEY"):
        clients(entry).check_keys([(entry, entry.runs[0])])
    own = fake_client()
    made = clients(entry, client_hook=lambda provider, run: own)
    made.check_keys([(entry, entry.runs[0])])
    assert made.client_of(entry, entry.runs[0]) is own
    good = provider()
    clients(good).check_keys([(good, good.runs[0])])


def test_a_hook_supplies_clients_or_functions(fake_client):
    own = fake_client()
    entry = provider()
    made = clients(entry, client_hook=lambda provider, run: own if run.name == "a" else None)
    assert made.client_of(entry, entry.runs[0]) is own
    assert made.client_of(entry, entry.runs[1]).is_mock
    functions = clients(entry, client_hook=lambda provider, run: str.upper)
    assert not functions.client_of(entry, entry.runs[0]).is_mock


def test_runs_have_their_own_limit_and_share_the_providers():
    entry = provider(shared=2, runs=[Run("a", "mock", "m", max_requests_per_minute=1), Run("b", "mock", "m")])
    clock = FakeClock()
    made = clients(entry, clock=clock)
    first, second = (made.client_of(entry, run) for run in entry.runs)
    ask(first)
    assert clock.slept == []
    ask(second)
    ask(second)
    assert clock.monotonic_ns() >= 61e9  # two of the shared limit are spent, one by the other run


def test_runs_have_their_own_limit_of_tokens_and_share_the_providers():
    entry = provider(runs=[Run("a", "mock", "m", max_tokens_per_minute=3000), Run("b", "mock", "m")])
    entry = replace(entry, max_parallel_tokens_per_minute=4500)
    clock = FakeClock()
    made = clients(entry, clock=clock)
    first, second = (made.client_of(entry, run) for run in entry.runs)
    ask(first)
    ask(second)
    used = clock.monotonic_ns()
    for _ in range(20):
        ask(first)
    assert clock.monotonic_ns() - used > 0.5e9  # the first one's own limit
    before = clock.monotonic_ns()
    for _ in range(60):
        ask(second)
    assert clock.monotonic_ns() - before > 0.5e9  # the shared one


def test_a_judges_variant_has_a_limit_of_tokens():
    variant = Run("v1", "mock", "m", max_tokens_per_minute=10)
    candidate, judging = provider(), Judge("j", provider(runs=[variant]))
    clock = FakeClock()
    question = clients(candidate, judges=[judging], clock=clock).judge_of(candidate, JudgeSelection(True, "j", "v1"))

    async def twice():
        await question("Right?", {"type": "object"})
        await question("Right?", {"type": "object"})

    asyncio.run(twice())
    assert clock.monotonic_ns() > 0.5e9


def test_a_run_that_is_replaced_keeps_the_limit_of_its_name():
    entry = provider(runs=[Run("a", "mock", "m", max_requests_per_minute=1)])
    clock = FakeClock()
    made = clients(entry, clock=clock)
    other = replace(entry.runs[0], model="other")
    ask(made.client_of(entry, entry.runs[0]))
    ask(made.client_of(entry, other))
    assert made.client_of(entry, other) is not made.client_of(entry, entry.runs[0])
    assert clock.monotonic_ns() >= 61e9


JUDGE_RUNS = [Run("v1", "mock", "m", max_requests_per_minute=1), Run("v2", "mock", "m"),
              Run("off", "mock", "m", disabled=True)]  # fmt: skip


def test_judges_have_a_client_and_a_limit_per_variant():
    candidate, judging = provider(), Judge("j", provider(runs=JUDGE_RUNS))
    clock = FakeClock()
    made = clients(candidate, judges=[judging], clock=clock)
    first = made.judge_of(candidate, JudgeSelection(True, "j", "v1"))
    second = made.judge_of(candidate, JudgeSelection(True, "j", "v2"))
    assert made.judge_of(candidate, JudgeSelection(True, "j", "v1")) is first
    assert first is not second

    async def both():
        for question in (first, second, second, first):
            await question("Right?", {"type": "object"})

    asyncio.run(both())
    assert clock.monotonic_ns() >= 61e9
    assert clock.monotonic_ns() < 70e9


@pytest.mark.parametrize(
    "selection, message",
    [
        (JudgeSelection(True, "jj", "v1"), r"judge 'jj' is not configured \(known: judgement, j\); did you mean 'j'"),
        (JudgeSelection(True, "j", "v3"), r"judge 'j' has no variant 'v3' \(known: v1, v2\)"),
        (JudgeSelection(True, "j", "off"), r"no variant 'off'"),
        (JudgeSelection(True, "j", ""), r"no variant ''"),
    ],
)
def test_unknown_judges_are_named_with_what_there_is(selection, message):
    judges = [Judge("judgement", provider()), Judge("j", provider(runs=JUDGE_RUNS))]
    with pytest.raises(ConfigError, match=message):
        find_variant(judges, selection)


def test_a_blank_variant_means_the_only_one():
    judge = Judge("j", provider(runs=JUDGE_RUNS[1:]))
    assert find_variant([judge], JudgeSelection(True, "j", "")) == (judge, JUDGE_RUNS[1])


def test_configurations_are_found_by_their_entries():
    one, two, foreign = provider(), provider(), provider()
    configs = [Config(Path("1"), (one,), (Judge("j", provider()),)), Config(Path("2"), (two,))]
    made = Clients(configs, ClientSettings())
    assert made.config_of(one) is configs[0]
    assert made.config_of(two) is configs[1]
    assert made.config_of(foreign) is made.config_of(None) is configs[0]
    assert made.provider_of(two.runs[1]) is two
    assert made.provider_of(Run("x", "mock", "m")) is None
    with pytest.raises(ConfigError, match=r"known: none"):
        made.judge_of(two, JudgeSelection(True, "j", "a"))
    assert Clients([], ClientSettings()).config_of(one) is None
    with pytest.raises(ConfigError, match=r"known: none"):
        Clients([], ClientSettings()).judge_of(one, JudgeSelection(True, "j", "a"))


def test_closing_goes_on_when_a_client_cannot_close(fake_client):
    class Broken(fake_client):
        async def close(self):
            raise OSError("stuck")

    good = fake_client()
    entry = provider()
    made = clients(entry, client_hook=lambda provider, run: Broken() if run.name == "a" else good)
    for run in entry.runs:
        made.client_of(entry, run)
    asyncio.run(made.close())
    assert good.closed == 1
    asyncio.run(made.close())
    assert good.closed == 1
