"""The queue has a limit, and tells what it left out; a file that cannot be written
stops no decision."""

from __future__ import annotations

import gc
import os
import threading
from pathlib import Path

import pytest
from msgspec import Raw, Struct
from msgspec.structs import astuple

from gantt.engine.recording.entry_queue import (
    MANY,
    ChangesEntry,
    DecisionEntry,
    DecisionStart,
    EntryQueue,
    begins,
)
from gantt.engine.recording.request_forms import CommonRequest, CommonRequests
from gantt.model.answers import Candidate
from gantt.model.changes import Change, Cursor
from gantt.model.record import BOOKS, Dropped
from gantt.model.rows import ROW_TYPES, TRAITS, NameRow
from gantt.model.spec import RequestSpec, ScheduleRequest
from gantt.scheduler.selection.host_choice import Pick
from tests.live import STOP_S
from tests.replay.recorded import add_hosts, ask, flush, played, service
from tests.waiting import until


def asked(number: int) -> DecisionStart:
    kind = CommonRequests().of(ScheduleRequest(RequestSpec()))
    return DecisionStart(number, 0, 0, BOOKS, kind, None, "", None, {})


def a_queue(most: int) -> EntryQueue:
    return EntryQueue(most, Cursor(), threading.Condition())


def moved(revision: int, rows: int = 1) -> tuple[list[Change], Cursor]:
    row = NameRow(1, "CUSTOM_A", None, None)
    return [Change(TRAITS, 1, None, row)] * rows, Cursor(revision, "b")


def test_decisions_beyond_the_limit_are_counted() -> None:
    queue = a_queue(2)
    for number in range(5):
        if queue.has_room():
            queue.note(asked(number))
        else:
            queue.drop()
    assert queue.waiting == 2
    taken = list(queue.take())
    assert taken[0] == Dropped(3, "more was decided than could be recorded")
    assert [one.number for one in taken[1:] if isinstance(one, DecisionStart)] == [0, 1]
    assert queue.waiting == 0
    assert queue.dropped == 3
    assert list(queue.take()) == []


def test_what_waits_keeps_no_requests_picks_and_rows(tmp_path: Path) -> None:
    """Nor does it make the garbage collector run more often."""
    with service(tmp_path) as gantt:
        add_hosts(gantt, "h0", "h1")
        recording = gantt._recording
        assert recording is not None
        recording.flush()
        with recording._writing._turning:
            ask(gantt, 1)
            ask(gantt, 2)
            waiting = list(recording._queue._entries)
        assert {DecisionEntry, ChangesEntry} <= {type(one) for one in waiting}
        assert [one for one in waiting if gc.is_tracked(one)] == []
        kept = list[object](waiting)
        for one in kept:  # grows meanwhile
            if isinstance(one, Struct):
                kept += astuple(one)
            elif isinstance(one, (list, tuple)):
                kept += one
        kinds = [one for one in kept if isinstance(one, CommonRequest)]
        assert len(kinds) == 2
        assert len(set(map(id, kinds))) == 1
        big = ScheduleRequest, Pick, Candidate, Change, *ROW_TYPES.values()
        assert [one for one in kept if isinstance(one, big)] == []


def test_the_thread_is_woken_before_much_waits() -> None:
    queue = a_queue(MANY)
    assert queue.await_many(0.0), "the time is over"
    woken: list[int] = []

    def wait() -> None:
        while queue.await_many(STOP_S):
            woken.append(len(list(queue.take())))

    thread = threading.Thread(target=wait)
    thread.start()
    for number in range(MANY):
        assert woken == []
        queue.note(asked(number))
    until(lambda: bool(woken), STOP_S / 2)
    assert woken == [MANY]
    queue.end()
    thread.join(STOP_S / 2)
    assert not thread.is_alive()
    assert not queue.await_many(STOP_S)


def test_changes_have_more_room_than_decisions() -> None:
    """Without one of them, nothing after it could be decided again."""
    queue = a_queue(10)
    queue.moved(*moved(1, rows=12))
    assert not queue.has_room()
    queue.moved(*moved(2, rows=12))
    queue.moved(*moved(3))
    queue.note(asked(1))
    queue.moved(*moved(4))
    kept = [
        one.cursor.revision for one in queue.take() if isinstance(one, ChangesEntry)
    ]
    assert kept == [1, 2]
    assert queue.place.revision == 4
    assert queue.mend() == "more was written than could be recorded"
    assert queue.has_room()


def test_a_record_with_a_gap_goes_on_in_a_new_file(tmp_path: Path) -> None:
    with service(tmp_path) as gantt:
        add_hosts(gantt, "a", "b")
        ask(gantt, 1)
        recording = gantt._recording
        assert recording is not None
        recording.reloaded()
        ask(gantt, 2)
        flush(gantt)
        ask(gantt, 3)
    counts, found = played(tmp_path / "record")
    assert [len(one.hosts) for one in found] == [1, 1]
    assert {one.differs_in for one in found} == {()}
    assert counts.files == 2
    assert sum(counts.dropped.values()) == 1


def test_a_file_in_use_looks_so_and_one_that_went_is_begun_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gantt.engine.recording.record_files._TOUCH_S", 0)
    with service(tmp_path) as gantt:
        flush(gantt)
        (path,) = (tmp_path / "record").iterdir()
        os.utime(path, (1, 1))
        flush(gantt)
        assert path.stat().st_mtime > 1
        path.unlink()
        flush(gantt)
        flush(gantt)
        (other,) = (tmp_path / "record").iterdir()
        assert other.name != path.name
        assert gantt.counts()["recorded_failures"] == 0


def test_a_directory_that_cannot_be_written_stops_no_decision(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with service(tmp_path, record=tmp_path / "file") as gantt:
        add_hosts(gantt, "a", "b")
        assert ask(gantt, 1) != ()
        flush(gantt)
        counts = gantt.counts()
    assert counts["recorded_failures"] == 1
    assert counts["recorded_files"] == 0


def test_a_request_that_cannot_be_written_is_decided(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(_: ScheduleRequest) -> CommonRequest:
        raise TypeError("not text")

    with service(tmp_path) as gantt:
        add_hosts(gantt, "a", "b")
        ask(gantt, 1)
        recording = gantt._recording
        assert recording is not None
        with monkeypatch.context() as patched:
            patched.setattr(recording._kinds, "of", failing)
            assert ask(gantt, 2) != ()
        ask(gantt, 3)
        assert gantt.counts()["recorded_dropped"] == 1
    counts, found = played(tmp_path / "record")
    assert [len(one.hosts) for one in found] == [1, 1]
    assert {one.differs_in for one in found} == {()}
    assert counts.dropped == {"a request could not be written": 1}


def test_a_decision_begins_with_one_entry() -> None:
    """So that those which belong to no file are counted, each once."""
    one = asked(1)
    assert begins(one)
    assert not begins(DecisionEntry(1, None))  # its beginning is in the queue
    assert begins(DecisionEntry(1, one))
    assert not begins(ChangesEntry(Cursor(), Raw(b"[]"), 0))


def test_rows_that_cannot_be_written_end_the_record_and_not_the_books() -> None:
    queue = a_queue(10)
    odd = NameRow(1, "\ud800", None, None)
    queue.moved([Change(TRAITS, 1, None, odd)], Cursor(1, "b"))
    assert "cannot be written" in queue.gap
    assert queue.waiting == 0
