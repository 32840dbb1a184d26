"""Parts of a request that need an exact fit: NUMA cells, pinned CPUs and devices.

Where the filter that looks at them is not enabled, amounts alone decide, and a warning
is logged.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator

from msgspec import Struct

from gantt.model.spec import RequestSpec
from gantt.scheduler.request.requested_devices import ALIAS
from gantt.scheduler.request.requested_topology import DEVICES_FILTER, TOPOLOGY_FILTER

_SETTINGS = ("hw:numa_nodes", "hw:mem_page_size", "hw:pmem")
_POLICY = "hw:cpu_policy"
_PINNING = frozenset({"dedicated", "mixed"})


def topology_setting_of(spec: RequestSpec) -> str | None:
    """The part of ``spec`` that requires a topology; None: nothing does."""
    if spec.numa_topology is not None:
        return "numa_topology"
    if "numa_topology" in spec.nulls:
        return None  # Nova's API found none
    extra_specs = spec.flavor.extra_specs
    properties = {} if spec.image is None else spec.image.properties
    if not extra_specs and not properties:
        return None
    for name in (*_SETTINGS, _POLICY):
        image_name = name.replace(":", "_")
        for key, value in (
            (name, extra_specs.get(name)),
            (image_name, properties.get(image_name)),
        ):
            if value and (name != _POLICY or value in _PINNING):
                return f"{key}={value}"
    # Pinned CPUs by their amount are pinned CPUs.
    for key, value in extra_specs.items():
        if key.startswith("resources") and key.endswith(":PCPU") and value != "0":
            return f"{key}={value}"
    return None


def devices_setting_of(spec: RequestSpec) -> str | None:
    """The part of ``spec`` that requires PCI devices; None: nothing does."""
    alias = spec.flavor.extra_specs.get(ALIAS)
    if alias:
        return f"{ALIAS}={alias}"
    return f"{len(spec.pci_requests)} device(s)" if spec.pci_requests else None


class ExactFit(Struct, frozen=True):
    """``filter_name``: what would judge it; ``need``: what is asked for, in words;
    ``asked``: what of a spec asks for it."""

    filter_name: str
    need: str
    asked: Callable[[RequestSpec], str | None]


TOPOLOGY = ExactFit(TOPOLOGY_FILTER, "a NUMA topology", topology_setting_of)
DEVICES = ExactFit(DEVICES_FILTER, "PCI devices", devices_setting_of)


def unjudged(spec: RequestSpec, enabled: Container[str]) -> Iterator[tuple[str, str]]:
    """(name of the filter, warning) of each fit that ``spec`` needs and no filter
    checks."""
    for kind in (TOPOLOGY, DEVICES):
        asked = None if kind.filter_name in enabled else kind.asked(spec)
        if asked is not None:
            yield (
                kind.filter_name,
                f"A request asks for {kind.need} ({asked}), and {kind.filter_name} "
                "does not judge it (it is not in enabled_filters, or hosts are "
                "forced): amounts alone decide where it goes, and the host may refuse "
                "it. This is said once.",
            )
