"""Reads config.yaml: models, inheritance and the rules between keys.

Keys and ranges are in ``suite/config_models.py``. Needs no API key and no environment (``suite/keys.py`` resolves keys
for selected runs). Source: spec mindtrial 1; design D13, D19.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path as FilePath
from typing import Any

from pytest_mindtrial.core.errors import ConfigError
from pytest_mindtrial.suite.config_containers import build_services, build_tools, build_validators
from pytest_mindtrial.suite.config_models import (
    ConfigFileModel,
    ConfigModel,
    JudgeModel,
    PricingModel,
    ProviderModel,
    RetryPolicyModel,
    RunModel,
)
from pytest_mindtrial.suite.decode import decode
from pytest_mindtrial.suite.file_kinds import refuse_other_kind
from pytest_mindtrial.suite.model import Config, Judge, Pricing, Provider, RetryPolicy, Run
from pytest_mindtrial.suite.nodes import ROOT, Document, Path
from pytest_mindtrial.suite.parameters import check_output_mode
from pytest_mindtrial.suite.problems import Problems
from pytest_mindtrial.suite.provider_nodes import ProviderNodes
from pytest_mindtrial.suite.templates import TemplateKind, template_problem
from pytest_mindtrial.suite.yaml_reader import read_yaml_file

__all__ = ["DEFAULT_RETRY_DELAY_SECONDS", "load_config", "parse_config"]

DEFAULT_RETRY_DELAY_SECONDS = 1
"""First delay of a retry policy that asks for retries but names no delay."""

_CONFIG: Path = (ROOT, "config")


def load_config(path: FilePath) -> Config:
    """Read and check a configuration file.

    Args:
        path: The file; messages show it as given. Relative paths inside are joined to its directory.

    Returns:
        Everything written, disabled runs included. Judges without an enabled variant are left out.

    Raises:
        ConfigError: All mistakes of the file (up to 20 shown), each with line, column and YAML path.
    """
    return parse_config(read_yaml_file(path, ConfigError, "configuration file"), path)


def parse_config(document: Document, path: FilePath) -> Config:
    """Check a configuration that is already read; see `load_config`."""
    refuse_other_kind(document, "config", ConfigError)
    problems = Problems(document, ConfigError)
    model = decode(problems, document.root, ConfigFileModel)
    nodes = ProviderNodes(problems)
    nodes.read_all(document.root)
    config = _Builder(problems, nodes).build(model.config, path) if model else None
    problems.raise_if_any()
    assert config is not None
    return config


class _Builder:
    """Turns the models of one file into values, noting what breaks a rule."""

    def __init__(self, problems: Problems, nodes: ProviderNodes) -> None:
        self._problems = problems
        self._nodes = nodes

    def build(self, model: ConfigModel, path: FilePath) -> Config:
        pricing = self._pricing(model.pricing, (_CONFIG, "pricing"), None)
        providers: Path = (_CONFIG, "providers")
        for key in ("output_dir", "output_basename", "log_file"):
            self._check_template(getattr(model, key), "path", (_CONFIG, key.replace("_", "-")))
        if not model.output_dir.strip():
            self._fail("must not be blank", (_CONFIG, "output-dir"))
        return Config(
            path=path,
            providers=tuple(
                self._provider(item, index, (providers, index), pricing) for index, item in enumerate(model.providers)
            ),
            judges=tuple(self._judges(model.judges, pricing)),
            tools=build_tools(model.tools, self._problems, (_CONFIG, "tools")),
            services=build_services(model.services, self._problems, (_CONFIG, "services")),
            validators=build_validators(model.validators, self._problems, (_CONFIG, "validators")),
            output_dir=_joined(path, model.output_dir),
            output_basename=model.output_basename,
            log_file=_joined(path, model.log_file),
            task_source=_joined(path, model.task_source),
            tool_argument_validation=model.tool_argument_validation,
        )

    def _fail(self, message: str, path: Path) -> None:
        self._problems.add_path(message, path)

    def _check_template(self, text: str, kind: TemplateKind, path: Path) -> None:
        problem = template_problem(text, kind)
        if problem:
            self._fail(problem, path)

    def _judges(self, models: Iterable[JudgeModel], pricing: Pricing | None) -> Iterable[Judge]:
        for index, model in enumerate(models):
            path: Path = ((_CONFIG, "judges"), index)
            provider = self._provider(model.provider, index, (path, "provider"), pricing)
            for number, run in enumerate(provider.runs):
                if run.disable_structured_output:
                    place: Path = ((((path, "provider"), "runs"), number), "disable-structured-output")
                    self._fail(f"judge {model.name!r}, variant {run.name!r}: judges need structured output", place)
            variants = tuple(run for run in provider.runs if not run.disabled)
            if variants:
                provider = Provider(
                    provider.name,
                    provider.index,
                    provider.client,
                    variants,
                    provider.max_parallel_requests_per_minute,
                    provider.position,
                    provider.max_parallel_tokens_per_minute,
                )
                yield Judge(model.name, provider, self._problems.position(path))

    def _provider(self, model: ProviderModel, index: int, path: Path, pricing: Pricing | None) -> Provider:
        pricing = self._pricing(model.pricing, (path, "pricing"), pricing)
        runs: Path = (path, "runs")
        return Provider(
            name=model.name,
            index=index,
            client=self._nodes.client(model.name, model.client_config),
            runs=tuple(self._run(run, model, (runs, number), pricing) for number, run in enumerate(model.runs)),
            max_parallel_requests_per_minute=model.max_parallel_requests_per_minute,
            max_parallel_tokens_per_minute=model.max_parallel_tokens_per_minute,
            position=self._problems.position(path),
        )

    def _run(self, model: RunModel, provider: ProviderModel, path: Path, pricing: Pricing | None) -> Run:
        parameters: Mapping[str, Any] = self._nodes.parameters(provider.name, model.model_parameters)
        if model.disable_structured_output:
            problem = check_output_mode(provider.name, parameters)
            if problem:
                self._fail(problem, (path, "disable-structured-output"))
        return Run(
            name=model.name,
            provider=provider.name,
            model=model.model,
            parameters=parameters,
            max_requests_per_minute=model.max_requests_per_minute,
            max_tokens_per_minute=model.max_tokens_per_minute,
            disabled=provider.disabled if model.disabled is None else model.disabled,
            text_only=model.text_only,
            disable_structured_output=model.disable_structured_output,
            retry_policy=_retry_policy(model.retry_policy or provider.retry_policy),
            pricing=self._pricing(model.pricing, (path, "pricing"), pricing),
            position=self._problems.position(path),
        )

    def _pricing(self, model: PricingModel | None, path: Path, inherited: Pricing | None) -> Pricing | None:
        """Return a level's own prices when it sets any key, else the inherited ones."""
        if model is None:
            return inherited
        values = model.model_dump()
        currency = values.pop("currency")
        if all(value is None for value in values.values()):
            if currency is not None:
                self._fail("currency specified without any price", (path, "currency"))
            return inherited
        return Pricing(currency or "USD", **values)


def _retry_policy(model: RetryPolicyModel | None) -> RetryPolicy | None:
    if model is None:
        return None
    delay = model.initial_delay_seconds
    if model.max_retry_attempts and not delay:
        delay = DEFAULT_RETRY_DELAY_SECONDS
    return RetryPolicy(model.max_retry_attempts, delay)


def _joined(config: FilePath, text: str) -> str:
    return os.path.join(config.parent, text) if text.strip() else ""
