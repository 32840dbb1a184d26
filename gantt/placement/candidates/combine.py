"""Join the needs of a request within one tree: who gives what.

A walk over the needs, one provider for each, that goes back as soon as the rest cannot
be met. It is lazy, so that a limit ends the work, and it never enters a second time a
situation that led nowhere. Equal providers make equal situations, so what fails for one
of eight equal children is not tried for the other seven.
"""

from __future__ import annotations

from collections.abc import Iterator

from gantt.placement.candidates.tree import Shape, Tree, plant, profiles_of

# The provider of each need, in the order of the needs.
Pick = tuple[int, ...]


class Spent(Exception):
    """The work budget is at its end."""


class Budget:
    """How many steps a search may take; None: any number."""

    def __init__(self, limit: int | None = None) -> None:
        self.limit = limit
        self.steps = 0

    def spend(self) -> None:
        """Count one step. Raises Spent."""
        if self.limit is not None and self.steps >= self.limit:
            raise Spent
        self.steps += 1


def combine(shape: Shape, root: int, budget: Budget) -> Iterator[Pick]:
    """Every way to meet all needs in and around the tree of ``root``, once."""
    budget.spend()
    tree = plant(shape, root)
    if tree is not None:
        yield from _Walk(shape, tree, budget).picks()


class _Walk:
    """The needs in order of scarcity, and where each has been placed so far."""

    def __init__(self, shape: Shape, tree: Tree, budget: Budget) -> None:
        self._shape, self._tree, self._budget = shape, tree, budget
        needs = shape.question.needs
        self._order = sorted(range(len(needs)), key=lambda n: len(tree.pools[n]))
        self._shares = shape.shares
        self._chosen: list[int | None] = [None] * len(needs)
        self._kinds_on: dict[int, list[int]] = {}
        self._isolated: set[int] = set()
        self._left = dict(tree.left)
        self._later = self._bits_to_come()
        self._borne = [0]
        self._pool_bits = [
            0 if tree.kinship is None else tree.kinship.bits(pool)
            for pool in tree.pools
        ]
        self._dead_ends: set[object] = set()
        self._profiles: dict[int, int] | None = None

    def picks(self) -> Iterator[Pick]:
        """Walk; yield whenever every need has its provider."""
        last = len(self._order) - 1
        pending = [iter(self._tree.pools[self._order[0]])]
        has_led = [False]
        while pending:
            depth = len(pending) - 1
            row = next(pending[-1], None)
            if row is None:
                self._leave(pending, has_led)
                continue
            self._budget.spend()
            if not self._may_place(depth, row):
                continue
            self._place(depth, row)
            if depth == last:
                has_led[-1] = True
                yield tuple(row for row in self._chosen if row is not None)
            elif not (self._dead_ends and self._situation() in self._dead_ends):
                pending.append(iter(self._tree.pools[self._order[depth + 1]]))
                has_led.append(False)
                continue
            self._take_back(depth)

    def _leave(self, pending: list[Iterator[int]], has_led: list[bool]) -> None:
        """All providers of a need are tried: back to the need before it."""
        pending.pop()
        is_alive = has_led.pop()
        if not pending:
            return
        if is_alive:
            has_led[-1] = True
        else:
            self._dead_ends.add(self._situation())
        self._take_back(len(pending) - 1)

    def _may_place(self, depth: int, row: int) -> bool:
        need = self._order[depth]
        if self._shape.isolated[need] and row in self._isolated:
            return False
        if any(self._left[row, c] < amount for c, amount in self._shares[need]):
            return False
        shape = self._shape
        if shape.together:
            bits = self._borne[-1] | self._later[depth + 1]
            if shape.question.needs[need].is_spread:
                bits |= self._tree.bears[row]
            if bits != (1 << len(shape.together)) - 1:
                return False
        if not shape.question.request.nested and self._has_kin(row):
            return False
        return all(
            self._is_one_subtree(subtree, need, row)
            for subtree in shape.subtrees
            if need in subtree
        )

    def _has_kin(self, row: int) -> bool:
        """Whether another provider of the tree of ``row`` gives something already."""
        home = self._shape.question.state.providers.root
        return any(
            other != row and home[other] == home[row] for other in self._kinds_on
        )

    def _is_one_subtree(self, subtree: tuple[int, ...], need: int, row: int) -> bool:
        kinship = self._tree.kinship
        assert kinship is not None
        placed, waiting = [row], []
        for other in subtree:
            chosen = self._chosen[other]
            if chosen is not None:
                placed.append(chosen)
            elif other != need:
                waiting.append(self._pool_bits[other])
        return kinship.can_hold(placed, waiting)

    def _place(self, depth: int, row: int) -> None:
        need = self._order[depth]
        self._chosen[need] = row
        self._kinds_on.setdefault(row, []).append(self._shape.kinds[need])
        if self._shape.isolated[need]:
            self._isolated.add(row)
        for class_index, amount in self._shares[need]:
            self._left[row, class_index] -= amount
        is_spread = self._shape.question.needs[need].is_spread
        self._borne.append(
            self._borne[-1] | (self._tree.bears[row] if is_spread else 0)
        )

    def _take_back(self, depth: int) -> None:
        need = self._order[depth]
        row = self._chosen[need]
        assert row is not None
        self._chosen[need] = None
        self._kinds_on[row].pop()
        if not self._kinds_on[row]:
            del self._kinds_on[row]
        if self._shape.isolated[need]:
            self._isolated.discard(row)
        for class_index, amount in self._shares[need]:
            self._left[row, class_index] += amount
        self._borne.pop()

    def _situation(self) -> object:
        """Equal for states of the walk that can be continued in the same ways, up to
        an exchange of equal providers."""
        profiles = self._profiles
        if profiles is None:
            profiles = self._profiles = profiles_of(self._shape, self._tree)
        used = [
            (profiles[row], tuple(sorted(kinds)))
            for row, kinds in self._kinds_on.items()
        ]
        used.sort()
        return tuple(used)

    def _bits_to_come(self) -> list[int]:
        """Per depth, what traits the providers of the needs from there on may add."""
        later = [0]
        for need in reversed(self._order):
            bits = later[0]
            if self._shape.question.needs[need].is_spread:
                for row in self._tree.pools[need]:
                    bits |= self._tree.bears[row]
            later.insert(0, bits)
        return later
