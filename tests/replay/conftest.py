"""Where the published traces are, which are not part of the repository.

``GANTT_TRACES`` names the folder, else it is looked for beside the repository. Without
it, tests that need it are not collected, and one line says so.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TRACES = Path(os.environ.get("GANTT_TRACES") or ROOT.parent / "shared" / "data")
AZURE = TRACES / "azure-vm-v1"
OPENB = TRACES / "alibaba-gpu-2023-openb"
TIANCHI = TRACES / "tianchi-2018-affinity"

collect_ignore = (
    [] if AZURE.is_dir() else ["test_published_traces.py", "test_forecasts.py"]
)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Tell what did not run."""
    if collect_ignore:
        terminalreporter.write_line(
            f"left out: {', '.join(collect_ignore)}, because {TRACES} has no traces; "
            "name their folder with GANTT_TRACES"
        )
