"""The guide of a client in Go, followed: its program is compiled and run."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.guides.guide import guide
from tests.shown import Terminal


@pytest.mark.skipif(shutil.which("go") is None, reason="go: install golang-go")
def test_a_program_in_go_is_compiled_and_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOCACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("GOTOOLCHAIN", "local")  # the one that is here; no download
    with Terminal(folder=tmp_path) as terminal:
        assert terminal.follow(guide("from-go")) >= 3
