"""The audit of hosts whose list is what the database of their cell has of them, and of
migrations that it says are going on."""

from __future__ import annotations

from gantt.errors import Conflict
from gantt.model import commands as c
from gantt.model.audit import Audit, AuditTerms, Finding
from gantt.model.fleet import CELL, Move
from gantt.model.hosts import Instance, Service
from gantt.placement.audit_queries import audit
from tests.placement.desk import put
from tests.placement.fleet_desk import FleetDesk, server, uuid_of
from tests.placement.fleet_desk import report as host_report
from tests.placement.rules.test_topology_ends import MIGRATION

S = 1_000_000
GRACE = 600 * S
TERMS = AuditTerms(fresh_us=600 * S, grace_us=GRACE)
IN_CELL = "44444444-4444-4444-8444-444444444444"
SOME = {"VCPU": 1}


class CellDesk(FleetDesk):
    """Two hosts of one cell, which is read all the time."""

    def __init__(self) -> None:
        super().__init__(2, cpu_allocation_ratio=1.0)
        self.named: dict[int, tuple[int, ...]] = {1: (), 2: ()}
        for number in (1, 2):
            compute = Service(f"h{number}", "nova-compute", cell_uuid=IN_CELL)
            self.do(c.UpdateService(compute))
        self.moves()
        self.read()

    def read(self, *, forced_down: bool = False) -> None:
        """The cell was read just now, or then it could not be."""
        cell = Service(IN_CELL, CELL, False, forced_down, last_seen_up=self.now)
        self.do(c.UpdateService(cell))

    def later(self, seconds: int = 700) -> None:
        """Time goes by, and the cell is read on."""
        for _ in range(seconds // 50):
            self.now += 50 * S
            self.read()

    def has(self, number: int, *instances: int) -> None:
        """The cell's database names these on the host."""
        uuids = tuple(map(server, instances))
        told = tuple(map(Instance, uuids))
        self.do(c.UpdateInstances(f"h{number}", told, keeps_facts=True))
        self.do(c.SyncInstances(f"h{number}", uuids))

    def moves(self, *moves: Move) -> None:
        """These go on, between the two hosts."""
        for number in (1, 2):
            self.do(c.SetMoves(f"h{number}", moves))

    def book(self, consumer: str, *hosts: int) -> None:
        self.do(put(consumer, {uuid_of(one): SOME for one in hosts}))

    def audit(self) -> Audit:
        return audit(self.state, self.now, TERMS)

    def found(self) -> list[tuple[str, str, str | None]]:
        return [(one.kind, one.host, one.instance_uuid) for one in self.findings()]

    def findings(self) -> tuple[Finding, ...]:
        return self.audit().findings


def test_what_moves_is_not_found_until_it_has_ended_for_the_grace() -> None:
    """A live migration: the source lists the instance, its uuid has the target, and the
    migration's what the instance has at the source."""
    desk = CellDesk()
    desk.has(1, 1)
    desk.book(MIGRATION, 1)
    desk.book(server(1), 2)
    desk.moves(Move(server(1), MIGRATION))
    desk.later(7_000)
    assert desk.findings() == ()

    desk.has(2, 1)
    desk.has(1)
    desk.moves()
    desk.later(500)
    assert desk.findings() == (), "Nova may be about to delete what it kept"
    desk.later(200)
    (found,) = desk.findings()
    assert (found.kind, found.host) == ("no_workload", "h1")
    assert found.instance_uuid == MIGRATION
    desk.do(c.Repair(found, TERMS))
    assert (desk.used(1), desk.used(2)) == ({}, SOME)
    assert desk.findings() == ()


def test_what_a_migration_left_that_is_not_known_is_repaired() -> None:
    desk = CellDesk()
    desk.book(MIGRATION, 1)
    desk.moves(Move(server(7), server(8)))
    desk.later()
    (found,) = desk.findings()
    assert (found.instance_uuid, found.repair) == (
        MIGRATION,
        "remove its allocations here",
    )


def test_where_it_is_not_told_what_moves_a_consumer_may_be_a_migration() -> None:
    desk = CellDesk()
    desk.do(c.DeleteHost("h1", "n1"), host_report(1))
    desk.book(MIGRATION, 1)
    desk.later()
    (found,) = (one for one in desk.findings() if one.instance_uuid == MIGRATION)
    assert found.repair == "" and "unless it is a migration" in found.detail
    desk.refusal(c.Repair(found, TERMS), Conflict)
    desk.moves()
    (found,) = desk.findings()
    assert found.repair == "" and "look again later" in found.detail
    desk.later()
    assert desk.findings()[0].repair


def test_a_repair_takes_as_long_after_years_as_on_the_first_day() -> None:
    desk = CellDesk()
    desk.has(1, 1)
    desk.book(server(1), 1)
    desk.later(7_000)
    desk.has(1)
    desk.later(50)
    (found,) = desk.findings()
    assert found.repair == "" and "look again later" in found.detail
    desk.refusal(c.Repair(found, TERMS), Conflict)
    desk.has(1, 1)
    desk.later(7_000)
    desk.has(1)
    desk.later(500)
    assert desk.findings()[0].repair == "", "it was there in between"
    desk.later(200)
    assert desk.findings()[0].repair


def test_a_cell_that_was_not_read_for_long_is_watched_anew() -> None:
    desk = CellDesk()
    desk.book(server(1), 1)
    desk.later(7_000)
    assert desk.findings()[0].repair
    desk.now += 400 * S
    desk.read()
    assert desk.findings()[0].repair == ""
    desk.later()
    assert desk.findings()[0].repair
    desk.now += 200 * S
    desk.read()
    assert desk.findings()[0].repair, "a pause is no gap"


def test_of_a_cell_that_cannot_be_read_nothing_is_judged() -> None:
    desk = CellDesk()
    desk.book(server(1), 1)
    desk.has(2, 2)
    desk.later()
    assert len(desk.findings()) == 2
    desk.read(forced_down=True)
    found = desk.audit()
    assert (found.findings, found.is_blind) == ((), True)
    assert (found.hosts, found.listing, found.silent) == (2, 0, {"cell_unread": 2})


def test_that_a_cell_is_to_be_read_again_does_not_make_its_list_new() -> None:
    """A feed that starts says so before it has read anything."""
    desk = CellDesk()
    desk.later()
    told = Service(IN_CELL, CELL, False, forced_down=True)
    desk.do(c.UpdateService(told))
    desk.now += 7_000 * S
    desk.do(c.UpdateService(Service(IN_CELL, CELL, False, forced_down=False)))
    assert desk.audit().silent == {"cell_unread": 2}
    desk.read()
    assert desk.audit().silent == {}


def test_what_lost_its_allocations_just_now_may_be_about_to_end() -> None:
    """Nova deletes the allocations before the feed reads that the instance went."""
    desk = CellDesk()
    desk.book(server(1), 1)
    desk.has(1, 1)
    desk.later(7_000)
    assert desk.findings() == ()
    desk.do(c.DeleteAllocations(server(1)))
    desk.later(500)
    assert desk.findings() == ()
    desk.later(200)
    assert desk.found() == [("no_claim", "h1", server(1))]


def test_what_was_named_or_moved_just_now_is_not_found_as_unclaimed() -> None:
    desk = CellDesk()
    desk.later(7_000)
    desk.has(1, 1)
    desk.later(500)
    assert desk.findings() == ()
    desk.book(server(1), 2)
    desk.later(500)
    assert desk.findings() == (), "its allocations went elsewhere just now"
    desk.later(200)
    assert desk.found() == [
        ("no_claim", "h1", server(1)),
        ("no_workload", "h2", server(1)),
    ]


def test_what_an_evacuation_left_is_found_and_repaired() -> None:
    """Its instance has both hosts until a compute comes back on the first."""
    desk = CellDesk()
    desk.book(server(1), 1)
    desk.has(1, 1)
    desk.later(7_000)
    desk.book(server(1), 1, 2)
    desk.moves(Move(server(1), MIGRATION))
    desk.later(7_000)
    assert desk.findings() == (), "it is being built"
    desk.has(2, 1)
    desk.has(1)
    desk.moves()
    desk.later(500)
    assert desk.findings() == ()
    desk.later(200)
    (found,) = desk.findings()
    assert (found.host, found.repair) == ("h1", "remove its allocations here")
    assert "h2 does, and it has allocations there" in found.detail
    desk.do(c.Repair(found, TERMS))
    assert (desk.used(1), desk.used(2)) == ({}, SOME)
    assert desk.findings() == ()


def test_what_moves_is_written_where_it_is_new() -> None:
    desk = CellDesk()
    one = c.SetMoves("h1", (Move(server(1), MIGRATION), Move(server(2))))
    desk.do(one)
    assert desk.changes(one) == 0
    assert desk.changes(c.SetMoves("h9", one.moves)) == 0, "there is no such host"
    desk.do(c.SetMoves("h1", one.moves[1:]), c.DeleteHost("h1", "n1"))
    assert desk.state.fleet.hosts.movers.rows == {}


def test_moves_are_kept_from_those_who_ask_for_a_host() -> None:
    desk = CellDesk()
    desk.moves(Move(server(1), MIGRATION))
    assert not any(name.startswith("_") for name in desk.host(1).stats)
