"""The scheduler's part of the library, as a type.

``Gantt`` (in process) and ``RemoteGantt`` (over HTTP) both implement it; the seam for
callers with Nova's own forms of a request is ``gantt.client.SchedulerClient``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, TypeAlias

from gantt.model.hosts import (
    HostAggregate,
    HostStats,
    HostView,
    Instance,
    ServerGroup,
    Service,
)
from gantt.model.selection import Capacity, Decision, Selection
from gantt.model.spec import RequestSpec, ScheduleRequest

Selections: TypeAlias = tuple[tuple[Selection, ...], ...]


class SchedulerProtocol(Protocol):
    """Where things run. Every method may raise ``errors.Unavailable``."""

    def schedule(self, request: ScheduleRequest) -> Selections:
        """Pick and claim: per instance, in order, its host and then its alternates.

        All instances are claimed at once, or none. Raises NoValidHost (with ``why``),
        Invalid (the request cannot be understood: the message names the key).
        """

    def decide(self, request: ScheduleRequest) -> Decision:
        """The whole record of what ``schedule`` would do; nothing is claimed, and no
        valid host is an answer here. Raises Invalid."""

    def confirm_claim(self, claim: str) -> None:
        """End the lease of a claim: it stays. Raises NotFound, ClaimExpired."""

    def release_claim(self, claim: str) -> None:
        """Give back what was claimed. Raises NotFound."""

    def capacity(self, spec: RequestSpec) -> Capacity:
        """How many more instances like ``spec`` fit, where, and what blocks more."""

    def decisions(
        self,
        *,
        request_id: str | None = None,
        instance_uuid: str | None = None,
        limit: int = 100,
    ) -> tuple[Decision, ...]:
        """Records of decisions, the latest first."""

    def update_host(self, host: str, node: str | None, stats: HostStats) -> HostView:
        """Take in what a host reports. ``node`` None: the one that is known of the
        host, else of the same name. Raises Invalid."""

    def delete_host(self, host: str, node: str) -> None:
        """Delete the host; its provider stays, with the allocations of confirmed
        claims: releasing the claims frees them. Raises NotFound."""

    def list_hosts(
        self, *, host: str | None = None, node: str | None = None
    ) -> tuple[HostView, ...]:
        """Hosts as they are known, by name."""

    def set_host_aggregates(self, aggregates: Iterable[HostAggregate]) -> None:
        """Each aggregate as it is from now on."""

    def delete_host_aggregate(
        self, *, uuid: str | None = None, number: int | None = None
    ) -> None:
        """By uuid, or by its id in Nova; not known is no error."""

    def list_host_aggregates(self) -> tuple[HostAggregate, ...]:
        """All that are known, by name."""

    def update_instances(self, host: str, instances: Iterable[Instance]) -> None:
        """The host names these instances, among others."""

    def delete_instance(self, host: str, instance_uuid: str) -> None:
        """Delete the instance; an unknown one is not an error."""

    def sync_instances(self, host: str, instance_uuids: Iterable[str]) -> bool:
        """The host has exactly these; whether that was known."""

    def update_service(self, service: Service) -> None:
        """What is known of a service changes."""

    def set_server_group(self, group: ServerGroup) -> None:
        """The group as it is from now on."""

    def delete_server_group(self, uuid: str) -> None:
        """Not known is no error."""
