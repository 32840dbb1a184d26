"""The fleet of the library, by name: hosts, services, aggregates, instances, groups.

Each method is one command or one query; ``gantt.model.scheduling`` documents it.
Reports are checked first, in the caller's thread.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import TypeVar

from msgspec.structs import replace

from gantt.engine.reading.reader import Consistency
from gantt.engine.scheduling.state_access import StateMethods
from gantt.engine.uuids import new_uuid
from gantt.errors import Invalid
from gantt.model import commands as c
from gantt.model.artifacts import Artifact
from gantt.model.bounds import MAX_SIZE
from gantt.model.fleet_lists import (
    GroupQuery,
    HostAggregateQuery,
    InstanceQuery,
    ServiceQuery,
)
from gantt.model.forms import scalars, values
from gantt.model.forms.relations import read_all, read_labels
from gantt.model.hosts import (
    HostAggregate,
    HostPage,
    HostPlace,
    HostStats,
    HostView,
    Instance,
    InstanceView,
    ServerGroup,
    Service,
)
from gantt.model.names import spellings
from gantt.model.paging import PAGE, Listed, followed, length, read
from gantt.model.quantities import whole_bytes
from gantt.model.relations import HostLabels, TopologyKey
from gantt.model.topology_view import HostTopologyView
from gantt.placement import fleet_pages, fleet_queries
from gantt.placement.artifact_queries import artifacts
from gantt.placement.domain_queries import topology_keys
from gantt.placement.known_instances import known_instances
from gantt.placement.rules.host_names import check_held
from gantt.placement.rules.host_reports import as_known, has_news
from gantt.placement.topology_answer import host_topology
from gantt.scheduler.feasibility import overrides

LOG = logging.getLogger(__name__)
_AGGREGATES, _SERVICES, _GROUPS = HostAggregateQuery(), ServiceQuery(), GroupQuery()
_INSTANCES = InstanceQuery()
_NO_LABELS: Mapping[str, str | None] = MappingProxyType({})
Asked = TypeVar("Asked", ServiceQuery, GroupQuery, InstanceQuery, HostAggregateQuery)
T = TypeVar("T")


class FleetMethods(StateMethods):
    """What hosts and operators report, and what is known of it."""

    def update_host(self, host: str, node: str | None, stats: HostStats) -> HostView:
        options = self._checks.options
        stats = values.stats(stats)
        if stats.traits:
            self._checks.statement("traits", len(stats.traits))
        if stats.instances:
            self._checks.statement("instances", len(stats.instances))
        if stats.holds:
            check_held(stats.holds, options.max_host_artifacts)
        command = c.UpdateHost(
            scalars.name("host", host),
            scalars.name("node", host if node is None else node),
            stats,
            new_provider_uuid="",
            initial_ratios=options.novas_ratios,
            writes_books=self._checks.writes_books,
            renewed_after_us=int(options.report_age_s * 1_000_000),
            is_bare=node is None,
        )
        # Most reports have no news: these need no turn at the committer. Those that do
        # need no read of the database.
        if not self._reader.read(has_news, command, consistency=Consistency.LOCAL):
            known = self._reader.read_touched(as_known, command, self._clock.now())
            if known is not None:
                return known
        return self._committer.submit(replace(command, new_provider_uuid=new_uuid()))

    def delete_host(self, host: str, node: str) -> None:
        host, node = scalars.name("host", host), scalars.name("node", node)
        self._committer.submit(c.DeleteHost(host, node))

    def label_host(
        self, host: str, labels: Mapping[str, str | None] = _NO_LABELS
    ) -> HostLabels:
        host = scalars.name("host", host)
        command = c.LabelHost(host, read_labels(labels))
        return self._committer.submit(command)

    def list_domains(self, *, key: str | None = None) -> tuple[TopologyKey, ...]:
        return self._reader.read(topology_keys, key)

    def list_artifacts(self, *, name: str | None = None) -> tuple[Artifact, ...]:
        return self._reader.read(artifacts, name)

    def register_artifact(self, name: str, size: int | str) -> None:
        try:
            found = whole_bytes(size)
        except ValueError as error:
            raise Invalid(f"size: {error}.") from None
        found = scalars.whole("size", found, 0, MAX_SIZE)
        most = self._checks.options.max_artifacts
        self._committer.submit(c.SetArtifact(scalars.name("name", name), found, most))

    def remove_artifact(self, name: str) -> None:
        self._committer.submit(c.SetArtifact(scalars.name("name", name), None))

    def relate_group(self, uuid: str, relations: str) -> None:
        uuid = scalars.uuid("group", uuid)
        told = " ".join(relations.split())
        read_all(told, f"Server group {uuid}")
        self._committer.submit(c.RelateGroup(uuid, told))

    def list_hosts(
        self, *, host: str | None = None, node: str | None = None
    ) -> tuple[HostView, ...]:
        def page(after: str, _most: int) -> Listed[HostView]:
            found = self.host_page(after, host=host, node=node)
            return found.hosts, found.next

        return followed(page, sys.maxsize)

    def host_page(
        self,
        after: str = "",
        limit: int = PAGE,
        *,
        host: str | None = None,
        node: str | None = None,
    ) -> HostPage:
        """Hosts by name, or those of one name. ``after``: the ``next`` of the page
        before. Raises Invalid."""
        place: HostPlace = read(after, HostPlace) if after else ("", "")
        asked = place, length(limit), host or None, node or None
        return self._reader.read(fleet_queries.host_page, *asked)

    def host_topology(self, host: str, node: str) -> HostTopologyView:
        host, node = scalars.name("host", host), scalars.name("node", node)
        return self._reader.read(host_topology, host, node)

    def set_host_aggregates(self, aggregates: Iterable[HostAggregate]) -> None:
        said = values.aggregates(aggregates)
        self._checks.statement("aggregates", len(said))
        hosts = sum(len(one.hosts) for one in said)
        self._checks.hosts(hosts)
        writes_books = self._checks.writes_books
        self._committer.submit(c.SetHostAggregates(said, writes_books))
        warn_of_metadata(said)

    def delete_host_aggregate(
        self, *, uuid: str | None = None, number: int | None = None
    ) -> None:
        writes_books = self._checks.writes_books
        # Before they had one form they were kept as they were written.
        for each in (None,) if uuid is None else spellings(uuid):
            self._committer.submit(c.DeleteHostAggregate(each, number, writes_books))

    def list_host_aggregates(
        self, query: HostAggregateQuery = _AGGREGATES
    ) -> tuple[HostAggregate, ...]:
        return _whole(self.host_aggregate_page, query)

    def host_aggregate_page(self, query: HostAggregateQuery) -> Listed[HostAggregate]:
        asked = _bounded(query)
        return self._reader.survey(
            lambda state, rest: fleet_pages.host_aggregates(state, asked, rest)
        )

    def list_services(self, query: ServiceQuery = _SERVICES) -> tuple[Service, ...]:
        return _whole(self.service_page, query)

    def service_page(self, query: ServiceQuery) -> Listed[Service]:
        asked = _bounded(query)
        return self._reader.survey(
            lambda state, rest: fleet_pages.services(state, asked, rest)
        )

    def list_server_groups(
        self, query: GroupQuery = _GROUPS
    ) -> tuple[ServerGroup, ...]:
        return _whole(self.server_group_page, query)

    def server_group_page(self, query: GroupQuery) -> Listed[ServerGroup]:
        asked = _bounded(query)
        return self._reader.survey(
            lambda state, rest: fleet_pages.server_groups(state, asked, rest)
        )

    def list_instances(
        self, query: InstanceQuery = _INSTANCES
    ) -> tuple[InstanceView, ...]:
        return _whole(self.instance_page, query)

    def instance_page(self, query: InstanceQuery) -> Listed[InstanceView]:
        asked = _bounded(query)
        return self._reader.survey(
            lambda state, rest: known_instances(state, asked, rest)
        )

    def update_instances(self, host: str, instances: Iterable[Instance]) -> None:
        host = scalars.name("host", host)
        said = values.instances(instances)
        self._checks.statement("instances", len(said))
        self._committer.submit(c.UpdateInstances(host, said))

    def delete_instance(self, host: str, instance_uuid: str) -> None:
        host = scalars.name("host", host)
        uuid = scalars.uuid("instance_uuid", instance_uuid)
        self._committer.submit(c.DeleteInstance(host, uuid))

    def sync_instances(self, host: str, instance_uuids: Iterable[str]) -> bool:
        uuids = values.uuids("instance_uuids", instance_uuids)
        self._checks.statement("instances", len(uuids))
        host = scalars.name("host", host)
        return self._committer.submit(c.SyncInstances(host, uuids))

    def update_service(self, service: Service) -> None:
        self._committer.submit(c.UpdateService(values.service(service)))

    def delete_service(self, host: str, binary: str = "nova-compute") -> None:
        host, binary = scalars.name("host", host), scalars.name("binary", binary)
        self._committer.submit(c.DeleteService(host, binary))

    def set_server_group(self, group: ServerGroup) -> None:
        group = values.server_group(group)
        self._checks.statement("members", len(group.members))
        self._committer.submit(c.SetServerGroup(group))

    def delete_server_group(self, uuid: str) -> None:
        for each in spellings(scalars.name("group", uuid)):
            self._committer.submit(c.DeleteServerGroup(each))


def _whole(page: Callable[[Asked], Listed[T]], query: Asked) -> tuple[T, ...]:
    """Reads page by page, as many as the query asks for."""

    def part(after: str, most: int) -> Listed[T]:
        return page(replace(query, limit=most, after=after or query.after))

    return followed(part, query.limit)


def _bounded(query: Asked) -> Asked:
    return replace(query, limit=length(query.limit))


def warn_of_metadata(aggregates: Iterable[HostAggregate]) -> None:
    """Log which of their metadata are meant for filters and cannot be used."""
    for one in aggregates:
        if keys := overrides.unread(one.metadata):
            LOG.warning(
                "aggregate %s (%s): %s of its metadata is not a usable number and is "
                "ignored",
                one.uuid,
                one.name,
                ", ".join(keys),
            )
