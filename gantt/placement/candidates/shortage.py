"""How little is missing, in numbers and in words.

Apart from the search for near misses because it alone speaks of amounts and names.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gantt.model.diagnosis import Lack, some
from gantt.model.names import MAX_INT
from gantt.placement.candidates.terms import Term
from gantt.state.inventories import ClassTable
from gantt.state.state import State


def shortfalls(state: State, term: Term) -> NDArray[np.float32]:
    """float32[providers]: the share of an amount that each cannot give; 1: all of
    it."""
    assert term.amount is not None, "an amount has an amount"
    found = np.ones(state.providers.height, np.float32)
    table = _table(state, term)
    if table is not None:
        live = np.flatnonzero(table.is_live[: table.height])
        largest = table.largest(term.amount, live)
        found[table.provider[live]] = 1 - largest / max(1, term.amount)
        found[term.mask] = 0
    return found


def shortfall(state: State, term: Term, row: int) -> float:
    """The same of one provider that does not meet ``term``."""
    assert term.amount is not None, "an amount has an amount"
    table = _table(state, term)
    slot = None if table is None else table.slot_of.get(row)
    if table is None or slot is None:
        return 1.0
    largest = table.largest(term.amount, np.array([slot], np.int64))
    return 1 - int(largest[0]) / max(1, term.amount)


def lack(
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
        text = _label(term, is_joint=is_joint)
    return Lack(
        state.providers.uuids[row],
        name,
        suffix,
        term.kind,
        term.names,
        f"{name} {text}",
        missing,
    )


def _amount(state: State, row: int, term: Term) -> tuple[int, str]:
    name, amount = term.names[0], term.amount
    assert amount is not None, "an amount has an amount"
    table = _table(state, term)
    slot = None if table is None else table.slot_of.get(row)
    if table is None or slot is None:
        return amount, f"has no {name} ({amount} asked)"
    capacity, used = float(table.capacity[slot]), int(table.used[slot])
    least, most = int(table.min_unit[slot]), int(table.max_unit[slot])
    step = int(table.step_size[slot])
    missing = amount - int(table.largest(amount, np.array([slot], np.int64))[0])
    if used + amount > capacity:
        free = f"used {used} of {capacity}"
        free += f", max_unit {most}" if most < MAX_INT else ""
        free += f", min_unit {least}" if least > 1 else ""
        free += f", step_size {step}" if step > 1 else ""
        return missing, f"lacks {missing} of {amount} {name} ({free})"
    if amount > most:
        return missing, f"gives at most {most} {name} at once ({amount} asked)"
    if amount < least:
        return missing, f"gives at least {least} {name} at once ({amount} asked)"
    return missing, f"gives {name} in steps of {step} ({amount} asked)"


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


def _table(state: State, term: Term) -> ClassTable | None:
    return (
        None if term.class_index is None else state.inventories.table(term.class_index)
    )
