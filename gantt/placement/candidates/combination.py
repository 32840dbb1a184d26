"""Join the needs of a request within one tree: which provider gives what.

A walk over the needs, one provider for each, that goes back as soon as the rest cannot
be met. It is lazy, so that a limit ends the work, and it never enters a second time a
situation that led nowhere. Equal providers make equal situations, so what fails for one
of eight equal children is not tried for the other seven. Nor is a tree walked whose
like has been walked to the end.
"""

from __future__ import annotations

from collections.abc import Iterator

from gantt.placement.candidates.tree import (
    SearchShape,
    Tree,
    bits,
    can_match,
    plant,
    profiles_of,
)
from gantt.state.view import View

# The provider of each need, in the order of the needs: its row, or in a walk its place.
Combination = tuple[int, ...]

# So many different trees are remembered, each of at most ``_SIZE`` providers and
# combinations.
_TREES, _SIZE = 64, 1024


class Spent(Exception):
    """The work budget is at its end."""


class Budget:
    """How many steps a search may take; None: any number."""

    def __init__(self, limit: int | None = None) -> None:
        self.limit = limit
        self.steps = 0

    def renew(self) -> None:
        """Grants as many steps once more."""
        self.steps = 0

    def spend(self, steps: int = 1) -> None:
        """Count ``steps``. Raises Spent when there are not as many."""
        self.steps += steps
        if self.limit is not None and self.steps > self.limit:
            self.steps = self.limit
            raise Spent


def combine(
    shape: SearchShape, root: int, budget: Budget, view: View | None = None
) -> Iterator[Combination]:
    """Every way to meet all needs in and around the tree of ``root``, as ``view`` has
    it, once."""
    budget.spend()
    tree, rows = plant(shape, root, view)
    row_at = rows.__getitem__
    combinations = shape.walked.get(tree)
    if combinations is not None:
        budget.spend(len(combinations))
        for combination in combinations:
            yield tuple(map(row_at, combination))
    elif can_match(shape, tree):
        found: list[Combination] = []
        for combination in _Walk(shape, tree, len(rows), budget).combinations():
            if len(found) <= _SIZE:
                found.append(combination)
            yield tuple(map(row_at, combination))
        # Not reached by a caller that stops half way: what is remembered is whole.
        if max(len(found), len(rows)) <= _SIZE and len(shape.walked) < _TREES:
            shape.walked[tree] = tuple(found)


class _Walk:
    """The needs in order of scarcity, and where each has been placed so far."""

    def __init__(
        self, shape: SearchShape, tree: Tree, size: int, budget: Budget
    ) -> None:
        self._shape, self._tree, self._budget = shape, tree, budget
        self._size = size
        needs = shape.resolved.needs
        self._order = sorted(range(len(needs)), key=lambda n: len(tree.pools[n]))
        self._shares = [
            [(index, amount) for index, amount in shares if tree.left[index]]
            for shares in shape.shares
        ]
        self._chosen = [0] * len(needs)
        self._isolated: set[int] = set()
        self._left = [list(left) for left in tree.left]
        self._later = self._bits_to_come()
        self._borne = [0]
        self._pool_bits = [bits(pool) for pool in tree.pools] if tree.kinship else []
        self._is_joined = bool(shape.together or tree.homes or tree.kinship)
        self._dead_ends: set[object] = set()
        self._profiles: list[int] = []
        self._before = self._alike() if shape.families else [None] * len(needs)

    def combinations(self) -> Iterator[Combination]:
        """Walk; yield whenever every need has its provider."""
        chosen, last = self._chosen, len(self._order) - 1
        pending = [iter(self._open(0))]
        has_led = [False]
        while pending:
            depth = len(pending) - 1
            need = self._order[depth]
            if depth == last:
                for place in pending[-1]:
                    chosen[need], has_led[-1] = place, True
                    yield tuple(chosen)
            following = next(pending[-1], None)
            if following is None:
                self._leave(pending, has_led)
                continue
            chosen[need] = following
            if self._dead_ends and self._situation(depth) in self._dead_ends:
                continue
            self._place(need, following)
            pool = self._open(depth + 1)
            rest = self._from(depth + 1, pool)
            pending.append(iter(rest))
            # What is left out leads where an exchange of it does: that is no dead end.
            has_led.append(len(rest) < len(pool))

    def _leave(self, pending: list[Iterator[int]], has_led: list[bool]) -> None:
        """All providers of a need are tried: back to the need before it."""
        pending.pop()
        is_alive = has_led.pop()
        if not pending:
            return
        depth = len(pending) - 1
        if is_alive:
            has_led[-1] = True
        else:
            self._dead_ends.add(self._situation(depth))
        self._take_back(self._order[depth])

    def _open(self, depth: int) -> list[int] | tuple[int, ...]:
        """Which can meet the need at ``depth``, as those before it have been met."""
        need = self._order[depth]
        pool: list[int] | tuple[int, ...] = self._tree.pools[need]
        self._budget.spend(len(pool))
        if self._shape.isolated[need]:
            pool = [place for place in pool if place not in self._isolated]
        for index, amount in self._shares[need]:
            left = self._left[index]
            pool = [place for place in pool if left[place] >= amount]
        if self._is_joined:
            pool = [place for place in pool if self._may_join(depth, place)]
        return pool

    def _from(
        self, depth: int, pool: list[int] | tuple[int, ...]
    ) -> list[int] | tuple[int, ...]:
        """``pool`` from the provider on that the last need alike has."""
        last = self._before[self._order[depth]]
        if last is None:
            return pool
        return [place for place in pool if place >= self._chosen[last]]

    def _alike(self) -> list[int | None]:
        """Per need the one before it in the order with which it can be exchanged."""
        shape, pools = self._shape, self._tree.pools
        found: list[int | None] = [None] * len(pools)
        seen: dict[object, int] = {}
        for need in self._order:
            key = shape.kinds[need], shape.families[need], pools[need]
            found[need] = seen.get(key)
            seen[key] = need
        return found

    def _may_join(self, depth: int, place: int) -> bool:
        """Whether ``place`` goes with those chosen, by traits and by kin."""
        shape, tree = self._shape, self._tree
        need, before = self._order[depth], self._order[:depth]
        if shape.together:
            borne = self._borne[-1] | self._later[depth + 1]
            if shape.resolved.needs[need].is_spread:
                borne |= tree.bears[place]
            if borne != (1 << len(shape.together)) - 1:
                return False
        if tree.homes and any(
            other != place and tree.homes[other] == tree.homes[place]
            for other in (self._chosen[n] for n in before)
        ):
            return False
        return all(
            self._is_one_subtree(subtree, depth, place)
            for subtree in shape.subtrees
            if need in subtree
        )

    def _is_one_subtree(self, subtree: tuple[int, ...], depth: int, place: int) -> bool:
        kinship = self._tree.kinship
        assert kinship is not None
        before, after = self._order[:depth], self._order[depth + 1 :]
        placed = [place, *(self._chosen[n] for n in before if n in subtree)]
        waiting = [self._pool_bits[n] for n in after if n in subtree]
        return kinship.can_hold(placed, waiting)

    def _place(self, need: int, place: int) -> None:
        if self._shape.isolated[need]:
            self._isolated.add(place)
        for index, amount in self._shares[need]:
            self._left[index][place] -= amount
        if self._shape.together:
            is_spread = self._shape.resolved.needs[need].is_spread
            bears = self._tree.bears[place] if is_spread else 0
            self._borne.append(self._borne[-1] | bears)

    def _take_back(self, need: int) -> None:
        place = self._chosen[need]
        if self._shape.isolated[need]:
            self._isolated.discard(place)
        for index, amount in self._shares[need]:
            self._left[index][place] += amount
        if self._shape.together:
            self._borne.pop()

    def _situation(self, depth: int) -> object:
        """Equal for states of the walk that can be continued in the same ways, up to
        an exchange of equal providers."""
        if not self._profiles:
            self._profiles = profiles_of(self._tree, self._size)
        kinds_on: dict[int, list[int]] = {}
        for need in self._order[: depth + 1]:
            kinds = kinds_on.setdefault(self._chosen[need], [])
            kinds.append(self._shape.kinds[need])
        return tuple(
            sorted(
                (self._profiles[place], tuple(sorted(kinds)))
                for place, kinds in kinds_on.items()
            )
        )

    def _bits_to_come(self) -> list[int]:
        """Per depth, what traits the providers of the needs from there on may add."""
        later = [0]
        for need in reversed(self._order):
            found = later[0]
            if self._shape.together and self._shape.resolved.needs[need].is_spread:
                for place in self._tree.pools[need]:
                    found |= self._tree.bears[place]
            later.insert(0, found)
        return later
