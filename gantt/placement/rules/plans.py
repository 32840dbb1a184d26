"""The rule for demands in plain words: booked whole or not at all; released by name.

How one thing gets its host is the rule for claims; all claims of a demand are judged on
one view, so that a later one sees what an earlier one took.
"""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from gantt.errors import Conflict, NotFound
from gantt.model import rows as t
from gantt.model.answers import Claimed
from gantt.model.commands import Book, DeleteAllocations, ReleaseClaim, Unbook
from gantt.model.rows import InstanceRow
from gantt.placement import named_placements
from gantt.placement.ownership import check_owner
from gantt.placement.rules import allocations, claims, leases
from gantt.placement.rules.draft import Draft


def book(draft: Draft, command: Book) -> tuple[Claimed, ...]:
    """For each claim. Raises Conflict, AlreadyClaimed, Forbidden, ClaimLost."""
    state = draft.state
    for claim in command.claims:
        if claim.only_project is not None:
            uuids = [one.instance_uuid for one in claim.instances]
            check_owner(state, uuids, claim.only_project, also_running=True)
        for one in claim.instances:
            assert one.booked is not None, "it has a name"
            if one.booked.plan and named_placements.has_plan(state, one.booked):
                raise Conflict(f"The plan {one.booked.plan!r} was placed before.")
            named_placements.check_free(state, one.booked.name, one.instance_uuid)
    return tuple(claims.claim(draft, claim) for claim in command.claims)


def unbook(draft: Draft, command: Unbook) -> None:
    """Raises NotFound: one of them has nothing; Conflict: another writer changed some
    of what one has."""
    claimed: dict[str, set[str]] = {}
    for uuid in command.consumers:
        row = draft.state.fleet.claims.by_instance.get(uuid)
        if row is not None and not row.is_over:
            claimed.setdefault(row.claim, set()).add(uuid)
        elif leases.allocations_of(draft.state, uuid):
            allocations.delete(draft, DeleteAllocations(uuid))
        else:
            raise NotFound(f"{uuid} has nothing to release.")
    for claim, uuids in claimed.items():
        leases.release(draft, ReleaseClaim(claim, instance_uuids=frozenset(uuids)))
    for uuid in command.consumers:
        _forget(draft, uuid)


def _forget(draft: Draft, uuid: str) -> None:
    """What it is called, where its host still names it."""
    instances = draft.state.fleet.instances
    if uuid in instances.booked:
        row = draft.get(t.INSTANCES, instances.by_uuid[uuid].id)
        assert isinstance(row, InstanceRow), "its host names it"
        facts = msgspec.json.decode(row.facts)
        del facts[t.BOOKED]
        text = msgspec.json.encode(facts, order="sorted").decode()
        draft.put(t.INSTANCES, replace(row, facts=text))
