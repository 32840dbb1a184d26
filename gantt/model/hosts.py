"""Host reports and other input of a scheduler: frozen values.

Separate from the books because nothing here decides capacity if there is inventory:
these are the facts that filters and weighers read. Field names are those of Nova's
compute_nodes table. Memory is MB, disks are GB, times are microseconds since the epoch.
"""

from __future__ import annotations

from typing import Any, Final

from msgspec import UNSET, Struct, UnsetType

from gantt.model.bounds import Amount, Holds, Name, Ratio, Text, Whole


class HostStats(Struct, frozen=True):
    """One host's report; UNSET leaves the known value unchanged, None means unknown.

    JSON columns come in decoded: ``cpu_info`` (object), ``supported_instances`` (list
    of [arch, hv_type, vm_mode]), ``metrics`` (list of {name, value, …}), ``pci_stats``
    (list of pools), ``stats`` (object), ``numa_topology`` (object: Nova's or plain) and
    ``extra_resources`` (as they came).
    """

    id: Whole | UnsetType | None = UNSET
    uuid: Text | UnsetType | None = UNSET
    service_id: Whole | UnsetType | None = UNSET
    vcpus: Amount | UnsetType = UNSET
    memory_mb: Amount | UnsetType = UNSET
    local_gb: Amount | UnsetType = UNSET
    vcpus_used: Amount | UnsetType = UNSET
    memory_mb_used: Amount | UnsetType = UNSET
    local_gb_used: Amount | UnsetType = UNSET
    hypervisor_type: Text | UnsetType | None = UNSET
    hypervisor_version: Whole | UnsetType | None = UNSET
    hypervisor_hostname: Name | UnsetType | None = UNSET
    free_ram_mb: Whole | UnsetType | None = UNSET
    free_disk_gb: Whole | UnsetType | None = UNSET
    current_workload: Whole | UnsetType | None = UNSET
    running_vms: Whole | UnsetType | None = UNSET
    cpu_info: Any = UNSET
    disk_available_least: Whole | UnsetType | None = UNSET
    host_ip: Text | UnsetType | None = UNSET
    supported_instances: Any = UNSET
    metrics: Any = UNSET
    pci_stats: Any = UNSET
    extra_resources: Any = UNSET
    stats: Any = UNSET
    numa_topology: Any = UNSET
    cpu_allocation_ratio: Ratio | UnsetType | None = UNSET
    ram_allocation_ratio: Ratio | UnsetType | None = UNSET
    disk_allocation_ratio: Ratio | UnsetType | None = UNSET
    mapped: Whole | UnsetType | None = UNSET
    # Not of compute_nodes: traits of the provider, and instances that the report
    # already counts (they are on the host, and their claims are no longer taken off).
    traits: tuple[Name, ...] | UnsetType = UNSET
    instances: tuple[str, ...] | UnsetType = UNSET
    # Whether instances start on the CPUs, pages and devices that their claims name.
    obeys_claims: bool | UnsetType = UNSET
    # Whether ``instances`` is all that runs there now: what it lacks is gone.
    lists_instances: bool | UnsetType = UNSET
    # What lies there that would be copied before something starts: id -> bytes.
    holds: Holds | UnsetType = UNSET
    # Whether Nova says so: then Nova's options stand for ratios that it does not tell.
    comes_from_nova: bool | UnsetType = UNSET


class Service(Struct, frozen=True):
    """A service on a host, nova-compute for one. UNSET leaves what is known alone.
    ``disabled_reason``: why, as a person said; None: not told."""

    host: str
    binary: str = "nova-compute"
    disabled: bool | UnsetType = UNSET
    forced_down: bool | UnsetType = UNSET
    last_seen_up: int | UnsetType | None = UNSET
    availability_zone: str | UnsetType | None = UNSET
    cell_uuid: str | UnsetType | None = UNSET
    version: int | UnsetType | None = UNSET
    disabled_reason: str | UnsetType | None = UNSET


class HostAggregate(Struct, frozen=True):
    """Hosts with something in common, as Nova knows them."""

    uuid: str
    name: str = ""
    id: int | None = None
    hosts: frozenset[str] = frozenset()
    metadata: dict[str, str] = {}


NAME: Final = "display_name"
OWNER: Final = "project_id"
WHOSE: Final = frozenset({NAME, OWNER})
"""Facts of an instance that tell what its user calls it, and whose it is. No filter of
Gantt's reads them. None in a statement about a fleet: it is not to be known."""


IMAGE_REF: Final = "image_ref"
"""The fact that is the id of the image that it was started of."""


class Instance(Struct, frozen=True):
    """An instance on a host. ``facts``: what else a weigher may read, such as
    ``flavorid`` and ``image_properties`` (object), and those of ``WHOSE``.
    ``saved_at``: when Nova last wrote its row; None: just now."""

    uuid: str
    facts: dict[str, Any] = {}
    saved_at: int | None = None


class ServerGroup(Struct, frozen=True):
    """Instances with a placement policy. ``policy`` as in InstanceGroup."""

    uuid: str
    name: str = ""
    policy: str | None = None
    max_server_per_host: int = 1
    members: frozenset[str] = frozenset()


HostPlace = tuple[str, str]
"""Host, node."""


class InstanceView(Struct, frozen=True):
    """An instance as it is known: an answer.

    ``state``: ``leased`` or ``claimed`` (no host names it yet; ``over``: its claim is
    being removed from a remote Placement), ``named`` by its host, or ``allocated``,
    which is all that is known of it. ``host``: that of its claim, else the one that
    names it; ``node`` None: which of its nodes is not known. ``leased_until``:
    microseconds. ``allocations``: provider uuid -> class -> amount. ``name``: as its
    user calls it, as far as Nova told; None: it is not known, or not shown.
    """

    uuid: str
    state: str
    host: str | None = None
    project_id: str | None = None
    claim: str | None = None
    leased_until: int | None = None
    allocations: dict[str, dict[str, int]] = {}
    node: str | None = None
    name: str | None = None


class HostView(Struct, frozen=True):
    """A host as it is known: an answer.

    ``stats``: as reported. ``ratios``: class -> the host's allocation ratio, of VCPU,
    MEMORY_MB and DISK_GB. ``claimed``: what claims use that is not in the report yet
    (vcpus, memory_mb, disk_mb, instances). ``provider_uuid`` None: it has no provider.
    ``service``: its fields, and ``cell_unreadable`` where its cell's database was not
    to be read, so that all of this may be out of date.
    """

    host: str
    node: str
    provider_uuid: str | None
    stats: dict[str, Any]
    claimed: dict[str, int]
    instances: tuple[str, ...]
    service: dict[str, Any]
    aggregates: tuple[str, ...]
    updated_at: int | None = None
    ratios: dict[str, float] = {}


class HostPage(Struct, frozen=True):
    """Hosts by name, then node. ``next``: continue after it; "": these are the last."""

    hosts: tuple[HostView, ...]
    next: str = ""
