"""A State without some rows answers as if they had been removed, and the one that it
was made of does not change."""

from __future__ import annotations

from itertools import chain, combinations
from typing import Any

import numpy as np
import pytest

from gantt.model import rows as t
from gantt.model.changes import Change, Cursor
from gantt.state import check
from gantt.state.host_table import HostColumns
from gantt.state.state import State
from gantt.state.supposition import without
from tests.state.books import filled

TABLES = (t.ALLOCATIONS, t.INSTANCES, t.BOOKINGS)
SUBSETS = list(chain.from_iterable(combinations(TABLES, n) for n in (1, 2, 3)))


def facts(state: State) -> dict[str, Any]:
    """All that a decision reads and that claims count in."""
    fleet, index = state.fleet, state.classes.index_of("VCPU")
    assert index is not None and fleet.rooms is not None
    table = state.inventories.table(index)
    assert table is not None
    columns = [name for name in HostColumns.specs if name != "touched"]
    topology = vars(fleet.hosts.topology)
    return {
        "used": table.used.tolist(),
        "left": fleet.rooms.left(fleet.hosts.provider, "VCPU").tolist(),
        "columns": {name: getattr(fleet.hosts, name).tolist() for name in columns},
        "topology": {
            name: value.tolist() if isinstance(value, np.ndarray) else value
            for name, value in topology.items()
        },
        "promised": fleet.hosts.left,
        "pendings": [list(one.pendings()) for one in fleet.hosts.promises],
        "instances": vars(fleet.instances),
        "claims": vars(fleet.claims),
    }


def claimed(state: State, tables: tuple[str, ...]) -> list[Any]:
    return [row for name in tables for row in state.rows(name)]


@pytest.mark.parametrize("tables", SUBSETS, ids="+".join)
def test_it_is_as_if_the_rows_had_been_removed(tables: tuple[str, ...]) -> None:
    state, other = filled(), filled()
    before, rows = facts(state), claimed(state, tables)
    names = {one: name for name, one in t.ROW_TYPES.items()}
    gone = [Change(names[type(row)], row.id, row, None) for row in rows]
    other.apply(gone, Cursor(2, "b"))
    assert facts(without(state, rows)) == facts(other) != before
    assert facts(state) == facts(filled())
    assert check.problems(state) == []


def test_nothing_of_it_reaches_the_journal() -> None:
    state = filled()
    applied = state.applied
    without(state, claimed(state, TABLES))
    changed = state.fleet.journal.since(applied)
    assert changed is not None
    assert (changed.rows, state.applied) == (set(), applied)
