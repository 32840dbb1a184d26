"""The rule for demands in plain words: booked whole or not at all; released by name.

How one thing gets its host is the rule for claims; all claims of a demand are judged on
one view, so that a later one sees what an earlier one took.
"""

from __future__ import annotations

import msgspec

from gantt.errors import ClaimLost, Conflict, NotFound
from gantt.model import rows as t
from gantt.model.answers import Claimed
from gantt.model.commands import Book, DeleteAllocations, ReleaseClaim, Unbook
from gantt.model.demand import claim_of_plan
from gantt.model.placements import Placement, Plan
from gantt.placement import named_placements
from gantt.placement.domain_rules import broken_in
from gantt.placement.ownership import check_owner
from gantt.placement.rules import allocations, booked_names, claims, demands, leases
from gantt.placement.rules.draft import Draft


def book(draft: Draft, command: Book) -> tuple[Claimed, ...]:
    """For each claim. Raises Conflict, Queued, AlreadyClaimed, Forbidden,
    ClaimLost."""
    state = draft.state
    demands.admit(draft, command)
    for claim in command.claims:
        if claim.only_project is not None:
            uuids = [one.instance_uuid for one in claim.instances]
            check_owner(state, uuids, claim.only_project, also_running=True)
        for one in claim.instances:
            assert one.booked is not None, "it has a name"
            if named_placements.has_plan(state, one.booked):
                raise Conflict(f"The plan {one.booked.plan!r} was placed before.")
            named_placements.check_free(state, one.booked.name, one.instance_uuid)
    answer = tuple(claims.claim(draft, claim) for claim in command.claims)
    if any(term.others for claim in command.claims for term in claim.domains):
        _check_together(draft, command)
    _remember(draft, command, answer)
    return answer


def _remember(draft: Draft, command: Book, answer: tuple[Claimed, ...]) -> None:
    """What an equal demand of the same plan is answered with."""
    placements, hosts, plan = [], draft.state.fleet.hosts, None
    for claim, claimed in zip(command.claims, answer, strict=True):
        for one, at in zip(claim.instances, claimed.taken, strict=True):
            plan, choice = one.booked, one.choices[at]
            assert plan is not None, "it has a name"
            place = hosts.row_by_id[choice.host_id]
            host, node = hosts.hosts[place], hosts.nodes[place]
            placements.append(
                Placement(
                    plan.name,
                    host,
                    node,
                    plan.item,
                    one.instance_uuid,
                    dict(choice.allocations),
                )
            )
    if plan is None or not plan.plan:
        return
    name = answer[0].claim
    known = Plan(tuple(placements), plan.plan, name, answer[0].leased_until)
    row = booked_names.of_no_claim(
        draft.new_id(t.BOOKINGS),
        claim_of_plan(plan.project, plan.plan),
        draft.now,
        answered=msgspec.json.encode(known).decode(),
        role=t.PLAN,
        project=plan.project,
        plan=plan.plan,
        digest=plan.digest,
    )
    draft.change(t.BOOKINGS, None, row)


def _check_together(draft: Draft, command: Book) -> None:
    """Whether what one claim's relations say of others holds now that all have their
    places. Raises ClaimLost."""
    placed = claims.placed_rows(draft.view)
    for claim in command.claims:
        own = [placed[one.instance_uuid][0] for one in claim.instances]
        for term in claim.domains:
            broken = broken_in(
                draft.state, term, own, placed, asks_service=claim.asks_service
            )
            if broken is not None:
                raise ClaimLost(
                    f"By {term.relation.key} {term.relation.kind} no longer holds in "
                    f"{broken or 'no domain'}. Nothing was claimed. Pick hosts again."
                )


def unbook(draft: Draft, command: Unbook) -> None:
    """What only runs, and has nothing here any more, keeps no others. Raises NotFound:
    one of them has nothing, or none has anything; Conflict: another writer changed some
    of what one has."""
    claimed: dict[str, set[str]] = {}
    known, running = draft.state.fleet.instances.by_uuid, set[str]()
    for uuid in command.consumers:
        row = draft.state.fleet.claims.by_instance.get(uuid)
        if row is not None and not row.is_over:
            claimed.setdefault(row.claim, set()).add(uuid)
        elif leases.allocations_of(draft.state, uuid):
            allocations.delete(draft, DeleteAllocations(uuid))
        else:
            running.add(uuid)
            if uuid not in known or len(running) == len(command.consumers):
                raise NotFound(f"{uuid} has nothing to release.")
    for claim, uuids in claimed.items():
        leases.release(draft, ReleaseClaim(claim, instance_uuids=frozenset(uuids)))
    for uuid in command.consumers:
        if uuid not in running:
            booked_names.forget(draft, uuid)
