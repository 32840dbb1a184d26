"""Where the totals that a host reports are not those of its inventories. Pure.

Apart from the rest of the audit because it asks nothing of what runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from msgspec.structs import replace

from gantt.model.audit import Finding
from gantt.state.fleet_tables import COMPUTE
from gantt.state.report_decoder import OWNED
from gantt.state.state import State

_TOTALS: Final = (
    ("VCPU", "vcpus", ("VCPU", "PCPU")),
    ("MEMORY_MB", "memory_mb", ("MEMORY_MB",)),
    ("DISK_GB", "local_gb", ("DISK_GB",)),
)


def found(
    state: State, root: int, stats: dict[str, Any], place: Finding
) -> Iterator[Finding]:
    record = stats.get(OWNED, {})
    is_ours = record.get("provider") == int(state.providers.id[root])
    owned = record.get("inventories", {}) if is_ours else {}
    for name, field, classes in _TOTALS:
        reported = stats.get(field)
        if not reported:
            continue  # it has none any more, or does not say
        trees = {
            row: total
            for row in state.providers.tree(root)
            if (total := total_of(state, row, classes))
        }
        booked = sum(trees.values())
        if booked in (0, reported):
            continue  # 0: an operator took the class away, or it was never written
        is_plain = set(trees) == {root} and total_of(state, root, (name,)) == booked
        can_resize = is_plain and (
            owned.get(name) is not None
            or (name in owned and _may_be_reports(state, root, name, place.host))
        )
        yield replace(
            place,
            kind="inventory_drift",
            resource_class=name,
            reported=reported,
            booked=booked,
            detail=f"the host reports {reported}, and the books have {booked}",
            # Spread over several providers, only what spread it knows how; what
            # reports never owned is as an operator, or a compute, wants it.
            repair=f"set the total of {name} to {reported}" if can_resize else "",
        )


def _may_be_reports(state: State, root: int, name: str, host: str) -> bool:
    """Whether the inventory, which the reports of the host found there, is like those
    that reports write, and no compute is known that would have written it: earlier
    releases forgot whose it was when a host was deleted and came back."""
    index = state.classes.index_of(name)
    if index is None or (host, COMPUTE) in state.fleet.services.by_place:
        return False
    ids = int(state.providers.id[root]), state.classes.at(index).id
    found = state.inventories.find(root, index, *ids)
    return found is not None and found.has_reports_units


def total_of(state: State, row: int, classes: tuple[str, ...]) -> int:
    """The sum of the totals of some classes of the provider at ``row``."""
    found = 0
    for name in classes:
        index = state.classes.index_of(name)
        place = None if index is None else state.inventories.slot(row, index)
        if place is not None:
            table, slot = place
            found += int(table.total[slot])
    return found
