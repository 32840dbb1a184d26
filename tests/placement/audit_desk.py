"""Hosts whose agents list what runs on them, and an audit of what they tell."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from gantt.model import commands as c
from gantt.model.audit import Audit, AuditTerms, Finding
from gantt.model.hosts import HostStats
from gantt.placement.audit_queries import audit
from gantt.placement.rules.agent_reports import command_of
from tests.placement.fleet_desk import (
    FleetDesk,
    server,
    uuid_of,
)
from tests.reported import report_of

TERMS = AuditTerms(fresh_us=10_000, grace_us=100)
ALLOWED = replace(TERMS, kinds=("host_gone",))
LATER = 5_000
HOST = {"vcpus": 8, "memory_mb": 8192, "local_gb": 100}
SPACE = {"free_ram_mb": 8192, "free_disk_gb": 100}


class AuditDesk(FleetDesk):
    """Hosts whose agents list what runs on them."""

    def __init__(self, hosts: int = 2) -> None:
        super().__init__()
        self.do(c.SyncNames(("VCPU", "MEMORY_MB", "DISK_GB", "PCPU"), ()))
        self._sequence = 0
        self.sequences: dict[int, int] = {}
        for number in range(1, hosts + 1):
            self.tell(number)

    def tell(
        self, number: int, *instances: int, taken_at: int | None = None, **more: Any
    ) -> None:
        """The agent of a host reports these instances."""
        self._sequence += 1
        self.sequences[number] = self._sequence
        fields: dict[str, Any] = {
            **HOST,
            "cpu_allocation_ratio": 1.0,
            "instances": tuple(map(server, instances)),
            "lists_instances": True,
            **more,
        }
        report = report_of(
            f"h{number}",
            self._sequence,
            HostStats(**fields),
            node=f"n{number}",
            incarnation="agent",
            taken_at=self.now if taken_at is None else taken_at,
        )
        update = c.UpdateHost("", "", HostStats(), new_provider_uuid="")
        uuid = uuid_of(number)
        self.do(command_of(report, update, "", new_provider_uuid=uuid))

    def tell_unchanged(self, number: int, *, unread: tuple[str, ...] = ()) -> None:
        """The agent of a host reports that nothing changed."""
        report = report_of(
            f"h{number}",
            self.sequences[number],
            node=f"n{number}",
            incarnation="agent",
            taken_at=self.now,
            full=False,
            unread=unread,
        )
        update = c.UpdateHost(
            "", "", HostStats(), new_provider_uuid="", renewed_after_us=1_000
        )
        self.do(command_of(report, update, ""))

    def audit(self, terms: AuditTerms = TERMS) -> Audit:
        return audit(self.state, self.now, terms)

    def findings(self, terms: AuditTerms = TERMS) -> tuple[Finding, ...]:
        return self.audit(terms).findings

    def later(self, us: int = LATER, *hosts: int) -> None:
        """Time goes by, and these hosts say that nothing changed."""
        self.now += us
        for number in hosts:
            self.tell_unchanged(number)

    def repair(self, finding: Finding) -> Any:
        return self.do(c.Repair(finding, ALLOWED))
