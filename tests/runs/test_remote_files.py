"""Attached files that are named by URL: downloaded once, bounded, an error with the reason when they do not come."""

from __future__ import annotations

import json
import threading

import pytest

from tests.support.loopback import Loopback, Reply


@pytest.fixture
def server():
    with Loopback() as loopback:
        yield loopback


def suite(project, url, count=3):
    tasks = [
        {
            "name": f"t{number}",
            "prompt": "What is in the file?",
            "response-result-format": "word",
            "expected-result": "x",
            "files": [{"name": "notes", "uri": url, "type": "text/plain"}],
        }
        for number in range(count)
    ]
    project.mock({"behaviour": "perfect"}, json.dumps({"task-config": {"tasks": tasks}}))


def test_a_remote_file_is_fetched_once_per_process(project, server):
    server.script(Reply(b"x" * 100_000, compress=True))
    suite(project, f"{server.url}/a%20b/ü.txt?sig=1#part")
    project.run("tasks.yaml").assert_outcomes(passed=3)
    (request,) = server.requests
    assert (request.method, request.path, request.body) == ("GET", "/a%20b/%C3%BC.txt?sig=1", b"")
    assert "content-length" not in request.headers
    assert "authorization" not in request.headers


@pytest.mark.parametrize(
    "status, reason, is_transient",
    [(404, "status 404", False), (503, "status 503", True), (302, "redirects are not followed*/elsewhere", False)],
)
def test_another_status_is_an_error_that_says_so(project, server, status, reason, is_transient):
    server.respond(lambda request: Reply(b"", status, {"location": "http://127.0.0.1/elsewhere"}))
    suite(project, f"{server.url}/f.txt?token=hidden", count=2)
    result = project.run("tasks.yaml")
    result.assert_outcomes(errors=2)
    result.stdout.fnmatch_lines([f"what:  file 'notes' could not be fetched from {server.url}/f.txt: *{reason}*"])
    assert "hidden" not in result.stdout.str()
    assert len(server.requests) == (2 if is_transient else 1)
    assert {attempt["error"]["cause"] for attempt in project.attempts()} == {f"http-{status}"}


def test_a_file_that_is_too_large_is_not_read_to_its_end(project, server, monkeypatch):
    monkeypatch.setattr("pytest_mindtrial.providers.downloads.fetch_file.__kwdefaults__", {"timeout_s": 9, "limit": 99})
    server.respond(lambda request: Reply(chunks=[b"x" * 60] * 1000))
    suite(project, f"{server.url}/f.txt", count=2)
    result = project.run("tasks.yaml")
    result.assert_outcomes(errors=2)
    result.stdout.fnmatch_lines(["what:  *larger than 99 bytes*"])
    assert len(server.requests) == 1


def test_a_server_that_says_nothing_ends_at_the_deadline(project, server, monkeypatch):
    kwdefaults = {"timeout_s": 0.2, "limit": 99}
    monkeypatch.setattr("pytest_mindtrial.providers.downloads.fetch_file.__kwdefaults__", kwdefaults)
    server.script(Reply(b"late", gate=threading.Event()))
    suite(project, f"{server.url}/f.txt", count=1)
    result = project.run("tasks.yaml")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["what:  *no complete reply within 0.2 s*", "kind:  transient*"])
