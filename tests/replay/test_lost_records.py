"""What a full disk or a removed file takes from a record: it is counted, told in the
next file, and no file is missed that never was."""

from __future__ import annotations

import errno
import logging
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from gantt.engine.gantt import Gantt
from gantt.engine.recording import line_counts
from gantt.engine.recording.record_files import RecordFile
from gantt.engine.recording.record_writer import _Next
from gantt.model.changes import Cursor
from gantt.replay.redecision_results import Played, Redecided
from tests.replay.recorded import add_hosts, ask, flush, played, service

FULL = OSError(errno.ENOSPC, "No space left on device")


class Disk:
    """``os``, where only ``room`` bytes can be written, and ``is_open`` to new
    files."""

    def __init__(self) -> None:
        self.room = 1 << 30
        self.is_open = True

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)

    def open(self, *words: Any) -> int:
        if not self.is_open:
            raise FULL
        return os.open(*words)

    def write(self, file: int, data: bytes) -> int:
        if self.room <= 0:
            raise FULL
        written = os.write(file, data[: self.room])
        self.room -= written
        return written

    def empty(self) -> None:
        self.room, self.is_open = 1 << 30, True


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    found = Disk()
    monkeypatch.setattr("gantt.engine.recording.record_files.os", found)
    return found


@pytest.fixture
def live(tmp_path: Path, disk: Disk) -> Iterator[Gantt]:
    del disk
    with service(tmp_path) as gantt:
        add_hosts(gantt, "a", "b")
        flush(gantt)
        yield gantt


def again(gantt: Gantt) -> None:
    """Try to record at once, not in ten seconds."""
    recording = gantt._recording
    assert recording is not None
    recording._writing._try_at = 0.0
    flush(gantt)


def whole(gantt: Gantt, folder: Path) -> tuple[Played, list[Redecided]]:
    """What can be read when it has ended; all of it is as it was decided."""
    gantt.close()
    counts, found = played(folder / "record")
    assert {one.differs_in for one in found} <= {()}
    return counts, found


def numbers(folder: Path) -> list[str]:
    return sorted(path.name.split(".")[-3] for path in (folder / "record").iterdir())


def test_failed_tries_take_no_number(live: Gantt, disk: Disk, tmp_path: Path) -> None:
    ask(live, 1)
    flush(live)
    disk.room, disk.is_open = 0, False
    ask(live, 2)
    for _ in range(3):
        again(live)
    disk.room, disk.is_open = 100, True  # too little for a snapshot
    again(live)
    assert numbers(tmp_path) == ["000001"]
    disk.empty()
    again(live)
    ask(live, 3)
    counts, found = whole(live, tmp_path)
    assert live.counts()["recorded_failures"] == 4
    assert numbers(tmp_path) == ["000001", "000002"]
    assert counts.missing == []
    assert len(found) == 2


def test_a_directory_that_comes_late_has_file_1(tmp_path: Path, disk: Disk) -> None:
    disk.is_open = False
    with service(tmp_path) as gantt:
        again(gantt)
        again(gantt)
        disk.empty()
        again(gantt)
        assert gantt.counts()["recorded_files"] == 1
    assert numbers(tmp_path) == ["000001"]


def test_a_file_that_cannot_be_removed_is_not_written_over(
    live: Gantt, tmp_path: Path, disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    live._recording._queue.break_off("a test")  # type: ignore[union-attr]
    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", lambda _: None)
        disk.room = 100
        flush(live)
    disk.empty()
    again(live)
    ask(live, 1)
    counts, found = whole(live, tmp_path)
    assert numbers(tmp_path) == ["000001", "000002", "000003"]
    assert [name.split(".")[-3] for name in counts.early] == ["000002"]
    assert len(found) == 1


@pytest.mark.parametrize("room", [0, 1, 20, 200, 350, 500])
def test_what_did_not_reach_the_file_is_lost_and_told(
    live: Gantt, disk: Disk, tmp_path: Path, room: int
) -> None:
    for number in range(2):
        ask(live, number)
    flush(live)
    assert live.counts()["recorded"] == 2
    disk.room = room
    for number in range(2, 5):
        ask(live, number)
    flush(live)
    assert live.counts()["recorded"] == 2
    assert live.counts()["recorded_dropped"] == 3
    ask(live, 5)
    disk.empty()
    again(live)
    ask(live, 6)
    counts, found = whole(live, tmp_path)
    told = live.counts()
    assert told["recorded"] == len(found) == 3
    assert told["recorded_dropped"] == sum(counts.dropped.values()) == 4
    assert told["recorded_bytes"] == sum(
        path.stat().st_size for path in (tmp_path / "record").iterdir()
    )


def test_a_file_that_fails_while_it_tells_what_was_lost(
    live: Gantt, disk: Disk, tmp_path: Path
) -> None:
    """The next one tells it."""
    flush(live)
    disk.is_open, disk.room = False, 0
    ask(live, 1)
    flush(live)
    disk.empty()
    writing = live._recording._writing  # type: ignore[union-attr]
    writing._try_at, begin = 0.0, writing._switch

    def filled() -> None:
        begin()
        disk.room = 0

    writing._switch = filled  # type: ignore[method-assign]
    flush(live)
    writing._switch = begin  # type: ignore[method-assign]
    disk.empty()
    again(live)
    counts, found = whole(live, tmp_path)
    assert found == []
    assert sum(counts.dropped.values()) == live.counts()["recorded_dropped"] == 1


def test_what_waited_for_a_file_is_lost_if_no_line_can_be_made_of_it(
    live: Gantt, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A defect, while the snapshot of that file is written."""
    recording = live._recording
    assert recording is not None
    writing = recording._writing
    fill = _Next.fill

    def asked(following: _Next, *words: Any) -> None:
        ask(live, 1)
        head, chunks, _ = words
        fill(following, head, chunks, writing._drain)
        assert following.later.tally.decisions == 1
        monkeypatch.setattr(line_counts, "text", mock.Mock(side_effect=TypeError))

    monkeypatch.setattr(_Next, "fill", asked)
    recording._queue.break_off("a test")
    flush(live)
    counts = live.counts()
    assert (counts["recorded"], counts["recorded_dropped"]) == (0, 1)


def test_a_file_that_is_not_yet_read_is_removed_at_the_end(
    live: Gantt, tmp_path: Path
) -> None:
    """Its snapshot has what others wrote and this process has not yet applied."""
    ask(live, 1)
    flush(live)
    recording = live._recording
    assert recording is not None
    writing = recording._writing
    with writing._turning:
        ahead = Cursor(writing._place.revision + 1, "another")
        file = RecordFile(tmp_path / "record", "other", writing._account)
        writing._next = _Next(file, ahead)
        writing._next.is_whole = True
    counts, found = whole(live, tmp_path)
    assert (counts.early, len(found)) == ([], 1)
    assert numbers(tmp_path) == ["000001"]


def removed(folder: Path) -> None:
    shutil.rmtree(folder / "record")


def moved(folder: Path) -> None:
    (folder / "record").rename(folder / "before")


def moved_file(folder: Path) -> None:
    (path,) = (folder / "record").iterdir()
    path.rename(folder / path.name)


def removed_and_put_back(folder: Path) -> None:
    (path,) = (folder / "record").iterdir()
    text = path.read_bytes()
    path.unlink()
    path.write_bytes(text)


@pytest.mark.parametrize("gone", [removed, moved, moved_file, removed_and_put_back])
def test_a_file_that_went_is_noticed_at_the_next_turn(
    live: Gantt, tmp_path: Path, gone: Any, caplog: pytest.LogCaptureFixture
) -> None:
    ask(live, 1)
    flush(live)
    gone(tmp_path)
    ask(live, 2)
    flush(live)
    (told,) = [one.getMessage() for one in caplog.records if one.levelname == "WARNING"]
    assert "000001.record.gz was removed or moved" in told
    flush(live)
    ask(live, 3)
    live.close()
    _, found = played(tmp_path / "record")
    assert [one.differs_in for one in found][-1:] == [()]
    assert numbers(tmp_path)[-1] == "000002"
    counts = live.counts()
    assert (counts["recorded"], counts["recorded_dropped"]) == (2, 1)
    assert counts["recorded_failures"] == 0


def test_where_no_new_file_can_be_begun_that_is_a_failure(
    live: Gantt, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    removed(tmp_path)
    (tmp_path / "record").touch()
    for _ in range(2):
        flush(live)
    assert "decisions cannot be recorded in" in caplog.text
    assert live.counts()["recorded_failures"] == 1
    (tmp_path / "record").unlink()
    again(live)
    ask(live, 1)
    live.close()
    counts, found = played(tmp_path / "record")
    assert len(found) == 1
    assert counts.missing == []
