"""The file that workers share their budget in: pages, sums, the lock, and pages that are half written."""

from __future__ import annotations

import os
import threading

import pytest

from pytest_mindtrial.core.errors import InternalError
from pytest_mindtrial.engine.budget import Amount
from pytest_mindtrial.engine.ledger import Ledger, Page, total

FULL = Page(Amount(1.5, 7), Amount(0.25, 3), 2, 9, True, True, Amount(0.125, 11), "EUR")


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "budget"
    path.touch()
    return path


@pytest.fixture
def ledger(path):
    ledger = Ledger(path)
    yield ledger
    ledger.close()


def test_pages_come_back_as_they_were_written(ledger):
    assert [ledger.add(), ledger.add(), ledger.add()] == [0, 1, 2]
    assert ledger.pages() == [Page(), Page(), Page()]
    ledger.write(1, FULL)
    assert ledger.pages() == [Page(), FULL, Page()]
    ledger.write(1, Page())
    assert ledger.pages() == [Page(), Page(), Page()]


def test_there_may_be_more_pages_than_the_first_read_takes(ledger):
    numbers = [ledger.add() for _ in range(100)]
    for number in numbers:
        ledger.write(number, Page(requests=number))
    assert [page.requests for page in ledger.pages()] == numbers


def test_the_total_is_the_sum_of_all_pages():
    whole = total([FULL, Page(), FULL])
    assert (whole.spent, whole.reserved) == (Amount(3.0, 14), Amount(0.5, 6))
    assert (whole.in_flight, whole.requests) == (4, 18)


def test_what_is_in_flight_in_a_process_that_ends_counts_as_spent():
    page = Page(Amount(1.0, 10), Amount(0.5, 5), 3, 4)
    page.close()
    assert page == Page(Amount(1.5, 15), Amount(), 0, 7)
    page.close()
    assert page == Page(Amount(1.5, 15), Amount(), 0, 7)


def test_one_process_at_a_time_holds_the_lock_and_its_end_frees_it(path, ledger):
    other = Ledger(path)
    assert ledger.try_lock()
    assert not other.try_lock()
    ledger.unlock()
    assert other.try_lock()
    assert not ledger.try_lock()
    other.close()
    other.close()
    assert ledger.try_lock()


def test_a_page_that_is_being_written_is_read_again(path, ledger, monkeypatch):
    ledger.add()
    whole = FULL.pack()
    torn = [Page().pack()[:40] + whole[40:], whole[:60] + bytes(68)]
    reads = iter([*torn, whole])
    monkeypatch.setattr(os, "pread", lambda *_: next(reads))
    assert ledger.pages() == [FULL]


def test_a_damaged_file_is_our_defect(path, ledger):
    path.write_bytes(b"x" * 128)
    with pytest.raises(InternalError, match="damaged"):
        ledger.pages()


def test_readers_never_see_half_a_page(path, ledger):
    ledger.add()
    has_ended = threading.Event()

    def write():
        writer = Ledger(path)
        for number in range(1, 20_000):
            writer.write(0, Page(Amount(number, number), Amount(number, number), number, number))
        writer.close()
        has_ended.set()

    thread = threading.Thread(target=write)
    thread.start()
    while not has_ended.is_set():
        (page,) = ledger.pages()
        assert page.spent.tokens == page.reserved.tokens == page.in_flight == page.requests
    thread.join()
