"""The trees that come closest to a request, and what each of them lacks.

An amount counts as the share of it that is missing, anything else as one; between
equals the older tree is first. Per need the nearest provider speaks for its tree: one
of the tree or one that shares with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from gantt.model.diagnosis import Lack, Miss, some
from gantt.placement.candidates import terms as t
from gantt.placement.candidates.joins import Link
from gantt.placement.candidates.shortage import lack, shortfall, shortfalls
from gantt.placement.candidates.terms import GroupTerms, Term
from gantt.state.column import Bools
from gantt.state.state import State

Costs = NDArray[np.float32]


class Part(Struct, frozen=True, eq=False):
    """What one provider has to give to ``group``, and constraints on it: those on
    itself, and the aggregates that it or its root must be in, or both must not."""

    group: GroupTerms
    amounts: tuple[Term, ...]
    own: tuple[Term, ...]
    inside: tuple[Term, ...] = ()
    outside: tuple[Term, ...] = ()
    is_bound: bool = False


def nearest(
    state: State,
    groups: Sequence[GroupTerms],
    roots: Sequence[Term],
    culprits: dict[int, Link],
    *,
    most: int,
) -> tuple[Miss, ...]:
    """The ``most`` nearest trees that do not match. What joins the groups counts only
    where ``culprits`` tell of it."""
    live = t.live_roots(state)
    costs = np.zeros(len(live), np.float32)
    parts = [list(_parts(group)) for group in groups]
    missing = []
    for group, needed in zip(groups, parts, strict=True):
        mine = np.zeros_like(costs)
        for part in needed:
            mine += _tree_costs(state, part)
        unborne = _unborne(group, live, mine == 0)
        for _, mask in unborne:
            mine += mask
        costs += mine
        missing.append(unborne)
    for term in roots:
        costs += ~term.mask
    rows = np.flatnonzero(live)
    ids = state.providers.id[rows]
    order = np.lexsort((ids, costs[rows]))[: max(0, most)]
    found = []
    for root in rows[order].tolist():
        lacks: list[Lack] = []
        for needed, unborne in zip(parts, missing, strict=True):
            for part in needed:
                lacks += _lacks(state, part, root)
            lacks += _joint_lacks(state, needed, unborne, root)
        lacks += [
            lack(state, root, None, term) for term in roots if not term.mask[root]
        ]
        lacks = lacks or [_unjoined(state, root, culprits.get(root))]
        found.append(Miss(state.providers.uuids[root], tuple(lacks)))
    return tuple(found)


def _parts(group: GroupTerms) -> Iterator[Part]:
    amounts = tuple(term for term in group.terms if term.kind == "amount")
    others = tuple(term for term in group.terms if term.kind != "amount")
    if not group.is_spread:
        yield Part(group, amounts, others)
        return
    own, inside, outside = (
        tuple(term for term in others if term.kind in kinds)
        for kinds in (("forbidden", "in_tree"), ("member_of",), ("not_member_of",))
    )
    is_bound = group.group.in_tree is not None
    for amount in amounts:
        yield Part(group, (amount,), own, inside, outside, is_bound)


def _tree_costs(state: State, part: Part) -> Costs:
    """float32[providers]: for each root, how far the nearest provider is from meeting
    the part; 0: it meets it."""
    height = state.providers.height
    home = state.providers.root[:height]
    shared = np.zeros(height, np.float32)
    for term in part.amounts:
        shared += shortfalls(state, term)
    for term in part.own:
        shared += ~term.mask
    own = shared.copy()
    inside = np.logical_and.reduce(
        [np.ones(height, np.bool_), *(term.mask for term in part.inside)]
    )
    shared += ~inside
    own += ~(inside | inside[home])
    outside = np.ones(height, np.bool_)
    for term in part.outside:
        outside &= term.mask
        shared += ~term.mask
        own += ~(term.mask & term.mask[home])
    own[~state.providers.is_live[:height]] = np.inf
    found = own
    if not state.providers.forest.is_flat:
        found = np.full(height, np.inf, np.float32)
        np.minimum.at(found, home, own)
    if not part.is_bound:
        sharing = part.group.sharing
        for row in sharing.rows:
            reach = sharing.anchors(row) & outside
            found[reach] = np.minimum(found[reach], shared[row])
    return np.where(t.live_roots(state), found, np.float32(0))


def _unborne(
    group: GroupTerms, roots: Bools, has_room: Bools
) -> list[tuple[Term, Bools]]:
    """Of a spread group: traits that its givers must bear together, and the roots
    around which none of them does; without ``has_room``, whatever the amounts."""
    if not group.is_spread:
        return []
    spread = t.spread_of(group, group.terms)
    needs = t.needs_of(group, group.terms, spread)
    unlabelled = t.needs_of(group, (), spread)
    found = []
    for term in group.terms:
        if term.kind == "required":
            borne = t.joined(group, needs, term.mask, roots)
            borne |= t.joined(group, unlabelled, term.mask, roots) & ~has_room
            found.append((term, roots & ~borne))
    return found


def _joint_lacks(
    state: State,
    parts: Sequence[Part],
    unborne: Sequence[tuple[Term, Bools]],
    root: int,
) -> Iterator[Lack]:
    for term, mask in unborne:
        if mask[root]:
            group = parts[0].group
            is_joint = bool(state.providers.forest.children(root) or group.sharing.rows)
            yield lack(state, root, group.group.suffix, term, is_joint=is_joint)


def _lacks(state: State, part: Part, root: int) -> list[Lack]:
    """What the nearest provider of the tree of ``root`` lacks of the part."""
    sharing = part.group.sharing
    best: tuple[float, int, list[Term]] | None = None
    members = dict.fromkeys(state.providers.forest.subtree(root), True)
    if not part.is_bound and all(term.mask[root] for term in part.outside):
        for row in sharing.rows:
            if row not in members and sharing.anchors(row)[root]:
                members[row] = False
    best_row = root
    for row, is_own in members.items():
        failing = _failing(part, row, root if is_own else row)
        cost = sum(
            shortfall(state, term, row) if term.kind == "amount" else 1.0
            for term in failing
        )
        age = int(state.providers.id[row])
        if best is None or (cost, age) < best[:2]:
            best, best_row = (cost, age, failing), row
    assert best is not None, "a root is in its own tree"
    suffix = part.group.group.suffix
    return [lack(state, best_row, suffix, term) for term in best[2]]


def _failing(part: Part, row: int, home: int) -> list[Term]:
    """Terms that the provider at ``row`` does not meet for the tree of ``home``."""
    found = [term for term in (*part.amounts, *part.own) if not term.mask[row]]
    if not any(all(term.mask[at] for term in part.inside) for at in {row, home}):
        found += [term for term in part.inside if not term.mask[row]]
    found += [term for term in part.outside if not (term.mask[row] and term.mask[home])]
    return found


def _unjoined(state: State, root: int, link: Link | None) -> Lack:
    """A tree that meets each group by itself; None: all together was not tried."""
    name = state.providers.names[root]
    kind, names = (link.kind, link.names) if link else ("together", ())
    texts = {
        "together": "meets each group on its own, but not all of them together",
        "nested": "could only supply it from several providers, which "
        "microversions before 1.29 do not support",
        "isolate": "meets the groups, but not on different providers",
        "same_subtree": f"meets groups {', '.join(some(names))}, but not in one "
        "subtree",
    }
    text = (
        texts[kind]
        if link
        else "meets each group on its own; combinations were not tried"
    )
    return Lack(state.providers.uuids[root], name, None, kind, names, f"{name} {text}")
