"""One tree as a small problem of its own: who is there, and what each has left.

Built for one root at a time, from masks over all providers to plain lists of a few
rows, so that the walk in ``combine`` touches no array.
"""

from __future__ import annotations

from itertools import compress
from math import gcd

from msgspec import Struct

from gantt.placement.candidates.feasible import Question, contested
from gantt.placement.candidates.subtrees import Kinship


class Shape(Struct, frozen=True, eq=False):
    """What is the same for every tree of a search.

    Masks are bytes here: reading one byte beats reading an element of an array.
    ``guests``: sharing providers of use, with the roots they reach. ``kinds``: needs of
    one kind do the same to the provider that meets them. ``contested``: classes that
    several needs want; ``shares``: per need its amounts of these. ``isolated``: which
    needs want a provider of their own. ``subtrees``: per ``same_subtree`` the places of
    its needs.
    """

    question: Question
    own: tuple[bytes, ...]
    shared: tuple[bytes, ...]
    anchors: tuple[bytes | None, ...]
    together: tuple[bytes, ...]
    guests: tuple[tuple[int, bytes], ...]
    kinds: tuple[int, ...]
    contested: dict[int, list[int]]
    shares: tuple[tuple[tuple[int, int], ...], ...]
    isolated: tuple[bool, ...]
    subtrees: tuple[tuple[int, ...], ...]


class Tree(Struct, frozen=True, eq=False):
    """One tree with the sharing providers around it.

    ``pools``: per need the rows that can meet it, oldest first. ``left``: what (row,
    contested class) can still give. ``bears``: per row, as bits, which traits of
    ``together`` it has.
    """

    pools: tuple[tuple[int, ...], ...]
    left: dict[tuple[int, int], int]
    bears: dict[int, int]
    kinship: Kinship | None


def shape_of(question: Question) -> Shape:
    """Prepare ``question`` for looking at single trees."""
    needs, sharing = question.needs, question.sharing
    subtrees = tuple(
        tuple(place for place, need in enumerate(needs) if need.suffix in suffixes)
        for suffixes in question.request.same_subtrees
    )
    shared = contested(needs)
    effects = [
        (need.amounts, need.is_spread, [place in subtree for subtree in subtrees])
        for place, need in enumerate(needs)
    ]
    return Shape(
        question,
        tuple(need.own.tobytes() for need in needs),
        tuple(need.shared.tobytes() for need in needs),
        tuple(None if n.anchors is None else n.anchors.tobytes() for n in needs),
        tuple(mask.tobytes() for mask in question.together),
        tuple(
            (row, sharing.anchors(row).tobytes())
            for row in sharing.useful([need.shared for need in needs])
        ),
        tuple(effects.index(effect) for effect in effects),
        shared,
        tuple(
            tuple(item for item in need.amounts.items() if item[0] in shared)
            for need in needs
        ),
        tuple(question.request.isolate and not need.is_spread for need in needs),
        subtrees,
    )


def plant(shape: Shape, root: int) -> Tree | None:
    """The tree of ``root``, or None when it plainly cannot match."""
    pools = _pools(shape, root)
    if not all(pools):
        return None
    left = _left(shape, pools)
    if not _is_enough(shape, pools, left):
        return None
    if not has_matching(list(compress(pools, shape.isolated))):
        return None
    rows = sorted({row for pool in pools for row in pool})
    bears = dict.fromkeys(rows, 0)
    for bit, mask in enumerate(shape.together):
        for row in rows:
            bears[row] |= bool(mask[row]) << bit
    kinship = Kinship(shape.question.state, rows) if shape.subtrees else None
    return Tree(pools, left, bears, kinship)


def profiles_of(shape: Shape, tree: Tree) -> dict[int, int]:
    """Per row a number; rows of one number can be exchanged in any answer."""
    home = shape.question.state.providers.root
    is_nested = shape.question.request.nested
    sets = [frozenset(pool) for pool in tree.pools]
    seen: dict[object, int] = {}
    profiles = {}
    for row, bits in tree.bears.items():
        profile = (
            tuple(row in pool for pool in sets),
            tuple(tree.left.get((row, index)) for index in shape.contested),
            bits,
            None if is_nested else int(home[row]),
            None if tree.kinship is None else tree.kinship.place(row),
        )
        profiles[row] = seen.setdefault(profile, len(seen))
    return profiles


def has_matching(pools: list[tuple[int, ...]]) -> bool:
    """Whether one row can be taken from each pool, no row twice."""
    if all(len(pool) >= len(pools) for pool in pools):
        return True
    taken_by: dict[int, int] = {}

    def place(number: int, tried: set[int]) -> bool:
        for row in pools[number]:
            if row not in tried:
                tried.add(row)
                if row not in taken_by or place(taken_by[row], tried):
                    taken_by[row] = number
                    return True
        return False

    return all(place(number, set()) for number in range(len(pools)))


def _pools(shape: Shape, root: int) -> tuple[tuple[int, ...], ...]:
    providers = shape.question.state.providers
    ids = providers.id
    members = sorted(providers.forest.subtree(root), key=lambda row: int(ids[row]))
    inside = frozenset(members)
    guests = [row for row, reach in shape.guests if reach[root] and row not in inside]
    pools = []
    for place in range(len(shape.own)):
        own, shared, anchors = (
            shape.own[place],
            shape.shared[place],
            shape.anchors[place],
        )
        pool = [row for row in members if own[row]]
        if guests and (anchors is None or anchors[root]):
            pool += [row for row in guests if shared[row]]
            pool.sort(key=lambda row: int(ids[row]))
        pools.append(tuple(pool))
    return tuple(pools)


def _left(
    shape: Shape, pools: tuple[tuple[int, ...], ...]
) -> dict[tuple[int, int], int]:
    """What the needs may take of each contested class, all needs together."""
    left: dict[tuple[int, int], int] = {}
    inventories = shape.question.state.inventories
    for need, pool in zip(shape.question.needs, pools, strict=True):
        for class_index in need.amounts:
            if class_index not in shape.contested:
                continue
            for row in pool:
                if (row, class_index) not in left:
                    place = inventories.slot(row, class_index)
                    assert place is not None, "who has room has an inventory"
                    table, slot = place
                    free = int(table.capacity[slot]) - int(table.used[slot])
                    left[row, class_index] = min(free, int(table.max_unit[slot]))
    return left


def _is_enough(
    shape: Shape,
    pools: tuple[tuple[int, ...], ...],
    left: dict[tuple[int, int], int],
) -> bool:
    """Whether each contested class suffices in sum, and each trait is to be had."""
    for class_index, amounts in shape.contested.items():
        unit = gcd(*amounts)
        total = sum(n // unit for (_, c), n in left.items() if c == class_index)
        if total * unit < sum(amounts):
            return False
    if not shape.together:
        return True
    spread = {
        row
        for need, pool in zip(shape.question.needs, pools, strict=True)
        if need.is_spread
        for row in pool
    }
    return all(any(mask[row] for row in spread) for mask in shape.together)
