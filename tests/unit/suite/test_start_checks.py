import pytest

from pytest_mindtrial.suite.start_checks import check_suite, check_task_start, check_tasks

CONFIG = """
judges:
  - name: J
    provider: {name: mock, runs: [{name: fast, model: m}, {name: off, model: m, disabled: true}]}
  - name: Gone
    provider: {name: mock, runs: [{name: fast, model: m, disabled: true}]}
tools:
  - {name: plain, image: i, description: d, parameters: {}}
  - {name: cart, image: i, description: d, parameters: {}, dependencies: [{service: shop}]}
  - {name: lost, image: i, description: d, parameters: {}, dependencies: [{service: shp}]}
services:
  - name: shop
    image: i
    endpoint: {port: 80}
    env: {CUR: CAD, RATE: "0.5"}
    input-env: {customer: CUSTOMER, other: CUSTOMER, currency: CUR, rate: RATE}
validators:
  - {name: V, image: i, dependencies: [{service: shop}]}
"""


@pytest.fixture
def problems(config_of, task_of):
    config = config_of(CONFIG)

    def check(keys):
        return [problem.message for problem in check_task_start(config, task_of(keys))]

    return check


@pytest.mark.parametrize(
    "keys, message",
    [
        ("", None),
        ("validation-rules: {judge: {enabled: true, name: J, variant: fast}}", None),
        ("validation-rules: {judge: {enabled: false, name: nobody}}", None),
        (
            "validation-rules: {judge: {enabled: true, name: K, variant: fast}}",
            "judge not found among those with an enabled variant: 'K' (defined: J)",
        ),
        (
            "validation-rules: {judge: {enabled: true, name: Gone, variant: fast}}",
            "judge not found among those with an",
        ),
        (
            "validation-rules: {judge: {enabled: true, name: J, variant: fats}}",
            "judge 'J' has no enabled variant of this name: 'fats'; did you mean 'fast'? (defined: fast)",
        ),
        ("validation-rules: {judge: {enabled: true, name: J, variant: off}}", "judge 'J' has no enabled variant"),
        ("validation-rules: {judge: {enabled: true, name: J}}", "judge 'J' has no enabled variant of this name: ''"),
        ("validation-rules: {custom-validator: V}", None),
        ("validation-rules: {custom-validator: W}", "custom validator not found: 'W' (defined: V)"),
        ("tool-selector: {tools: [{name: cart}, {name: plain}]}", None),
        ("tool-selector: {tools: [{name: crt}]}", "required tool not found: 'crt'; did you mean 'cart'?"),
        ("tool-selector: {tools: [{name: crt, disabled: true}]}", None),
        ("tool-selector: {tools: [{name: lost}]}", "required service not found: 'shp'; did you mean 'shop'?"),
        ("tool-selector: {service-inputs: {shop: {customer: 1}}}", None),
        ("tool-selector: {service-inputs: {shp: {customer: 1}}}", "service-inputs: required service not found: 'shp'"),
        (
            "tool-selector: {service-inputs: {shop: {custmer: 1}}}",
            "service-inputs: service 'shop' has no such input: 'custmer'; did you mean 'customer'?",
        ),
        ("files: [{name: a, uri: none.png}]", "file 'a': file is not accessible: file does not exist: "),
        ("files: [{name: a, uri: 'https://h/none.png'}]", None),
    ],
)
def test_names(problems, keys, message):
    found = problems(keys)
    if message is None:
        assert found == []
    else:
        assert len(found) == 1
        assert found[0].startswith(message)


@pytest.mark.parametrize(
    "inputs, message",
    [
        ("{currency: CAD}", None),
        ("{currency: USD}", "input 'currency' sets CUR to 'USD', but env sets it to 'CAD'"),
        ("{customer: 1, other: '1'}", None),
        ("{customer: 1, other: 2}", "input 'other' sets CUSTOMER to '2', but input 'customer' sets it to '1'"),
        ("{customer: true, other: 'true'}", None),
        ("{customer: false, other: x}", "sets CUSTOMER to 'x', but input 'customer' sets it to 'false'"),
        ("{rate: 0.50}", None),
        ("{rate: 0.6}", "input 'rate' sets RATE to '0.6', but env sets it to '0.5'"),
        ("{currency: '{{ .Task.Name }}'}", None),
        ("{unknown: 1}", "service-inputs: service 'shop' has no such input: 'unknown'"),
    ],
)
def test_environment_conflicts(problems, inputs, message):
    found = problems(f"tool-selector: {{tools: [{{name: cart}}], service-inputs: {{shop: {inputs}}}}}")
    if message is None:
        assert found == []
    else:
        assert len(found) == 1
        assert message in found[0]


def test_conflicts_of_services_that_are_not_used_do_not_matter(problems):
    assert problems("tool-selector: {service-inputs: {shop: {currency: USD}}}") == []


def test_problems_know_task_and_place(config_of, task_of):
    task = task_of("validation-rules: {custom-validator: W}")
    (problem,) = check_tasks(config_of(), [task])
    assert problem.task == "T"
    assert problem.position == task.position
    assert str(problem) == f"{task.position}: task 'T': custom validator not found: 'W' (defined: none)"


def test_only_enabled_tasks_of_a_suite_are_checked(config_of, tasks_of):
    keys = "prompt: P, response-result-format: F, validation-rules: {custom-validator: W}"
    suite = tasks_of(f"task-config:\n  tasks:\n    - {{name: A, {keys}}}\n    - {{name: B, {keys}, disabled: true}}\n")
    (text,) = check_suite(config_of(), suite)
    assert "task 'A'" in text
