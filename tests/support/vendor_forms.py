"""Replies as the vendors write them, from one neutral description: plain, streamed, failed.

Used by the scenario matrix, the fault tests, the SDK tests and by servers that stand in for every vendor at once. The
forms follow the examples of spec providers 10 to 13; the SDK tests check them with the vendors' own types.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from tests.support.chat_form import ChatForm
from tests.support.loopback import Received, Reply, json_reply, sse_reply
from tests.support.other_forms import AnthropicForm, GoogleForm, ResponsesForm
from tests.support.said import Said

__all__ = ["CHAT_VENDORS", "FORMS", "Form", "cut", "form_of", "is_streamed", "respond", "speak"]

CHAT_VENDORS = ("openai", "deepseek", "mistralai", "xai", "alibaba", "moonshotai", "openrouter")
Form = ChatForm | ResponsesForm | AnthropicForm | GoogleForm

FORMS: Mapping[str, Form] = {
    **{vendor: ChatForm(vendor) for vendor in CHAT_VENDORS},
    "openai-responses": ResponsesForm(),
    "anthropic": AnthropicForm(),
    "google": GoogleForm(),
}
"""Column of the scenario matrix → how its replies look."""


def form_of(request: Received, vendor: str = "openai") -> Form:
    """Return the form that a request's path asks for; ``vendor`` says whose chat completions they are."""
    if request.path.endswith("/responses"):
        return FORMS["openai-responses"]
    if request.path.endswith("/v1/messages"):
        return FORMS["anthropic"]
    if re.search(r"/models/[^/]+:(generateContent|streamGenerateContent\?alt=sse)$", request.path):
        return FORMS["google"]
    assert request.path.endswith("/chat/completions"), request.path
    return FORMS[vendor]


def is_streamed(request: Received) -> bool:
    return ":streamGenerateContent" in request.path or request.json.get("stream") is True


def speak(form: Form, said: Said, *, stream: bool, **rest: Any) -> Reply:
    """Return a good reply; ``rest`` goes to `tests.support.loopback.Reply`."""
    if stream:
        return sse_reply(form.events(said), done=False, **rest)
    return json_reply(form.plain(said), **rest)


def respond(request: Received, said: Said, vendor: str = "openai") -> Reply:
    """Answer a request in the form it was asked in."""
    return speak(form_of(request, vendor), said, stream=is_streamed(request))


def cut(events: Sequence[str], keep: int) -> Reply:
    """Return a stream that ends, in good order, after some events."""
    return sse_reply(list(events[:keep]), done=False)
