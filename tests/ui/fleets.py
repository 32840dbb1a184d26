"""Fleets to look at, written through the library into a file of their own."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Final
from uuid import UUID

from msgspec import UNSET
from msgspec.structs import replace

import gantt
from gantt.model.commands import ConsumerAllocations, Inventory
from gantt.model.fleet import FleetStatement, HostReport
from gantt.model.forms.stats import read_stats
from gantt.model.hosts import HostAggregate, HostStats, Service
from gantt.model.protocol import GanttProtocol
from gantt.model.spec import Flavor, RequestSpec, ScheduleRequest
from tests.idle_host import idle
from tests.topology import synthetic

ZONES: Final = 4
RACKS: Final = 250
FURNISHED: Final = 22  # the host that has everything
_CONSUMERS_PER_WRITE: Final = 200
PROJECT: Final = "8f6f4c1e-0000-4000-8000-000000000001"


def name(number: int) -> str:
    return f"host{number:05}"


def uuid(kind: int, number: int) -> str:
    """The same at every run; ``kind`` keeps things apart."""
    return str(UUID(int=kind << 96 | 4 << 76 | 8 << 60 | number))


def stats(number: int) -> HostStats:
    """One of three sizes; a metric and traits that tell some from others."""
    vcpus, memory_gb, local_gb = ((64, 256, 4000), (96, 512, 8000), (128, 1024, 2000))[
        number % 7 % 3
    ]
    percent = number * 37 % 100
    metric = {"name": "cpu.percent", "value": percent / 100, "source": "libvirt"}
    return idle(
        vcpus,
        memory_gb * 1024,
        local_gb,
        hypervisor_type="QEMU",
        hypervisor_version=8_002_000,
        hypervisor_hostname=name(number),
        cpu_info={},
        supported_instances=[["x86_64", "kvm", "hvm"]],
        stats={"num_instances": "0", "io_workload": "0", "failed_builds": "0"},
        metrics=[{**metric, "timestamp": "2026-01-01T00:00:00"}],
        traits=("HW_CPU_X86_AVX2", *(["CUSTOM_GPU"] if number % 9 == 0 else [])),
    )


def write(
    file: Path, hosts: int, *, names: Sequence[str] = (), zones: Sequence[str] = ()
) -> None:
    """So many hosts in four zones and many racks, a third of it used; some are
    disabled, some are down. ``names``: of the first of them; ``zones``: of the first
    zones, and racks."""
    zone = [*zones, *(f"az{number + 1}" for number in range(len(zones), ZONES))]
    rack = [*zones, *(f"rack{number + 1}" for number in range(len(zones), RACKS))]
    of = [*names, *map(name, range(len(names), hosts))]
    statement = FleetStatement(
        hosts=tuple(
            HostReport(host, host, stats(number)) for number, host in enumerate(of)
        ),
        services=tuple(
            Service(
                host,
                disabled=number % 61 == 7,
                forced_down=number % 97 == 5,
            )
            for number, host in enumerate(of)
        ),
        aggregates=(
            *(
                HostAggregate(
                    uuid(1, number),
                    zone[number],
                    hosts=frozenset(of[number::ZONES]),
                    metadata={"availability_zone": zone[number]},
                )
                for number in range(ZONES)
            ),
            *(
                HostAggregate(
                    uuid(2, number),
                    rack[number],
                    hosts=frozenset(of[number::RACKS]),
                )
                for number in range(min(RACKS, hosts))
            ),
        ),
        writes_books=True,
    )
    with closing(gantt.connect(f"sqlite:///{file}", create=True)) as books:
        refused = books.set_fleet(statement)
        assert refused == (), refused[:3]
        fill(books, hosts)
        furnish(books, of[FURNISHED])


def fill(books: GanttProtocol, hosts: int) -> None:
    """Let consumers use a part of each host that differs from host to host."""
    providers = [one.uuid for one in books.list_providers()]
    assert len(providers) == hosts
    claims = [
        use(provider, number * 8 + turn, 1 + number * 29 % 57)
        for number, provider in enumerate(providers)
        for turn in range(number * 7 % 5)
    ]
    for start in range(0, len(claims), _CONSUMERS_PER_WRITE):
        books.set_allocations(claims[start : start + _CONSUMERS_PER_WRITE])


def use(provider: str, number: int, vcpus: int, kind: int = 3) -> ConsumerAllocations:
    """One consumer on one provider."""
    resources = {"VCPU": vcpus, "MEMORY_MB": vcpus * 1024, "DISK_GB": vcpus * 5}
    return ConsumerAllocations(
        uuid(kind, number), {provider: resources}, PROJECT, PROJECT, UNSET, "INSTANCE"
    )


def furnish(books: GanttProtocol, host: str) -> None:
    """Give a host NUMA cells and network cards, a child provider, and a pending claim
    with a lease."""
    report = synthetic.plain_form(synthetic.network_cards())
    (view,) = books.list_hosts(host=host)
    known = HostStats(**{**view.stats, "traits": UNSET})
    given = read_stats(report, host=host)
    books.update_host(
        host,
        host,
        replace(
            known,
            numa_topology=given.numa_topology,
            pci_stats=given.pci_stats,
            obeys_claims=True,
            instances=(uuid(4, 1),),
        ),
    )
    child = books.create_provider(f"{host}_gpu", parent_uuid=view.provider_uuid)
    gpus = {"VGPU": Inventory(total=8)}
    books.set_inventories(child.uuid, gpus, generation=child.generation)
    flavor = Flavor(vcpus=2, memory_mb=4096, root_gb=10, name="m1", flavorid="1")
    spec = RequestSpec(
        flavor=flavor, project_id=PROJECT, user_id=PROJECT, force_hosts=(host,)
    )
    books.schedule(ScheduleRequest(spec, (uuid(4, 2),), lease_s=3600))
