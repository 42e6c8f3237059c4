"""Builders of parameter rows that several providers share.

Source: spec providers 10.2, 11, 12 and 13.
"""

from __future__ import annotations

from pytest_mindtrial.suite.parameter_types import Dialect, Row

__all__ = [
    "effort",
    "generation",
    "max_completion_tokens",
    "max_tokens",
    "penalties",
    "response_format",
    "seed",
    "share",
    "stream",
    "temperature",
    "text_response_format",
    "top_k",
    "top_p",
]

_INT32 = 2**31 - 1


def temperature(maximum: float, *, default: str = "1.0", deprecated: str = "") -> Row:
    """Return ``temperature`` from 0 to ``maximum``."""
    return Row(
        "temperature",
        "number",
        "Randomness of the answer: low values are focused and repeatable, high values varied.",
        minimum=0,
        maximum=maximum,
        default=default,
        deprecated=deprecated,
        target="temperature",
        responses_target="temperature",
    )


def top_p(*, default: str = "", deprecated: str = "", target: str = "top_p") -> Row:
    """Return ``top-p``."""
    return Row(
        "top-p",
        "number",
        "Nucleus sampling: only the most likely tokens up to this share of probability are considered.",
        minimum=0,
        maximum=1,
        default=default,
        deprecated=deprecated,
        target=target,
        responses_target=target,
    )


def top_k(description: str = "", *, deprecated: str = "", target: str = "top_k") -> Row:
    """Return ``top-k``."""
    return Row(
        "top-k",
        "int",
        description or "Only the K most likely tokens are considered at each place.",
        minimum=0,
        deprecated=deprecated,
        target=target,
    )


def penalties(limit: float | None = 2, *, camel: bool = False, ignored_in: tuple[Dialect, ...] = ()) -> tuple[Row, Row]:
    """Return both penalties within ±``limit``; None = unchecked."""
    presence, frequency = (
        ("presencePenalty", "frequencyPenalty") if camel else ("presence_penalty", "frequency_penalty")
    )
    low = None if limit is None else -limit
    default = "" if limit is None else "0.0"
    return (
        Row(
            "presence-penalty",
            "number",
            "Positive values discourage tokens that have occurred at all, negative values encourage them.",
            minimum=low,
            maximum=limit,
            default=default,
            target=presence,
            ignored_in=ignored_in,
        ),
        Row(
            "frequency-penalty",
            "number",
            "Positive values discourage tokens in proportion to how often they have occurred, negative ones encourage.",
            minimum=low,
            maximum=limit,
            default=default,
            target=frequency,
            ignored_in=ignored_in,
        ),
    )


def max_tokens(minimum: int, *, default: str = "", deprecated: str = "") -> Row:
    """Return ``max-tokens``."""
    return Row(
        "max-tokens",
        "int",
        "Upper limit of tokens the model may generate in one reply.",
        minimum=minimum,
        default=default,
        deprecated=deprecated,
        target="max_tokens",
    )


def max_completion_tokens(description: str) -> Row:
    """Return ``max-completion-tokens``."""
    return Row(
        "max-completion-tokens",
        "int",
        description,
        minimum=1,
        target="max_completion_tokens",
        responses_target="max_output_tokens",
    )


def effort(choices: tuple[str, ...], description: str = "", *, default: str = "") -> Row:
    """Return ``reasoning-effort`` with the vendor's words."""
    return Row(
        "reasoning-effort",
        "choice",
        description or "How deeply the model reasons before it answers.",
        choices=choices,
        default=default,
        target="reasoning_effort",
        responses_target="reasoning.effort",
    )


def seed(name: str = "seed", minimum: int | None = -_INT32 - 1, maximum: int | None = _INT32) -> Row:
    """Return a seed, 32-bit signed unless told otherwise."""
    return Row(
        name,
        "int",
        "Sampling seed: the service tries to repeat its answer for equal requests.",
        minimum=minimum,
        maximum=maximum,
        target=name.replace("-", "_"),
    )


def stream(note: str = "") -> Row:
    """Return ``stream``."""
    text = "Ask for the reply as a stream; it is assembled before it is read, so results do not change."
    return Row("stream", "bool", f"{text} {note}".rstrip(), default="false")


def response_format(default: str) -> Row:
    """Return ``response-format``."""
    return Row(
        "response-format",
        "choice",
        "How structured output is asked for; the reply is read accordingly.",
        choices=("json-schema", "json-object", "text"),
        default=default,
    )


def text_response_format(deprecated: str = "") -> Row:
    """Return ``text-response-format``."""
    return Row(
        "text-response-format",
        "bool",
        "Ask for plain text and find the JSON object in it, for models that cannot be held to a schema.",
        default="false",
        deprecated=deprecated,
    )


def share(name: str, description: str, *, maximum: float = 1, default: str = "0.0") -> Row:
    """Return a number from 0 to ``maximum``."""
    target = name.replace("-", "_")
    return Row(name, "number", description, minimum=0, maximum=maximum, default=default, target=target)


def generation(row: Row) -> Row:
    """Move a row's target below ``generationConfig``, where Google keeps sampling parameters."""
    return Row(
        row.name,
        row.kind,
        row.description,
        row.minimum,
        row.maximum,
        row.choices,
        row.default,
        target=f"generationConfig.{row.target}",
        values=row.values,
    )
