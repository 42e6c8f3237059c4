"""Task files and ordinary tests in one session: neither notices the other."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pytest

PLAIN = """
import pytest

opened = []

@pytest.fixture(scope="module")
def resource():
    opened.append(1)
    yield len(opened)
    opened.append(-1)

def test_one(resource):
    assert resource == 1

def test_two(resource):
    assert resource == 1 and sum(opened) == 1

@pytest.mark.parametrize("n", [1, 2])
def test_three(n, tmp_path):
    assert n < 2

@pytest.mark.skip(reason="not today")
def test_four(): pass
"""


def test_both_are_reported_each_in_its_own_way(project):
    project.mock({"answers": {"sum": "4", "capital": "Rome"}, "delay": "20ms"})
    project.write("test_plain.py", PLAIN)
    result = project.run("test_plain.py", "tasks.yaml", "--junitxml=junit.xml", "-v", "-p", "no:randomly")
    result.assert_outcomes(passed=4, failed=2, skipped=1)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(
        ["test_plain.py::test_one PASSED*", "test_plain.py::test_four SKIPPED*", "tasks.yaml::sum[[]mock-m[]] PASSED*"]
    )
    assert project.kinds() == {"sum": "Passed", "capital": "Failed"}
    (suite,) = ElementTree.parse(project.path / "junit.xml").getroot()
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("7", "2", "1")


@pytest.mark.parametrize(
    "disabled", ["randomly", "cacheprovider", "xdist", "junitxml", "logging", "terminal", "stepwise", "faulthandler"]
)
def test_other_plugins_may_be_absent(project, disabled):
    project.suite()
    project.write("test_plain.py", "def test_plain(): pass\n")
    result = project.run("tasks.yaml", "test_plain.py", "-p", f"no:{disabled}")
    assert result.ret == pytest.ExitCode.OK, result.stdout.str() + result.stderr.str()
    assert project.kinds() == {"sum": "Passed", "capital": "Passed"}


def test_an_interleaved_order_is_kept(project):
    project.mock({"behaviour": "perfect"})
    project.write("test_plain.py", "def test_a(): pass\ndef test_b(): pass\n")
    project.write(
        "conftest.py",
        """
        def pytest_collection_modifyitems(items):
            items.sort(key=lambda item: (len(item.name) % 3, item.name), reverse=True)
        """,
    )
    result = project.run("tasks.yaml", "test_plain.py", "-v", "--mt-concurrency=1")
    result.assert_outcomes(passed=4)
    shown = [line.partition("::")[2].partition(" ")[0] for line in result.stdout.lines if " PASSED" in line]
    assert len(shown) == 4
    assert shown == sorted(shown, key=lambda name: (len(name) % 3, name), reverse=True)


def test_suites_of_two_configurations_do_not_wait_for_each_other(project):
    """The first provider of each answers only when the other one has been asked, too."""
    for folder, provider in (("a", "mock"), ("b", "openai")):
        names = [f"{folder}{number}" for number in range(4)]
        tasks = [f"{{name: {name}, prompt: p, response-result-format: w, expected-result: x}}" for name in names]
        project.write(f"{folder}/tasks.yaml", "task-config: {tasks: [" + ", ".join(tasks) + "]}\n")
        run = f"{{name: {provider}, runs: [{{name: r, model: m}}]}}"
        project.write(f"{folder}/config.yaml", f"config: {{output-dir: results, providers: [{run}]}}\n")
    project.write(
        "conftest.py",
        """
        import threading

        asked = {"mock": threading.Event(), "openai": threading.Event()}

        def pytest_mt_client(provider, run):
            other = asked["openai" if provider.name == "mock" else "mock"]

            def answer(prompt):
                asked[provider.name].set()
                return "x" if other.wait(5) else "alone"
            return answer
        """,
    )
    project.run("a/tasks.yaml", "b/tasks.yaml", "--mt-concurrency", "1").assert_outcomes(passed=8)
