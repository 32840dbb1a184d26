"""What a scheduler must hear: hosts, services, aggregates, instances and groups.

Apart from deciding because each method is one command or one question, by the name that
``gantt.model.scheduling`` documents.
"""

from __future__ import annotations

import logging
import uuid as uuids
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, Concatenate, ParamSpec, TypeVar

from gantt.engine.clock import Clock
from gantt.errors import Invalid
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
from gantt.model.spec import RequestSpec, ScheduleRequest
from gantt.placement import fleet_queries
from gantt.placement.rules.hosts import as_known
from gantt.scheduler.feasibility import overrides
from gantt.scheduler.options import SchedulerOptions
from gantt.scheduler.request import limits
from gantt.state.state import State

LOG = logging.getLogger(__name__)
T = TypeVar("T")
P = ParamSpec("P")


class ResourceTracker(ABC):
    """The fleet by name, for whoever can ``read`` and ``submit``. What is handed over
    is judged first: nothing that a rule meets at the committer is of a wrong kind."""

    _policy: SchedulerOptions
    _wall: Clock
    _over = 0

    def _judged(self, request: ScheduleRequest) -> ScheduleRequest:
        """Sound, and within the limits of one request. Raises Invalid."""
        request = values.request(request)
        if request.lease_s is not None and request.instance_uuids is None:
            raise Invalid(
                "A lease was requested without instances: claims are made "
                "for instances. Give instance_uuids, or omit the lease."
            )
        self._within(limits.check_request, request, self._policy)
        return request

    def _judged_spec(self, spec: RequestSpec) -> RequestSpec:
        """The same of a request for any number."""
        spec = values.spec(spec)
        self._within(limits.check_spec, spec, self._policy)
        return spec

    def _within(self, check: Callable[P, None], *args: P.args, **kw: P.kwargs) -> None:
        """Count what a limit refuses. Raises TooMuch."""
        try:
            check(*args, **kw)
        except limits.TooMuch:
            self._over += 1
            raise

    def _check_statement(self, what: str, count: int) -> None:
        self._within(limits.check_statement, what, count, self._policy)

    def _tracker_counts(self) -> dict[str, float]:
        """How much was asked and said beyond limits, and where these are."""
        options = self._policy
        return {
            "over_limits": self._over,
            "request_names_limit": options.max_request_names,
            "request_groups_limit": options.max_request_groups,
            "request_instances_limit": options.max_instances,
            "statement_limit": options.max_statement,
            "statement_hosts_limit": options.max_statement_hosts,
            "shapes_limit": options.max_shapes,
            "changes_limit": options.kept_changes,
        }

    @abstractmethod
    def read(
        self,
        query: Callable[Concatenate[State, P], T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """The answer of a pure ``query`` to the newest State, once it is durable."""

    @abstractmethod
    def read_long(
        self,
        query: Callable[Concatenate[State, P], T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """As ``read``, for what goes through as much as there is."""

    @abstractmethod
    def glance_long(
        self,
        query: Callable[Concatenate[State, P], T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """As ``read_long``, but an answer does not wait until it is durable."""

    @abstractmethod
    def rest(self) -> None:
        """Within such a long query: when it has had the columns for a while, let others
        at them. Raises Moved when the query must be asked anew."""

    @abstractmethod
    def read_touched(
        self,
        query: Callable[Concatenate[State, P], tuple[T, int]],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """As ``read``, of a query that also tells when what it looked at was touched
        last (``State.applied``): the answer waits for nothing later to be durable."""

    @abstractmethod
    def submit(self, command: c.Command, request_id: str = "") -> Any:
        """Carry out ``command``; its answer, once it is durable."""

    def confirm_claim(self, claim: str) -> None:
        self.submit(c.ConfirmClaim(scalars.name("claim", claim)))

    def release_claim(self, claim: str) -> None:
        self.submit(c.ReleaseClaim(scalars.name("claim", claim)))

    def claim_projects(self, claim: str) -> frozenset[str | None]:
        """Whose the instances of a claim are; None: not known. Empty: it has ended."""
        return self.read(fleet_queries.claim_projects, scalars.name("claim", claim))

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
        stats = values.stats(stats)
        for what in ("traits", "instances"):
            self._check_statement(what, len(getattr(stats, what) or ()))
        command = c.UpdateHost(
            scalars.name("host", host),
            scalars.name("node", node),
            stats,
            str(uuids.uuid4()),
            initial_ratios=ratios,
            writes_books=options.placement == "embedded",
            renewed_after_us=int(options.report_age_s * 1_000_000),
        )
        # Most reports say nothing new: these need no turn at the committer.
        known = self.read_touched(as_known, command, self._wall.now())
        view: HostView = self.submit(command) if known is None else known
        return view

    def delete_host(self, host: str, node: str) -> None:
        host, node = scalars.name("host", host), scalars.name("node", node)
        self.submit(c.DeleteHost(host, node))

    def list_hosts(
        self, *, host: str | None = None, node: str | None = None
    ) -> tuple[HostView, ...]:
        read = self.read if host or node else self.read_long
        return read(fleet_queries.hosts, host, node)

    def set_host_aggregates(self, aggregates: Iterable[HostAggregate]) -> None:
        said = values.aggregates(aggregates)
        self._check_statement("aggregates", len(said))
        hosts = sum(len(one.hosts) for one in said)
        self._within(limits.check_hosts, hosts, self._policy)
        self.submit(c.SetHostAggregates(said))
        for one in said:
            if keys := overrides.unread(one.metadata):
                LOG.warning(
                    "aggregate %s (%s): %s of its metadata is not a usable "
                    "number and is ignored",
                    *(one.uuid, one.name, ", ".join(keys)),
                )

    def delete_host_aggregate(
        self, *, uuid: str | None = None, number: int | None = None
    ) -> None:
        self.submit(c.DeleteHostAggregate(uuid, number))

    def list_host_aggregates(self) -> tuple[HostAggregate, ...]:
        return self.read(fleet_queries.host_aggregates)

    def update_instances(self, host: str, instances: Iterable[Instance]) -> None:
        host = scalars.name("host", host)
        said = values.instances(instances)
        self._check_statement("instances", len(said))
        self.submit(c.UpdateInstances(host, said))

    def delete_instance(self, host: str, instance_uuid: str) -> None:
        host = scalars.name("host", host)
        uuid = scalars.name("instance_uuid", instance_uuid)
        self.submit(c.DeleteInstance(host, uuid))

    def sync_instances(self, host: str, instance_uuids: Iterable[str]) -> bool:
        uuids = values.names("instance_uuids", instance_uuids)
        self._check_statement("instances", len(uuids))
        host = scalars.name("host", host)
        known: bool = self.submit(c.SyncInstances(host, uuids))
        return known

    def update_service(self, service: Service) -> None:
        self.submit(c.UpdateService(values.service(service)))

    def set_server_group(self, group: ServerGroup) -> None:
        group = values.server_group(group)
        self._check_statement("members", len(group.members))
        self.submit(c.SetServerGroup(group))

    def delete_server_group(self, uuid: str) -> None:
        self.submit(c.DeleteServerGroup(scalars.name("group", uuid)))
