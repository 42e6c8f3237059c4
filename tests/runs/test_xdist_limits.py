"""Rate limits hold for the session, not for each worker: the service counts."""

from __future__ import annotations

import json
import threading
import time

import pytest

from tests.support.loopback import Loopback, Received, Reply, json_reply

PER_MINUTE = 120
BURST = PER_MINUTE // 10
PACE_S = 61 / PER_MINUTE
WORD = {"title": "t", "explanation": "e", "final_answer": "x"}


class Service:
    """Answers candidates and judges, and remembers when each model was asked."""

    def __init__(self) -> None:
        self.arrivals: dict[str, list[float]] = {}
        self._lock = threading.Lock()

    def __call__(self, request: Received) -> Reply:
        model = request.json["model"]
        with self._lock:
            self.arrivals.setdefault(model, []).append(time.monotonic())
        answer = {**WORD, "final_answer": {"correct": True}} if model == "judge" else WORD
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": json.dumps(answer)}}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        return json_reply({"id": "c", "object": "chat.completion", "choices": [choice], "usage": usage})


def entry(server: Loopback, key: str, *runs: str, **more: object) -> dict[str, object]:
    client = {"endpoint": f"{server.url}/v1", "api-key": key}
    return {"name": "openai", "client-config": client, "runs": [{"name": run, "model": run} for run in runs], **more}


def write(project, providers: list[dict[str, object]], judges: list[dict[str, object]], count: int) -> None:
    judge = {"judge": {"enabled": True, "name": "strict", "variant": "judge"}} if judges else {}
    tasks = [
        {
            "name": f"t{n:02}",
            "prompt": "q",
            "response-result-format": "w",
            "expected-result": "x",
            "validation-rules": judge,
        }
        for n in range(count)
    ]
    config = {"output-dir": "results", "output-basename": "out", "task-source": "tasks.yaml"}
    (project.path / "tasks.yaml").write_text(json.dumps({"task-config": {"tasks": tasks}}))
    document = {"config": {**config, "providers": providers, "judges": judges}}
    (project.path / "config.yaml").write_text(json.dumps(document))


def check_limit(times: list[float]) -> None:
    """Fail when more arrive after any moment than one limiter lets through; two would let a second burst through."""
    for start in range(len(times)):
        for end in range(start, len(times)):
            allowed = BURST + (times[end] - times[start]) / PACE_S + 2
            assert end - start + 1 <= allowed


@pytest.fixture
def server():
    with Loopback() as loopback:
        yield loopback


def test_a_judge_of_two_lanes_keeps_its_limit(project, server):
    service = Service()
    server.respond(service)
    strict = entry(server, "k-judge")
    strict["runs"] = [{"name": "judge", "model": "judge", "max-requests-per-minute": PER_MINUTE}]
    providers = [entry(server, "key-one", "first"), entry(server, "key-two", "second")]
    write(project, providers, [{"name": "strict", "provider": strict}], 10)
    project.run_workers("tasks.yaml", "-n2").assert_outcomes(passed=20)
    assert {model: len(times) for model, times in service.arrivals.items()} == {"first": 10, "second": 10, "judge": 20}
    check_limit(service.arrivals["judge"])


def test_an_entry_with_two_runs_keeps_its_limit_and_another_one_is_not_slowed(project, server):
    service = Service()
    server.respond(service)
    limited = entry(server, "key-one", "first", "second", **{"max-parallel-requests-per-minute": PER_MINUTE})
    write(project, [limited, entry(server, "key-two", "free")], [], 10)
    project.run_workers("tasks.yaml", "-n2").assert_outcomes(passed=30)
    check_limit(sorted(service.arrivals["first"] + service.arrivals["second"]))
    assert len(service.arrivals["free"]) == 10
