"""A host's NUMA cells and devices as an answer, for people and programs.

Apart from the values that are fitted: there sets of CPUs are bit masks, which not every
reader of JSON can hold. Here they are lists, ascending.
"""

from __future__ import annotations

from msgspec import Struct


class PagesView(Struct, frozen=True):
    """Memory pages of one size in a cell: counts. ``reserved``: by the operator;
    ``claimed``: by pending claims."""

    size_kib: int
    total: int
    used: int
    reserved: int
    claimed: int
    free: int


class CellView(Struct, frozen=True):
    """One NUMA cell. ``shared_cpus``: for instances that float, ``shared_vcpus_used``
    of whose vCPUs are there; ``pinnable_cpus``: for pinned ones. Of these the report
    says ``pinned_cpus``, pending claims take ``claimed_cpus``, and ``free_cpus`` are
    left. A CPU may be both shared and pinnable. ``cores``: CPUs that are threads of one
    core each. ``socket`` None: unknown."""

    id: int
    socket: int | None
    shared_cpus: tuple[int, ...]
    pinnable_cpus: tuple[int, ...]
    pinned_cpus: tuple[int, ...]
    claimed_cpus: tuple[int, ...]
    free_cpus: tuple[int, ...]
    cores: tuple[tuple[int, ...], ...]
    shared_vcpus_used: int
    memory_mb: int
    memory_used_mb: int
    memory_claimed_mb: int
    pages: tuple[PagesView, ...]
    physical_networks: tuple[str, ...]
    is_tunnelled: bool


class PoolView(Struct, frozen=True):
    """Devices that are alike: how many are ``free``, with their ``addresses`` where the
    host names them, and how many pending claims take. ``numa_node`` None: they are at
    no cell."""

    free: int
    claimed: int
    numa_node: int | None
    provider_uuid: str | None
    tags: dict[str, str | tuple[str, ...]]
    addresses: tuple[str, ...]


class PendingView(Struct, frozen=True):
    """What a pending claim takes for an instance: the host cells ``cells`` and the CPUs
    ``cpus`` there, and so many devices. ``is_binding``: the host starts it on exactly
    these; else it picks for itself, and this is how it would fit. ``lack``: why it does
    not fit the report any more; None: it does."""

    claim: str
    instance_uuid: str
    is_binding: bool
    cells: tuple[int, ...]
    cpus: tuple[int, ...]
    devices: int
    addresses: tuple[str, ...]
    lack: str | None = None


class HostTopologyView(Struct, frozen=True):
    """What of a host instances are fitted into. ``cells`` empty: it reports no NUMA
    cells; ``pools`` None: no devices; ``unreadable``: or what it reports there cannot
    be read, by column, and why. ``obeys_claims``: it starts instances on the
    CPUs, pages and devices that claims name. ``pending``: claims that no report counts
    yet, the oldest first. ``is_closed``: one of them does not fit the report, so that
    none of what it wants, cells or devices, is promised until it ends."""

    host: str
    node: str
    updated_at: int | None
    obeys_claims: bool
    cells: tuple[CellView, ...]
    pools: tuple[PoolView, ...] | None
    pending: tuple[PendingView, ...] = ()
    is_closed: bool = False
    unreadable: dict[str, str] = {}
