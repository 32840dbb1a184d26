"""Rules for inventories: what a provider has, and that nothing in use is dropped."""

from __future__ import annotations

from gantt.errors import (
    BadInventory,
    ConcurrentUpdate,
    Invalid,
    InventoryInUse,
    NoInventory,
    UnknownResourceClass,
)
from gantt.model import rows as t
from gantt.model.answers import ProviderInventories
from gantt.model.commands import (
    AddInventory,
    DeleteInventories,
    DeleteInventory,
    Inventory,
    PutInventory,
    SetInventories,
    SetInventory,
)
from gantt.model.names import MAX_INT, MAX_RATIO
from gantt.model.rows import InventoryRow, ProviderRow
from gantt.placement.rules.draft import Draft
from gantt.placement.rules.providers import existing
from gantt.state.inventory_columns import capacity_of
from gantt.state.state import State


def replace_all(draft: Draft, command: SetInventories) -> ProviderInventories:
    """Checks in the order of the wire contract: generation, amounts, names, use."""
    provider = existing(draft.state, command.provider_uuid)
    _check_generation(provider, command.generation)
    for name, inventory in command.inventories.items():
        _check_capacity(provider, name, inventory, command.allow_full_reserve)
    replace_rows(draft, provider, command.inventories)
    bumped = draft.bump(provider)
    return ProviderInventories(bumped.generation, command.inventories, draft.now)


def replace_rows(
    draft: Draft, provider: ProviderRow, inventories: dict[str, Inventory]
) -> None:
    """The provider has exactly ``inventories``. Raises UnknownName, InventoryInUse."""
    wanted: dict[int, Inventory] = {}
    for name, inventory in inventories.items():
        wanted[class_id(draft.state, name)] = inventory
    old = inventory_rows(draft.state, provider)
    in_use = []
    for key in old:
        if key not in wanted and is_used(draft, provider, key):
            in_use.append(draft.state.classes.name_of_id(key))
    if in_use:
        raise InventoryInUse(
            f"Inventory for '{', '.join(in_use)}' on resource provider "
            f"'{provider.uuid}' in use."
        )
    for key, row in old.items():
        if key not in wanted:
            draft.delete(t.INVENTORIES, row)
    for key, inventory in wanted.items():
        write_row(draft, provider, key, old.get(key), inventory)


def add(draft: Draft, command: AddInventory) -> ProviderInventories:
    """One class more; the caller's generation does not matter here. As everywhere, what
    is wrong with the amounts is said before what is wrong with the name."""
    provider = existing(draft.state, command.provider_uuid)
    _check_capacity(
        provider, command.resource_class, command.inventory, command.allow_full_reserve
    )
    key = class_id(draft.state, command.resource_class)
    if inventory_row(draft.state, provider, key) is not None:
        raise ConcurrentUpdate(
            f"Update conflict: resource provider {provider.uuid} already has an "
            f"inventory of class {command.resource_class}; change it with PUT."
        )
    write_row(draft, provider, key, None, command.inventory)
    return _answer_one(draft, provider, command.resource_class, command.inventory)


def replace_one(draft: Draft, command: SetInventory) -> ProviderInventories:
    """One class that the provider has already."""
    provider = existing(draft.state, command.provider_uuid)
    _check_generation(provider, command.generation)
    _check_capacity(
        provider, command.resource_class, command.inventory, command.allow_full_reserve
    )
    key = class_id(draft.state, command.resource_class)
    old = inventory_row(draft.state, provider, key)
    if old is None:
        raise Invalid(
            "No inventory record with resource class for resource provider "
            f"{provider.uuid}: No inventory of class {command.resource_class} found."
        )
    write_row(draft, provider, key, old, command.inventory)
    return _answer_one(draft, provider, command.resource_class, command.inventory)


def put_one(draft: Draft, command: PutInventory) -> ProviderInventories:
    """One class, new or not: what a library user means by setting it."""
    provider = existing(draft.state, command.provider_uuid)
    name = command.resource_class
    _check_capacity(provider, name, command.inventory, command.allow_full_reserve)
    key = class_id(draft.state, name)
    old = inventory_row(draft.state, provider, key)
    write_row(draft, provider, key, old, command.inventory)
    return _answer_one(draft, provider, name, command.inventory)


def delete_one(draft: Draft, command: DeleteInventory) -> None:
    """Not while anything is allocated of it."""
    provider = existing(draft.state, command.provider_uuid)
    name = command.resource_class
    known = draft.state.classes.find(name)
    if known is None:
        raise NoInventory(f"No such resource class {name}.")
    row = inventory_row(draft.state, provider, known.id)
    if row is None:
        raise NoInventory(f"No inventory of class {name} found for delete")
    if is_used(draft, provider, row.resource_class_id):
        raise InventoryInUse(
            f"Inventory for '{name}' on resource provider '{provider.uuid}' in use."
        )
    draft.delete(t.INVENTORIES, row)
    draft.bump(provider)


def delete_all(draft: Draft, command: DeleteInventories) -> None:
    """Bumps the generation even when there was nothing."""
    provider = existing(draft.state, command.provider_uuid)
    replace_rows(draft, provider, {})
    draft.bump(provider)


def class_id(state: State, name: str) -> int:
    """The id of a resource class. Raises UnknownResourceClass."""
    known = state.classes.find(name)
    if known is None:
        raise UnknownResourceClass(f"No such resource class {name}.")
    return known.id


def inventory_rows(state: State, provider: ProviderRow) -> dict[int, InventoryRow]:
    """All inventories of a provider by class id, in the order of the classes."""
    number = state.providers.row_by_id[provider.id]
    found = {}
    for index in state.inventories.classes_of(number):
        key = state.classes.at(index).id
        row = state.inventories.find(number, index, provider.id, key)
        assert row is not None
        found[key] = row
    return found


def inventory_row(state: State, provider: ProviderRow, key: int) -> InventoryRow | None:
    """A provider's inventory of the class with id ``key``."""
    number = state.providers.row_by_id[provider.id]
    index = state.classes.index_by_id[key]
    return state.inventories.find(number, index, provider.id, key)


def is_used(draft: Draft, provider: ProviderRow, key: int) -> bool:
    """Whether the draft leaves anything of the class with id ``key`` allocated."""
    state = draft.state
    number = state.providers.row_by_id[provider.id]
    class_index = state.classes.index_by_id[key]
    table = state.allocations
    return draft.is_claimed(provider.id, key) or any(
        table.class_index[row] == class_index
        and draft.get(t.ALLOCATIONS, int(table.id[row])) is not None
        for row in table.by_provider.rows_of(number)
    )


def _check_generation(provider: ProviderRow, given: int | None) -> None:
    if given is not None and given != provider.generation:
        raise ConcurrentUpdate("resource provider generation conflict")


def _check_capacity(
    provider: ProviderRow, name: str, inventory: Inventory, allow_full_reserve: bool
) -> None:
    check_numbers(name, inventory)
    capacity = capacity_of(
        inventory.total, inventory.reserved, inventory.allocation_ratio
    )
    # The wire contract truncates here, and only here: 0.9 counts as nothing.
    whole = int(capacity)
    if whole < 0 or (whole == 0 and not allow_full_reserve):
        relation = "greater than" if allow_full_reserve else "greater than or equal to"
        raise BadInventory(
            f"Invalid inventory for '{name}' on resource provider "
            f"'{provider.uuid}'. The reserved value is {relation} total."
        )


def check_numbers(name: str, inventory: Inventory) -> None:
    """What no schema stood in front of must not reach the columns.
    Raises BadInventory."""
    is_sound = (
        1 <= inventory.total <= MAX_INT
        and 0 <= inventory.reserved <= MAX_INT
        and 1 <= inventory.min_unit <= MAX_INT
        and 1 <= inventory.max_unit <= MAX_INT
        and 1 <= inventory.step_size <= MAX_INT
        and abs(inventory.allocation_ratio) <= MAX_RATIO
    )
    if not is_sound:
        raise BadInventory(
            f"Invalid inventory for '{name}': numbers are from 1 (reserved: from 0) to "
            f"{MAX_INT}, the ratio at most {MAX_RATIO}; got {inventory}."
        )


def write_row(
    draft: Draft,
    provider: ProviderRow,
    key: int,
    old: InventoryRow | None,
    inventory: Inventory,
) -> None:
    """A provider's inventory of one class becomes ``inventory``."""
    row = InventoryRow(
        draft.new_id(t.INVENTORIES) if old is None else old.id,
        provider.id,
        key,
        int(inventory.total),
        int(inventory.reserved),
        int(inventory.min_unit),
        int(inventory.max_unit),
        int(inventory.step_size),
        float(inventory.allocation_ratio),
        draft.now if old is None else old.created_at,
        None if old is None else draft.now,
    )
    draft.change(t.INVENTORIES, old, row)


def _answer_one(
    draft: Draft, provider: ProviderRow, name: str, inventory: Inventory
) -> ProviderInventories:
    bumped = draft.bump(provider)
    return ProviderInventories(bumped.generation, {name: inventory}, draft.now)
