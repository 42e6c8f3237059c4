"""MindTrial's own configuration and tasks, as published: collected whole, and run against a loopback endpoint."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import jsonschema
import pytest

from tests.support.loopback import Loopback, Received, Reply, json_reply

pytestmark = pytest.mark.shared_data


def test_the_published_pair_collects_whole_without_key_or_network(project, shared_data, monkeypatch):
    for name in ("OPENAI_API_KEY", "GOOGLE_API_KEY", "ANTHROPIC_API_KEY", "OPENROUTER_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    folder = shared_data / "mindtrial"
    result = project.run(
        str(folder / "tasks.yaml"),
        "--mt-config",
        str(folder / "config.yaml"),
        "--collect-only",
        "-q",
        "--strict-markers",
    )
    assert result.ret == 0
    nodeids = {line for line in result.outlines if "::" in line}
    assert len(nodeids) == 97 * 63 == 6111
    result.stdout.fnmatch_lines(["6111 tests collected*"])


def answer(request: Received) -> Reply:
    message = {"role": "assistant", "content": json.dumps({"title": "t", "explanation": "e", "final_answer": "none"})}
    return json_reply(
        {
            "id": "c",
            "object": "chat.completion",
            "created": 1,
            "model": "m",
            "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
            "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
        }
    )


def test_all_tasks_run_through_one_openai_run_with_an_endpoint(project, shared_data):
    folder: Path = shared_data / "mindtrial"
    with Loopback() as server:
        server.respond(answer)
        project.write(
            "config.yaml",
            f"""
            config:
              output-dir: results
              output-basename: out
              task-source: tasks.yaml
              providers:
                - name: openai
                  client-config: {{endpoint: "{server.url}/v1"}}
                  runs: [{{name: mini, model: gpt-4.1-mini}}]
            """,
        )
        result = project.run(str(folder / "tasks.yaml"), "--mt-config=config.yaml", "-q", "--tb=no")
    entries = project.entries()
    assert len(entries) == 97
    assert {entry["Kind"] for entry in entries} <= {"Passed", "Failed"}
    assert result.ret == 1
    schema = json.loads((folder / "results-v1.schema.json").read_text(encoding="utf-8"))
    jsonschema.validate(project.results(), schema)
    pictures = [part for request in server.requests for part in parts_of(request) if part["type"] == "image_url"]
    stored = {path.read_bytes() for path in (folder / "taskdata").glob("*.png")}
    sent = {base64.b64decode(part["image_url"]["url"].removeprefix("data:image/png;base64,")) for part in pictures}
    assert sent
    assert sent <= stored
    with_pictures = [request for request in server.requests if parts_of(request)]
    for request in with_pictures:
        texts = [part["text"] for part in parts_of(request) if part["type"] == "text"]
        assert texts[0].startswith("[file: ")
        assert parts_of(request)[-1]["type"] == "text"


def parts_of(request: Received) -> list[dict]:
    content = request.json["messages"][-1]["content"]
    return content if isinstance(content, list) else []
