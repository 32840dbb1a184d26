"""The scheduler over HTTP: hosts, claims and reports.

Separate from the rest of the client because these routes are Gantt's own: a service
that lacks them is distinguished from one that does not know the requested object.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gantt import errors
from gantt.client import decode, encode
from gantt.client.exchange import Exchange
from gantt.client.refusals import NoSuchRoute
from gantt.client.transport import Reply
from gantt.model.forms import scalars, values
from gantt.model.hosts import (
    HostAggregate,
    HostStats,
    HostView,
    Instance,
    ServerGroup,
    Service,
)
from gantt.model.scheduling import Selections
from gantt.model.selection import Capacity, Decision
from gantt.model.spec import RequestSpec, ScheduleRequest


class RemoteScheduling:
    """The part of GanttProtocol that is about where things run."""

    _wire: Exchange

    def schedule(self, request: ScheduleRequest) -> Selections:
        """See SchedulerProtocol."""
        request = values.request(request)
        if request.dry_run:
            decision = self.decide(request)
            if decision.failure is not None:
                raise errors.NoValidHost(decision.failure, decision.why)
            return decision.chosen
        body = encode.schedule_body(request)
        return decode.selections(self._ask_ours("POST", "select", body=body))

    def decide(self, request: ScheduleRequest) -> Decision:
        """See SchedulerProtocol."""
        request = values.request(request)
        body = {**encode.schedule_body(request), "dry_run": True}
        return decode.decision(self._ask_ours("POST", "select", body=body))

    def confirm_claim(self, claim: str) -> None:
        """See SchedulerProtocol."""
        self._ask_ours("POST", "claims", scalars.name("claim", claim), "confirm")

    def release_claim(self, claim: str) -> None:
        """See SchedulerProtocol."""
        self._ask_ours("DELETE", "claims", scalars.name("claim", claim))

    def capacity(self, spec: RequestSpec) -> Capacity:
        """See SchedulerProtocol."""
        body = {"request_spec": values.spec(spec)}
        return decode.capacity(self._ask_ours("POST", "capacity", body=body))

    def decisions(
        self,
        *,
        request_id: str | None = None,
        instance_uuid: str | None = None,
        limit: int = 100,
    ) -> tuple[Decision, ...]:
        """See SchedulerProtocol."""
        asked = {"request_id": request_id, "instance_uuid": instance_uuid}
        pairs = [*encode.given(asked), ("limit", str(limit))]
        return decode.decisions(self._ask_ours("GET", "decisions", pairs=pairs))

    def update_host(self, host: str, node: str, stats: HostStats) -> HostView:
        """See SchedulerProtocol."""
        host, node = scalars.name("host", host), scalars.name("node", node)
        body = values.stats(stats)
        return decode.host(self._ask_ours("PUT", "hosts", host, node, body=body))

    def delete_host(self, host: str, node: str) -> None:
        """See SchedulerProtocol."""
        host, node = scalars.name("host", host), scalars.name("node", node)
        self._ask_ours("DELETE", "hosts", host, node)

    def list_hosts(
        self, *, host: str | None = None, node: str | None = None
    ) -> tuple[HostView, ...]:
        """See SchedulerProtocol."""
        pairs = encode.given({"host": host, "node": node})
        return decode.hosts(self._ask_ours("GET", "hosts", pairs=pairs))

    def set_host_aggregates(self, aggregates: Iterable[HostAggregate]) -> None:
        """See SchedulerProtocol."""
        body = {"aggregates": values.aggregates(aggregates)}
        self._ask_ours("PUT", "aggregates", body=body)

    def delete_host_aggregate(
        self, *, uuid: str | None = None, number: int | None = None
    ) -> None:
        """See SchedulerProtocol."""
        pairs = encode.given({"uuid": uuid, "id": number})
        self._ask_ours("DELETE", "aggregates", pairs=pairs)

    def list_host_aggregates(self) -> tuple[HostAggregate, ...]:
        """See SchedulerProtocol."""
        return decode.host_aggregates(self._ask_ours("GET", "aggregates"))

    def update_instances(self, host: str, instances: Iterable[Instance]) -> None:
        """See SchedulerProtocol."""
        body = {"instances": values.instances(instances)}
        host = scalars.name("host", host)
        self._ask_ours("POST", "instances", host, body=body)

    def delete_instance(self, host: str, instance_uuid: str) -> None:
        """See SchedulerProtocol."""
        host = scalars.name("host", host)
        uuid = scalars.name("instance_uuid", instance_uuid)
        self._ask_ours("DELETE", "instances", host, uuid)

    def sync_instances(self, host: str, instance_uuids: Iterable[str]) -> bool:
        """See SchedulerProtocol."""
        body = {"instance_uuids": values.names("instance_uuids", instance_uuids)}
        host = scalars.name("host", host)
        return decode.synced(self._ask_ours("PUT", "instances", host, body=body))

    def update_service(self, service: Service) -> None:
        """See SchedulerProtocol."""
        self._ask_ours("PUT", "services", body=values.service(service))

    def set_server_group(self, group: ServerGroup) -> None:
        """See SchedulerProtocol."""
        group = values.server_group(group)
        self._ask_ours("PUT", "server_groups", group.uuid, body=group)

    def delete_server_group(self, uuid: str) -> None:
        """See SchedulerProtocol."""
        self._ask_ours("DELETE", "server_groups", scalars.name("group", uuid))

    def _ask_ours(
        self,
        method: str,
        *path: str,
        body: Any = None,
        pairs: Iterable[tuple[str, str]] = (),
    ) -> Reply:
        for part in path:
            if not part or "/" in part:
                raise errors.Invalid(
                    f"{part!r} is no name that a path can carry: it must not be "
                    "empty or hold a slash."
                )
        route = encode.query(encode.path("gantt", *path), list(pairs))
        try:
            return self._wire.ask(method, route, body)
        except NoSuchRoute:
            raise errors.Invalid(
                "This service does not schedule, which is Gantt's own addition to "
                "Placement: ask a Gantt, or the database in process."
            ) from None
