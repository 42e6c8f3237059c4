"""Texts come back whole, in any order."""

from __future__ import annotations

import random

import pytest

from pytest_mindtrial.results.spool import Spool

TEXTS = ["", "a", "é日🍇", "half \ud83d", "x" * 300_000, '{"a": 1}\n']


@pytest.mark.parametrize("seed", range(4))
def test_any_order(seed: int) -> None:
    spool = Spool()
    texts = TEXTS * 3
    numbers = [spool.add(text) for text in texts]
    assert numbers == list(range(len(texts)))
    if seed:
        random.Random(seed).shuffle(numbers)
    assert [spool.read(number) for number in numbers] == [texts[number] for number in numbers]
    spool.close()
    spool.close()


def test_a_text_that_is_not_in_the_file_is_an_error() -> None:
    spool = Spool()
    number = spool.add("text" * 100_000)
    spool._file.truncate(1000)
    with pytest.raises(OSError, match="lost"):
        spool.read(number)
    spool.close()


def test_half_a_text_before_does_no_harm() -> None:
    spool = Spool()
    spool.add("first")
    spool._file.write(b"half of one, and then Ctrl-C")
    number = spool.add("second")
    assert spool.read(number) == "second"
    spool.close()
