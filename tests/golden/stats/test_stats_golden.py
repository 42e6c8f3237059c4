from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from pytest_mindtrial.results.stats import compute_stats
from pytest_mindtrial.results.stats_writers import STATS_FORMATS, write_stats
from tests.support.golden import check_golden
from tests.support.sample_results import SETS

HERE = Path(__file__).parent
GROUP_BY = ("tag", "provider", "run")


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("stats_format", STATS_FORMATS)
@pytest.mark.parametrize("extended", [False, True], ids=["plain", "extended"])
def test_statistics(name: str, stats_format: str, extended: bool) -> None:
    groups = compute_stats(SETS[name](), GROUP_BY)
    text = write_stats(groups, GROUP_BY, stats_format, extended=extended)
    suffix = "-extended" if extended else ""
    check_golden(HERE / f"{name}{suffix}.{stats_format}", text)


@pytest.mark.parametrize("name", SETS)
def test_the_formats_agree(name: str) -> None:
    groups = compute_stats(SETS[name](), GROUP_BY)
    table = list(csv.DictReader(io.StringIO(write_stats(groups, GROUP_BY, "csv"))))
    objects = json.loads(write_stats(groups, GROUP_BY, "json"))
    lines = [json.loads(line) for line in write_stats(groups, GROUP_BY, "jsonl").splitlines()]
    assert objects == lines
    assert [row["Count"] for row in table] == [str(item["Count"]) for item in objects]
    assert [float(row["PassRate"]) for row in table] == [item["PassRate"] for item in objects]
    assert [row["TotalOutputTokens"] for row in table] == [str(item["TotalOutputTokens"] or "") for item in objects]
