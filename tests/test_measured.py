"""What ``tests.measured`` keeps of a run of tests, and when it keeps nothing."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from bench.report import kept
from tests.programs import captured
from tests.tidy.source import ROOT

COUNTING = """
import os, pytest

@pytest.mark.parametrize("number", (1, 2))
def test_it(record_property, number):
    record_property("told", ("Tried", {"kills": 1000 * number}))
    assert os.environ["SO_MANY"] == "7"
"""


def measure(folder: Path, text: str, *more: str) -> tuple[int, Path]:
    """The exit status, and where its figures would be."""
    (folder / "test_it.py").write_text(text)
    out = folder / "kept.json"
    words = [sys.executable, "-m", "tests.measured", str(folder / "test_it.py"), *more]
    done = captured(
        [*words, "--out", str(out)],
        cwd=ROOT,
        env={k: v for k, v in os.environ.items() if not k.startswith("PYTEST")},
    )
    return done.returncode, out


def test_sums_of_what_passed_are_kept_with_their_command(tmp_path: Path) -> None:
    status, out = measure(tmp_path, COUNTING, "--set", "SO_MANY=7")
    assert status == 0
    found = kept(out)
    assert found.command.startswith("python -m tests.measured /")
    assert "--set SO_MANY=7" in found.command
    ((work, _, told, *_, verdict),) = (row.cells for row in found.rows)
    assert (work, told, verdict) == ("Tried", "3,000 kills", "met")


def test_nothing_is_kept_of_a_run_that_failed_skipped_or_counted_nothing(
    tmp_path: Path,
) -> None:
    skips = "import pytest\ndef test_it():\n    pytest.skip('no server')\n"
    for text in (COUNTING, COUNTING + skips, "def test_it():\n    pass\n"):
        status, out = measure(tmp_path, text, "--set", "SO_MANY=8")
        assert status != 0
        assert not out.exists()
