"""Rules for the end of claims: confirmed, released, expired, or overtaken.

A claim ends without touching the books when its host names the instance (one on cells
or devices: when a later report counts it), or when allocations show that it went; cells
and devices stay promised if it only moves. A claim ends *with* its allocations when it
is released, its lease expires, or its host goes while it is leased; then only at the
consumer's generation that the claim made, and only what the claim added (``claims``).
What a remote Placement keeps is given back there, and then the claim is dropped.

Confirming a claim that holds nothing raises ClaimExpired, never NotFound: nothing is
kept of a claim that ended, so the two cannot be told apart.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from itertools import islice
from typing import Final
from uuid import NAMESPACE_OID, uuid5

from msgspec.structs import replace

from gantt.errors import ClaimExpired, Conflict, NotFound
from gantt.model import rows as t
from gantt.model.commands import (
    ConfirmClaim,
    DropClaim,
    ExpireClaims,
    ReleaseClaim,
    SettleClaims,
)
from gantt.model.names import spellings
from gantt.model.rows import AllocationRow, BookingRow, ConsumerRow
from gantt.placement.fleet_queries import is_arrival, is_changed, is_read_from_nova
from gantt.placement.rules import booked_names, counted_claims, demands
from gantt.placement.rules.draft import Draft
from gantt.state.column import NO_ROW
from gantt.state.state import State
from gantt.topology.promised_topology import from_text, to_text

_MOST_NAMED: Final = 5
NONE_WRITTEN: Final[Mapping[str, Iterable[str]]] = {}


def confirm(draft: Draft, command: ConfirmClaim) -> None:
    """The lease ends and the claim stays, also past its time: a lease is over when it
    was swept, not before. One without a lease is not starting any more. Raises
    ClaimExpired."""
    rows = [row for row in _lasting(draft, command.claim) if row.held_by is None]
    if not rows:
        raise ClaimExpired(
            f"Claim {command.claim} holds nothing: its lease expired and "
            "it was cleaned up, it was released, its hosts have reported "
            "all of its instances, or the claim never existed. Check the "
            "allocations of its instances, or select destinations again."
        )
    for row in rows:
        if command.leased_for_us is None or row.counted_at is not None:
            unlease(draft, row)
            if row.leased_until is None and row.is_starting:
                draft.put(t.BOOKINGS, replace(row, updated_at=draft.now))
        else:
            until = draft.clock + command.leased_for_us
            draft.put(
                t.BOOKINGS, replace(row, leased_until=until, updated_at=draft.now)
            )


def release(draft: Draft, command: ReleaseClaim) -> None:
    """Leased or confirmed, the claim ends with what it holds. Raises NotFound;
    Conflict: some of that was changed, and is not the claim's any more."""
    only = command.instance_uuids
    rows = _lasting(draft, command.claim)
    if only is not None:
        rows = [row for row in rows if row.instance_uuid in only]
    if not rows and not command.placed:
        raise NotFound(
            f"Claim {command.claim} holds nothing: it was released or its "
            "lease expired, its hosts have reported all of its "
            "instances, or the claim never existed. There is nothing to "
            "release."
        )
    if not command.placed:
        _check_whole(draft.state, rows)
        _check_own(draft.state, rows)
    for row in rows:
        give_back(draft, row)
    there = {row.instance_uuid for row in rows}
    for uuid, generation in command.placed:
        if uuid not in there and generation is not None:
            _take_back(draft, uuid, generation)
    if command.placed:
        booked_names.forget_plan(draft, command.claim)
        demands.wait_on(draft, command.claim)


def _check_whole(state: State, rows: Iterable[BookingRow]) -> None:
    """Raises Conflict, which names what would stay."""
    changed = [row for row in rows if is_changed(state, row)]
    if not changed:
        return
    stays = [allocations_of(state, row.instance_uuid) for row in changed[:_MOST_NAMED]]
    words = "; ".join(
        f"{row.instance_uuid} has {_words(state, held)}"
        for row, held in zip(changed, stays, strict=False)
    )
    raise Conflict(
        f"Claim {changed[0].claim} cannot be released: the allocations of "
        f"{len(changed)} of its instances were changed by another writer since, and "
        f"would stay ({words}). Nothing was released. Delete the allocations of these "
        "instances, which ends their part of the claim; then release what is left."
    )


def _check_own(state: State, rows: Iterable[BookingRow]) -> None:
    """Raises Conflict for a claim that made no allocations and has none to free."""
    for row in rows:
        if is_arrival(row):
            held = _words(state, allocations_of(state, row.instance_uuid))
            raise Conflict(
                f"Claim {row.claim} cannot be released: no request here made it. "
                "Another program wrote the allocations of instance "
                f"{row.instance_uuid} through Placement's API ({held}), and is to "
                "free them; the claim only counts it until its host names it. Nothing "
                "was released. If the instance does not run, delete its allocations, "
                "which ends the claim."
            )


def _words(state: State, held: Iterable[AllocationRow]) -> str:
    parts = []
    for row in held:
        provider = state.providers.get(row.resource_provider_id)
        assert provider is not None, "it has allocations"
        place = state.classes.index_by_id[row.resource_class_id]
        parts.append(f"{row.used} {state.classes.at(place).name} on {provider.name}")
    return ", ".join(parts)


def settle(draft: Draft, command: SettleClaims) -> tuple[BookingRow, ...]:
    """Those that were not handed out in the last ``for_us``."""
    found = [
        row
        for row in draft.state.fleet.claims.over()
        if command.claim in (None, row.claim)
        and is_unsettled(row, draft.clock, command.for_us)
    ][: command.limit]
    for row in found:
        draft.put(t.BOOKINGS, replace(row, updated_at=draft.clock))
    return tuple(found)


def is_unsettled(row: BookingRow, clock: int, for_us: int) -> bool:
    """Whether the claim, which is over, was not handed out in the last ``for_us``. A
    time in the future, after a clock was set back, does not count."""
    handed = row.updated_at
    return handed is None or not clock - for_us < handed <= clock


def drop(draft: Draft, command: DropClaim) -> None:
    """What of the claim is not confirmed is forgotten."""
    only = command.instance_uuids
    for row in draft.state.fleet.claims.of(command.claim):
        is_meant = only is None or row.instance_uuid in only
        if is_meant and row.remote is not None and row.leased_until is not None:
            counted_claims.remove(draft, row)


def _lasting(draft: Draft, claim: str) -> list[BookingRow]:
    """The rows of a claim that have not ended."""
    return [row for row in draft.state.fleet.claims.of(claim) if not row.is_over]


def expire(draft: Draft, command: ExpireClaims) -> int:
    """Whatever is leased no longer than until ``grace_us`` ago; how many claims. One
    whose allocations were changed cannot be given back: it stays, and the audit finds
    it. A plan of which nothing lives is known a while longer, from when that is first
    seen."""
    claims = draft.state.fleet.claims
    _expire_plans(draft, command)
    until = draft.clock - command.grace_us
    found = claims.expired(until, command.limit)
    ended = set()
    for claim in found:
        for row in claims.of(claim):
            if row.leased_until is None or row.leased_until > until:
                continue
            if _end_lease(draft, row):
                ended.add(claim)
    return len(ended)


def _expire_plans(draft: Draft, command: ExpireClaims) -> None:
    due = draft.state.fleet.claims.due_plans(draft.clock)
    for row in islice(due, command.limit):
        if row.ends_at is None:
            until = draft.clock + command.plan_names_us
            draft.put(t.BOOKINGS, replace(row, ends_at=until, updated_at=draft.now))
        else:
            draft.delete(t.BOOKINGS, row)


def _end_lease(draft: Draft, row: BookingRow) -> bool:
    """Whether what the claim holds could be given back."""
    if is_changed(draft.state, row):
        unlease(draft, row)
        return False
    give_back(draft, row)
    return True


def unlease(draft: Draft, row: BookingRow) -> None:
    """The claim does not end by itself any more."""
    row = counted_claims.current(draft, row) or row
    if row.leased_until is not None:
        draft.put(t.BOOKINGS, replace(row, leased_until=None, updated_at=draft.now))


def end(draft: Draft, row: BookingRow) -> None:
    """The instance is gone from its host. Leased, it gives back what it holds; else its
    allocations are its caller's."""
    if row.leased_until is None:
        counted_claims.remove(draft, row)
    else:
        _end_lease(draft, row)


def fail(draft: Draft, host_id: int, provider: str | None) -> None:
    """The host is gone, which had ``provider``. What is leased is released whole,
    because its caller has not launched it yet and may not hold a part; an instance of
    the claim that was launched already keeps what it has. What was confirmed keeps its
    allocations, and is remembered as long as a release would give them back; so are
    cells and devices, whose instances may still run when the host comes back."""
    claims = draft.state.fleet.claims
    promised_here = [claims.by_instance[uuid] for uuid in claims.on(host_id)]
    for row in promised_here:
        if row.leased_until is not None:
            for kin in claims.of(row.claim):
                if kin.leased_until is not None:
                    _end_lease(draft, kin)
        elif not _is_remembered(draft.state, row, provider):
            counted_claims.remove(draft, row)
    for row in promised_here:
        left = counted_claims.current(draft, row)
        if left is not None:
            draft.put(t.BOOKINGS, _homeless(left, provider, draft.now))


def _is_remembered(state: State, row: BookingRow, provider: str | None) -> bool:
    if row.remote is not None or _made(row, state.consumers.find(row.instance_uuid)):
        return True
    return row.topology is not None and provider is not None


def _homeless(row: BookingRow, provider: str | None, now: int) -> BookingRow:
    """The claim without its host."""
    topology = row.topology
    if topology is not None:
        topology = to_text(
            replace(from_text(topology), lost=provider, is_counted=False)
        )
    # When one that is over was handed out last is not touched.
    touched = row.updated_at if row.is_over else now
    return replace(row, host_id=t.NO_HOST, topology=topology, updated_at=touched)


def lost(row: BookingRow) -> str | None:
    """The uuid of the provider of the claim's host, where that was deleted and cells or
    devices of it are promised; None: else."""
    if row.host_id != t.NO_HOST or row.topology is None:
        return None
    return from_text(row.topology).lost


def come_back(draft: Draft, host_id: int, provider: str) -> list[BookingRow]:
    """A host has this provider from now on: what was promised there when a host with it
    was deleted is promised again. Those claims."""
    claims, found = draft.state.fleet.claims, []
    for uuid in claims.on(t.NO_HOST):
        row = claims.by_instance[uuid]
        if row.topology is None or lost(row) != provider:
            continue
        topology = to_text(replace(from_text(row.topology), lost=None))
        touched = row.updated_at if row.is_over else draft.now
        here = replace(row, host_id=host_id, topology=topology, updated_at=touched)
        draft.put(t.BOOKINGS, here)
        found.append(here)
    return found


def named(
    draft: Draft, host: str, instance_uuid: str, saved_at: int | None = None
) -> None:
    """``host`` names the instance: a claim on it is no longer pending, unless it
    promises cells or devices, or the host's report is older: Nova tells by a cast what
    runs, and what that takes with the next reading of its databases. These are counted
    by a report of the host. ``saved_at``: as in Instance."""
    known = promised(draft.state, host, instance_uuid)
    row = None if known is None else counted_claims.current(draft, known)
    if row is not None and not row.is_open and not row.is_running:
        hosts = draft.state.fleet.hosts
        stats = hosts.stats[hosts.row_by_id[row.host_id]]
        is_cast = saved_at is None and is_read_from_nova(stats)
        if row.topology is None and not is_cast:
            booked_names.end(draft, row)
        else:
            counted_claims.name(draft, row, host, saved_at)
    found(draft, instance_uuid)


def found(draft: Draft, instance_uuid: str) -> None:
    """Some host names the instance: a claim on a host that is gone is over, unless the
    instance still has allocations there, of cells or devices."""
    known = draft.state.fleet.claims.by_instance.get(instance_uuid)
    row = None if known is None else counted_claims.current(draft, known)
    if row is None or row.host_id != t.NO_HOST or row.is_open:
        return
    table = draft.state.providers
    uuids = [
        table.at(table.row_by_id[one.resource_provider_id]).uuid
        for one in allocations_of(draft.state, row.instance_uuid)
    ]
    if not _is_there(draft.state, row, uuids):
        counted_claims.remove(draft, row)


def promised(state: State, host: str, instance_uuid: str) -> BookingRow | None:
    """The claim of an instance, if it is on a node of ``host``."""
    row = state.fleet.claims.by_instance.get(instance_uuid)
    if row is None:
        return None
    place = state.fleet.hosts.row_by_id.get(row.host_id)
    return row if place is not None and state.fleet.hosts.hosts[place] == host else None


def overtaken(
    draft: Draft,
    consumer_uuid: str,
    provider_uuids: Collection[str],
    written: Mapping[str, Iterable[str]] = NONE_WRITTEN,
    *,
    goes_on: bool = False,
) -> None:
    """The consumer's allocations were written: they are on these providers now.
    ``written``: the providers of all consumers that were written with it. ``goes_on``:
    its claim goes on with them (``claim_rewrites``).

    That ends the lease; and the claim, unless some are still on the host's tree. Where
    another consumer has them there, the instance moves, and what it uses of cells and
    devices stays promised.
    """
    state = draft.state
    if not provider_uuids:
        _bare(draft, consumer_uuid)
    for left in state.fleet.claims.held_by(consumer_uuid):
        if not _is_there(state, left, provider_uuids):
            _pass_on(draft, left, written)
    row = state.fleet.claims.by_instance.get(consumer_uuid)
    if row is None or row.remote is not None or goes_on:
        return
    if _is_there(state, row, provider_uuids):
        unlease(draft, row)
    else:
        _pass_on(draft, row, written)


def _pass_on(
    draft: Draft, row: BookingRow, written: Mapping[str, Iterable[str]]
) -> None:
    """The claim goes on for the consumer that has allocations on the host now, or
    ends."""
    heir = None
    if row.topology is not None:
        found = (one for one in written if _is_there(draft.state, row, written[one]))
        heir = next(found, None)
    if heir is None:
        counted_claims.remove(draft, row)
    else:
        booked_names.leave(draft, row)
        leave(draft, row, heir)


def gone(draft: Draft, consumer_uuid: str, host_id: int) -> None:
    """Nothing of the consumer is on the host any more, nor kept there for it."""
    for left in draft.state.fleet.claims.held_by(consumer_uuid):
        if left.host_id == host_id:
            counted_claims.remove(draft, left)


def gone_with(draft: Draft, consumer_uuid: str, provider_uuids: Iterable[str]) -> None:
    """The consumer has nothing more on these, of which no host has any."""
    for left in draft.state.fleet.claims.held_by(consumer_uuid):
        if left.host_id == t.NO_HOST and _is_there(draft.state, left, provider_uuids):
            counted_claims.remove(draft, left)


def leave(draft: Draft, row: BookingRow, held_by: str) -> None:
    """The instance was launched, and goes elsewhere before a report counts its cells
    and devices: these stay promised until one does, or until ``held_by`` has no
    allocations there. An instance has one claim, so this one goes on under another
    uuid, which no other has: an instance may leave a host again before the first of
    these is counted. There is nothing to give back with it; it has the name of its
    claim, by whose release a caller says that nothing of it runs."""
    row = counted_claims.current(draft, row) or row
    assert row.topology is not None, "only cells and devices stay promised"
    pending = replace(from_text(row.topology), held_by=held_by)
    left = replace(
        row,
        instance_uuid=str(
            uuid5(NAMESPACE_OID, f"{row.id}/{row.instance_uuid}/{draft.now}")
        ),
        topology=to_text(pending),
        group_uuid=None,
        leased_until=None,
        consumer_generation=None,
        remote=None,
        updated_at=draft.now,
        counted_at=row.counted_at or draft.now,
        role=t.SOURCE,
        **booked_names.NAMELESS,
    )
    draft.change(t.BOOKINGS, row, left)


def _is_there(state: State, row: BookingRow, provider_uuids: Iterable[str]) -> bool:
    """Whether one of the providers is in the tree of the claim's host; of a host
    without a provider, that cannot be told, and of one that is gone, nothing need
    be."""
    table = state.providers
    rows = [table.row_of(uuid) for uuid in provider_uuids]
    place = state.fleet.hosts.row_by_id.get(row.host_id)
    host = NO_ROW if place is None else int(state.fleet.hosts.provider[place])
    if not rows:
        return False
    if row.host_id == t.NO_HOST:
        uuid = lost(row)
        found = None if uuid is None else table.row_of(uuid)
        if found is None:
            return False
        host = found
    if host == NO_ROW:
        return True
    return any(one is not None and table.root[one] == table.root[host] for one in rows)


def holds(
    row: BookingRow, consumer: ConsumerRow | None, *, is_over: bool = False
) -> bool:
    """Whether what the claim added ends with it: it is leased, or ``is_over``, and its
    consumer was not written since."""
    return (is_over or row.leased_until is not None) and _made(row, consumer)


def _made(row: BookingRow, consumer: ConsumerRow | None) -> bool:
    """Whether the consumer is as the claim wrote it."""
    if consumer is None or consumer.generation != row.consumer_generation:
        return False
    return not is_arrival(row)


def follow(draft: Draft, row: BookingRow, consumer: ConsumerRow) -> None:
    """The generation of ``consumer`` moves on; what the claim made stays its own."""
    if _made(row, consumer):
        generation = consumer.generation + 1
        draft.put(t.BOOKINGS, replace(row, consumer_generation=generation))


def give_back(draft: Draft, row: BookingRow) -> None:
    """The claim ends with the allocations that it added, where the consumer was not
    written since. As with any deletion no provider's generation moves. What a remote
    Placement holds is given back there, and until then the claim is over."""
    if row.remote is not None:
        if not row.is_over:
            ended = replace(row, leased_until=t.OVER, updated_at=None)
            draft.put(t.BOOKINGS, ended)
        return
    counted_claims.remove(draft, row)
    if not is_arrival(row):
        _take_back(draft, row.instance_uuid, row.consumer_generation)


def _take_back(draft: Draft, uuid: str, generation: int | None) -> None:
    """Delete what a claim added at this generation of the consumer."""
    state = draft.state
    consumer = state.consumers.find(uuid)
    if consumer is None or consumer.generation != generation:
        return
    left = False
    for allocation in allocations_of(state, uuid):
        if allocation.updated_at is None:
            draft.delete(t.ALLOCATIONS, allocation)
        else:
            left = True
    if left:
        moved = replace(
            consumer, generation=consumer.generation + 1, updated_at=draft.now
        )
        draft.put(t.CONSUMERS, moved)
    else:
        draft.delete(t.CONSUMERS, consumer)
        _bare(draft, uuid)


def _bare(draft: Draft, consumer_uuid: str) -> None:
    """The consumer has no allocations any more. Where a host names it, it is kept since
    when: it may be about to end."""
    known = draft.state.fleet.instances.by_uuid
    named = next((known[one] for one in spellings(consumer_uuid) if one in known), None)
    if named is not None and draft.get(t.INSTANCES, named.id) == named:
        draft.change(t.INSTANCES, named, replace(named, updated_at=draft.now))


def allocations_of(state: State, consumer_uuid: str) -> list[AllocationRow]:
    """All allocations of a consumer, oldest first."""
    number = state.consumers.row_by_uuid.get(consumer_uuid)
    if number is None:
        return []
    rows = [
        state.allocation_at(row)
        for row in state.allocations.by_consumer.rows_of(number)
    ]
    rows.sort(key=lambda row: row.id)
    return rows
