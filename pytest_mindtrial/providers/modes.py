"""How structured output is asked for: from the run's switches to one `OutputMode`.

Does not build requests. The exclusions between switches are checked when the configuration is loaded. Source: spec
providers 4.2.
"""

from __future__ import annotations

from pytest_mindtrial.providers.base import OutputMode
from pytest_mindtrial.providers.profiles import Profile
from pytest_mindtrial.suite.model import Run

__all__ = ["output_mode"]

_EXPLICIT: dict[str, OutputMode] = {"json-schema": "schema", "json-object": "object", "text": "text"}


def output_mode(profile: Profile, run: Run, *, has_tools: bool) -> OutputMode:
    """Return the mode of a run's requests for one task."""
    if run.disable_structured_output:
        return "off"
    switches = {name: run.parameters[name] for name in profile.mode_switches if name in run.parameters}
    explicit = switches.get("response-format")
    if explicit is not None:
        return _EXPLICIT[explicit]
    if switches.get("text-response-format"):
        return "text"
    if has_tools and switches.get("text-response-format-with-tools"):
        return "text"
    if switches.get("legacy-structured-output"):
        return "tool"
    if switches.get("disable-legacy-json-mode"):
        return "schema"
    return profile.default_mode
