"""NUMA cells, CPUs, memory pages and PCI devices: of hosts, and as instances ask.

Frozen values that ``gantt.topology`` fits into each other. A set of CPUs is a bit mask
(``Cpus``): bit n stands for CPU n, so that sets are compared and counted by integer
arithmetic. Memory is MB, page sizes are KiB.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from msgspec import Struct

Cpus: TypeAlias = int
"""A set of CPUs as a bit mask."""

SMALL_PAGES: Final = -1
"""The smallest page size of the host cell alone."""
LARGE_PAGES: Final = -2
"""Any page size but the smallest, the largest first."""
ANY_PAGES: Final = -3
"""Any page size, the largest first."""

CpuPolicy: TypeAlias = Literal["dedicated", "mixed", "shared"]
ThreadPolicy: TypeAlias = Literal["prefer", "isolate", "require"]
Affinity: TypeAlias = Literal["legacy", "preferred", "required", "socket"]

TYPE_PF: Final = "type-PF"
TYPE_VF: Final = "type-VF"
TYPE_PCI: Final = "type-PCI"
VDPA: Final = "vdpa"


class Pages(Struct, frozen=True):
    """Pages of one size in a host cell: counts, ``reserved`` by the operator.
    ``strange``: of those that the host reports as used, what no instance known to run
    there was promised; None: all of ``used``."""

    size_kib: int
    total: int
    used: int = 0
    reserved: int = 0
    strange: int | None = None

    @property
    def free(self) -> int:
        return self.total - self.used - self.reserved


class HostCell(Struct, frozen=True):
    """One NUMA cell of a host.

    ``cpus``: for shared instances; ``pcpus``: for pinned ones (both the same on a host
    of before Train); ``pinned`` of ``pcpus``: taken. ``siblings``: threads of one core
    each; empty: every CPU is a core. ``cpu_usage``: shared vCPUs there;
    ``memory_usage``: MB of instances. ``pages``: by size, the smallest first.
    ``physical_networks``, ``is_tunnelled``: networks whose NICs are at this cell.
    ``socket`` None: unknown.
    """

    id: int
    cpus: Cpus
    pcpus: Cpus
    memory: int
    pinned: Cpus = 0
    siblings: tuple[Cpus, ...] = ()
    cpu_usage: int = 0
    memory_usage: int = 0
    pages: tuple[Pages, ...] = ()
    physical_networks: frozenset[str] = frozenset()
    is_tunnelled: bool = False
    socket: int | None = None


class Device(Struct, frozen=True):
    """A free device of a pool, where the host names them. ``parent``: the PCI address
    of its PF; ``address`` is unique on the host."""

    address: str
    parent: str | None = None


class Pool(Struct, frozen=True):
    """Free devices of a host that are alike.

    ``count``: how many are free. ``numa_node`` None: at no cell. ``rp_uuid``: their
    provider, where devices are in the books. ``tags``: all else that a request may
    match (vendor_id, product_id, dev_type, physical_network, trusted, …), as texts or
    lists of texts. ``devices``: their addresses, from hosts that report them; its
    length is ``count`` then, else it is empty.
    """

    count: int
    numa_node: int | None = None
    tags: dict[str, str | tuple[str, ...]] = {}
    rp_uuid: str | None = None
    devices: tuple[Device, ...] = ()

    @property
    def kind(self) -> tuple[object, ...]:
        """What tells pools of a host apart."""
        return self.numa_node, self.rp_uuid, tuple(sorted(self.tags.items()))


class HostTopology(Struct, frozen=True):
    """What of a host can be fitted: ``cells`` in the order of its report (empty: no
    NUMA topology), ``pools`` in Nova's order (None: it reports no devices). ``obeys``:
    the host starts instances on the CPUs, pages and devices that a claim names; a
    compute of Nova picks them itself."""

    cells: tuple[HostCell, ...] = ()
    pools: tuple[Pool, ...] | None = None
    obeys: bool = False

    @property
    def free_devices(self) -> int:
        """How many devices are free in all pools."""
        return sum(pool.count for pool in self.pools or ())


class InstanceCell(Struct, frozen=True):
    """One NUMA cell of an instance: ``cpus`` float over the host cell's shared CPUs,
    ``pcpus`` are pinned. ``page_kib``: a size, one of the three names above, or None:
    no pages were asked for."""

    id: int
    cpus: Cpus
    pcpus: Cpus
    memory: int
    page_kib: int | None = None
    policy: CpuPolicy | None = None
    threads: ThreadPolicy | None = None


class DeviceRequest(Struct, frozen=True):
    """``count`` devices alike, each like one of ``wanted``: objects whose keys must
    equal those of a pool; None: the pool must not have that tag, or have null there
    (``physical_network`` of a tunnelled network). ``is_of_flavor``: requested by an
    alias in the flavor, not by a port. ``affinity``: how near its cells the instance
    wants them."""

    request_id: str | None
    count: int
    wanted: tuple[dict[str, str | tuple[str, ...] | None], ...]
    is_of_flavor: bool = False
    affinity: Affinity = "legacy"

    @property
    def suffixes(self) -> list[str]:
        """The request groups of its devices, one for each."""
        return [f"{self.request_id}-{place}" for place in range(self.count)]


class Wanted(Struct, frozen=True):
    """What one instance asks to be fitted.

    ``cells`` empty: no NUMA topology. ``isolates_emulator``: one more CPU is pinned for
    the emulator, at the host cell of the first instance cell. ``physical_networks``,
    ``is_tunnelled``: networks to which the chosen cells must be near. ``cpu_ratio``,
    ``ram_ratio``: how far shared CPUs and memory may be overcommitted in a cell; None:
    without limit. ``most_steps``: how many host cells are tried for instance cells
    before the search on one host is given up; with the request, so that each process
    and each later fit finds the same.
    """

    cells: tuple[InstanceCell, ...] = ()
    isolates_emulator: bool = False
    devices: tuple[DeviceRequest, ...] = ()
    physical_networks: frozenset[str] = frozenset()
    is_tunnelled: bool = False
    cpu_ratio: float | None = None
    ram_ratio: float | None = None
    most_steps: int = 10_000


class FittedCell(Struct, frozen=True):
    """An instance cell on the host cell ``host_cell``. ``pinning``: (vCPU, CPU) pairs
    by ascending vCPU; ``emulator``: CPUs pinned for the emulator; ``page_kib``: the
    size that was chosen, None: no pages."""

    cell: InstanceCell
    host_cell: int
    pinning: tuple[tuple[int, int], ...] = ()
    emulator: Cpus = 0
    page_kib: int | None = None


class TakenDevices(Struct, frozen=True):
    """``count`` devices of the pool with these ``tags``, at ``numa_node`` and of
    ``rp_uuid``, for ``request_id``; ``devices``: which, where the host names them."""

    request_id: str | None
    count: int
    numa_node: int | None
    tags: dict[str, str | tuple[str, ...]]
    rp_uuid: str | None = None
    devices: tuple[Device, ...] = ()


class Fit(Struct, frozen=True):
    """What an instance takes of a host: by instance cell, and the devices."""

    cells: tuple[FittedCell, ...] = ()
    devices: tuple[TakenDevices, ...] = ()


LackOf: TypeAlias = Literal[
    "cells",
    "cpus",
    "devices",
    "memory",
    "networks",
    "page_size",
    "pages",
    "pending",
    "search",
    "shared_cpus",
    "siblings",
]
"""What of a host does not suffice: ``siblings`` of free CPUs, ``page_size`` that it
does not have, ``networks`` near cells with room; ``search``: the steps that it may
take; ``pending``: claims on it do not fit its last report."""


class FitLack(Struct, frozen=True):
    """Why something does not fit. ``cell``: the host cell that came nearest, None: the
    host as a whole. ``asked``, ``has``: amounts of ``unit``; ``detail``: which page
    size, device or network. ``more``: what else the same cell lacks."""

    what: LackOf
    asked: int
    has: int
    unit: str = ""
    cell: int | None = None
    detail: str = ""
    more: tuple[FitLack, ...] = ()

    @property
    def is_of_search(self) -> bool:
        """The search met its limit; whether anything lacks is not known."""
        return self.what == "search"


Lack = FitLack
"""The former name, for programs that import it."""
