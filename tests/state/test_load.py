"""Rows of a snapshot are taken in as if each had come by itself; nothing looks for
garbage meanwhile."""

from __future__ import annotations

import gc
from typing import Any

import pytest

from gantt.engine.reading.log_tailer import load_state
from gantt.model import rows as t
from gantt.model.changes import Change, Cursor
from gantt.model.rows import HostRow, InstanceRow
from gantt.state.fleet_columns import Fleet
from gantt.state.state import State
from gantt.store.memory_store import MemoryStore

GROUP = "77777777-0000-4000-8000-000000000001"


def instances(count: int) -> list[InstanceRow]:
    """Every third is a member of the group; two hosts have them."""
    return [
        InstanceRow(
            number,
            f"00000000-0000-4000-8000-{number:012}",
            f"host{number % 2}",
            f'{{"{t.GROUP}": "{GROUP}"}}' if number % 3 == 0 else "{}",
            1,
            None,
        )
        for number in range(1, count + 1)
    ]


def test_instances_are_as_if_each_had_come_by_itself() -> None:
    loaded, told, rows = State(str), State(str), instances(9)
    loaded.load(t.INSTANCES, [*rows[:5]])
    loaded.load(t.INSTANCES, [*rows[5:]])
    told.apply([Change(t.INSTANCES, one.id, None, one) for one in rows], Cursor())
    for state in (loaded, told):
        found = state.fleet.instances
        assert [*state.rows(t.INSTANCES)] == rows
        assert [*found.on("host0")] == [one.uuid for one in rows[1::2]]
        assert found.of_group(GROUP) == {one.uuid for one in rows[2::3]}
        assert found.group_of(rows[2].uuid) == GROUP
        assert found.group_of(rows[0].uuid) is None
        assert state.next_id(t.INSTANCES) == 10


def test_each_host_is_marked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    marked: list[int] = []
    monkeypatch.setattr(Fleet, "_mark", lambda _, row, stamp, **use: marked.append(row))
    state = State(str)
    hosts = [
        HostRow(number, f"host{number}", "node", None, "{}", 1, None)
        for number in (1, 2)
    ]
    state.load(t.HOSTS, [*hosts])
    marked.clear()
    state.load(t.INSTANCES, [*instances(100)])
    assert len(marked) == 1  # there is no host0


@pytest.mark.parametrize("is_on", [True, False])
def test_a_load_looks_for_no_garbage(
    monkeypatch: pytest.MonkeyPatch, is_on: bool
) -> None:
    seen: list[bool] = []
    store = MemoryStore()
    load = store.load

    def seen_load() -> Any:
        seen.append(gc.isenabled())
        return load()

    monkeypatch.setattr(store, "load", seen_load)
    was_on = gc.isenabled()
    (gc.enable if is_on else gc.disable)()
    try:
        load_state(store)
        assert gc.isenabled() is is_on
    finally:
        (gc.enable if was_on else gc.disable)()
    assert seen == [False]
