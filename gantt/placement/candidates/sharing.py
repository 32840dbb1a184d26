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

from gantt.model.names import SHARES_VIA_AGGREGATE
from gantt.state.column import Bools, Float32s
from gantt.state.state import State


class Sharing:
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
        order = np.argsort(state.providers.id[rows])
        self.rows: tuple[int, ...] = tuple(rows[order].tolist())
        # Aggregates of sharing providers, and all that are in them: a pair each.
        members, self._labels = state.provider_aggregates.bearers_like(rows, height)
        self._roots = state.providers.root[members]
        is_giver = self.mask[members]
        self._givers, self._of_givers = members[is_giver], self._labels[is_giver]
        self._height = int(self._labels.max(initial=-1)) + 1

    def reach(self, givers: Bools) -> Bools:
        """bool[providers]: roots of trees that may use one of the sharing providers in
        ``givers`` (bool[providers])."""
        found = np.zeros(len(self.mask), np.bool_)
        given = np.zeros(self._height, np.bool_)
        given[self._of_givers[givers[self._givers]]] = True
        found[self._roots[given[self._labels]]] = True
        return found

    def reaching(self, roots: Bools) -> Bools:
        """bool[providers]: sharing providers that a tree of ``roots`` may use."""
        found = np.zeros(len(self.mask), np.bool_)
        taken = np.zeros(self._height, np.bool_)
        taken[self._labels[roots[self._roots]]] = True
        found[self._givers[taken[self._of_givers]]] = True
        return found

    def least(self, costs: Float32s) -> Float32s:
        """float32[providers]: for each root the least of ``costs`` (float32[providers])
        of the sharing providers that its tree may use; infinite where it may none."""
        of_label = np.full(self._height, np.inf, np.float32)
        np.minimum.at(of_label, self._of_givers, costs[self._givers])
        found = np.full(len(self.mask), np.inf, np.float32)
        np.minimum.at(found, self._roots, of_label[self._labels])
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
        pairs = zip(self._of_givers.tolist(), self._givers.tolist(), strict=True)
        for label, row in pairs:
            found.setdefault(label, []).append(row)
        return found
