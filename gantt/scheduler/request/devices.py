"""Requested PCI devices, in Nova's form.

Separate from the exact fit of devices to hosts, which needs the hosts' pools: this
parses the request, and makes request groups where devices have inventory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from msgspec import Struct, structs

from gantt.errors import Invalid
from gantt.model.spec import RequestSpec, ResourceGroup
from gantt.scheduler.request import settings
from gantt.scheduler.request.features import custom_name

_ALIAS: Final = "pci_passthrough:alias"
_MANAGED: Final = "COMPUTE_MANAGED_PCI_DEVICE"
_MIGRATABLE: Final = "HW_PCI_LIVE_MIGRATABLE"
_MOST_DEVICES: Final = 1024
# Standard classes of devices.
_STANDARD: Final = frozenset({"FPGA", "PCI_DEVICE", "PGPU", "SRIOV_NET_VF", "VGPU"})


class DeviceRequest(Struct, frozen=True):
    """``count`` devices alike, each like one of ``wanted``. ``is_of_flavor``: requested
    by an alias in the flavor, not by a port."""

    request_id: str | None
    count: int
    is_of_flavor: bool
    wanted: tuple[dict[str, Any], ...]

    @property
    def suffixes(self) -> list[str]:
        """The request groups of its devices, one for each."""
        return [f"{self.request_id}-{place}" for place in range(self.count)]


def requests(spec: RequestSpec) -> tuple[DeviceRequest, ...]:
    """The devices of ``spec.pci_requests``. Raises Invalid when it is malformed."""
    return tuple(map(_read, spec.pci_requests)) if spec.pci_requests else ()


def is_remote_managed(wanted: dict[str, Any]) -> bool:
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
    asked = spec.flavor.extra_specs.get(_ALIAS)
    if asked and not any(request.is_of_flavor for request in requests(spec)):
        made = tuple(_of_alias(asked, part, aliases) for part in asked.split(","))
        spec = structs.replace(spec, pci_requests=(*spec.pci_requests, *made))
    return _grouped(spec, knows_trait)


def _of_alias(
    asked: str, part: str, aliases: tuple[dict[str, Any], ...]
) -> dict[str, Any]:
    """The request for ``name:count``, under the alias's name."""
    name, _, count = (text.strip() for text in part.partition(":"))
    if not (count.isascii() and count.isdigit() and len(count) < 9):
        raise Invalid(f"extra spec {_ALIAS}={asked!r}: {part!r} is not NAME:COUNT")
    wanted = [
        {key: value for key, value in one.items() if key not in ("name", "numa_policy")}
        for one in aliases
        if one.get("name") == name
    ]
    if not wanted:
        raise Invalid(
            f"extra spec {_ALIAS}={asked!r}: there is no alias {name!r}; add it to "
            "[pci] alias, or correct the name"
        )
    return {
        "request_id": name,
        "alias_name": name,
        "count": int(count),
        "spec": wanted,
    }


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


def _read(entry: dict[str, Any]) -> DeviceRequest:
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
    return DeviceRequest(
        entry.get("request_id"),
        count,
        entry.get("alias_name") is not None,
        tuple(wanted),
    )


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
