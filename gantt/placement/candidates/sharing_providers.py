"""Which providers share, and with which trees.

Sharing is the one way for a tree to use a provider outside it. It is separate because
it is the one part of the search where a provider counts under several roots. A tree may
use a sharing provider if a member, at any depth, is in one of its aggregates: so
questions go from sharing providers to aggregates and from these to roots, in a few
passes for all of them, however many share.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from msgspec import Struct

from gantt.model.names import SHARES_VIA_AGGREGATE
from gantt.state.column import Bools, Float32s, Int32s, Int64s
from gantt.state.state import State


class SharingProviders:
    """The sharing providers of a State, as long as one search lasts: ``mask``,
    bool[providers], and ``rows``, the oldest first. Roots are rows of providers."""

    def __init__(self, state: State) -> None:
        self._state = state
        trait = state.traits.index_of(SHARES_VIA_AGGREGATE)
        height = state.providers.height
        self.mask: Bools = (
            np.zeros(height, np.bool_)
            if trait is None
            else state.provider_traits.any_of((trait,), height)
        )
        rows = np.flatnonzero(self.mask)
        self._rows = rows[np.argsort(state.providers.id[rows])]
        self.rows: tuple[int, ...] = tuple(self._rows.tolist())

    def reach(self, givers: Bools) -> Bools:
        """bool[providers]: roots of trees that may use one of the sharing providers in
        ``givers`` (bool[providers])."""
        found = np.zeros(len(self.mask), np.bool_)
        rows = self._rows[givers[self._rows]]
        if len(rows):
            members = self._state.provider_aggregates.any_like(rows, len(found))
            found[self._state.providers.root[: len(found)][members]] = True
        return found

    def reaching(self, roots: Bools) -> Bools:
        """bool[providers]: sharing providers that a tree of ``roots`` may use."""
        found = np.zeros(len(self.mask), np.bool_)
        ties = self._ties
        taken = np.zeros(ties.height, np.bool_)
        taken[ties.labels[roots[ties.roots]]] = True
        found[ties.givers[taken[ties.of_givers]]] = True
        return found

    def least(self, costs: Float32s) -> Float32s:
        """float32[providers]: for each root the least of ``costs`` (float32[providers])
        of the sharing providers that its tree may use; infinite where it may none."""
        ties = self._ties
        of_label = np.full(ties.height, np.inf, np.float32)
        np.minimum.at(of_label, ties.of_givers, costs[ties.givers])
        found = np.full(len(self.mask), np.inf, np.float32)
        np.minimum.at(found, ties.roots, of_label[ties.labels])
        return found

    def around(self, root: int) -> set[int]:
        """Rows of the sharing providers that the tree of ``root`` may use."""
        found: set[int] = set()
        if self.rows:
            labels_of = self._state.provider_aggregates.labels_of
            for member in self._state.providers.forest.subtree(root):
                for label in labels_of(member):
                    found.update(self._by_label.get(label, ()))
        return found

    @cached_property
    def _by_label(self) -> dict[int, list[int]]:
        """By aggregate, the rows of its sharing providers."""
        found: dict[int, list[int]] = {}
        givers, labels = self._state.provider_aggregates.pairs(self._rows)
        for label, row in zip(labels.tolist(), givers.tolist(), strict=True):
            found.setdefault(label, []).append(row)
        return found

    @cached_property
    def _ties(self) -> _Ties:
        """For what asks about single trees and sharing providers: explanations."""
        aggregates = self._state.provider_aggregates
        members, labels = aggregates.bearers_like(self._rows, len(self.mask))
        givers, of_givers = aggregates.pairs(self._rows)
        roots, height = self._state.providers.root[members], labels.max(initial=-1) + 1
        return _Ties(roots, labels, givers, of_givers, int(height))


class _Ties(Struct, frozen=True, eq=False):
    """Aggregates of sharing providers, for each pair: the root of a member and
    the label, a sharing provider and the label. ``height``: above all labels."""

    roots: Int32s
    labels: Int64s
    givers: Int64s
    of_givers: Int64s
    height: int
