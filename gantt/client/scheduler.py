"""The client for callers of a scheduler: Nova's methods and forms, on any Gantt.

Separate from the protocols, which use only values: here requests, reports and contexts
arrive in the caller's form and are converted to those values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any, Literal, Self, cast, overload

from msgspec import Struct

from gantt import errors
from gantt.model.addresses import without_secrets
from gantt.model.bounds import MAX_NAME, MAX_TEXT
from gantt.model.forms import fleet, scalars
from gantt.model.forms.spec import read_spec
from gantt.model.forms.stats import read_stats
from gantt.model.hosts import HostView
from gantt.model.scheduling import SchedulerProtocol
from gantt.model.selection import Capacity, Decision, Selection
from gantt.model.spec import Flavor, RequestSpec, ScheduleRequest


class SchedulerClient:
    """Selects hosts with a Gantt, and reports to it what that needs.

    ``place``: a URL (``memory://``, an SQLAlchemy URL, ``http://host:8778`` with
    ``token``), opened here and closed with ``close``; or a Gantt, which stays the
    caller's. ``create``: make the file and the tables of a database if they are
    missing. ``context`` is None (the administrator), a mapping, or an object with
    ``user_id``, ``project_id``, ``roles`` and ``request_id``. Every method raises
    Invalid, which names the field, and Unavailable.
    """

    def __init__(
        self,
        place: str | SchedulerProtocol,
        *,
        token: str | None = None,
        create: bool = False,
    ) -> None:
        self._owned = None
        if isinstance(place, str):
            self._owned = _opened(place, token, create=create)
        found = place if self._owned is None else self._owned
        self.gantt = cast(SchedulerProtocol, found)

    def close(self) -> None:
        """Close what was opened here."""
        if self._owned is not None:
            self._owned.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # -- selecting -------------------------------------------------------------------

    @overload
    def select_destinations(
        self,
        context: Any,
        request_spec: Any,
        filter_properties: Mapping[str, Any] | None = None,
        *,
        instance_uuids: Iterable[str] | None = None,
        return_alternates: bool = True,
        dry_run: Literal[False] = False,
        lease: float | None = None,
    ) -> list[list[Selection]]: ...

    @overload
    def select_destinations(
        self,
        context: Any,
        request_spec: Any,
        filter_properties: Mapping[str, Any] | None = None,
        *,
        instance_uuids: Iterable[str] | None = None,
        return_alternates: bool = True,
        dry_run: Literal[True],
        lease: float | None = None,
    ) -> Decision: ...

    def select_destinations(
        self,
        context: Any,
        request_spec: Any,
        filter_properties: Mapping[str, Any] | None = None,
        *,
        instance_uuids: Iterable[str] | None = None,
        return_alternates: bool = True,
        dry_run: bool = False,
        lease: float | None = None,
    ) -> list[list[Selection]] | Decision:
        """Per instance, in order, its host and then its alternates; all are claimed,
        or none. Raises NoValidHost, with ``why``.

        ``request_spec``: a RequestSpec, a mapping of its fields, Nova's object or its
        primitive, or the old dict with its ``filter_properties``. ``instance_uuids``
        None: hosts are only named. ``lease``: seconds after which the claim ends
        unless it is confirmed. ``dry_run``: the whole Decision, and no claim.
        """
        caller = _read_context(context)
        request = ScheduleRequest(
            spec=read_spec(request_spec, filter_properties),
            instance_uuids=_uuids(instance_uuids),
            return_alternates=return_alternates,
            dry_run=dry_run,
            lease_s=_lease(lease),
            request_id=caller.request_id,
            user_id=caller.user_id,
            project_id=caller.project_id,
        )
        if dry_run:
            return self.gantt.decide(request)
        return [list(hosts) for hosts in self.gantt.schedule(request)]

    def confirm(self, claim: str | Selection) -> None:
        """The claim stays, its lease ends. Raises NotFound, ClaimExpired."""
        self.gantt.confirm_claim(_claim(claim))

    def release(self, claim: str | Selection) -> None:
        """Release the claim and everything it holds. Raises NotFound, Conflict."""
        self.gantt.release_claim(_claim(claim))

    def capacity(
        self, request_spec: Any, filter_properties: Mapping[str, Any] | None = None
    ) -> Capacity:
        """How many more fit, where, and what blocks more; also of a Flavor alone."""
        if isinstance(request_spec, Flavor):
            request_spec = RequestSpec(flavor=request_spec)
        return self.gantt.capacity(read_spec(request_spec, filter_properties))

    def explain(
        self, request_id: str | None = None, *, instance_uuid: str | None = None
    ) -> Decision:
        """The latest decision of a request, or about an instance, dry runs included.
        Raises NotFound: none is kept."""
        found = self.gantt.decisions(
            request_id=request_id, instance_uuid=instance_uuid, limit=1
        )
        if not found:
            asked = request_id if instance_uuid is None else instance_uuid
            raise errors.NotFound(
                f"There is no record of a decision about {asked!r}: the processes on a "
                "database keep the latest [scheduler] shared_records of them, a "
                "process with memory:// the latest [scheduler] records."
            )
        return found[0]

    # -- reporting ------------------------------------------------------------------

    def update_resource_stats(
        self, context: Any, name: str | tuple[str, str], stats: Any
    ) -> HostView:
        """What a compute node reports: fields of compute_nodes, all or some.

        ``name``: (host, node); or the host alone, whose node is then
        ``hypervisor_hostname`` of the report, else the one that is known of it, else
        of the same name.
        """
        _read_context(context)
        host, node = _host_and_node(name)
        found = read_stats(stats, host=host)
        if node is None:
            reported = found.hypervisor_hostname
            node = reported if isinstance(reported, str) else None
        return self.gantt.update_host(host, node, found)

    def update_aggregates(self, context: Any, aggregates: Any) -> None:
        """Each aggregate, with all of its hosts, as it is from now on."""
        _read_context(context)
        self.gantt.set_host_aggregates(fleet.read_aggregates(aggregates))

    def delete_aggregate(self, context: Any, aggregate: Any) -> None:
        """``aggregate``: the aggregate, its uuid, or its id in Nova."""
        _read_context(context)
        uuid, number = fleet.read_aggregate_key(aggregate)
        self.gantt.delete_host_aggregate(uuid=uuid, number=number)

    def update_instance_info(
        self, context: Any, host_name: str, instance_info: Any
    ) -> None:
        """The host has these instances, among others."""
        _read_context(context)
        instances = fleet.read_instances(instance_info)
        self.gantt.update_instances(_host(host_name), instances)

    def delete_instance_info(
        self, context: Any, host_name: str, instance_uuid: str
    ) -> None:
        """Delete the instance from the host."""
        _read_context(context)
        uuid = scalars.uuid("instance_uuid", instance_uuid)
        self.gantt.delete_instance(_host(host_name), uuid)

    def sync_instance_info(
        self, context: Any, host_name: str, instance_uuids: Iterable[str]
    ) -> bool:
        """The host has exactly these instances; whether that was known."""
        _read_context(context)
        uuids = fleet.read_uuids("instance_uuids", _listed(instance_uuids))
        return self.gantt.sync_instances(_host(host_name), uuids)

    def update_service(self, context: Any, service: Any) -> None:
        """What is known of a service: host, binary, disabled, forced_down,
        last_seen_up, availability_zone, cell_uuid; all or some."""
        _read_context(context)
        self.gantt.update_service(fleet.read_service(service))

    def update_server_group(self, context: Any, group: Any) -> None:
        """The group as it is from now on."""
        _read_context(context)
        self.gantt.set_server_group(fleet.read_server_group(group))

    def delete_server_group(self, context: Any, group: Any) -> None:
        """``group``: the group, or its uuid."""
        _read_context(context)
        self.gantt.delete_server_group(fleet.read_group_uuid(group))


class _Caller(Struct, frozen=True):
    """``request_id`` "": the caller has none."""

    user_id: str | None = None
    project_id: str | None = None
    roles: tuple[str, ...] = ()
    request_id: str = ""


_ADMIN = _Caller(roles=("admin",))


def _read_context(context: Any) -> _Caller:
    """None (the administrator), a mapping, or an object with ``user_id``,
    ``project_id``, ``roles`` and ``request_id``. Raises Invalid, naming the field."""
    if context is None:
        return _ADMIN
    roles = _attribute(context, "roles")
    return _Caller(
        user_id=_context_text(context, "user_id"),
        project_id=_context_text(context, "project_id"),
        roles=()
        if roles is None
        else tuple(
            scalars.text("context.roles", role)
            for role in scalars.items("context.roles", roles)
        ),
        request_id=_context_text(context, "request_id", MAX_NAME) or "",
    )


def _attribute(context: Any, name: str) -> Any:
    if isinstance(context, Mapping):
        return context.get(name)
    return getattr(context, name, None)


def _context_text(context: Any, name: str, longest: int = MAX_TEXT) -> str | None:
    value = _attribute(context, name)
    return None if value is None else scalars.text(f"context.{name}", value, longest)


def _opened(url: str, token: str | None, *, create: bool) -> Any:
    if url.startswith(("http://", "https://")):
        from gantt.client.remote import RemoteGantt

        return RemoteGantt(url, token=token or "admin")
    # Loads numpy and SQLAlchemy, which a client over HTTP does not need.
    by = f"A Gantt at {without_secrets(url)}"
    with errors.needed_wheel("gantt-scheduler", by=by):
        from gantt.engine.factory import open_gantt
        from gantt.engine.options import EngineOptions
        from gantt.store.interface import StoreOptions
    return open_gantt(url, EngineOptions(store=StoreOptions(create=create)))


def _uuids(uuids: Iterable[str] | None) -> tuple[str, ...] | None:
    if uuids is None:
        return None
    found = fleet.read_uuids("instance_uuids", _listed(uuids))
    if not found:
        raise errors.Invalid(
            "instance_uuids is empty: name the instances, or give None to have hosts "
            "named without a claim."
        )
    if len(set(found)) < len(found):
        twice = next(uuid for uuid, times in Counter(found).items() if times > 1)
        raise errors.Invalid(f"instance_uuids names {twice!r} more than once.")
    return found


def _listed(values: Any) -> Any:
    """Iterables other than text as lists; anything else unchanged."""
    if isinstance(values, list):
        return values
    is_list = isinstance(values, Iterable) and not isinstance(values, str | Mapping)
    return list(values) if is_list else values


def _lease(lease: Any) -> float | None:
    return None if lease is None else scalars.seconds("lease", lease)


def _claim(claim: str | Selection) -> str:
    if not isinstance(claim, Selection):
        return scalars.name("claim", claim)
    if claim.claim is None:
        raise errors.Invalid(
            f"The selection of {claim.service_host!r} holds no claim: it is an "
            "alternate, or nothing was claimed."
        )
    return claim.claim


def _host(name: Any) -> str:
    return scalars.name("host_name", name)


def _host_and_node(name: Any) -> tuple[str, str | None]:
    if isinstance(name, str):
        return scalars.name("name", name), None
    if isinstance(name, list | tuple) and len(name) == 2:
        return scalars.name("name", name[0]), scalars.name("name", name[1])
    raise scalars.refusal("name", "a host, or (host, node)", name)
