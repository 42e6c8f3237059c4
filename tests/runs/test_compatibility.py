"""Other plugins and other releases of pytest beside ours: each case is a cell of the table in the manual.

Sessions run in ``.venv-compat`` (``scripts/compat``), with one other plugin loaded at a time.
"""

from __future__ import annotations

import functools
import html
import json
import os
import re
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".venv-compat/bin/python"
DOCUMENT = ROOT / "docs/guide/compatibility.md"

pytestmark = pytest.mark.compat

PLUGINS = {
    "pytest-xdist": ("xdist", ["-n2"]),
    "pytest-html": ("html", ["-pmetadata", "--html=page.html", "--self-contained-html"]),
    "pytest-rerunfailures": ("rerunfailures", ["--reruns=0"]),
    "pytest-randomly": ("randomly", []),
    "pytest-timeout": ("timeout", ["--timeout=60"]),
    "pytest-asyncio": ("asyncio", []),
    "pytest-cov": ("pytest_cov", ["--cov=.", "--cov-report=term"]),
    "pytest-sugar": ("sugar", ["--force-sugar"]),
    "allure-pytest": ("allure_pytest", ["--alluredir=allure"]),
    "pytest-json-report": ("pytest_jsonreport", ["--json-report", "--json-report-file=report.json"]),
}
"""Distribution → the plugin's entry point, and arguments that make it work."""

CONFIG = """\
config:
  output-dir: results
  output-basename: out
  task-source: tasks.yaml
  providers:
    - name: mock
      runs:
        - name: m
          model: mock-1
          text-only: true
          model-parameters: {answers: {wrong: "no", "*": x}, faults: {broken: [refusal]}}
"""
TASKS = """\
task-config:
  tasks:
    - {name: right, prompt: q right, response-result-format: w, expected-result: x, suite: core}
    - {name: wrong, prompt: q wrong <b>, response-result-format: w, expected-result: x}
    - {name: broken, prompt: q broken, response-result-format: w, expected-result: x}
    - name: unsupported
      prompt: q
      response-result-format: w
      expected-result: x
      files: [{name: picture, uri: picture.png, type: image/png}]
"""
ORDINARY = "def test_ordinary(): pass\n"
GATE = ["--mt-gate=pass-rate >= 0.3", "--mt-gate=error-rate <= 0.5"]


@dataclass(frozen=True)
class Session:
    """A finished session.

    Attributes:
        path: Its directory.
        status: Exit status.
        text: What it printed, without colours.
    """

    path: Path
    status: int
    text: str

    @property
    def entries(self) -> list[dict[str, Any]]:
        document = json.loads((self.path / "results/out.json").read_text(encoding="utf-8"))
        return [entry for entries in document["Results"].values() for entry in entries]

    @property
    def kinds(self) -> dict[str, str]:
        return {entry["Task"]: entry["Kind"] for entry in self.entries}

    @property
    def attempts(self) -> list[dict[str, Any]]:
        lines = (self.path / "results/out.journal.jsonl").read_text(encoding="utf-8").splitlines()
        return [line["result"] for line in map(json.loads, lines) if line["type"] == "attempt"]

    @property
    def counts(self) -> Counter[str]:
        (line,) = re.findall(r"^=+ (.*) in [\d.]+s", self.text, re.MULTILINE)
        return Counter({word: int(number) for number, word in re.findall(r"(\d+) (\w+)", line)})


def session(path: Path, plugin: str, *arguments: str, **environment: str) -> Session:
    """Run a session with our plugin and one other."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST_", "GITHUB_", "COV_"))}
    kept |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "COLUMNS": "200", "NO_COLOR": "1", **environment}
    loaded = ["-p", "mindtrial", "-p", plugin] if plugin else []
    done = subprocess.run(
        [PYTHON, "-m", "pytest", *loaded, *arguments],
        check=False,
        cwd=path,
        env=kept,
        capture_output=True,
        text=True,
        timeout=120,
    )
    return Session(path, done.returncode, re.sub(r"\x1b\[[0-9;]*m", "", done.stdout + done.stderr).strip())


def suite(path: Path, config: str = CONFIG, tasks: str = TASKS) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    (path / "config.yaml").write_text(config, encoding="utf-8")
    (path / "tasks.yaml").write_text(tasks, encoding="utf-8")
    (path / "test_ordinary.py").write_text(ORDINARY, encoding="utf-8")
    (path / "picture.png").write_bytes((ROOT / "taskdata/shapes-to-count.png").read_bytes())
    return path


@pytest.fixture(scope="module")
def first(tmp_path_factory) -> Callable[[str], Session]:
    """The session of a plugin that most cells look at; made once."""

    @functools.cache
    def run(name: str) -> Session:
        plugin, arguments = PLUGINS[name]
        path = suite(tmp_path_factory.mktemp(plugin))
        return session(path, plugin, "tasks.yaml", "test_ordinary.py", "--junitxml=j.xml", *GATE, *arguments)

    return run


def items(done: Session) -> None:
    """Every item runs, with the outcome it has without the other plugin."""
    outcomes = {
        case.attrib["name"]: [child.tag for child in case if child.tag != "properties"]
        for case in ElementTree.parse(done.path / "j.xml").getroot().iter("testcase")
    }
    assert outcomes == {
        "right[mock-m]": [],
        "wrong[mock-m]": ["failure"],
        "broken[mock-m]": ["error"],
        "unsupported[mock-m]": ["skipped"],
        "test_ordinary": [],
    }


def reports(done: Session) -> None:
    """Our reports hold every result once, and junit has our properties."""
    assert sorted((entry["Task"], entry["Kind"]) for entry in done.entries) == [
        ("broken", "Error"),
        ("right", "Passed"),
        ("unsupported", "Skipped"),
        ("wrong", "Failed"),
    ]
    assert len(done.attempts) == 4
    assert (done.path / "results/out.html").stat().st_size > 1000
    assert "got 'no', expected 'x'" in done.text
    names = [entry.attrib["name"] for entry in ElementTree.parse(done.path / "j.xml").getroot().iter("property")]
    assert names.count("mt_kind") == 4


def gate(done: Session) -> None:
    """The exit status follows the gate, although items failed."""
    assert done.status == 0, done.text
    assert "gate: GREEN (exit status 0)" in done.text


def last_failed(done: Session) -> None:
    """``--lf`` runs what was not right, and nothing else."""
    plugin, arguments = next(entry for entry in PLUGINS.values() if done.path.name.startswith(entry[0]))
    path = done.path.with_name(f"{done.path.name}-again")
    shutil.copytree(done.path, path)
    again = session(path, plugin, "tasks.yaml", "test_ordinary.py", "--lf", *arguments)
    assert again.kinds == {"wrong": "Failed", "broken": "Error"}, again.text


COLUMNS = {"items and outcomes": items, "our reports": reports, "gate": gate, "`--lf`": last_failed}


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("name", PLUGINS)
def test_cell(name, column, first):
    COLUMNS[column](first(name))


# The last column: what is particular to each plugin.


def xdist_lanes(path: Path, done: Session) -> None:
    """Attempts of one provider stay on one worker; one journal and one report come home."""
    assert "4 items on 1 of 2 workers" in done.text
    assert sorted(file.name for file in (done.path / "results").iterdir()) == [
        "out.gates.json",
        "out.html",
        "out.journal.jsonl",
        "out.json",
    ]


def html_columns(path: Path, done: Session) -> None:
    """The page has our columns, and prompt, answer, diff and picture as extras."""
    page = html.unescape((done.path / "page.html").read_text(encoding="utf-8"))
    data = json.loads(page[page.index('data-jsonblob="') + 15 : page.index('"></div>', page.index("data-jsonblob"))])
    (row,) = data["tests"]["tasks.yaml::wrong[mock-m]"]
    assert [extra["name"] for extra in row["extras"]] == ["prompt", "answer", "diff"]
    assert row["resultsTableRow"][2:4] == ["<td>mock-m</td>", "<td>Failed</td>"]
    assert "<b>" not in page, "a prompt is data"
    (skipped,) = data["tests"]["tasks.yaml::unsupported[mock-m]"]
    assert [extra["name"] for extra in skipped["extras"]] == ["prompt", "picture"]
    assert data["tests"]["test_ordinary.py::test_ordinary"][0]["resultsTableRow"][2] == "<td></td>"
    plain = session(path, "html", "-pmetadata", "test_ordinary.py", "--html=plain.html", "--self-contained-html")
    assert "Tokens in / out" not in (path / "plain.html").read_text(encoding="utf-8"), plain.text


FORGETFUL = """\
def pytest_mt_client(provider, run):
    seen = set()

    def answer(prompt):
        word = next(word for word in ("right", "wrong", "broken", "q") if word in prompt)
        if word in seen:
            return "x"
        seen.add(word)
        if word == "broken":
            raise RuntimeError("the first time")
        return "no" if word == "wrong" else "x"

    return answer
"""


def rerun_is_a_new_attempt(path: Path, done: Session) -> None:
    """A rerun is an attempt of its own; the last one counts, once."""
    (path / "conftest.py").write_text(FORGETFUL, encoding="utf-8")
    again = session(path, "rerunfailures", "tasks.yaml", "--reruns=2", "--mt-min-pass-rate=1", "--junitxml=j.xml")
    assert again.status == 0, again.text
    assert again.counts["rerun"] == 2
    assert again.kinds == {"right": "Passed", "wrong": "Passed", "broken": "Passed", "unsupported": "Skipped"}
    assert Counter(attempt["task"] for attempt in again.attempts) == {
        "right": 1,
        "wrong": 2,
        "broken": 2,
        "unsupported": 1,
    }
    for case in ElementTree.parse(path / "j.xml").getroot().iter("testcase"):
        names = [entry.attrib["name"] for entry in case.iter("property")]
        assert names.count("mt_kind") <= 1, "properties of the first try are replaced"


def shuffled_order(path: Path, done: Session) -> None:
    """The look-ahead follows the shuffled order, which a seed repeats."""
    task = {"prompt": "q", "response-result-format": "w", "expected-result": "x"}
    entries = [{"name": f"t{n}", **task} for n in range(9)]
    suite(path, tasks=json.dumps({"task-config": {"tasks": entries}}))
    arguments = ("tasks.yaml", "-v", "--mt-concurrency=1")
    orders = []
    for seed in ("1", "1", "2"):
        found = session(path, "randomly", *arguments, f"--randomly-seed={seed}")
        order = re.findall(r"tasks\.yaml::(t\d)\[mock-m\] PASSED", found.text)
        assert [attempt["task"] for attempt in found.attempts][-9:] == order
        orders.append(order)
    assert orders[0] == orders[1] != orders[2]


def timeout_guards_the_wait(path: Path, done: Session) -> None:
    """It stops an item that waits too long, not the session; the gate takes it for a failure that is not a model's."""
    suite(path, CONFIG.replace("model-parameters: {", "model-parameters: {delay: 3s, "))
    found = session(path, "timeout", "tasks.yaml", "--timeout=2", "--timeout-method=signal", *GATE)
    assert found.status == 1
    assert "Timeout (>2.0s)" in found.text
    assert found.counts["skipped"] == 1, "the session went on"
    assert "gate: RED" in found.text


def loops_do_not_clash(path: Path, done: Session) -> None:
    """Async tests run beside our items, and may ask a model through the fixture."""
    suite(path)
    (path / "test_async.py").write_text(
        "import asyncio, pytest\n"
        "@pytest.mark.asyncio\n"
        "async def test_async(mindtrial):\n"
        "    await asyncio.sleep(0)\n"
        "    assert mindtrial.ask('q').text == 'x'\n"
        "    await asyncio.sleep(0)\n",
        encoding="utf-8",
    )
    found = session(path, "asyncio", "test_async.py", "tasks.yaml", "-W", "error::RuntimeWarning")
    assert found.counts["passed"] == 2, found.text
    assert (found.counts["failed"], found.counts["error"]) == (1, 1)


ANSWERING = """\
def pytest_mt_client(provider, run):
    return answer


def answer(prompt):
    return "x"
"""


def coverage_is_the_users(path: Path, done: Session) -> None:
    """The user's own files are measured, a conftest that our engine calls from its thread included."""
    suite(path)
    (path / "conftest.py").write_text(ANSWERING, encoding="utf-8")
    found = session(path, "pytest_cov", "tasks.yaml", "--cov=.", "--cov-report=term-missing")
    assert re.search(r"conftest\.py +\d+ +0 +100%", found.text), found.text


def sugar_shows_our_lines(path: Path, done: Session) -> None:
    """Its progress bar counts our items, and our table and gate lines stand below."""
    assert "Results" in done.text
    assert re.search(r"mock +m \(mock\) +1 +1 +1 +1", done.text)


def allure_tells_runs_apart(path: Path, done: Session) -> None:
    """Two runs of one task are two histories of one test case; prompt, answer, diff and picture are attached."""
    run = CONFIG.partition("runs:\n")[2]
    config = CONFIG + run.replace("name: m", "name: n")
    suite(path, config)
    session(path, "allure_pytest", "tasks.yaml", "-k", "wrong or unsupported", "--alluredir=allure")
    results = [json.loads(file.read_text(encoding="utf-8")) for file in (path / "allure").glob("*-result.json")]
    wrong = {entry["name"]: entry for entry in results if entry["name"].startswith("wrong")}
    assert set(wrong) == {"wrong[mock-m]", "wrong[mock-n]"}
    assert len({entry["historyId"] for entry in wrong.values()}) == 2
    first, *_ = wrong.values()
    assert [entry["name"] for entry in first["parameters"]] == ["run"]
    assert [entry["name"] for entry in first["attachments"]][:3] == ["prompt", "answer", "diff"]
    unsupported = next(entry for entry in results if entry["name"].startswith("unsupported"))
    assert "picture" in [entry["name"] for entry in unsupported["attachments"]]


def json_report_has_scalars(path: Path, done: Session) -> None:
    """Each test carries our properties."""
    document = json.loads((done.path / "report.json").read_text(encoding="utf-8"))
    (wrong,) = [test for test in document["tests"] if test["nodeid"].startswith("tasks.yaml::wrong")]
    properties = {name: value for entry in wrong["user_properties"] for name, value in entry.items()}
    assert (properties["mt_run"], properties["mt_kind"]) == ("m", "Failed")
    assert wrong["outcome"] == "failed"


PARTICULARS = {
    "pytest-xdist": xdist_lanes,
    "pytest-html": html_columns,
    "pytest-rerunfailures": rerun_is_a_new_attempt,
    "pytest-randomly": shuffled_order,
    "pytest-timeout": timeout_guards_the_wait,
    "pytest-asyncio": loops_do_not_clash,
    "pytest-cov": coverage_is_the_users,
    "pytest-sugar": sugar_shows_our_lines,
    "allure-pytest": allure_tells_runs_apart,
    "pytest-json-report": json_report_has_scalars,
}


@pytest.mark.parametrize("name", PLUGINS)
def test_what_is_particular(name, first, tmp_path):
    PARTICULARS[name](suite(tmp_path), first(name))


# Releases of pytest


RELEASES = ("8.0", "8.4", "9.0")
CORE = ("tests/runs/test_outcomes.py", "tests/runs/test_selection.py")


@pytest.mark.parametrize("release", RELEASES)
def test_the_core_works_on_older_releases(release):
    other = ["xdist.plugin", "pytest_html.plugin", "pytest_metadata.plugin"]
    done = session(
        ROOT,
        "",
        *CORE,
        "-q",
        "-p",
        "no:cacheprovider",
        PYTHONPATH=str(ROOT / f".venv-compat/pytest-{release}"),
        PYTEST_PLUGINS=",".join(["pytest_mindtrial.plugin.hooks", *other]),
    )
    assert done.status == 0, done.text[-5000:]
    assert re.search(r"^[3-9]\d passed", done.text, re.MULTILINE)


# The table in the manual


def table(title: str) -> list[list[str]]:
    """Return the cells of the table below a heading, the header first."""
    text = DOCUMENT.read_text(encoding="utf-8").partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    rows = [line.strip().strip("|").split("|") for line in text.splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in row] for row in rows]
    return [cells[0], *cells[2:]]


def test_the_table_of_plugins_is_what_is_tested():
    header, *rows = table("Plugins")
    assert header == ["plugin", *COLUMNS, "particular"]
    assert [row[0] for row in rows] == list(PLUGINS) == list(PARTICULARS)
    for row in rows:
        assert row[1:-1] == ["yes"] * len(COLUMNS)
        assert row[-1]


def test_the_table_of_releases_is_what_is_tested():
    _, *rows = table("Releases of pytest")
    assert [row[0] for row in rows] == [*RELEASES, "newest"]


def test_the_script_makes_what_is_tested():
    script = (ROOT / "scripts/compat").read_text(encoding="utf-8")
    assert set(script.partition("plugins=(")[2].partition(")")[0].split()) == set(PLUGINS)
    assert tuple(script.partition("releases=(")[2].partition(")")[0].split()) == RELEASES
