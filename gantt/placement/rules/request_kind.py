"""Whether a request for an instance repeats an earlier one, moves the instance, or is
another one: the only place where that is decided, on the newest columns.

A *repeat* asks for what a claim has: the answer was lost, or two callers asked at once.
A *move* is for an instance that runs, or that its claim's host may no longer have
(evacuation, a resize or migration that is tried on a further host). What is neither
wants a second place for an instance that has one.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from gantt.errors import AlreadyClaimed
from gantt.model import rows as t
from gantt.model.answers import Candidate, Repeat
from gantt.model.request_identity import RequestIdentity, read_answered
from gantt.model.rows import BookingRow, InstanceRow
from gantt.model.topology import Fit
from gantt.placement.rules import counted_claims, leases
from gantt.placement.rules.draft import Draft
from gantt.state.state import State
from gantt.topology.promised_topology import from_text


class RequestKind(Enum):
    """What a request is for an instance. FIRST: it has no claim. REPEAT: its claim is
    the answer. MOVE: the claim stays until the move is done, unless it is leased.
    REPLACE: the claim makes way, with all that it added."""

    FIRST = "first"
    REPEAT = "repeat"
    MOVE = "move"
    REPLACE = "replace"


_DELETED: Final = "a host that was deleted"


def standing(
    state: State, identity: RequestIdentity, instance_uuid: str
) -> RequestKind:
    """Raises AlreadyClaimed: neither a repeat nor a move, and it replaces nothing."""
    fleet = state.fleet
    claim = fleet.claims.by_instance.get(instance_uuid)
    if claim is None:
        return RequestKind.FIRST
    if claim.is_open:
        return RequestKind.MOVE  # the rule for claims waits until it is settled
    named = fleet.instances.by_uuid.get(instance_uuid)
    is_counted = claim.is_running or claim.counted_at is not None
    place = fleet.hosts.row_by_id.get(claim.host_id)
    if place is not None and not is_counted and not _named_since(claim, named):
        is_equal = answers(claim, identity)
        if is_equal and not _excludes(state, identity, place):
            is_off = identity.replaces and _is_off(state, place)
            return RequestKind.REPLACE if is_off else RequestKind.REPEAT
    if named is not None or is_counted or leases.lost(claim) is not None:
        return RequestKind.MOVE
    places = _places(state, claim)
    if places and all(_excludes(state, identity, one) for one in places):
        return RequestKind.MOVE
    if identity.replaces:
        return RequestKind.REPLACE
    host = _DELETED if place is None else f"host {fleet.hosts.hosts[place]}"
    raise AlreadyClaimed(
        f"Instance {instance_uuid} is already on {host}, claim {claim.claim}, for "
        "another request. Nothing was claimed. Release that claim first, or, to move "
        "the instance, leave its host out with ignore_hosts."
    )


def answers(claim: BookingRow, identity: RequestIdentity) -> bool:
    """Whether the claim was made for an equal request."""
    if claim.answered is None or not identity.digest:
        return False
    return read_answered(claim.answered).digest == identity.digest


def _named_since(claim: BookingRow, named: InstanceRow | None) -> bool:
    """Whether a host came to name the instance after it was claimed: one that it moves
    from named it before. Databases keep whole seconds of these times."""
    if named is None:
        return False
    second = counted_claims.second
    return second(named.created_at or 0) > second(claim.created_at or 0)


def _places(state: State, claim: BookingRow) -> set[int]:
    """Rows of the hosts where the instance is claimed or has allocations."""
    hosts, providers = state.fleet.hosts, state.providers
    place = hosts.row_by_id.get(claim.host_id)
    found = set() if place is None else {place}
    for row in leases.allocations_of(state, claim.instance_uuid):
        root = providers.root[providers.row_by_id[row.resource_provider_id]]
        found.update(hosts.rows_by_provider.get(int(root), ()))
    return found


def _is_off(state: State, place: int) -> bool:
    """Whether the host was disabled or forced down since. Nova asks for the instance
    again once a person gave up what was under way there, as an evacuation; callers of
    ours may only have heard no answer."""
    hosts = state.fleet.hosts
    return bool(hosts.is_disabled[place] or hosts.is_forced_down[place])


def _excludes(state: State, identity: RequestIdentity, place: int) -> bool:
    hosts = state.fleet.hosts
    return identity.excludes(hosts.hosts[place], hosts.nodes[place])


class RepeatedClaim(Struct, frozen=True):
    """The answer for an instance that was claimed before; ``generation``, ``fit``: see
    Claimed."""

    answer: Repeat
    generation: int | None
    fit: Fit | None


def again(draft: Draft, instance_uuid: str, leased_until: int | None) -> RepeatedClaim:
    """The claim of the instance is the answer; a lease is only ever made longer."""
    row = draft.state.fleet.claims.by_instance[instance_uuid]
    assert row.answered is not None, "its digest is known"
    known = row.leased_until
    if leased_until is not None and known is not None and known < leased_until:
        longer = replace(row, leased_until=leased_until, updated_at=draft.now)
        draft.put(t.BOOKINGS, longer)
    answered = read_answered(row.answered)
    candidate = Candidate(answered.allocations, answered.mappings)
    pending = None if row.topology is None else from_text(row.topology)
    return RepeatedClaim(
        Repeat(row.host_id, candidate),
        row.consumer_generation,
        None if pending is None else pending.fit,
    )
