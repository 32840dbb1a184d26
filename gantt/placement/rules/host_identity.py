"""Which provider a reporting host stands for, and whether it may.

A machine that comes back under another name or uuid is taken over only on request
(``takeovers``): a report that would do it by the way is refused, and names the command.
The feed of Nova's own database may (``takes_uuid``): it has one row for each node, and
what was promised on the node goes with it.
"""

from __future__ import annotations

import shlex

from msgspec.structs import replace

from gantt.errors import Conflict, DuplicateName, Invalid
from gantt.model import rows as t
from gantt.model.commands import CreateProvider, UpdateHost
from gantt.model.names import MAX_PROVIDER_NAME, canonical
from gantt.model.rows import HostRow, ProviderRow
from gantt.placement.rules import providers, report_news, reported_inventories
from gantt.placement.rules.draft import Draft
from gantt.state.state import State


def provider(
    draft: Draft, command: UpdateHost, old: HostRow | None, reported: str | None
) -> ProviderRow:
    """stats.uuid's provider, else the one that the host has, else the one with the
    node's name, else a new one. Raises Conflict, DuplicateName."""
    table = draft.state.providers
    uuid = _uuid(old, reported)
    if old is not None and old.uuid not in (None, uuid):
        _check_former(draft, command, old, uuid)
    found = None if uuid is None else table.find(uuid)
    namesake = None
    if found is None:
        row = table.row_of_name(command.node)
        namesake = None if row is None else table.at(row)
        if namesake is not None and reported:
            raise DuplicateName(
                f"Host {command.host} reports the uuid {reported}, which no "
                f"resource provider has, for its node {command.node}, but a "
                f"provider of that name has the uuid {namesake.uuid}. Report "
                "that uuid, or rename or delete that provider."
            )
    found = found or namesake
    if found is not None:
        _check_owner(draft, command, found.uuid)
        return found
    check_node(command.node)
    made = uuid or command.new_provider_uuid
    return providers.create_row(draft, CreateProvider(made, command.node))


def _uuid(old: HostRow | None, reported: str | None) -> str | None:
    """What is reported; as the host has it, where that was spelled otherwise before
    uuids had one form."""
    known = None if old is None else old.uuid
    if reported is None or (known is not None and canonical(known) == reported):
        return known
    return reported


def check_node(node: str) -> None:
    """Raises Invalid: a node's name is that of its provider."""
    if len(node) > MAX_PROVIDER_NAME:
        raise Invalid(
            f"node has {len(node)} characters; the limit is {MAX_PROVIDER_NAME}: its "
            "resource provider bears the name. Shorten it."
        )


def uuid_elsewhere(
    draft: Draft, command: UpdateHost, old: HostRow | None, reported: str | None
) -> str | None:
    """The uuid of the host's provider where reports do not write the books; None: it is
    not told. Raises Conflict: what is promised on a host would stay with its old name,
    and be promised again under the new one."""
    uuid = _uuid(old, reported)
    if uuid is not None:
        _check_owner(draft, command, uuid)
    return uuid


def left_by(state: State, command: UpdateHost, uuid: str | None) -> int | None:
    """The id of another host that this report takes the provider from, with what was
    promised there; None: of none."""
    table = state.fleet.hosts
    row = None if uuid is None else table.row_of_uuid(uuid)
    if row is None or (table.hosts[row], table.nodes[row]) == (
        command.host,
        command.node,
    ):
        return None
    return int(table.id[row])


def move_claims(draft: Draft, host_id: int, new_host_id: int) -> None:
    """All claims on a host are on another one from now on, in the order of their ids:
    what they promise of cells is replayed in it."""
    claims = draft.state.fleet.claims
    mine = [claims.by_instance[uuid] for uuid in claims.on(host_id)]
    for row in sorted(mine, key=lambda one: one.id):
        draft.delete(t.BOOKINGS, row)
        key = draft.new_id(t.BOOKINGS)
        moved = replace(row, id=key, host_id=new_host_id, updated_at=draft.now)
        draft.change(t.BOOKINGS, None, moved)


def _check_owner(draft: Draft, command: UpdateHost, uuid: str) -> None:
    table = draft.state.fleet.hosts
    row = table.row_of_uuid(uuid)
    if row is None:
        return
    owner = table.hosts[row], table.nodes[row]
    if owner != (command.host, command.node):
        if command.takes_uuid:
            _lose_uuid(draft, row)
            return
        raise Conflict(
            f"Host {command.host} reports for its node {command.node} the "
            f"resource provider {uuid}, which belongs to host {owner[0]}, "
            f"node {owner[1]}. If that is the same machine under another name, run "
            f"'{_adopting(owner[0], command.host)}'; else delete that host first, or "
            "report another uuid."
        )


def _check_former(
    draft: Draft, command: UpdateHost, old: HostRow, uuid: str | None
) -> None:
    """A host that reports another provider than it has keeps nothing of that one, and
    would have both. Raises Conflict."""
    former = None if old.uuid is None else draft.state.providers.find(old.uuid)
    if former is None:
        return
    row = draft.state.providers.row_by_id[former.id]
    if any(True for _ in draft.state.inventories.classes_of(row)):
        raise Conflict(
            f"Host {command.host} reports the uuid {uuid} for its node {command.node}, "
            f"which has the resource provider {former.uuid}. If it is the same machine "
            f"under another uuid, run '{_adopting(command.host)} --uuid {uuid}'; else "
            "report the uuid that it has, or delete the host and that provider."
        )


def _adopting(*hosts: str) -> str:
    """The command to type, whatever the names have in them."""
    return f"gantt host adopt {shlex.join(hosts)}"


def _lose_uuid(draft: Draft, row: int) -> None:
    """The provider has moved to another host: this one stays, and has none."""
    table = draft.state.fleet.hosts
    known = table.at(row)
    stats = {**table.stats[row], "uuid": None}
    stats.pop(reported_inventories.OWNED, None)
    text = report_news.text_of(known.host, known.node, stats)
    new = replace(known, uuid=None, stats=text, updated_at=draft.now)
    draft.change(t.HOSTS, known, new)
