"""``mindtrial convert FILE --to FORMAT``: one results file in another form.

Does not merge; ``merge-results`` does. Source: issue "From results to decisions".
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from pytest_mindtrial.cli.arguments import CommandParser
from pytest_mindtrial.cli.console import print_document, say
from pytest_mindtrial.cli.inputs import read_inputs
from pytest_mindtrial.cli.outputs import FORMATS, OutputError, render
from pytest_mindtrial.core.errors import UserError
from pytest_mindtrial.results.files import write_atomically

__all__ = ["run"]


def run(arguments: Sequence[str]) -> int:
    """Run the command."""
    parser = CommandParser("convert", "Write a results file (JSON or journal) in another form.")
    parser.add_argument("file", metavar="FILE", help="what to read")
    parser.add_argument("--to", choices=FORMATS, required=True, help="what to write")
    parser.add_argument("--output", metavar="FILE", help="where to write; without it stdout")
    options = parser.parse_args(arguments)
    text = render(read_inputs([options.file], datetime.now().astimezone()), options.to)
    if not options.output:
        print_document(text)
        return 0
    try:
        write_atomically(Path(options.output), text)
    except UserError as error:
        raise OutputError(error.message) from error
    say(f"Results written to {options.output}")
    return 0
