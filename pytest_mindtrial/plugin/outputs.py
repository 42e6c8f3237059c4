"""Where the reports and the journal of a session go.

Options beat config.yaml. Does not create anything. Source: spec mindtrial 1.4 and 7.6.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_mindtrial.plugin.evaluation import Evaluation

__all__ = ["Outputs"]


class Outputs:
    """Paths of one session.

    Attributes:
        directory: Output directory, placeholders filled in.
        stem: Directory joined with the base name, no extension.
    """

    def __init__(self, evaluation: Evaluation) -> None:
        from pytest_mindtrial.suite.outputs import render_path

        settings = evaluation.settings
        config = evaluation.configs[0] if evaluation.configs else None
        written = str(settings.output_dir) if settings.output_dir else (config.output_dir if config else "")
        name = settings.output_basename or (config.output_basename if config else "") or "results"
        worker = getattr(evaluation.pytest_config, "workerinput", {}).get("mindtrial", {})
        self.directory = Path(render_path(written or str(evaluation.invocation_dir / "results"), evaluation.started_at))
        self.stem = self.directory / render_path(name, evaluation.started_at)
        if "stem" in worker:
            self.stem = Path(worker["stem"])
            self.directory = self.stem.parent
        self._journal_suffix = ".journal.jsonl"
        if worker:
            from pytest_mindtrial.results.lane_journals import lane_suffix

            self._journal_suffix = lane_suffix(worker["session"], worker["slot"])

    @property
    def journal(self) -> Path:
        """The journal's path."""
        return self.file(self._journal_suffix)

    def file(self, extension: str) -> Path:
        """Return the path of a report, such as ``file(".json")``."""
        return self.stem.with_name(self.stem.name + extension)
