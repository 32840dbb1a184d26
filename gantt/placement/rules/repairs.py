"""Rules for repairs: what the audit found is found again, and undone.

The books may have changed since the finding was shown, so it is looked for again in the
newest columns, and a repair is refused where it is not found as it was.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from gantt.errors import Conflict
from gantt.model import rows as t
from gantt.model.audit import Finding
from gantt.model.commands import Inventory, Repair
from gantt.model.names import spellings
from gantt.placement import audit_queries
from gantt.placement.rules import (
    counted_claims,
    leases,
    report_news,
    reported_inventories,
)
from gantt.placement.rules.draft import Draft
from gantt.placement.rules.inventories import class_id, inventory_row, write_row
from gantt.placement.rules.providers import existing


def repair(draft: Draft, command: Repair) -> Finding:
    """See the command."""
    asked = command.finding
    if asked.kind == "host_gone" and asked.kind not in command.terms.kinds:
        raise Conflict(
            f"{_who(asked)} was found as host_gone, but its host may only not report "
            "here. See that it is gone, then name the kind host_gone with the repair."
        )
    found = audit_queries.still(draft.state, asked, draft.now, command.terms)
    if found is None or found.facts != asked.facts:
        raise Conflict(
            f"{_who(asked)} was found as {asked.kind}, and that has changed since: ask "
            "for the audit again."
        )
    if not found.repair:
        raise Conflict(
            f"{_who(asked)} cannot be repaired here: {found.detail}. Correct what is "
            "wrong of the two by hand."
        )
    if found.kind == "inventory_drift":
        _resize(draft, found)
    else:
        _forget(draft, found)
    return found


def _forget(draft: Draft, found: Finding) -> None:
    """The instance keeps nothing of what was found; what it has elsewhere stays. As
    with any deletion no provider's generation moves."""
    state, uuid = draft.state, found.instance_uuid or ""
    is_left = is_touched = False
    for allocation in leases.allocations_of(state, uuid):
        row = state.providers.row_by_id[allocation.resource_provider_id]
        if state.providers.at(row).uuid in found.allocations:
            draft.delete(t.ALLOCATIONS, allocation)
            is_touched = True
        else:
            is_left = True
    consumer = state.consumers.find(uuid)
    if consumer is not None and is_left and is_touched:
        generation = consumer.generation + 1
        moved = replace(consumer, generation=generation, updated_at=draft.now)
        draft.put(t.CONSUMERS, moved)
    elif consumer is not None and is_touched:
        draft.delete(t.CONSUMERS, consumer)
    claim = state.fleet.claims.by_instance.get(uuid)
    if claim is not None and claim.claim == found.claim:
        counted_claims.remove(draft, claim)
    elif claim is not None and consumer is not None and is_left and is_touched:
        leases.follow(draft, claim, consumer)
    place = state.fleet.hosts.row_of(found.host, found.node)
    if place is None:
        leases.gone_with(draft, uuid, found.allocations)
    else:
        leases.gone(draft, uuid, int(state.fleet.hosts.id[place]))
    for name in spellings(uuid):
        instance = state.fleet.instances.on(found.host).get(name)
        if instance is not None:
            draft.delete(t.INSTANCES, instance)


def _resize(draft: Draft, found: Finding) -> None:
    """The inventory has the total that the host reports; what an operator set stays."""
    total = found.reported or 0
    provider = existing(draft.state, found.provider_uuid or "")
    key = class_id(draft.state, found.resource_class)
    have = inventory_row(draft.state, provider, key)
    assert have is not None, "a repair is offered where there is an inventory"
    wanted = Inventory(
        total,
        min(have.reserved, total),
        have.min_unit,
        total if have.max_unit == have.total else have.max_unit,
        have.step_size,
        have.allocation_ratio,
    )
    write_row(draft, provider, key, have, wanted)
    draft.bump(provider)
    _follow(draft, found, [wanted.total, wanted.reserved, wanted.allocation_ratio])


def _follow(draft: Draft, found: Finding, amount: list[Any]) -> None:
    """An inventory that earlier reports may have written follows them from now on."""
    hosts = draft.state.fleet.hosts
    place = hosts.row_of(found.host, found.node)
    assert place is not None, "a repair is offered of a host that is there"
    record = hosts.stats[place][reported_inventories.OWNED]
    if record["inventories"][found.resource_class] is None:
        mine = {**record["inventories"], found.resource_class: amount}
        stats = {
            **hosts.stats[place],
            reported_inventories.OWNED: {**record, "inventories": mine},
        }
        text = report_news.text_of(found.host, found.node, stats)
        draft.put(t.HOSTS, replace(hosts.at(place), stats=text))


def _who(finding: Finding) -> str:
    if finding.instance_uuid is not None:
        return f"Instance {finding.instance_uuid}"
    return f"{finding.resource_class} of host {finding.host}, node {finding.node},"
