"""Reads the parts of a provider whose keys depend on the provider: ``client-config`` and ``model-parameters``.

Works on nodes, beside the models, so that mistakes here are reported together with all others. Source: spec mindtrial
1.1, 1.2; providers 2.1; design D13.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_mindtrial.suite.config_models import ClientConfigModel
from pytest_mindtrial.suite.decode import (
    BAD,
    Reader,
    decode,
    describe,
    read_bool_node,
    read_int,
    read_number,
    read_text,
    read_untyped,
)
from pytest_mindtrial.suite.model import ClientConfig
from pytest_mindtrial.suite.nodes import ROOT, MappingNode, Node, Path, ScalarNode, SequenceNode, child
from pytest_mindtrial.suite.parameters import TABLES, check_parameters
from pytest_mindtrial.suite.problems import Problems

__all__ = ["OPEN_PROVIDERS", "ProviderNodes"]

OPEN_PROVIDERS = frozenset(("mock", "local"))
"""Providers of ours whose ``client-config`` may hold further keys."""

_READERS: Mapping[str, Reader] = {
    "bool": read_bool_node,
    "int": read_int,
    "number": read_number,
    "choice": read_text,
    "server-tools": read_untyped,
}


class ProviderNodes:
    """What was read, by node and provider name (an anchor may be used under two providers)."""

    def __init__(self, problems: Problems) -> None:
        self._problems = problems
        self._clients: dict[tuple[int, str], ClientConfig] = {}
        self._parameters: dict[tuple[int, str], Mapping[str, Any]] = {}

    def client(self, provider: str, node: Node | None) -> ClientConfig:
        """Return a client configuration; the default one when nothing is written or it has mistakes."""
        return self._clients.get((id(node), provider), ClientConfig())

    def parameters(self, provider: str, node: Node | None) -> Mapping[str, Any]:
        """Return model parameters as written; empty when nothing is written."""
        return self._parameters.get((id(node), provider), {})

    def read_all(self, root: Node) -> None:
        """Read every provider and every judge's provider of a file."""
        config = child(root, "config")
        path: Path = (ROOT, "config")
        if config is None:
            return
        for index, node in enumerate(_items(child(config, "providers"))):
            self._read_provider(node, ((path, "providers"), index))
        for index, node in enumerate(_items(child(config, "judges"))):
            provider = child(node, "provider")
            if provider is not None:
                self._read_provider(provider, (((path, "judges"), index), "provider"))

    def _read_provider(self, node: Node, path: Path) -> None:
        name = child(node, "name")
        if not isinstance(name, ScalarNode) or name.value not in TABLES:
            return
        client = child(node, "client-config")
        if client is not None and not _is_null(client):
            self._read_client(name.value, client, (path, "client-config"))
        for index, run in enumerate(_items(child(node, "runs"))):
            parameters = child(run, "model-parameters")
            if parameters is not None and not _is_null(parameters):
                self._read_parameters(name.value, parameters, (((path, "runs"), index), "model-parameters"))

    def _read_client(self, provider: str, node: Node, path: Path) -> None:
        options: dict[str, Any] | None = {} if provider in OPEN_PROVIDERS else None
        model = decode(self._problems, node, ClientConfigModel, path, options)
        if model is not None:
            self._clients[id(node), provider] = ClientConfig(
                api_key=model.api_key,
                endpoint=model.endpoint or None,
                request_timeout_s=model.request_timeout,
                headers=model.headers,
                api=model.api,
                options=options or {},
            )

    def _read_parameters(self, provider: str, node: Node, path: Path) -> None:
        if not isinstance(node, MappingNode):
            self._problems.add(f"must be a map, found {describe(node)}", node, path)
            return
        table = TABLES[provider]
        values: dict[str, Any] = {}
        positions = {}
        for key, value in node.pairs():
            row = table.by_name.get(key.value)
            place: Path = (path, key.value)
            if row is not None and _is_null(value):
                continue
            read = (_READERS[row.kind] if row else read_untyped)(self._problems, value, place)
            if read is not BAD:
                values[key.value] = read
                positions[key.value] = self._problems.document.position(value if row else key, place)
        self._problems.extend(check_parameters(provider, values, positions))
        self._parameters[id(node), provider] = values


def _items(node: Node | None) -> list[Node]:
    return node.items if isinstance(node, SequenceNode) else []


def _is_null(node: Node) -> bool:
    return isinstance(node, ScalarNode) and node.is_null
