"""One container to its end: creation, files, outcomes of the engine, removal whatever happens."""

from __future__ import annotations

import asyncio
import io
import tarfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_mindtrial.sandbox.container import ContainerSpec, Mount, create_arguments
from pytest_mindtrial.sandbox.process import Outcome
from pytest_mindtrial.sandbox.runner import Progress
from pytest_mindtrial.sandbox.shared import SharedVolume
from pytest_mindtrial.sandbox.staging import StagedFile, archive, open_folder_archive, stage
from pytest_mindtrial.suite.model import ContainerLimits

SPEC = ContainerSpec("name-1", "image", {"a": "b"})
FILES = (StagedFile("/in/a", b"1"), StagedFile("/in/b", b"2", True))


def run(
    resources: Any, spec: ContainerSpec = SPEC, files: Any = (), timeout_s: float | None = None
) -> tuple[Outcome, Progress]:
    progress = Progress()

    async def work() -> Outcome:
        return await resources.runner.run(spec, files, timeout_s, progress)  # type: ignore[no-any-return] # untyped fixture

    return asyncio.run(work()), progress


def members(data: bytes) -> dict[str, Any]:
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        return {member.name: (member.mode, member.isdir()) for member in tar}


def test_a_plain_container_has_no_network_no_log_and_the_default_command(fake: Any) -> None:
    arguments = create_arguments(fake, SPEC, 4)
    host = arguments["host_config"]
    assert (arguments["command"], arguments["environment"], arguments["labels"]) == (None, [], {"a": "b"})
    assert "networking_config" not in arguments
    assert (host["network_mode"], host["dns_opt"], host["log_config"]["Type"]) == ("none", None, "none")
    assert (host["mem_limit"], host["memswap_limit"], host["nano_cpus"], host["pids_limit"]) == (None, None, None, 512)


def test_limits_networks_and_mounts(fake: Any) -> None:
    spec = ContainerSpec(
        "n", "i", {}, command=("a", "b"), env={"B": "2", "A": "1"}, networks=("n1", "n2"), alias="svc-1",
        mounts=(Mount("/in/a", "/host/a", read_only=True), Mount("/shared", "vol", "volume")),
        limits=ContainerLimits(max_memory_mb=8, cpu_percent=25), pids_limit=7, keeps_log=True,
    )  # fmt: skip
    arguments = create_arguments(fake, spec, 4)
    host = arguments["host_config"]
    assert (arguments["command"], arguments["environment"]) == (["a", "b"], ["A=1", "B=2"])
    assert arguments["networking_config"] == {"n1": {"aliases": ["svc-1"]}}
    assert (host["network_mode"], host["dns_opt"]) == ("n1", ["timeout:1", "attempts:1"])
    assert host["mem_limit"] == host["memswap_limit"] == 8 * 1024 * 1024
    assert (host["nano_cpus"], host["pids_limit"]) == (1_000_000_000, 7)
    assert host["log_config"]["Type"] == "json-file"
    bind, volume = host["mounts"]
    assert (bind["Type"], bind["ReadOnly"]) == ("bind", True)
    assert (volume["Type"], volume["VolumeOptions"]) == ("volume", {"NoCopy": True})


def test_further_networks_and_archives_come_before_the_start(resources: Any, fake: Any) -> None:
    spec = ContainerSpec("n", "i", {}, networks=("n1", "n2", "n3"), uploads=(b"tar",))
    outcome, progress = run(resources, spec)
    assert (outcome.exit_code, progress.was_started) == (0, True)
    assert fake.made[0].networks == ["n2", "n3"]
    assert fake.done[1:] == [
        "create_container", "connect_container_to_network", "connect_container_to_network", "put_archive", "attach",
        "start", "wait", "remove_container",
    ]  # fmt: skip


def test_bound_files_are_private_copies_that_vanish(resources: Any, fake: Any) -> None:
    run(resources, files=FILES)
    first, second = fake.made[0].arguments["host_config"]["mounts"]
    assert (first["Target"], first["ReadOnly"], second["ReadOnly"]) == ("/in/a", False, True)
    assert Path(first["Source"]).is_relative_to(resources.lease.folder)
    assert not Path(first["Source"]).parent.exists()


def test_staged_files_are_closed_to_others_outside_and_open_inside(tmp_path: Path) -> None:
    mounts = stage(tmp_path / "call", FILES)
    assert [Path(mount.source).read_bytes() for mount in mounts] == [b"1", b"2"]
    assert (tmp_path / "call").stat().st_mode & 0o777 == 0o700
    assert Path(mounts[0].source).stat().st_mode & 0o777 == 0o644


def test_files_that_cannot_be_written_are_a_failure_before_the_container(resources: Any, fake: Any) -> None:
    resources.runner._folder = resources.lease.folder / "missing"
    outcome, progress = run(resources, files=FILES)
    assert outcome.failed_phase == "create"
    assert "files could not be written" in outcome.failure
    assert (progress.was_started, fake.made) == (False, [])


def test_an_engine_that_does_not_see_our_files_gets_them_sent(resources: Any, fake: Any, error: Any) -> None:
    fake.failures["create_container"] = [error(400, "invalid mount config: bind source path does not exist: /x")]
    assert run(resources, files=FILES)[0].exit_code == 0
    assert run(resources, files=FILES)[0].exit_code == 0
    assert fake.done.count("create_container") == 3  # only the first call tried the mounts
    assert members(fake.made[0].archives[0]) == {"in/a": (0o644, False), "in/b": (0o444, False)}
    assert fake.made[0].arguments["host_config"]["mounts"] == []


def test_a_chosen_transport_is_kept(make_resources: Any, fake: Any, error: Any) -> None:
    fake.failures["create_container"] = [error(400, "bind source path does not exist")]
    assert run(make_resources(transport="bind"), files=FILES)[0].failed_phase == "create"
    assert run(make_resources(transport="archive"), files=FILES)[0].exit_code == 0
    assert len(fake.made[0].archives) == 1


def test_a_remote_engine_gets_archives_from_the_start(make_resources: Any, fake: Any) -> None:
    fake.base_url = "https://docker.example:2376"
    run(make_resources(), files=FILES)
    assert len(fake.made[0].archives) == 1


@pytest.mark.parametrize(
    "call, phase, was_started",
    [("create_container", "create", False), ("attach", "create", False), ("start", "start", True)],
)
def test_engine_failures_tell_the_phase_and_leave_nothing(
    resources: Any, fake: Any, error: Any, call: str, phase: str, was_started: bool
) -> None:
    fake.failures[call] = [error(500, "broken")]
    outcome, progress = run(resources)
    assert (outcome.failed_phase, outcome.failure, outcome.capture) == (phase, "broken", None)
    assert (progress.was_started, progress.duration_ns, fake.left) == (was_started, None, 0)
    assert resources.engine.slots._value == 200


def test_a_lost_wait_is_told(resources: Any, fake: Any, error: Any) -> None:
    fake.failures["wait"] = [error(500, "lost")]
    outcome, progress = run(resources)
    assert (outcome.failed_phase, outcome.failure, outcome.exit_code) == ("wait", "lost", None)
    assert progress.duration_ns is not None
    assert fake.left == 0


def test_output_exit_code_and_memory(resources: Any, fake: Any, error: Any) -> None:
    fake.behaviours["image"].__dict__.update(stdout=b"out", stderr=b"err", exit_code=137, oom=True)
    outcome, _ = run(resources)
    assert outcome.capture is not None
    assert (outcome.capture.stdout.text, outcome.capture.stderr.text) == ("out", "err")
    assert (outcome.exit_code, outcome.oom_killed) == (137, True)
    fake.failures["inspect_container"] = [error(500)]
    assert run(resources)[0].oom_killed is False


def test_memory_is_looked_at_only_when_it_may_matter(resources: Any, fake: Any) -> None:
    run(resources)
    assert "inspect_container" not in fake.done
    run(resources, ContainerSpec("n", "i", {}, limits=ContainerLimits(max_memory_mb=8)))
    assert "inspect_container" in fake.done


def test_the_deadline_removes_the_container_and_releases_its_thread(resources: Any, fake: Any) -> None:
    fake.behaviours["image"].__dict__.update(stdout=b"early", hangs=True)
    outcome, progress = run(resources, timeout_s=0.05)
    assert (outcome.timed_out, outcome.exit_code, fake.left) == (True, None, 0)
    assert outcome.capture is not None
    assert outcome.capture.stdout.text == "early"
    assert progress.duration_ns == outcome.duration_ns
    assert resources.engine.slots._value == 200


@pytest.mark.parametrize("is_already_gone", [False, True])
def test_a_flood_is_killed(make_resources: Any, fake: Any, error: Any, is_already_gone: bool) -> None:
    fake.behaviours["image"].__dict__.update(stdout=b"x" * 100, exit_code=0 if is_already_gone else 137)
    fake.failures["kill"] = [error(409, "not running")] if is_already_gone else []
    outcome, _ = run(make_resources(output_ceiling_bytes=10))
    assert (outcome.is_flooded, outcome.timed_out) == (True, False)
    assert "kill" in fake.done


def test_a_cancelled_run_is_removed_and_its_progress_known(resources: Any, fake: Any) -> None:
    fake.behaviours["image"].__dict__.update(hangs=True)
    progress = Progress()

    async def work() -> None:
        task = asyncio.ensure_future(resources.runner.run(SPEC, (), None, progress))
        while "start" not in fake.done:
            await asyncio.sleep(0.005)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(work())
    assert (progress.was_started, progress.outcome, fake.left) == (True, None, 0)
    assert progress.duration_ns is not None
    assert resources.engine.slots._value == 200


def test_a_container_that_resists_is_told(resources: Any, fake: Any, error: Any) -> None:
    fake.failures["remove_container"] = [error(500, "busy")]
    assert run(resources)[1].leftover == "container c1 could not be removed: busy"


def test_a_shared_volume_is_made_once_opened_once_and_removed(resources: Any, fake: Any, error: Any) -> None:
    volume = SharedVolume(resources.engine, resources.lease, "attempt-1")

    async def work() -> list[Any]:
        assert await volume.close() == []
        seen = [await volume.mount("/shared/x")]
        volume.is_open = True
        seen.append(await volume.mount("/other"))
        assert len(fake.all_volumes) == 1
        fake.failures["remove_volume"] = [error(500, "busy")]
        assert [problem.endswith("busy") for problem in await volume.close()] == [True]
        assert await volume.close() == []
        return seen

    (first, uploads), (second, nothing) = asyncio.run(work())
    assert (first.target, second.target, first.source == second.source) == ("/shared/x", "/other", True)
    assert members(uploads[0]) == {"shared/x": (0o1777, True)}
    assert nothing == ()
    assert fake.all_volumes == {}


def test_archives_hold_paths_below_the_root() -> None:
    assert members(archive(FILES)).keys() == {"in/a", "in/b"}
    assert members(open_folder_archive("//a/./b/")) == {"a/b": (0o1777, True)}


def test_a_launch_that_was_cancelled_before_reading_closes_its_stream(resources: Any, fake: Any) -> None:
    closed = []
    original = fake.post

    def post(address: str, **arguments: Any) -> Any:
        found = original(address, **arguments)
        return SimpleNamespace(raw=found.raw, raise_for_status=lambda: None, close=lambda: closed.append(1))

    fake.post = post
    run(resources)
    assert closed == [1]
