"""A conftest replaces any part of an attempt; hand-written tests use the ``mindtrial`` fixture; hooks observe."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _suite(project):
    project.suite()


def test_provider_as_a_callable(project):
    project.write(
        "conftest.py",
        """
        import pytest

        @pytest.fixture
        def mt_provider():
            return lambda prompt: "4" if "2 + 2" in prompt else "London"
        """,
    )
    result = project.run("tasks.yaml")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*one after another because of your fixtures: mt_provider"])


def test_provider_that_wraps_its_predecessor(project):
    project.write(
        "conftest.py",
        """
        import pytest

        class Counting:
            asked = []
            def __init__(self, inner):
                self.inner, self.is_mock = inner, inner.is_mock
            def check(self, prompt):
                self.inner.check(prompt)
            def start(self, prompt):
                self.asked.append(prompt.task)
                return self.inner.start(prompt)
            async def close(self):
                pass

        @pytest.fixture
        def mt_provider(mt_provider):
            return Counting(mt_provider)

        def pytest_sessionfinish():
            print("asked", Counting.asked)
        """,
    )
    result = project.run("tasks.yaml", "-s")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["*asked [[]'sum', 'capital']"])


def test_validator_as_a_callable(project):
    project.write(
        "conftest.py",
        """
        import pytest

        @pytest.fixture
        def mt_validator(mt_task):
            def shorter_than_two(answer, candidate):
                return len(answer) < 2, f"{candidate.task} has {len(answer)} characters"
            return shorter_than_two
        """,
    )
    result = project.run("tasks.yaml")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*capital has 5 characters*"])


def test_task_and_run_can_be_replaced(project):
    project.write(
        "conftest.py",
        """
        import dataclasses
        import pytest

        @pytest.fixture
        def mt_task(mt_task):
            return dataclasses.replace(mt_task, expected=("never",), prompt="changed")

        @pytest.fixture
        def mt_run(mt_run):
            return dataclasses.replace(mt_run, parameters={"answers": {"*": "never"}})
        """,
    )
    project.run("tasks.yaml").assert_outcomes(passed=2)


def test_result_can_be_changed(project):
    project.write(
        "conftest.py",
        """
        import dataclasses
        import pytest
        from pytest_mindtrial.core.values import Kind

        @pytest.fixture
        def mt_result(mt_result):
            return dataclasses.replace(mt_result, kind=Kind.FAILED) if mt_result.task == "sum" else mt_result
        """,
    )
    project.run("tasks.yaml").assert_outcomes(passed=1, failed=1)


def test_a_session_scoped_autouse_fixture_is_set_up_before_any_call(project):
    project.write(
        "conftest.py",
        """
        import pytest
        events = []

        @pytest.fixture(scope="session", autouse=True)
        def server():
            events.append("server")

        @pytest.fixture
        def mt_provider():
            def answer(prompt):
                events.append("call")
                return "4"
            return answer

        def pytest_sessionfinish():
            print("events", events)
        """,
    )
    result = project.run("tasks.yaml", "-s")
    result.stdout.fnmatch_lines(["*events [[]'server', 'call', 'call']"])


def test_a_module_scoped_fixture_is_set_up_once_for_each_task_file(project):
    project.write("more.yaml", (project.path / "tasks.yaml").read_text())
    project.write(
        "conftest.py",
        """
        import pytest
        events = []

        @pytest.fixture(scope="module", autouse=True)
        def server(request):
            events.append(f"up {request.node.name}")
            yield
            events.append("down")

        def pytest_sessionfinish():
            print("events", *events)
        """,
    )
    result = project.run("tasks.yaml", "more.yaml", "--mt-config=config.yaml", "-s")
    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines(["*events up tasks.yaml down up more.yaml down"])


def test_params_on_an_override_get_our_explanation(project):
    project.write(
        "conftest.py",
        """
        import pytest

        @pytest.fixture(params=["a", "b"])
        def mt_provider(request):
            return lambda prompt: request.param
        """,
    )
    result = project.run("tasks.yaml")
    result.assert_outcomes(errors=2)
    result.stdout.fnmatch_lines(["*mt_provider*params*"])


def test_bad_override_values_are_explained(project):
    project.write("conftest.py", "import pytest\n\n@pytest.fixture\ndef mt_provider():\n    return 3\n")
    result = project.run("tasks.yaml")
    result.assert_outcomes(errors=2)
    result.stdout.fnmatch_lines(["*mt_provider must be a model client or a callable, not int*"])


def test_mindtrial_fixture_asks_and_grades(project):
    project.write(
        "test_python.py",
        """
        def test_ask(mindtrial):
            reply = mindtrial.ask("Say hello", run="good")
            assert isinstance(reply.text, str)
            assert reply.result.provider == "mock"

        def test_grade(mindtrial):
            assert mindtrial.grade(" PARIS", expected="Paris").passed
            assert not mindtrial.grade("paris", expected="Paris", case_sensitive=True).passed
            assert mindtrial.grade({"n": 4.0}, expected={"n": 4}).passed

        def test_unknown_run(mindtrial):
            import pytest
            with pytest.raises(pytest.UsageError, match="mock-good"):
                mindtrial.ask("x", run="nope")
        """,
    )
    project.run("test_python.py").assert_outcomes(passed=3)


def test_python_tests_and_tasks_share_a_session(project):
    project.write("test_python.py", "def test_ask(mindtrial):\n    assert mindtrial.ask('hi').text is not None\n")
    project.run("tasks.yaml", "test_python.py").assert_outcomes(passed=3)
    assert len(project.entries()) == 2


def test_task_fixtures_in_a_python_test_are_explained(project):
    project.write("test_python.py", "def test_x(mt_task):\n    pass\n")
    result = project.run("test_python.py")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*mt_task belongs to items of a MindTrial task file*"])


def test_hooks_supply_clients_and_validators_and_observe(project):
    project.write(
        "conftest.py",
        """
        from pathlib import Path

        def pytest_mt_client(provider, run):
            return lambda prompt: "four" if "2 + 2" in prompt else "Paris"

        def pytest_mt_validator(task, run):
            from pytest_mindtrial.plugin.handles import CallableValidator
            if task.name == "sum":
                return CallableValidator(lambda answer: answer == "four")

        def pytest_mt_attempt_finished(result):
            print("finished", result.task, result.kind.value)

        def pytest_mt_write_reports(results, evaluation, stem):
            path = stem.with_suffix(".txt")
            path.write_text(f"{len(results)} results, complete={evaluation.is_complete}")
            return path
        """,
    )
    result = project.run("tasks.yaml", "-s")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["*finished sum Passed*", "*finished capital Passed*", "txt:*out.txt"])
    assert (project.path / "results/out.txt").read_text() == "2 results, complete=True"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("import sys; sys.exit(3)", "the model function raised SystemExit: 3"),
        ("pytest.skip('not today')", "the model function raised Skipped: not today"),
        ("raise asyncio.CancelledError", "the model function raised CancelledError"),
        ("raise GeneratorExit", "the model function raised RuntimeError: the function raised GeneratorExit()"),
        ("return b'4'", "the model function returned bytes; allowed are text and JSON values*"),
        ("return {1: {2}}", "the model function returned dict; allowed are text and JSON values*"),
        ("return 10**5000", "the model function returned int; allowed are text and JSON values*"),
    ],
)
def test_what_a_model_function_does_wrong_is_said_to_be_its_own(project, body, said):
    project.write(
        "conftest.py",
        f"""
        import asyncio
        import pytest

        @pytest.fixture
        def mt_provider():
            def answer(prompt):
                {body}
            return answer
        """,
    )
    result = project.run("tasks.yaml")
    result.assert_outcomes(errors=2)
    result.stdout.fnmatch_lines([f"Execution Error: {said}", "mock * 0 * 0 * 2 *"])
    result.stdout.no_fnmatch_line("*internal error*")


@pytest.mark.parametrize("body", ["raise asyncio.CancelledError", "raise TimeoutError"])
@pytest.mark.parametrize("kind", ["def", "async def"])
def test_a_validator_that_gives_up_has_not_decided(project, kind, body):
    project.write(
        "conftest.py",
        f"""
        import asyncio
        import pytest

        def pytest_mt_validator(task, run):
            {kind} judge(answer):
                {body}
            return judge
        """,
    )
    project.write("test_python.py", "def test_grade(mindtrial):\n    mindtrial.grade('4', expected='4')\n")
    result = project.run("tasks.yaml", "test_python.py", "--mt-config", "config.yaml")
    result.assert_outcomes(errors=2, failed=1)
    result.stdout.fnmatch_lines(["Validation Error: *", "mock * 0 * 0 * 2 *"])


@pytest.mark.parametrize("value", ["'yes'", "('not equal', False)"])
def test_a_text_is_no_verdict(project, value):
    project.write(
        "conftest.py",
        f"""
        import pytest

        @pytest.fixture
        def mt_validator():
            return lambda answer: {value}
        """,
    )
    result = project.run("tasks.yaml")
    result.assert_outcomes(errors=2)
    result.stdout.fnmatch_lines(["Validation Error: the validator <lambda> must return true or false, or a pair of*"])


def test_a_slow_validator_does_not_delay_the_others(project):
    project.write(
        "conftest.py",
        """
        import threading

        together = threading.Barrier(2, timeout=10)

        def pytest_mt_validator(task, run):
            return lambda answer: together.wait() in (0, 1)
        """,
    )
    project.run("tasks.yaml").assert_outcomes(passed=2)


@pytest.mark.parametrize(
    ("hook", "said"),
    [
        (
            "pytest_mt_client(run):\n    return 42",
            "the hook pytest_mt_client must be a model client or a callable, not int",
        ),
        (
            "pytest_mt_validator(task):\n    return 42",
            "the hook pytest_mt_validator must be a validator or a*, not int",
        ),
        (
            "pytest_mt_client(run):\n    raise KeyError('x')",
            "the hook pytest_mt_client raised KeyError: 'x' (conftest.py:2)",
        ),
        (
            "pytest_mt_validator(task):\n    1 / 0",
            "the hook pytest_mt_validator raised ZeroDivisionError: * (conftest.py:2)",
        ),
    ],
)
def test_a_hook_that_fails_is_named(project, hook, said):
    project.write("conftest.py", f"def {hook}\n")
    result = project.run("tasks.yaml")
    result.assert_outcomes(errors=2)
    result.stdout.fnmatch_lines([f"Configuration Error: {said}"])


@pytest.mark.parametrize("body", ["raise ValueError('broken')", "return 42"])
def test_a_report_hook_that_fails_takes_nothing_else_with_it(project, body):
    project.write("conftest.py", f"def pytest_mt_write_reports(results):\n    {body}\n")
    result = project.run("tasks.yaml")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["json: *", "not written: the hook pytest_mt_write_reports *", "*2 passed*"])


@pytest.mark.parametrize(
    ("name", "kind"),
    [("mt_task", "suite.model.Task"), ("mt_run", "suite.model.Run"), ("mt_result", "core.record.Result")],
)
def test_an_override_of_another_type_is_refused(project, name, kind):
    project.write("conftest.py", f"import pytest\n\n@pytest.fixture\ndef {name}():\n    return 42\n")
    result = project.run("tasks.yaml")
    result.assert_outcomes(errors=2)
    result.stdout.fnmatch_lines([f"{name} must be a pytest_mindtrial.{kind}, not int"])
