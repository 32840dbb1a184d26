"""What is left of a resource class in the trees of hosts, provider by provider.

Apart from the inventories because weighers ask by host: they read columns of hosts, in
which a GPU below a host has no place. The slots of each tree are found once, as long as
neither trees nor inventories of the class come or go.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from gantt.state.column import NO_ROW, Floats, Int32s, Int64s
from gantt.state.inventory_columns import ClassTable, Inventories
from gantt.state.name_table import NameTable
from gantt.state.provider_columns import Providers


class _Slots(Struct, frozen=True, eq=False):
    """``place``: int64[providers], the line of ``slots`` of each root; NO_ROW: its tree
    has none. ``slots``: int64[trees, width], NO_ROW where a tree has fewer. As of
    ``stamp``."""

    stamp: tuple[int, int, int]
    place: Int64s
    slots: Int64s


class TreeRooms:
    """The room of the trees of one State, whose tables it reads."""

    def __init__(
        self, providers: Providers, inventories: Inventories, classes: NameTable
    ) -> None:
        self._providers, self._inventories = providers, inventories
        self._classes = classes
        self._known: dict[str, _Slots] = {}

    def left(self, roots: Int32s, resource_class: str) -> Floats:
        """float64[n, width]: what each provider in the trees of ``roots`` (int32[n],
        NO_ROW: none) has left of a class, oldest first; -1.0 where a tree has fewer
        with an inventory of it than others. ``width`` may be 0."""
        index = self._classes.index_of(resource_class)
        table = None if index is None else self._inventories.table(index)
        if table is None:
            return np.empty((len(roots), 0))
        known = self._slots(resource_class, table)
        lines = np.full(len(roots), NO_ROW, np.int64)
        is_known = (roots >= 0) & (roots < len(known.place))
        lines[is_known] = known.place[roots[is_known]]
        slots = known.slots[lines]
        found = np.maximum(table.capacity[slots] - table.used[slots], 0.0)
        found[(slots == NO_ROW) | (lines == NO_ROW)[:, None]] = -1.0
        return found

    def _slots(self, resource_class: str, table: ClassTable) -> _Slots:
        stamp = self._classes.moves, self._providers.structure, table.moves
        known = self._known.get(resource_class)
        if known is None or known.stamp != stamp:
            known = self._known[resource_class] = self._found(stamp, table)
        return known

    def _found(self, stamp: tuple[int, int, int], table: ClassTable) -> _Slots:
        live = np.flatnonzero(table.is_live[: table.height])
        owners = table.provider[live].astype(np.int64)
        order = np.argsort(owners, kind="stable")
        live, owners = live[order], owners[order]
        roots = self._providers.root[owners].astype(np.int64)
        order = np.argsort(roots, kind="stable")
        live, roots = live[order], roots[order]
        trees, starts, counts = np.unique(roots, return_index=True, return_counts=True)
        place = np.full(self._providers.height, NO_ROW, np.int64)
        place[trees] = np.arange(len(trees))
        width = int(counts.max(initial=0))
        slots = np.full((max(1, len(trees)), width), NO_ROW, np.int64)
        column = np.arange(len(live)) - np.repeat(starts, counts)
        slots[np.repeat(np.arange(len(trees)), counts), column] = live
        return _Slots(stamp, place, slots)
