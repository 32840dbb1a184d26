"""What the State would be with other inventories, to be asked and never applied to.

Apart from ``State`` because it is none: it has the tables of one, all but one column or
two, and is forgotten with the answer.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy

from gantt.state.inventories import ClassTable
from gantt.state.state import State


def supposing(
    state: State, class_index: int, change: Callable[[ClassTable], ClassTable]
) -> State:
    """``state`` with another table of a class; all else is shared with it."""
    found, table = copy(state), state.inventories.table(class_index)
    found.inventories = state.inventories.supposing(
        class_index, change(ClassTable() if table is None else table)
    )
    return found
