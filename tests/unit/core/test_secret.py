"""Secrets and the redactor that knows them."""

from __future__ import annotations

import json
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mindtrial.core.secret import Redactor, Secret

MASK = "**********"


def knowing(*values: str) -> Redactor:
    redactor = Redactor()
    for value in values:
        redactor.add(Secret(value))
    return redactor


def test_short_secrets_are_ignored_and_known_ones_counted_once() -> None:
    assert knowing("short").version == 0
    assert knowing("longer", "longer", "another").version == 2


@pytest.mark.parametrize("order", [("secret", "secret-and-more"), ("secret-and-more", "secret")])
def test_a_secret_that_contains_another_is_masked_whole(order: tuple[str, str]) -> None:
    assert knowing(*order)("x secret-and-more, secret") == f"x {MASK}, {MASK}"


@pytest.mark.parametrize("order", [("abcdefgh", "efghijkl"), ("efghijkl", "abcdefgh")])
def test_no_part_of_a_secret_shows_where_two_overlap(order: tuple[str, str]) -> None:
    assert knowing(*order)("x abcdefghijkl y") == f"x {MASK} y"


def test_no_part_of_a_secret_shows_where_it_overlaps_with_itself() -> None:
    assert knowing("ababab")("abababab.ababab") == f"{MASK}.{MASK}"


@given(st.lists(st.text("a.", min_size=6, max_size=8), max_size=3), st.text("a.", min_size=12))
def test_every_place_of_every_secret_is_masked_and_nothing_else(secrets: list[str], text: str) -> None:
    is_secret = [False] * len(text)
    for secret in secrets:
        for at in range(len(text)):
            if text.startswith(secret, at):
                is_secret[at : at + len(secret)] = [True] * len(secret)
    shown = [character for character, hides in zip(text, is_secret, strict=True) if not hides]
    assert knowing(*secrets)(text).replace("*", "") == "".join(shown)


@given(st.text(min_size=6), st.text(), st.text())
def test_no_secret_is_missed_in_json(secret: str, before: str, after: str) -> None:
    text = json.dumps({"a": [before + secret + after]})
    assert knowing(secret).may_be_in(text)
    assert knowing(secret).may_be_in(json.dumps({before + secret + after: 1}, separators=(",", ":")))


@pytest.mark.parametrize("secret", ['quo"ted-key', "back\\slash", "line\nbreak", "clé-ünï-😀"])
def test_other_text_is_not_taken_for_a_secret(secret: str) -> None:
    assert not knowing(secret).may_be_in(json.dumps(['quo"ted key', "back\\\\slash", "line\\nbreak", "cle-uni-😀"]))
    assert not Redactor().may_be_in(json.dumps(secret))


def test_secrets_may_be_learnt_while_others_search() -> None:
    redactor, stop = knowing("a first secret"), threading.Event()
    problems: list[Exception] = []

    def search() -> None:
        while not stop.is_set():
            try:
                redactor("no secret here" * 10)
                redactor.may_be_in("nor here" * 10)
            except Exception as error:
                problems.append(error)

    thread = threading.Thread(target=search)
    thread.start()
    for number in range(2000):
        redactor.add(Secret(f"secret number {number}"))
    stop.set()
    thread.join()
    assert problems == []
    assert redactor.version == 2001
