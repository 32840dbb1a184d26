"""What hosts report as ``pci_stats`` or ``pci_device_pools``: pools of devices.

Nova's objects keep tags of a device's specification in a field of their own, JSON from
before them, and Gantt, beside the others. Hosts that start instances on the devices of
a claim list these with each pool, as ``devices``; pools of Nova have counts only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from gantt.errors import Invalid
from gantt.model.bounds import MAX_DEVICES, MAX_POOLS, MAX_TAGS
from gantt.model.forms import scalars
from gantt.model.forms.document import Fields, Reading, lowered, opened_all
from gantt.model.topology import Device, Pool

_KNOWN: Final = frozenset({"count", "numa_node", "rp_uuid", "devices"})


def flat_pools(path: str, value: Any) -> list[dict[str, Any]] | None:
    """Pools in any form as plain JSON, tags among the other fields; None where it is
    null. Raises Invalid, which names the field."""
    found = scalars.decoded(path, scalars.decoded(path, lowered(value)))
    if found is None:
        return None
    pools = []
    for part in opened_all(found, "PciDevicePool", path, Reading()):
        fields = scalars.plain(part.path, part.fields)
        tags = fields.pop("tags", None)
        if tags is not None:
            scalars.mapping(part.at("tags"), tags)
        pools.append({**(tags or {}), **fields})
    return pools


def read_pools(path: str, value: Any) -> tuple[Pool, ...] | None:
    """Pools in any form as values, in the order in which Nova takes from them (fewer
    fields first); None where it is null.

    Raises Invalid, which names the field: one of a wrong type, above a limit of
    ``model.bounds``, a device that is listed twice, or another number of devices than
    the pool's count.
    """
    found = flat_pools(path, value)
    return None if found is None else pools_of(path, found)


def pools_of(path: str, found: list[dict[str, Any]]) -> tuple[Pool, ...]:
    """The pools in what ``flat_pools`` made, as ``read_pools`` reads them."""
    if len(found) > MAX_POOLS:
        raise Invalid(f"{path} has {len(found)} pools; the limit is {MAX_POOLS}.")
    parts = [
        Fields(one, f"{path}.{number}", Reading(is_strict=True))
        for number, one in enumerate(found)
    ]
    pools = [_pool(part) for part in parts]
    _check_once(pools, parts)
    order = sorted(range(len(pools)), key=lambda place: _width(found[place]))
    return tuple(pools[place] for place in order)


def _width(fields: Mapping[str, Any]) -> int:
    """By how many fields Nova sorts the pool: it always has a ``numa_node``."""
    return len(fields) + ("numa_node" not in fields) - ("devices" in fields)


def _pool(part: Fields) -> Pool:
    count = part.need("count", scalars.amount)
    if len(part.fields) > MAX_TAGS:
        raise Invalid(
            f"{part.path} has {len(part.fields)} fields; the limit is {MAX_TAGS}."
        )
    tags = {
        name: _tag(part.at(name), value)
        for name, value in part.fields.items()
        if name not in _KNOWN and value is not None
    }
    node, provider = part.number("numa_node"), part.text("rp_uuid")
    devices = part.many("devices", "PciDevice", _device)
    if part.has("devices") and len(devices) != count:
        raise Invalid(
            f"{part.at('devices')} lists {len(devices)} devices, but the pool's count "
            f"is {count}: list each free device, or leave the list out."
        )
    return Pool(count, node, tags, provider, devices)


def _tag(path: str, value: Any) -> str | tuple[str, ...]:
    if isinstance(value, str):
        return scalars.text(path, value)
    if isinstance(value, list | tuple):
        return tuple(scalars.word(path, one) for one in value)
    return scalars.word(path, value)


def _device(part: Fields) -> Device:
    """In lower case: links and claims compare addresses, which are hexadecimal."""
    address, parent = part.need("address", scalars.name), part.name("parent")
    part.done()
    return Device(address.lower(), None if parent is None else parent.lower())


def _check_once(pools: list[Pool], parts: list[Fields]) -> None:
    seen: set[str] = set()
    for pool, part in zip(pools, parts, strict=True):
        for device in pool.devices:
            if device.address in seen:
                raise Invalid(
                    f"{part.at('devices')} lists {device.address!r}, which is listed "
                    "already: a device is in one pool, once."
                )
            seen.add(device.address)
        if len(seen) > MAX_DEVICES:
            raise Invalid(
                f"{part.at('devices')} lists more than {MAX_DEVICES} devices with "
                "those of the pools before; that is the limit of a host."
            )
