import textwrap
from pathlib import Path

import pytest

from pytest_mindtrial.core.errors import UserError
from pytest_mindtrial.suite.config import load_config
from pytest_mindtrial.suite.decode import read_untyped
from pytest_mindtrial.suite.nodes import ROOT
from pytest_mindtrial.suite.problems import Problems
from pytest_mindtrial.suite.tasks import load_suite
from pytest_mindtrial.suite.yaml_reader import read_yaml

SHARED = Path(__file__).parents[3] / "../shared/data/mindtrial"


@pytest.fixture(scope="session")
def shared_data():
    if not SHARED.exists():
        pytest.skip("../shared/data is absent")
    return SHARED


@pytest.fixture
def tasks_of(tmp_path):
    """Load a task file from text; returns the suite."""

    def load(text, name="tasks.yaml"):
        path = tmp_path / name
        path.write_text(textwrap.dedent(text))
        return load_suite(path)

    return load


@pytest.fixture
def task_of(tasks_of):
    """Load one task from the text of its keys, with defaults for what every task needs."""

    def load(keys="", defaults="", prompt="prompt: P", form="response-result-format: F", expected="expected-result: E"):
        lines = [line for line in ("name: T", prompt, form, expected) if line]
        body = textwrap.indent("\n".join(lines) + "\n" + textwrap.dedent(keys), "      ").replace(
            "      name", "    - name", 1
        )
        head = textwrap.indent(textwrap.dedent(defaults), "  ")
        return tasks_of(f"task-config:\n{head}\n  tasks:\n{body}\n").tasks[0]

    return load


@pytest.fixture
def config_of(tmp_path):
    """Load a configuration from the text of the keys under ``config``; ``output-dir`` and ``providers`` are added."""

    def load(keys="", providers="providers: []", output="output-dir: out"):
        text = "\n".join(part for part in (output, textwrap.dedent(providers), textwrap.dedent(keys)) if part)
        path = tmp_path / "config.yaml"
        path.write_text("config:\n" + textwrap.indent(text, "  "))
        return load_config(path)

    return load


@pytest.fixture
def run_of(config_of):
    """Load the first run of one provider entry from the text of the provider's keys."""

    def load(provider="openai", keys="", run=""):
        body = f"- name: {provider}\n" + textwrap.indent(textwrap.dedent(keys), "  ")
        body += "\n  runs:\n    - name: R\n      model: m\n" + textwrap.indent(textwrap.dedent(run), "      ")
        return config_of(providers="providers:\n" + textwrap.indent(body, "  ")).providers[0].runs[0]

    return load


@pytest.fixture
def untyped():
    """Read YAML text as plain data."""

    def read(text):
        data = text if isinstance(text, bytes) else text.encode()
        document = read_yaml(data, "file.yaml", UserError)
        problems = Problems(document, UserError)
        value = read_untyped(problems, document.root, ROOT)
        problems.raise_if_any()
        return value

    return read
