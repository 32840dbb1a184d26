"""What ``update_resource_stats`` is given: the fields of compute_nodes, as HostStats.

Separate from the other parsers because it has every field of the table, including JSON
columns, as JSON text or decoded. Metrics stay as the column has them, percentages as
fractions (0.35): MetricsWeigher reads them as whole per cent. Nova's object form has
whole per cent already and is brought to fractions here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

from gantt.errors import Invalid
from gantt.model.bounds import MAX_SIZE
from gantt.model.forms import scalars
from gantt.model.forms.device_pools import flat_pools, pools_of
from gantt.model.forms.document import (
    NAME,
    Fields,
    Reading,
    is_envelope,
    lowered,
    opened,
    opened_all,
)
from gantt.model.forms.host_topology import read_cells, unwrapped
from gantt.model.hosts import HostStats

Reader = Callable[[str, Any], Any]

ROOT: Final = "stats"
# Fields of compute_nodes that do not describe the host.
_BOOKKEEPING: Final = ("created_at", "updated_at", "deleted_at", "deleted")
COUNTS: Final = ("num_instances", "io_workload", "failed_builds")
_PERCENT: Final = ".percent"


def read_stats(stats: Any, *, host: str | None = None) -> HostStats:
    """``stats`` as HostStats: missing fields stay UNSET.

    What is Nova's object comes from Nova. ``host``: the host of the report; a ``host``
    within the report must be equal. Raises Invalid, which names the field: unknown, or
    of a wrong type.
    """
    if isinstance(stats, HostStats):
        return stats
    part = opened(stats, "ComputeNode", ROOT, Reading(is_strict=True))
    own = part.text("host")
    if own is not None and host is not None and own != host:
        raise Invalid(f"stats.host is {own!r}, but the report is about {host!r}.")
    found = {}
    for sent, value in part.fields.items():
        name = _COLUMNS.get(sent, sent)
        read = _FIELDS.get(name)
        if read is None:
            continue
        if name in found:
            raise Invalid(f"stats has {name} under both of its names: send only one.")
        if value is not None:
            value = read(f"{ROOT}.{sent}", value)
        if value is None and name in _NOT_NULL:
            raise scalars.refusal(part.at(sent), "given, or left out", None)
        found[name] = value
    if len(found) + (own is not None) < len(part.fields):
        part.done(*_FIELDS, *_COLUMNS, *_BOOKKEEPING)
    if part.is_object:
        found["comes_from_nova"] = True
    return HostStats(**found)


# -- JSON columns -----------------------------------------------------------------


def _json(path: str, value: Any) -> Any:
    return scalars.plain(path, scalars.decoded(path, lowered(value)))


def _json_object(path: str, value: Any) -> dict[str, Any] | None:
    found = _json(path, value)
    if found is not None and not isinstance(found, dict):
        raise scalars.refusal(path, "an object", found)
    return found


def _counters(path: str, value: Any) -> dict[str, Any] | None:
    found = _json_object(path, value)
    for name in COUNTS:
        count = (found or {}).get(name)
        if isinstance(count, str) and count.isascii() and count.isdigit():
            count = int(count[:20])
        if count is not None:
            scalars.amount(f"{path}.{name}", count)
    return found


def _supported(path: str, value: Any) -> list[list[str]] | None:
    """[arch, hv_type, vm_mode] each, also from HVSpec objects."""
    found = scalars.decoded(path, lowered(value))
    if found is None:
        return None
    return [
        _triple(f"{path}.{number}", lowered(each))
        for number, each in enumerate(scalars.items(path, found))
    ]


def _triple(path: str, value: Any) -> list[str]:
    if isinstance(value, list | tuple):
        if len(value) != 3:
            raise scalars.refusal(path, "[arch, hv_type, vm_mode]", value)
        return [scalars.text(path, each) for each in value]
    spec = opened(value, "HVSpec", path, Reading())
    return [spec.need(name, scalars.text) for name in ("arch", "hv_type", "vm_mode")]


def _pools(path: str, value: Any) -> list[dict[str, Any]] | None:
    found = flat_pools(path, value)
    if found is not None:
        pools_of(path, found)
    return found


def _topology(path: str, value: Any) -> dict[str, Any] | None:
    found = _json_object(path, unwrapped(path, value))
    read_cells(path, found)
    return found


def _metrics(path: str, value: Any) -> list[dict[str, Any]] | None:
    found = lowered(scalars.decoded(path, value))
    if found is None:
        return None
    is_list_object = is_envelope(found) and found.get(NAME) != "MonitorMetric"
    return [
        _metric(part, is_whole=part.is_object or is_list_object)
        for part in opened_all(found, "MonitorMetric", path, Reading())
    ]


def _metric(part: Fields, *, is_whole: bool) -> dict[str, Any]:
    name = part.need("name", scalars.name)
    value = part.get("value", _number)
    if value is None and not part.has("numa_membw_values"):
        raise scalars.refusal(part.at("value"), "a number", None)
    fields: dict[str, Any] = scalars.plain(part.path, part.fields)
    if is_whole and value is not None and name.endswith(_PERCENT):
        fields["value"] = _fraction(value)
    return fields


def _held(path: str, value: Any) -> dict[str, int]:
    """Bytes by artifact, from JSON text, too."""
    found = scalars.mapping(path, scalars.decoded(path, value))
    return {
        scalars.name(path, name): scalars.whole(f"{path}.{name}", size, 0, MAX_SIZE)
        for name, size in found.items()
    }


def _number(path: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise scalars.refusal(path, "a number", value)
    if not -3.5e38 <= value <= 3.5e38:
        raise scalars.refusal(path, "a number that is not too large", value)
    return value


def _fraction(percent: float) -> float:
    """A fraction that is the same percentage once it is cut off to a whole one."""
    fraction = percent / 100
    if int(fraction * 100) < percent:
        fraction = math.nextafter(fraction, math.inf)
    return fraction


# -- the table --------------------------------------------------------------------


_FIELDS: Final[dict[str, Reader]] = {
    "id": scalars.whole,
    "uuid": scalars.uuid,
    "service_id": scalars.whole,
    "vcpus": scalars.amount,
    "memory_mb": scalars.amount,
    "local_gb": scalars.amount,
    "vcpus_used": scalars.amount,
    "memory_mb_used": scalars.amount,
    "local_gb_used": scalars.amount,
    "hypervisor_type": scalars.text,
    "hypervisor_version": scalars.whole,
    "hypervisor_hostname": scalars.name,
    "free_ram_mb": scalars.whole,
    "free_disk_gb": scalars.whole,
    "current_workload": scalars.whole,
    "running_vms": scalars.whole,
    "cpu_info": _json_object,
    "disk_available_least": scalars.whole,
    "host_ip": scalars.text,
    "supported_instances": _supported,
    "metrics": _metrics,
    "pci_stats": _pools,
    "extra_resources": _json,
    "stats": _counters,
    "numa_topology": _topology,
    "cpu_allocation_ratio": scalars.real,
    "ram_allocation_ratio": scalars.real,
    "disk_allocation_ratio": scalars.real,
    "mapped": scalars.whole,
    "obeys_claims": scalars.flag,
    "lists_instances": scalars.flag,
    "comes_from_nova": scalars.flag,
    "traits": scalars.names,
    "holds": _held,
    "instances": scalars.uuids,
}
# Names that Nova's object has for columns.
_COLUMNS: Final = {
    "supported_hv_specs": "supported_instances",
    "pci_device_pools": "pci_stats",
}
_NOT_NULL: Final = frozenset(
    "vcpus memory_mb local_gb vcpus_used memory_mb_used local_gb_used traits "
    "instances obeys_claims lists_instances holds comes_from_nova".split()
)
