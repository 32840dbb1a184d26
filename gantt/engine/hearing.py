"""What a scheduler must hear: hosts, services, aggregates, instances and groups.

Apart from deciding because each method is one command or one question, by the name that
``gantt.model.scheduling`` documents.
"""

from __future__ import annotations

import uuid as uuids
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, Concatenate, ParamSpec, TypeVar

from gantt.model import commands as c
from gantt.model.forms import scalars, values
from gantt.model.hosts import (
    HostAggregate,
    HostStats,
    HostView,
    Instance,
    ServerGroup,
    Service,
)
from gantt.placement import fleet_queries
from gantt.placement.rules import plan
from gantt.scheduler.options import SchedulerOptions
from gantt.state.state import State

T = TypeVar("T")
P = ParamSpec("P")


class Hearing(ABC):
    """The fleet by name, for whoever can ``read`` and ``submit``. What is handed over
    is judged first: nothing that a rule meets at the gate is of a wrong kind."""

    _policy: SchedulerOptions

    @abstractmethod
    def read(
        self,
        query: Callable[Concatenate[State, P], T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """The answer of a pure ``query`` to the newest State, once it is durable."""

    @abstractmethod
    def submit(self, command: c.Command, request_id: str = "") -> Any:
        """Carry out ``command``; its answer, once it is durable."""

    def confirm_claim(self, claim: str) -> None:
        self.submit(c.ConfirmClaim(scalars.name("claim", claim)))

    def release_claim(self, claim: str) -> None:
        self.submit(c.ReleaseClaim(scalars.name("claim", claim)))

    def expire_claims(self) -> int:
        """Release the leases that have ended; how many claims that were."""
        grace = int(self._policy.lease_skew_s * 1_000_000)
        expired: int = self.submit(c.ExpireClaims(grace_us=grace))
        return expired

    def update_host(self, host: str, node: str, stats: HostStats) -> HostView:
        options = self._policy
        ratios = (
            options.initial_cpu_allocation_ratio,
            options.initial_ram_allocation_ratio,
            options.initial_disk_allocation_ratio,
        )
        command = c.UpdateHost(
            scalars.name("host", host),
            scalars.name("node", node),
            values.stats(stats),
            str(uuids.uuid4()),
            initial_ratios=ratios,
            writes_books=options.placement == "embedded",
        )
        # Most reports say nothing new: these need no turn at the gate.
        planned = self.read(plan, command, 0)
        view: HostView = self.submit(command) if planned.changes else planned.answer
        return view

    def delete_host(self, host: str, node: str) -> None:
        host, node = scalars.name("host", host), scalars.name("node", node)
        self.submit(c.DeleteHost(host, node))

    def list_hosts(
        self, *, host: str | None = None, node: str | None = None
    ) -> tuple[HostView, ...]:
        return self.read(fleet_queries.hosts, host, node)

    def set_host_aggregates(self, aggregates: Iterable[HostAggregate]) -> None:
        self.submit(c.SetHostAggregates(values.aggregates(aggregates)))

    def delete_host_aggregate(
        self, *, uuid: str | None = None, number: int | None = None
    ) -> None:
        self.submit(c.DeleteHostAggregate(uuid, number))

    def list_host_aggregates(self) -> tuple[HostAggregate, ...]:
        return self.read(fleet_queries.host_aggregates)

    def update_instances(self, host: str, instances: Iterable[Instance]) -> None:
        host = scalars.name("host", host)
        self.submit(c.UpdateInstances(host, values.instances(instances)))

    def delete_instance(self, host: str, instance_uuid: str) -> None:
        host = scalars.name("host", host)
        uuid = scalars.name("instance_uuid", instance_uuid)
        self.submit(c.DeleteInstance(host, uuid))

    def sync_instances(self, host: str, instance_uuids: Iterable[str]) -> bool:
        uuids = values.names("instance_uuids", instance_uuids)
        host = scalars.name("host", host)
        known: bool = self.submit(c.SyncInstances(host, uuids))
        return known

    def update_service(self, service: Service) -> None:
        self.submit(c.UpdateService(values.service(service)))

    def set_server_group(self, group: ServerGroup) -> None:
        self.submit(c.SetServerGroup(values.server_group(group)))

    def delete_server_group(self, uuid: str) -> None:
        self.submit(c.DeleteServerGroup(scalars.name("group", uuid)))
