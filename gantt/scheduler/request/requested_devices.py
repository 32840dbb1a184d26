"""Requested PCI devices, in Nova's form.

Separate from the exact fit of devices to hosts, which needs the hosts' pools: this
parses the request, and makes request groups where devices have inventory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias, cast

from msgspec import structs

from gantt.errors import Invalid, NeverFits
from gantt.model.printable import counted
from gantt.model.spec import RequestSpec, ResourceGroup
from gantt.model.topology import TYPE_PCI, TYPE_PF, TYPE_VF, Affinity, DeviceRequest
from gantt.scheduler.request import settings
from gantt.scheduler.request.features import AFFINITIES, custom_name, device_affinity

ALIAS: Final = "pci_passthrough:alias"
_MANAGED: Final = "COMPUTE_MANAGED_PCI_DEVICE"
_MIGRATABLE: Final = "HW_PCI_LIVE_MIGRATABLE"
_MOST_DEVICES: Final = 1024
_TYPES: Final = (None, TYPE_PCI, TYPE_PF, TYPE_VF)
Value: TypeAlias = str | tuple[str, ...] | None
# Standard classes of devices.
_STANDARD: Final = frozenset({"FPGA", "PCI_DEVICE", "PGPU", "SRIOV_NET_VF", "VGPU"})


def requests(spec: RequestSpec) -> tuple[DeviceRequest, ...]:
    """The devices of ``spec.pci_requests``. Raises Invalid when it is malformed."""
    if not spec.pci_requests:
        return ()
    asked = device_affinity(spec)
    return tuple(_read(entry, asked) for entry in spec.pci_requests)


def wanted(
    spec: RequestSpec, aliases: tuple[dict[str, Any], ...]
) -> tuple[DeviceRequest, ...]:
    """The devices of ``spec.pci_requests``, and those of the flavor's aliases unless
    devices of the flavor are among them. Requests for no device are left out. Raises
    Invalid."""
    return tuple(one for one in requests(with_aliases(spec, aliases)) if one.count)


def is_remote_managed(wanted: Mapping[str, Value]) -> bool:
    """Whether a device must be one that another machine's agent manages."""
    return settings.truth("remote_managed", wanted.get("remote_managed") or "")


def with_groups(
    spec: RequestSpec,
    aliases: tuple[dict[str, Any], ...],
    knows_trait: Callable[[str], bool],
) -> RequestSpec:
    """``spec`` with a resource group for each device of a flavor that has none yet,
    where devices have inventory. ``aliases``: the meaning of device names in flavors.
    Raises Invalid."""
    return _grouped(with_aliases(spec, aliases), knows_trait)


def with_aliases(spec: RequestSpec, aliases: tuple[dict[str, Any], ...]) -> RequestSpec:
    """``spec`` with a PCI request for each alias of its flavor, unless it has such:
    before those of ports, as Nova's API has them; the first takes first. Raises
    Invalid."""
    asked = asked_aliases(spec)
    if not asked:
        return spec
    affinity = device_affinity(spec)
    made: dict[str, dict[str, Any]] = {}
    for name, count in asked:
        one = _of_alias(spec, name, count, aliases, affinity)
        while one["request_id"] in made:
            one["request_id"] += "_"
        made[one["request_id"]] = one
    return structs.replace(spec, pci_requests=(*made.values(), *spec.pci_requests))


def asked_aliases(spec: RequestSpec) -> list[tuple[str, int]]:
    """(name, count) of each alias of the flavor; none where ``spec`` bears devices of
    it already. Raises Invalid."""
    asked = spec.flavor.extra_specs.get(ALIAS)
    if not asked or any(_is_of_flavor(entry) for entry in spec.pci_requests):
        return []
    found = []
    for part in asked.split(","):
        name, _, count = (text.strip() for text in part.partition(":"))
        if not (count.isascii() and count.isdigit() and len(count) < 9):
            raise NeverFits(f"extra spec {ALIAS}={asked!r}: {part!r} is not NAME:COUNT")
        if int(count) > _MOST_DEVICES:
            raise NeverFits(
                f"extra spec {ALIAS}={asked!r}: {part!r} asks for more than "
                f"{_MOST_DEVICES} devices, which no host has"
            )
        found.append((name, int(count)))
    return found


def _is_of_flavor(entry: Mapping[str, Any]) -> bool:
    return entry.get("alias_name") is not None


def _of_alias(
    spec: RequestSpec,
    name: str,
    count: int,
    aliases: tuple[dict[str, Any], ...],
    affinity: Affinity | None,
) -> dict[str, Any]:
    """The request for ``count`` devices, under the alias's name."""
    meant = [one for one in aliases if one.get("name") == name]
    if not meant:
        raise Invalid(
            f"extra spec {ALIAS}={spec.flavor.extra_specs[ALIAS]!r}: there is no alias "
            f"{name!r}; add it to [pci] alias, or correct the name"
        )
    kind = _same(name, "device_type", meant)
    if kind not in _TYPES:
        raise Invalid(
            f"[pci] alias {name!r} has device_type {kind!r}: give type-PCI, type-PF or "
            "type-VF, or leave it out"
        )
    return {
        "request_id": name,
        "alias_name": name,
        "count": count,
        "spec": [_of_device(one) for one in meant],
        "numa_policy": affinity or _same(name, "numa_policy", meant) or "legacy",
    }


def _of_device(alias: Mapping[str, Any]) -> dict[str, Any]:
    """An alias in the terms of pools."""
    found = {
        key: value
        for key, value in alias.items()
        if key not in ("name", "numa_policy", "device_type", "capability_type")
    }
    if alias.get("device_type") is not None:
        found["dev_type"] = alias["device_type"]
    if (migrates := alias.get("live_migratable")) is not None:
        found["live_migratable"] = settings.truth("live_migratable", migrates)
    return found


def _same(name: str, key: str, meant: list[dict[str, Any]]) -> Any:
    """What all aliases of one name say. Raises Invalid when they differ."""
    values = [one.get(key) for one in meant]
    if any(one != values[0] for one in values):
        raise Invalid(
            f"[pci] alias {name!r} is there {len(meant)} times, with {key} "
            f"{', '.join(map(repr, values))}: aliases of one name must agree on it"
        )
    return values[0]


def _grouped(spec: RequestSpec, knows_trait: Callable[[str], bool]) -> RequestSpec:
    present = {group.requester_id for group in spec.requested_resources}
    made = [
        _group(request, suffix, knows_trait)
        for request in requests(spec)
        if request.is_of_flavor
        for suffix in request.suffixes
        if suffix not in present
    ]
    if not made:
        return spec
    return structs.replace(spec, requested_resources=(*spec.requested_resources, *made))


def _read(entry: dict[str, Any], asked: Affinity | None) -> DeviceRequest:
    count, wanted = entry.get("count"), entry.get("spec") or []
    if (
        not isinstance(count, int)
        or not 0 <= count <= _MOST_DEVICES
        or not isinstance(wanted, list | tuple)
        or not all(isinstance(one, dict) for one in wanted)
    ):
        raise Invalid(
            f"pci_requests cannot be read: count={count!r}, spec={wanted!r}; give a "
            f"count from 0 to {_MOST_DEVICES} and a list of objects"
        )
    if count and not wanted:
        raise Invalid(
            f"pci_requests asks for {counted(count, 'device')} and has "
            f"spec={wanted!r}, which no device is like: say what they are, "
            "vendor_id and product_id for example"
        )
    affinity = entry.get("numa_policy") or "legacy"
    if "numa_policy" not in entry and asked is not None:
        affinity = asked
    if affinity not in AFFINITIES:
        raise NeverFits(
            f"pci_requests has numa_policy={affinity!r}: give {' or '.join(AFFINITIES)}"
        )
    return DeviceRequest(
        entry.get("request_id"),
        count,
        tuple({key: _value(one[key]) for key in one} for one in wanted),
        _is_of_flavor(entry),
        cast(Affinity, affinity),
    )


def _value(value: Any) -> Value:
    if isinstance(value, list | tuple | set | frozenset):
        return tuple(map(str, value))
    if isinstance(value, bool):
        return "true" if value else "false"
    return None if value is None else str(value)


def _group(
    request: DeviceRequest, suffix: str, knows_trait: Callable[[str], bool]
) -> ResourceGroup:
    if request.request_id is None or len(request.wanted) != 1:
        raise Invalid(
            f"a PCI request has {len(request.wanted)} specs and request_id "
            f"{request.request_id!r}: where devices are in the books (pci_in_placement)"
            " each request needs an id and exactly one spec; change the alias"
        )
    wanted = request.wanted[0]
    required, forbidden = {_MANAGED}, set[str]()
    for name in str(wanted.get("traits") or "").split(","):
        if name.strip():
            required.add(_trait(name.strip(), knows_trait))
    if wanted.get("live_migratable") is not None:
        is_so = settings.truth("live_migratable", wanted["live_migratable"])
        (required if is_so else forbidden).add(_MIGRATABLE)
    return ResourceGroup(
        suffix,
        {_resource_class(wanted): 1},
        frozenset(required),
        frozenset(forbidden),
    )


def _trait(name: str, knows_trait: Callable[[str], bool]) -> str:
    return name.upper() if knows_trait(name.upper()) else custom_name(name)


def _resource_class(wanted: dict[str, Any]) -> str:
    named = wanted.get("resource_class")
    if named:
        name = str(named).upper()
        return name if name in _STANDARD else custom_name(name)
    if not (wanted.get("vendor_id") and wanted.get("product_id")):
        raise Invalid(
            f"a PCI request asks for a device like {wanted}: give resource_class, or "
            "vendor_id and product_id"
        )
    return custom_name(f"PCI_{wanted['vendor_id']}_{wanted['product_id']}")
