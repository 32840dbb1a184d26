"""A desk with hosts: what they report, and claims on them."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from gantt.model import commands as c
from gantt.model.hosts import HostStats, HostView
from gantt.model.request_identity import RequestIdentity
from gantt.model.rows import BOOKINGS, ROW_TYPES, BookingRow, Row
from gantt.placement import fleet_queries, queries
from gantt.placement.rules import plan
from tests.placement.desk import Desk

CLASSES = ("VCPU", "MEMORY_MB", "DISK_GB")
SIZE = {"VCPU": 2, "MEMORY_MB": 1024, "DISK_GB": 10}


def uuid_of(number: int) -> str:
    """The uuid of the provider of host ``number``."""
    return f"11111111-1111-4111-8111-{number:012d}"


def server(number: int) -> str:
    """The uuid of instance ``number``."""
    return f"55555555-5555-4555-8555-{number:012d}"


def report(number: int = 1, **more: Any) -> c.UpdateHost:
    """What host ``h<number>`` says of its node ``n<number>``; ``reserved``,
    ``host``, ``node``, ``initial_ratios`` and ``writes_books`` are the command's."""
    command: dict[str, Any] = {"host": f"h{number}", "node": f"n{number}"}
    for name in ("host", "node", "reserved", "initial_ratios", "writes_books"):
        if name in more:
            command[name] = more.pop(name)
    facts = {
        "vcpus": 8,
        "memory_mb": 8192,
        "local_gb": 100,
        "free_ram_mb": 8192,
        "free_disk_gb": 100,
        **more,
    }
    return c.UpdateHost(
        stats=HostStats(**facts), new_provider_uuid=uuid_of(number), **command
    )


class FleetDesk(Desk):
    """Hosts 1 to ``hosts``, of 8 VCPU (ratio 1), 8192 MB and 100 GB."""

    def __init__(self, hosts: int = 0, **facts: Any) -> None:
        super().__init__()
        self.do(c.SyncNames(CLASSES, ("HW_CPU_X86_AVX", "HW_CPU_X86_SSE")))
        for number in range(1, hosts + 1):
            self.do(report(number, **{"cpu_allocation_ratio": 1.0, **facts}))

    def host(self, number: int = 1) -> HostView:
        page = fleet_queries.host_page(self.state, ("", ""), 1, host=f"h{number}")
        (found,) = page.hosts
        return found

    def inventories(self, number: int = 1) -> dict[str, c.Inventory]:
        found = queries.inventories(self.state, uuid_of(number))
        assert found is not None
        return found.inventories

    def traits(self, number: int = 1) -> set[str]:
        found = queries.traits(self.state, uuid_of(number))
        assert found is not None
        return set(found.traits)

    def aggregates(self, number: int = 1) -> set[str]:
        found = queries.aggregates(self.state, uuid_of(number))
        assert found is not None
        return set(found.aggregates)

    def claims(self) -> list[BookingRow]:
        return [
            row
            for row in self.state.rows(BOOKINGS)
            if isinstance(row, BookingRow) and row.is_claim
        ]

    def used(self, number: int = 1) -> dict[str, int]:
        """What is used of the provider of a host, classes with nothing left out."""
        found = queries.usages(self.state, uuid_of(number))
        assert found is not None
        return {name: amount for name, amount in found.usages.items() if amount}

    def books(self, *tables: str) -> dict[str, list[Row]]:
        return {table: list(self.state.rows(table)) for table in tables or ROW_TYPES}


def choice(number: int, amounts: dict[str, int] | None = None) -> c.Choice:
    """``amounts`` on the provider of host ``number``; {}: nothing in the books."""
    size = SIZE if amounts is None else amounts
    return c.Choice(number, {uuid_of(number): size} if size else {})


def on(instance: int, *hosts: int, size: dict[str, int] | None = None) -> Any:
    """Instance ``instance`` on the first of ``hosts`` that holds."""
    choices = tuple(choice(number, size) for number in hosts)
    return c.InstanceClaim(server(instance), choices)


def claim(name: str, *instances: c.InstanceClaim, **more: Any) -> c.Claim:
    """A claim of 2 VCPU, 1024 MB and 10 GB for each instance."""
    wish = {
        "vcpus": 2,
        "memory_mb": 1024,
        "disk_mb": 10 * 1024,
        "project_id": "project",
        "user_id": "user",
        **more,
    }
    return c.Claim(name, instances, **wish)


def moving(command: c.Claim, *hosts: int) -> c.Claim:
    """The same, for instances that are to leave ``hosts``."""
    leaving = tuple(f"h{number}" for number in hosts)
    return replace(command, identity=RequestIdentity(ignore_hosts=leaving))


def undone(desk: Desk, command: c.Command[object]) -> bool:
    """Whether the inverse of what ``command`` changes leaves everything as it was."""
    before = {table: list(desk.state.rows(table)) for table in ROW_TYPES}
    planned = plan(desk.state, command, desk.now)
    cursor = desk.state.cursor
    desk.state.apply(planned.changes, cursor)
    inverse = [change.inverse() for change in reversed(planned.changes)]
    desk.state.apply(inverse, cursor)
    return before == {table: list(desk.state.rows(table)) for table in ROW_TYPES}
