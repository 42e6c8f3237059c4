"""Docker for attempts: tools, task services, custom validators.

Does not talk to models and does not judge answers. See ARCHITECTURE.md; source: spec docker.
"""

from pytest_mindtrial.sandbox.hub import SandboxHub
from pytest_mindtrial.sandbox.session import AttemptSandbox
from pytest_mindtrial.sandbox.settings import SandboxSettings
from pytest_mindtrial.sandbox.sweep import SweepReport, sweep_orphans

__all__ = ["AttemptSandbox", "SandboxHub", "SandboxSettings", "SweepReport", "sweep_orphans"]
