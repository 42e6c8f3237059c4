"""Reports whose pieces were rendered while the session waited are those that would be rendered at the end."""

from __future__ import annotations

import json
import os
import time

import pytest

from tests.support.loopback import Loopback, Received, Reply, json_reply

KEY = "sk-canary-0123456789"

WHOLE = """\
from pathlib import Path

from pytest_mindtrial.report.html import render_html
from pytest_mindtrial.results import spool
from pytest_mindtrial.results.csv_writer import write_csv
from pytest_mindtrial.results.json_writer import write_json

read = spool.Spool.read
reads = []


def counted(self, number):
    reads.append(number)
    return read(self, number)


spool.Spool.read = counted


def pytest_mt_write_reports(results, evaluation):
    Path("whole.json").write_text(write_json(results, evaluation))
    Path("whole.csv").write_text(write_csv(results))
    Path("whole.html").write_text(render_html(results, evaluation))
    Path("reads").write_text(str(len(reads)))
    return None
"""


def many(count: int) -> str:
    tasks = [
        {
            "name": f"t{n:03}",
            "prompt": "<b>What?</b>",
            "response-result-format": "w",
            "expected-result": f"line\n'{n}' & \u2028",
        }
        for n in range(count)
    ]
    return json.dumps({"task-config": {"tasks": tasks}})


@pytest.fixture
def reads(project):
    """Run a session whose reports are rendered once more at its end; return how many texts were rendered early."""

    def run(*arguments: str, exit_status: int = 1) -> int:
        project.write("conftest.py", WHOLE)
        done = project.run_process("tasks.yaml", "--mt-csv", *arguments)
        assert done.ret == exit_status, done.stdout.str() + done.stderr.str()
        for name in ("json", "csv", "html"):
            path = project.path / f"results/out.{name}"
            assert path.read_bytes() == (project.path / f"whole.{name}").read_bytes(), name
        return int((project.path / "reads").read_text())

    return run


@pytest.mark.parametrize("workers", [[], ["-n2"]], ids=["plain", "xdist"])
def test_the_same_bytes(project, reads, workers):
    project.mock({"behaviour": "careless", "accuracy": 0.5, "delay": "300ms"}, many(12))
    texts = reads("--mt-concurrency=4", *workers)
    assert texts >= 3 * 4
    assert len(project.entries()) == 12


def test_the_same_bytes_of_a_session_that_stops_early(project, reads):
    project.mock({"behaviour": "careless", "accuracy": 0, "delay": "300ms"}, many(40))
    assert reads("--mt-concurrency=4", "--maxfail=9", exit_status=1) >= 3 * 4
    assert len(project.entries()) == 9
    assert '"is_complete":false' in (project.path / "results/out.html").read_text(encoding="utf-8")


def test_a_key_is_in_no_piece(project, reads):
    content = json.dumps({"title": "t", "explanation": f"<{KEY}>", "final_answer": "x"})
    reply = {"choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": content}}]}

    def respond(received: Received) -> Reply:
        time.sleep(0.3)  # the session has to wait
        return json_reply(reply)

    with Loopback() as server:
        server.respond(respond)
        project.mock({}, many(8).replace("<b>", f"<b>{KEY}"))
        config = json.loads((project.path / "config.yaml").read_text(encoding="utf-8"))
        provider = config["config"]["providers"][0]
        provider |= {"name": "openai", "client-config": {"endpoint": f"{server.url}/v1", "api-key": KEY}}
        provider["runs"][0]["model-parameters"] = {}
        (project.path / "config.yaml").write_text(json.dumps(config), encoding="utf-8")
        assert reads("--mt-concurrency=4") >= 3 * 3
    for name in os.listdir(project.path / "results"):
        text = (project.path / "results" / name).read_text(encoding="utf-8")
        assert "canary" not in text
        assert "**********" in text
