"""Spec docker 5.9 and 8: order, conflicts, problems; the sweep."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any

import pytest

from pytest_mindtrial.sandbox import connection
from pytest_mindtrial.sandbox.ownership import OWNER_LABEL, SESSION_LABEL, Lease
from pytest_mindtrial.sandbox.removal import list_owned, remove_one, remove_owned
from pytest_mindtrial.sandbox.settings import SandboxSettings
from pytest_mindtrial.sandbox.sweep import sweep_orphans


def fill(fake: Any, labels: dict[str, str]) -> None:
    fake.create_container(image="i", name=f"c-{len(fake.made)}", labels=labels)
    fake.create_network("net", labels=labels)
    fake.create_volume(f"v-{len(fake.made)}", labels=labels)


def test_only_objects_with_the_label_are_found_and_removed_in_order(fake: Any) -> None:
    fill(fake, {SESSION_LABEL: "a"})
    fill(fake, {SESSION_LABEL: "b"})
    fill(fake, {"other": "a"})
    assert [each.kind for each in list_owned(fake, f"{SESSION_LABEL}=a")] == ["container", "network", "volume"]
    assert remove_owned(fake, f"{SESSION_LABEL}=a", 1) == []
    assert [name for name in fake.done if name.startswith("remove")] == [
        "remove_container", "remove_network", "remove_volume",
    ]  # fmt: skip
    assert fake.left == 6


def test_what_is_gone_already_is_fine_and_what_is_busy_is_tried_again(fake: Any, error: Any) -> None:
    assert remove_one(fake, "container", "gone", 1) is None
    fill(fake, {SESSION_LABEL: "a"})
    fake.failures["remove_container"] = [error(409)]
    fake.failures["remove_network"] = [error(403), error(409)]
    assert remove_owned(fake, SESSION_LABEL, 5) == []
    assert fake.left == 0


def test_endpoints_that_hang_on_a_network_are_cut(fake: Any, error: Any) -> None:
    fill(fake, {SESSION_LABEL: "a"})
    (network,) = fake.all_networks
    fake.all_networks[network]["Containers"] = {"ep-1": {"Name": "first"}, "ep-2": {"Name": "second"}}
    fake.failures["remove_network"] = [error(403, "has active endpoints")]
    fake.failures["disconnect"] = [error(404), None]
    assert remove_owned(fake, SESSION_LABEL, 5) == []
    assert fake.done.count("disconnect") == 2
    assert fake.left == 0


def test_what_resists_is_told_and_the_rest_is_removed(fake: Any, error: Any) -> None:
    from requests.exceptions import ConnectionError as Lost

    fill(fake, {SESSION_LABEL: "a"})
    fake.failures["remove_container"] = [error(500, "broken")]
    fake.failures["remove_network"] = [Lost("lost")]
    problems = remove_owned(fake, SESSION_LABEL, 0)
    assert len(problems) == 2
    assert problems[0].endswith("could not be removed: broken")
    assert problems[1].endswith("could not be removed: lost")
    assert fake.all_volumes == {}


def test_what_stays_busy_is_given_up(fake: Any, error: Any) -> None:
    fake.failures["remove_network"] = [error(403, "has endpoints")] * 100
    assert remove_one(fake, "network", "n", 0.1) == "network n could not be removed: has endpoints"


def test_a_sweep_spares_the_living(fake: Any, tmp_path: Path) -> None:
    lease = Lease(tmp_path)
    fill(fake, lease.labels("tool"))
    dead = {SESSION_LABEL: "dead", OWNER_LABEL: f"{socket.gethostname()}:{os.getpid()}"}
    (tmp_path / "dead").mkdir()
    (tmp_path / "dead/lease").touch()
    fill(fake, dead)
    report = sweep_orphans(fake, SandboxSettings(state_dir=tmp_path))
    assert ([each.kind for each in report.removed], report.kept, report.problems) == (
        ["container", "network", "volume"], 3, (),
    )  # fmt: skip
    assert not (tmp_path / "dead").exists()
    assert fake.left == 3
    assert not fake.is_closed
    lease.release()


def test_a_sweep_without_a_client_connects_and_closes(fake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "connect", lambda: fake)
    assert sweep_orphans().removed == ()
    assert fake.is_closed
