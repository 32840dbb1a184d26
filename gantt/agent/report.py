"""Report a machine as a host, so that instances can be placed on it.

Separate from registering, which is about the books: a provider only offers amounts, a
host is what ``select_destinations`` selects. The provider is linked to the host, so
that its inventory counts once. Works with any Gantt, in process or over HTTP.
"""

from __future__ import annotations

from gantt.agent.collectors.contract import Part
from gantt.errors import Conflict
from gantt.model.answers import Provider
from gantt.model.hosts import HostStats, HostView
from gantt.model.scheduling import SchedulerProtocol


def report(
    gantt: SchedulerProtocol, part: Part, provider: Provider
) -> tuple[HostView | None, str]:
    """Report ``part`` for the host of ``provider``, which has its name. Returns
    the host, or None and the reason why another host has that provider.

    Usage by instances stays as last reported, initially zero.
    """
    known = _known(gantt, provider)
    host, node = (
        (provider.name, provider.name) if known is None else (known.host, known.node)
    )
    stats = {} if known is None else known.stats
    try:
        return gantt.update_host(host, node, _stats(part, provider, node, stats)), ""
    except Conflict as refusal:
        return None, refusal.message


def _known(gantt: SchedulerProtocol, provider: Provider) -> HostView | None:
    """The host that reports for this provider already, whatever its node is called."""
    for view in gantt.list_hosts(host=provider.name):
        if view.provider_uuid == provider.uuid:
            return view
    return None


def _stats(
    part: Part, provider: Provider, node: str, known: dict[str, object]
) -> HostStats:
    vcpus, memory_mb, local_gb = (
        part.inventories[name].total if name in part.inventories else 0
        for name in ("VCPU", "MEMORY_MB", "DISK_GB")
    )
    vcpus_used, memory_mb_used, local_gb_used = (
        used if isinstance(used := known.get(name), int) else 0
        for name in ("vcpus_used", "memory_mb_used", "local_gb_used")
    )
    return HostStats(
        uuid=provider.uuid,
        hypervisor_hostname=node,
        vcpus=vcpus,
        memory_mb=memory_mb,
        local_gb=local_gb,
        vcpus_used=vcpus_used,
        memory_mb_used=memory_mb_used,
        local_gb_used=local_gb_used,
        free_ram_mb=memory_mb - memory_mb_used,
        free_disk_gb=local_gb - local_gb_used,
    )
