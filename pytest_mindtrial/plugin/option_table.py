"""The table of the plugin's options and ini keys.

Help texts here are the manual's text (`docs/reference/options.md` is generated from `OPTIONS`). Does not register or
read them (``plugin/options.py``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

__all__ = ["DEFAULT_CONCURRENCY", "OPTIONS", "Option"]

DEFAULT_CONCURRENCY: Mapping[str, int | Literal["auto"]] = {"": 10, "local": 1}
"""By provider name; ``""`` = all others. ``local`` has one model and one thread: waiting in line for it must not look
like the model's own time."""


class Option(NamedTuple):
    """One option.

    Attributes:
        name: Command line name without ``--mt-``.
        kind: How the value is written; a ``flag`` takes none, an ``optional-path`` may have one after ``=``.
        help: One sentence, the manual's text.
        metavar: Placeholder in the help.
        default: Value when neither the command line nor the ini file gives one.
        command_line: False for keys that only make sense in an ini file.
        choices: The only values allowed; empty = any.
    """

    name: str
    kind: Literal["text", "texts", "path", "switch", "flag", "optional-path", "count", "patterns"]
    help: str
    metavar: str = ""
    default: Any = None
    command_line: bool = True
    choices: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """The ini key."""
        return "mt_" + self.name.replace("-", "_")


OPTIONS: tuple[Option, ...] = (
    Option(
        "config",
        "path",
        "Configuration file with providers, runs and judges. Without it, a config.yaml beside the task file is used.",
        "FILE",
    ),
    Option(
        "files",
        "patterns",
        "Glob patterns (one per line) of task files that a directory walk collects. By default only task files named "
        "on the command line run, so that no walk spends money.",
        default=(),
        command_line=False,
    ),
    Option("output-dir", "path", "Directory for reports and the journal; beats output-dir of config.yaml.", "DIR"),
    Option("output-basename", "text", "File name of the reports without extension; beats config.yaml.", "NAME"),
    Option("json", "switch", "Write the results as MindTrial JSON.", default=True),
    Option("csv", "switch", "Write the results as CSV.", default=False),
    Option("html", "switch", "Write the HTML report.", default=True),
    Option(
        "seed",
        "text",
        "Evaluation seed; recorded in every result and visible to templates. Default: 32 random hexadecimal digits.",
        "TEXT",
    ),
    Option(
        "concurrency",
        "text",
        "Attempts in flight per provider: a whole number from 1 (1 keeps strict file order), or auto, which finds the "
        "level that the service takes. Single providers may have their own, such as 10,openai=50,local=2. The local "
        "model has one thread and works on one attempt at a time unless it is named here.",
        "N|auto[,PROVIDER=N]…",
        default="10",
    ),
    Option(
        "repeat",
        "text",
        "Try every task this many times per run, whatever its own repeat says; reports show pass@k, pass^k and which "
        "tasks are flaky.",
        "N",
    ),
    Option(
        "shard",
        "text",
        "Run one share of the tasks, such as 2/5 for the second of five jobs; all runs and repeats of a task are in "
        "one share. Give all jobs one --mt-seed; `mindtrial merge-results` joins their results.",
        "I/N",
    ),
    Option(
        "resume",
        "path",
        "Journal of an earlier session: its finished attempts whose definition has not changed are used again, the "
        "rest runs. The evaluation seed is that journal's unless --mt-seed is given.",
        "JOURNAL",
    ),
    Option(
        "rerun",
        "text",
        "Which finished attempts of --mt-resume run again: those that ended in an error, failed ones too, or all.",
        "error|failed|all",
        default="error",
        choices=("error", "failed", "all"),
    ),
    Option("explain", "flag", "Print for every item why --mt-resume uses its stored attempt again or runs it."),
    Option(
        "regrade",
        "path",
        "Journal of an earlier session: its answers are judged by today's rules, without any call of a model.",
        "JOURNAL",
    ),
    Option(
        "regrade-judges",
        "flag",
        "Let --mt-regrade ask judges, which are models; without it, items that need a judge are skipped.",
    ),
    Option(
        "cache",
        "path",
        "Directory of the response cache; off by default. A request that was answered before is answered from there. "
        "Errors, refusals and unreadable replies are never kept; mocks are never cached.",
        "DIR",
    ),
    Option(
        "cache-mode",
        "text",
        "How --mt-cache is used: read and added to; only read, where a missing reply is an error and nothing is sent, "
        "so that no key is needed; or refreshed, where every request is sent and its reply replaces the stored one.",
        "read-write|read-only|refresh",
        default="read-write",
        choices=("read-write", "read-only", "refresh"),
    ),
    Option(
        "max-cost",
        "text",
        "Most money that may be spent, judges included, such as 5 or '5 EUR'. When it is used up, the session stops. "
        "All selected runs need prices in that currency.",
        "AMOUNT[ CURRENCY]",
    ),
    Option(
        "max-tokens",
        "text",
        "Most tokens that may be used, input and output together, judges included. When they are used up, the session "
        "stops.",
        "N",
    ),
    Option(
        "plan",
        "optional-path",
        "Print a forecast of requests, tokens and cost, and send nothing. It is learned from the journal that is given "
        "or found in the output directory and from --mt-history, else made from sizes and limits.",
        "JOURNAL",
    ),
    Option(
        "min-pass-rate",
        "text",
        "Gate: the exit status is 0 when at least this share of all attempts passed, such as 0.9 or 90%, and 1 "
        "otherwise. Failed items stay failed in every report.",
        "SHARE",
    ),
    Option(
        "gate",
        "texts",
        "Gate in words, such as 'pass-rate >= 0.9 where suite = core per run'; repeatable, all must hold.",
        "EXPR",
        default=(),
    ),
    Option(
        "baseline",
        "path",
        "Gate: no significant regression against earlier results (JSON or journal), run by run over the common tasks.",
        "FILE",
    ),
    Option(
        "baseline-level",
        "text",
        "Greatest one-sided p-value that counts as a regression against --mt-baseline, between 0 and 1.",
        "P",
        default="0.05",
    ),
    Option(
        "undecided",
        "text",
        "What a gate means that cannot decide (too few results, an unknown cost): red or green. An incomplete or "
        "interrupted session is never green.",
        "red|green",
        default="red",
        choices=("red", "green"),
    ),
    Option("markdown", "path", "Write one Markdown report, made for a pull request, to this file.", "FILE"),
    Option("history", "path", "Record the results in this SQLite file, which `mindtrial history` reads.", "FILE"),
    Option(
        "docker-pull",
        "flag",
        "Fetch Docker images that are missing before anything is sent. Without it a missing image stops the session.",
    ),
    Option(
        "interactive",
        "flag",
        "Choose runs and tasks on a screen before anything is sent. Needs a terminal and the extra tui.",
    ),
)
