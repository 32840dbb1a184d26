"""Memory, VCPUs and disk by what hosts report alone: Nova's rules before its books.

The Ram, Core and Disk filters ask here, and so does the pipeline where the books do not
decide (``use_placement``); the gate judges one host by the same arithmetic, in float64:
a large allocation ratio takes an amount out of the decision.
"""

from __future__ import annotations

import numpy as np

from gantt.model.spec import RequestSpec
from gantt.scheduler.hosts import Hosts
from gantt.state.column import Bools, Floats, Int64s


def reported_or(ratios: Floats, fallback: float) -> Floats:
    """float64[n]: the allocation ratio that each host reports, else ``fallback``."""
    found: Floats = np.where(ratios != 0.0, ratios, fallback)
    return found


def fits(total: Int64s, used: Int64s, ratio: float | Floats, wanted: int) -> Bools:
    """bool[n]: ``wanted`` is left of ``total`` times ``ratio``, and no more than
    ``total``: an instance is never overcommitted against itself."""
    found: Bools = (total * ratio - used >= wanted) & (total >= wanted)
    return found


def has_ram(hosts: Hosts, ratio: float | Floats, memory_mb: int) -> Bools:
    """bool[n]: room for ``memory_mb``."""
    total = hosts.total_ram_mb
    return fits(total, total - hosts.free_ram_mb, ratio, memory_mb)


def has_vcpus(hosts: Hosts, ratio: float | Floats, vcpus: int) -> Bools:
    """bool[n]: room for ``vcpus``. A host that reports no VCPUs at all does not count
    them: it passes."""
    total = hosts.vcpus_total
    found: Bools = fits(total, hosts.vcpus_used, ratio, vcpus) | (total == 0)
    return found


def has_disk(hosts: Hosts, ratio: float | Floats, disk_mb: int) -> Bools:
    """bool[n]: room for ``disk_mb``."""
    total_mb = 1024 * hosts.total_disk_gb
    return fits(total_mb, total_mb - hosts.free_disk_mb, ratio, disk_mb)


def wanted_disk_mb(spec: RequestSpec) -> int:
    """What an instance of ``spec`` takes of a host's disk, swap included."""
    return spec.disk_mb + spec.flavor.swap
