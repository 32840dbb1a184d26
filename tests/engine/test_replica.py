"""Who computed on what never became durable must compute again."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from gantt.engine.options import EngineOptions
from gantt.engine.reading.admission import AdmissionControl
from gantt.engine.reading.replica import Replica
from gantt.engine.threads import SystemThreads
from gantt.errors import StoreFailed
from gantt.model.changes import Change, Cursor, LogEntry
from gantt.state.state import State

NONE = AdmissionControl(EngineOptions(answer_timeout_s=0), SystemThreads())
FIRST, SECOND = Cursor(1, "a"), Cursor(2, "b")


def test_what_is_settled_may_be_answered() -> None:
    replica = Replica(State())
    replica.assume((), FIRST)
    mark = replica.mark
    with pytest.raises(StoreFailed, match="did not become durable"):
        replica.wait(mark, NONE)
    replica.settle()
    assert replica.wait(mark, NONE)


def test_what_was_rolled_back_is_not_answered_when_another_takes_its_revision() -> None:
    replica = Replica(State())
    replica.assume((), FIRST)
    mark = replica.mark
    replica.undo((), Cursor())
    replica.assume((), SECOND)
    replica.settle()
    assert replica.durable > mark.revision
    assert not replica.wait(mark, NONE)


def test_reload_invalidates_computed_answers() -> None:
    replica = Replica(State())
    mark = replica.mark
    replica.reload(lambda: (State(), 0))
    assert not replica.wait(mark, NONE)


class Failing:
    """A recorder with a defect in the methods that are named."""

    def __init__(self, *failing: str) -> None:
        self._failing = failing
        self.told: list[str] = []

    def applied(self, changes: Collection[Change], cursor: Cursor) -> None:
        self._hear("applied")

    def reloaded(self) -> None:
        self._hear("reloaded")

    def _hear(self, what: str) -> None:
        self.told.append(what)
        if what in self._failing:
            raise RuntimeError("a defect")


class Heard:
    """A listener."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def applied(self, state: State, changes: Collection[Change]) -> None:
        self.told.append("applied")

    def undone(self, revision: int) -> None:
        self.told.append("undone")


def written(replica: Replica) -> None:
    """All that a recorder is told of: assumed, undone, followed, loaded again."""
    replica.assume((), FIRST)
    replica.undo((), Cursor())
    replica.follow([LogEntry(2, "b", 7, "kind", "", ())])
    replica.reload(lambda: (replica.state, 9))


@pytest.mark.parametrize(
    ("failing", "told", "is_kept"),
    [
        ((), ["applied"] * 3 + ["reloaded"], True),
        (("applied",), ["applied", "reloaded"] * 3 + ["reloaded"], True),
        (("reloaded",), ["applied"] * 3 + ["reloaded"], False),
        (("applied", "reloaded"), ["applied", "reloaded"], False),
    ],
)
def test_a_defect_of_what_records_fails_no_write(
    failing: tuple[str, ...],
    told: list[str],
    is_kept: bool,
    caplog: pytest.LogCaptureFixture,
) -> None:
    replica = Replica(State())
    recorder, listener = Failing(*failing), Heard()
    replica.recorder, replica.listener = recorder, listener
    written(replica)
    assert recorder.told == told
    assert (replica.recorder is recorder) == is_kept
    assert listener.told == ["applied", "undone", "applied"]
    assert (replica.durable, replica.epoch, replica.stamp) == (2, 2, 9)
    assert ("a defect" in caplog.text) == bool(failing)
