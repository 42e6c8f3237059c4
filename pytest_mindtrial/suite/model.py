"""What a suite and a configuration mean, after reading, checking, inheritance and merging.

Everything here is frozen. Does not read YAML (``suite/config.py``, ``suite/tasks.py``) and does not load file contents
(``suite/files.py``). Source: spec mindtrial 1 and 2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pytest_mindtrial.core.errors import Position
from pytest_mindtrial.core.record import Metadata

__all__ = [
    "Access",
    "ClientConfig",
    "Config",
    "ContainerLimits",
    "Dependency",
    "FileRef",
    "Judge",
    "JudgePrompt",
    "JudgeSelection",
    "Pricing",
    "Provider",
    "RetryPolicy",
    "Rules",
    "Run",
    "Service",
    "Suite",
    "Task",
    "TemplateFile",
    "Tool",
    "ToolSelection",
    "ValidatorDefinition",
]

Access = Literal["native", "local"]


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often a failed request is tried again.

    Attributes:
        max_retry_attempts: 0 = never.
        initial_delay_seconds: Wait before the first retry; doubled for each further one.
    """

    max_retry_attempts: int = 0
    initial_delay_seconds: int = 0


@dataclass(frozen=True, slots=True)
class Pricing:
    """Prices per million tokens. None = unknown; 0 = free."""

    currency: str = "USD"
    input_per_million: float | None = None
    output_per_million: float | None = None
    cache_read_per_million: float | None = None
    cache_write_per_million: float | None = None
    reasoning_per_million: float | None = None


@dataclass(frozen=True, slots=True)
class ClientConfig:
    """How to reach a provider.

    Attributes:
        api_key: The text as written in the file, unresolved (blank, a literal or an ``{{.Env.NAME}}`` placeholder);
            ``suite/keys.py`` turns it into a `Secret` for runs that are selected.
        endpoint: Base URL override; None = the vendor's own.
        request_timeout_s: Total deadline of one request try in seconds; None = the default.
        headers: Extra headers, merged last.
        api: ``auto``, ``chat`` or ``responses``.
        options: Keys that only ``mock`` and ``local`` know, kebab-case as written.
    """

    api_key: str = field(default="", repr=False)
    endpoint: str | None = None
    request_timeout_s: float | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    api: Literal["auto", "chat", "responses"] = "auto"
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Run:
    """A named model configuration of a provider, inheritance applied.

    Attributes:
        parameters: ``model-parameters`` as written (kebab-case keys), checked against the provider's table.
        max_requests_per_minute: 0 = unlimited.
        max_tokens_per_minute: Input and output; 0 = unlimited. Not MindTrial's.
        disabled: Effective value (own, else the provider's).
    """

    name: str
    provider: str
    model: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    max_requests_per_minute: int = 0
    disabled: bool = False
    text_only: bool = False
    disable_structured_output: bool = False
    retry_policy: RetryPolicy | None = None
    pricing: Pricing | None = None
    position: Position | None = None
    max_tokens_per_minute: int = 0


@dataclass(frozen=True, slots=True)
class Provider:
    """One entry of ``providers`` (or the provider of a judge).

    Attributes:
        index: Place in the file; two entries may share a name and are two independent clients.
        max_parallel_requests_per_minute: Limit over all runs of this entry; 0 = none.
        max_parallel_tokens_per_minute: Limit of tokens over all runs of this entry; 0 = none. Not MindTrial's.
    """

    name: str
    index: int
    client: ClientConfig
    runs: tuple[Run, ...]
    max_parallel_requests_per_minute: int = 0
    position: Position | None = None
    max_parallel_tokens_per_minute: int = 0


@dataclass(frozen=True, slots=True)
class Judge:
    """A named judge; the runs of its provider are its variants (disabled ones removed)."""

    name: str
    provider: Provider
    position: Position | None = None


@dataclass(frozen=True, slots=True)
class Dependency:
    """A consumer's wish for a service: environment variables as templates."""

    service: str
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ContainerLimits:
    """Limits of a container; None = the engine's default. ``timeout_s`` in seconds."""

    timeout_s: float | None = None
    max_memory_mb: int | None = None
    cpu_percent: int | None = None


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool definition; see spec docker 4."""

    name: str
    image: str
    description: str
    parameters: Mapping[str, Any]
    parameter_files: Mapping[str, str] = field(default_factory=dict)
    auxiliary_dir: str | None = None
    shared_dir: str | None = None
    command: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    dependencies: tuple[Dependency, ...] = ()
    position: Position | None = None


@dataclass(frozen=True, slots=True)
class Service:
    """A task service definition; see spec docker 5."""

    name: str
    image: str
    port: int
    scheme: Literal["http", "https"] = "http"
    command: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    input_env: Mapping[str, str] = field(default_factory=dict)
    healthcheck: tuple[str, ...] = ()
    startup_timeout_s: float = 15.0
    limits: ContainerLimits = ContainerLimits()
    position: Position | None = None


@dataclass(frozen=True, slots=True)
class TemplateFile:
    """A file rendered into a validator container; ``path`` is absolute."""

    path: str
    template: str


@dataclass(frozen=True, slots=True)
class ValidatorDefinition:
    """A custom validator image; see spec docker 6."""

    name: str
    image: str
    command: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    template_files: tuple[TemplateFile, ...] = ()
    dependencies: tuple[Dependency, ...] = ()
    limits: ContainerLimits = ContainerLimits()
    position: Position | None = None


@dataclass(frozen=True, slots=True)
class Config:
    """A checked configuration file.

    Attributes:
        providers: All entries, disabled runs included (their ``disabled`` says so).
        log_file: Path template; blank = none. Relative paths are already joined to the file's directory.
        output_dir: Path template.
        output_basename: Path template; blank = none.
        task_source: Path.
    """

    path: Path
    providers: tuple[Provider, ...]
    judges: tuple[Judge, ...] = ()
    tools: tuple[Tool, ...] = ()
    services: tuple[Service, ...] = ()
    validators: tuple[ValidatorDefinition, ...] = ()
    output_dir: str = ""
    output_basename: str = ""
    log_file: str = ""
    task_source: str = ""
    tool_argument_validation: Literal["strict", "lenient"] = "strict"


@dataclass(frozen=True, slots=True)
class FileRef:
    """An attached file, options merged.

    Attributes:
        name: Unique in the task; announced to the model as ``[file: NAME]``.
        uri: As written; relative local paths are relative to ``base_dir``.
        base_dir: Directory of the task file.
        type: MIME type as written; blank = infer.
        access: Which ways the content may go.
    """

    name: str
    uri: str
    base_dir: Path
    type: str = ""
    image_detail: str = ""
    access: frozenset[Access] = frozenset(("native", "local"))
    position: Position | None = None

    @property
    def is_native(self) -> bool:
        """True when the content goes to the model."""
        return "native" in self.access

    @property
    def is_local(self) -> bool:
        """True when local tools may read the content."""
        return "local" in self.access


@dataclass(frozen=True, slots=True)
class JudgePrompt:
    """What a judge is asked. ``template`` None = built-in; verdict fields are both None = built-in.

    Attributes:
        verdict_format: Text instruction or JSON Schema.
        passing_verdicts: Accepted verdicts as a set; one object with a ``$schema`` text is a schema.
    """

    template: str | None = None
    verdict_format: str | Mapping[str, Any] | None = None
    passing_verdicts: tuple[Any, ...] | None = None


@dataclass(frozen=True, slots=True)
class JudgeSelection:
    """Which judge a task wants."""

    enabled: bool = False
    name: str = ""
    variant: str = ""
    prompt: JudgePrompt = JudgePrompt()


@dataclass(frozen=True, slots=True)
class Rules:
    """Validation rules after merging."""

    case_sensitive: bool = False
    ignore_whitespace: bool = False
    trim_lines: bool = False
    schema_validation: bool = False
    custom_validator: str = ""
    judge: JudgeSelection = JudgeSelection()

    @property
    def method(self) -> Literal["exact", "schema", "semantic", "custom"]:
        """The validator's kind: custom, else judge, else schema, else value match (spec mindtrial 5)."""
        if self.custom_validator:
            return "custom"
        if self.judge.enabled:
            return "semantic"
        return "schema" if self.schema_validation else "exact"


@dataclass(frozen=True, slots=True)
class ToolSelection:
    """A tool that is enabled for a task, with its limits; None = unlimited."""

    name: str
    max_calls: int | None = None
    limits: ContainerLimits = ContainerLimits()


@dataclass(frozen=True, slots=True)
class Task:
    """One task, defaults merged.

    Attributes:
        response_format: Text instruction, or a JSON Schema for structured answers.
        expected: Accepted answers, raw (the schema for schema validation).
        system_prompt: Rendered text to send before the prompt; None = nothing.
        tools: Enabled tools only, default order first.
        service_inputs: service → input → scalar or template text, merged.
        max_turns: 0 = unlimited.
        must_pass: Pinned for gates.
        repeat: Times the task is tried per run; None = once, without a repeat index.
    """

    name: str
    prompt: str
    response_format: str | Mapping[str, Any]
    expected: tuple[Any, ...] = ()
    rules: Rules = Rules()
    system_prompt: str | None = None
    files: tuple[FileRef, ...] = ()
    tools: tuple[ToolSelection, ...] = ()
    service_inputs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    max_turns: int = 0
    metadata: Metadata = field(default_factory=Metadata)
    disabled: bool = False
    position: Position | None = None
    must_pass: bool = False
    repeat: int | None = None

    @property
    def wants_schema(self) -> bool:
        """True when the answer is structured."""
        return not isinstance(self.response_format, str)


@dataclass(frozen=True, slots=True)
class Suite:
    """A checked task file; ``tasks`` holds disabled ones too."""

    path: Path
    tasks: tuple[Task, ...]
