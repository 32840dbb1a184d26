"""Records that are begun again, and defects of what records: neither gives a false
difference, nor does it fail a decision."""

from __future__ import annotations

from pathlib import Path
from unittest import mock

from gantt.engine.gantt import Gantt
from gantt.engine.recording.entry_queue import EntryQueue
from gantt.engine.recording.recorder import Recording
from tests.replay.recorded import add_hosts, ask, flush, played, service

PACK = "gantt.engine.recording.recorder.pack_choices"


def recording_of(gantt: Gantt) -> Recording:
    found = gantt._recording
    assert found is not None
    return found


def test_what_was_noted_before_a_gap_is_not_in_the_next_file(tmp_path: Path) -> None:
    """Tables are loaded again while the thread writes."""
    with service(tmp_path) as gantt:
        add_hosts(gantt, "a", "b")
        ask(gantt, 1)
        flush(gantt)
        recording = recording_of(gantt)
        writing, turns = recording._writing, list[int]()
        drain = writing._drain

        def drained() -> None:
            drain()
            turns.append(1)
            if len(turns) == 1:
                ask(gantt, 2)
                add_hosts(gantt, "c")
                recording.reloaded()

        with mock.patch.object(writing, "_drain", drained):
            recording.flush()
        ask(gantt, 3)
        flush(gantt)
    counts, found = played(tmp_path / "record")
    assert [one.differs_in for one in found] == [()] * 3
    assert not counts.dropped


def test_a_defect_in_recording_fails_no_decision(tmp_path: Path) -> None:
    with service(tmp_path) as gantt:
        add_hosts(gantt, "a", "b")
        with mock.patch(PACK, side_effect=TypeError("defect")):
            assert ask(gantt, 1)
        assert "defect" in recording_of(gantt)._queue.gap
        flush(gantt)
        ask(gantt, 2)
        flush(gantt)
    counts, found = played(tmp_path / "record")
    assert [one.differs_in for one in found] == [()]
    assert sum(counts.dropped.values()) == gantt.counts()["recorded_dropped"] == 1


def test_a_policy_that_was_not_noted_is_noted_later(tmp_path: Path) -> None:
    """The thread makes a gap between a look for room and the note."""
    with service(tmp_path) as gantt:
        add_hosts(gantt, "a", "b")
        flush(gantt)
        has_room = EntryQueue.has_room

        def has_had_room(queue: EntryQueue) -> bool:
            found = has_room(queue)
            queue.break_off("writing failed just now")
            return found

        with mock.patch.object(EntryQueue, "has_room", has_had_room):
            ask(gantt, 1)
        for number in (2, 3):
            flush(gantt)
            ask(gantt, number)
        flush(gantt)
    counts, found = played(tmp_path / "record")
    assert [one.differs_in for one in found] == [()] * 2
    assert sum(counts.dropped.values()) == gantt.counts()["recorded_dropped"] == 1


def test_the_bytes_that_metrics_tell_are_those_of_the_files(tmp_path: Path) -> None:
    with service(tmp_path) as gantt:
        add_hosts(gantt, "a", "b")
        for number in range(3):
            ask(gantt, number)
            flush(gantt)
        told = gantt.counts()["recorded_bytes"]
        files = list((tmp_path / "record").iterdir())
        assert told == sum(one.stat().st_size for one in files) > 0
