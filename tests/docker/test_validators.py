"""Seed 000, sections Custom Validators and Templates; spec docker 6: every row of 6.3, channels, same instances."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from pytest_mindtrial.core.errors import ValidationError
from pytest_mindtrial.suite.model import ContainerLimits, Dependency, Rules, TemplateFile
from pytest_mindtrial.validators.base import Candidate, Verdict
from pytest_mindtrial.validators.custom import CustomValidator

PYTHON = "mindtrial-test/python:latest"
GOOD = '{"correct": true, "title": "Right", "explanation": "All is well."}'
PRINT_GOOD = f"echo '{GOOD}'"


def judge(
    lab: Any, validator: Any, *services: Any, answer: Any = "42", expected: tuple[Any, ...] = ("41", {"n": 42})
) -> Verdict:
    config = lab.config(validator, *services)

    async def work() -> Verdict:
        sandbox = await lab.open(config)
        try:
            custom = CustomValidator(validator.name, sandbox.validator(validator))
            rules = Rules(case_sensitive=True, custom_validator=validator.name)
            return await custom.validate(Candidate("task-a", "the prompt", "the format", expected, rules, answer))
        finally:
            assert sandbox.calls == ()
            assert sandbox.usage == {}
            await sandbox.close()

    return asyncio.run(work())


def test_a_verdict_decides(lab: Any) -> None:
    right = judge(lab, lab.validator(f"printf '\\n  '; {PRINT_GOOD}; echo; echo noise >&2"))
    assert (right.passed, right.got, right.want) == (True, "42", ("41", {"n": 42}))
    assert (right.record.method, right.record.title, right.record.explanation) == ("custom", "Right", "All is well.")
    assert right.record.validator == "custom validator check"
    assert right.record.duration_ns > 0
    wrong = judge(lab, lab.validator("echo '" + GOOD.replace("true", "false") + "'"))
    assert wrong.passed is False


@pytest.mark.parametrize(
    "code, message",
    [
        (f"{PRINT_GOOD}; exit 1", "validator 'check' ended with exit code 1"),
        ("true", "printed nothing"),
        ("echo wrong", "output is not JSON"),
        (f"{PRINT_GOOD}; {PRINT_GOOD}", "printed more after its JSON object"),
        (f"{PRINT_GOOD}; sleep 60", "was stopped after its time limit of 1s"),
    ],
)
def test_anything_else_is_an_error_and_no_wrong_answer(lab: Any, code: str, message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        judge(lab, lab.validator(code, limits=ContainerLimits(timeout_s=1)))


def test_what_a_failing_validator_printed_is_kept_for_the_report(lab: Any) -> None:
    with pytest.raises(ValidationError) as caught:
        judge(lab, lab.validator("echo out; echo reason >&2; exit 2"))
    assert caught.value.details == {"Validator stdout": "out\n", "Validator stderr": "reason\n"}
    assert caught.value.title == "Validation Error"


def test_the_memory_limit_of_a_validator_is_an_error(lab: Any) -> None:
    validator = lab.validator("", image=PYTHON, command=("python", "-c", "bytearray(200 << 20)"),
                              limits=ContainerLimits(max_memory_mb=32))  # fmt: skip
    with pytest.raises(ValidationError, match="validator 'check' reached its memory limit of 32 MB"):
        judge(lab, validator)


@pytest.mark.parametrize("fields", [{"image": "mindtrial-test/none:1"}, {"command": ("no-such-command",)}])
def test_a_validator_that_cannot_run_is_an_error(lab: Any, fields: Any) -> None:
    with pytest.raises(ValidationError, match="custom validator check: validator 'check' could not be run"):
        judge(lab, lab.validator("", **fields))


def test_command_env_and_files_are_rendered_and_files_are_read_only(lab: Any) -> None:
    code = (
        "import json, os, sys\n"
        "try: open('/input/all', 'a'); writable = 'writable'\n"
        "except OSError as error: writable = os.strerror(error.errno)\n"
        "found = [sys.argv[1:], os.environ['ENV'], open('/input/all').read()]\n"
        "found += [open('/input/answer', 'rb').read().hex(), writable]\n"
        "print(json.dumps({'correct': True, 'title': 't', 'explanation': json.dumps(found)}))"
    )
    everything = (
        "{{ .Evaluation.Seed }}|{{ .Task.Name }}|{{ .Provider.Name }}|{{ .Run.Name }}|{{ .OriginalTask.Prompt }}"
        "|{{ .OriginalTask.ResponseResultFormat }}|{{ json .OriginalTask.ExpectedResults }}|{{ .Rules.CaseSensitive }}"
        "|{{ .Rules.IgnoreWhitespace }}|{{ .Rules.TrimLines }}"
    )
    validator = lab.validator(
        "",
        image=PYTHON,
        command=("python", "-c", code, "{{ .Task.Name }}; $(id)", "two"),
        env={"ENV": '{{ hash "eval-seed" .Task.Name }}'},
        template_files=(
            TemplateFile("/input/./all", everything),
            TemplateFile("/input/answer", "{{ .Candidate.Response }}"),
        ),
    )
    answer = "a\x00{{ .Task.Name }}\r\nä"
    verdict = judge(lab, validator, answer=answer)
    command, env, text, raw, writable = json.loads(verdict.record.explanation)
    assert command == ["task-a; $(id)", "two"]
    assert env == "9526074796148898333"
    assert text == ('eval-seed|task-a|provider-1|run-1|the prompt|the format|["41",{"n":42}]|true|false|false')
    assert bytes.fromhex(raw) == answer.encode()
    assert writable == "Read-only file system"


def test_a_structured_answer_is_json_only_with_json(lab: Any) -> None:
    validator = lab.validator(
        'printf \'{"correct": true, "title": "%s", "explanation": "%s"}\' "$GO" "$(wc -c < /a)"',
        env={"GO": "{{ .Candidate.Response }}"},
        template_files=(TemplateFile("/a", "{{ json .Candidate.Response }}"),),
    )
    verdict = judge(lab, validator, answer={"b": [1, "x"], "a": None})
    assert (verdict.record.title, verdict.record.explanation) == ("map[a:<nil> b:[1 x]]", "22")


def test_no_expected_result_is_an_empty_list(lab: Any) -> None:
    validator = lab.validator(
        'printf \'{"correct": true, "title": "%s", "explanation": "e"}\' "$E"',
        env={"E": "{{ json .OriginalTask.ExpectedResults }}"},
    )
    assert judge(lab, validator, expected=()).record.title == "[]"


def test_a_large_answer_fits_into_a_file_but_not_into_the_command(lab: Any) -> None:
    answer = "x" * 3_000_000
    size = lab.validator(
        'printf \'{"correct": true, "title": "%s", "explanation": "e"}\' "$(wc -c < /a)"',
        template_files=(TemplateFile("/a", "{{ .Candidate.Response }}"),),
    )
    assert judge(lab, size, answer=answer).record.title == "3000000"
    direct = lab.validator("", command=("echo", "{{ .Candidate.Response }}"))
    with pytest.raises(ValidationError):
        judge(lab, direct, answer=answer)


@pytest.mark.parametrize(
    "fields", [{"env": {"A": "{{ .Task.Nam }}"}}, {"env": {"A": "{{ index .Candidate.Response 5 }}"}}]
)
def test_a_template_that_cannot_be_rendered_is_an_error_without_a_container(lab: Any, fields: Any) -> None:
    with pytest.raises(ValidationError, match="custom validator check: validator template"):
        judge(lab, lab.validator(PRINT_GOOD, **fields), answer=["a"])


def test_a_validator_without_dependencies_has_no_network(lab: Any) -> None:
    code = 'printf \'{"correct": true, "title": "%s", "explanation": "e"}\' "$(ls /sys/class/net)"'
    assert judge(lab, lab.validator(code)).record.title == "lo"


def _looking_at(path: str) -> str:
    return (
        "import json, os, urllib.request as u\n"
        f"count = u.urlopen(os.environ['URL'] + '{path}', timeout=5).read().decode()\n"
        "print(json.dumps({'correct': count == '2', 'title': count, 'explanation': 'e'}))"
    )


def test_a_validator_sees_the_instance_that_the_tools_changed(lab: Any) -> None:
    dependency = (Dependency("counter", {"URL": "{{ .Endpoint }}"}),)
    validator = lab.validator("", image=PYTHON, command=("python", "-c", _looking_at("/")), dependencies=dependency)
    config = lab.config(lab.counter(), lab.client(), validator)

    async def work() -> list[bool]:
        sandbox = await lab.open(config)
        try:
            custom = CustomValidator("check", sandbox.validator(validator))
            candidate = Candidate("task-a", "p", "f", (), Rules(custom_validator="check"), "done")
            verdicts = []
            for _ in range(2):
                await lab.call(sandbox, "get", {"path": "/add"})
                verdicts.append((await custom.validate(candidate)).passed)
            return verdicts
        finally:
            await sandbox.close()

    assert asyncio.run(work()) == [False, True]


def test_a_service_that_dies_under_the_validator_is_named(lab: Any) -> None:
    dependency = (Dependency("counter", {"URL": "{{ .Endpoint }}"}),)
    validator = lab.validator("", image=PYTHON, command=("python", "-c", _looking_at("/stop")), dependencies=dependency)
    with pytest.raises(ValidationError, match="service 'counter' stopped with exit code 7 during the attempt"):
        judge(lab, validator, lab.counter())
