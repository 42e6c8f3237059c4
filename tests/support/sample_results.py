"""Result sets for golden files and hostile-text tests: empty, full, awkward."""

from __future__ import annotations

from pytest_mindtrial.core.record import (
    AnswerRecord,
    ErrorRecord,
    Metadata,
    Result,
    Semantic,
    ToolUsageRecord,
    ValidationRecord,
)
from pytest_mindtrial.core.values import Kind, Usage

PRICES = {"Currency": "USD", "InputPerMillion": 1.0, "OutputPerMillion": 10.0, "CacheReadPerMillion": 0.1}

HOSTILE = {
    "html": "</script><img src=x onerror=alert(1)>&amp;",
    "formula": '=HYPERLINK("http://x","y")',
    "escape": "\x1b]0;owned\x07\x1b[31mred\x9b2J",
    "nul": "a\x00b",
    "surrogate": "half \ud83d emoji",
    "lines": "one\r\ntwo\nthree|`four`",
    "bidi": "abc\u202egnp.exe",
    "long": "x" * 1_000_000,
}


def attempt(
    task: str,
    kind: Kind = Kind.PASSED,
    *,
    provider: str = "openai",
    run: str = "gpt",
    tokens: int | None = 1000,
    seconds: float = 1.0,
    suite: str = "core",
    tags: tuple[str, ...] = (),
    repeat: int | None = None,
    model: str = "m-1",
    seed: str = "seed-1",
    trace: str = "",
    definition: str = "",
) -> Result:
    usage = Usage() if tokens is None else Usage(tokens, tokens // 2)
    is_answer = kind in (Kind.PASSED, Kind.FAILED)
    return Result(
        trace_id=trace or f"{provider}/{run}/{task}/{repeat}",
        kind=kind,
        task=task,
        provider=provider,
        run=run,
        got="right" if kind is Kind.PASSED else "wrong",
        want=("right",),
        run_config={"Model": model, "Pricing": PRICES},
        evaluation_seed=seed,
        metadata=Metadata(suite, "math", "hard", tags),
        answer=AnswerRecord("T", "because", "wrong", ("right",), usage) if is_answer else None,
        validation=ValidationRecord("exact", "V", "compared") if is_answer else None,
        error=None
        if is_answer
        else ErrorRecord("Broken", "no answer", usage=usage, transient=True, response_parsing=True),
        duration_ns=round(seconds * 1e9),
        repeat=repeat,
        source="tasks.yaml:3:5",
        definition=definition,
    )


def full() -> list[Result]:
    judged = attempt("judged", run="o<3", seconds=61.6382334, tags=("a", "b", "a"))
    validation = ValidationRecord(
        "semantic", "J", "fine", Usage(2000, 10), Semantic("judge", "openai", "v", True, {"Pricing": PRICES})
    )
    judged = _changed(judged, validation=validation)
    tools = {"calc": ToolUsageRecord(3, 5), "idle": ToolUsageRecord(0, 5)}
    with_tools = attempt("tools", seconds=0.25, tags=("b",))
    assert with_tools.answer is not None
    with_tools = _changed(with_tools, answer=AnswerRecord("T", "", "right", ("right",), Usage(10, 20, 5, 1, 2), tools))
    return [
        attempt("sum", seconds=1.5, tags=("a",)),
        attempt("wrong", Kind.FAILED, tokens=500, seconds=2.0),
        attempt("broken", Kind.ERROR, tokens=100, seconds=0),
        attempt("skipped", Kind.SKIPPED, tokens=None, suite=""),
        judged,
        with_tools,
        attempt("free", provider="mock", run="m", tokens=None, seconds=0.000999999),
    ]


def awkward() -> list[Result]:
    texts = {name: text if name != "long" else text[:40] for name, text in HOSTILE.items()}
    return [
        attempt(text, kind, provider=text, run=text, suite=text, tags=(text,), model=text, seed=text, trace=text)
        for (text, kind) in zip(texts.values(), [Kind.PASSED, Kind.FAILED, Kind.ERROR, Kind.SKIPPED] * 2, strict=True)
    ] + [attempt("naïve 数学 🙂", tokens=10**20, seconds=10**6)]


SETS = {"empty": list, "full": full, "awkward": awkward}


def _changed(result: Result, **changes: object) -> Result:
    import dataclasses

    return dataclasses.replace(result, **changes)  # type: ignore[arg-type]  # field names are checked by dataclasses
