"""``mindtrial compare OLD NEW``: what got better, what got worse, and whether that is chance.

Does not compare (``results/compare.py``). Source: issue "From results to decisions"; design D15.
"""

from __future__ import annotations

from collections.abc import Sequence

from pytest_mindtrial.cli.arguments import CommandParser
from pytest_mindtrial.cli.console import print_document
from pytest_mindtrial.cli.inputs import read_results
from pytest_mindtrial.core.errors import ConfigError
from pytest_mindtrial.results.compare import RunName, compare
from pytest_mindtrial.results.compare_writers import COMPARE_FORMATS, write_comparison

__all__ = ["run"]


def run(arguments: Sequence[str]) -> int:
    """Run the command; always 0 when a comparison was possible (``mindtrial gate`` decides)."""
    parser = CommandParser("compare", "Compare two result files (JSON or journals) task by task.")
    parser.add_argument("old", metavar="OLD", help="the baseline")
    parser.add_argument("new", metavar="NEW", help="what is judged; may be the same file when --pair is given")
    parser.add_argument("--format", choices=COMPARE_FORMATS, default="text", help="output format (default: text)")
    parser.add_argument(
        "--pair",
        metavar="PROVIDER/RUN=PROVIDER/RUN",
        action="append",
        default=[],
        help="compare an old run with a new run of another name; repeatable",
    )
    options = parser.parse_args(arguments)
    pairing = dict(_pair(text) for text in options.pair)
    comparison = compare(read_results(options.old), read_results(options.new), pairing or None)
    print_document(write_comparison(comparison, options.format))
    return 0


def _pair(text: str) -> tuple[RunName, RunName]:
    names = [tuple(part.split("/", 1)) for part in text.split("=")]
    if len(names) != 2 or any(len(name) != 2 or not all(name) for name in names):
        raise ConfigError(f"--pair {text!r}: write PROVIDER/RUN=PROVIDER/RUN, such as openai/old=openai/new")
    old, new = names
    return (old[0], old[-1]), (new[0], new[-1])
