"""Replies of the three dialects that are not the chat dialect; see ``vendor_forms.py``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, ClassVar

from tests.support.said import Said, pieces

__all__ = ["AnthropicForm", "GoogleForm", "ResponsesForm"]


class ResponsesForm:
    """OpenAI Responses."""

    def plain(self, said: Said) -> dict[str, Any]:
        status, details = {
            "truncated": ("incomplete", {"reason": "max_output_tokens"}),
            "filtered": ("incomplete", {"reason": "content_filter"}),
            "continue": ("in_progress", None),
        }.get(said.end, ("completed", None))
        reply = {
            "id": "r1",
            "object": "response",
            "created_at": 1,
            "status": status,
            "model": "m",
            "error": None,
            "incomplete_details": details,
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "output": self._output(said),
        }
        usage = self._usage(said.counts)
        return reply if usage is None else {**reply, "usage": usage}

    def events(self, said: Said) -> list[str]:
        reply = self.plain(said)
        kind = {"incomplete": "response.incomplete"}.get(reply["status"], "response.completed")
        place = {"output_index": 0, "content_index": 0, "logprobs": []}
        listed: list[dict[str, Any]] = [
            {"type": "response.created", "response": {**reply, "status": "in_progress", "output": []}},
        ]
        listed += [
            {"type": "response.output_text.delta", "item_id": "msg_1", "delta": piece, **place}
            for piece in pieces(said.text or "")
        ]
        listed.append({"type": kind, "response": reply})
        return [
            f"event: {event['type']}\ndata: {json.dumps({**event, 'sequence_number': number})}\n\n"
            for number, event in enumerate(listed)
        ]

    def error(self, status: int, word: str, message: str) -> dict[str, Any]:
        return {"error": {"message": message, "type": word, "param": None, "code": word}}

    def stream_error(self, word: str, message: str) -> str:
        event = {"type": "error", "code": word, "message": message, "param": None, "sequence_number": 1}
        return f"event: error\ndata: {json.dumps(event)}\n\n"

    def _output(self, said: Said) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = []
        if said.reasoning:
            summary = [{"type": "summary_text", "text": said.reasoning}]
            items.append({"type": "reasoning", "id": "rs_1", "summary": summary, "encrypted_content": "b3BhcXVl"})
        parts: list[dict[str, Any]] = []
        if said.text is not None:
            parts.append({"type": "output_text", "annotations": [], "text": said.text})
        if said.is_refused:
            parts.append({"type": "refusal", "refusal": "I will not."})
        if parts:
            phase = "commentary" if said.calls else "final_answer"
            message = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed"}
            items.append({**message, "phase": phase, "content": parts})
        for number, call in enumerate(said.calls):
            named = {"call_id": call.id, "name": call.name, "arguments": json.dumps(call.given)}
            items.append({"type": "function_call", "id": f"fc_{number}", **named, "status": "completed"})
        return items

    def _usage(self, counts: str) -> dict[str, Any] | None:
        if counts == "none":
            return None
        usage: dict[str, Any] = {"input_tokens": 40, "output_tokens": 20, "total_tokens": 60}
        if counts == "basic":
            return usage
        inner = {"cached_tokens": 8, "cache_write_tokens": 4}
        return {**usage, "input_tokens_details": inner, "output_tokens_details": {"reasoning_tokens": 15}}


class AnthropicForm:
    """Anthropic Messages."""

    ends: ClassVar[Mapping[str, str | None]] = {
        "answer": "end_turn",
        "tools": "tool_use",
        "truncated": "max_tokens",
        "filtered": "refusal",
        "refused": "refusal",
        "continue": "pause_turn",
    }

    def plain(self, said: Said) -> dict[str, Any]:
        reply = {
            "id": "r1",
            "type": "message",
            "role": "assistant",
            "model": "m",
            "stop_reason": self.ends[said.end],
            "stop_sequence": None,
            "content": self._blocks(said),
        }
        if self.ends[said.end] == "refusal":
            reply["stop_details"] = {"type": "refusal", "category": "cyber", "explanation": None}
        usage = self._usage(said.counts)
        return reply if usage is None else {**reply, "usage": usage}

    def events(self, said: Said) -> list[str]:
        reply = self.plain(said)
        start = {**reply, "content": [], "stop_reason": None}
        start.pop("stop_details", None)
        usage = start.pop("usage", None)
        if usage is not None:
            start["usage"] = {**usage, "output_tokens": 1}
        listed: list[dict[str, Any]] = [{"type": "message_start", "message": start}, {"type": "ping"}]
        for number, block in enumerate(reply["content"]):
            listed += self._block_events(number, block)
        delta = {key: reply[key] for key in ("stop_reason", "stop_sequence", "stop_details") if key in reply}
        end: dict[str, Any] = {"type": "message_delta", "delta": delta}
        if usage is not None:
            end["usage"] = {"output_tokens": usage["output_tokens"]}
        listed += [end, {"type": "message_stop"}]
        return [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in listed]

    def error(self, status: int, word: str, message: str) -> dict[str, Any]:
        return {"type": "error", "error": {"type": word, "message": message}, "request_id": "req_1"}

    def stream_error(self, word: str, message: str) -> str:
        return f"event: error\ndata: {json.dumps(self.error(500, word, message))}\n\n"

    def _blocks(self, said: Said) -> list[dict[str, Any]]:
        blocks: list[dict[str, Any]] = []
        if said.reasoning:
            blocks.append({"type": "thinking", "thinking": said.reasoning, "signature": "c2ln"})
            blocks.append({"type": "redacted_thinking", "data": "b3BhcXVl"})
        if said.text is not None:
            blocks.append({"type": "text", "text": said.text})
        blocks += [{"type": "tool_use", "id": call.id, "name": call.name, "input": call.given} for call in said.calls]
        return blocks

    def _block_events(self, index: int, block: Mapping[str, Any]) -> list[dict[str, Any]]:
        deltas: list[dict[str, Any]] = []
        start = dict(block)
        if block["type"] == "text":
            start["text"] = ""
            deltas = [{"type": "text_delta", "text": piece} for piece in pieces(block["text"])]
        elif block["type"] == "thinking":
            start |= {"thinking": "", "signature": ""}
            deltas = [{"type": "thinking_delta", "thinking": piece} for piece in pieces(block["thinking"])]
            deltas.append({"type": "signature_delta", "signature": block["signature"]})
        elif block["type"] == "tool_use":
            start["input"] = {}
            text = json.dumps(block["input"]) if block["input"] else ""
            deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in ("", *pieces(text))]
        return [
            {"type": "content_block_start", "index": index, "content_block": start},
            *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
            {"type": "content_block_stop", "index": index},
        ]

    def _usage(self, counts: str) -> dict[str, Any] | None:
        if counts == "none":
            return None
        usage: dict[str, Any] = {"input_tokens": 40, "output_tokens": 20}
        if counts == "basic":
            return usage
        cache = {"cache_read_input_tokens": 8, "cache_creation_input_tokens": 4}
        return {**usage, **cache, "output_tokens_details": {"thinking_tokens": 15}}


class GoogleForm:
    """Google generateContent."""

    ends: ClassVar[Mapping[str, str | None]] = {
        "answer": "STOP",
        "tools": "STOP",
        "truncated": "MAX_TOKENS",
        "filtered": "SAFETY",
        "refused": "PROHIBITED_CONTENT",
        "continue": None,
    }

    def plain(self, said: Said) -> dict[str, Any]:
        candidate: dict[str, Any] = {"index": 0}
        parts = self._parts(said)
        if parts:
            candidate["content"] = {"role": "model", "parts": parts}
        if (reason := self.ends[said.end]) is not None:
            candidate["finishReason"] = reason
        reply = {"candidates": [candidate], "modelVersion": "m", "responseId": "r1"}
        usage = self._usage(said.counts)
        return reply if usage is None else {**reply, "usageMetadata": usage}

    def events(self, said: Said) -> list[str]:
        reply = self.plain(said)
        head = {key: value for key, value in reply.items() if key != "candidates"}
        candidate = reply["candidates"][0]
        partial: list[dict[str, Any]] = []
        for part in candidate.get("content", {}).get("parts", ()):
            if isinstance(part.get("text"), str) and "thoughtSignature" not in part:
                partial += [{**part, "text": piece} for piece in pieces(part["text"])]
            else:
                partial.append(part)
        chunks = [
            {**head, "candidates": [{"index": 0, "content": {"role": "model", "parts": [piece]}}]} for piece in partial
        ]
        end = {key: value for key, value in candidate.items() if key != "content"}
        chunks.append({**head, "candidates": [end]})
        return [f"data: {json.dumps(chunk)}\r\n\r\n" for chunk in chunks]

    def error(self, status: int, word: str, message: str) -> dict[str, Any]:
        return {
            "error": {
                "code": status,
                "status": word.upper() if word.islower() else word,
                "message": message,
                "details": [],
            }
        }

    def stream_error(self, word: str, message: str) -> str:
        return f"data: {json.dumps(self.error(503, word, message))}\r\n\r\n"

    def _parts(self, said: Said) -> list[dict[str, Any]]:
        parts: list[dict[str, Any]] = []
        if said.reasoning and not said.calls:
            parts.append({"text": said.reasoning, "thought": True})
        if said.text is not None:
            parts.append({"text": said.text})
        for number, call in enumerate(said.calls):
            part: dict[str, Any] = {"functionCall": {"id": call.id, "name": call.name, "args": call.given}}
            if said.reasoning and number == 0:
                part["thoughtSignature"] = "c2ln"
            parts.append(part)
        return parts

    def _usage(self, counts: str) -> dict[str, Any] | None:
        if counts == "none":
            return None
        usage: dict[str, Any] = {"promptTokenCount": 40, "candidatesTokenCount": 20, "totalTokenCount": 60}
        if counts == "basic":
            return usage
        return {**usage, "totalTokenCount": 75, "thoughtsTokenCount": 15, "cachedContentTokenCount": 8}
