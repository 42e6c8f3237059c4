"""Task files and configurations of any size, and the command that runs them.

Every task is a plain-text question whose accepted answer is what the loopback service says. Does not run anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks import environment
from benchmarks.server import ANSWER

PROMPT = (
    "Item {number}: what is 40 + 2? Think about it as long as you like, and remember that the question may be easier "
    "than it looks. Numbers are written with digits. There is no trick, no unit, and no rounding to be done here."
)


def write_suite(folder: Path, tasks: int, *, answer: str = ANSWER) -> None:
    """Write ``tasks.yaml``; with 0 tasks there is one, disabled."""
    lines = ["task-config:", "  tasks:"]
    for number in range(max(tasks, 1)):
        lines += [
            f'    - name: "item {number}"',
            f'      prompt: "{PROMPT.format(number=number)}"',
            '      response-result-format: "a number"',
            f'      expected-result: "{answer}"',
            '      suite: "benchmark"',
            '      tags: ["easy", "arithmetic"]',
        ]
        if not tasks:
            lines.append("      disabled: true")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tasks.yaml").write_text("\n".join(lines) + "\n", "utf-8")


def write_config(folder: Path, url: str | None, *, runs: int = 1, per_minute: int = 0, retries: int = 0) -> None:
    """Write ``config.yaml`` with one provider; without a URL it is the mock."""
    lines = ["config:", '  output-dir: "results"', '  output-basename: "out"', '  task-source: "tasks.yaml"']
    lines += ["  providers:", f"    - name: {'openai' if url else 'mock'}"]
    if url:
        lines += ["      client-config:", f'        endpoint: "{url}"', '        api-key: "sk-loopback-0123456789"']
    lines.append("      runs:")
    for number in range(runs):
        lines += [f'        - name: "run{number}"', f'          model: "model-{number}"']
        if per_minute:
            lines.append(f"          max-requests-per-minute: {per_minute}")
        if retries:
            lines += ["          retry-policy:", f"            max-retry-attempts: {retries}"]
            lines.append("            initial-delay-seconds: 1")
    (folder / "config.yaml").write_text("\n".join(lines) + "\n", "utf-8")


def pytest_command(*args: str) -> list[str]:
    """Return the command of a user's pytest."""
    return [environment.python(), "-m", "pytest", *args]


def run_command(concurrency: int, args: Sequence[str] = ()) -> list[str]:
    """Return the command that runs ``tasks.yaml`` in the current directory with all default reports."""
    return pytest_command(
        "tasks.yaml", "--mt-config=config.yaml", f"--mt-concurrency={concurrency}", "-q", "--rootdir=.", *args
    )
