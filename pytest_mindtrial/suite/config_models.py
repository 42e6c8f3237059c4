"""The keys of config.yaml: types, ranges and descriptions.

The descriptions become the manual's reference and the editor schema. Inheritance and rules between keys are in
``suite/config.py``; model parameters in ``suite/parameter_rows.py``. Source: spec mindtrial 1; design D13, D19.
"""

from __future__ import annotations

import posixpath
import re
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field

from pytest_mindtrial.suite.field_types import (
    EnvMap,
    PositiveDuration,
    RawNode,
    RequiredText,
    Text,
    TextMap,
    YamlModel,
    unique,
)
from pytest_mindtrial.suite.parameter_rows import TABLES
from pytest_mindtrial.suite.suggest import allowed_list, near_match

__all__ = [
    "ClientConfigModel",
    "ConfigFileModel",
    "ConfigModel",
    "DependencyModel",
    "EndpointModel",
    "JudgeModel",
    "PricingModel",
    "ProviderModel",
    "RetryPolicyModel",
    "RunModel",
    "ServiceModel",
    "TemplateFileModel",
    "ToolModel",
    "ValidatorModel",
]

MIN_MEMORY_MB = 6
"""Container engines refuse less."""


def _url(value: str) -> str:
    if not value.strip():
        return ""
    parts = urlsplit(value.strip())
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"must be an http:// or https:// URL, found {value!r}")
    return value.strip()


def container_path(value: str) -> str:
    """Return a container path, cleaned.

    Raises:
        ValueError: It is not absolute.
    """
    if not value.startswith("/"):
        raise ValueError(f"must be an absolute container path, found {value!r}")
    return "/" + posixpath.normpath(value).lstrip("/")


def _currency(value: str) -> str:
    if not re.fullmatch(r"[A-Za-z]{3}", value):
        raise ValueError(f"must be a currency code of three letters, found {value!r}")
    return value


def _unique_paths(files: list[TemplateFileModel]) -> list[TemplateFileModel]:
    seen: set[str] = set()
    for file in files:
        if file.path in seen:
            raise ValueError(f"path {file.path!r} is not unique")
        seen.add(file.path)
    return files


def _variables(value: dict[str, str]) -> dict[str, str]:
    for name, variable in value.items():
        if not name.strip():
            raise ValueError("an input needs a name")
        if not variable.strip() or "=" in variable:
            raise ValueError(f"input {name!r} needs the name of an environment variable, found {variable!r}")
    return value


EnvNames = Annotated[TextMap, AfterValidator(_variables)]
ContainerPath = Annotated[Text, AfterValidator(container_path)]
Limit = Annotated[int, Field(ge=0)]
Price = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Memory = Annotated[int, Field(ge=MIN_MEMORY_MB)]
Percent = Annotated[int, Field(ge=1, le=100)]


class RetryPolicyModel(YamlModel):
    """How failed requests are tried again. Inherited as a whole: a run's policy replaces the provider's."""

    max_retry_attempts: Limit = Field(0, description="Further tries after the first one; 0 = none.")
    initial_delay_seconds: Limit = Field(
        0,
        description="Wait before the first retry; it doubles with each further one. 0 or missing = 1 second when "
        "retries are on.",
    )


class PricingModel(YamlModel):
    """Prices per million tokens. Inherited as a whole: the nearest level that sets any key is used alone."""

    currency: Annotated[Text, AfterValidator(_currency)] | None = Field(
        None, description="Three-letter currency code; USD when any price is set."
    )
    input_per_million: Price | None = Field(None, description="Price of uncached input tokens; missing = unknown.")
    output_per_million: Price | None = Field(None, description="Price of generated tokens; missing = unknown.")
    cache_read_per_million: Price | None = Field(
        None, description="Price of input tokens read from a prompt cache; missing = the input price."
    )
    cache_write_per_million: Price | None = Field(
        None, description="Price of input tokens written to a prompt cache; missing = the input price."
    )
    reasoning_per_million: Price | None = Field(
        None, description="Price of reasoning tokens; missing = the output price."
    )


class ClientConfigModel(YamlModel):
    """How to reach a provider."""

    api_key: Text = Field(
        "",
        description="The key itself, or {{.Env.NAME}} for an environment variable. Blank or missing = the provider's "
        "own variable. Needed only for runs that are selected.",
    )
    endpoint: Annotated[Text, AfterValidator(_url)] = Field(
        "", description="Base URL of the service; any http or https URL. Missing = the vendor's own."
    )
    request_timeout: PositiveDuration | None = Field(
        None, description="Longest time one request may take, such as 10m."
    )
    headers: TextMap = Field(
        default_factory=dict, description="Further request headers; they win over those we would send."
    )
    api: Literal["auto", "chat", "responses"] = Field(
        "auto", description="Which of OpenAI's request forms to use; auto decides by model and host."
    )


class RunModel(YamlModel):
    """One model configuration."""

    name: RequiredText = Field(description="Display name, unique within the provider.")
    model: RequiredText = Field(description="Model name exactly as the service defines it.")
    max_requests_per_minute: Limit = Field(0, description="Limit of requests of this run per minute; 0 = none.")
    max_tokens_per_minute: Limit = Field(
        0, description="Limit of input and output tokens of this run per minute; 0 = none. MindTrial does not know it."
    )
    disabled: bool | None = Field(None, description="Own value, or missing to inherit the provider's.")
    text_only: bool = Field(False, description="Skip tasks with files that go to the model.")
    disable_structured_output: bool = Field(
        False,
        description="Ask for plain text and take the whole reply as the answer; tasks with a schema are skipped. Not "
        "allowed in judges.",
    )
    model_parameters: RawNode = Field(None, description="Parameters of the model; each provider has its own.")
    retry_policy: RetryPolicyModel | None = Field(None, description="Replaces the provider's policy as a whole.")
    pricing: PricingModel | None = Field(None, description="Replaces inherited prices when any key is set.")


def _known_provider(name: str) -> str:
    if name not in TABLES:
        raise ValueError(f"must be one of {allowed_list(TABLES)}, found {name!r}{near_match(name, TABLES)}")
    return name


ProviderName = Annotated[
    str,
    AfterValidator(_known_provider),
    # Asked when the schema is made, because vendors can be registered.
    Field(json_schema_extra=lambda schema: schema.update(enum=list(TABLES))),
]


class ProviderModel(YamlModel):
    """One service with its runs. Two entries may share a name; they are two independent clients."""

    name: ProviderName = Field(description="The service.")
    client_config: RawNode = Field(None, description="How to reach the service; may be left out.")
    runs: Annotated[list[RunModel], AfterValidator(unique("name"))] = Field(
        default_factory=list, description="Model configurations."
    )
    max_parallel_requests_per_minute: Limit = Field(
        0, description="Limit of requests of all runs together per minute; 0 = none."
    )
    max_parallel_tokens_per_minute: Limit = Field(
        0, description="Limit of tokens of all runs together per minute; 0 = none. MindTrial does not know it."
    )
    disabled: bool = Field(False, description="Default of the runs' own disabled.")
    retry_policy: RetryPolicyModel | None = Field(None, description="Default of the runs' retry policy.")
    pricing: PricingModel | None = Field(None, description="Default of the runs' prices.")


class JudgeModel(YamlModel):
    """A judge: a provider whose runs are the judge's variants."""

    name: RequiredText = Field(description="Name that validation rules refer to.")
    provider: ProviderModel = Field(description="A full provider entry; its runs are the variants.")


class DependencyModel(YamlModel):
    """A service that a tool or validator needs."""

    service: RequiredText = Field(description="Name of the service.")
    env: EnvMap = Field(
        default_factory=dict,
        description="Environment variables for the consumer; values are templates over .Name, .Host, .Port, .Endpoint.",
    )


Dependencies = Annotated[list[DependencyModel], AfterValidator(unique("service"))]


class ToolModel(YamlModel):
    """A container image that models may call."""

    name: RequiredText = Field(description="Unique name; the model sees it.")
    image: RequiredText = Field(description="Docker image; it must exist locally.")
    description: RequiredText = Field(description="What the tool is good for and how it is called; the model reads it.")
    parameters: dict[str, Any] = Field(description="JSON Schema of the arguments.")
    parameter_files: dict[str, ContainerPath] = Field(
        default_factory=dict, description="Argument name to the absolute container path its value is written to."
    )
    auxiliary_dir: ContainerPath | None = Field(
        None, description="Absolute container directory where files with local access appear; reset for every call."
    )
    shared_dir: ContainerPath | None = Field(
        None, description="Absolute container directory that persists across the calls of one attempt."
    )
    command: list[Text] = Field(default_factory=list, description="Command; missing = the image's own.")
    env: EnvMap = Field(default_factory=dict, description="Environment variables.")
    dependencies: Dependencies = Field(default_factory=list, description="Services the tool may reach.")


class EndpointModel(YamlModel):
    """Where consumers connect to a service."""

    port: Annotated[int, Field(ge=1, le=65535)] = Field(description="Port the service listens on.")
    scheme: Literal["http", "https"] = Field("http", description="Scheme of the URL given to consumers.")


class ServiceModel(YamlModel):
    """A container that lives as long as one attempt."""

    name: RequiredText = Field(description="Unique name.")
    image: RequiredText = Field(description="Docker image; it must exist locally.")
    command: list[Text] = Field(default_factory=list, description="Command; missing = the image's own.")
    env: EnvMap = Field(default_factory=dict, description="Environment variables of every instance.")
    endpoint: EndpointModel = Field(description="Where consumers connect.")
    input_env: EnvNames = Field(
        default_factory=dict, description="Input name to the environment variable in which the container finds it."
    )
    healthcheck: list[Text] = Field(
        default_factory=list, description="Command run inside the container, without a shell, until it succeeds."
    )
    startup_timeout: PositiveDuration = Field(15.0, description="Longest time to become ready; 15s when missing.")
    max_memory_mb: Memory | None = Field(None, description="Memory limit in MB, at least 6.")
    cpu_percent: Percent | None = Field(None, description="CPU limit in percent of the whole host.")


class TemplateFileModel(YamlModel):
    """A file rendered for each validation."""

    path: Annotated[RequiredText, AfterValidator(container_path)] = Field(
        description="Absolute container path, unique."
    )
    template: Text = Field("", description="Template of the content.")


class ValidatorModel(YamlModel):
    """A container image that decides whether an answer is right."""

    name: RequiredText = Field(description="Unique name that validation rules refer to.")
    image: RequiredText = Field(description="Docker image; it must exist locally.")
    command: list[Text] = Field(default_factory=list, description="Command; each argument is a template.")
    env: EnvMap = Field(default_factory=dict, description="Environment variables; each value is a template.")
    template_files: Annotated[list[TemplateFileModel], AfterValidator(_unique_paths)] = Field(
        default_factory=list, description="Files rendered and mounted read-only."
    )
    dependencies: Dependencies = Field(default_factory=list, description="Services the validator may reach.")
    timeout: PositiveDuration | None = Field(None, description="Longest run of the validator; missing = none.")
    max_memory_mb: Memory | None = Field(None, description="Memory limit in MB, at least 6.")
    cpu_percent: Percent | None = Field(None, description="CPU limit in percent of the whole host.")


class ConfigModel(YamlModel):
    """Settings of the evaluation."""

    log_file: Text = Field("", description="Path template of the log file; blank = none.")
    output_dir: RequiredText = Field(
        description="Path template of the result directory; {{.Year}}, {{.Month}}, {{.Day}}, {{.Hour}}, {{.Minute}} "
        "and {{.Second}} are filled in."
    )
    output_basename: Text = Field("", description="Path template of the result files' name without extension.")
    task_source: Text = Field(
        "", description="Task file of the mindtrial command; pytest takes the task files from its own command line."
    )
    providers: list[ProviderModel] = Field(description="Services and their runs.")
    judges: Annotated[list[JudgeModel], AfterValidator(unique("name"))] = Field(
        default_factory=list, description="Models that judge answers."
    )
    tools: Annotated[list[ToolModel], AfterValidator(unique("name"))] = Field(
        default_factory=list, description="Tools that tasks may offer to models."
    )
    services: Annotated[list[ServiceModel], AfterValidator(unique("name"))] = Field(
        default_factory=list, description="Services that tools and validators may need."
    )
    validators: Annotated[list[ValidatorModel], AfterValidator(unique("name"))] = Field(
        default_factory=list, description="Custom validators."
    )
    pricing: PricingModel | None = Field(None, description="Default prices of all runs.")
    tool_argument_validation: Literal["strict", "lenient"] = Field(
        "strict",
        description="strict: arguments that break a tool's schema are refused and the model is told; lenient: they are "
        "handed to the tool.",
    )


class ConfigFileModel(YamlModel):
    """Root of config.yaml."""

    config: ConfigModel = Field(description="Settings of the evaluation.")
