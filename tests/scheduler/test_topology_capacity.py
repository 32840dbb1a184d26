"""How many more instances fit that ask for cells and devices."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gantt.connection import open_gantt
from gantt.engine.gantt import Gantt
from gantt.errors import NoValidHost
from gantt.model.selection import Near
from gantt.model.spec import RequestSpec
from tests.scheduler.small_cells import (
    NIC,
    PINNED,
    TWO_CELLS,
    WITH_NIC,
    options,
    place,
    report,
)


@pytest.fixture(params=["caching", "filter"])
def engine(request: pytest.FixtureRequest) -> Iterator[Gantt]:
    with open_gantt("memory://", options(driver=request.param)) as found:
        yield found


def filled(engine: Gantt, spec: RequestSpec) -> int:
    """How many are placed one by one until none has a host."""
    for number in range(1000):
        try:
            place(engine, number, spec=spec)
        except NoValidHost:
            return number
    raise AssertionError("no end")


def test_capacity_counts_what_fits(engine: Gantt) -> None:
    report(engine, "a")
    report(engine, "b", 0)
    report(engine, "c", 0, 2)
    report(engine, "d", numa_topology=None)
    found = engine.capacity(PINNED)
    assert found.hosts == {"a": 2, "b": 1}
    assert found.limits["NUMATopologyFilter"] == 4
    assert filled(engine, PINNED) == found.total


@pytest.mark.parametrize(
    ("spec", "expected"),
    [(TWO_CELLS, {"a": 1}), (WITH_NIC, {"a": 1, "b": 1})],
)
def test_capacity_counts_cells_and_devices_together(
    engine: Gantt, spec: RequestSpec, expected: dict[str, int]
) -> None:
    pool = {**NIC, "numa_node": 1, "count": 2}
    report(engine, "a", pci_stats=[pool])
    report(engine, "b", 0, pci_stats=[pool])
    found = engine.capacity(spec)
    assert found.hosts == expected
    assert filled(engine, spec) == found.total


def test_capacity_is_a_lower_bound_where_counting_ended() -> None:
    with open_gantt("memory://", options(topology_fits=4)) as engine:
        for host in "abcd":
            report(engine, host)
        found = engine.capacity(PINNED)
        assert found.hosts == {"a": 2, "b": 1}
        assert found.limits["topology_fits"] == 3  # one of b, and nothing of c and d
        assert found.is_lower_bound
        counts = engine.counts()
        # Counted once for the request, however many hosts were left.
        assert (counts["topology_fits"], counts["topology_fits_spent"]) == (4, 1)


def test_capacity_is_exact_where_it_is_not_said_otherwise(engine: Gantt) -> None:
    report(engine, "a")
    found = engine.capacity(PINNED)
    assert (found.total, found.is_lower_bound) == (2, False)


@pytest.mark.parametrize(
    ("name", "limit"), [("capacity_per_host", 1), ("topology_fits", 1)]
)
def test_nothing_is_hidden_by_a_limit(name: str, limit: int) -> None:
    with open_gantt("memory://", options(**{name: limit})) as engine:
        report(engine, "a")
        found = engine.capacity(PINNED)
        assert (found.total, found.is_lower_bound) == (1, True)
        assert found.limits[name] == 1


def test_capacity_of_none_says_why(engine: Gantt) -> None:
    report(engine, "a", 0, 2)
    found = engine.capacity(PINNED)
    assert found.total == 0
    assert found.nearest == (
        Near(
            "a",
            "a",
            ("NUMATopologyFilter",),
            "cell 0 has 1 of 2 free pinned CPUs",
        ),
    )
