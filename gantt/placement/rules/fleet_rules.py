"""Rules for what else is said of hosts: aggregates, instances, services, groups.

Each takes a statement as it comes and writes what it says that was not known.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from gantt.errors import Conflict, Invalid, NotFound
from gantt.model import rows as t
from gantt.model.bounds import MAX_NAME
from gantt.model.commands import (
    DeleteHostAggregate,
    DeleteInstance,
    DeleteServerGroup,
    DeleteService,
    LabelHost,
    RelateGroup,
    SetArtifact,
    SetHostAggregates,
    SetServerGroup,
    SyncInstances,
    UpdateInstances,
    UpdateService,
)
from gantt.model.facts import SERVICES_ALONE, kind_of
from gantt.model.fleet import ARTIFACTS, CELL, DEMAND, LABELS, RELATIONS
from gantt.model.hosts import HostAggregate, Service
from gantt.model.names import MAX_INT, spellings
from gantt.model.relations import HostLabels
from gantt.model.rows import (
    HostAggregateRow,
    ProviderRow,
    ServerGroupRow,
    ServiceRow,
)
from gantt.placement.rules import cell_lists, instances, labels, leases, services
from gantt.placement.rules.draft import Draft
from gantt.state.column import NO_ROW

_MAX_TIME = 2**62


def set_aggregates(draft: Draft, command: SetHostAggregates) -> None:
    """Each aggregate as it is from now on, the last one of a uuid; providers of hosts
    that joined or left follow. Raises Conflict (a number is another's), Invalid."""
    said = {one.uuid: one for one in command.aggregates}.values()
    owners: dict[int, str] = {}
    for one in said:
        if one.id is not None and owners.setdefault(one.id, one.uuid) != one.uuid:
            raise Conflict(
                "Two aggregates were given the same id, but ids must be "
                f"unique: {owners[one.id]} has {one.id}, and {one.uuid} has "
                f"{one.id}."
            )
    for aggregate in said:
        _set_aggregate(draft, aggregate, writes_books=command.writes_books)


def delete_aggregate(draft: Draft, command: DeleteHostAggregate) -> None:
    """Not known is no error. Raises Invalid when neither name of it is given."""
    table = draft.state.fleet.aggregates
    if command.uuid is not None:
        row = table.by_uuid.get(command.uuid)
    elif command.number is not None:
        row = table.by_number.get(command.number)
    else:
        raise Invalid("Name the aggregate to delete by its uuid or by its id.")
    if row is not None:
        if command.writes_books:
            _move(draft, row.uuid, joined=(), left=table.hosts[row.uuid])
        draft.delete(t.HOST_AGGREGATES, row)


def update_instances(draft: Draft, command: UpdateInstances) -> None:
    """The host names these, among others; their claims on it are no longer pending."""
    for instance in {one.uuid: one for one in command.instances}.values():
        facts: Mapping[str, Any] = instance.facts
        if command.keeps_facts:
            old = draft.state.fleet.instances.by_uuid.get(instance.uuid)
            facts = instances.told(old, facts)
        instances.put(draft, command.host, instance.uuid, facts)
        leases.named(draft, command.host, instance.uuid, instance.saved_at)


def delete_instance(draft: Draft, command: DeleteInstance) -> None:
    """It is not on the host any more, nor promised it; on another it stays."""
    uuid = command.instance_uuid
    row = draft.state.fleet.instances.on(command.host).get(uuid)
    if row is not None:
        draft.delete(t.INSTANCES, row)
        cell_lists.missed(draft, command.host, (uuid,))
    claim = leases.promised(draft.state, command.host, uuid)
    if claim is not None:
        leases.end(draft, claim)
    hosts = draft.state.fleet.hosts
    for place in hosts.rows_of(command.host):
        leases.gone(draft, uuid, int(hosts.id[place]))


def sync_instances(draft: Draft, command: SyncInstances) -> bool:
    """The host has exactly these; whether that was known."""
    known = draft.state.fleet.instances.on(command.host)
    named = dict.fromkeys(command.instance_uuids)
    gone = [row for uuid, row in known.items() if uuid not in named]
    for row in gone:
        draft.delete(t.INSTANCES, row)
    if gone:
        cell_lists.missed(draft, command.host, [row.uuid for row in gone])
    claims = draft.state.fleet.claims.by_instance
    for uuid in named:
        # Of most nothing is new: a list may have very many.
        if uuid not in known or uuid in claims:
            instances.put(draft, command.host, uuid, None)
            leases.named(draft, command.host, uuid)
    return known.keys() == named.keys()


def update_service(draft: Draft, command: UpdateService) -> None:
    """What is UNSET stays as it is known."""
    said = command.service
    _check_no_demand(said.binary)
    old = draft.state.fleet.told(said.host, said.binary)
    is_fact = kind_of(said.host, said.binary) is not None
    told: dict[str, Any] = {
        name: value
        for name in said.__struct_fields__
        if (value := getattr(said, name)) is not UNSET
        and not (is_fact and name in SERVICES_ALONE)
    }
    seen = told.get("last_seen_up")
    if seen is not None and not -_MAX_TIME <= seen <= _MAX_TIME:
        raise Invalid(
            f"last_seen_up of {said.binary} on {said.host} must be a time "
            f"in microseconds since 1970; got {seen}."
        )
    if old is None:
        old = ServiceRow(
            id=services.new_id(draft),
            host=said.host,
            binary=said.binary,
            disabled=False,
            forced_down=False,
            last_seen_up=None,
            availability_zone=None,
            cell_uuid=None,
            version=None,
            created_at=draft.now,
            updated_at=None,
        )
        services.put(draft, replace(old, **told))
    elif replace(old, **told) != old:
        new = replace(old, **told)
        if said.binary == CELL:
            services.put(draft, cell_lists.dated(old, new, draft.now))
        else:
            services.put(draft, replace(new, updated_at=draft.now))


def _check_no_demand(binary: str) -> None:
    """Raises Invalid."""
    if binary == DEMAND:
        raise Invalid(
            f"{DEMAND} is no service: demands wait by POST /gantt/place, and end by "
            "'gantt demand cancel'."
        )


def delete_service(draft: Draft, command: DeleteService) -> None:
    """Not known is no error."""
    host = command.host
    _check_no_demand(command.binary)
    for name in spellings(host) if command.binary == CELL else (host,):
        row = draft.state.fleet.told(name, command.binary)
        if row is not None:
            services.delete(draft, row)


def set_group(draft: Draft, command: SetServerGroup) -> None:
    """The group as it is from now on. Raises Invalid."""
    said = command.group
    if not 1 <= said.max_server_per_host <= MAX_INT:
        raise Invalid(
            f"max_server_per_host of server group {said.uuid} must be from 1 to "
            f"{MAX_INT}; got {said.max_server_per_host}."
        )
    old = draft.state.fleet.groups.by_uuid.get(said.uuid)
    row = ServerGroupRow(
        draft.new_id(t.SERVER_GROUPS) if old is None else old.id,
        said.uuid,
        said.name,
        said.policy,
        said.max_server_per_host,
        _text(sorted(said.members)),
        draft.now if old is None else old.created_at,
        None if old is None else draft.now,
    )
    if old is None or replace(row, updated_at=old.updated_at) != old:
        draft.put(t.SERVER_GROUPS, row)


def delete_group(draft: Draft, command: DeleteServerGroup) -> None:
    """Not known is no error."""
    row = draft.state.fleet.groups.by_uuid.get(command.uuid)
    if row is not None:
        draft.delete(t.SERVER_GROUPS, row)
    delete_service(draft, DeleteService(command.uuid, RELATIONS))


def label_host(draft: Draft, command: LabelHost) -> HostLabels:
    """Labels beside those that it has; None takes one away. Raises NotFound, Invalid
    (they are too long together)."""
    fleet, host = draft.state.fleet, command.host
    if not fleet.hosts.rows_of(host):
        raise NotFound(f"There is no host {host}: 'gantt host list' shows all.")
    every = {**fleet.facts.labels.get(host, {}), **command.labels}
    labels = {key: value for key, value in sorted(every.items()) if value is not None}
    words = " ".join(f"{key}={value}" for key, value in labels.items())
    _say(draft, Service(host, LABELS, disabled_reason=words))
    return HostLabels(host, labels)


def relate_group(draft: Draft, command: RelateGroup) -> None:
    """How its members are spread from now on; "": as its policy says. Raises Invalid
    (that is too long)."""
    said = Service(command.uuid, RELATIONS, disabled_reason=command.relations)
    _say(draft, said)


def set_artifact(draft: Draft, command: SetArtifact) -> None:
    """It may be required from now on, or no more; what hosts say that they hold stays
    known. Raises Invalid (there are too many), NotFound."""
    known = draft.state.fleet.facts.artifacts
    is_new, size = command.name not in known, command.size
    if is_new and size is None:
        raise NotFound(
            f"No artifact {command.name!r} is registered: 'gantt artifact list' lists "
            "them."
        )
    if is_new and len(known) >= command.most:
        raise Invalid(
            f"{len(known)} artifacts are registered, and {command.most} is the limit "
            "(max_artifacts of [scheduler]): remove some, or raise it."
        )
    text = None if size is None else str(size)
    _say(draft, Service(command.name, ARTIFACTS, disabled_reason=text))


def _say(draft: Draft, said: Service) -> None:
    """A fact that is a text; an empty one is deleted."""
    text = said.disabled_reason or ""
    if len(text) > MAX_NAME:
        raise Invalid(
            f"What is told of {said.host} has {len(text)} letters ({text[:80]}…); the "
            f"limit is {MAX_NAME}. Shorten it."
        )
    if text:
        update_service(draft, UpdateService(said))
    else:
        delete_service(draft, DeleteService(said.host, said.binary))


def _set_aggregate(draft: Draft, said: HostAggregate, *, writes_books: bool) -> None:
    table = draft.state.fleet.aggregates
    if said.id is not None:
        namesake = table.by_number.get(said.id)
        if namesake is not None and namesake.uuid != said.uuid:
            raise Conflict(
                f"Aggregate {said.uuid} was given the id {said.id}, which "
                f"belongs to aggregate {namesake.uuid}. Delete that one first."
            )
    old = table.by_uuid.get(said.uuid)
    row = HostAggregateRow(
        draft.new_id(t.HOST_AGGREGATES) if old is None else old.id,
        said.uuid,
        said.name,
        said.id,
        _text(sorted(said.hosts)),
        _text(said.metadata),
        draft.now if old is None else old.created_at,
        None if old is None else draft.now,
    )
    if old is not None and replace(row, updated_at=old.updated_at) == old:
        return
    draft.put(t.HOST_AGGREGATES, row)
    before = table.hosts.get(said.uuid, frozenset())
    if writes_books:
        _move(draft, said.uuid, joined=said.hosts - before, left=before - said.hosts)


def _move(
    draft: Draft, aggregate: str, *, joined: Iterable[str], left: Iterable[str]
) -> None:
    for host in sorted(joined):
        for provider in _providers_of(draft, host):
            labels.join(draft, provider, aggregate)
    for host in sorted(left):
        for provider in _providers_of(draft, host):
            labels.leave(draft, provider, aggregate)


def _providers_of(draft: Draft, host: str) -> list[ProviderRow]:
    table = draft.state.fleet.hosts
    rows = (int(table.provider[row]) for row in table.rows_of(host))
    return [draft.state.providers.at(row) for row in rows if row != NO_ROW]


def _text(value: Any) -> str:
    """``value`` as the books keep it. Raises Invalid."""
    try:
        return msgspec.json.encode(value, order="sorted").decode()
    except (TypeError, ValueError, OverflowError) as error:
        raise Invalid(f"This is not JSON and cannot be stored: {error}.") from error
