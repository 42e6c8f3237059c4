"""``mindtrial schema KIND``: JSON Schemas for editors.

Does not define them: ``suite/schema.py`` derives them from the models. Source: design D11.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from pytest_mindtrial.cli.arguments import CommandParser
from pytest_mindtrial.cli.console import print_document

__all__ = ["run"]


def run(arguments: Sequence[str]) -> int:
    """Run the command."""
    parser = CommandParser("schema", "Print the JSON Schema of a file kind, for completion and checks in editors.")
    parser.add_argument("kind", choices=("tasks", "config"), help="tasks.yaml or config.yaml")
    options = parser.parse_args(arguments)
    from pytest_mindtrial.suite.schema import config_schema, tasks_schema  # pydantic is needed only here

    schema = tasks_schema() if options.kind == "tasks" else config_schema()
    print_document(json.dumps(schema, indent=2, ensure_ascii=False) + "\n")
    return 0
