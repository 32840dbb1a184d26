"""Who computed on what never became durable must compute again."""

from __future__ import annotations

import pytest

from gantt.engine.options import EngineOptions
from gantt.engine.reading.admission import AdmissionControl
from gantt.engine.reading.replica import Replica
from gantt.engine.threads import SystemThreads
from gantt.errors import StoreFailed
from gantt.model.changes import Cursor
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
