"""Text differences: always exact, readable where that is possible."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mindtrial.results.diff import diff
from pytest_mindtrial.results.diff_cleanup import Piece, _overlap, common_prefix, common_suffix, merge, semantic

TEXT = st.text("abc \n", max_size=60)
LONG = st.lists(st.sampled_from(["one line\n", "another line\n", "\n", "x y z\n", "tail"]), max_size=60).map("".join)


def shown(old: str, new: str) -> str:
    return "".join(p.text if p.op == "=" else f"[{p.op}{p.text}]" for p in diff(old, new))


def joined(pieces: tuple[Piece, ...] | list[Piece], without: str) -> str:
    return "".join(piece.text for piece in pieces if piece.op != without)


@given(TEXT, TEXT)
def test_pieces_rebuild_both_texts(old: str, new: str) -> None:
    pieces = diff(old, new)
    assert joined(pieces, "+") == old
    assert joined(pieces, "-") == new
    assert all(piece.text for piece in pieces)


@given(LONG, LONG)
def test_line_mode_rebuilds_both_texts(old: str, new: str) -> None:
    pieces = diff(old, new)
    assert joined(pieces, "+") == old
    assert joined(pieces, "-") == new


@given(TEXT)
def test_equal_texts_are_one_piece(text: str) -> None:
    assert diff(text, text) == ((Piece("=", text),) if text else ())


@pytest.mark.parametrize(
    "old, new, expected",
    [
        ("", "new", "[+new]"),
        ("old", "", "[-old]"),
        ("grape, peach", "grape, peech", "grape, pe[-a][+e]ch"),
        ("the cat", "the fat cat", "the [+fat ]cat"),
        ("mouse", "sofas", "[-mouse][+sofas]"),
        ("abcxx", "xxdef", "[-abcxx][+xxdef]"),
        ("abcxxx", "xxxdef", "[-abc]xxx[+def]"),
        ("xxxabc", "defxxx", "[+def]xxx[-abc]"),
        ("1\n2\n3\n", "1\n3\n", "1\n[-2\n]3\n"),
        ("a", "bab", "[-a][+bab]"),
        ("x1", "y2", "[-x1][+y2]"),
        ("The end. Next one.", "The end. It is. Next one.", "The end.[+ It is.] Next one."),
        ("AAA\r\n\r\nBBB", "AAA\r\nDDD\r\n\r\nBBB", "AAA[+\r\nDDD]\r\n\r\nBBB"),
    ],
)
def test_readable_forms(old: str, new: str, expected: str) -> None:
    assert shown(old, new) == expected


def test_long_texts_are_compared_by_lines_first() -> None:
    old = "".join(f"line {n} of the text\n" for n in range(200))
    assert shown(old, old.replace("line 77 of", "line 77 in")).count("[") == 2


def test_budget_ends_in_one_deletion_and_one_insertion() -> None:
    old = "".join(chr(0x4E00 + n * 7 % 2000) for n in range(3000))
    new = "".join(chr(0x4E00 + n * 11 % 2000) for n in range(3000))
    pieces = diff(old, new)
    assert joined(pieces, "+") == old
    assert joined(pieces, "-") == new
    assert len(pieces) < 20


def test_result_does_not_depend_on_earlier_calls() -> None:
    first = diff("abc def", "abd cef")
    for n in range(100):
        diff(f"{n}a", f"{n}b")
    assert diff("abc def", "abd cef") == first


@given(TEXT, TEXT)
def test_common_ends(a: str, b: str) -> None:
    start, end = common_prefix(a, b), common_suffix(a, b)
    assert a[:start] == b[:start]
    assert a[start : start + 1] != b[start : start + 1] or start == min(len(a), len(b))
    assert a[len(a) - end :] == b[len(b) - end :]


def test_merge_shifts_edits_over_repeated_neighbours() -> None:
    assert merge([Piece("=", "a"), Piece("+", "ba"), Piece("=", "c")]) == [Piece("+", "ab"), Piece("=", "ac")]
    assert merge([Piece("=", "c"), Piece("+", "ab"), Piece("=", "a")]) == [Piece("=", "ca"), Piece("+", "ba")]


def test_merge_gives_common_ends_back() -> None:
    pieces = [Piece("-", "xay"), Piece("+", "xby"), Piece("=", "z")]
    assert merge(pieces) == [Piece("=", "x"), Piece("-", "a"), Piece("+", "b"), Piece("=", "yz")]


def test_semantic_drops_chance_matches() -> None:
    pieces = [Piece("-", "abc"), Piece("=", "x"), Piece("+", "def")]
    assert semantic(pieces) == [Piece("-", "abcx"), Piece("+", "xdef")]


def test_merge_joins_neighbours() -> None:
    assert merge([Piece("=", "a"), Piece("=", ""), Piece("=", "b")]) == [Piece("=", "ab")]


def test_an_edit_may_move_to_the_end_of_the_text() -> None:
    pieces = [Piece("=", "xy"), Piece("+", "ab"), Piece("=", "aba")]
    assert semantic(pieces) == [Piece("=", "xyaba"), Piece("+", "ba")]


def test_edits_are_not_moved_between_cr_and_lf() -> None:
    pieces = [Piece("=", "a\r"), Piece("+", "\nb\r"), Piece("=", "\nc")]
    assert semantic(pieces) == [Piece("=", "a\r\n"), Piece("+", "b\r\n"), Piece("=", "c")]


@pytest.mark.parametrize(
    "left, right, length",
    [("abc", "cab", 1), ("abcab", "abx", 2), ("aaa", "aab", 2), ("ab", "ab", 2), ("a", "b", 0), ("", "b", 0)],
)
def test_overlap(left: str, right: str, length: int) -> None:
    assert _overlap(left, right) == length


def test_semantic_of_nothing() -> None:
    assert semantic([]) == []
