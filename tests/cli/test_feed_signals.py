"""``gantt feed`` leaves the signals of its process as they were."""

from __future__ import annotations

import signal
from pathlib import Path

from click.testing import CliRunner

from gantt.cli.main import gantt


def test_a_feed_that_cannot_start_leaves_no_signal_blocked(tmp_path: Path) -> None:
    """Programs that are started afterwards would inherit it, and not stop."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    missing = str(tmp_path / "missing.db")
    done = CliRunner().invoke(gantt, ["feed", "--url", f"sqlite:///{missing}"])
    assert done.exit_code != 0
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == before
