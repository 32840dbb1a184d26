"""The guides that extend Gantt, followed command by command in an empty folder."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.guides.guide import guide
from tests.shown import Terminal


def test_a_weigher_is_written_and_used(tmp_path: Path) -> None:
    with Terminal(folder=tmp_path) as terminal:
        assert terminal.follow(guide("write-a-weigher")) == 4


def test_a_driver_is_written_installed_and_used(tmp_path: Path) -> None:
    test = "python -m pytest -q gantt-packing/test_packing.py"
    typed = f"pip install ./gantt-packing\n{test}"
    installed = tmp_path / "installed"

    def install() -> None:
        pip = (sys.executable, "-m", "pip", "install", "--no-index", "--no-deps")
        place = ("--no-build-isolation", "--target", installed, "./gantt-packing")
        subprocess.run([*pip, *place], cwd=tmp_path, check=True, capture_output=True)
        said = terminal.type(test)
        assert "1 passed" in said, said

    with Terminal(folder=tmp_path, instead={typed: install}) as terminal:
        terminal.environ["PYTHONPATH"] = str(installed)
        assert terminal.follow(guide("write-a-driver")) == 3
