import time

import pytest

from pytest_mindtrial.core.errors import ConfigError
from pytest_mindtrial.suite.config import load_config
from pytest_mindtrial.suite.model import Pricing, RetryPolicy
from pytest_mindtrial.suite.parameters import TABLES


def refuse(load, *args, **kwargs):
    with pytest.raises(ConfigError) as info:
        load(*args, **kwargs)
    return str(info.value)


@pytest.mark.shared_data
def test_the_published_configuration_loads_without_keys(shared_data, monkeypatch):
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    start = time.process_time()
    config = load_config(shared_data / "config.yaml")
    assert time.process_time() - start < 0.5
    assert sum(not run.disabled for provider in config.providers for run in provider.runs) == 63
    assert [provider.name for provider in config.providers][:2] == ["openai", "openrouter"]
    assert [judge.name for judge in config.judges] == ["default"]
    assert [tool.name for tool in config.tools] == ["python-code-executor"]
    deepseek = next(provider for provider in config.providers if provider.name == "deepseek")
    assert deepseek.client.request_timeout_s == 900


def test_paths_are_joined_to_the_directory(config_of, tmp_path):
    config = config_of(
        "log-file: a.log\ntask-source: ./t.yaml\noutput-basename: base", output="output-dir: /abs/{{.Year}}"
    )
    assert config.output_dir == "/abs/{{.Year}}"
    assert config.log_file == str(tmp_path / "a.log")
    assert config.task_source == f"{tmp_path}/./t.yaml"
    assert config.output_basename == "base"


def test_blank_paths_stay_blank(config_of):
    config = config_of("log-file: ''")
    assert (config.log_file, config.task_source, config.output_basename) == ("", "", "")


@pytest.mark.parametrize(
    "output, message", [("", "is required"), ("output-dir: ''", "is required"), ("output-dir: ' '", "blank")]
)
def test_output_dir_is_required(config_of, output, message):
    assert f"config.output-dir: {message}" in refuse(config_of, output=output).replace("must not be ", "")


def test_path_templates_are_checked(config_of):
    assert "config.output-dir: path template" in refuse(config_of, output="output-dir: '{{.Yaer}}'")
    assert "config.log-file: path template" in refuse(config_of, "log-file: '{{'")


def test_providers_must_be_written_but_may_be_empty(config_of):
    assert config_of().providers == ()
    assert "config.providers: is required" in refuse(config_of, providers="")


def test_root_keys(tmp_path):
    path = tmp_path / "c.yaml"
    path.write_text("confg: {}\n")
    message = refuse(load_config, path)
    assert "unknown key 'confg'; did you mean 'config'?" in message
    assert "config: is required" in message


@pytest.mark.parametrize("text", ["- a\n- b\n", "hello\n", "5\n"])
def test_root_must_be_a_map(tmp_path, text):
    path = tmp_path / "c.yaml"
    path.write_text(text)
    assert "must be a map with the keys config" in refuse(load_config, path)


# providers and runs


@pytest.mark.parametrize("name", sorted(TABLES))
def test_provider_names(run_of, name):
    assert run_of(name).provider == name


def test_unknown_provider(run_of):
    assert "config.providers[0].name: must be one of openai" in refuse(run_of, "opnai")
    assert "did you mean 'openai'?" in refuse(run_of, "opnai")


def test_client_config_may_be_missing(run_of, config_of):
    provider = config_of(providers="providers:\n  - name: openai").providers[0]
    assert provider.client.api_key == ""
    assert provider.client.endpoint is None
    assert provider.runs == ()


def test_client_config_everywhere(config_of):
    text = """
    providers:
      - name: xai
        client-config:
          api-key: " k "
          endpoint: http://127.0.0.1:8000/v1
          request-timeout: 1m30s
          headers: {X-Team: 7}
          api: chat
    """
    client = config_of(providers=text).providers[0].client
    assert client.api_key == " k "
    assert client.endpoint == "http://127.0.0.1:8000/v1"
    assert client.request_timeout_s == 90
    assert client.headers == {"X-Team": "7"}
    assert client.api == "chat"
    assert " k " not in repr(client)


@pytest.mark.parametrize(
    "keys, message",
    [
        ("client-config: {endpoint: 'ftp://x'}", "client-config.endpoint: must be an http:// or https:// URL"),
        ("client-config: {endpoint: 'http://'}", "client-config.endpoint: must be an http:// or https:// URL"),
        ("client-config: {request-timeout: 5}", "client-config.request-timeout: must be a duration"),
        ("client-config: {request-timeout: 0s}", "client-config.request-timeout: must be longer than 0s"),
        ("client-config: {api: rest}", "client-config.api: must be one of auto, chat, responses"),
        ("client-config: {api_key: x}", "client-config.api_key: unknown key 'api_key'; did you mean 'api-key'?"),
        ("client-config: [x]", "client-config: must be a map"),
        ("max-parallel-requests-per-minute: -1", "max-parallel-requests-per-minute: must be at least 0, found -1"),
        ("disabled: 1", "disabled: must be true or false"),
        ("retry-polcy: {}", "unknown key 'retry-polcy'; did you mean 'retry-policy'?"),
        ("retry-policy: {max-retry-attempts: -1}", "retry-policy.max-retry-attempts: must be at least 0"),
        ("retry-policy: {initial-delay-seconds: 1.5}", "retry-policy.initial-delay-seconds: must be a whole number"),
    ],
)
def test_provider_mistakes(run_of, keys, message):
    found = refuse(run_of, keys=keys)
    assert f"config.providers[0].{message}" in found or message in found
    assert ".yaml:" in found


def test_null_sections_count_as_missing(run_of):
    assert run_of(keys="client-config: ~", run="model-parameters: ~").parameters == {}
    assert run_of(keys="client-config: {endpoint: ''}").name == "R"


@pytest.mark.parametrize("provider", ["mock", "local"])
def test_own_providers_keep_further_client_keys(config_of, provider):
    text = f"providers:\n  - name: {provider}\n    client-config: {{delay: 1s, answers: [a, 5], api: chat}}"
    client = config_of(providers=text).providers[0].client
    assert client.options == {"delay": "1s", "answers": ["a", 5]}
    assert client.api == "chat"


@pytest.mark.parametrize(
    "run, message",
    [
        ("max-requests-per-minute: -1", "runs[0].max-requests-per-minute: must be at least 0"),
        ("max-tokens-per-minute: 0.5", "runs[0].max-tokens-per-minute: must be a whole number, found the number 0.5"),
        ("max-requests-per-minute: '3'", "runs[0].max-requests-per-minute: must be a whole number, found the text '3'"),
        ("text-only: 1", "runs[0].text-only: must be true or false"),
        ("text_only: true", "unknown key 'text_only'; did you mean 'text-only'?"),
        ("model-parameters: [a]", "runs[0].model-parameters: must be a map, found a list"),
        ("model-parameters: {reasoning-efort: low}", "did you mean 'reasoning-effort'?"),
        (
            "model-parameters: {temperature: hot}",
            "model-parameters.temperature: must be a number, found the text 'hot'",
        ),
        ("model-parameters: {temperature: 3}", "temperature: must be between 0 and 2, found 3"),
        ("model-parameters: {reasoning-effort: huge}", "must be one of none, minimal, low"),
        ("model-parameters: {text-response-format: 1}", "model-parameters.text-response-format: must be true or false"),
        ("model-parameters: {max-completion-tokens: 0}", "max-completion-tokens: must be at least 1, found 0"),
    ],
)
def test_run_mistakes(run_of, run, message):
    assert message in refuse(run_of, run=run)


def test_parameters_are_read_by_their_type(run_of):
    run = run_of(
        run="model-parameters: {text-response-format: yes, temperature: 1, max-completion-tokens: 1e3, verbosity: ~}"
    )
    assert run.parameters == {"text-response-format": True, "temperature": 1, "max-completion-tokens": 1000}
    assert type(run.parameters["max-completion-tokens"]) is int


def test_openrouter_passes_unknown_parameters(run_of):
    text = "model-parameters: {reasoning_effort: xhigh, reasoning: {effort: high}, tool_choice: required, n: yes}"
    assert run_of("openrouter", run=text).parameters == {
        "reasoning_effort": "xhigh",
        "reasoning": {"effort": "high"},
        "tool_choice": "required",
        "n": "yes",
    }
    message = refuse(run_of, "openrouter", run="model-parameters: {max-token: 5}")
    assert (
        "model-parameters.max-token: unknown model parameter 'max-token' for openrouter; did you mean 'max-tokens'?"
        in message
    )
    assert "is a date; put it in quotes" in refuse(run_of, "openrouter", run="model-parameters: {since: 2025-01-01}")


def test_server_tools(run_of):
    text = """
    model-parameters:
      server-tools:
        - type: openrouter:fusion
          parameters: {max_tool_calls: 16}
    """
    tools = run_of("openrouter", run=text).parameters["server-tools"]
    assert tools == [{"type": "openrouter:fusion", "parameters": {"max_tool_calls": 16}}]


def test_combination_errors_are_placed(run_of):
    message = refuse(run_of, "anthropic", run="model-parameters:\n  max-tokens: 4096\n  thinking-budget-tokens: 8192")
    assert "model-parameters.thinking-budget-tokens: thinking-budget-tokens: must be less than max-tokens" in message


def test_mock_parameters_are_free(run_of):
    assert run_of("mock", run="model-parameters: {answers: {T: 4}, delay: 1s}").parameters["answers"] == {"T": 4}


def test_an_anchor_under_two_providers_is_read_for_each(config_of):
    text = """
    providers:
      - name: openai
        runs: [{name: a, model: m, model-parameters: &p {temperature: 1.8}}]
      - name: mistralai
        runs: [{name: a, model: m, model-parameters: *p}]
    """
    assert "temperature: must be between 0 and 1.5, found 1.8" in refuse(config_of, providers=text)


def test_disabled_structured_output_needs_text(run_of):
    text = "disable-structured-output: true\nmodel-parameters: {response-format: json-object}"
    message = refuse(run_of, "openrouter", run=text)
    assert (
        "runs[0].disable-structured-output: disable-structured-output requires response format to be plain text"
        in message
    )
    good = "disable-structured-output: true\nmodel-parameters: {response-format: text}"
    assert run_of("openrouter", run=good).disable_structured_output


def test_run_names_are_unique(config_of):
    text = "providers:\n  - name: xai\n    runs: [{name: a, model: m}, {name: a, model: n}]"
    assert "config.providers[0].runs: name 'a' is not unique: items 0 and 1 share it" in refuse(
        config_of, providers=text
    )


def test_provider_names_may_repeat(config_of):
    text = "providers:\n  - {name: xai, runs: [{name: a, model: m}]}\n  - {name: xai, runs: [{name: a, model: m}]}"
    providers = config_of(providers=text).providers
    assert [provider.index for provider in providers] == [0, 1]


@pytest.mark.parametrize("missing", ["name", "model"])
def test_run_needs_name_and_model(config_of, missing):
    keys = {"name": "a", "model": "m"}
    del keys[missing]
    text = f"providers:\n  - name: xai\n    runs:\n      - {keys}"
    assert f"config.providers[0].runs[0].{missing}: is required" in refuse(config_of, providers=text)


@pytest.mark.parametrize(
    "provider, run, disabled",
    [
        ("", "", False),
        ("disabled: true", "", True),
        ("disabled: true", "disabled: false", False),
        ("disabled: true", "disabled: ~", True),
        ("disabled: false", "disabled: yes", True),
    ],
)
def test_disabled_has_three_states(run_of, provider, run, disabled):
    assert run_of(keys=provider, run=run).disabled is disabled


@pytest.mark.parametrize(
    "provider, run, policy",
    [
        ("", "", None),
        ("retry-policy: {max-retry-attempts: 5, initial-delay-seconds: 30}", "", RetryPolicy(5, 30)),
        (
            "retry-policy: {max-retry-attempts: 5, initial-delay-seconds: 30}",
            "retry-policy: {max-retry-attempts: 3}",
            RetryPolicy(3, 1),
        ),
        ("retry-policy: {max-retry-attempts: 5, initial-delay-seconds: 30}", "retry-policy: {}", RetryPolicy(0, 0)),
        ("retry-policy: {max-retry-attempts: 5, initial-delay-seconds: 30}", "retry-policy: ~", RetryPolicy(5, 30)),
        ("", "retry-policy: {initial-delay-seconds: 9}", RetryPolicy(0, 9)),
        ("retry-policy: {max-retry-attempts: 2}", "", RetryPolicy(2, 1)),
    ],
)
def test_retry_policy_is_inherited_as_a_whole(run_of, provider, run, policy):
    assert run_of(keys=provider, run=run).retry_policy == policy


PRICES = "{currency: EUR, input-per-million: 1, output-per-million: 2.5}"


@pytest.mark.parametrize(
    "provider, run, pricing",
    [
        ("", "", None),
        (f"pricing: {PRICES}", "", Pricing("EUR", 1, 2.5)),
        (f"pricing: {PRICES}", "pricing: {}", Pricing("EUR", 1, 2.5)),
        (f"pricing: {PRICES}", "pricing: ~", Pricing("EUR", 1, 2.5)),
        (f"pricing: {PRICES}", "pricing: {input-per-million: 0}", Pricing("USD", 0)),
        ("", "pricing: {currency: usd, reasoning-per-million: 3}", Pricing("usd", reasoning_per_million=3)),
        ("", "pricing: {}", None),
    ],
)
def test_pricing_is_inherited_as_a_whole(run_of, provider, run, pricing):
    assert run_of(keys=provider, run=run).pricing == pricing


def test_application_pricing_reaches_runs_and_judges(config_of):
    text = """
    pricing: {input-per-million: 7}
    judges:
      - name: j
        provider: {name: mock, runs: [{name: v, model: m}]}
    """
    config = config_of(text, providers="providers: [{name: mock, runs: [{name: r, model: m}]}]")
    assert config.providers[0].runs[0].pricing == Pricing("USD", 7)
    assert config.judges[0].provider.runs[0].pricing == Pricing("USD", 7)


@pytest.mark.parametrize(
    "pricing, message",
    [
        ("{currency: USD}", "pricing.currency: currency specified without any price"),
        ("{currency: US, input-per-million: 1}", "pricing.currency: must be a currency code of three letters"),
        ("{currency: ÜSD, input-per-million: 1}", "three letters"),
        ("{input-per-million: -1}", "pricing.input-per-million: must be at least 0"),
        ("{input-per-million: .inf}", "pricing.input-per-million: must be a finite number"),
        ("{input-per-million: '1'}", "pricing.input-per-million: must be a number"),
        ("{input: 1}", "unknown key 'input'"),
    ],
)
@pytest.mark.parametrize("level", ["application", "provider", "run"])
def test_pricing_mistakes(run_of, config_of, level, pricing, message):
    if level == "application":
        assert message in refuse(config_of, f"pricing: {pricing}")
    else:
        assert message in refuse(run_of, **{"keys" if level == "provider" else "run": f"pricing: {pricing}"})


# judges


JUDGE = """
judges:
  - name: J
    provider:
      name: mistralai
      disabled: {provider}
      runs:
        - {{name: fast, model: m, disabled: {fast}}}
        - {{name: slow, model: m}}
"""


def test_disabled_variants_are_removed(config_of):
    judge = config_of(JUDGE.format(provider="false", fast="true")).judges[0]
    assert [run.name for run in judge.provider.runs] == ["slow"]
    assert judge.position.path == "config.judges[0]"


def test_a_judge_without_variants_does_not_exist(config_of):
    assert config_of(JUDGE.format(provider="true", fast="true")).judges == ()
    assert [run.name for run in config_of(JUDGE.format(provider="true", fast="false")).judges[0].provider.runs] == [
        "fast"
    ]


@pytest.mark.parametrize(
    "judge, message",
    [
        ("{name: j}", "config.judges[0].provider: is required"),
        ("{provider: {name: xai}}", "config.judges[0].name: is required"),
        (
            "{name: j, provider: {name: xai, runs: [{name: v, model: m, disable-structured-output: true}]}}",
            "config.judges[0].provider.runs[0].disable-structured-output: judge 'j', variant 'v': judges need",
        ),
        (
            "{name: j, provider: {name: xai, runs: [{name: v, model: m, model-parameters: {top-k: 1}}]}}",
            "config.judges[0].provider.runs[0].model-parameters.top-k: unknown model parameter 'top-k' for xai",
        ),
        ("{name: j, provider: {name: xai, client-config: {x: 1}}}", "client-config.x: unknown key 'x'"),
    ],
)
def test_judge_mistakes(config_of, judge, message):
    assert message in refuse(config_of, f"judges: [{judge}]")


def test_judge_names_are_unique(config_of):
    assert "name 'j' is not unique" in refuse(
        config_of, "judges: [{name: j, provider: {name: xai}}, {name: j, provider: {name: xai}}]"
    )


# tools, services, validators


TOOL = "{{name: t, image: i, description: d, parameters: {{type: object}}{more}}}"


def test_a_full_tool(config_of):
    text = """
    tools:
      - name: t
        image: i
        description: d
        parameters: {type: object, properties: {code: {type: string}}}
        parameter-files: {code: /app/./main.py}
        auxiliary-dir: /app/data/
        shared-dir: /app/shared
        command: [python, 5]
        env: {N: 1}
        dependencies: [{service: s, env: {URL: '{{ .Endpoint }}'}}]
    """
    (tool,) = config_of(text).tools
    assert tool.parameter_files == {"code": "/app/main.py"}
    assert (tool.auxiliary_dir, tool.shared_dir, tool.command, tool.env) == (
        "/app/data",
        "/app/shared",
        ("python", "5"),
        {"N": "1"},
    )
    assert tool.dependencies[0].env == {"URL": "{{ .Endpoint }}"}


@pytest.mark.parametrize(
    "more, message",
    [
        (", parameter-files: {code: main.py}", "tools[0].parameter-files.code: must be an absolute container path"),
        (", auxiliary-dir: data", "tools[0].auxiliary-dir: must be an absolute container path"),
        (", shared-dir: ./x", "tools[0].shared-dir: must be an absolute container path"),
        (
            ", auxiliary-dir: /a, shared-dir: /a/",
            "tools[0].shared-dir: container path '/a' is already used by auxiliary-dir",
        ),
        (
            ", parameter-files: {a: /x, b: /y/../x}",
            "tools[0].parameter-files.b: container path '/x' is already used by parameter-files.a",
        ),
        (", file_mappings: {}", "unknown key 'file_mappings'"),
        (", dependencies: [{service: s}, {service: s}]", "tools[0].dependencies: service 's' is not unique"),
        (
            ", dependencies: [{service: s, env: {U: '{{ .Endpont }}'}}]",
            "dependencies[0].env.U: dependency env template",
        ),
        (", dependencies: [{}]", "dependencies[0].service: is required"),
        (", command: python", "tools[0].command: must be a list"),
    ],
)
def test_tool_mistakes(config_of, more, message):
    assert message in refuse(config_of, f"tools: [{TOOL.format(more=more)}]")


@pytest.mark.parametrize("key", ["name", "image", "description", "parameters"])
def test_tool_required_keys(config_of, key):
    keys = {"name": "t", "image": "i", "description": "d", "parameters": "{}"}
    del keys[key]
    text = ", ".join(f"{name}: {value}" for name, value in keys.items())
    assert f"config.tools[0].{key}: is required" in refuse(config_of, f"tools: [{{{text}}}]")


def test_tool_parameters_must_be_a_schema(config_of):
    text = "tools: [{name: t, image: i, description: d, parameters: {type: objekt}}]"
    assert "config.tools[0].parameters: parameters must be a valid JSON schema: " in refuse(config_of, text)
    remote = "tools: [{name: t, image: i, description: d, parameters: {$ref: 'https://example.org/x'}}]"
    assert "lies outside the schema" in refuse(config_of, remote)
    assert config_of("tools: [{name: t, image: i, description: d, parameters: {}}]").tools[0].parameters == {}


def test_tool_names_are_unique(config_of):
    tool = TOOL.format(more="")
    assert "config.tools: name 't' is not unique" in refuse(config_of, f"tools: [{tool}, {tool}]")


def test_a_full_service(config_of):
    text = """
    services:
      - name: s
        image: i
        command: [run]
        env: {CURRENCY: CAD}
        endpoint: {port: 8080}
        input-env: {customer_id: CUSTOMER}
        healthcheck: [check]
        max-memory-mb: 64
        cpu-percent: 50
    """
    (service,) = config_of(text).services
    assert (service.port, service.scheme, service.startup_timeout_s) == (8080, "http", 15.0)
    assert service.input_env == {"customer_id": "CUSTOMER"}
    assert (service.limits.max_memory_mb, service.limits.cpu_percent) == (64, 50)


@pytest.mark.parametrize(
    "keys, message",
    [
        ("", "services[0].endpoint: is required"),
        ("endpoint: {}", "services[0].endpoint.port: is required"),
        ("endpoint: {port: 0}", "must be at least 1"),
        ("endpoint: {port: 65536}", "must be at most 65535"),
        ("endpoint: {port: 80, scheme: ftp}", "scheme: must be one of http, https"),
        ("endpoint: {port: 80}, startup-timeout: 0s", "startup-timeout: must be longer than 0s"),
        ("endpoint: {port: 80}, max-memory-mb: 5", "max-memory-mb: must be at least 6"),
        ("endpoint: {port: 80}, cpu-percent: 101", "cpu-percent: must be at most 100"),
        ("endpoint: {port: 80}, cpu-percent: 0", "cpu-percent: must be at least 1"),
        ("endpoint: {port: 80}, input-env: {a: ''}", "input 'a' needs the name of an environment variable"),
        ("endpoint: {port: 80}, input-env: {'': A}", "an input needs a name"),
    ],
)
def test_service_mistakes(config_of, keys, message):
    assert message in refuse(config_of, f"services: [{{name: s, image: i, {keys}}}]")


def test_a_full_validator(config_of):
    text = """
    validators:
      - name: v
        image: i
        command: [check, '{{ .Task.Name }}']
        env: {SEED: '{{ hash .Evaluation.Seed }}'}
        template-files: [{path: /in/./a, template: '{{ json .OriginalTask.ExpectedResults }}'}, {path: /in/b}]
        dependencies: [{service: s}]
        timeout: 60s
        max-memory-mb: 64
        cpu-percent: 1
    """
    (validator,) = config_of(text).validators
    assert [file.path for file in validator.template_files] == ["/in/a", "/in/b"]
    assert validator.limits.timeout_s == 60


@pytest.mark.parametrize(
    "keys, message",
    [
        ("template-files: [{path: a}]", "template-files[0].path: must be an absolute container path"),
        ("template-files: [{}]", "template-files[0].path: is required"),
        ("template-files: [{path: /a/b}, {path: /a/./b}]", "path '/a/b' is not unique"),
        ("template-files: [{path: /a, template: '{{ .Nope }}'}]", "template-files[0].template: validator template"),
        ("command: ['{{ .Verdict.Format }}']", "command[0]: validator template"),
        ("env: {A: '{{ end }}'}", "env.A: validator template"),
        ("timeout: 0s", "timeout: must be longer than 0s"),
        (
            "dependencies: [{service: s, env: {A: '{{ .Task.Name }}'}}]",
            "dependencies[0].env.A: dependency env template",
        ),
    ],
)
def test_validator_mistakes(config_of, keys, message):
    assert message in refuse(config_of, f"validators: [{{name: v, image: i, {keys}}}]")


@pytest.mark.parametrize("value", ["strict", "lenient"])
def test_tool_argument_validation(config_of, value):
    assert config_of(f"tool-argument-validation: {value}").tool_argument_validation == value


def test_tool_argument_validation_words(config_of):
    assert config_of().tool_argument_validation == "strict"
    assert "must be one of strict, lenient" in refuse(config_of, "tool-argument-validation: off-ish")


def test_all_mistakes_come_together(config_of):
    text = """
    providers:
      - name: openai
        client-config: {endpont: x}
        runs:
          - {name: a, model: m, model-parameters: {temperature: 9}, text-only: 1}
    """
    message = refuse(config_of, "tols: []", providers=text)
    assert "4 problems" in message
    for part in ("endpont", "temperature", "text-only", "tols"):
        assert part in message
