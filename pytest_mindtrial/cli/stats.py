"""``mindtrial stats``: statistics of result files on stdout.

Does not compute (``results/stats.py``). Source: spec mindtrial 8.
"""

from __future__ import annotations

from datetime import datetime

from pytest_mindtrial.cli.console import print_document, say
from pytest_mindtrial.cli.flags import Flags
from pytest_mindtrial.cli.inputs import read_inputs
from pytest_mindtrial.core.display import one_line
from pytest_mindtrial.results.stats import compute_stats
from pytest_mindtrial.results.stats_filters import DIMENSIONS, Filters, parse_group_by
from pytest_mindtrial.results.stats_writers import check_stats_format, write_stats

__all__ = ["run"]


def run(flags: Flags) -> int:
    """Run the command; every option is checked before a file is read."""
    group_by = parse_group_by(flags.text("group-by"))
    stats_format = flags.text("stats-format").strip().lower()
    check_stats_format(stats_format)
    filters = Filters(
        {name: flags.texts(name) for name in DIMENSIONS},
        [status.strip() for status in flags.texts("status")],
        flags.text("tag-mode").strip().lower(),
    )
    paths = flags.texts("input")
    if not paths:
        print("Nothing to analyze: name result files with --input.")
        return 0
    inputs = read_inputs(paths, datetime.now().astimezone())
    for note in inputs.merged.notes:
        say(one_line(note))
    groups = compute_stats(inputs.results, group_by, filters)
    print_document(write_stats(groups, group_by, stats_format, extended=flags.is_on("extended")))
    return 0
