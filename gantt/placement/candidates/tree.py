"""One tree as a small problem of its own: its providers, and what each has left.

Built for one root at a time, from masks over all providers to plain tuples of a few
places, so that the walk in ``combine`` touches no array. A place is the index of a
provider among those of use, oldest first: trees of one build are equal whatever their
rows are, and ``combine`` need walk only one of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import compress
from math import gcd

from msgspec import Struct

from gantt.placement.candidates.provider_masks import ResolvedRequest, contested
from gantt.state.column import ANY, NO_ROW
from gantt.state.state import State
from gantt.state.view import View

# Per need what it takes of contested classes: (index in ``contested``, amount).
Shares = tuple[tuple[tuple[int, int], ...], ...]


class Tree(Struct, frozen=True):
    """One tree with the sharing providers around it.

    ``pools``: per need the places that can meet it. ``left``: per contested class what
    each place can give, up to what is wanted in sum; () where each that is asked can
    give it all. ``bears``: per place, as bits, which traits of ``together`` it has.
    ``homes``: equal for places of one tree, () when that does not matter.
    """

    pools: tuple[tuple[int, ...], ...]
    left: tuple[tuple[int, ...], ...]
    bears: tuple[int, ...]
    homes: tuple[int, ...]
    kinship: Kinship | None


class SearchShape(Struct, frozen=True, eq=False):
    """What is the same for every tree of a search.

    Masks are bytes here: reading one byte beats reading an element of an array.
    ``useful``: which can meet some need for its own tree. ``lent``: which can for other
    trees. ``kinds``: needs of one kind do the same to the provider that meets them.
    ``contested``: amounts of the classes of which several needs may want some from one
    provider. ``isolated``: which needs want a provider of their own. ``subtrees``: per
    ``same_subtree`` the indexes of its needs. ``families``: needs of one kind and one
    family are alike to the caller, who wants no answer that only exchanges them; ():
    each is another. ``walked``: what trees came to.
    """

    resolved: ResolvedRequest
    own: tuple[bytes, ...]
    shared: tuple[bytes, ...]
    anchors: tuple[bytes | None, ...]
    useful: bytes
    together: tuple[bytes, ...]
    lent: bytes
    kinds: tuple[int, ...]
    contested: dict[int, list[int]]
    shares: Shares
    isolated: tuple[bool, ...]
    subtrees: tuple[tuple[int, ...], ...]
    families: tuple[str, ...]
    walked: dict[Tree, tuple[tuple[int, ...], ...]]


def shape_of(resolved: ResolvedRequest, *, are_alike: bool = False) -> SearchShape:
    """Prepare ``resolved`` for looking at single trees. ``are_alike``: needs that ask
    for the same under one name and different numbers (``gpu-0``, ``gpu-1``) may be
    exchanged; the wire lists all such answers, a scheduler needs one."""
    needs = resolved.needs
    subtrees = tuple(
        tuple(place for place, need in enumerate(needs) if need.suffix in suffixes)
        for suffixes in resolved.request.same_subtrees
    )
    isolated = tuple(resolved.request.isolate and not need.is_spread for need in needs)
    disputed = _disputed(resolved, isolated)
    effects = [
        (need.amounts, need.is_spread, [place in subtree for subtree in subtrees])
        for place, need in enumerate(needs)
    ]
    return SearchShape(
        resolved,
        tuple(need.own.tobytes() for need in needs),
        tuple(need.shared.tobytes() for need in needs),
        tuple(None if n.anchors is None else n.anchors.tobytes() for n in needs),
        ANY([need.own for need in needs]).tobytes(),
        tuple(mask.tobytes() for mask in resolved.together),
        ANY([need.shared for need in needs]).tobytes(),
        tuple(effects.index(effect) for effect in effects),
        disputed,
        tuple(
            tuple(
                (place, need.amounts[class_index])
                for place, class_index in enumerate(disputed)
                if class_index in need.amounts
            )
            for need in needs
        ),
        isolated,
        subtrees,
        tuple(_family(need.suffix) for need in needs) if are_alike else (),
        {},
    )


def plant(
    shape: SearchShape, root: int, view: View | None = None
) -> tuple[Tree, list[int]]:
    """The tree of ``root``, as ``view`` has it, and the row at each place."""
    resolved = shape.resolved
    rows, guests = _rows(shape, root)
    pools = tuple(
        _pool(shape, need, root, rows, guests) for need in range(len(shape.own))
    )
    less: dict[tuple[int, int], int] = {}
    if view is not None:
        less = _less(shape, rows, view)
        pools = tuple(
            _with_room(shape, need, pool, rows, less) if less else pool
            for need, pool in enumerate(pools)
        )
    homes: tuple[int, ...] = ()
    if not resolved.request.nested:
        roots = resolved.state.providers.root[rows].tolist()
        homes = tuple(roots.index(root) for root in roots)
    tree = Tree(
        pools,
        _left(shape, rows, pools, less) if shape.contested else (),
        tuple(_bears(shape, row) for row in rows) if shape.together else (),
        homes,
        kinship_of(resolved.state, rows) if shape.subtrees else None,
    )
    return tree, rows


def can_match(shape: SearchShape, tree: Tree) -> bool:
    """Whether it is not plain that ``tree`` cannot meet all needs: each has a pool,
    each isolated one a provider, and each contested class suffices in sum."""
    if not all(tree.pools):
        return False
    for left, amounts in zip(tree.left, shape.contested.values(), strict=False):
        unit = gcd(*amounts)
        if left and sum(n // unit for n in left) * unit < sum(amounts):
            return False
    return has_matching(list(compress(tree.pools, shape.isolated)))


def profiles_of(tree: Tree, size: int) -> list[int]:
    """Per place of ``size`` a number; places of one number can be exchanged in any
    answer."""
    sets = [frozenset(pool) for pool in tree.pools]
    seen: dict[object, int] = {}
    profiles = []
    for place in range(size):
        profile = (
            tuple(place in pool for pool in sets),
            tuple(left[place] for left in tree.left if left),
            tree.bears[place] if tree.bears else 0,
            tree.homes[place] if tree.homes else 0,
            None if tree.kinship is None else tree.kinship.like(place),
        )
        profiles.append(seen.setdefault(profile, len(seen)))
    return profiles


def has_matching(pools: list[tuple[int, ...]]) -> bool:
    """Whether one place can be taken from each pool, none twice."""
    if all(len(pool) >= len(pools) for pool in pools):
        return True
    taken_by: dict[int, int] = {}

    def put(number: int, tried: set[int]) -> bool:
        for place in pools[number]:
            if place not in tried:
                tried.add(place)
                if place not in taken_by or put(taken_by[place], tried):
                    taken_by[place] = number
                    return True
        return False

    return all(put(number, set()) for number in range(len(pools)))


def _disputed(
    resolved: ResolvedRequest, isolated: tuple[bool, ...]
) -> dict[int, list[int]]:
    """Amounts of the classes that several needs may want from one provider: not those
    that isolated needs alone want, for no provider meets two of them."""
    free = {
        index
        for need, is_isolated in zip(resolved.needs, isolated, strict=True)
        if not is_isolated
        for index in need.amounts
    }
    found = contested(resolved.needs)
    return {index: amounts for index, amounts in found.items() if index in free}


def _rows(shape: SearchShape, root: int) -> tuple[list[int], set[int]]:
    """Providers of use in and around the tree of ``root``, oldest first; and those of
    them that are there only because they share."""
    providers, useful = shape.resolved.state.providers, shape.useful
    members = list(providers.forest.subtree(root))
    rows = [row for row in members if useful[row]]
    around = shape.resolved.sharing.around(root).difference(members)
    guests = {row for row in around if shape.lent[row]}
    rows += guests
    ids = providers.id[rows].tolist()
    return [row for _, row in sorted(zip(ids, rows, strict=True))], guests


def _pool(
    shape: SearchShape, need: int, root: int, rows: list[int], guests: set[int]
) -> tuple[int, ...]:
    own, anchors = shape.own[need], shape.anchors[need]
    if not guests:
        return tuple([place for place, row in enumerate(rows) if own[row]])
    is_open = anchors is None or bool(anchors[root])
    shared = shape.shared[need]
    return tuple(
        place
        for place, row in enumerate(rows)
        if (is_open and shared[row] if row in guests else own[row])
    )


def _bears(shape: SearchShape, row: int) -> int:
    found = 0
    for bit, mask in enumerate(shape.together):
        found |= bool(mask[row]) << bit
    return found


def _family(suffix: str) -> str:
    """``suffix`` without the number at its end, if it is one of several."""
    name, _, number = suffix.rpartition("-")
    if number.isdecimal():
        return name
    return suffix.rstrip("0123456789")


def _less(
    shape: SearchShape, rows: list[int], view: View
) -> dict[tuple[int, int], int]:
    """(place, class index) -> what is taken there in ``view``."""
    asked = {index for need in shape.resolved.needs for index in need.amounts}
    return {
        (place, index): amount
        for place, row in enumerate(rows)
        for index in asked
        if (amount := view.more((row, index)))
    }


def _with_room(
    shape: SearchShape,
    need: int,
    pool: tuple[int, ...],
    rows: list[int],
    less: dict[tuple[int, int], int],
) -> tuple[int, ...]:
    """Those of ``pool`` that can meet ``need`` beside what is taken of them."""
    amounts = shape.resolved.needs[need].amounts
    return tuple(
        place
        for place in pool
        if all(
            amount <= _free(shape, rows[place], index) - less[place, index]
            for index, amount in amounts.items()
            if (place, index) in less
        )
    )


def _free(shape: SearchShape, row: int, class_index: int) -> int:
    amounts = shape.resolved.state.inventories.amounts_at(row, class_index)
    assert amounts is not None, "what has room has an inventory"
    return int(amounts[0]) - amounts[1]


def _left(
    shape: SearchShape,
    rows: list[int],
    pools: tuple[tuple[int, ...], ...],
    less: dict[tuple[int, int], int],
) -> tuple[tuple[int, ...], ...]:
    """What the needs may take of each contested class, all needs together."""
    found = []
    for index, (class_index, amounts) in enumerate(shape.contested.items()):
        table = shape.resolved.state.inventories.table(class_index)
        assert table is not None, "what has room has an inventory"
        total, left, is_scarce = sum(amounts), [0] * len(rows), False
        asked = {
            place
            for pool, shares in zip(pools, shape.shares, strict=True)
            if any(share[0] == index for share in shares)
            for place in pool
        }
        for place in asked:
            free = _free(shape, rows[place], class_index)
            free -= less.get((place, class_index), 0)
            most = int(table.max_unit[table.slot_of[rows[place]]])
            left[place] = min(free, most, total)
            is_scarce |= left[place] < total
        found.append(tuple(left) if is_scarce else ())
    return tuple(found)


class Kinship(Struct, frozen=True):
    """Per place in a tree its ancestors and its descendants among the places, both
    with itself, as an integer with a bit per place."""

    above: tuple[int, ...]
    below: tuple[int, ...]

    def like(self, place: int) -> tuple[int, int]:
        """Equal for places that have the same ancestors and no descendants."""
        bit = 1 << place
        if self.below[place] != bit:
            return (self.above[place], bit)
        return (self.above[place] & ~bit, 0)

    def can_hold(self, placed: Sequence[int], waiting: Sequence[int]) -> bool:
        """Whether one provider may yet be ancestor of all.

        ``placed``: places; ``waiting``: for each need without a provider, its pool as
        bits.
        """
        tops = -1
        offered = bits(placed)
        for place in placed:
            tops &= self.above[place]
        for pool in waiting:
            offered |= pool
        tops &= offered
        while tops:
            bit = tops & -tops
            below = self.below[bit.bit_length() - 1]
            if all(pool & below for pool in waiting):
                return True
            tops ^= bit
        return False


def kinship_of(state: State, rows: Sequence[int]) -> Kinship:
    """The ancestors of each among ``rows``; a place is one of their indexes."""
    parents = state.providers.parent
    place_of = {row: place for place, row in enumerate(rows)}
    above, below = [0] * len(rows), [0] * len(rows)
    for row, place in place_of.items():
        current = row
        while current != NO_ROW:
            other = place_of.get(current)
            if other is not None:
                above[place] |= 1 << other
                below[other] |= 1 << place
            current = int(parents[current])
    return Kinship(tuple(above), tuple(below))


def bits(places: Iterable[int]) -> int:
    """Different ``places`` as bits, each counted once."""
    found = 0
    for place in places:
        found |= 1 << place
    return found
