"""``mindtrial docker sweep``: remove containers, networks and volumes that a killed session left behind.

Does not touch anything without this program's labels, nor anything of a session that is alive. Source: design D10.
"""

from __future__ import annotations

from collections.abc import Sequence

from pytest_mindtrial.cli.arguments import CommandParser
from pytest_mindtrial.cli.console import print_document, say
from pytest_mindtrial.core.errors import SandboxError

__all__ = ["run"]


def run(arguments: Sequence[str]) -> int:
    """Run the command; 1 when something resisted."""
    parser = CommandParser("docker", "Look after what evaluations leave in Docker.")
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    actions.add_parser("sweep", help="remove what dead sessions left behind")
    parser.parse_args(arguments)
    from pytest_mindtrial.sandbox.sweep import sweep_orphans  # the Docker client is needed only here

    try:
        report = sweep_orphans()
    except SandboxError as error:  # no engine answers
        say(f"mindtrial: {error}")
        return 1
    for problem in report.problems:
        say(problem)
    print_document(f"{len(report.removed)} removed, {report.kept} kept for live sessions\n")
    return 1 if report.problems else 0
