"""Rules for allocations, all named consumers at once or none, and for reshaping.

The view of the draft judges what fits; here is what is asked, in which order, how it is
refused, and which generations move (wire contract: only providers in a new list, or in
the removed list of a consumer that is emptied; a deletion moves none).
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import UNSET, Struct
from msgspec.structs import replace as with_

from gantt.errors import (
    ConcurrentUpdate,
    ConsumerMoved,
    DoesNotFit,
    Invalid,
    NotFound,
    UnknownProvider,
    UnknownReshaped,
)
from gantt.model import rows as t
from gantt.model.commands import (
    ConsumerAllocations,
    DeleteAllocations,
    Inventory,
    Reshape,
    ReshapedProvider,
    SetAllocations,
)
from gantt.model.names import MAX_INT
from gantt.model.rows import AllocationRow, ConsumerRow, ProviderRow
from gantt.placement.rules import inventories
from gantt.placement.rules.claim_rewrites import carry
from gantt.placement.rules.draft import Draft
from gantt.placement.rules.foreign_claims import arrive
from gantt.placement.rules.inventories import check_numbers, class_id
from gantt.placement.rules.leases import allocations_of, overtaken
from gantt.state.inventory_columns import capacity_of
from gantt.state.name_table import is_each_once
from gantt.state.slot_amounts import Refusal, Slot, SlotLimits
from gantt.state.state import State


class ConsumerChange(Struct, frozen=True):
    """One consumer's new allocations, names resolved: (provider, class id, amount)."""

    consumer: ConsumerAllocations
    known: ConsumerRow | None
    old: list[AllocationRow]
    new: list[tuple[ProviderRow, int, int]]


def replace(draft: Draft, command: SetAllocations) -> None:
    """PUT and POST of allocations."""
    replace_rows(draft, command.consumers)
    if len(command.consumers) == 1:
        arrive(draft, command.consumers[0])


def replace_rows(
    draft: Draft,
    consumers: Iterable[ConsumerAllocations],
    *,
    is_reshape: bool = False,
) -> None:
    """Check everything, then write everything.

    Raises ConcurrentUpdate (of a consumer), UnknownProvider, UnknownName, DoesNotFit.
    """
    asked_changes = _resolve(draft.state, tuple(consumers))
    _judge(draft, asked_changes)
    written = {
        change.consumer.consumer_uuid: change.consumer.allocations
        for change in asked_changes
    }
    for one in asked_changes:
        new = write(draft, one)
        goes_on = carry(draft, one.known, one.old, new, is_reshape=is_reshape)
        uuid, amounts = one.consumer.consumer_uuid, one.consumer.allocations
        overtaken(draft, uuid, amounts, written, goes_on=goes_on)


def delete(draft: Draft, command: DeleteAllocations) -> None:
    """The consumer goes with its allocations."""
    old = allocations_of(draft.state, command.consumer_uuid)
    if not old:
        raise NotFound(f"No allocations for consumer '{command.consumer_uuid}'")
    for row in old:
        draft.delete(t.ALLOCATIONS, row)
    known = draft.state.consumers.find(command.consumer_uuid)
    if known is not None:
        draft.delete(t.CONSUMERS, known)
    overtaken(draft, command.consumer_uuid, ())


def check_generation(state: State, consumer: ConsumerAllocations) -> ConsumerRow | None:
    """The consumer as it is known. Raises ConcurrentUpdate."""
    known = state.consumers.find(consumer.consumer_uuid)
    given = consumer.generation
    if given is UNSET:
        return known
    expected = None if known is None else known.generation
    if given != expected:
        raise ConsumerMoved(
            "consumer generation conflict - expected "
            f"{'null' if expected is None else expected} but got {given}"
        )
    return known


def _resolve(
    state: State, consumers: tuple[ConsumerAllocations, ...]
) -> list[ConsumerChange]:
    if not is_each_once(state.fold, [consumer.consumer_uuid for consumer in consumers]):
        raise Invalid("A consumer is named twice; name each consumer once.")
    known = [check_generation(state, consumer) for consumer in consumers]
    for consumer in consumers:
        for uuid in consumer.allocations:
            if state.providers.row_of(uuid) is None:
                raise UnknownProvider(
                    f"Allocation for resource provider '{uuid}' that does not exist."
                )
    return [
        ConsumerChange(
            consumer,
            known[number],
            allocations_of(state, consumer.consumer_uuid),
            _new_amounts(state, consumer),
        )
        for number, consumer in enumerate(consumers)
    ]


def _new_amounts(
    state: State, consumer: ConsumerAllocations
) -> list[tuple[ProviderRow, int, int]]:
    found = []
    for uuid, resources in consumer.allocations.items():
        provider = state.providers.find(uuid)
        assert provider is not None
        for name, amount in resources.items():
            if amount < 1:
                raise Invalid(f"An amount must be at least 1; got {amount} of {name}.")
            if amount > MAX_INT:
                raise DoesNotFit(
                    f"Unable to create allocation for '{name}' on resource provider "
                    f"'{uuid}'. The requested amount would violate inventory "
                    f"constraints. No max_unit is above {MAX_INT}."
                )
            found.append((provider, class_id(state, name), amount))
    if len({(provider.id, key) for provider, key, _ in found}) != len(found):
        raise Invalid(
            f"Consumer {consumer.consumer_uuid} names a resource provider twice; name "
            "each provider once."
        )
    return found


def _judge(draft: Draft, asked_changes: list[ConsumerChange]) -> None:
    """All that the consumers have is given back before anything new is judged. Raises
    DoesNotFit."""
    view, state = draft.view, draft.state
    for change in asked_changes:
        view.take(change.consumer.consumer_uuid, change.old)
    for change in asked_changes:
        for provider, key, amount in change.new:
            slot = (
                state.providers.row_by_id[provider.id],
                state.classes.index_by_id[key],
            )
            refusal = view.refusal(slot, amount)
            if refusal is not None:
                raise DoesNotFit(_words(state, slot, amount, refusal))
            view.add(slot, amount)


def _words(state: State, slot: Slot, amount: int, refusal: Refusal) -> str:
    name, uuid = state.classes.at(slot[1]).name, state.providers.uuids[slot[0]]
    place, limits = f"'{name}' on resource provider '{uuid}'", refusal.limits
    if limits is None:
        return f"Inventory for {place} invalid."
    if refusal.is_full:
        broken = "exceed the capacity"
        numbers = f"used: {refusal.used}, capacity: {limits.capacity:.15g}"
    else:
        broken = "violate inventory constraints"
        numbers = (
            f"min_unit: {limits.min_unit}, max_unit: {limits.max_unit}, "
            f"step_size: {limits.step_size}"
        )
    return (
        f"Unable to create allocation for {place}. The requested amount would "
        f"{broken}. Requested: {amount}, {numbers}."
    )


def write(draft: Draft, change: ConsumerChange) -> list[AllocationRow]:
    """Write what was judged: allocations, consumer, names, generations. The new
    allocations."""
    old: dict[tuple[int, int], AllocationRow] = {}
    for row in change.old:
        old[row.resource_provider_id, row.resource_class_id] = row
    uuid, now = change.consumer.consumer_uuid, draft.now
    moved: dict[int, ProviderRow] = {}
    written = []
    for provider, key, amount in change.new:
        replaced = old.pop((provider.id, key), None)
        number = draft.new_id(t.ALLOCATIONS) if replaced is None else replaced.id
        row = AllocationRow(number, provider.id, uuid, key, int(amount), now, None)
        draft.change(t.ALLOCATIONS, replaced, row)
        written.append(row)
        moved[provider.id] = provider
    for provider in moved.values():
        draft.bump_once(provider)
    for row in old.values():
        draft.delete(t.ALLOCATIONS, row)
    if change.new:
        _write_consumer(draft, change)
        return written
    for row in change.old:
        emptied = draft.state.providers.get(row.resource_provider_id)
        assert emptied is not None
        draft.bump_once(emptied)
    if change.known is not None:
        draft.delete(t.CONSUMERS, change.known)
    elif not change.old:  # nothing is written, so nothing else would tell
        draft.rely(t.CONSUMERS, change.consumer.consumer_uuid)
    return written


def _write_consumer(draft: Draft, change: ConsumerChange) -> None:
    asked = change.consumer
    project_id = draft.ensure_name(t.PROJECTS, asked.project_id)
    user_id = draft.ensure_name(t.USERS, asked.user_id)
    type_id = None if change.known is None else change.known.consumer_type_id
    if isinstance(asked.consumer_type, str):
        type_id = draft.ensure_name(t.CONSUMER_TYPES, asked.consumer_type)
    if change.known is None:
        key = draft.new_id(t.CONSUMERS)
        row = ConsumerRow(
            key, asked.consumer_uuid, project_id, user_id, 1, type_id, draft.now, None
        )
    else:
        row = with_(
            change.known,
            project_id=project_id,
            user_id=user_id,
            generation=change.known.generation + 1,
            consumer_type_id=type_id,
            updated_at=draft.now,
        )
    draft.change(t.CONSUMERS, change.known, row)


def reshape(draft: Draft, command: Reshape) -> None:
    """Inventories and allocations move together: all of it or nothing. Judged against
    an interim inventory (the new over the old), so that allocations can leave a class
    that goes away.

    Generations, as the wire contract counts them: a provider with new inventory moves
    by two, one that ends empty by one, and by one more where it gets allocations.
    """
    named = [asked.provider_uuid for asked in command.providers]
    if not is_each_once(draft.state.fold, named):
        raise Invalid("A resource provider is named twice; name each provider once.")
    providers = [_reshaped(draft, asked) for asked in command.providers]
    for consumer in command.consumers:
        check_generation(draft.state, consumer)
    pairs = list(zip(providers, command.providers, strict=True))
    for provider, asked in pairs:
        for name, inventory in asked.inventories.items():
            slot = (
                draft.state.providers.row_by_id[provider.id],
                draft.state.classes.index_by_id[class_id(draft.state, name)],
            )
            check_numbers(name, inventory)
            draft.view.limit(slot, _limits(inventory))
    replace_rows(draft, command.consumers, is_reshape=True)
    for provider, asked in pairs:
        inventories.replace_rows(draft, provider, asked.inventories)
        draft.bump(provider)
        if asked.inventories:
            draft.bump(provider)


def _reshaped(draft: Draft, asked: ReshapedProvider) -> ProviderRow:
    provider = draft.state.providers.find(asked.provider_uuid)
    if provider is None:
        raise UnknownReshaped(
            f"Resource provider {asked.provider_uuid} in inventories not found: "
            f"No resource provider with uuid {asked.provider_uuid} found"
        )
    if provider.generation != asked.generation:
        raise ConcurrentUpdate(
            f"resource provider generation conflict for provider {provider.uuid}: "
            f"actual: {provider.generation}, given: {asked.generation}"
        )
    return provider


def _limits(inventory: Inventory) -> SlotLimits:
    return SlotLimits(
        int(inventory.min_unit),
        int(inventory.max_unit),
        int(inventory.step_size),
        capacity_of(inventory.total, inventory.reserved, inventory.allocation_ratio),
    )
