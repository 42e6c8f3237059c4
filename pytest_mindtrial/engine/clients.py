"""Model clients of runs and judges: built on first use, in the loop's thread, and kept.

Keys are resolved only for what is used; all clients share one `Http`, whose connections belong to the loop. Does not
run attempts. Source: design D5 and D9, spec mindtrial 1.6 and 5.3, spec field 2 (pains 15 and 17).
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pytest_mindtrial.core.clock import Clock, SystemClock
from pytest_mindtrial.core.errors import ConfigError
from pytest_mindtrial.core.secret import Redactor, Secret
from pytest_mindtrial.engine.limits import Limiters, RequestLimit
from pytest_mindtrial.engine.requests import Policy, PolicyHooks
from pytest_mindtrial.providers.base import ModelClient
from pytest_mindtrial.providers.registry import build_client
from pytest_mindtrial.suite.keys import ResolvedKey, resolve_key_source
from pytest_mindtrial.suite.model import Config, Judge, JudgeSelection, Provider, Run
from pytest_mindtrial.suite.suggest import allowed_list, near_match

if TYPE_CHECKING:
    from pytest_mindtrial.engine.judges import VariantAsk
    from pytest_mindtrial.providers.http import Http

__all__ = ["ClientSettings", "Clients"]

_NO_KEY = ResolvedKey(Secret("not needed"), "file")

ClientHook = Callable[[Provider, Run], Any]


@dataclass(frozen=True, slots=True)
class ClientSettings:
    """What all clients of an engine have in common.

    Attributes:
        concurrency: Gives the most requests in flight of a judge's provider; candidates are bounded by their slots.
        environ: Where keys are looked up.
        jitter: Stretches waits before retries; None = never.
        hooks: Budget and cache.
        client_hook: Supplies the client of a run instead of its provider; returns None where it does not.
        redactor: Learns every key that is resolved.
    """

    concurrency: Callable[[Provider], int] = lambda provider: 10
    clock: Clock = field(default_factory=SystemClock)
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    jitter: random.Random | None = None
    hooks: PolicyHooks = field(default_factory=PolicyHooks)
    client_hook: ClientHook = lambda provider, run: None
    redactor: Redactor = field(default_factory=Redactor)


class Clients:
    """The clients of one engine.

    Args:
        configs: Checked configurations; judges are looked up in the one that holds the candidate's provider entry.
        settings: Common settings.
    """

    def __init__(self, configs: Iterable[Config], settings: ClientSettings) -> None:
        self._configs = tuple(configs)
        self._settings = settings
        self._home = {id(provider): config for config in self._configs for provider in config.providers}
        self._limiters = Limiters(settings.clock)
        self._gates: dict[int, asyncio.Semaphore] = {}
        # Keyed by identity, because runs hold mappings; the values keep the objects alive, so that ids stay unique.
        self._clients: dict[tuple[int, int], tuple[Provider, Run, ModelClient]] = {}
        self._asks: dict[tuple[int, int], tuple[Judge, Run, VariantAsk]] = {}
        self._http: Http | None = None

    def config_of(self, provider: Provider | None) -> Config | None:
        """Return the configuration that holds a provider entry; the first one where the entry is not in any."""
        found = self._home.get(id(provider))
        return found or (self._configs[0] if self._configs else None)

    def provider_of(self, run: Run) -> Provider | None:
        """Return the provider entry that holds a run, or None."""
        entries = (provider for config in self._configs for provider in config.providers)
        return next((provider for provider in entries if any(own is run for own in provider.runs)), None)

    def client_of(self, provider: Provider, run: Run) -> ModelClient:
        """Return the client of a run.

        Raises:
            ConfigError: No key, or a setting the client cannot work with.
        """
        key = (id(provider), id(run))
        known = self._clients.get(key)
        if known is None:
            known = self._clients[key] = (provider, run, self._new_client(provider, run))
        return known[2]

    def check_keys(self, pairs: Iterable[tuple[Provider, Run]]) -> None:
        """Make sure that every selected run can be asked, before anything is sent.

        Raises:
            ConfigError: A key is missing and no hook supplies the model.
        """
        for provider, run in pairs:
            try:
                self._key(provider)
            except ConfigError:
                given = self._settings.client_hook(provider, run)
                if given is None:
                    raise
                self._clients[id(provider), id(run)] = (provider, run, _as_client(given))

    def judge_of(self, provider: Provider | None, selection: JudgeSelection) -> VariantAsk:
        """Return the judge variant that a task of a candidate's configuration selects.

        Raises:
            ConfigError: There is no such judge or variant, or no key for it.
        """
        config = self.config_of(provider)
        judge, run = find_variant(config.judges if config else (), selection)
        key = (id(judge), id(run))
        known = self._asks.get(key)
        if known is None:
            from pytest_mindtrial.engine.judges import VariantAsk  # few suites have judges

            ask = VariantAsk(judge.name, run, self._new_judge_client(judge, run))
            known = self._asks[key] = (judge, run, ask)
        return known[2]

    async def close(self) -> None:
        """Close every client and every connection."""
        clients = [client for _, _, client in self._clients.values()]
        self._clients.clear()
        self._asks.clear()
        for client in clients:
            with contextlib.suppress(Exception):  # a client that cannot close must not keep the others open
                await client.close()
        if self._http is not None:
            await self._http.close()

    def _new_client(self, provider: Provider, run: Run) -> ModelClient:
        given = self._settings.client_hook(provider, run)
        if given is not None:
            return _as_client(given)
        limits = [
            *self._limits(("run", id(provider), run.name), run, run.max_requests_per_minute, run.max_tokens_per_minute),
            *self._limits(
                ("provider", id(provider)),
                run,
                provider.max_parallel_requests_per_minute,
                provider.max_parallel_tokens_per_minute,
            ),
        ]
        return self._build(provider, run, self._policy(run, limits))

    def _new_judge_client(self, judge: Judge, run: Run) -> ModelClient:
        key = ("judge", id(judge), run.name)
        limits = self._limits(key, run, run.max_requests_per_minute, run.max_tokens_per_minute)
        gate = self._gates.setdefault(id(judge), asyncio.Semaphore(self._settings.concurrency(judge.provider)))
        policy = self._policy(run, limits, gate=gate, purpose="judge")
        return self._build(judge.provider, run, policy)

    def _limits(self, key: tuple[Hashable, ...], run: Run, requests: int, tokens: int) -> list[RequestLimit]:
        """Return what limits the requests of a run: per minute of requests and of tokens; 0 = not at all."""
        limits: list[RequestLimit] = []
        if (limiter := self._limiters.get(key, requests)) is not None:
            limits.append(limiter)
        if (limiter := self._limiters.get((*key, "tokens"), tokens)) is not None:
            from pytest_mindtrial.engine.estimate import TokenEstimate, max_output_tokens  # few runs have such limits
            from pytest_mindtrial.engine.token_limits import TokenLimit

            limits.append(TokenLimit(limiter, TokenEstimate(max_output_tokens(run.parameters))))
        return limits

    def _policy(
        self, run: Run, limits: list[RequestLimit], *, gate: asyncio.Semaphore | None = None, purpose: str = ""
    ) -> Policy:
        settings = self._settings
        return Policy(
            settings.clock,
            limits=limits,
            retry=run.retry_policy,
            jitter=settings.jitter,
            gate=gate,
            purpose=purpose,
            hooks=settings.hooks,
            run=run,
        )

    def _build(self, provider: Provider, run: Run, policy: Policy) -> ModelClient:
        key = self._key(provider)
        return build_client(
            provider,
            run,
            key=key.secret,
            key_from_env=key.source == "fallback",
            policy=policy,
            http=self._connections(),
        )

    def _key(self, provider: Provider) -> ResolvedKey:
        cache = self._settings.hooks.cache
        try:
            key = resolve_key_source(provider, self._settings.environ)
        except ConfigError:
            if cache is None or not cache.is_read_only:
                raise
            return _NO_KEY  # nothing is sent
        if key.secret is not None:
            self._settings.redactor.add(key.secret)
        return key

    def _connections(self) -> Http:
        if self._http is None:
            from pytest_mindtrial.providers.http import Http  # only when a real service is asked

            self._http = Http()
        return self._http


def _as_client(given: object) -> ModelClient:
    from pytest_mindtrial.engine.callables import as_model_client  # only for models that a hook gives

    return as_model_client(given)


def find_variant(judges: Iterable[Judge], selection: JudgeSelection) -> tuple[Judge, Run]:
    """Return the judge and the run that a selection names; a blank variant means the only one.

    Raises:
        ConfigError: There is none of that name.
    """
    known = {judge.name: judge for judge in judges}
    judge = known.get(selection.name)
    if judge is None:
        hint = near_match(selection.name, known)
        raise ConfigError(f"judge {selection.name!r} is not configured (known: {allowed_list(known)}){hint}")
    variants = {run.name: run for run in judge.provider.runs if not run.disabled}
    if not selection.variant and len(variants) == 1:
        return judge, next(iter(variants.values()))
    run = variants.get(selection.variant)
    if run is None:
        hint = near_match(selection.variant, variants)
        raise ConfigError(
            f"judge {selection.name!r} has no variant {selection.variant!r} (known: {allowed_list(variants)}){hint}"
        )
    return judge, run
