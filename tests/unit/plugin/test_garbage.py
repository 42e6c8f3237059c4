"""The garbage collector is left as it was found."""

from __future__ import annotations

import contextlib
import gc
import subprocess
import sys

import pytest

from pytest_mindtrial.plugin.garbage import Pause, paused, set_aside


@pytest.fixture(autouse=True)
def as_found():
    thresholds, was_enabled = gc.get_threshold(), gc.isenabled()
    yield
    gc.unfreeze()
    gc.set_threshold(*thresholds)
    (gc.enable if was_enabled else gc.disable)()


def test_a_pause_ends_also_after_an_error():
    gc.enable()
    seen = []
    with contextlib.suppress(KeyError), paused():
        seen.append(gc.isenabled())
        raise KeyError
    assert [*seen, gc.isenabled()] == [False, True]


def test_a_pause_does_not_enable_what_the_user_has_disabled():
    gc.disable()
    with paused():
        pass
    assert not gc.isenabled()


def test_setting_aside_is_undone():
    gc.enable()
    before = gc.get_threshold()
    undo = set_aside()
    assert gc.get_freeze_count() > 0
    assert gc.get_threshold()[0] >= 20_000
    undo()
    assert (gc.get_freeze_count(), gc.get_threshold()) == (0, before)


@pytest.mark.parametrize("prepare", [gc.disable, gc.freeze])
def test_a_user_who_has_set_it_up_is_left_alone(prepare):
    gc.enable()
    prepare()
    found = gc.isenabled(), gc.get_freeze_count() > 0, gc.get_threshold()
    set_aside()()
    assert (gc.isenabled(), gc.get_freeze_count() > 0, gc.get_threshold()) == found


def test_what_lives_can_be_set_aside_in_a_pause_of_ours():
    gc.enable()
    pause = Pause()
    undo = set_aside()
    assert gc.get_freeze_count() > 0
    pause.end()
    undo()


def test_a_pause_ends_once():
    gc.enable()
    pause = Pause()
    pause.end()
    gc.disable()
    pause.end()
    assert not gc.isenabled()


def test_an_inner_pause_leaves_the_outer_one():
    gc.enable()
    outer = Pause()
    with paused():
        pass
    assert not gc.isenabled()
    outer.end()
    assert gc.isenabled()


@pytest.mark.parametrize("is_spared", [True, False])
def test_exit_is_spared_the_walk_and_open_files_are_still_written(tmp_path, is_spared):
    code = f"""
import atexit, gc, sys
from pytest_mindtrial.plugin.garbage import python_exit

atexit.register(lambda: print("set aside:", gc.get_freeze_count() > 0))
python_exit.watch()
python_exit.watch()
path = {str(tmp_path / "file")!r}
late = open(path + "-late", "w")
atexit.register(late.write, "kept")  # as a plugin's that was loaded later
held = open(path + "-held", "w")
held.write("kept")
closed = open(path + "-closed", "w")
closed.close()
standard_output = open(1, "w", closefd=False)

class Cycle:
    def __init__(self):
        self.own = self
        self.file = open(path + "-cycle", "wb")
        self.file.write(b"kept")

cycle = Cycle()
gc.collect()
if {is_spared}:
    python_exit.spare()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert done.stdout.split() == ["set", "aside:", str(is_spared)]
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {
        "file-late": "kept",
        "file-held": "kept",
        "file-closed": "",
        "file-cycle": "kept",
    }


def test_a_broken_pipe_at_exit_is_no_traceback():
    code = """
import os, sys
from pytest_mindtrial.plugin.garbage import python_exit

python_exit.watch()
python_exit.spare()
reader, writer = os.pipe()
os.close(reader)
pipe = open(writer, "w")
pipe.write("nobody reads this")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "Traceback" not in done.stderr


def test_a_file_that_cannot_be_flushed_keeps_no_other_from_being_written(tmp_path):
    code = f"""
import io
from pytest_mindtrial.plugin.garbage import python_exit

python_exit.watch()
python_exit.spare()

class Odd(io.TextIOWrapper):
    def flush(self):
        raise RuntimeError("odd")

odd = [Odd(io.BytesIO())]

class Cycle:
    def __init__(self):
        self.own = self
        self.file = open({str(tmp_path / "file")!r}, "w")
        self.file.write("kept")

Cycle()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stderr, (tmp_path / "file").read_text()) == ("", "kept")


def test_a_thread_that_is_stuck_in_writing_does_not_keep_the_process():
    code = """
import os, threading, time
from pytest_mindtrial.plugin.garbage import python_exit

python_exit.watch()
python_exit.spare()
reader, writer = os.pipe()  # nobody reads
pipe = open(writer, "wb")
threading.Thread(target=pipe.write, args=(bytes(10_000_000),), daemon=True).start()
while not threading.active_count() == 2:
    time.sleep(0.01)
time.sleep(0.2)
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=20)
