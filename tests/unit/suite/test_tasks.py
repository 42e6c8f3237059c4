import textwrap
import time

import pytest

from pytest_mindtrial.core.errors import TaskError
from pytest_mindtrial.core.record import Metadata
from pytest_mindtrial.suite.model import ContainerLimits, Rules, ToolSelection
from pytest_mindtrial.suite.tasks import DEFAULT_SYSTEM_PROMPT, load_suite


def refuse(load, *args, **kwargs):
    with pytest.raises(TaskError) as info:
        load(*args, **kwargs)
    return str(info.value)


@pytest.mark.shared_data
def test_the_published_suite_loads(shared_data):
    start = time.process_time()
    suite = load_suite(shared_data / "tasks.yaml")
    assert time.process_time() - start < 0.5
    assert len(suite.tasks) == 98
    assert sum(not task.disabled for task in suite.tasks) == 97
    assert suite.tasks[0].position.path == "task-config.tasks[0]"


def test_a_small_task(task_of):
    task = task_of()
    assert (task.name, task.prompt, task.response_format, task.expected) == ("T", "P", "F", ("E",))
    assert task.rules == Rules()
    assert task.system_prompt == DEFAULT_SYSTEM_PROMPT + "F"
    assert (task.max_turns, task.disabled, task.repeat, task.must_pass) == (0, False, None, False)
    assert task.metadata == Metadata()
    assert not task.wants_schema


def test_labels_and_extensions(task_of):
    task = task_of("suite: S\ncategory: 5\ndifficulty: easy\ntags: [b, a, b, 1]\nrepeat: 3\nmust-pass: yes")
    assert task.metadata == Metadata("S", "5", "easy", ("b", "a", "b", "1"))
    assert (task.repeat, task.must_pass) == (3, True)


@pytest.mark.parametrize(
    "keys, message",
    [
        ("repeat: 0", "repeat: must be at least 1, found 0"),
        ("must-pass: 1", "must-pass: must be true or false"),
        ("max-turns: -1", "max-turns: must be at least 0"),
        ("tags: smoke", "tags: must be a list, found the text 'smoke'"),
        ("promt: x", "unknown key 'promt'; did you mean 'prompt'?"),
        ("validation-rules: {case_sensitive: true}", "unknown key 'case_sensitive'; did you mean 'case-sensitive'?"),
        ("validation-rules: {judge: {enable: true}}", "unknown key 'enable'; did you mean 'enabled'?"),
        ("validation-rules: {judge: {prompt: {verdict: x}}}", "unknown key 'verdict'"),
        ("system-prompt: {enable-for: everything}", "system-prompt.enable-for: must be one of all, text, none"),
        ("tool-selector: {tool: []}", "unknown key 'tool'; did you mean 'tools'?"),
        ("files: [{name: a, uri: b, acess: c}]", "unknown key 'acess'"),
        ("files: [{name: a, uri: b, options: {image-detail: huge}}]", "image-detail: must be one of auto, low"),
        ("files: [{name: a, uri: b, options: {access: [remote]}}]", "access[0]: must be one of native, local"),
        ("files: [{name: a, uri: b, options: {access: [local, local]}}]", "access: lists a value twice"),
        ("files: [{name: a, uri: b}, {name: a, uri: c}]", "files: name 'a' is not unique: items 0 and 1"),
        ("files: [{uri: b}]", "files[0].name: is required"),
        ("files: [{name: a}]", "files[0].uri: is required"),
        ("files: [{name: a, uri: ''}]", "files[0].uri: invalid URI: empty URI value"),
        ("files: [{name: a, uri: 'ftp://x/y'}]", "files[0].uri: invalid URI: unsupported scheme: ftp"),
        ("files: [{name: ../a, uri: b}]", "files[0].name: file name '../a' leaves the tools' directory"),
        ("files: [{name: /a, uri: b}]", "leaves the tools' directory"),
        ("files: [{name: b/../.., uri: b}]", "leaves the tools' directory"),
    ],
)
def test_task_mistakes(task_of, keys, message):
    found = refuse(task_of, keys)
    assert message in found
    assert "task-config.tasks[0]" in found


@pytest.mark.parametrize(
    "part, message",
    [
        ({"prompt": ""}, "tasks[0].prompt: is required"),
        ({"prompt": "prompt: ''"}, "tasks[0].prompt: is required"),
        ({"form": ""}, "tasks[0].response-result-format: is required"),
        ({"form": "response-result-format: 5"}, "must be either plain text or a JSON schema object, found 5"),
        ({"form": "response-result-format: [a]"}, "must be either plain text or a JSON schema object"),
        ({"expected": ""}, "tasks[0].expected-result: expected-result is required unless custom-validator"),
        ({"expected": "expected-result: ~"}, "expected-result is required"),
        ({"expected": "expected-result: []"}, "expected-result is required"),
    ],
)
def test_required_keys(task_of, part, message):
    assert message in refuse(task_of, **part)


def test_blank_values_that_pass(task_of):
    assert task_of(prompt="prompt: ' '").prompt == " "
    assert task_of(form="response-result-format: ''").response_format == ""
    assert task_of(form="response-result-format: yes").response_format == "yes"


def test_task_names_are_unique_and_exact(tasks_of):
    def body(first, second):
        keys = "prompt: P, response-result-format: F, expected-result: E"
        return f"task-config:\n  tasks:\n    - {{name: {first}, {keys}}}\n    - {{name: {second}, {keys}}}\n"

    message = refuse(tasks_of, body("A", "A"))
    assert "tasks.yaml:4:14 task-config.tasks[1].name: task name 'A' is not unique, already used at " in message
    assert message.endswith("tasks.yaml:3:7")
    assert len(tasks_of(body("A", "a")).tasks) == 2
    twice = "task-config: {tasks: [{name: A, promt: x}, {name: A, promt: x}]}"
    assert "task name 'A' is not unique" in refuse(tasks_of, twice)
    same = body("A", "B").replace("tasks:\n    - ", "tasks:\n    - &t ") + "    - *t\n"
    assert "task name 'A' is not unique" in refuse(tasks_of, same)


@pytest.mark.parametrize(
    "text, message",
    [
        ("task-config: {}", "task-config.tasks: is required"),
        ("task-config:\n  tasks: ~", "task-config.tasks: is required"),
        ("task-config:\n  tasks: x", "task-config.tasks: must be a list of tasks, found the text 'x'"),
        ("task-config:\n  tasks: [x]", "task-config.tasks[0]: must be a map with the keys name, prompt"),
        ("{}", "task-config: is required"),
        ("- a", "must be a map with the keys task-config"),
        ("task-confg: {tasks: []}", "unknown key 'task-confg'; did you mean 'task-config'?"),
        ("task-config: {tasks: [], max-turns: -1}", "task-config.max-turns: must be at least 0"),
        ("task-config: [a]", "task-config: must be a map with the keys tasks"),
    ],
)
def test_root_mistakes(tasks_of, text, message):
    assert message in refuse(tasks_of, text)


def test_no_tasks(tasks_of):
    assert tasks_of("task-config: {tasks: []}").tasks == ()


def test_all_mistakes_come_together(tasks_of):
    text = """
    task-config:
      disabled: 1
      tasks:
        - name: A
          promt: x
        - name: B
          prompt: x
          response-result-format: F
          expected-result: 4
          max-turns: x
    """
    message = refuse(tasks_of, text)
    for part in ("disabled", "promt", "tasks[0].prompt: is required", "max-turns"):
        assert part in message


@pytest.mark.parametrize(
    "default, own, disabled",
    [
        ("", "", False),
        ("disabled: true", "", True),
        ("disabled: true", "disabled: false", False),
        ("disabled: true", "disabled: ~", True),
        ("", "disabled: on", True),
    ],
)
def test_disabled_has_three_states(task_of, default, own, disabled):
    assert task_of(own, default).disabled is disabled


@pytest.mark.parametrize(
    "default, own, turns", [("", "", 0), ("max-turns: 5", "", 5), ("max-turns: 5", "max-turns: 0", 0)]
)
def test_max_turns(task_of, default, own, turns):
    assert task_of(own, default).max_turns == turns


# validation rules


def rules(text):
    return "validation-rules:\n" + textwrap.indent(textwrap.dedent(text).strip(), "  ")


def test_rules_merge_field_by_field(task_of):
    task = task_of(
        rules("trim-lines: true\ncase-sensitive: false"), rules("case-sensitive: true\nignore-whitespace: true")
    )
    assert task.rules == Rules(case_sensitive=False, ignore_whitespace=True, trim_lines=True)


def test_null_rules_inherit(task_of):
    assert task_of("validation-rules: ~", rules("trim-lines: true")).rules.trim_lines
    assert task_of(rules("trim-lines: ~"), rules("trim-lines: true")).rules.trim_lines


JUDGE = """
judge:
  enabled: false
  name: J
  variant: fast
  prompt:
    template: "{{.Candidate.Response}}"
    verdict-format: one word
    passing-verdicts: [yes, good]
"""


def test_judge_merges_recursively(task_of):
    judge = task_of(
        rules("judge: {enabled: true, variant: slow, prompt: {passing-verdicts: fine}}"), rules(JUDGE)
    ).rules.judge
    assert (judge.enabled, judge.name, judge.variant) == (True, "J", "slow")
    assert judge.prompt.template == "{{.Candidate.Response}}"
    assert judge.prompt.verdict_format == "one word"
    assert judge.prompt.passing_verdicts == ("fine",)


def test_a_disabled_judge_keeps_its_settings(task_of):
    judge = task_of("", rules(JUDGE)).rules.judge
    assert not judge.enabled
    assert judge.prompt.passing_verdicts == ("yes", "good")


@pytest.mark.parametrize("blank", ["''", "'  '"])
def test_a_blank_judge_template_is_the_built_in_one(task_of, blank):
    task = task_of(rules(f"judge: {{enabled: true, prompt: {{template: {blank}}}}}"), rules(JUDGE))
    assert task.rules.judge.prompt.template is None
    assert task.rules.judge.prompt.verdict_format == "one word"


def test_custom_validator_is_inherited_and_switched_off(task_of):
    default = rules("custom-validator: V")
    assert task_of("", default).rules.custom_validator == "V"
    assert task_of(rules("custom-validator: ''"), default).rules.custom_validator == ""
    assert task_of(rules("custom-validator: ' '"), default).rules.method == "exact"
    assert task_of(rules("custom-validator: ~"), default).rules.method == "custom"


# expected results


NUMBER = "response-result-format: {type: number}"
ARRAY = "response-result-format: {type: array, items: {type: integer}}"
OBJECT = "response-result-format: {type: object, properties: {n: {type: integer}}, required: [n]}"


@pytest.mark.parametrize(
    "form, written, expected",
    [
        ("response-result-format: F", "yes", ("yes",)),
        ("response-result-format: F", "1:30", ("1:30",)),
        ("response-result-format: F", "[a, b, a]", ("a", "b", "a")),
        (NUMBER, "10", (10,)),
        (NUMBER, "[9, 10]", (9, 10)),
        (ARRAY, "[[1, 2]]", ([1, 2],)),
        (OBJECT, "{n: 1}", ({"n": 1},)),
        (OBJECT, "[{n: 1}, {n: 2.0}]", ({"n": 1}, {"n": 2.0})),
    ],
)
def test_expected_results_are_a_set(task_of, form, written, expected):
    assert task_of(form=form, expected=f"expected-result: {written}").expected == expected


@pytest.mark.parametrize(
    "written, found",
    [
        ("4", "4"),
        ("true", "True"),
        ("2025-09-14", "2025-09-14"),
        ("[a, 1.5]", "1.5"),
        ("{a: 1}", "{'a': 1}"),
        ("[[a]]", "['a']"),
    ],
)
def test_plain_text_needs_plain_text(task_of, written, found):
    message = refuse(task_of, expected=f"expected-result: {written}")
    assert (
        f"when response-result-format is plain text, all expected-result values must be plain text, found {found}"
        in message
    )
    assert ("put it in quotes" in message) is (found[0] not in "{[")


@pytest.mark.parametrize(
    "form, written, message",
    [
        (ARRAY, "[1, 2]", "item 1 $: 1 is not of type 'array'; an array answer is written as a list inside the list"),
        (OBJECT, "{m: 1}", "does not conform to response-result-format schema: item 1 $: 'n' is a required property"),
        (OBJECT, "[{n: 1}, {n: x}]", "item 2 $.n: 'x' is not of type 'integer'"),
        (OBJECT, "{1: a}", "the key 1 is not a text"),
        (NUMBER, ".nan", "nan is not a JSON number"),
        ("response-result-format: {type: string}", "2025-09-14", "is a date; put it in quotes"),
    ],
)
def test_values_must_fit_the_schema(task_of, form, written, message):
    assert message in refuse(task_of, form=form, expected=f"expected-result: {written}")


@pytest.mark.parametrize(
    "schema, message",
    [
        ("{type: objekt}", "contains an invalid JSON schema"),
        ("{properties: 5}", "contains an invalid JSON schema"),
        ("{pattern: '('}", "contains an invalid JSON schema"),
        ("{$ref: 'https://example.org/s'}", "contains an invalid JSON schema"),
        ("{$ref: '#/$defs/x'}", "contains an invalid JSON schema"),
        ("{$schema: 'urn:none'}", "contains an invalid JSON schema"),
        ("{1: x}", "the key 1 is not a text"),
        ("{const: 2025-01-01}", "is a date"),
    ],
)
def test_schemas_that_are_none(task_of, schema, message):
    found = refuse(task_of, form=f"response-result-format: {schema}", expected="expected-result: {}")
    assert (
        "task-config.tasks[0].response-result-format: response-result-format contains an invalid JSON schema" in found
    )
    assert message in found


def test_a_schema_that_never_ends(task_of):
    form = "response-result-format: {$ref: '#'}"
    assert "refers to itself without end" in refuse(task_of, form=form)


def test_a_schema_nested_too_deeply(task_of):
    schema = "{items: " * 150 + "{}" + "}" * 150
    assert "nested too deeply" in refuse(task_of, form=f"response-result-format: {schema}")


@pytest.mark.parametrize("schema", ["{pattern: '^a(?=b)'}", "{$defs: {x: {type: string}}, $ref: '#/$defs/x'}", "{}"])
def test_schemas_that_are_fine(task_of, schema):
    assert task_of(form=f"response-result-format: {schema}", expected="expected-result: ab").wants_schema


# rules between keys (the numbers of the contract)


def test_rule_1_access_must_not_be_empty(task_of):
    message = refuse(task_of, "files: [{name: a, uri: b, options: {access: []}}]")
    assert "tasks[0].files[0].options.access: file 'a' access must not be empty" in message
    assert "task-config.file-options.access: access must not be empty" in refuse(
        task_of, "", "file-options: {access: []}"
    )


def test_rule_2_schema_and_judge(task_of):
    message = refuse(task_of, rules("schema-validation: true"), rules("judge: {enabled: true}"))
    assert "schema-validation and judge validation are mutually exclusive" in message


@pytest.mark.parametrize("other", ["schema-validation: true", "judge: {enabled: true}"])
def test_rule_3_custom_and_others(task_of, other):
    message = refuse(task_of, rules(f"custom-validator: V\n{other}"))
    assert "custom-validator is mutually exclusive with schema-validation and judge validation" in message


def test_rule_3_holds_for_disabled_tasks(task_of):
    assert "mutually exclusive" in refuse(
        task_of, "disabled: true\n" + rules("custom-validator: V\nschema-validation: true")
    )


def test_rule_4_expected_is_optional_with_a_custom_validator(task_of):
    assert task_of(rules("custom-validator: V"), expected="").expected == ()


@pytest.mark.parametrize(
    "inputs, message",
    [
        ("{'': {a: 1}}", "service-inputs needs the name of a service"),
        ("{s: {' ': 1}}", "service-inputs s needs the name of an input"),
        ("{s: {a: [1]}}", "service-inputs s.a must be a scalar value"),
        ("{s: {a: {b: 1}}}", "service-inputs s.a must be a scalar value"),
        ("{s: {a: ~}}", "service-inputs s.a must be a scalar value"),
        ("{s: {a: 2025-01-01}}", "service-inputs s.a must be a scalar value"),
        ("{s: {a: '{{ .Tsk.Name }}'}}", "service input template"),
        ("{s: {a: '{{'}}", "service input template"),
        ("{s: 5}", "service-inputs.s: must be a map"),
    ],
)
def test_rule_5_service_inputs(task_of, inputs, message):
    text = f"tool-selector: {{service-inputs: {inputs}}}"
    found = refuse(task_of, text)
    assert message in found
    assert "task-config.tasks[0].tool-selector.service-inputs" in found
    found = refuse(task_of, "", text)
    assert message in found
    assert "task-config.tool-selector.service-inputs" in found


def test_rule_6_custom_validator(task_of):
    custom = rules("custom-validator: V")
    assert task_of(custom, expected="expected-result: [4, {a: 2025-01-02}]").expected == (
        4,
        {"a": "2025-01-02T00:00:00Z"},
    )
    stamp = task_of(custom, expected="expected-result: 2025-01-02T03:04:05Z").expected
    assert stamp == ("2025-01-02T03:04:05Z",)
    assert "invalid JSON schema" in refuse(task_of, custom, form="response-result-format: {type: x}")
    assert "must be either plain text" in refuse(task_of, custom, form="response-result-format: 5")
    assert "must be JSON, so that the validator can read it" in refuse(
        task_of, custom, expected="expected-result: {1: a}"
    )


SCHEMA = rules("schema-validation: true")


@pytest.mark.parametrize(
    "form, expected, message",
    [
        ("response-result-format: 5", "expected-result: {type: number}", "must be either plain text"),
        (NUMBER, "expected-result: 5", "must contain exactly one JSON Schema object, found 5"),
        (
            NUMBER,
            "expected-result: [{type: number}, {}]",
            "must contain exactly one JSON Schema object, found 2 values",
        ),
        (NUMBER, "expected-result: {type: nmber}", "expected-result contains an invalid JSON schema"),
        (NUMBER, "", "expected-result is required"),
    ],
)
def test_rule_7_schema_validation(task_of, form, expected, message):
    assert message in refuse(task_of, SCHEMA, form=form, expected=expected)


def test_rule_7_good(task_of):
    task = task_of(SCHEMA, form=NUMBER, expected="expected-result: {type: number, minimum: 9.9}")
    assert task.rules.method == "schema"
    assert task.expected == ({"type": "number", "minimum": 9.9},)


def test_an_expected_object_with_schema_key_is_a_value(task_of):
    form = "response-result-format: {type: object}"
    assert task_of(form=form, expected="expected-result: {$schema: x, type: 5}").expected == (
        {"$schema": "x", "type": 5},
    )


def judge(prompt):
    return rules("judge:\n  enabled: true\n  prompt:\n" + textwrap.indent(textwrap.dedent(prompt).strip(), "    "))


def test_rule_9_judge_needs_text(task_of):
    message = refuse(task_of, rules("judge: {enabled: true}"), form=NUMBER, expected="expected-result: 5")
    assert "semantic validation cannot be used with structured schema-based response-result-format" in message


@pytest.mark.parametrize("prompt", ["verdict-format: x", "passing-verdicts: x"])
def test_rule_10_both_or_none(task_of, prompt):
    assert "must either both be specified or both be left unset" in refuse(task_of, judge(prompt))


def test_rule_10_does_not_hold_while_the_judge_is_off(task_of):
    assert task_of(rules("judge: {prompt: {verdict-format: x}}")).rules.judge.prompt.verdict_format == "x"


def test_rule_11_at_least_one_verdict(task_of):
    assert "passing-verdicts must specify at least one value" in refuse(
        task_of, judge("verdict-format: x\npassing-verdicts: []")
    )


VERDICT = "verdict-format: {type: object, properties: {score: {type: integer}}, required: [score]}\n"


def test_rule_12_verdicts_as_a_schema(task_of):
    good = VERDICT + "passing-verdicts: {$schema: 'https://json-schema.org/draft/2020-12/schema', type: object}"
    assert task_of(judge(good)).rules.judge.prompt.passing_verdicts[0]["type"] == "object"
    bad = VERDICT + "passing-verdicts: {$schema: 'https://json-schema.org/draft/2020-12/schema', type: objekt}"
    assert "passing-verdicts contains an invalid JSON schema" in refuse(task_of, judge(bad))
    odd = VERDICT + "passing-verdicts: {$schema: ' ', score: 1}"
    assert task_of(judge(odd)).rules.judge.prompt.passing_verdicts == ({"$schema": " ", "score": 1},)


@pytest.mark.parametrize(
    "prompt, message",
    [
        (
            "verdict-format: word\npassing-verdicts: [good, 5]",
            "passing-verdicts do not conform to verdict-format: item 2",
        ),
        (VERDICT + "passing-verdicts: [{score: 1}, {score: x}]", "item 2 $.score: 'x' is not of type 'integer'"),
        (VERDICT + "passing-verdicts: good", "item 1 $: 'good' is not of type 'object'"),
        ("verdict-format: 5\npassing-verdicts: 5", "verdict-format must be either plain text or a JSON schema object"),
        ("verdict-format: {type: x}\npassing-verdicts: 5", "verdict-format contains an invalid JSON schema"),
    ],
)
def test_rule_13_verdicts_fit_their_format(task_of, prompt, message):
    found = refuse(task_of, judge(prompt))
    assert message in found
    assert "task-config.tasks[0].validation-rules.judge.prompt" in found


def test_rule_13_good(task_of):
    assert task_of(judge("verdict-format: word\npassing-verdicts: good")).rules.judge.prompt.passing_verdicts == (
        "good",
    )
    assert task_of(judge(VERDICT + "passing-verdicts: [{score: 1}]")).rules.method == "semantic"


def test_judge_templates_are_checked_at_load(task_of):
    text = rules("judge: {prompt: {template: '{{.Candidate.Respons}}'}}")
    found = refuse(task_of, text)
    assert "task-config.tasks[0].validation-rules.judge.prompt.template: judge prompt template" in found
    found = refuse(task_of, "", text)
    assert "task-config.validation-rules.judge.prompt.template: judge prompt template" in found
    assert "problems" not in found


# system prompt


TEXT_FORM = "response-result-format: F"


@pytest.mark.parametrize(
    "form, settings, sent",
    [
        (TEXT_FORM, "", DEFAULT_SYSTEM_PROMPT + "F"),
        (TEXT_FORM, "enable-for: none", None),
        (TEXT_FORM, "enable-for: all", DEFAULT_SYSTEM_PROMPT + "F"),
        (TEXT_FORM, "template: 'as {{.ResponseResultFormat}}!'", "as F!"),
        (TEXT_FORM, "{template: 'as {{.ResponseResultFormat}}', enable-for: none}", None),
        (TEXT_FORM, "template: ''", DEFAULT_SYSTEM_PROMPT + "F"),
        (TEXT_FORM, "template: '{{/* nothing */}} '", None),
        (NUMBER, "", None),
        (NUMBER, "enable-for: none", None),
        (NUMBER, "enable-for: text", None),
        (NUMBER, "enable-for: all", None),
        (NUMBER, "{template: 'as {{.ResponseResultFormat}}', enable-for: all}", 'as {\n  "type": "number"\n}'),
        (NUMBER, "template: x", None),
        (NUMBER, "{template: '', enable-for: all}", None),
    ],
)
@pytest.mark.parametrize("level", ["task", "default"])
def test_system_prompt(task_of, form, settings, sent, level):
    expected = "expected-result: E" if form == TEXT_FORM else "expected-result: 5"
    text = f"system-prompt: {settings}" if settings.startswith("{") else f"system-prompt:\n  {settings}"
    keys, defaults = (text, "") if level == "task" else ("", text)
    assert task_of(keys, defaults, form=form, expected=expected).system_prompt == sent


def test_a_blank_own_template_is_the_built_in_one(task_of):
    task = task_of("system-prompt: {template: ' '}", "system-prompt: {template: mine}")
    assert task.system_prompt == DEFAULT_SYSTEM_PROMPT + "F"


def test_own_enable_for_keeps_the_inherited_template(task_of):
    task = task_of("system-prompt: {enable-for: all}", "system-prompt: {template: mine, enable-for: none}")
    assert task.system_prompt == "mine"


def test_schemas_are_printed_sorted_and_escaped(task_of):
    form = "response-result-format: {type: string, description: 'a<b', $comment: x}"
    text = "system-prompt: {template: '{{.ResponseResultFormat}}', enable-for: all}"
    assert task_of(text, form=form).system_prompt == (
        '{\n  "$comment": "x",\n  "description": "a\\u003cb",\n  "type": "string"\n}'
    )


def test_system_prompt_mistakes_are_reported_once(task_of):
    text = "system-prompt: {template: '{{.Format}}'}"
    found = refuse(task_of, text)
    assert "task-config.tasks[0].system-prompt.template: system prompt template" in found
    found = refuse(task_of, "", text)
    assert "task-config.system-prompt.template: system prompt template" in found
    assert "problems" not in found


def test_system_prompt_of_a_format_that_is_no_json(task_of):
    text = "system-prompt: {template: '{{.ResponseResultFormat}}', enable-for: all}"
    found = refuse(task_of, text, form="response-result-format: {1: x}", expected="expected-result: 5")
    assert "the key 1 is not a text" in found


# tools


DEFAULT_TOOLS = """
tool-selector:
  tools:
    - {name: a, max-calls: 3, timeout: 60s}
    - {name: b, disabled: true}
  service-inputs:
    s: {x: 1, y: '{{ .Task.Name }}'}
"""


def test_default_tools_apply_unchanged(task_of):
    task = task_of("", DEFAULT_TOOLS)
    assert task.tools == (ToolSelection("a", 3, ContainerLimits(60.0)),)
    assert task.service_inputs == {"s": {"x": 1, "y": "{{ .Task.Name }}"}}


def test_tools_merge_by_name_in_stable_order(task_of):
    text = """
    tool-selector:
      tools:
        - {name: c, cpu-percent: 25, max-memory-mb: 512}
        - {name: b, disabled: false}
        - {name: a, max-calls: 9}
      service-inputs:
        s: {y: 2}
        t: {z: yes}
    """
    task = task_of(text, DEFAULT_TOOLS)
    assert [tool.name for tool in task.tools] == ["a", "b", "c"]
    assert task.tools[0] == ToolSelection("a", 9, ContainerLimits(60.0))
    assert task.tools[2].limits == ContainerLimits(None, 512, 25)
    assert task.service_inputs == {"s": {"x": 1, "y": 2}, "t": {"z": "yes"}}


def test_merging_does_not_change_the_defaults(tasks_of):
    keys = "prompt: P, response-result-format: F, expected-result: E"
    text = f"""
    task-config:
      tool-selector: {{service-inputs: {{s: {{x: 1}}}}}}
      tasks:
        - {{name: A, {keys}, tool-selector: {{service-inputs: {{s: {{x: 2}}}}}}}}
        - {{name: B, {keys}}}
    """
    first, second = tasks_of(text).tasks
    assert first.service_inputs == {"s": {"x": 2}}
    assert second.service_inputs == {"s": {"x": 1}}


@pytest.mark.parametrize(
    "default, own, names",
    [
        ("{disabled: true, tools: [{name: a}]}", "~", []),
        ("{disabled: true, tools: [{name: a}]}", "{disabled: false}", ["a"]),
        ("{disabled: true, tools: [{name: a, disabled: false}, {name: b}]}", "~", ["a"]),
        ("{tools: [{name: a}]}", "{disabled: true}", []),
        ("{tools: [{name: a}]}", "{tools: [{name: a, disabled: true}]}", []),
        ("{tools: [{name: a, disabled: true}]}", "{tools: [{name: a, max-calls: 1}]}", []),
        ("~", "{tools: [{name: a}]}", ["a"]),
        ("{tools: [{name: a}]}", "{service-inputs: {}}", ["a"]),
    ],
)
def test_tool_states(task_of, default, own, names):
    task = task_of(f"tool-selector: {own}", f"tool-selector: {default}")
    assert [tool.name for tool in task.tools] == names


@pytest.mark.parametrize(
    "tool, message",
    [
        ("{name: a, max-calls: 0}", "max-calls: must be at least 1"),
        ("{name: a, timeout: 60}", "timeout: must be a duration"),
        ("{name: a, timeout: -1s}", "timeout: must be longer than 0s"),
        ("{name: a, max-memory-mb: 1}", "max-memory-mb: must be at least 6"),
        ("{name: a, cpu-percent: 200}", "cpu-percent: must be at most 100"),
        ("{}", "tools[0].name: is required"),
    ],
)
def test_tool_mistakes(task_of, tool, message):
    assert message in refuse(task_of, f"tool-selector: {{tools: [{tool}]}}")


def test_tool_names_are_unique(task_of):
    assert "tool-selector.tools: name 'a' is not unique" in refuse(
        task_of, "tool-selector: {tools: [{name: a}, {name: a}]}"
    )


# files


@pytest.mark.parametrize(
    "default, own, detail, access",
    [
        ("~", "~", "", {"native", "local"}),
        ("{access: [local]}", "~", "", {"local"}),
        ("{access: [local]}", "{access: [native]}", "", {"native"}),
        ("{access: [local], image-detail: high}", "{image-detail: low}", "low", {"local"}),
        ("{image-detail: high}", "{image-detail: ''}", "high", {"native", "local"}),
        ("~", "{image-detail: original, access: [native, local]}", "original", {"native", "local"}),
    ],
)
def test_file_options_merge(task_of, tmp_path, default, own, detail, access):
    task = task_of(f"files: [{{name: a, uri: b.png, options: {own}}}]", f"file-options: {default}")
    (file,) = task.files
    assert (file.image_detail, set(file.access)) == (detail, access)
    assert file.base_dir == tmp_path
    assert file.position.path == "task-config.tasks[0].files[0]"
    assert file.is_native is ("native" in access)


def test_a_native_file_may_have_any_name(task_of):
    assert task_of("files: [{name: /a, uri: b, options: {access: [native]}}]").files[0].name == "/a"
    assert task_of("files: [{name: a/b..c, uri: b}]").files[0].name == "a/b..c"


def test_many_tasks_with_one_schema_stay_fast(tmp_path):
    task = """
    - name: "task {n}"
      prompt: question {n}
      response-result-format: *schema
      expected-result: {{value: {n}}}
      tool-selector: {{tools: [{{name: t, max-calls: 2}}]}}
      tags: [smoke]
    """
    head = "task-config:\n  system-prompt: {enable-for: all, template: '{{.ResponseResultFormat}}'}\n  tasks:\n"
    schema = "{type: object, properties: {value: {type: integer}}}"
    form = f"response-result-format: &schema {schema}, expected-result: {{value: 0}}"
    body = "".join(textwrap.indent(textwrap.dedent(task.format(n=n)), "    ") for n in range(1000))
    path = tmp_path / "many.yaml"
    path.write_text(f"{head}    - {{name: first, prompt: p, {form}}}\n{body}")
    start = time.process_time()
    assert len(load_suite(path).tasks) == 1001
    assert time.process_time() - start < 2.0
