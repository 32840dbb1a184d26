"""Launchers by name: ours, and entry points of other packages."""

from __future__ import annotations

from typing import Any

import pytest

from gantt.errors import Invalid, Refused
from gantt.launch import launchers
from gantt.launch.process import ProcessLauncher
from gantt.launch.simulated import SimulatedLauncher


class Remote:
    def launch(self, selection: Any, work: Any) -> Any:
        raise NotImplementedError


class Entry:
    def __init__(self, name: str, found: Any) -> None:
        self.name, self.value, self._found = name, f"mine:{name}", found

    def load(self) -> Any:
        return self._found


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    known = [Entry("remote", Remote), Entry("broken", object), Entry("process", Remote)]

    def found(group: str) -> list[Entry]:
        return known if group == "gantt.launchers" else []

    monkeypatch.setattr(launchers, "entry_points", found)


def test_ours_and_those_of_other_packages() -> None:
    # A package cannot take the place of one of ours.
    assert isinstance(launchers.launcher("process"), ProcessLauncher)
    assert isinstance(launchers.launcher("simulated"), SimulatedLauncher)
    assert isinstance(launchers.launcher("remote"), Remote)


def test_an_unknown_one_is_refused_with_those_there_are() -> None:
    with pytest.raises(Invalid, match="broken, process, remote, simulated"):
        launchers.launcher("nosuch")


def test_one_that_cannot_be_used_is_refused_by_name() -> None:
    with pytest.raises(Refused, match=r"'broken' of gantt.launchers \(mine:broken\)"):
        launchers.launcher("broken")
