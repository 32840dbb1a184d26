"""What consumers claimed after a given time, and the hosts of what they claimed.

Beside the queries because a shadow asks it: Nova claims while Gantt decides on the same
request, which must not see that claim.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from gantt.state.column import NO_ROW
from gantt.state.state import State
from gantt.state.supposition import ClaimedRow

_SECOND = 1_000_000  # some databases store times as whole seconds


class ClaimedHost(Struct, frozen=True):
    """A host that a consumer has allocations on, or that names it: ``host`` and
    ``node``, or the name of a provider that stands for no host (``is_known`` False).
    ``at``: when, in microseconds; None: unknown."""

    host: str
    node: str
    is_known: bool
    at: int | None
    learnt_from: str = "allocations"


def claimed(state: State, uuid: str, since: int = 0) -> list[ClaimedHost]:
    """Where ``uuid`` has allocations made since then, or is named since then and no
    allocations are written. Hosts first, providers that stand for none last."""
    found = {
        one.host: one
        for one in (
            claimed_on(state, int(state.allocations.provider[row]), made)
            for row, made in _allocations(state, uuid)
            if is_since(made, since)
        )
    }
    known = state.fleet.instances.by_uuid.get(uuid)
    if known is not None and known.host not in found:
        at = known.updated_at or known.created_at
        rows = state.fleet.hosts.rows_of(known.host)
        if is_since(at, since) and not (since and _are_written(state, rows)):
            node = state.fleet.hosts.nodes[rows[0]] if len(rows) == 1 else ""
            found[known.host] = ClaimedHost(
                known.host, node, bool(rows), at, "instances"
            )
    return sorted(found.values(), key=lambda one: not one.is_known)


def claimed_on(state: State, provider: int, at: int | None) -> ClaimedHost:
    """The host that a row of ``state.providers`` belongs to."""
    root = int(state.providers.root[provider])
    hosts = state.fleet.hosts
    for each in (root, provider):
        for row in hosts.rows_by_provider.get(each, ()):
            return ClaimedHost(hosts.hosts[row], hosts.nodes[row], True, at)
    name = state.providers.names[root]
    return ClaimedHost(name, name, False, at)


def rows_since(state: State, uuids: Iterable[str], at: int) -> tuple[ClaimedRow, ...]:
    """All that these consumers claimed since ``at``, as ``state.supposition.without``
    takes it."""
    found: list[ClaimedRow] = []
    for uuid in uuids:
        hosts = {one.host for one in claimed(state, uuid, at) if one.is_known}
        found += [
            state.allocation_at(row)
            for row, made in _allocations(state, uuid)
            if is_since(made, at)
        ]
        named = state.fleet.instances.by_uuid.get(uuid)
        # One that was on the host before is no news of this claim.
        if named and named.host in hosts and is_since(named.created_at, at):
            found.append(named)
        claim = state.fleet.claims.by_instance.get(uuid)
        if claim is not None and is_since(claim.created_at, at):
            found.append(claim)
    return tuple(found)


def is_since(made: int | None, at: int) -> bool:
    """Whether what was made then is as late as ``at``; unknown times are not."""
    return made is not None and made >= at - at % _SECOND


def _are_written(state: State, rows: Iterable[int]) -> bool:
    """Whether the books have what runs on the hosts at ``rows``: then an instance has
    allocations before it is named, and that a row which names it was touched, as when a
    migration takes over what it has, is no news."""
    hosts, providers, table = state.fleet.hosts, state.providers, state.allocations
    places = [int(hosts.provider[row]) for row in rows]
    return any(
        True
        for place in places
        if place != NO_ROW
        for one in providers.tree(place)
        for _ in table.by_provider.rows_of(one)
    )


def _allocations(state: State, uuid: str) -> Iterator[tuple[int, int | None]]:
    """Rows of ``state.allocations``, and when each was made or changed."""
    table = state.allocations
    consumer = state.consumers.row_by_uuid.get(uuid)
    if consumer is not None:
        for row in list(table.by_consumer.rows_of(consumer)):
            created_at, updated_at = table.dates(row)
            yield row, updated_at or created_at
