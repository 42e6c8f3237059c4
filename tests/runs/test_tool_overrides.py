"""``mt_tools`` and ``mt_services`` in a conftest: what the defaults tell, functions as tools; all without Docker."""

from __future__ import annotations

import pytest

CONFIG = """\
config:
  output-dir: results
  output-basename: out
  providers:
    - name: mock
      runs:
        - name: r
          model: m
          model-parameters:
            behaviour: script
            tool-calls:
              "*":
                - {name: add, arguments: {a: 2, b: 3}}
                - {name: add, arguments: {a: "two"}}
                - {name: shout, arguments: {text: hi}}
                - {name: add, arguments: {a: 1, b: 1}}
                - {name: add, arguments: {a: 1, b: 1}}
            answers: {"*": "5"}
  services:
    - {name: shop, image: mindtrial-test/none, endpoint: {port: 8080}}
  tools:
    - name: add
      image: mindtrial-test/none
      description: Adds two numbers.
      parameters: {type: object, properties: {a: {type: integer}, b: {type: integer}}, required: [a, b]}
      dependencies: [{service: shop}]
"""
TASKS = """\
task-config:
  tasks:
    - name: sum
      prompt: What is 2 + 3?
      response-result-format: a number
      expected-result: "5"
      tool-selector:
        tools: [{name: add, max-calls: 2, timeout: 5s}]
"""
FUNCTIONS = '''
import pytest

def add(a, b):
    return a + b

async def shout(text: str) -> str:
    """Say it loudly."""
    return text.upper()

@pytest.fixture
def mt_tools(mt_tools):
    assert list(mt_tools) == ["add"]
    tool = mt_tools["add"]
    print("selected", tool.description, tool.image, tool.max_calls, tool.limits.timeout_s, mt_tools)
    return {"add": add, "shout": shout}

@pytest.fixture(autouse=True)
def seen(mt_result, mt_services):
    for name, endpoint in mt_services.items():
        print("needs", name, endpoint.port, endpoint.url.startswith("http://svc-"), len(mt_services), mt_services)
'''

FAKE_TOOLS = """
        @pytest.fixture
        def mt_tools():
            return {"add": lambda a, b: a + b}
"""


@pytest.fixture(autouse=True)
def _suite(project, monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", "unix:///no/such.sock")
    project.suite(TASKS, CONFIG)


def test_functions_are_the_tools_of_an_attempt(project):
    project.write("conftest.py", FUNCTIONS)
    result = project.run("tasks.yaml", "-s")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines_random(
        [
            "*selected Adds two numbers. mindtrial-test/none 2 5.0 <tools of 'sum': add>",
            "*needs shop 8080 True 1 <services of 'sum': shop>",
            "*one after another because of your fixtures: *mt_tools*",
        ]
    )
    (entry,) = project.entries()
    calls = entry["Details"]["Answer"]["ToolCalls"]
    assert [(call["Tool"], call["Status"]) for call in calls] == [
        ("add", "success"),
        ("add", "invalid_arguments"),
        ("shout", "success"),
        ("add", "success"),
    ]
    usage = entry["Details"]["Answer"]["ToolUsage"]
    assert {name: use["CallCount"] for name, use in usage.items()} == {"add": 2, "shout": 1}
    texts = [turn["text"] for turn in project.attempts()[0]["transcript"] if turn["role"] == "tool"]
    assert texts[0] == "5"
    assert "$.a: 'two' is not of type 'integer'" in texts[1]
    assert texts[2:] == ["HI", "2", "Tool error: add may be called at most 2 times in this task; do not call it again."]


def test_without_an_override_the_missing_engine_stops_the_session(project):
    """So that the other tests show what they should: the fixture has taken the place of the containers."""
    result = project.run("tasks.yaml")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*no Docker engine answers*"])


def test_an_executor_of_ones_own_is_used_and_closed(project):
    project.write(
        "conftest.py",
        """
        import pytest
        from pytest_mindtrial.core.values import ToolResult

        class Executor:
            usage, calls, exhausted = {}, (), ()
            async def call(self, call, turn):
                return ToolResult(call, f"{call.name} in turn {turn}")
            async def close(self):
                print("closed")

        @pytest.fixture
        def mt_tools():
            return Executor()
        """,
    )
    result = project.run("tasks.yaml", "-s")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*closed*"])
    texts = [turn["text"] for turn in project.attempts()[0]["transcript"] if turn["role"] == "tool"]
    assert texts[0] == "add in turn 1"


def test_the_handle_itself_changes_nothing(project):
    project.write("conftest.py", "import pytest\n\n@pytest.fixture\ndef mt_tools(mt_tools):\n    return mt_tools\n")
    project.run("tasks.yaml").assert_outcomes(errors=1)  # the container is wanted, and there is no engine
    assert "no Docker engine answers" in project.entries()[0]["Got"]


@pytest.mark.parametrize(
    "fixture, value, message",
    [
        ("mt_tools", "3", "mt_tools must be a mapping of functions or a tool executor, not int"),
        ("mt_tools", "{'add': 3}", "mt_tools: 'add' must be a function, not int"),
        ("mt_tools", "{'own': lambda a: a}", "tool 'own' needs a docstring that tells the model what it does"),
        ("mt_tools", "{'other': mt_tools['add']}", "mt_tools: other cannot be renamed, changed, or taken from another"),
        ("mt_services", "'shop'", "mt_services must be a mapping from services to names of running containers"),
        ("mt_services", "{'shop': 'http://127.0.0.1:8080'}", "'shop' must be the name of a running container, found"),
        ("mt_services", "{'shap': 'mine'}", "service 'shap' is not defined *did you mean 'shop'?"),
    ],
)
def test_overrides_that_cannot_be_used_say_why(project, fixture, value, message):
    code = f"""
        import pytest

        @pytest.fixture
        def {fixture}({fixture}):
            return {value}

        {"" if fixture == "mt_tools" else FAKE_TOOLS}
        """
    project.write("conftest.py", code)
    result = project.run("tasks.yaml")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([f"*{message}*".replace("[", "[[]")])
