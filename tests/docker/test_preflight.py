"""Spec docker 3 against a real engine: images that are there, images that are not."""

from __future__ import annotations

from typing import Any

import pytest


def test_all_is_well(lab: Any) -> None:
    config = lab.config(lab.counter(), lab.client(), lab.validator("true"))
    assert lab.hub(config).preflight([lab.task(config)]) == []


def test_a_missing_image_is_named_once_with_its_user_and_the_command_to_run(lab: Any) -> None:
    missing = "mindtrial-test/none:1"
    config = lab.config(lab.tool(image=missing), lab.tool("second", image=missing), lab.validator("", image="no/such"))
    found = [str(problem) for problem in lab.hub(config).preflight([lab.task(config), lab.task(config)])]
    assert found == [
        "image 'mindtrial-test/none:1' (tool 'sh' of task 'task-a') is not on this machine; images are never fetched by"
        " themselves. Run: docker pull mindtrial-test/none:1",
        "image 'no/such' (validator 'check' of task 'task-a') is not on this machine; images are never fetched by"
        " themselves. Run: docker pull no/such",
    ]


def test_no_engine_is_one_message(lab: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///no/such.sock")
    config = lab.config(lab.tool(), lab.validator("true"))
    (problem,) = lab.hub(config).preflight([lab.task(config)])
    assert "no Docker engine answers at unix:///no/such.sock" in str(problem)


def test_a_pinned_old_version_is_refused(lab: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_API_VERSION", "1.40")
    config = lab.config(lab.tool())
    (problem,) = lab.hub(config).preflight([lab.task(config)])
    assert str(problem) == (
        "Docker Engine API 1.40 (set by DOCKER_API_VERSION) is too old; tools, services and custom validators need API"
        " 1.41 (Docker Engine 20.10) or newer"
    )


def test_a_pull_that_fails_says_so(lab: Any) -> None:
    config = lab.config(lab.tool(image="127.0.0.1:9/none:1"))
    (problem,) = lab.hub(config, pull=True).preflight([lab.task(config)])
    assert "is not on this machine and could not be fetched" in str(problem)
