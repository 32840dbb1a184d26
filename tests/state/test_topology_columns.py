"""Cells and devices as arrays: derived from what is left of a host, and kept so."""

from __future__ import annotations

import json
import random
import threading
from typing import Any

import pytest
from msgspec.structs import replace

from gantt.model import rows as t
from gantt.model.changes import Change, Cursor
from gantt.model.rows import HostRow
from gantt.model.topology import HostCell, HostTopology, Pages, Pool
from gantt.state.check_fleet import fleet_problems
from gantt.state.fleet_snapshot import ColumnsRead, FleetSnapshot
from gantt.state.state import State
from gantt.state.topology_columns import MOST_KINDS, TopologyColumns
from tests.topology import synthetic


def row_of(number: int, host: HostTopology, **facts: Any) -> HostRow:
    """A host that reports this."""
    stats = {**synthetic.plain_form(host), "obeys_claims": host.obeys, **facts}
    text = json.dumps(stats, sort_keys=True)
    return HostRow(number, f"h{number}", f"h{number}", None, text, 1, None)


class Books:
    """A State whose hosts come, report and go."""

    def __init__(self) -> None:
        self.state = State()
        self.rows: dict[int, HostRow] = {}

    def put(self, row: HostRow) -> None:
        self._change(row.id, self.rows.get(row.id), row)
        self.rows[row.id] = row

    def remove(self, number: int) -> None:
        self._change(number, self.rows.pop(number), None)

    def _change(self, key: int, old: HostRow | None, new: HostRow | None) -> None:
        at = Cursor(self.state.applied + 1, "batch")
        self.state.apply([Change(t.HOSTS, key, old, new)], at)


def held(columns: TopologyColumns, host: HostTopology) -> dict[str, Any]:
    columns.put(0, host)
    return columns.of_row(0)


def test_what_the_arrays_hold_of_a_cell() -> None:
    cell = HostCell(
        id=3,
        cpus=0b1111,
        pcpus=0b11110000,
        memory=64,
        pinned=0b10000,
        siblings=(0b110000, 0b11000000, 0b11, 0b1100),
        cpu_usage=5,
        memory_usage=16,
        pages=(Pages(4, 8_192, 100, 10), Pages(2_048, 16, 16)),
        physical_networks=frozenset({"physnet0"}),
        is_tunnelled=True,
    )
    pools = (
        Pool(2, 3, {"vendor_id": "1", "address": "a"}),
        Pool(1, 3, {"vendor_id": "1", "address": "b"}),
        Pool(4, None, {"vendor_id": "1"}),
        Pool(5, 7, {"vendor_id": "2"}),
    )
    columns = TopologyColumns()
    found = held(columns, HostTopology((cell,), pools))
    assert columns.fact("free")[:, 0].tolist() == [3]
    assert found["facts"] == [[4, 5, 3, 2, 0, 64, 16, 4, 32_768, 4 * 8_082, 1]]
    assert found["pages"] == {"4": [8_082], "2048": [0]}
    assert found["networks"] == {"physnet0": [True]}
    assert found["devices"] == {
        "{'vendor_id': '1'}": [3, 4],
        "{'vendor_id': '2'}": [0, 5],
    }


@pytest.mark.parametrize(
    ("change", "whole"),
    [({}, 0), ({"cpus": 0b11110000}, 1), ({"siblings": ()}, 3), ({"pinned": 0}, 0)],
)
def test_cores_that_can_be_taken_whole(change: dict[str, Any], whole: int) -> None:
    """Threads stay idle only where CPUs for sharing and for pinning are the same."""
    cell = HostCell(
        0, 0b1111, 0b11110000, 64, pinned=0b10000, siblings=(0b110000, 0b11000000)
    )
    columns = TopologyColumns()
    columns.put(0, HostTopology((replace(cell, **change),)))
    assert columns.fact("whole_cores")[:, 0].tolist() == [whole]


def test_a_row_forgets_what_it_held() -> None:
    columns, empty = TopologyColumns(), TopologyColumns().of_row(0)
    machines = [make() for make in synthetic.MACHINES]
    for host in (*machines, *reversed(machines)):
        found = held(columns, host)
        assert found == held(TopologyColumns(), host)
    columns.remove(0)
    assert columns.of_row(0) == empty
    assert columns.of_row(99) == empty


@pytest.mark.parametrize("seed", range(8))
def test_columns_follow_reports(seed: int) -> None:
    rng, books = random.Random(seed), Books()
    for _ in range(40):
        number = rng.randint(1, 30)
        if number in books.rows and rng.random() < 0.3:
            books.remove(number)
        else:
            host = rng.choice(synthetic.MACHINES)()
            host = replace(host, obeys=rng.random() < 0.5)
            books.put(row_of(number, host))
            hosts = books.state.fleet.hosts
            at = hosts.row_by_id[number]
            assert hosts.reported[at] == hosts.left[at] == host
        assert not list(fleet_problems(books.state))


def test_a_wrong_column_is_told() -> None:
    books = Books()
    books.put(row_of(1, synthetic.graphics_cards()))
    hosts = books.state.fleet.hosts
    hosts.topology.fact("free")[1, 0] -= 1
    (problem,) = fleet_problems(books.state)
    assert problem.startswith("host h1/h1: facts of its topology are")
    hosts.settle_topology(0)
    hosts.topology.devices[1, 0, 0] += 1
    (problem,) = fleet_problems(books.state)
    assert problem.startswith("host h1/h1: devices of its topology are")
    hosts.settle_topology(0)
    hosts.reported[0] = HostTopology()
    problems = list(fleet_problems(books.state))
    assert "its cells and devices were read as something else" in problems[0]


def test_cells_where_there_is_no_host_are_told() -> None:
    books = Books()
    books.put(row_of(1, synthetic.graphics_cards()))
    books.remove(1)
    books.state.fleet.hosts.topology.put(0, synthetic.single_cell())
    (problem,) = fleet_problems(books.state)
    assert problem == "row 0: no host, yet there are cells or devices"


def test_equal_reports_are_one_value() -> None:
    books = Books()
    for number in (1, 2):
        books.put(row_of(number, synthetic.four_cells(), vcpus=number))
    first, second = books.state.fleet.hosts.reported
    assert first.cells is second.cells
    assert first.cells


def test_a_report_without_news_of_cells_derives_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    books, puts, put = Books(), [], TopologyColumns.put
    books.put(row_of(1, synthetic.four_cells(), vcpus=1))

    def counted(columns: TopologyColumns, row: int, host: HostTopology) -> None:
        puts.append(row)
        put(columns, row, host)

    monkeypatch.setattr(TopologyColumns, "put", counted)
    books.put(row_of(1, synthetic.four_cells(), vcpus=2))
    assert puts == []
    books.put(row_of(1, synthetic.graphics_cards(), vcpus=2))
    assert len(puts) == 1


def test_what_an_older_release_stored_is_not_known_where_it_cannot_be() -> None:
    books = Books()
    facts = {"numa_topology": {"cells": [{"id": 0}]}, "pci_stats": [{"x": 1}]}
    books.put(row_of(1, HostTopology(), **facts))
    assert books.state.fleet.hosts.reported == [HostTopology()]
    assert not list(fleet_problems(books.state))


def test_a_snapshot_keeps_what_was() -> None:
    books, wanted = Books(), ColumnsRead()
    host = replace(synthetic.graphics_cards(), obeys=True)
    books.put(row_of(1, host))
    live = books.state.fleet
    for _ in range(2):
        copy = FleetSnapshot(live, wanted, threading.RLock()).hosts
        before, left = copy.topology.of_row(0), copy.left
        books.put(row_of(1, synthetic.single_cell()))
        assert before == copy.topology.of_row(0) == held(TopologyColumns(), host)
        assert copy.left is left == [host]
        books.put(row_of(1, host))


def test_kinds_beyond_the_limit_share_one() -> None:
    columns = TopologyColumns()
    for number in range(MOST_KINDS + 1):
        columns.put(number, HostTopology((), (Pool(1, None, {"tag": str(number)}),)))
    assert columns.is_full
    last = columns.of_row(MOST_KINDS)["devices"]
    assert last == {"{}": [1]}
    # One that no host has any more is given to another.
    columns.remove(5)
    columns.put(MOST_KINDS, HostTopology((), (Pool(1, None, {"tag": "new"}),)))
    assert columns.of_row(MOST_KINDS)["devices"] == {"{'tag': 'new'}": [1]}
