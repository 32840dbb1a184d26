"""The NUMA topology that a request bears, as Nova's API made it.

Every version of InstanceNUMATopology and InstanceNUMACell since Rocky, as a primitive
or with the same fields as a plain object. Separate from reading requests because these
keep it as it came: whether it can be read is checked with them, whether it contradicts
itself where it is fitted. Which CPUs an earlier host pinned (``cpu_pinning_raw``) is
ignored: each host fits anew.
"""

from __future__ import annotations

from typing import Any, Final, cast

from msgspec import Struct

from gantt.errors import NeverFits
from gantt.model.cpu_sets import mask_of, numbers_of
from gantt.model.forms import scalars
from gantt.model.forms.document import Fields, Reading, opened
from gantt.model.topology import (
    ANY_PAGES,
    CpuPolicy,
    Cpus,
    InstanceCell,
    ThreadPolicy,
)

MOST_CPUS: Final = 65_536
"""No machine has more; bounds the width of a bit mask."""
MOST_CELLS: Final = 128
_POLICIES: Final = ("dedicated", "mixed", "shared")
_THREADS: Final = ("isolate", "prefer", "require")
_EMULATOR: Final = ("isolate", "share")


class GivenTopology(Struct, frozen=True):
    """``cells`` in the order in which they are fitted."""

    cells: tuple[InstanceCell, ...]
    isolates_emulator: bool = False


def read_instance_topology(value: Any, path: str = "numa_topology") -> GivenTopology:
    """The cells. Raises Invalid, which names the field; NeverFits where fields
    contradict each other."""
    found = readable_topology(value, path)
    if not 0 < len(found.cells) <= MOST_CELLS:
        raise NeverFits(
            f"{path}.cells has {len(found.cells)} cells: give 1 to {MOST_CELLS}, or "
            f"leave {path} out"
        )
    for place, cell in enumerate(found.cells):
        _check_cell(cell, f"{path}.cells.{place}")
    _check_disjoint(found.cells, path)
    is_pinning = any(cell.policy in ("dedicated", "mixed") for cell in found.cells)
    if found.isolates_emulator and not is_pinning:
        raise NeverFits(
            f"{path}.emulator_threads_policy is isolate, and no cell pins CPUs: give "
            "cells a cpu_policy of dedicated or mixed, or leave it out"
        )
    return found


def readable_topology(value: Any, path: str) -> GivenTopology:
    """Reads an instance's topology, whether or not fields contradict each other. Raises
    Invalid."""
    part = opened(value, "InstanceNUMATopology", path, Reading())
    cells = tuple(
        _cell(one, place)
        for place, one in enumerate(part.parts("cells", "InstanceNUMACell"))
    )
    policy = _one_of(part, "emulator_threads_policy", _EMULATOR)
    return GivenTopology(cells, policy == "isolate")


def plain_topology(topology: GivenTopology) -> dict[str, Any]:
    """An instance's topology as a plain object, which ``read_instance_topology``
    reads."""
    return {
        "cells": [
            {
                "id": cell.id,
                "cpuset": [*numbers_of(cell.cpus)],
                "pcpuset": [*numbers_of(cell.pcpus)],
                "memory": cell.memory,
                "pagesize": cell.page_kib,
                "cpu_policy": cell.policy,
                "cpu_thread_policy": cell.threads,
            }
            for cell in topology.cells
        ],
        "emulator_threads_policy": "isolate" if topology.isolates_emulator else None,
    }


def _cell(part: Fields, place: int) -> InstanceCell:
    shared, pinned = _cpus(part, "cpuset"), _cpus(part, "pcpuset")
    policy = cast(CpuPolicy | None, _one_of(part, "cpu_policy", _POLICIES))
    if policy == "dedicated" and not pinned:
        # Before Victoria a cell had one set, whatever its policy.
        shared, pinned = 0, shared
    cell_id = part.get("id", lambda at, v: scalars.whole(at, v, -1))
    return InstanceCell(
        place if cell_id is None else cell_id,
        shared,
        pinned,
        part.need("memory", scalars.amount),
        part.get("pagesize", lambda at, v: scalars.whole(at, v, ANY_PAGES)),
        policy,
        cast(ThreadPolicy | None, _one_of(part, "cpu_thread_policy", _THREADS)),
    )


def _check_cell(cell: InstanceCell, path: str) -> None:
    if cell.pcpus and cell.policy not in ("dedicated", "mixed"):
        raise NeverFits(
            f"{path}.pcpuset names CPUs to pin, and {path}.cpu_policy is "
            f"{scalars.shown(cell.policy)}: make it dedicated or mixed"
        )
    if not cell.memory:
        raise NeverFits(f"{path}.memory is 0 MB: give the cell some, or leave it out")
    size = cell.page_kib
    if size == 0:
        raise NeverFits(
            f"{path}.pagesize is 0: give a size in KiB, -1 (small), -2 (large) or -3"
        )
    if size is not None and size > 0 and cell.memory * 1024 % size:
        raise NeverFits(
            f"{path}.pagesize is {size} KiB, and the memory of the cell "
            f"({cell.memory} MB) is no multiple of it: change one of them"
        )


def _cpus(part: Fields, name: str) -> Cpus:
    return mask_of(
        scalars.whole(part.at(name), number, 0, MOST_CPUS - 1)
        for number in part.get(name, scalars.items) or ()
    )


def _check_disjoint(cells: tuple[InstanceCell, ...], path: str) -> None:
    """No vCPU is in two sets."""
    seen = 0
    for place, cell in enumerate(cells):
        both = seen & (cell.cpus | cell.pcpus) | cell.cpus & cell.pcpus
        if both:
            raise NeverFits(
                f"{path}.cells.{place} has vCPU {(both & -both).bit_length() - 1} a "
                "second time: put it into one set of one cell"
            )
        seen |= cell.cpus | cell.pcpus


def _one_of(part: Fields, name: str, allowed: tuple[str, ...]) -> str | None:
    found = part.text(name)
    if found is not None and found not in allowed:
        raise scalars.refusal(part.at(name), f"one of {', '.join(allowed)}", found)
    return found
