"""A pytest run that has nothing to do with us stays as it was."""

from __future__ import annotations

import subprocess
import sys

PROBE = """
import sys

def test_nothing():
    pass

def pytest_sessionfinish():
    pass
"""

CONFTEST = """
import sys

def pytest_unconfigure():
    print("MODULES", " ".join(sorted(name for name in sys.modules)))
"""


def modules(project, *arguments: str) -> set[str]:
    output = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-s", "test_x.py", *arguments],
        cwd=project.path,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    line = next(line for line in output.splitlines() if line.startswith("MODULES"))
    return set(line.split()[1:])


def test_an_unrelated_run_gains_only_our_own_few_modules(project):
    project.write("test_x.py", PROBE)
    project.write("conftest.py", CONFTEST)
    gained = modules(project) - modules(project, "-p", "no:mindtrial")
    foreign = {name for name in gained if not name.startswith("pytest_mindtrial")}
    assert foreign == set()
    assert len(gained) <= 10, sorted(gained)


def test_an_unrelated_run_prints_and_writes_nothing_of_ours(project):
    project.write("test_x.py", "def test_x():\n    pass\n")
    before = sorted(path.name for path in project.path.iterdir())
    result = project.run("test_x.py", "-p", "no:cacheprovider")
    assert "mindtrial" not in result.stdout.str().replace("plugins: ", "").split("rootdir")[0]
    assert "= mindtrial" not in result.stdout.str()
    after = sorted(path.name for path in project.path.iterdir() if path.name != "__pycache__")
    assert after == before


def test_the_plugin_can_be_switched_off(project):
    project.suite()
    result = project.run_process("tasks.yaml", "-p", "no:mindtrial")
    assert result.ret == 4


def test_a_yaml_file_of_another_plugin_is_left_alone(project):
    project.write("other.yaml", "hello: world\n")
    project.write(
        "conftest.py",
        """
        import pytest

        class Item(pytest.Item):
            def runtest(self):
                pass
            def reportinfo(self):
                return self.path, 0, self.name

        class File(pytest.File):
            def collect(self):
                yield Item.from_parent(self, name="theirs")

        def pytest_collect_file(file_path, parent):
            if file_path.suffix == ".yaml":
                return File.from_parent(parent, path=file_path)
        """,
    )
    result = project.run("other.yaml")
    result.assert_outcomes(passed=1)


def test_a_named_yaml_file_that_nobody_wants_is_explained(project):
    project.write("other.yaml", "hello: world\n")
    project.write("config.yaml", "config: {output-dir: r, task-source: t, providers: []}\n")
    result = project.run("other.yaml")
    assert result.ret == 2
    result.stdout.fnmatch_lines(["*other.yaml:1:1*hello*task-config*"])


LOADERS = """
import sys


def pytest_unconfigure():
    for name, module in sorted(sys.modules.items()):
        if name.startswith("pytest_mindtrial"):
            print("LOADER", name, type(module.__loader__).__name__)
"""


def loaders(project, *arguments: str) -> dict[str, str]:
    """Return which loader each of our modules came from."""
    project.write("conftest.py", LOADERS)
    # Whatever way the package is installed here: a distribution that brings it and a plugin, so that pytest marks it.
    project.write("mindtrial_twin-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: mindtrial-twin\nVersion: 1\n")
    project.write("mindtrial_twin-1.dist-info/RECORD", "pytest_mindtrial/__init__.py,,\n")
    project.write("mindtrial_twin-1.dist-info/entry_points.txt", "[pytest11]\ntwin = json\n")
    project.pytester.syspathinsert()
    output = project.run_process(*arguments).stdout.lines
    return dict(line.split()[1:] for line in output if line.startswith("LOADER"))


def test_modules_imported_for_a_task_file_pass_by_the_rewriting_of_assertions(project):
    project.suite()
    found = loaders(project, "tasks.yaml", "-s")
    for name in ("suite.config", "suite.tasks", "plugin.items", "engine.attempt", "providers.registry"):
        assert found[f"pytest_mindtrial.{name}"] == "SourceFileLoader", name


def test_a_test_module_is_still_rewritten_beside_a_task_file(project):
    project.suite()
    project.write("test_x.py", "def test_x():\n    value = 1\n    assert value == 2\n")
    result = project.run_process("tasks.yaml", "test_x.py")
    result.stdout.fnmatch_lines(["*assert 1 == 2*"])
