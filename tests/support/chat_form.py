"""Replies of the chat dialect as each vendor writes them; see ``vendor_forms.py``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, ClassVar

from tests.support.said import Said, pieces

__all__ = ["ChatForm"]


class ChatForm:
    """Chat completions, with the usage and reasoning keys of a vendor."""

    ends: ClassVar[Mapping[str, str | None]] = {
        "answer": "stop",
        "tools": "tool_calls",
        "truncated": "length",
        "filtered": "content_filter",
        "refused": "stop",
        "continue": None,
    }

    def __init__(self, vendor: str) -> None:
        self.vendor = vendor

    def plain(self, said: Said) -> dict[str, Any]:
        reply = {**self._head("chat.completion"), "choices": [self._choice(said)]}
        usage = self._usage(said.counts)
        return reply if usage is None else {**reply, "usage": usage}

    def events(self, said: Said) -> list[str]:
        choice = self._choice(said)
        message = choice["message"]
        deltas: list[dict[str, Any]] = [
            {"role": "assistant", "content": "" if message["content"] is not None else None}
        ]
        for key in ("reasoning_content", "reasoning", "refusal", "content"):
            value = message.get(key)
            deltas += [{key: piece} for piece in (pieces(value) if isinstance(value, str) else ())]
            if isinstance(value, list):
                deltas.append({key: value})
        if "reasoning_details" in message:
            deltas += [{"reasoning_details": [detail]} for detail in message["reasoning_details"]]
        for number, call in enumerate(message.get("tool_calls", ())):
            function = call["function"]
            first = {**call, "index": number, "function": {"name": function["name"], "arguments": ""}}
            if self.vendor == "mistralai":
                deltas.append({"tool_calls": [{**call, "index": number}]})
                continue
            deltas.append({"tool_calls": [first]})
            deltas += [
                {"tool_calls": [{"index": number, "function": {"arguments": piece}}]}
                for piece in pieces(function["arguments"])
            ]
        last = {"delta": {}, **{key: value for key, value in choice.items() if key not in ("message", "index")}}
        head = self._head("chat.completion.chunk")
        chunks = [{**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
        chunks.append({**head, "choices": [{"index": 0, **last}]})
        if (usage := self._usage(said.counts)) is not None:
            chunks.append({**head, "choices": [], "usage": usage})
        return [*(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks), "data: [DONE]\n\n"]

    def error(self, status: int, word: str, message: str) -> dict[str, Any]:
        if self.vendor == "mistralai":
            return {"object": "error", "message": message, "type": word, "param": None, "code": word}
        if self.vendor == "xai":
            return {"code": word, "error": message}
        if self.vendor == "openrouter":
            return {"error": {"code": status, "message": message, "metadata": {"error_type": word}}}
        return {"error": {"message": message, "type": word, "param": None, "code": word}}

    def stream_error(self, word: str, message: str) -> str:
        return f"data: {json.dumps(self.error(500, word, message))}\n\n"

    def _head(self, kind: str) -> dict[str, Any]:
        return {"id": "r1", "object": kind, "created": 1, "model": "m", "system_fingerprint": None}

    def _choice(self, said: Said) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": said.text}
        if said.reasoning:
            message |= self._reasoning(said)
        if said.is_refused:
            message["refusal"] = "I will not."
        if said.calls:
            message["tool_calls"] = [
                {
                    "id": call.id,
                    "type": "function",
                    "function": {"name": call.name, "arguments": json.dumps(call.given)},
                }
                for call in said.calls
            ]
        choice = {"index": 0, "finish_reason": self.ends[said.end], "message": message}
        return {**choice, "native_finish_reason": "stop"} if self.vendor == "openrouter" else choice

    def _reasoning(self, said: Said) -> dict[str, Any]:
        if self.vendor == "openrouter":
            hidden = {"type": "reasoning.encrypted", "data": "b3BhcXVl", "id": "rs_1", "index": 1}
            seen = {"type": "reasoning.text", "text": said.reasoning, "format": "unknown", "index": 0}
            return {"reasoning": said.reasoning, "reasoning_details": [seen, hidden]}
        if self.vendor == "mistralai":
            thought = {"type": "thinking", "thinking": [{"type": "text", "text": said.reasoning}]}
            return {"content": [thought, {"type": "text", "text": said.text or ""}]}
        return {"reasoning_content": said.reasoning}

    def _usage(self, counts: str) -> dict[str, Any] | None:
        if counts == "none":
            return None
        usage: dict[str, Any] = {"prompt_tokens": 40, "completion_tokens": 20, "total_tokens": 60}
        if counts == "basic":
            return usage
        cached: dict[str, Any] = {"cached_tokens": 8}
        if self.vendor == "openai":
            cached["cache_write_tokens"] = 4
        elif self.vendor == "alibaba":
            cached["cache_creation_input_tokens"] = 4
        if self.vendor == "deepseek":
            usage |= {"prompt_cache_hit_tokens": 8, "prompt_cache_miss_tokens": 32}
        elif self.vendor == "moonshotai":
            usage["cached_tokens"] = 8
        else:
            usage["prompt_tokens_details"] = cached
        if self.vendor == "xai":
            usage["total_tokens"] = 75
        if self.vendor != "mistralai":
            usage["completion_tokens_details"] = {"reasoning_tokens": 15}
        return usage
