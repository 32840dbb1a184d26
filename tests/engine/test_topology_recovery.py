"""What was promised of cells and devices is the same for every process, and after each
start: from the log, from the tables, and after a compaction."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import pytest

from gantt.connection import open_gantt
from gantt.engine.gantt import Gantt
from gantt.errors import NoValidHost
from gantt.model import commands as c
from gantt.model.commands import ConsumerAllocations
from gantt.model.hosts import Instance
from gantt.model.spec import RequestSpec
from gantt.model.topology import HostTopology
from gantt.state.state import State
from tests.engine.conftest import opened
from tests.scheduler.small_cells import (
    NIC,
    PINNED,
    WITH_NIC,
    options,
    place,
    report,
    uuid,
)

Promised = dict[str, tuple[list[tuple[int, object]], HostTopology, bool]]
MIGRATION = "66666666-5555-4555-8555-000000000001"
ADDRESSES = ("0000:81:00.1", "0000:81:00.2")


def promised(engine: Gantt) -> Promised:
    """By host: its pending claims with what each may use, and what they leave."""

    def read(state: State) -> Promised:
        hosts = state.fleet.hosts
        return {
            hosts.hosts[row]: (
                [(key, one) for key, one in hosts.promises[row].pendings()],
                hosts.promises[row].left.host,
                hosts.promises[row].left.is_closed,
            )
            for row in hosts.row_by_id.values()
        }

    return engine.read(read)


def fill(engine: Gantt) -> str:
    """Claims on a host of Nova and on one that obeys; the name of one of them."""
    pool: dict[str, Any] = {**NIC, "numa_node": None, "count": 2}
    report(engine, "nova", pci_stats=[pool])
    named = {**pool, "devices": [{"address": one} for one in ADDRESSES]}
    report(engine, "obeys", pci_stats=[named], obeys_claims=True)
    for number in range(4):
        spec: RequestSpec = (PINNED, WITH_NIC)[number % 2]
        (found,) = place(
            engine, number, spec=spec, lease_s=60.0 if number == 3 else None
        )
    # One was named, and is migrated before a report counts it.
    moved = engine.get_allocations(uuid(0))
    assert moved is not None
    shares = {one: dict(has.resources) for one, has in moved.allocations.items()}
    engine.submit(
        c.SetAllocations(
            (
                ConsumerAllocations(MIGRATION, shares, "p", "u", None),
                ConsumerAllocations(uuid(0), {}, "p", "u", moved.generation),
            )
        )
    )
    engine.update_instances("nova", [Instance(uuid(1))])
    engine.update_instances("obeys", [Instance(uuid(1))])
    assert found.claim is not None
    return found.claim


def test_promises_are_the_same_from_log_tables_and_after_compaction(url: str) -> None:
    with ExitStack() as stack:

        def started() -> Gantt:
            return stack.enter_context(open_gantt(url, options()))

        first, second = started(), started()
        assert promised(second) == {}
        claim = fill(first)
        whole = promised(first)
        # Two that were placed on each host, and the one that has moved since.
        assert sum(len(pending) for pending, _, _ in whole.values()) == 4
        assert promised(second) == whole  # by the log
        assert promised(started()) == whole  # by the tables
        store = opened(url)
        assert store.compact(1) > 0
        store.close()
        third = started()
        assert promised(third) == whole
        for engine in (first, second, third):
            with pytest.raises(NoValidHost):
                place(engine, 9)
            assert engine.verify().problems == ()
        third.release_claim(claim)
        assert promised(first) == promised(started()) != whole
