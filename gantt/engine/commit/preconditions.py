"""What a batch relies on besides the rows that it changes.

Placement raises no generation when it changes the aggregates of a provider, the name of
a resource class, or a parent; so these rows are checked whenever a batch writes what
depends on them. A pure function: the columns, with the batch assumed, determine what
the tables must hold after it. A claim (allocations, consumers, generations) relies on
nothing else, unless it takes from an unknown consumer.
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter
from typing import Final

from msgspec import Struct

from gantt.model import rows as t
from gantt.model.changes import Change
from gantt.model.rows import InventoryRow, Key, ProviderRow
from gantt.state.state import State
from gantt.store.interface import Precondition

Relied = tuple[str, Key | str]
"""A table, and which rows of it: of PROVIDER_AGGREGATES those of a provider, of
CONSUMERS those with a uuid, else the row with a key."""

_PROVIDER: Final = (
    "id",
    "uuid",
    "generation",
    "root_provider_id",
    "parent_provider_id",
)
_QUIET: Final = frozenset(
    {t.ALLOCATIONS, t.CONSUMERS, t.PROJECTS, t.USERS, t.CONSUMER_TYPES, t.AGGREGATES}
    | t.FLEET
)


class _Wanted(Struct):
    """Keys of the rows to check, collected from changes and rules."""

    members: set[int] = set()
    providers: set[int] = set()
    parents: set[int] = set()
    dropped_classes: set[int] = set()
    consumers: set[str] = set()
    classes: set[int] = set()
    traits: set[int] = set()

    def take(self, changes: Iterable[Change]) -> None:
        """Changes that rely on more than their own row."""
        for change in changes:
            table, key, new = change.table, change.key, change.new
            if table in _QUIET:
                continue
            if isinstance(key, tuple):
                if table == t.PROVIDER_AGGREGATES:
                    self.members.add(key[0])
                    self.providers.add(key[0])
                elif new is not None:
                    self.traits.add(key[1])
            elif table == t.PROVIDERS:
                self._take_provider(key, change.old, new)
            elif isinstance(new, InventoryRow):
                self.classes.add(new.resource_class_id)
            elif table == t.RESOURCE_CLASSES and new is None:
                self.dropped_classes.add(key)

    def _take_provider(self, key: int, old: object, new: object) -> None:
        if not isinstance(new, ProviderRow):
            self.members.add(key)  # no constraint keeps them from being left behind
            return
        root, parent = new.root_provider_id, new.parent_provider_id
        if isinstance(old, ProviderRow):
            if (old.root_provider_id, old.parent_provider_id) == (root, parent):
                return
            self.parents.add(key)
        if parent is not None:
            self.providers.add(parent)

    def rely(self, table: str, key: Key | str) -> None:
        """What a rule declared that it relies on."""
        if isinstance(key, str):
            assert table == t.CONSUMERS, f"no row of {table} has the key {key}"
            self.consumers.add(key)
            return
        assert isinstance(key, int), f"no row of {table} has the key {key}"
        if table == t.PROVIDER_AGGREGATES:
            self.members.add(key)
            self.providers.add(key)
        elif table == t.PROVIDERS:
            self.providers.add(key)
        elif table == t.TRAITS:
            self.traits.add(key)
        else:
            assert table == t.RESOURCE_CLASSES, f"nothing relies on {table}"
            self.classes.add(key)


def preconditions(
    state: State, changes: Iterable[Change], relied: Iterable[Relied] = ()
) -> tuple[Precondition, ...]:
    """What the tables must hold besides ``changes``, which are applied to ``state``."""
    wanted = _Wanted()
    wanted.take(changes)
    for table, key in relied:
        wanted.rely(table, key)
    found: list[Precondition] = []
    if wanted.members:
        found.append(_members(state, wanted.members))
    if wanted.providers:
        found.append(_providers(state, wanted.providers))
    if wanted.parents:
        found.append(_children(state, wanted.parents))
    if wanted.dropped_classes:
        found.append(_without_inventory(state, wanted.dropped_classes))
    if wanted.consumers:
        found.append(_consumers(state, wanted.consumers))
    if wanted.classes:
        found.append(_names(state, t.RESOURCE_CLASSES, wanted.classes))
    if wanted.traits:
        found.append(_names(state, t.TRAITS, wanted.traits))
    # Without the rows that the batch itself deletes there may be none.
    return tuple(filter(attrgetter("keys"), found))


def _precondition(
    table: str,
    by: str,
    columns: tuple[str, ...],
    keys: Iterable[int] | Iterable[str],
    rows: Iterable[tuple[int | str, ...]],
) -> Precondition:
    return Precondition(table, by, columns, tuple(sorted(keys)), frozenset(rows))


def _members(state: State, keys: set[int]) -> Precondition:
    """Aggregates of providers; deleted providers have none."""
    found = [
        (key, state.aggregates.at(label).id)
        for key in keys
        if state.providers.get(key) is not None
        for label in state.provider_aggregates.labels_of(state.providers.row_by_id[key])
    ]
    columns = ("resource_provider_id", "aggregate_id")
    return _precondition(t.PROVIDER_AGGREGATES, columns[0], columns, keys, found)


def _providers(state: State, keys: set[int]) -> Precondition:
    found = [row for key in keys if (row := state.providers.get(key)) is not None]
    return _precondition(
        t.PROVIDERS,
        "id",
        _PROVIDER,
        keys,
        (
            (
                row.id,
                row.uuid,
                row.generation,
                row.root_provider_id,
                row.parent_provider_id or 0,
            )
            for row in found
        ),
    )


def _children(state: State, keys: set[int]) -> Precondition:
    """The children of providers that were moved, and the roots of their trees."""
    providers = state.providers
    alive = [key for key in keys if providers.get(key) is not None]
    found = [
        (int(providers.id[child]), int(providers.id[providers.root[child]]))
        for key in alive
        for child in providers.forest.children(providers.row_by_id[key])
    ]
    columns = ("id", "root_provider_id")
    return _precondition(t.PROVIDERS, "parent_provider_id", columns, alive, found)


def _without_inventory(state: State, keys: set[int]) -> Precondition:
    gone = [key for key in keys if state.classes.get(key) is None]
    return _precondition(t.INVENTORIES, "resource_class_id", ("id",), gone, ())


def _consumers(state: State, uuids: set[str]) -> Precondition:
    """None, where the batch itself does not make it."""
    found = [row for uuid in uuids if (row := state.consumers.find(uuid)) is not None]
    rows = ((row.id, row.uuid) for row in found)
    return _precondition(t.CONSUMERS, "uuid", ("id", "uuid"), uuids, rows)


def _names(state: State, table: str, keys: set[int]) -> Precondition:
    names = state.names[table]
    found: dict[int, str] = {}
    for key in keys:
        if (row := names.get(key)) is not None:
            found[row.id] = row.name
    return _precondition(table, "id", ("id", "name"), found, found.items())
