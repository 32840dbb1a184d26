"""Are the columns what the tables say? Comparison on demand, and a fingerprint.

The fingerprint left at a clean stop tells the next start whether somebody else wrote
to the tables in between.
"""

from __future__ import annotations

import logging

from gantt.engine.follower import Follower, load_state
from gantt.engine.replica import Replica
from gantt.errors import Busy, GanttError
from gantt.model.answers import Report
from gantt.model.rows import ROW_TYPES
from gantt.state import check
from gantt.state.state import State
from gantt.store.contract import Store
from gantt.store.memory import MemoryStore
from gantt.store.outcomes import Outcome

LOG = logging.getLogger(__name__)
CHANGED_WHILE_STOPPED = "The tables are not as the last clean stop left them."


def verify(store: Store, replica: Replica, follower: Follower) -> Report:
    """Compare under the head lock, while nobody writes. Raises Busy, StoreFailed."""
    try:
        transaction = store.begin()
    except Outcome as outcome:
        raise _busy(outcome) from outcome
    try:
        with replica.turn:
            follower.take_in(transaction.tail(replica.state.cursor))
            # Whoever holds the turn is the only one who changes the columns.
            live = replica.state
            problems = check.problems(live)
            if not isinstance(store, MemoryStore):
                problems += check.differences(live, load_state(store))
            if not compare_fingerprints(store, live):
                problems.append(CHANGED_WHILE_STOPPED)
            counts = {table: sum(1 for _ in live.rows(table)) for table in ROW_TYPES}
            return Report(live.revision, counts, tuple(problems))
    except Outcome as outcome:
        raise _busy(outcome) from outcome
    finally:
        transaction.rollback()


def _busy(outcome: Outcome) -> Busy:
    return Busy(f"The head lock could not be had to verify: {outcome} Try again.")


def compare_fingerprints(store: Store, state: State) -> bool:
    """Whether the tables are as the last clean stop left them; warns if not."""
    saved = store.saved_fingerprint()
    if saved is None or saved.revision != state.revision:
        return True
    found = store.fingerprint()
    if found.revision != saved.revision:  # another process has written meanwhile
        return True
    if (found.counts, found.generations) == (saved.counts, saved.generations):
        return True
    LOG.warning(
        "the tables changed while no Gantt was running (at revision %d: %s now, %s "
        "then). They are taken as they are; stop whatever else writes to them.",
        state.revision,
        found,
        saved,
    )
    return False


def leave_fingerprint(store: Store, revision: int) -> None:
    """Leave a fingerprint, if the log ends where we do; failing to is no failure."""
    try:
        found = store.fingerprint()
        if found.revision == revision:
            store.save_fingerprint(found)
    except (GanttError, Outcome) as error:
        LOG.warning("no fingerprint was left: %s", error)
