"""Answers to ``select_destinations`` in the forms that conductors read."""

from __future__ import annotations

from typing import Any

from gantt.errors import NoValidHost
from gantt.model.forms.selection import selection_dict, selection_primitive
from gantt.model.scheduling import Selections


def reply(selections: Selections, *, as_objects: bool) -> list[Any]:
    """Per instance its Selection objects, or the one dict that preceded them."""
    if as_objects:
        return [[selection_primitive(one) for one in each] for each in selections]
    return [selection_dict(each[0]) for each in selections]


def check_cells(selections: Selections) -> None:
    """Raises NoValidHost for a host that a conductor could not reach: it looks up the
    cell of a selection."""
    for each in selections:
        for one in each:
            if one.cell_uuid is None or one.compute_node_uuid is None:
                missing = "cell" if one.cell_uuid is None else "uuid"
                raise NoValidHost(
                    f"No valid host was found. The one selected, {one.service_host!r}, "
                    f"has no {missing} that a conductor could use: it is mapped to no "
                    "cell, or was not read from a cell's database."
                )
