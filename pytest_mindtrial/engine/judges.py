"""Asking a judge: a question is a task of its own, through the same conversation loop.

No tools, no files, no system prompt, no turn limit. Does not build prompts and does not read verdicts, which is for
``validators/``. Source: spec mindtrial 5.3.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_mindtrial.core.errors import ProviderError
from pytest_mindtrial.engine.run_config import run_config
from pytest_mindtrial.engine.turns import Trail, converse, read_reply
from pytest_mindtrial.providers.base import ModelClient, Prompt
from pytest_mindtrial.suite.model import Pricing, Run
from pytest_mindtrial.validators.base import JudgeReply

__all__ = ["JUDGE_TASK", "VariantAsk"]

JUDGE_TASK = "response assessment"
"""Name of the task that carries a question."""


class VariantAsk:
    """Asks one judge variant; implements `validators.base.JudgeAsk`. Shared by all attempts.

    Args:
        judge_name: Name of the judge.
        run: The variant.
        client: The variant's own client, with its own limits and retries.
    """

    def __init__(self, judge_name: str, run: Run, client: ModelClient) -> None:
        self.judge_name = judge_name
        self.provider = run.provider
        self.variant = run.name
        self.variant_config: Mapping[str, Any] | None = run_config(run)
        self.pricing: Pricing | None = run.pricing
        self._client = client

    async def __call__(self, prompt: str, verdict_format: Any) -> JudgeReply:
        """Ask one question.

        Raises:
            ProviderError: The judge gave no usable reply; ``requests`` and ``usage`` tell what was spent.
        """
        question = Prompt(task=JUDGE_TASK, text=prompt, response_format=verdict_format)
        trail = Trail("judge")
        try:
            turn = await converse(self._client.start(question), trail, tools=None, max_turns=0)
            answer = read_reply(turn, verdict_format)
        except ProviderError as error:
            error.requests = tuple(trail.requests)
            error.usage = trail.usage
            raise
        return JudgeReply(answer.content, answer.explanation, trail.usage, tuple(trail.requests))
