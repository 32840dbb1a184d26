"""Questions about what stands in the books: pure functions of State.

None means that the object asked about does not exist; what to say of that is the
door's business.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from gantt.errors import UnknownName, UnknownResourceClass
from gantt.model.answers import (
    ConsumerShare,
    ConsumerView,
    Name,
    Provider,
    ProviderAggregates,
    ProviderAllocations,
    ProviderInventories,
    ProviderShare,
    ProviderTraits,
    ProviderUsages,
)
from gantt.model.commands import Inventory
from gantt.model.requests import Labels, ProviderQuery, TraitQuery
from gantt.model.rows import NameRow
from gantt.state.allocation_columns import NO_ID
from gantt.state.bits import BitMatrix
from gantt.state.column import NO_ROW, Bools, time_out
from gantt.state.name_table import NameTable
from gantt.state.state import State


def providers(state: State, query: ProviderQuery) -> tuple[Provider, ...]:
    """Providers that match every part of ``query``, oldest first.

    Each must satisfy ``resources`` alone. Raises UnknownName.
    """
    table = state.providers
    mask = table.is_live[: table.height].copy()
    if query.in_tree is not None:
        tree = table.row_of(query.in_tree)
        if tree is None:
            return ()
        mask &= table.root[: table.height] == table.root[tree]
    labelled = _labelled(state, query)
    if labelled is None:
        return ()
    mask &= labelled
    for class_index, amount in class_amounts(state, query.resources).items():
        mask &= with_room(state, class_index, amount)
    rows = [row for row in _named(state, query) if mask[row]]
    if query.uuid is None and query.name is None:
        found = np.flatnonzero(mask)
        rows = found[np.argsort(table.id[found], kind="stable")].tolist()
    return tuple(view(state, row) for row in rows)


def _labelled(state: State, query: ProviderQuery) -> Bools | None:
    """bool[providers]: which have the traits and aggregates asked for, or None as soon
    as it is plain that none has.

    As upstream: an unknown name is no error when no provider is left to be asked about
    it.
    """
    height = state.providers.height
    live = state.providers.is_live[:height]
    required, _ = trait_indexes(state, Labels(required=query.traits.required))
    mask = live & bearing(state.provider_traits, required, frozenset(), height)
    if required and not mask.any():
        return None
    _, forbidden = trait_indexes(state, Labels(forbidden=query.traits.forbidden))
    mask &= bearing(state.provider_traits, (), forbidden, height)
    among = Labels(required=query.member_of.required)
    if among and not (live & members(state, among)).any():
        return None
    return mask & members(state, query.member_of)


def provider(state: State, uuid: str) -> Provider | None:
    row = state.providers.row_of(uuid)
    return None if row is None else view(state, row)


def inventories(state: State, uuid: str) -> ProviderInventories | None:
    """All inventories of a provider, by ascending class id."""
    row = state.providers.row_of(uuid)
    if row is None:
        return None
    found: dict[str, Inventory] = {}
    latest: int | None = None
    for class_index in state.inventories.classes_of(row):
        place = state.inventories.slot(row, class_index)
        assert place is not None
        table, slot = place
        found[state.classes.at(class_index).name] = Inventory(
            int(table.total[slot]),
            int(table.reserved[slot]),
            int(table.min_unit[slot]),
            int(table.max_unit[slot]),
            int(table.step_size[slot]),
            float(table.allocation_ratio[slot]),
        )
        at = time_out(table.updated_at[slot]) or time_out(table.created_at[slot])
        latest = _later(latest, at)
    return ProviderInventories(int(state.providers.generation[row]), found, latest)


def usages(state: State, uuid: str) -> ProviderUsages | None:
    """What is used of each class that a provider has."""
    row = state.providers.row_of(uuid)
    if row is None:
        return None
    found: dict[str, int] = {}
    for class_index in state.inventories.classes_of(row):
        amounts = state.inventories.amounts_at(row, class_index)
        assert amounts is not None
        found[state.classes.at(class_index).name] = amounts[1]
    return ProviderUsages(int(state.providers.generation[row]), found)


def touched_inventories(
    state: State, uuid: str
) -> tuple[ProviderInventories | None, int]:
    """What ``inventories`` answers, and when the provider last changed
    (``State.applied``)."""
    return inventories(state, uuid), _touched(state, uuid)


def touched_usages(state: State, uuid: str) -> tuple[ProviderUsages | None, int]:
    """What ``usages`` answers, and when the provider last changed
    (``State.applied``)."""
    return usages(state, uuid), _touched(state, uuid)


def _touched(state: State, uuid: str) -> int:
    """What does not exist may have been there before any change."""
    row = state.providers.row_of(uuid)
    return state.applied if row is None else state.providers.touched.item(row)


def aggregates(state: State, uuid: str) -> ProviderAggregates | None:
    """The aggregates of a provider, oldest first."""
    row = state.providers.row_of(uuid)
    if row is None:
        return None
    found = _labels_of(state.provider_aggregates, state.aggregates, row)
    names = tuple(aggregate.name for aggregate in found)
    return ProviderAggregates(int(state.providers.generation[row]), names)


def traits(state: State, uuid: str) -> ProviderTraits | None:
    """The traits of a provider, oldest first."""
    row = state.providers.row_of(uuid)
    if row is None:
        return None
    latest: int | None = None
    names = []
    for trait_row in _labels_of(state.provider_traits, state.traits, row):
        names.append(trait_row.name)
        latest = _later(latest, trait_row.updated_at or trait_row.created_at)
    generation = int(state.providers.generation[row])
    return ProviderTraits(generation, tuple(names), latest)


def provider_allocations(state: State, uuid: str) -> ProviderAllocations | None:
    """The allocations on a provider, oldest first."""
    row = state.providers.row_of(uuid)
    if row is None:
        return None
    table = state.allocations
    latest: int | None = None
    for number in table.by_provider.rows_of(row):
        latest = _later(latest, time_out(table.created_at[number]))
    found = {
        consumer: ConsumerShare(used, _generation_of(state, consumer))
        for consumer, used in shares_on(state, row).items()
    }
    return ProviderAllocations(int(state.providers.generation[row]), found, latest)


def shares_on(state: State, provider: int) -> dict[str, dict[str, int]]:
    """Consumer -> class -> amount, of the provider at a row, oldest first."""
    table, found = state.allocations, dict[str, dict[str, int]]()
    for row in sorted(table.by_provider.rows_of(provider), key=table.id.item):
        consumer = state.consumers.uuids[table.consumer[row]]
        name = state.classes.at(int(table.class_index[row])).name
        found.setdefault(consumer, {})[name] = table.amount.item(row)
    return found


def amounts_of(state: State, consumer_uuid: str) -> dict[str, dict[str, int]]:
    """What a consumer uses: provider uuid -> class -> amount."""
    found = dict[str, dict[str, int]]()
    number, table = state.consumers.row_by_uuid.get(consumer_uuid), state.allocations
    for row in () if number is None else table.by_consumer.rows_of(number):
        provider = state.providers.uuids[int(table.provider[row])]
        name = state.classes.at(int(table.class_index[row])).name
        found.setdefault(provider, {})[name] = table.amount.item(row)
    return found


def allocations(state: State, consumer_uuid: str) -> ConsumerView | None:
    """What a consumer uses; None when that is nothing."""
    return touched_allocations(state, consumer_uuid)[0]


def touched_allocations(
    state: State, consumer_uuid: str
) -> tuple[ConsumerView | None, int]:
    """What a consumer uses, None when that is nothing; and when that was last changed
    (``State.applied``)."""
    number = state.consumers.row_by_uuid.get(consumer_uuid)
    if number is None:
        return None, state.applied
    table = state.allocations
    rows = sorted(table.by_consumer.rows_of(number), key=table.id.item)
    if not rows:
        return None, state.applied
    providers, consumers = state.providers, state.consumers
    touched = consumers.touched.item(number)
    shares: dict[int, dict[str, int]] = {}
    for row in rows:
        name = state.classes.at(table.class_index.item(row)).name
        shares.setdefault(table.provider.item(row), {})[name] = table.amount.item(row)
    found = {}
    for row, used in shares.items():
        touched = max(touched, providers.touched.item(row))
        found[providers.uuids[row]] = ProviderShare(
            used, providers.generation.item(row)
        )
    # NO_TIME is less than any other.
    latest = time_out(max(map(table.created_at.item, rows)))
    if consumers.id.item(number) == NO_ID:
        return ConsumerView(found, "", "", 0, None, latest), touched
    type_id = consumers.type_id.item(number)
    view = ConsumerView(
        found,
        state.projects.name_of_id(consumers.project_id.item(number)),
        state.users.name_of_id(consumers.user_id.item(number)),
        consumers.generation.item(number),
        None if type_id == NO_ID else state.consumer_types.name_of_id(type_id),
        latest,
    )
    return view, touched


def resource_classes(state: State) -> tuple[Name, ...]:
    """All resource classes by id: the standard ones first."""
    return tuple(_name(row) for row in state.classes.rows())


def resource_class(state: State, name: str) -> Name | None:
    row = state.classes.find(name)
    return None if row is None else _name(row)


def trait_names(state: State, query: TraitQuery) -> tuple[Name, ...]:
    """Traits that match every part of ``query``, by id."""
    found = []
    for row in state.traits.rows():
        if query.names is not None and row.name not in query.names:
            continue
        if query.prefix is not None and not row.name.upper().startswith(
            query.prefix.upper()
        ):
            continue
        if query.is_associated is not None:
            index = state.traits.index_by_id[row.id]
            if state.provider_traits.is_used(index) != query.is_associated:
                continue
        found.append(_name(row))
    return tuple(found)


def trait(state: State, name: str) -> Name | None:
    row = state.traits.find(name)
    return None if row is None else _name(row)


# -- parts that other questions are made of ---------------------------------------


def view(state: State, row: int) -> Provider:
    """The provider at a live row, in uuids."""
    table = state.providers
    parent = int(table.parent[row])
    changed = time_out(table.updated_at[row])
    return Provider(
        table.uuids[row],
        table.names[row],
        int(table.generation[row]),
        None if parent == NO_ROW else table.uuids[parent],
        table.uuids[table.root[row]],
        changed if changed is not None else time_out(table.created_at[row]),
    )


def class_amounts(state: State, resources: dict[str, int]) -> dict[int, int]:
    """Amounts by class index. Raises UnknownResourceClass."""
    amounts = {}
    for name, amount in resources.items():
        index = state.classes.index_of(name)
        if index is None:
            raise UnknownResourceClass(f"No such resource class {name}.")
        amounts[index] = amount
    return amounts


def trait_indexes(
    state: State, traits: Labels
) -> tuple[list[frozenset[int]], frozenset[int]]:
    """(alternatives, forbidden) by trait index. Raises UnknownName for the first
    unknown name in alphabetical order."""

    def index_of(name: str) -> int:
        index = state.traits.index_of(name)
        if index is None:
            raise UnknownName(f"No such trait(s): {name}.")
        return index

    required = [
        frozenset(index_of(name) for name in sorted(names)) for names in traits.required
    ]
    return required, frozenset(index_of(name) for name in sorted(traits.forbidden))


def with_room(state: State, class_index: int, amount: int) -> Bools:
    """bool[providers]: those that alone have room for ``amount`` of a class."""
    mask = np.zeros(state.providers.height, np.bool_)
    table = state.inventories.table(class_index)
    if table is not None:
        mask[table.provider[: table.height][table.has_room(amount)]] = True
    return mask


def bearing(
    matrix: BitMatrix,
    required: Iterable[frozenset[int]],
    forbidden: frozenset[int],
    height: int,
) -> Bools:
    """bool[height]: rows with one label of each required set and none forbidden."""
    mask = np.ones(height, np.bool_)
    for labels in required:
        mask &= matrix.any_of(labels, height)
    if forbidden:
        mask &= ~matrix.any_of(forbidden, height)
    return mask


def members(state: State, aggregates: Labels) -> Bools:
    """bool[providers]: those in one aggregate of each required set, in none forbidden.

    An aggregate that was never named has no members, which is no error.
    """

    def indexes(names: Iterable[str]) -> frozenset[int]:
        found = (state.aggregates.index_of(name) for name in names)
        return frozenset(index for index in found if index is not None)

    return bearing(
        state.provider_aggregates,
        [indexes(names) for names in aggregates.required],
        indexes(aggregates.forbidden),
        state.providers.height,
    )


def _named(state: State, query: ProviderQuery) -> list[int]:
    """The one row that ``query`` names, if it names one and there is one."""
    rows = []
    if query.uuid is not None:
        rows.append(state.providers.row_of(query.uuid))
    if query.name is not None:
        rows.append(state.providers.row_of_name(query.name))
    if None in rows or len(set(rows)) != 1:
        return []
    return [row for row in rows[:1] if row is not None]


def _labels_of(matrix: BitMatrix, names: NameTable, row: int) -> list[NameRow]:
    found = [names.at(label) for label in matrix.labels_of(row)]
    found.sort(key=lambda name: name.id)
    return found


def _generation_of(state: State, consumer_uuid: str) -> int:
    known = state.consumers.find(consumer_uuid)
    return 0 if known is None else known.generation


def _name(row: NameRow) -> Name:
    return Name(row.name, row.updated_at or row.created_at, row.created_at)


def _later(left: int | None, right: int | None) -> int | None:
    if left is None or right is None:
        return right if left is None else left
    return max(left, right)
