"""The trees that come closest to a request, and what each of them lacks.

An amount counts as the share of it that is missing, anything else as one; between
equals the older tree is first. Per need the nearest provider speaks for its tree: one
of the tree or one that shares with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from gantt.model.diagnosis import Lack, Miss, some
from gantt.model.names import MAX_INT
from gantt.model.quantities import quantity
from gantt.placement.candidates import terms as t
from gantt.placement.candidates.joins import Link
from gantt.placement.candidates.terms import GroupTerms, Term
from gantt.state.column import Bools
from gantt.state.inventory_columns import ClassTable
from gantt.state.state import State

Costs = NDArray[np.float32]
# Of the whole amount: a provider that is full is nearer than one without the class.
_STRANGE: Final = 1 + 2**-10


class GroupNeed(Struct, frozen=True, eq=False):
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
            _lack(state, root, None, term) for term in roots if not term.mask[root]
        ]
        lacks = lacks or [_unjoined(state, root, culprits.get(root))]
        found.append(Miss(state.providers.uuids[root], tuple(lacks)))
    return tuple(found)


def _parts(group: GroupTerms) -> Iterator[GroupNeed]:
    amounts = tuple(term for term in group.terms if term.kind == "amount")
    others = tuple(term for term in group.terms if term.kind != "amount")
    if not group.is_spread:
        yield GroupNeed(group, amounts, others)
        return
    own, inside, outside = (
        tuple(term for term in others if term.kind in kinds)
        for kinds in (("forbidden", "in_tree"), ("member_of",), ("not_member_of",))
    )
    is_bound = group.group.in_tree is not None
    for amount in amounts:
        yield GroupNeed(group, (amount,), own, inside, outside, is_bound)


def _tree_costs(state: State, part: GroupNeed) -> Costs:
    """float32[providers]: for each root, how far the nearest provider is from meeting
    the part; 0: it meets it."""
    height = state.providers.height
    home = state.providers.root[:height]
    shared = np.zeros(height, np.float32)
    for term in part.amounts:
        shared += _shortfalls(state, term)
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
        lent = part.group.sharing.least(shared)
        np.minimum(found, lent, out=found, where=outside)
    return np.where(t.live_roots(state), found, np.float32(0))


def _unborne(
    group: GroupTerms, roots: Bools, has_room: Bools
) -> list[tuple[Term, Bools]]:
    """Traits that the givers of a spread group must bear together, and the roots around
    which none of them does; without ``has_room``, whatever the amounts."""
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
    parts: Sequence[GroupNeed],
    unborne: Sequence[tuple[Term, Bools]],
    root: int,
) -> Iterator[Lack]:
    for term, mask in unborne:
        if mask[root]:
            group = parts[0].group
            is_joint = bool(state.providers.forest.children(root) or group.sharing.rows)
            yield _lack(state, root, group.group.suffix, term, is_joint=is_joint)


def _lacks(state: State, part: GroupNeed, root: int) -> list[Lack]:
    """What the nearest provider of the tree of ``root`` lacks of the part."""
    best: tuple[float, int, list[Term]] | None = None
    members = dict.fromkeys(state.providers.forest.subtree(root), True)
    if not part.is_bound and all(term.mask[root] for term in part.outside):
        for row in part.group.sharing.around(root).difference(members):
            members[row] = False
    best_row = root
    for row, is_own in members.items():
        failing = _failing(part, row, root if is_own else row)
        cost = sum(
            _shortfall(state, term, row) if term.kind == "amount" else 1.0
            for term in failing
        )
        age = int(state.providers.id[row])
        if best is None or (cost, age) < best[:2]:
            best, best_row = (cost, age, failing), row
    assert best is not None, "a root is in its own tree"
    suffix = part.group.group.suffix
    return [_lack(state, best_row, suffix, term) for term in best[2]]


def _failing(part: GroupNeed, row: int, home: int) -> list[Term]:
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


def _shortfalls(state: State, term: Term) -> NDArray[np.float32]:
    """float32[providers]: the share of an amount that each cannot give; 1: all of
    it, and a little more where it never had any."""
    assert term.amount is not None, "an amount has an amount"
    found = np.full(state.providers.height, _STRANGE, np.float32)
    table = _table(state, term)
    if table is not None:
        live = np.flatnonzero(table.is_live[: table.height])
        largest = table.largest(term.amount, live)
        found[table.provider[live]] = 1 - largest / max(1, term.amount)
        found[term.mask] = 0
    return found


def _shortfall(state: State, term: Term, row: int) -> float:
    """By how much one provider that does not meet ``term`` falls short of it."""
    assert term.amount is not None, "an amount has an amount"
    table, slot = _table(state, term), _slot(state, term, row)
    if table is None or slot is None:
        return _STRANGE
    largest = table.largest(term.amount, np.array([slot], np.int64))
    return 1 - int(largest[0]) / max(1, term.amount)


def _lack(
    state: State,
    row: int,
    suffix: str | None,
    term: Term,
    *,
    is_joint: bool = False,
) -> Lack:
    """What the provider at ``row`` lacks; ``is_joint``: what no provider that
    could give in its tree has."""
    name, missing = state.providers.names[row], None
    if term.kind == "amount":
        missing, text = _amount(state, row, term)
    else:
        text = f" {_label(term, is_joint=is_joint)}"
    return Lack(
        state.providers.uuids[row],
        name,
        suffix,
        term.kind,
        term.names,
        f"{name}{text}",
        missing,
    )


def _amount(state: State, row: int, term: Term) -> tuple[int, str]:
    name, amount = term.names[0], term.amount
    assert amount is not None, "an amount has an amount"
    table, slot = _table(state, term), _slot(state, term, row)
    asked = f"({quantity(name, amount)} asked)"
    if table is None or slot is None:
        return amount, f" has no {name} {asked}"
    capacity, used = (one.item() for one in table.amounts(np.array([slot])))
    least, most = int(table.min_unit[slot]), int(table.max_unit[slot])
    step = int(table.step_size[slot])
    missing = amount - int(table.largest(amount, np.array([slot], np.int64))[0])
    if used + amount > capacity:
        units = f", max_unit {most}" if most < min(MAX_INT, capacity) else ""
        units += f", min_unit {least}" if least > 1 else ""
        units += f", step_size {step}" if step > 1 else ""
        of = f"{quantity(name, used)} of {quantity(name, capacity)}"
        return missing, f": {of} {name} in use{units} {asked}"
    if amount > most:
        return missing, f" gives at most {quantity(name, most)} {name} at once {asked}"
    if amount < least:
        return (
            missing,
            f" gives at least {quantity(name, least)} {name} at once {asked}",
        )
    return missing, f" gives {name} in steps of {quantity(name, step)} {asked}"


def _label(term: Term, *, is_joint: bool) -> str:
    names = " or ".join(some(term.names))
    if term.kind in ("required", "root_required"):
        where = " on any provider that could give" if is_joint else ""
        return f"lacks trait {names}{where}"
    if term.kind in ("forbidden", "root_forbidden"):
        return f"bears the forbidden trait {names}"
    if term.kind == "member_of":
        return f"is not in aggregate {names}"
    if term.kind == "not_member_of":
        return f"or its root is in the forbidden aggregate {names}"
    if term.kind == "in_tree":
        return f"is not in the tree of {names}"
    return "was not asked for anything: the group has no resources or constraints"


def _slot(state: State, term: Term, row: int) -> int | None:
    """The slot of a provider's inventory of the class; None: it has none."""
    table = _table(state, term)
    return None if table is None else table.slot_of.get(row)


def _table(state: State, term: Term) -> ClassTable | None:
    return (
        None if term.class_index is None else state.inventories.table(term.class_index)
    )
