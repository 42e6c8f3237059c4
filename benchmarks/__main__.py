"""Run the experiments and print a table: ``python -m benchmarks [NAME …] [--long] [--times N] [--json FILE]``.

Exit status 1 when a goal is missed. On a machine that does other work judge by CPU time and by the ratio to the floor
in the same run, not by seconds.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from benchmarks import docker_tool_call, environment, experiments, limits
from benchmarks.experiments import Row
from benchmarks.processes import raise_file_limit

Experiment = Callable[[int], list[Row]]

SHORT: dict[str, tuple[Experiment, int]] = {
    "at-200": (experiments.at_200, 5),
    "at-1000": (experiments.at_1000, 5),
    "cpu": (experiments.cpu_per_item, 5),
    "hand-written": (experiments.hand_written, 5),
    "parts": (experiments.parts, 5),
    "growth": (experiments.growth, 3),
    "collect": (experiments.collecting, 5),
    "unrelated": (experiments.unrelated, 5),
    "limits": (limits.simulated, 1),
}
LONG: dict[str, tuple[Experiment, int]] = {
    "four-models": (experiments.four_models, 3),
    "ten-thousand": (experiments.ten_thousand, 3),
    "refusals": (experiments.refusals, 3),
    "limits-real": (limits.real, 1),
}
DOCKER: dict[str, tuple[Experiment, int]] = {
    "tool-call": (docker_tool_call.tool_calls, 40),
    "carts": (docker_tool_call.carts, 16),
}
"""Only on request, because they need an engine and images."""


def table(name: str, title: str, rows: list[Row]) -> list[str]:
    """Return an experiment as Markdown."""
    lines = [f"### {name}: {title}", "", "| number | value | goal | met |", "|---|---:|---:|---|"]
    for row in rows:
        sign = "≥" if row.at_least else "≤"
        goal = f"{sign} {row.goal:g} {row.unit}".rstrip() if row.goal is not None else ""
        met = "" if row.goal is None else "yes" if row.is_met else "NO"
        lines.append(f"| {row.what} | {_shown(row.value)} {row.unit}".rstrip() + f" | {goal} | {met} |")
    return [*lines, ""]


def _shown(value: float) -> str:
    return f"{value:.0f}" if value >= 100 or value == int(value) else f"{value:.3g}"


def machine() -> str:
    """Return what the numbers were measured on."""
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    return f"{os.cpu_count()} cores, {platform.python_implementation()} {platform.python_version()}, load {load}"


def main() -> int:
    known = SHORT | LONG | DOCKER
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which experiments: {', '.join(known)}")
    parser.add_argument("--long", action="store_true", help="also those that take minutes")
    parser.add_argument("--times", type=int, default=0, help="repetitions instead of the usual number")
    parser.add_argument("--json", type=Path, help="write the numbers here")
    options = parser.parse_args()
    if unknown := set(options.names) - known.keys():
        parser.error(f"no experiment {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    raise_file_limit()
    environment.prepare()
    found: dict[str, list[Row]] = {}
    print(machine(), flush=True)
    for name in options.names or (SHORT | LONG if options.long else SHORT):
        experiment, times = known[name]
        found[name] = experiment(options.times or times)
        title = (experiment.__doc__ or "").strip().rstrip(".")
        print("\n".join(["", *table(name, title, found[name])]), flush=True)
    if options.json:
        data = {name: [asdict(row) for row in rows] for name, rows in found.items()}
        options.json.write_text(json.dumps({"machine": machine(), "found": data}, indent=2) + "\n", "utf-8")
    missed = [f"{name}: {row.what}" for name, rows in found.items() for row in rows if not row.is_met]
    print("every goal is met" if not missed else "missed:\n  " + "\n  ".join(missed))
    return bool(missed)


if __name__ == "__main__":
    sys.exit(main())
