"""From a configured provider and run to a model client; every dialect and provider is imported on use.

Does not resolve keys (``suite/keys.py``). Source: spec providers 2 and 10.1; design D12, D13.
"""

from __future__ import annotations

import importlib
import logging
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from pytest_mindtrial.core.errors import ConfigError, UnfinishedError
from pytest_mindtrial.core.secret import Secret
from pytest_mindtrial.providers.base import ModelClient, RequestPolicy
from pytest_mindtrial.providers.body import ignored_parameters
from pytest_mindtrial.providers.profiles import (
    DialectName,
    Profile,
    base_url,
    choose_dialect,
    profile_of,
    register_profile,
)
from pytest_mindtrial.suite.keys import is_loopback
from pytest_mindtrial.suite.model import Provider, Run

if TYPE_CHECKING:
    from pytest_mindtrial.providers.dialects.base import Dialect
    from pytest_mindtrial.providers.http import Http

__all__ = ["build_client", "load_dialect", "register_profile"]

_log = logging.getLogger("pytest_mindtrial.providers")

_MODULES: dict[DialectName, str] = {
    "chat": "openai_chat",
    "responses": "openai_responses",
    "anthropic": "anthropic",
    "google": "google",
}


def build_client(
    provider: Provider,
    run: Run,
    *,
    key: Secret | None,
    key_from_env: bool,
    policy: RequestPolicy,
    http: Http,
) -> ModelClient:
    """Return the client of one run. Nothing is sent; the local model is not started yet.

    Args:
        provider: The entry of ``providers``.
        run: One of its runs.
        key: The resolved API key; None = there is none.
        key_from_env: True when the key is the fallback from the provider's environment variable.
        policy: Limits, retries and records of this run's requests.
        http: Connections, shared by all clients of the engine's loop.

    Raises:
        ConfigError: Unknown provider, no key where one is needed, an endpoint or header that cannot be used, a key
            from the environment that would travel in the clear.
        UnfinishedError: The dialect is not part of this version.
    """
    if provider.name == "mock":
        from pytest_mindtrial.providers.mock import MockClient

        return MockClient(run, policy)
    profile = profile_of(provider.name)
    address: str | Callable[[], str]
    if profile.name == "local" and provider.client.endpoint is None:
        from pytest_mindtrial.providers.local import ensure_server

        address = partial(ensure_server, provider.client.options)
    else:
        address = _address(profile, provider, key, key_from_env=key_from_env)
    name = choose_dialect(profile, provider.client, run.model)
    _announce(profile, run, name)
    return _http_client(profile, provider, run, load_dialect(name), address, key, policy, http)


def load_dialect(name: DialectName) -> Dialect:
    """Return a dialect.

    Raises:
        UnfinishedError: It is not part of this version.
    """
    module = f"pytest_mindtrial.providers.dialects.{_MODULES[name]}"
    try:
        dialect: Dialect = importlib.import_module(module).DIALECT
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        raise UnfinishedError(f"the {name} dialect is not part of this version") from error
    return dialect


def _http_client(
    profile: Profile,
    provider: Provider,
    run: Run,
    dialect: Dialect,
    address: str | Callable[[], str],
    key: Secret | None,
    policy: RequestPolicy,
    http: Http,
) -> ModelClient:
    from pytest_mindtrial.providers.client import HttpModelClient
    from pytest_mindtrial.providers.transport import Transport, auth_headers

    own = {name.lower(): value for name, value in provider.client.headers.items()}
    transport = Transport(
        http,
        address,
        dialect,
        {**auth_headers(profile.auth, key), **profile.headers, **own},
        timeout_s=provider.client.request_timeout_s,
        secrets=tuple(_secrets(key, own)),
    )
    is_vendor_host = profile.is_vendor_host(provider.client)
    return HttpModelClient(profile, run, dialect, transport, policy, is_vendor_host=is_vendor_host)


def _secrets(key: Secret | None, headers: dict[str, str]) -> list[Secret]:
    """Return what errors must not repeat: the key, and credentials given as headers."""
    secrets = [] if key is None else [key]
    for name in ("authorization", "x-api-key", "x-goog-api-key", "api-key", "proxy-authorization"):
        if name in headers:
            secrets.append(Secret(headers[name].removeprefix("Bearer ").strip()))
    return secrets


def _address(profile: Profile, provider: Provider, key: Secret | None, *, key_from_env: bool) -> str:
    from pytest_mindtrial.providers.transport import check_url

    url = check_url(base_url(profile, provider.client))
    if key is None:
        if provider.client.endpoint is None:
            raise ConfigError(
                f"provider {profile.name} needs an API key: set client-config.api-key or the environment variable "
                f"{profile.key_variable}",
                provider.position,
            )
    elif key_from_env and urlsplit(url).scheme == "http" and not is_loopback(url):
        raise ConfigError(
            f"the key from {profile.key_variable} is not sent to {url}, which is not encrypted: use https, or give "
            "client-config.api-key if you mean it",
            provider.position,
        )
    return url


def _announce(profile: Profile, run: Run, dialect: DialectName) -> None:
    """Log, once per run, what a user might wonder about."""
    if profile.name == "openai":
        _log.info("openai run %s (%s) uses the %s API", run.name, run.model, dialect)
    for name in ignored_parameters(profile, run, dialect):
        _log.warning(
            "run %s: %s has no meaning in the %s API of %s and is ignored", run.name, name, dialect, profile.name
        )
    for name in run.parameters:
        if (note := _parameter_note(profile, run, name)) is not None:
            _log.warning("run %s: %s %s", run.name, name, note)
    if profile.parameters.passes_unknown and "response_format" in run.parameters:
        _log.warning("run %s: response_format is sent as given, but replies are read as response-format says", run.name)


def _parameter_note(profile: Profile, run: Run, name: str) -> str | None:
    """Return what a user should know who sets a parameter: it is outdated, or this model is known to refuse it."""
    row = profile.parameters.by_name.get(name)
    if row is None or run.parameters[name] is None or run.parameters[name] is False:
        return None
    if row.rejected_by and run.model.strip().lower().startswith(row.rejected_by):
        return f"is sent, but {profile.name} is known to answer it with an error for {run.model}"
    return f"is deprecated. {row.deprecated}" if row.deprecated else None
