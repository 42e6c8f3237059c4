"""The garbage collector is left as it was found."""

from __future__ import annotations

import contextlib
import gc

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
