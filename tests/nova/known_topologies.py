"""Topologies that Nova accepts and Gantt refuses, each by a reason that can be told
from the request; docs/deviations.md lists them.
"""

from __future__ import annotations

from gantt.model.forms.instance_topology import GivenTopology
from gantt.model.spec import RequestSpec

INDIVISIBLE = "a page size that does not divide a cell's memory never fits"
NO_SIZE = "a page size below 1 KiB is none"
BITS = "a page size in bits"
NO_MEMORY = "a cell without memory, or with less than none"
NO_NODE = "vCPUs or memory for a node that there is not"
NO_LOWER = "vCPUs or memory for a node, and none for a lower one"
BEYOND = "a mask that names a vCPU that there is not"
ALL_PINNED = "a mixed policy that pins all CPUs"
BOTH_TRAITS = "hyperthreading required and forbidden"
NO_PINNED = "an isolating policy, and a node without pinned CPUs"
SWITCH = "a switch that is neither true nor false"
EMPTY = "an empty policy"

_TRAIT = ":HW_CPU_HYPERTHREADING"
_NUMBERED = ("hw:numa_cpus.", "hw:numa_mem.")
_WORDS = frozenset("1 t true on y yes 0 f false off n no".split()) | {""}


def reason(spec: RequestSpec, made: GivenTopology | None) -> str | None:
    """Why ``spec`` is refused here, of which Nova ``made`` that; None: nothing known
    explains it."""
    said = spec.flavor.extra_specs
    for name in ("hw:locked_memory", "hw:cpu_realtime"):
        if said.get(name, "") not in _WORDS:
            return SWITCH
    if said.get("hw:cpu_policy") == "":
        return EMPTY
    size = said.get("hw:mem_page_size", "")
    if size == "0" or size.endswith("00B"):
        return NO_SIZE
    if size.endswith("b"):
        return BITS
    if _of_trait(spec) == {"required", "forbidden"}:
        return BOTH_TRAITS
    return None if made is None else _of_topology(said, made)


def _of_trait(spec: RequestSpec) -> set[str]:
    said = spec.flavor.extra_specs.items()
    found = {value for key, value in said if key.endswith(_TRAIT)}
    image = {} if spec.image is None else spec.image.properties
    if _TRAIT[1:] in image.get("traits_required", ()):
        found.add("required")
    return found


def _of_topology(said: dict[str, str], made: GivenTopology) -> str | None:
    cells = made.cells
    if any(cell.memory <= 0 for cell in cells):
        return NO_MEMORY
    if any(_is_odd(cell.memory, cell.page_kib or -1) for cell in cells):
        return INDIVISIBLE
    numbers = [key.rpartition(".")[2] for key in said if key.startswith(_NUMBERED)]
    if any(one.isdigit() and int(one) >= len(cells) for one in numbers):
        return NO_NODE
    if numbers and "0" not in numbers:
        return NO_LOWER
    if all(cell.policy == "mixed" and not cell.cpus for cell in cells):
        return ALL_PINNED
    isolates = said.get("hw:emulator_threads_policy") == "isolate"
    for place, cell in enumerate(cells):
        is_isolating = cell.threads == "isolate" or (isolates and place == 0)
        if cell.policy == "mixed" and not cell.pcpus and is_isolating:
            return NO_PINNED
    masks = (said.get("hw:cpu_dedicated_mask"), said.get("hw:cpu_realtime_mask"))
    return BEYOND if any("9" in (one or "") for one in masks) else None


def _is_odd(memory_mb: int, page_kib: int) -> bool:
    return page_kib > 0 and memory_mb * 1024 % page_kib != 0
