import jsonschema
import pytest

from pytest_mindtrial.core.errors import UserError
from pytest_mindtrial.suite.parameters import TABLES
from pytest_mindtrial.suite.schema import config_schema, tasks_schema

SCHEMAS = {"config": config_schema(), "tasks": tasks_schema()}


def errors(which, value):
    return list(jsonschema.Draft202012Validator(SCHEMAS[which]).iter_errors(value))


@pytest.mark.parametrize("which", ["config", "tasks"])
def test_schemas_are_schemas(which):
    jsonschema.Draft202012Validator.check_schema(SCHEMAS[which])
    assert SCHEMAS[which]["$schema"].endswith("2020-12/schema")


@pytest.mark.shared_data
@pytest.mark.parametrize("which", ["config", "tasks"])
def test_published_files_fit(which, shared_data, untyped):
    assert errors(which, untyped((shared_data / f"{which}.yaml").read_bytes())) == []


def test_provider_names_are_those_of_the_tables():
    assert SCHEMAS["config"]["$defs"]["ProviderModel"]["properties"]["name"]["enum"] == list(TABLES)


def test_every_key_has_a_description_and_no_title():
    for schema in SCHEMAS.values():
        for name, definition in schema["$defs"].items():
            assert "title" not in definition or isinstance(definition["title"], dict)
            for key, item in definition.get("properties", {}).items():
                assert item.get("description"), (name, key)
                assert "_" not in key


def config(provider="openai", run="", client="{}"):
    return f"""
config:
  output-dir: out
  providers:
    - name: {provider}
      client-config: {client}
      runs:
        - {{name: r, model: m{run}}}
"""


GOOD_CONFIGS = [
    config(),
    config(run=", disabled: ~, pricing: {input-per-million: 1}, retry-policy: {max-retry-attempts: 1}"),
    config("anthropic", ", model-parameters: {max-tokens: 5, effort: high, top-k: ~}"),
    config("openrouter", ", model-parameters: {max-tokens: 5, reasoning: {effort: high}}"),
    config("openrouter", ", model-parameters: {server-tools: [{type: x, parameters: {a: 1}}]}"),
    config("mock", ", model-parameters: {anything: 1}", "{delay: 1s}"),
    config("google", ", model-parameters: ~", "{request-timeout: 1m30s}"),
]
BAD_CONFIGS = [
    "config: {}",
    "confg: {}",
    config("opnai"),
    config(run=", text_only: true"),
    config(run=", model-parameters: {temperature: 3}"),
    config(run=", model-parameters: {effort: high}"),
    config("anthropic", ", model-parameters: {effort: huge}"),
    config("anthropic", ", model-parameters: {stream: 1}"),
    config("openrouter", ", model-parameters: {max-token: 5}"),
    config("openrouter", ", model-parameters: {server-tools: [{parameters: {}}]}"),
    config(client="{delay: 1s}"),
    config(client="{request-timeout: 5}"),
    config(run=", max-requests-per-minute: -1"),
    config("mistralai", ", model-parameters: {temperature: 1.6}"),
]


@pytest.mark.parametrize("text", GOOD_CONFIGS)
def test_good_configurations(text, untyped):
    assert errors("config", untyped(text)) == []


@pytest.mark.parametrize("text", BAD_CONFIGS)
def test_bad_configurations(text, untyped, tmp_path):
    assert errors("config", untyped(text))
    from pytest_mindtrial.suite.config import load_config

    (tmp_path / "c.yaml").write_text(text)
    with pytest.raises(UserError):
        load_config(tmp_path / "c.yaml")


TASK = "{name: T, prompt: P, response-result-format: F, expected-result: E%s}"


@pytest.mark.parametrize(
    "more",
    [
        "",
        ", tags: [a, 1], repeat: 2, must-pass: true, disabled: ~",
        ", validation-rules: {judge: {enabled: true, prompt: {verdict-format: {type: object}, passing-verdicts: [1]}}}",
        ", tool-selector: {tools: [{name: t, timeout: 60s}], service-inputs: {s: {a: 1}}}",
        ", files: [{name: a, uri: b, options: {access: [local]}}]",
    ],
)
def test_good_tasks(more, untyped):
    assert errors("tasks", untyped(f"task-config: {{tasks: [{TASK % more}]}}")) == []


@pytest.mark.parametrize(
    "more",
    [
        ", promt: x",
        ", repeat: 0",
        ", tags: a",
        ", validation-rules: {case_sensitive: true}",
        ", tool-selector: {tools: [{name: t, timeout: 60}]}",
        ", tool-selector: {tools: [{name: t, cpu-percent: 101}]}",
        ", files: [{name: a, uri: b, options: {access: [remote]}}]",
        ", system-prompt: {enable-for: some}",
    ],
)
def test_bad_tasks(more, untyped):
    assert errors("tasks", untyped(f"task-config: {{tasks: [{TASK % more}]}}"))
