"""The switch from what hosts report to the books, for good.

Claims that were made before have no allocations: what they hold is written into the
books, so that nothing that was promised is promised again.
"""

from __future__ import annotations

from msgspec.structs import replace

from gantt.model import rows as t
from gantt.model.commands import ConsumerAllocations, TurnToBooks
from gantt.model.rows import BookingRow, FactRow, ProviderRow
from gantt.placement import amount_source
from gantt.placement.rules import allocations, services
from gantt.placement.rules.draft import Draft

UNKNOWN_OWNER = "00000000-0000-0000-0000-000000000000"
"""Project and user of claims from before; reports do not tell them."""


def to_books(draft: Draft, command: TurnToBooks) -> bool:  # noqa: ARG001
    """Whether the books decide from now on."""
    where = amount_source.stage(draft.state)
    if where != "ready":
        return where == "books"
    for row in draft.state.fleet.claims.claims():
        if row.consumer_generation is None and row.remote is None:
            _enter(draft, row)
    key = services.new_id(draft)
    switch = FactRow(key, "switch", "", False, False, None, None, draft.now, None)
    draft.change(t.FACTS, None, switch)
    return True


def _enter(draft: Draft, row: BookingRow) -> None:
    """What ``row`` holds, as an allocation of the instance."""
    state = draft.state
    host = state.fleet.hosts.row_by_id.get(row.host_id)
    if host is None or state.consumers.row_by_uuid.get(row.instance_uuid) is not None:
        return
    number = int(state.fleet.hosts.provider[host])
    provider = state.providers.at(number)
    new = _amounts(draft, provider, number, row)
    if new:
        consumer = ConsumerAllocations(
            row.instance_uuid, {}, UNKNOWN_OWNER, UNKNOWN_OWNER
        )
        allocations.write(draft, allocations.ConsumerChange(consumer, None, [], new))
        # The first generation of a consumer is 1: as claims record it.
        draft.put(t.BOOKINGS, replace(row, consumer_generation=1, updated_at=draft.now))


def _amounts(
    draft: Draft, provider: ProviderRow, number: int, row: BookingRow
) -> list[tuple[ProviderRow, int, int]]:
    """Amounts of the classes that the provider has."""
    wanted = (
        ("VCPU", row.vcpus),
        ("MEMORY_MB", row.memory_mb),
        ("DISK_GB", -(-row.disk_mb // 1024)),
    )
    found = []
    for name, amount in wanted:
        index = draft.state.classes.index_of(name)
        if not amount or index is None:
            continue
        if draft.state.inventories.slot(number, index) is not None:
            found.append((provider, draft.state.classes.at(index).id, amount))
    return found
