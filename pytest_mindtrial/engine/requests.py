"""What surrounds every HTTP request: rate limits, retries, concurrency, and a record of every try.

Limits and retries act on requests, not on attempts: tool calls that were already made are never repeated, and a turn of
a long conversation counts as one request. A request that waits holds no concurrency slot. Does not talk HTTP and does
not decide whether an error is transient (providers do). Source: spec providers 8.3, spec mindtrial 6.4, 6.5, design D5.

Budget (``engine/budget.py``) and cache (``engine/cache.py``) are seams: without them nothing is asked and nothing is
remembered. A reply from the cache takes no token, no slot and no money.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Protocol

from pytest_mindtrial.core.clock import Clock
from pytest_mindtrial.core.errors import ProviderError
from pytest_mindtrial.core.record import RequestRecord
from pytest_mindtrial.core.values import Usage
from pytest_mindtrial.engine.adaptive import is_overload
from pytest_mindtrial.engine.limits import RequestLimit, Token
from pytest_mindtrial.engine.slots import current_slot
from pytest_mindtrial.providers.base import ReplyFacts
from pytest_mindtrial.suite.model import RetryPolicy, Run

__all__ = ["BUDGET_CAUSE", "Budget", "Policy", "PolicyHooks", "ReplyCache", "Spending", "current_repeat"]

current_repeat: ContextVar[int | None] = ContextVar("mindtrial_repeat", default=None)
"""Repeat index of the attempt whose task is running; part of the identity of its requests and of its judge's."""

BUDGET_CAUSE = "budget"
"""Cause word of the error of a request that was not sent for want of money."""

LONGEST_WAIT_S = 900.0
"""A service that asks for a longer wait has a daily limit: the error is reported at once. Also the longest back-off."""

FALLBACK_DELAY_S = 1.0
"""First delay of a retry policy that names none."""

_NEVER_SENT = frozenset(("connect", "dns", "tls", "timeout-connect"))

JITTER = 0.1
"""Waits are stretched by up to this share, so that requests that failed together do not return together."""


class Spending(Protocol):
    """What is set aside for one try (`engine.budget.Reservation`); the first call counts."""

    def settle(self, usage: Usage | None) -> None:
        """Say what the try took; None = it may have been billed, but nobody knows."""

    def release(self) -> None:
        """Say that nothing was spent."""


class Budget(Protocol):
    """Decides whether another request may be paid for (`engine.budget.SpendingLimit`)."""

    async def reserve(self, run: Run, weight: int) -> Spending:
        """Return when the request may be sent; called before every try.

        Args:
            run: Whose request it is.
            weight: Its size in characters.

        Raises:
            ProviderError: The budget is spent (permanent).
        """


class ReplyCache(Protocol):
    """Remembers replies by request (`engine.cache.ResponseCache`)."""

    @property
    def is_read_only(self) -> bool:
        """True when nothing may be sent, so that no key is needed."""

    async def get(self, key: Mapping[str, Any]) -> Any | None:
        """Return the reply of an equal request, or None.

        Raises:
            ProviderError: There is none, and nothing may be sent.
        """

    async def put(self, key: Mapping[str, Any], reply: Any) -> None:
        """Remember a good reply."""


@dataclass(frozen=True, slots=True)
class PolicyHooks:
    """Collaborators that every policy of an engine shares; None = absent."""

    budget: Budget | None = None
    cache: ReplyCache | None = None


class Policy:
    """Implements `providers.base.RequestPolicy` for the requests of one run or one judge variant.

    Args:
        clock: Time and sleeping.
        limits: Limits that every try must pass, the run's own before the shared one: a request that waits for its
            run's limit then keeps no token of the shared limit from other runs. All are stamped in the moment of
            sending, so the order cannot be seen from outside.
        retry: None = no retries.
        jitter: Source of random stretching; None = none.
        gate: Bounds the requests in flight where attempts do not (judges); None = unbounded.
        purpose: Overrides what the client says a request is for; a judge's client does not know that it is one.
        hooks: Budget and cache.
        run: Whose requests these are; a budget needs it.
    """

    def __init__(
        self,
        clock: Clock,
        *,
        limits: Sequence[RequestLimit] = (),
        retry: RetryPolicy | None = None,
        jitter: random.Random | None = None,
        gate: asyncio.Semaphore | None = None,
        purpose: str = "",
        hooks: PolicyHooks = PolicyHooks(),
        run: Run | None = None,
    ) -> None:
        self._clock = clock
        self._limits = tuple(limits)
        self._retry = retry or RetryPolicy()
        self._jitter = jitter
        self._gate = gate
        self._purpose = purpose
        self._hooks = hooks
        self._run = run

    async def execute(
        self,
        send: Callable[[], Awaitable[Any]],
        *,
        turn: int,
        purpose: str,
        cache_key: Mapping[str, Any] | None = None,
        read: Callable[[Any], ReplyFacts] | None = None,
        weigh: Callable[[], int] | None = None,
    ) -> tuple[Any, tuple[RequestRecord, ...]]:
        """Run ``send`` under the limits, again after transient errors; see `providers.base.RequestPolicy`."""
        purpose = self._purpose or purpose
        cache = self._hooks.cache if cache_key is not None else None
        key = {**(cache_key or {}), "repeat": current_repeat.get()} if cache is not None else {}
        if cache is not None and (known := await cache.get(key)) is not None:
            record = _record(known, turn, 1, purpose, cached=True)
            _read(read, known, (record,))
            return known, (record,)
        tries = _Tries(self._clock, turn, purpose)
        reply, spending, tokens = await self._answered(send, tries, weigh)
        records = tuple(tries.records)
        usage = None
        try:
            facts = _read(read, reply, records)
            usage = facts.usage
        finally:
            if spending is not None:
                spending.settle(usage)
        if usage is not None:
            for token in tokens:
                token.settle(usage)
        if cache is not None and _is_kept(facts, purpose):
            await cache.put(key, reply)
        return reply, records

    async def _answered(
        self, send: Callable[[], Awaitable[Any]], tries: _Tries, weigh: Callable[[], int] | None
    ) -> tuple[Any, Spending | None, Sequence[Token]]:
        """Try until there is a reply; what is set aside for it is still to be settled."""
        resent = 0
        while True:
            try:
                reply, spending, tokens = await self._sent(send, tries, weigh)
            except ProviderError as error:
                tries.failed(error)
                if is_overload(error):
                    self._tell_lane(is_overload=True)
                if error.may_resend and not resent:
                    resent = 1  # no retry of the policy's, but a request that takes a token like every other
                    continue
                await self._back_off(error, tries.count - resent)
                continue
            tries.answered(reply)
            self._tell_lane(is_overload=False)
            return reply, spending, tokens

    def _tell_lane(self, *, is_overload: bool) -> None:
        """Let an adaptive concurrency learn; a judge's requests say nothing about the candidate's service."""
        slot = current_slot.get()
        if slot is not None and self._purpose != "judge":
            slot.heard(is_overload=is_overload)

    async def _sent(
        self, send: Callable[[], Awaitable[Any]], tries: _Tries, weigh: Callable[[], int] | None
    ) -> tuple[Any, Spending | None, Sequence[Token]]:
        """Wait until one try may be sent, send it, and hold the gate until it is answered."""
        slot = current_slot.get()
        tokens = self._reserve_now(weigh)
        try:
            if tokens is None:
                if slot is not None:
                    slot.leave("limit")
                tokens = []
                for limit in self._limits:
                    tokens.append(await limit.reserve(weigh))
            if slot is not None:
                await slot.rejoin()
            if self._gate is None:
                return await self._sent_now(send, tries, weigh, tokens)
            async with self._gate:
                return await self._sent_now(send, tries, weigh, tokens)
        finally:
            _give_back(tokens or ())  # a stamped token stays spent

    async def _sent_now(
        self,
        send: Callable[[], Awaitable[Any]],
        tries: _Tries,
        weigh: Callable[[], int] | None,
        tokens: Sequence[Token],
    ) -> tuple[Any, Spending | None, Sequence[Token]]:
        """Set the money for one try aside and send it; what comes back is still to be settled."""
        spending = await self._set_aside(weigh) if self._hooks.budget is not None else None
        for token in tokens:
            token.stamp()
        tries.sent()
        try:
            return await send(), spending, tokens
        except BaseException as error:
            if spending is not None:
                _settle_failed(spending, error)
            raise

    async def _set_aside(self, weigh: Callable[[], int] | None) -> Spending | None:
        """Reserve the money for one try; last of all, so that no money is kept from others while this one waits."""
        budget = self._hooks.budget
        if budget is None or self._run is None:
            return None
        return await budget.reserve(self._run, weigh() if weigh is not None else 0)

    def _reserve_now(self, weigh: Callable[[], int] | None) -> list[Token] | None:
        """Return a token of every limit when none has to be waited for, else None."""
        tokens: list[Token] = []
        for limit in self._limits:
            token = limit.try_reserve(weigh)
            if token is None:
                _give_back(tokens)
                return None
            tokens.append(token)
        return tokens

    async def _back_off(self, error: ProviderError, failed_tries: int) -> None:
        """Wait before the next try, or raise the error when there is none."""
        if error.transient is not True or failed_tries > self._retry.max_retry_attempts:
            raise error
        hint = error.retry_after_s or 0.0
        if hint > LONGEST_WAIT_S:
            raise _explained(error, hint)
        if error.status == 429 and hint:
            for limit in self._limits:
                limit.pause(hint)
        delay = max(self._backoff_s(failed_tries), hint)
        if self._jitter is not None:
            delay *= 1 + self._jitter.uniform(0, JITTER)
        slot = current_slot.get()
        if slot is not None:
            slot.leave("backoff", _cause(error), self._clock.monotonic_ns() + round(delay * 1e9))
        await self._clock.sleep(delay)

    def _backoff_s(self, failed_tries: int) -> float:
        first = self._retry.initial_delay_seconds or FALLBACK_DELAY_S
        return float(min(first * 2 ** min(failed_tries - 1, 30), LONGEST_WAIT_S))


class _Tries:
    """Keeps the record of every try of one request."""

    def __init__(self, clock: Clock, turn: int, purpose: str) -> None:
        self._clock = clock
        self._turn = turn
        self._purpose = purpose
        self._waiting_since = clock.monotonic_ns()
        self._sent_at: int | None = None
        self.records: list[RequestRecord] = []

    @property
    def count(self) -> int:
        return len(self.records)

    def sent(self) -> None:
        self._sent_at = self._clock.monotonic_ns()

    def answered(self, reply: Any) -> None:
        self._add(**_reply_facts(reply))

    def failed(self, error: ProviderError) -> None:
        """Record a failed try; nothing to record when it was refused before it was sent."""
        if self._sent_at is not None:
            duration = self._clock.monotonic_ns() - self._sent_at
            self._add(duration_ns=duration, status=error.status, cause=_cause(error), request_id=error.request_id)
        error.requests = tuple(self.records)

    def _add(self, **facts: Any) -> None:
        sent_at = self._sent_at or 0
        waited = sent_at - self._waiting_since
        self.records.append(RequestRecord(self._turn, self.count + 1, self._purpose, waited_ns=waited, **facts))
        self._waiting_since = self._clock.monotonic_ns()
        self._sent_at = None


def _reply_facts(reply: Any) -> dict[str, Any]:
    return {
        "duration_ns": reply.duration_ns,
        "first_byte_ns": reply.first_byte_ns,
        "status": reply.status,
        "request_id": reply.request_id,
    }


def _record(reply: Any, turn: int, attempt: int, purpose: str, **facts: Any) -> RequestRecord:
    return RequestRecord(turn, attempt, purpose, **_reply_facts(reply), **facts)


def _read(read: Callable[[Any], ReplyFacts] | None, reply: Any, requests: tuple[RequestRecord, ...]) -> ReplyFacts:
    """Let the client read a reply; an error in it carries the tries that led to it."""
    if read is None:
        return ReplyFacts()
    try:
        return read(reply)
    except ProviderError as error:
        error.requests = requests
        error.request_id = error.request_id or reply.request_id
        raise


def _is_kept(facts: ReplyFacts, purpose: str) -> bool:
    """Tell whether a reply may be remembered: nothing is that an attempt would end in an error for."""
    try:
        misfits = facts.misfits()
    except ProviderError:
        return False
    return not (misfits and purpose == "judge")


def _settle_failed(spending: Spending, error: BaseException) -> None:
    """A try that broke off after it was sent may have been billed; one that was refused was not."""
    is_refused = isinstance(error, ProviderError) and (error.status is not None or error.cause in _NEVER_SENT)
    if is_refused:
        spending.release()
    else:
        spending.settle(None)


def _give_back(tokens: Sequence[Token]) -> None:
    for token in tokens:
        token.give_back()


def _cause(error: ProviderError) -> str:
    return error.cause or (f"http-{error.status}" if error.status else "error")


def _explained(error: ProviderError, hint_s: float) -> ProviderError:
    """Say in the error why it is not tried again."""
    error.message += (
        f" (not tried again: the service asks to wait {hint_s:.0f} s, more than the {LONGEST_WAIT_S:.0f} s that are"
        " waited for)"
    )
    error.args = (error.message,)
    return error
