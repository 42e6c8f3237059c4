"""The quickstart suite as a newcomer runs it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SUITE = "example_suites/quickstart"


def run(output, *arguments):
    command = [sys.executable, "-m", "pytest", f"{SUITE}/tasks.yaml", "--mt-config", f"{SUITE}/config.yaml"]
    options = ["--mt-output-dir", str(output), "--mt-seed", "demo", "-p", "no:cacheprovider", *arguments]
    done = subprocess.run([*command, *options], check=False, cwd=ROOT, capture_output=True, text=True, timeout=240)
    return done


def kinds(output, provider, run_name):
    results = json.loads((output / "results.json").read_text("utf-8"))
    rows = [row for row in _rows(results) if (row["Provider"], row["Run"]) == (provider, run_name)]
    return Counter(row["Kind"] for row in rows)


def _rows(node):
    """Find the result objects wherever the document keeps them."""
    if isinstance(node, dict):
        if {"Provider", "Run", "Kind"} <= node.keys():
            yield node
        else:
            for child in node.values():
                yield from _rows(child)
    elif isinstance(node, list):
        for child in node:
            yield from _rows(child)


def test_the_perfect_mock_passes_every_task(tmp_path):
    done = run(tmp_path, "-k", "perfect")
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert "12 passed" in done.stdout
    assert (tmp_path / "results.html").is_file()


def test_the_careless_mock_is_wrong_but_never_an_error(tmp_path):
    done = run(tmp_path, "-k", "careless")
    assert done.returncode == 1, done.stdout
    found = kinds(tmp_path, "mock", "careless")
    assert found.total() == 12
    assert found.keys() == {"Passed", "Failed"}
    assert "anagram of fruits[mock-careless]" in done.stdout


@pytest.mark.local_model
def test_the_real_model_answers_some_and_skips_what_it_cannot_take(tmp_path):
    done = run(tmp_path, "-k", "smollm2")
    assert (done.returncode, done.stderr) == (1, ""), done.stdout
    found = kinds(tmp_path, "local", "smollm2")
    assert found["Skipped"] == 3
    assert found["Passed"] + found["Failed"] == 9
    assert found["Passed"] >= 2
