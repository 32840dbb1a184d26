"""The rule for reshaping: inventories and allocations move together.

Judged against an interim inventory (the new over the old), so that allocations can
leave a class in the same breath in which the class goes away.
"""

from __future__ import annotations

from gantt.errors import ConcurrentUpdate, Invalid, UnknownReshaped
from gantt.model.commands import Inventory, Reshape, ReshapedProvider
from gantt.model.rows import ProviderRow
from gantt.placement.rules import allocations
from gantt.placement.rules.draft import Draft
from gantt.placement.rules.inventories import check_numbers, class_id, replace_rows
from gantt.placement.rules.ledger import Ledger, Limits, Place
from gantt.state.inventories import capacity_of
from gantt.state.names import is_each_once


def reshape(draft: Draft, command: Reshape) -> None:
    """All of it or nothing.

    Generations, as the wire contract counts them: a provider with new inventory moves
    by two, one that ends empty by one, and by one more where it gets allocations.
    """
    named = [asked.provider_uuid for asked in command.providers]
    if not is_each_once(draft.state.fold, named):
        raise Invalid("A resource provider is named twice; name each provider once.")
    providers = [_checked(draft, asked) for asked in command.providers]
    for consumer in command.consumers:
        allocations.check_generation(draft.state, consumer)
    pairs = list(zip(providers, command.providers, strict=True))
    interim: dict[Place, Limits] = {}
    for provider, asked in pairs:
        for name, inventory in asked.inventories.items():
            place = (
                draft.state.providers.row_by_id[provider.id],
                draft.state.classes.index_by_id[class_id(draft.state, name)],
            )
            check_numbers(name, inventory)
            interim[place] = _limits(inventory)
    allocations.replace_rows(draft, command.consumers, Ledger(draft.state, interim))
    for provider, asked in pairs:
        replace_rows(draft, provider, asked.inventories)
        draft.bump(provider)
        if asked.inventories:
            draft.bump(provider)


def _checked(draft: Draft, asked: ReshapedProvider) -> ProviderRow:
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


def _limits(inventory: Inventory) -> Limits:
    return Limits(
        int(inventory.min_unit),
        int(inventory.max_unit),
        int(inventory.step_size),
        capacity_of(inventory.total, inventory.reserved, inventory.allocation_ratio),
    )
