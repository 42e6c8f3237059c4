"""Pages about options, fixtures and hooks, from the table, the docstrings and the specifications.

Does not list pytest's own options.
"""

from __future__ import annotations

import inspect

from pytest_mindtrial.plugin import fixtures, hookspecs
from pytest_mindtrial.plugin.option_table import OPTIONS, Option
from reference.markdown import code, page, prose, table

__all__ = ["MARKERS", "fixture_list", "hook_list", "options", "readme_options"]


MARKERS = ("<!-- options:begin (scripts/build_reference.py) -->", "<!-- options:end -->")


def option_rows() -> list[tuple[str, str, str, str]]:
    """Return the rows of the options tables."""
    return [(_option_word(option), code(option.key), _option_default(option), option.help) for option in OPTIONS]


def _option_word(option: Option) -> str:
    if not option.command_line:
        return "–"
    if option.kind == "switch":
        return f"`--mt-{option.name}`, `--no-mt-{option.name}`"
    if option.kind == "optional-path":
        return code(f"--mt-{option.name}[={option.metavar}]")
    # pytest takes a path after a space for a place with tests, too, until it knows our options (guide/trouble.md).
    separator = "=" if option.kind == "path" else " "
    return code(f"--mt-{option.name}{separator}{option.metavar}".strip())


def _option_default(option: Option) -> str:
    if option.kind in ("switch", "flag"):
        return "on" if option.default else "off"
    return code(str(option.default)) if option.default not in (None, "", ()) else "–"


_OPTIONS_HEAD = ("option", "ini key", "default", "meaning")


def options() -> str:
    introduction = (
        "Every option is an ini key too; the command line beats the ini file, which beats config.yaml. Switches take "
        "`=true` or `=false`. pytest's own options work as everywhere: see [selecting](../guide/selecting.md)."
    )
    return page("Options", introduction, table(_OPTIONS_HEAD, option_rows()))


def readme_options(text: str) -> str:
    """Return README.md with a fresh table between the markers.

    Raises:
        ValueError: The markers are missing.
    """
    begin, end = MARKERS
    if text.count(begin) != 1 or text.count(end) != 1:
        raise ValueError(f"README.md must contain {begin} and {end} once each")
    before, _, rest = text.partition(begin)
    _, _, after = rest.partition(end)
    rows = [(word if word != "–" else key + " (ini)", default, help_) for word, key, default, help_ in option_rows()]
    return f"{before}{begin}\n{table(('option', 'default', 'meaning'), rows)}\n{end}{after}"


def fixture_list() -> str:
    parts = []
    for name, value in vars(fixtures).items():
        definition = getattr(value, "_fixture_function_marker", None)
        if definition is None:
            continue
        function = inspect.unwrap(value._get_wrapped_function())
        parts += [f"## {name}", f"Scope: {definition.scope}.", prose(function.__doc__ or "")]
    introduction = (
        "Any `mt_*` fixture may be overridden in a conftest; [the guide](../guide/fixtures-and-hooks.md) shows how and "
        "says what an override cannot do."
    )
    return page("Fixtures", introduction, *parts)


def hook_list() -> str:
    parts = []
    for name, value in vars(hookspecs).items():
        if not name.startswith("pytest_mt_"):
            continue
        # The annotations are texts here (postponed evaluation) and read as they are written.
        signature = inspect.signature(value)
        arguments = ", ".join(f"{each.name}: {each.annotation}" for each in signature.parameters.values())
        is_first = bool(getattr(value, "pytest_spec", {}).get("firstresult"))
        stops = "The first implementation that returns something other than None wins." if is_first else ""
        block = f"```python\ndef {name}({arguments}) -> {signature.return_annotation}: ...\n```"
        parts += [f"## {name}", block, prose(value.__doc__ or ""), stops]
    introduction = (
        "Functions that a conftest or a plugin may define. An implementation takes the arguments it needs, by name. "
        "[The guide](../guide/fixtures-and-hooks.md) has examples."
    )
    return page("Hooks", introduction, *parts)
