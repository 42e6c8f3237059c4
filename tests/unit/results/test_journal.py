"""The journal and its reader."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mindtrial.core.clock import FakeClock
from pytest_mindtrial.core.errors import ResultsError, UserError
from pytest_mindtrial.core.record import AnswerRecord, Result
from pytest_mindtrial.core.secret import Redactor, Secret
from pytest_mindtrial.core.values import Kind
from pytest_mindtrial.results import journal as journal_module
from pytest_mindtrial.results.evaluation import EvaluationInfo
from pytest_mindtrial.results.journal import Journal
from pytest_mindtrial.results.journal_reader import read_journal
from tests.golden.results.samples import EVALUATION, INCOMPLETE, full


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "results" / "journal.jsonl"


@pytest.fixture
def syncs(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    calls: list[int] = []
    real = os.fsync
    monkeypatch.setattr(journal_module.os, "fsync", lambda handle: (calls.append(handle), real(handle)))
    return calls


@pytest.fixture
def journal(path: Path) -> Iterator[Journal]:
    with_clock = Journal(path, EVALUATION, Redactor(), FakeClock())
    yield with_clock
    with_clock.close()


def one(trace: str = "T1", **changes: Any) -> Result:
    return replace(Result(trace, Kind.PASSED, "task", "provider", "run", got="answer", want=("answer",)), **changes)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def test_everything_comes_back(journal: Journal, path: Path) -> None:
    for result in full():
        journal.attempt(result)
    for result in full():
        journal.reported(result)
    journal.finished(EVALUATION)
    content = read_journal(path)
    assert list(content.results) == full()
    assert content.header == EVALUATION
    assert content.reported == {result.trace_id for result in full()}
    assert not content.torn


def test_every_line_is_on_disk_at_once_and_versioned(journal: Journal, path: Path) -> None:
    journal.attempt(one())
    assert [line["type"] for line in lines(path)] == ["header", "attempt"]
    assert {line["v"] for line in lines(path)} == {1}


def test_reported_repeats_the_result_only_when_it_changed(journal: Journal, path: Path) -> None:
    journal.attempt(one())
    journal.reported(one())
    journal.reported(one(kind=Kind.FAILED))
    journal.reported(one(kind=Kind.FAILED))
    journal.close()
    assert [sorted(set(line) & {"kind", "result"}) for line in lines(path)[2:]] == [
        ["kind"],
        ["kind", "result"],
        ["kind"],
    ]
    assert read_journal(path).results == (one(kind=Kind.FAILED),)


def test_last_line_of_a_trace_wins_and_keeps_its_place(journal: Journal, path: Path) -> None:
    for result in (one("T1"), one("T2"), one("T1", got="second")):
        journal.attempt(result)
    assert [(r.trace_id, r.got) for r in read_journal(path).results] == [("T1", "second"), ("T2", "answer")]


def test_unfinished_session_reads_as_incomplete(journal: Journal, path: Path) -> None:
    assert not read_journal(path).header.is_complete
    journal.finished(INCOMPLETE)
    header = read_journal(path).header
    assert (header.is_complete, header.incomplete_reason) == (False, "interrupted by Ctrl-C")
    journal.finished(EVALUATION)
    assert read_journal(path).header.is_complete


@pytest.mark.parametrize("created", [None, "1985-03-04T22:10:00", "yesterday"])
def test_any_creation_time_is_kept(path: Path, created: str | None) -> None:
    Journal(path, EvaluationInfo(created_at=created), Redactor()).close()
    value = read_journal(path).header.created_at
    assert value == created or (created is not None and str(value).replace(" ", "T") == created)


@given(cut=st.integers(1, 400))
def test_any_cut_of_the_last_line_loses_only_that_line(tmp_path_factory: pytest.TempPathFactory, cut: int) -> None:
    path = tmp_path_factory.mktemp("cut") / "journal"
    journal = Journal(path, EVALUATION, Redactor())
    journal.attempt(one("T1"))
    size = path.stat().st_size
    journal.attempt(one("T2", got="x" * 400))
    journal.close()
    os.truncate(path, max(size + 1, path.stat().st_size - cut))
    content = read_journal(path)
    assert [result.trace_id for result in content.results] == ["T1"]
    assert content.torn


def test_a_later_session_continues_after_a_torn_line(journal: Journal, path: Path) -> None:
    journal.attempt(one("T1"))
    journal.close()
    with path.open("ab") as stream:
        stream.write(b'{"v":1,"type":"attempt","resu')
    later = Journal(path, INCOMPLETE, Redactor())
    later.attempt(one("T2"))
    later.close()
    content = read_journal(path)
    assert [result.trace_id for result in content.results] == ["T1", "T2"]
    assert content.torn
    assert content.header.expected == 40


def test_damage_in_the_middle_is_named(journal: Journal, path: Path) -> None:
    for trace in ("T1", "T2", "T3"):
        journal.attempt(one(trace))
    broken = path.read_bytes().splitlines(keepends=True)
    broken[2] = broken[2][:40] + b"\n"
    path.write_bytes(b"".join(broken))
    with pytest.raises(ResultsError, match=r"journal\.jsonl:3:1: damaged journal line: not a complete JSON object"):
        read_journal(path)


@pytest.mark.parametrize(
    "line, message",
    [
        ('{"v":1,"type":"attempt","result":[]}', ":2:1: damaged journal line: Result needs a mapping"),
        ('{"v":1,"type":"attempt","result":{"kind":"Passed"}}', ":2:1: damaged journal line"),
        ('{"v":1,"type":"attempt","result":{"trace_id":"a","kind":"Odd"}}', ":2:1: damaged journal line"),
        ('{"v":1}', ":2:1: damaged journal line"),
        ('{"v":2,"type":"attempt"}', ":2:1: unsupported journal version 2; this version reads 1"),
        ("[1]\n{}", ":2:1: damaged journal line"),
    ],
)
def test_other_damage(journal: Journal, path: Path, line: str, message: str) -> None:
    with path.open("a") as stream:
        stream.write(line + "\n")
    with pytest.raises(ResultsError, match=message):
        read_journal(path)


def test_unknown_line_types_and_blank_lines_are_passed_over(journal: Journal, path: Path) -> None:
    with path.open("a") as stream:
        stream.write('\n{"v":1,"type":"note"}\n\n')
    journal.attempt(one())
    assert read_journal(path).results == (one(),)


@pytest.mark.parametrize(
    "text, message",
    [("", "has no header line"), ("hello\n", "has no header line"), ('{"v":1,"type":"attempt"}\n', "first line is no")],
)
def test_not_a_journal(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "file").write_text(text)
    with pytest.raises(ResultsError, match=message):
        read_journal(tmp_path / "file")


def test_missing_journal(tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match=r"cannot read the journal .*nothing: No such file"):
        read_journal(tmp_path / "nothing")


def test_secrets_never_reach_the_file(path: Path) -> None:
    redact = Redactor()
    redact.add(Secret('key-"with\\quotes\n'))
    info = replace(EVALUATION, config='key-"with\\quotes\n', incomplete_reason='key-"with\\quotes\n')
    journal = Journal(path, info, redact)
    secret = 'Bearer key-"with\\quotes\n!'
    journal.attempt(one(got={secret: [secret]}, transcript=({"role": "user", "text": secret},)))
    journal.reported(one(task=secret))
    journal.finished(info)
    journal.close()
    assert "quotes" not in path.read_text()
    assert read_journal(path).results[0].task == "Bearer **********!"


def test_what_was_found_clean_is_known_until_a_secret_is_learnt(path: Path) -> None:
    redact = Redactor()
    redact.add(Secret("the first key"))
    journal = Journal(path, EVALUATION, redact)
    clean, leaky = one("T1"), one("T2", got="it is the first key")
    assert not journal.is_clean(clean)
    journal.attempt(clean)
    journal.attempt(leaky)
    assert (journal.is_clean(clean), journal.is_clean(leaky)) == (True, False)
    assert not journal.is_clean(one("T1"))  # equal, but not what was searched
    equal = one("T1")
    journal.reported(equal)
    assert journal.is_clean(equal)
    journal.reported(one("T1", got="the first key"))
    assert not journal.is_clean(equal)
    journal.attempt(clean)
    redact.add(Secret("another key"))
    assert not journal.is_clean(clean)
    journal.close()


def test_long_answers_with_many_brackets_are_written_as_they_are(journal: Journal, path: Path) -> None:
    result = one(got=[[number] for number in range(500)], want=("{[" * 100,))
    journal.attempt(result)
    assert journal.is_clean(result)
    assert read_journal(path).results == (result,)


def test_lone_surrogates_huge_payloads_and_line_separators(journal: Journal, path: Path) -> None:
    odd = one(got="\ud800\u2028\n\r\x00" + "x" * 3_000_000)
    journal.attempt(odd)
    assert read_journal(path).results == (odd,)


def test_an_answer_nested_beyond_reason_is_cut(journal: Journal, path: Path) -> None:
    value: Any = 1
    for _ in range(5000):
        value = [value]
    journal.attempt(one(got=value, want=(value,), answer=AnswerRecord("", "", value, (value,))))
    journal.attempt(one("T2", got=value, want=None))
    assert "nested deeper" in str(read_journal(path).results[0].got)


def test_a_killed_process_loses_nothing(path: Path) -> None:
    script = (
        "import os, signal, sys, pathlib\n"
        "from pytest_mindtrial.core.record import Result\n"
        "from pytest_mindtrial.core.secret import Redactor\n"
        "from pytest_mindtrial.core.values import Kind\n"
        "from pytest_mindtrial.results.evaluation import EvaluationInfo\n"
        "from pytest_mindtrial.results.journal import Journal\n"
        "journal = Journal(pathlib.Path(sys.argv[1]), EvaluationInfo(), Redactor())\n"
        "for number in range(30):\n"
        "    journal.attempt(Result(str(number), Kind.PASSED, 't', 'p', 'r'))\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    assert subprocess.run([sys.executable, "-c", script, str(path)], check=False).returncode == -9
    content = read_journal(path)
    assert len(content.results) == 30
    assert (content.torn, content.header.is_complete) == (False, False)


def eventually(is_true: Callable[[], bool]) -> None:
    ends_at = time.monotonic() + 30
    while not is_true():
        assert time.monotonic() < ends_at
        time.sleep(0.001)


def test_syncs_every_hundred_lines_or_second(path: Path, syncs: list[int]) -> None:
    clock = FakeClock()
    journal = Journal(path, EVALUATION, Redactor(), clock)
    for number in range(98):
        journal.attempt(one(str(number)))
    assert len(syncs) == 0
    journal.attempt(one("99"))
    eventually(lambda: len(syncs) == 1)
    clock._elapsed_ns += 1_000_000_000
    journal.attempt(one("later"))
    eventually(lambda: len(syncs) == 2)
    journal.close()
    journal.close()
    assert len(syncs) == 3
    with pytest.raises(UserError, match="it is closed"):
        journal.attempt(one())


def test_many_threads_write_whole_lines(journal: Journal, path: Path) -> None:
    def work(name: str) -> None:
        for number in range(50):
            journal.attempt(one(f"{name}{number}", got="y" * 5000))

    threads = [threading.Thread(target=work, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(read_journal(path).results) == 200


def test_a_full_disk_is_a_user_error_and_leaves_no_half_line(
    journal: Journal, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal.attempt(one("T1"))
    real = os.write
    room = [40]

    def write(handle: int, data: memoryview) -> int:
        if not room[0]:
            raise OSError(28, "No space left on device")
        written = real(handle, data[: room[0]])
        room[0] -= written
        return written

    monkeypatch.setattr(journal_module.os, "write", write)
    with pytest.raises(UserError, match=r"cannot write the journal .*: No space left on device; free space"):
        journal.attempt(one("T2"))
    monkeypatch.setattr(journal_module.os, "write", real)
    journal.attempt(one("T3"))
    content = read_journal(path)
    assert [result.trace_id for result in content.results] == ["T1", "T3"]
    assert not content.torn


def test_full_disk_at_the_start_closes_the_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def write(_handle: int, _data: memoryview) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(journal_module.os, "write", write)
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(UserError, match="No space left"):
        Journal(path, EVALUATION, Redactor())
    path.write_bytes(b"torn")
    with pytest.raises(UserError, match="cannot continue the journal"):
        Journal(path, EVALUATION, Redactor())
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_slow_disk_holds_up_nobody(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, goes_on = os.fsync, threading.Event()

    def fsync(handle: int) -> None:
        assert goes_on.wait(30)
        real(handle)

    monkeypatch.setattr(journal_module.os, "fsync", fsync)
    journal = Journal(path, EVALUATION, Redactor())
    for number in range(250):
        journal.attempt(one(str(number)))
    assert len(read_journal(path).results) == 250
    goes_on.set()
    journal.close()
    assert not [thread for thread in threading.enumerate() if thread.name == "mindtrial-journal"]


def test_failing_sync_in_the_middle_is_told_at_the_next_write(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failed: list[int] = []

    def fsync(handle: int) -> None:
        failed.append(handle)
        raise OSError(5, "Input/output error")

    journal = Journal(path, EVALUATION, Redactor())
    with monkeypatch.context() as patch:
        patch.setattr(journal_module.os, "fsync", fsync)
        for number in range(100):
            journal.attempt(one(str(number)))
        eventually(lambda: bool(failed) and journal._sync.problem is not None)
    with pytest.raises(UserError, match=r"cannot write the journal .*Input/output error"):
        journal.attempt(one("more"))
    assert len(read_journal(path).results) == 100
    with pytest.raises(UserError, match="Input/output error"):
        journal.close()


def test_failing_sync_on_close(journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    def fsync(_handle: int) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(journal_module.os, "fsync", fsync)
        with pytest.raises(UserError, match="Input/output error"):
            journal.close()


def test_a_place_that_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"cannot open the journal .*: Is a directory"):
        Journal(tmp_path, EVALUATION, Redactor())


def test_marks_without_a_result_go_out_with_the_next_line(journal: Journal, path: Path) -> None:
    journal.attempt(one())
    journal.reported(one())
    assert [line["type"] for line in lines(path)] == ["header", "attempt"]
    journal.attempt(one(trace_id="next"))
    assert [line["type"] for line in lines(path)] == ["header", "attempt", "reported", "attempt"]


def test_many_marks_do_not_wait(journal: Journal, path: Path) -> None:
    journal.attempt(one())
    for _ in range(100):
        journal.reported(one())
    assert len(lines(path)) == 102
