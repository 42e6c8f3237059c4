"""What the SDK tests share: driving a vendor's SDK against the loopback server, normalising bodies, strict types.

Source: spec providers 14.2.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pytest
from pydantic import ConfigDict, TypeAdapter

from pytest_mindtrial.providers.dialects.base import HttpCall
from tests.support.loopback import Loopback, Received, Reply

__all__ = [
    "DEFAULTS",
    "asked",
    "camel_case",
    "check_type",
    "need_sdk",
    "normalised",
    "plain",
    "snake_case",
    "strict_adapter",
]

DEFAULTS = {"stream": False, "prefix": False, "n": 1}
"""Fields that SDKs write out although they hold the documented default."""

_USER_DATA = frozenset(("args", "response", "responseJsonSchema", "parametersJsonSchema", "schema", "parameters"))
"""Keys below which names are the user's own."""


def need_sdk(name: str) -> None:
    """Skip the calling module where an SDK is missing; not in CI, where everything must be there."""
    if not os.environ.get("CI"):
        pytest.importorskip(name, reason=f"needs the package {name}; it comes with the extra 'dev'")


def asked(reply: Reply, call: Callable[[str], Any]) -> tuple[Received, Any]:
    """Let an SDK make one call to a server and return what it sent and what it made of the reply."""
    with Loopback() as server:
        server.script(reply)
        result = call(server.url)
        (request,) = server.requests
    return request, result


def plain(call: HttpCall) -> Any:
    """Return the body of our call as the wire has it."""
    return json.loads(json.dumps(call.body))


def normalised(value: Any, *, camel: bool = False, defaults: Mapping[str, Any] = DEFAULTS) -> Any:
    """Return a body without written-out defaults; numbers by value; with ``camel``, Google's keys in camel case."""
    if isinstance(value, Mapping):
        out = {}
        for key, item in value.items():
            if key in defaults and item == defaults[key] and type(item) is type(defaults[key]):
                continue
            name = camel_case(key) if camel else key
            out[name] = normalised(item, camel=camel and name not in _USER_DATA, defaults=defaults)
        return out
    if isinstance(value, list):
        return [normalised(item, camel=camel, defaults=defaults) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def camel_case(name: str) -> str:
    return re.sub(r"_([a-z])", lambda found: found[1].upper(), name)


def snake_case(name: str) -> str:
    return re.sub(r"([A-Z])", lambda found: f"_{found[1].lower()}", name)


def strict_adapter(kind: Any) -> TypeAdapter[Any]:
    """Return a validator of a request type that refuses unknown keys everywhere.

    A list around the type carries the configuration to every ``TypedDict`` in it.
    """
    return TypeAdapter(list[kind], config=ConfigDict(extra="forbid"))


def check_type(adapter: TypeAdapter[Any], value: Any) -> None:
    """Validate a body to the last part: iterables are validated only while they are walked."""
    _exhaust(adapter.validate_python([value]))


def _exhaust(value: Any) -> None:
    if isinstance(value, Mapping):
        for item in value.values():
            _exhaust(item)
    elif isinstance(value, Iterable) and not isinstance(value, str | bytes):
        for item in value:
            _exhaust(item)
