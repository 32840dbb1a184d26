"""Cells and devices are promised here while amounts are kept elsewhere."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gantt.engine.gantt import Gantt
from gantt.errors import NoValidHost, Unavailable
from gantt.model.commands import Inventory
from gantt.model.spec import Flavor, ScheduleRequest
from gantt.scheduler.options import DEFAULT_FILTERS
from tests.elsewhere import Elsewhere, Shaky, Wall, ask, claims, engine_on
from tests.scheduler.small_cells import cell

FILTERS = (*DEFAULT_FILTERS, "NUMATopologyFilter")


@pytest.fixture
def pinning(there: Elsewhere, books: Shaky, wall: Wall) -> Iterator[Gantt]:
    """Two hosts, each of one cell with two CPUs: PCPU in the other Placement."""
    with engine_on(books, wall=wall, enabled_filters=FILTERS) as engine:
        there.fleet(engine, "h1", "h2")
        for host, uuid in there.providers.items():
            there.report(engine, host, numa_topology={"cells": [cell(0, ())]})
            known = there.books.get_inventories(uuid).inventories
            there.books.set_inventories(uuid, {**known, "PCPU": Inventory(9)})
        yield engine


def pinned() -> ScheduleRequest:
    flavor = Flavor(2, 64, extra_specs={"hw:cpu_policy": "dedicated"})
    return ask(flavor=flavor)


def test_cells_are_promised_once(there: Elsewhere, pinning: Gantt) -> None:
    picked = {pinning.schedule(pinned())[0][0].service_host for _ in range(2)}
    assert picked == {"h1", "h2"}
    with pytest.raises(NoValidHost):
        pinning.schedule(pinned())
    row, _ = claims(pinning)
    assert row.leased_until is None
    assert row.topology is not None
    pinning.release_claim(row.claim)
    pinning.schedule(pinned())
    assert pinning.verify().problems == ()


def test_cells_stay_promised_until_the_remote_claim_is_cleaned_up(
    there: Elsewhere, books: Shaky, pinning: Gantt, wall: Wall
) -> None:
    """Its allocations there may still be written."""
    pinning.schedule(pinned())
    ((one, *_),) = pinning.schedule(pinned())

    def away() -> None:
        raise Unavailable("away")

    books.before = away
    pinning.release_claim(one.claim or "")
    with pytest.raises(NoValidHost):
        pinning.schedule(pinned())
    books.before = lambda: None
    wall.ahead_s = 300
    pinning.expire_claims()
    ((again, *_),) = pinning.schedule(pinned())
    assert again.service_host == one.service_host
