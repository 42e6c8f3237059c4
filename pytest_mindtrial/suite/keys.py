"""API keys of selected runs: from the file, from a named environment variable, or from the provider's own one.

Nothing here runs while a suite is collected, and no message contains a key. Source: spec mindtrial 1.3; providers 2 and
2.1.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from typing import Literal, NamedTuple
from urllib.parse import urlsplit

from pytest_mindtrial.core.errors import ConfigError
from pytest_mindtrial.core.secret import Secret
from pytest_mindtrial.suite.model import Provider

__all__ = ["KEY_VARIABLES", "KeySource", "ResolvedKey", "is_loopback", "resolve_key", "resolve_key_source"]

KEY_VARIABLES: dict[str, str] = {
    "openai": "OPENAI_API_KEY",
    "google": "GOOGLE_API_KEY",
    "anthropic": "ANTHROPIC_API_KEY",
    "deepseek": "DEEPSEEK_API_KEY",
    "mistralai": "MISTRAL_API_KEY",
    "xai": "XAI_API_KEY",
    "alibaba": "DASHSCOPE_API_KEY",
    "moonshotai": "MOONSHOT_API_KEY",
    "openrouter": "OPENROUTER_API_KEY",
}
"""Provider → the variable used when the file names no key. ``mock`` and ``local`` need none.

`providers.profiles.register_profile` adds to it.
"""

KeySource = Literal["none", "file", "placeholder", "fallback"]
"""Where a key came from; ``fallback`` = the provider's own variable, without the file asking for it."""

_PLACEHOLDER = re.compile(r"\{\{\s*\.Env\.([A-Za-z_][A-Za-z0-9_]*)\s*\}\}")


class ResolvedKey(NamedTuple):
    """A provider's key, if it has one, and where it came from."""

    secret: Secret | None
    source: KeySource


def resolve_key(provider: Provider, environ: Mapping[str, str]) -> Secret | None:
    """Return the key to send, or None when none is needed.

    Args:
        provider: A provider (or a judge's) with a selected run.
        environ: The environment.

    Raises:
        ConfigError: No key and no own endpoint; a named variable is unset or blank; or a key that the file does not
            mention would travel unencrypted to another machine.
    """
    return resolve_key_source(provider, environ).secret


def resolve_key_source(provider: Provider, environ: Mapping[str, str]) -> ResolvedKey:
    """Return the key and its source; see `resolve_key`."""
    written = provider.client.api_key.strip()
    match = _PLACEHOLDER.fullmatch(written)
    if match:
        return ResolvedKey(_named(provider, match[1], environ), "placeholder")
    if written:
        return ResolvedKey(Secret(provider.client.api_key), "file")
    variable = KEY_VARIABLES.get(provider.name)
    if variable is None:
        return ResolvedKey(None, "none")
    value = environ.get(variable, "")
    if value.strip():
        _refuse_open_line(provider, variable)
        return ResolvedKey(Secret(value.strip()), "fallback")
    if provider.client.endpoint is not None:
        return ResolvedKey(None, "none")
    raise ConfigError(
        f"provider {provider.name!r} has no API key: set the environment variable {variable} or client-config.api-key",
        provider.position,
    )


def _named(provider: Provider, variable: str, environ: Mapping[str, str]) -> Secret:
    if variable not in environ:
        problem = f"missing environment variable: {variable}"
    elif not environ[variable].strip():
        problem = f"environment variable {variable} resolved to an empty value"
    else:
        return Secret(environ[variable].strip())
    raise ConfigError(
        f"failed to resolve configuration value: provider {provider.name!r}: {problem}", provider.position
    )


def _refuse_open_line(provider: Provider, variable: str) -> None:
    endpoint = provider.client.endpoint
    if endpoint and urlsplit(endpoint).scheme == "http" and not is_loopback(endpoint):
        host = urlsplit(endpoint).hostname
        raise ConfigError(
            f"the key of {variable} is not sent unencrypted to {host}: use an https endpoint, or "
            f"write client-config.api-key yourself (for example {{{{.Env.{variable}}}}})",
            provider.position,
        )


def is_loopback(url: str) -> bool:
    """Return whether a URL's host is this machine: ``localhost`` or a loopback address."""
    host = urlsplit(url).hostname or ""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
