"""One more vendor of the chat dialect is data: a profile and parameter rows, given to `register_profile`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_mindtrial.core.errors import ConfigError
from pytest_mindtrial.core.record import Result
from pytest_mindtrial.core.values import Kind
from pytest_mindtrial.engine.attempts import AttemptSettings
from pytest_mindtrial.engine.clients import ClientSettings
from pytest_mindtrial.engine.engine import Engine
from pytest_mindtrial.engine.plan import AttemptPlan
from pytest_mindtrial.providers import profiles
from pytest_mindtrial.providers.native_files import IMAGES, accepts_types
from pytest_mindtrial.providers.profiles import Profile, register_profile
from pytest_mindtrial.providers.usage import UsagePaths
from pytest_mindtrial.suite.config import load_config
from pytest_mindtrial.suite.keys import KEY_VARIABLES
from pytest_mindtrial.suite.model import Task
from pytest_mindtrial.suite.parameter_builders import effort, temperature
from pytest_mindtrial.suite.parameter_rows import TABLES
from pytest_mindtrial.suite.parameter_types import ParameterTable
from tests.support.loopback import Loopback
from tests.support.said import Said, wrapped
from tests.support.vendor_forms import respond

NEW = Profile(
    name="example",
    base_url="https://api.example.com/v1",
    key_variable="EXAMPLE_API_KEY",
    dialect="chat",
    default_mode="object",
    accepts=accepts_types(IMAGES),
    usage=UsagePaths(("prompt_tokens",), ("completion_tokens",)),
    instruction_role="system",
    sends_cache_key=True,
    table=ParameterTable("example", (temperature(1.5), effort(("low", "high")))),
)

CONFIG = """\
config:
  output-dir: results
  task-source: tasks.yaml
  providers:
    - name: example
      client-config: {{endpoint: "{url}"}}
      runs:
        - {{name: one, model: ex-1, model-parameters: {{temperature: {temperature}, reasoning-effort: low}}}}
"""


@pytest.fixture
def registered() -> Iterator[Profile]:
    register_profile(NEW)
    yield NEW
    for table in (profiles._profiles, TABLES, KEY_VARIABLES):
        del table[NEW.name]


def written(path: Path, **values: Any) -> Path:
    file = path / "config.yaml"
    file.write_text(CONFIG.format(**values), encoding="utf-8")
    return file


@pytest.mark.usefixtures("registered")
def test_a_configuration_file_may_name_the_new_vendor(server: Loopback, tmp_path: Path) -> None:
    server.respond(lambda request: respond(request, Said(wrapped("4"))))
    config = load_config(written(tmp_path, url=server.url, temperature=0.5))
    (entry,) = config.providers
    settings = AttemptSettings(clients=ClientSettings(environ={"EXAMPLE_API_KEY": "sk-example-1"}))
    engine = Engine(configs=[config], attempts=settings)
    engine.start()
    try:
        plan = AttemptPlan(Task("sum", "What is 2+2?", "one number", expected=("4",)), entry.runs[0], entry, "seed")
        result: Result = engine.submit(plan).result(30)
    finally:
        engine.close(2)
    assert result.kind is Kind.PASSED
    (seen,) = server.requests
    assert seen.headers["authorization"] == "Bearer sk-example-1"
    assert (seen.path, seen.json["model"]) == ("/chat/completions", "ex-1")
    assert (seen.json["temperature"], seen.json["reasoning_effort"]) == (0.5, "low")
    assert seen.json["response_format"] == {"type": "json_object"}
    assert [message["role"] for message in seen.json["messages"]] == ["system", "user"]


@pytest.mark.usefixtures("registered")
def test_its_rows_check_its_parameters_with_the_place_in_the_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"config\.yaml:8:.*temperature: must be between 0 and 1.5, found 1.7"):
        load_config(written(tmp_path, url="http://127.0.0.1:9", temperature=1.7))


def test_without_registration_the_name_is_unknown(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"must be one of openai.*found 'example'"):
        load_config(written(tmp_path, url="http://127.0.0.1:9", temperature=1))
