"""``mindtrial merge-results``: results of several files as one.

Does not merge (``results/merge.py``). Progress goes to stderr, so that a document on stdout stays a document; MindTrial
mixes them. Source: spec mindtrial 8.1.
"""

from __future__ import annotations

from datetime import datetime

from pytest_mindtrial.cli.console import say
from pytest_mindtrial.cli.flags import Flags
from pytest_mindtrial.cli.inputs import read_inputs
from pytest_mindtrial.cli.outputs import write_documents
from pytest_mindtrial.core.display import one_line

__all__ = ["run"]


def run(flags: Flags) -> int:
    """Run the command; returns the exit status."""
    paths = flags.texts("input")
    if not paths:
        print("Nothing to merge: name result files with --input.")
        return 0
    now = datetime.now().astimezone()
    inputs = read_inputs(paths, now)
    for merged in inputs.merged.runs:
        name = one_line(f"{merged.provider} {merged.run}")
        say(f"{name}: {merged.total} results, {merged.updated} tasks updated")
    for note in inputs.merged.notes:
        say(one_line(note))
    if flags.is_on("verbose"):
        for result in inputs.results:
            name = one_line(f"{result.provider} {result.run} {result.task}")
            say(f"  {name}: {result.kind.value} ({one_line(result.trace_id)})")
    formats = [name for name in ("html", "csv", "json") if flags.is_on(name)]
    write_documents(inputs, formats, flags.text("output-dir"), flags.text("output-basename"), now)
    return 0
