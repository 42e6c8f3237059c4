"""Fixtures of the wire tests: a scripted server, no proxies, prompts, and clients that talk to the server."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from pytest_mindtrial.core.clock import FakeClock
from pytest_mindtrial.core.secret import Secret
from pytest_mindtrial.engine.requests import Policy
from pytest_mindtrial.providers.base import Attachment, ModelClient, Prompt, ToolDefinition
from pytest_mindtrial.providers.http import Http
from pytest_mindtrial.providers.registry import build_client
from pytest_mindtrial.suite.model import ClientConfig, Provider, RetryPolicy, Run
from tests.support.loopback import Loopback

KEY = Secret("sk-loopback-0123456789")


@pytest.fixture(autouse=True)
def no_proxy_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture
def server() -> Iterator[Loopback]:
    with Loopback() as loopback:
        yield loopback


@dataclass
class Talk:
    """A client of a vendor whose endpoint is the scripted server.

    Attributes:
        clock: What the policy sleeps on.
    """

    server: Loopback
    clock: FakeClock = field(default_factory=FakeClock)

    def __call__(
        self,
        vendor: str,
        work: Callable[[ModelClient], Awaitable[Any]],
        *,
        model: str = "m",
        parameters: Mapping[str, Any] | None = None,
        retry: RetryPolicy | None = None,
        key: Secret | None = KEY,
        unstructured: bool = False,
        **client: Any,
    ) -> Any:
        """Run ``work`` with a client and return its result."""
        config = ClientConfig(endpoint=client.pop("endpoint", self.server.url), **client)
        run = Run("r", vendor, model, parameters or {}, disable_structured_output=unstructured)
        provider = Provider(vendor, 0, config, (run,))
        policy = Policy(self.clock, retry=retry)

        async def main() -> Any:
            http = Http()
            try:
                return await work(build_client(provider, run, key=key, key_from_env=False, policy=policy, http=http))
            finally:
                await http.close()

        return asyncio.run(main())


@pytest.fixture
def talk(server: Loopback) -> Talk:
    return Talk(server)


INTEGERS = {"a": {"type": "integer"}, "b": {"type": "integer"}}
ADD = ToolDefinition("add", "Adds", {"type": "object", "properties": INTEGERS})


@pytest.fixture
def sum_prompt() -> Prompt:
    return Prompt("sum", "What is 2+2?", "one number", system_prompt="Answer with one number.")


@pytest.fixture
def tool_prompt() -> Prompt:
    return Prompt("sum", "Use add on 2 and 2.", "one number", tools=(ADD,))


@pytest.fixture
def picture() -> Attachment:
    return Attachment("pic", "image/png", b"\x89PNG\r\n\x1a\n", "pic.png")


@pytest.fixture
def pdf() -> Attachment:
    return Attachment("doc", "application/pdf", b"%PDF-", "doc.pdf")
