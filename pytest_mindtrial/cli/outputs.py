"""Results as documents in files or on stdout.

Does not read. Source: spec mindtrial 7.6 and 8.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from pytest_mindtrial.cli.console import OutputError, print_document, say
from pytest_mindtrial.cli.inputs import Inputs
from pytest_mindtrial.core.errors import UserError
from pytest_mindtrial.core.jsontext import pretty_json
from pytest_mindtrial.results.csv_writer import write_csv
from pytest_mindtrial.results.files import write_atomically
from pytest_mindtrial.results.json_writer import document
from pytest_mindtrial.results.markdown import render_markdown
from pytest_mindtrial.suite.outputs import render_path

__all__ = ["FORMATS", "OutputError", "render", "write_documents"]

FORMATS = ("html", "csv", "json", "markdown")
_EXTENSIONS = {"html": "html", "csv": "csv", "json": "json", "markdown": "md"}


def render(inputs: Inputs, name: str) -> str:
    """Return the results as one of `FORMATS`."""
    if name == "csv":
        return write_csv(inputs.results)
    if name == "markdown":
        return render_markdown(inputs.results, inputs.info)
    if name == "json":
        content = document(inputs.results, inputs.info)
        if inputs.created_at:
            # A document keeps its date as it was written, whatever its form; the results stay last.
            entries = content.pop("Results")
            content |= {"CreatedAt": inputs.created_at, "Results": entries}
        return pretty_json(content) + "\n"
    from pytest_mindtrial.report.html import render_html  # heavy: the page's own files are read

    return render_html(inputs.results, inputs.info)


def write_documents(inputs: Inputs, formats: Sequence[str], directory: str, basename: str, now: datetime) -> None:
    """Write each format to ``DIRECTORY/BASENAME.EXT``, or all to stdout when the base name is blank.

    Args:
        inputs: The results.
        formats: Some of `FORMATS`, in writing order.
        directory: May hold placeholders; blank = the current one.
        basename: May hold placeholders.
        now: Local time for the placeholders.

    Raises:
        OutputError: A file cannot be written.
    """
    for name in formats:
        text = render(inputs, name)
        if not basename.strip():
            print_document(text)
            continue
        path = Path(render_path(str(Path(directory) / f"{basename}.{_EXTENSIONS[name]}"), now))
        try:
            write_atomically(path, text)
        except UserError as error:
            raise OutputError(error.message) from error
        say(f"Results written to {path}")
