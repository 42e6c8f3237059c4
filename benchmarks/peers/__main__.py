"""Compare whole processes: ours, Inspect AI, promptfoo; see README.md beside this file."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from benchmarks import environment
from benchmarks.experiments import folder, median, repeat, run_suite
from benchmarks.processes import Measured, Service, measure, raise_file_limit
from benchmarks.server import ANSWER
from benchmarks.suites import PROMPT

CONCURRENCY = 50

INSPECT_TASK = """
from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.scorer import includes
from inspect_ai.solver import generate

@task
def loopback():
    return Task(dataset=[Sample(input={prompt!r}.format(number=n), target={answer!r}) for n in range({tasks})],
                solver=generate(), scorer=includes())
"""


def install(environments: Path) -> None:
    """Install both tools from their registries."""
    python = environments / "inspect"
    subprocess.run([sys.executable, "-m", "venv", python], check=True)
    subprocess.run([python / "bin/pip", "install", "-q", "inspect_ai", "openai"], check=True)
    node = environments / "promptfoo"
    node.mkdir(parents=True, exist_ok=True)
    subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--prefix", node, "promptfoo"], check=True)


def run_inspect(environments: Path, tasks: int, service: Service) -> Measured:
    """Run Inspect AI once."""
    with folder() as path:
        (path / "loopback.py").write_text(INSPECT_TASK.format(prompt=PROMPT, answer=ANSWER, tasks=tasks), "utf-8")
        command = [
            str(environments / "inspect/bin/inspect"),
            "eval",
            "loopback.py",
            "--model=openai/m",
            "-M",
            "responses_api=false",
        ]
        command += [f"--max-connections={CONCURRENCY}", f"--max-samples={CONCURRENCY}", "--display=plain"]
        env = {"OPENAI_BASE_URL": service.url, "OPENAI_API_KEY": "sk-loopback", "INSPECT_LOG_FORMAT": "eval"}
        return measure(command, path, env)


def run_promptfoo(environments: Path, tasks: int, service: Service) -> Measured:
    """Run promptfoo once."""
    with folder() as path:
        tests = [
            {"vars": {"q": PROMPT.format(number=number)}, "assert": [{"type": "contains", "value": ANSWER}]}
            for number in range(tasks)
        ]
        provider = {"id": "openai:chat:m", "config": {"apiBaseUrl": service.url, "apiKey": "sk-loopback"}}
        config = {"prompts": ["{{q}}"], "providers": [provider], "tests": tests}
        (path / "promptfooconfig.json").write_text(json.dumps(config), "utf-8")
        command = [str(environments / "promptfoo/node_modules/.bin/promptfoo"), "eval", "-c", "promptfooconfig.json"]
        command += ["-j", str(CONCURRENCY), "--no-cache", "--no-progress-bar", "--no-table", "-o", "out.json"]
        env = {
            "PROMPTFOO_DISABLE_TELEMETRY": "1",
            "PROMPTFOO_DISABLE_UPDATE": "1",
            "PROMPTFOO_DISABLE_REMOTE_GENERATION": "1",
            "PROMPTFOO_DISABLE_SHARING": "1",
            "PROMPTFOO_CONFIG_DIR": str(path / "home"),
        }
        return measure(command, path, env)


def checked(run: Callable[[], Measured], tasks: int, service: Service) -> Callable[[], Measured]:
    """Return a step that also makes sure that every task was sent."""

    def step() -> Measured:
        service.stats()
        process = run()
        sent = service.stats()["requests"]
        if sent != tasks:
            raise RuntimeError(f"{sent} of {tasks} requests were sent:\n{process.output[-2000:]}")
        return process

    return step


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--install", type=Path, metavar="DIR", help="install the tools here and end")
    parser.add_argument("--environments", type=Path, metavar="DIR", help="where they are installed")
    parser.add_argument("--tasks", type=int, default=1000)
    parser.add_argument("--times", type=int, default=3)
    options = parser.parse_args()
    if options.install:
        install(options.install.resolve())
        return 0
    if not options.environments:
        parser.error("say where the tools are: --environments DIR")
    where, tasks = options.environments.resolve(), options.tasks
    raise_file_limit()
    environment.prepare()
    with Service() as service:
        ours, inspect, promptfoo = repeat(
            options.times,
            lambda: run_suite(tasks, CONCURRENCY, service).process,
            checked(lambda: run_inspect(where, tasks, service), tasks, service),
            checked(lambda: run_promptfoo(where, tasks, service), tasks, service),
        )
    print(f"{'':<10} {'samples/s':>10} {'CPU ms/sample':>14} {'peak MB':>8} {'ours ÷ this':>12}")
    rate = tasks / median(run.wall_s for run in ours)
    for name, runs in (("ours", ours), ("Inspect", inspect), ("promptfoo", promptfoo)):
        own = tasks / median(run.wall_s for run in runs)
        cpu = median(run.cpu_s for run in runs) / tasks * 1000
        memory = median(run.rss_mb for run in runs)
        print(f"{name:<10} {own:>10.0f} {cpu:>14.2f} {memory:>8.0f} {rate / own:>12.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
