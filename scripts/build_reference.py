#!/usr/bin/env python3
"""Write docs/reference/ and the options table of README.md from the code that they describe.

``--check`` writes nothing and fails when a file is not what it would write. Explains nothing by itself: a sentence that
is missing here is missing at the field, option, fixture or hook. The guide (docs/guide/) is written by hand.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from reference.command import command, error_list
from reference.keys import configuration, tasks
from reference.markdown import page
from reference.parameters import mock, model_parameters
from reference.plugin import fixture_list, hook_list, options, readme_options
from reference.values import value_list

ROOT = Path(__file__).resolve().parent.parent

PAGES: dict[str, tuple[Callable[[], str], str]] = {
    "config.md": (configuration, "every key of config.yaml"),
    "tasks.md": (tasks, "every key of task files"),
    "model-parameters.md": (model_parameters, "`model-parameters` of every provider"),
    "options.md": (options, "`--mt-…` options and ini keys"),
    "fixtures.md": (fixture_list, "what a conftest may use and override"),
    "hooks.md": (hook_list, "what a conftest or plugin may implement"),
    "values.md": (value_list, "what fixtures and hooks hand out: results, tasks, runs, prompts"),
    "command.md": (command, "the `mindtrial` command"),
    "mock.md": (mock, "the script of the mock provider"),
    "errors.md": (error_list, "exception classes"),
}


def index() -> str:
    items = [f"- [{name.removesuffix('.md')}]({name}): {text}" for name, (_, text) in PAGES.items()]
    return page("Reference", "Made from the code. [The guide](../guide/index.md) explains.", "\n".join(items))


def documents() -> Iterator[tuple[Path, str]]:
    """Yield every generated file with the content it must have."""
    folder = ROOT / "docs" / "reference"
    yield folder / "index.md", index()
    for name, (build, _) in PAGES.items():
        yield folder / name, build()
    readme = ROOT / "README.md"
    yield readme, readme_options(readme.read_text("utf-8"))


def main(arguments: list[str] | None = None) -> int:
    """Write the files, or with ``--check`` say which ones are stale."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; fail when a file is stale")
    is_check = parser.parse_args(arguments).check
    stale = []
    for path, text in documents():
        if not path.exists() or path.read_text("utf-8") != text:
            stale.append(str(path.relative_to(ROOT)))
            if not is_check:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, "utf-8")
    print("\n".join([f"{'stale' if is_check else 'written'}: {name}" for name in stale] or ["reference: up to date"]))
    return int(is_check and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
