"""What workers tell of their readiness, and how it is read for all of them."""

from __future__ import annotations

import os
from pathlib import Path

from gantt.errors import StoreFailed
from gantt.openstack.rpc.vital_signs import (
    SILENCE_S,
    VitalSigns,
    file_of,
    notice,
    unready,
)
from tests.waiting import until


def test_all_workers_must_say_that_they_are_ready(tmp_path: Path) -> None:
    assert unready(tmp_path, 2) == "worker 0 does not serve yet"
    mirrored: list[int] = []
    signs = VitalSigns(tmp_path, 0, lambda: mirrored.append(0), str)
    until(lambda: unready(tmp_path, 1) == "", 10)
    assert unready(tmp_path, 2) == "worker 1 does not serve yet"
    other = VitalSigns(tmp_path, 1, _fail, lambda: "the message bus is away")
    until(lambda: unready(tmp_path, 2) == "worker 1: the message bus is away", 10)
    other.close()
    before = len(mirrored)
    signs.close()
    assert len(mirrored) > before  # counts of the last second are not lost


def test_a_silent_worker_is_not_ready(tmp_path: Path) -> None:
    VitalSigns(tmp_path, 0, _nothing, str).close()
    file = file_of(tmp_path, 0)
    assert unready(tmp_path, 1) == ""
    at = file.stat().st_mtime - SILENCE_S - 1
    os.utime(file, (at, at))
    assert unready(tmp_path, 1) == "worker 0: it has not reported lately"


def test_what_a_ready_worker_tells_is_told_for_all(tmp_path: Path) -> None:
    assert notice(tmp_path, 2) == ""
    VitalSigns(tmp_path, 0, _nothing, str).close()
    VitalSigns(tmp_path, 1, _nothing, str, lambda: "liveness is frozen").close()
    until(lambda: unready(tmp_path, 2) == "", 10)
    assert notice(tmp_path, 2) == "liveness is frozen"


def _fail() -> None:
    raise StoreFailed("no answer")


def _nothing() -> None:
    """There is nothing to count."""
