"""What a host's report says that was not known yet, and whether it can be kept.

Apart from the rule that writes it, because most reports say nothing new: this is the
whole of the work that they make.
"""

from __future__ import annotations

import math
from operator import attrgetter
from typing import Any, Final

import msgspec
from msgspec import UNSET

from gantt.errors import Invalid
from gantt.model.forms.shared_topology import read_host
from gantt.model.hosts import HostStats
from gantt.model.names import MAX_INT, MAX_RATIO
from gantt.state.report_decoder import TOPOLOGY

_FIELDS: Final = tuple(
    name for name in HostStats.__struct_fields__ if name not in ("traits", "instances")
)
_VALUES: Final = attrgetter(*_FIELDS)
_AMOUNTS: Final = frozenset(
    "vcpus memory_mb local_gb vcpus_used memory_mb_used local_gb_used".split()
)
_NUMBERS: Final = _AMOUNTS | set(
    (
        "id service_id hypervisor_version free_ram_mb free_disk_gb "
        "current_workload running_vms disk_available_least mapped"
    ).split()
)
FITTED: Final = frozenset(TOPOLOGY)
"""What instances are fitted to."""
_RATIOS: Final = frozenset(
    {"cpu_allocation_ratio", "ram_allocation_ratio", "disk_allocation_ratio"}
)
_TEXTS: Final = frozenset({"uuid", "hypervisor_type", "hypervisor_hostname", "host_ip"})
_FLAGS: Final = frozenset({"obeys_claims", "lists_instances", "comes_from_nova"})
_ABSENT: Final = object()


def news(stats: HostStats, known: dict[str, Any]) -> dict[str, Any]:
    """The fields of ``stats`` that differ from ``known``, decoded JSON.

    Traits are a sorted list. Differ as Python compares: 1, 1.0 and True are the same.
    """
    found: dict[str, Any] = {}
    get = known.get
    for name, value in zip(_FIELDS, _VALUES(stats), strict=True):
        if value is not UNSET and get(name, _ABSENT) != value:
            found[name] = value
    if stats.traits is not UNSET:
        traits = sorted(set(stats.traits))
        if get("traits") != traits:
            found["traits"] = traits
    return found


def check(host: str, node: str, found: dict[str, Any]) -> None:
    """What the columns could not hold is refused by name, and a topology that cannot
    be. Raises Invalid."""
    for name, value in found.items():
        if value is None:
            continue
        rule = None
        if name in _NUMBERS:
            least = 0 if name in _AMOUNTS else -MAX_INT
            if not isinstance(value, int) or not least <= value <= MAX_INT:
                rule = f"a whole number from {least} to {MAX_INT}"
        elif name in _RATIOS:
            if (
                not isinstance(value, int | float)
                or not math.isfinite(value)
                or not 0 <= value <= MAX_RATIO
            ):
                rule = f"a number from 0 to {MAX_RATIO}"
        elif name in _TEXTS and not isinstance(value, str):
            rule = "a text"
        elif name in _FLAGS and not isinstance(value, bool):
            rule = "true or false"
        if rule is not None:
            raise Invalid(
                f"The report of host {host}, node {node} cannot be stored: "
                f"{name} must be {rule}; got {value!r}."
            )
    if not found.keys().isdisjoint(FITTED):
        try:
            read_host(found)
        except Invalid as error:
            raise Invalid(
                f"The report of host {host}, node {node} cannot be stored: "
                f"{error.message}"
            ) from None


def text_of(host: str, node: str, stats: dict[str, Any]) -> str:
    """``stats`` as the books keep them. Raises Invalid."""
    try:
        return msgspec.json.encode(stats, order="sorted").decode()
    except (TypeError, ValueError, OverflowError) as error:
        raise Invalid(
            f"The report of host {host}, node {node} cannot be stored: "
            f"one of its fields is not JSON ({error})."
        ) from error
