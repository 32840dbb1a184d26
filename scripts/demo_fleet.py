"""Fill a new database with fifty hosts and three weeks of their history, to look at.

Usage: python -m scripts.demo_fleet FOLDER; ``make demo`` serves it as well.
FOLDER gets gantt.db, gantt.conf, and in ``refused`` the id of a request without hosts.

Everything is written through the library, by an engine whose clock begins three weeks
ago: instances come and go, hosts report them, the usage history takes its samples, and
the last requests leave records, some of refusals and of dry runs.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from gantt.bench.bench_fleets import AGGREGATE, GROUP, INSTANCE, Host, cell_of, uuid_of
from gantt.bench.fleet_setup import stats_of
from gantt.engine.background.usage_recorder import UsageRecorder
from gantt.engine.factory import standard_names
from gantt.engine.gantt import Gantt
from gantt.engine.options import EngineOptions
from gantt.errors import NoValidHost
from gantt.model.commands import Inventory
from gantt.model.fleet import OPERATOR, FleetStatement, HostReport
from gantt.model.forms.stats import read_stats
from gantt.model.hosts import HostAggregate, HostStats, ServerGroup, Service
from gantt.model.spec import Flavor, InstanceGroup, RequestSpec, ScheduleRequest
from gantt.placement.usage_samples import totals_by_zone
from gantt.scheduler.options import DEFAULT_FILTERS, SchedulerOptions
from gantt.store import open_store
from gantt.store.interface import StoreOptions

HOSTS: Final = 50
DAYS: Final = 21
HOUR_US: Final = 3_600_000_000
GPU: Final = "CUSTOM_GPU"
FILTERS: Final = (*DEFAULT_FILTERS, "NUMATopologyFilter", "PciPassthroughFilter")
PROJECTS: Final = ("web", "research", "billing")
_LAST_US = 300_000_000  # within which the last requests come
# So that use grows all the time, and room runs out within days.
_AT_FIRST, _GROWTH, _MEAN_DAYS = 0.15, 0.65, 30
_CELLS = 2
_COMPUTE = 67  # of nova-compute


class Kind(Struct, frozen=True):
    """Hosts that are alike; memory in GB."""

    name: str
    vcpus: int
    memory_gb: int
    local_gb: int
    ratio: float
    traits: tuple[str, ...]

    @property
    def has_cells(self) -> bool:
        """Whether it tells of NUMA cells and network cards."""
        return self.name == "net"


GENERAL = Kind("gen", 32, 128, 2_000, 1.5, ("HW_CPU_X86_AVX2",))
MEMORY = Kind("mem", 48, 768, 2_000, 1.5, ("HW_CPU_X86_AVX2", "CUSTOM_BIG_MEMORY"))
NETWORK = Kind("net", 64, 256, 2_000, 1.0, ("HW_CPU_X86_AVX512F", "CUSTOM_FAST_NET"))
KINDS: Final = (*[GENERAL] * 30, *[MEMORY] * 12, *[NETWORK] * 8)


def _flavor(name: str, vcpus: int, gb: int, disk: int, **extra: str) -> Flavor:
    specs = {key.replace("__", ":"): value for key, value in extra.items()}
    return Flavor(vcpus, gb * 1024, disk, name=name, flavorid=name, extra_specs=specs)


SMALL = _flavor("small", 2, 4, 20)
LARGE = _flavor("large", 8, 32, 80)
HUGE = _flavor("memory", 16, 192, 100, trait__CUSTOM_BIG_MEMORY="required")
PINNED = _flavor(
    "pinned", 8, 32, 40, trait__CUSTOM_FAST_NET="required", hw__cpu_policy="dedicated"
)
# How often each is asked for, out of so many.
FLAVORS: Final = (SMALL,) * 9 + (LARGE,) * 8 + (HUGE,) * 2 + (PINNED,)


class PastClock:
    """Stands still until it is moved on; how long things take is true."""

    def __init__(self, now: int) -> None:
        self.at = now
        self._began = time.monotonic()

    def now(self) -> int:
        return self.at

    def monotonic(self) -> float:
        return self.at / 1e6 + time.monotonic() - self._began

    def sleep(self, seconds: float) -> None:
        self.at += int(seconds * 1e6)


def host_name(number: int) -> str:
    return f"{KINDS[number].name}-{number + 1:02}"


def stats(number: int) -> HostStats:
    """The report of a host without instances."""
    kind = KINDS[number]
    host = Host(number, kind.vcpus, kind.memory_gb * 1024, kind.local_gb)
    more: dict[str, Any] = {}
    if kind.has_cells:
        host = replace(host, cells=_CELLS)
        cells = [{**cell_of(host, one), "socket": one} for one in range(_CELLS)]
        more = {"numa_topology": {"cells": cells}, "obeys_claims": True}
        more |= {"pci_stats": [*map(_pool, range(_CELLS))]}
    more |= {"hypervisor_hostname": host_name(number), **_used(number, ())}
    ratio, traits = kind.ratio, kind.traits
    return replace(stats_of(host), cpu_allocation_ratio=ratio, traits=traits, **more)


def _pool(place: int) -> dict[str, Any]:
    return {
        "vendor_id": "8086",
        "product_id": "154c",
        "numa_node": place,
        "count": 8,
        "tags": {"dev_type": "type-VF", "physical_network": f"physnet{place}"},
    }


def _used(number: int, running: tuple[Flavor, ...]) -> dict[str, Any]:
    kind = KINDS[number]
    vcpus = sum(one.vcpus for one in running)
    memory_mb = sum(one.memory_mb for one in running)
    local_gb = sum(one.root_gb for one in running)
    load = min(1.0, 0.05 + 0.6 * vcpus / (kind.vcpus * kind.ratio))
    count = str(len(running))
    return {
        "vcpus_used": vcpus,
        "memory_mb_used": memory_mb,
        "local_gb_used": local_gb,
        "free_ram_mb": kind.memory_gb * 1024 - memory_mb,
        "free_disk_gb": kind.local_gb - local_gb,
        "running_vms": len(running),
        "stats": {"num_instances": count, "io_workload": "0", "failed_builds": "0"},
        "metrics": [
            {"name": "cpu.percent", "value": round(load, 3), "source": "libvirt"}
        ],
    }


class Demo:
    """Instances that come and go on the hosts, hour by hour."""

    def __init__(self, books: Gantt, clock: PastClock, usage: UsageRecorder) -> None:
        self._books = books
        self._clock = clock
        self._usage = usage
        self._dice = random.Random(20)
        self._number = 0
        # Instance -> its host, flavor and the time it ends.
        self._running: dict[str, tuple[str, Flavor, int]] = {}

    def found(self) -> None:
        """The hosts, their zones and racks; one is out of service, one is down."""
        names = [host_name(number) for number in range(HOSTS)]
        zones = {"north": names[0::2], "south": names[1::2]}
        racks = {f"rack-{one + 1}": names[one::5] for one in range(5)}
        groups = [
            HostAggregate(
                uuid_of(AGGREGATE, place),
                name,
                place + 1,
                frozenset(hosts),
                {"availability_zone": name} if name in zones else {},
            )
            for place, (name, hosts) in enumerate((zones | racks).items())
        ]
        reports = [
            HostReport(name, name, stats(number)) for number, name in enumerate(names)
        ]
        services = [
            Service(name, forced_down=name == "gen-17", version=_COMPUTE)
            for name in names
        ]
        refused = self._books.set_fleet(
            FleetStatement(
                services=tuple(services),
                hosts=tuple(reports),
                aggregates=tuple(groups),
                groups=(ServerGroup(uuid_of(GROUP, 1), "web-front", "anti-affinity"),),
                writes_books=True,
            )
        )
        if refused:
            raise SystemExit(f"{refused[0].what}: {refused[0].why}")
        self._books.create_trait(GPU)  # of hosts that are yet to come
        self._divide_cpus()

    def _divide_cpus(self) -> None:
        """CPUs of hosts with cells are dedicated: PCPU, no VCPU."""
        for number, kind in enumerate(KINDS):
            if kind.has_cells:
                (view,) = self._books.list_hosts(host=host_name(number))
                provider = view.provider_uuid or ""
                cpus = Inventory(total=kind.vcpus, max_unit=kind.vcpus)
                self._books.set_inventory(provider, "PCPU", cpus)
                self._books.delete_inventory(provider, "VCPU")

    def live(self, days: int) -> None:
        """So many days, up to now: more by day than by night, and ever more."""
        begin = self._clock.at
        wanted = 0.0
        for hour in range(days * 24):
            self._end_some()
            by_day = 4 <= hour % 24 < 16
            is_weekend = hour // 24 % 7 >= 5
            in_hour = 0 if is_weekend and hour % 2 else 3 if by_day else 1
            wanted += in_hour * (_AT_FIRST + _GROWTH * hour / (days * 24))
            while wanted >= 1:
                wanted -= 1
                self._begin_one()
            if hour % 24 == 23:
                self._report()
            self._usage.run()
            self._clock.at = begin + (hour + 1) * HOUR_US
        self._report()
        self._usage.run()

    def ask(self) -> None:
        """The last requests: a server group, refusals, dry runs."""
        books = self._books
        word = Service(
            "gen-05", OPERATOR, disabled=True, disabled_reason="memory is replaced"
        )
        books.update_service(word)
        group = InstanceGroup(uuid_of(GROUP, 1))
        spec = replace(self._spec(SMALL), instance_group=group)
        front = ScheduleRequest(spec, self._names(3), request_id=self._request_id())
        chosen = books.schedule(front)
        for name, (first, *_) in zip(front.names, chosen, strict=True):
            self._running[name] = (first.service_host, SMALL, self._clock.at)
        for request in self._refused():
            self._clock.sleep(30)
            with suppress(NoValidHost):
                books.schedule(request)
        for flavor in (LARGE, PINNED):
            self._clock.sleep(30)
            books.decide(self._request(flavor))
        self._clock.at = time.time_ns() // 1000
        self._report()

    def _refused(self) -> Iterator[ScheduleRequest]:
        """What no host has, for several reasons."""
        yield self._request(replace(HUGE, memory_mb=1_500 * 1024))
        yield self._request(replace(SMALL, name="gpu", extra_specs=_needs(GPU)))
        wide = replace(PINNED, name="pinned-wide", vcpus=40, memory_mb=65_536)
        yield self._request(wide)
        large = replace(HUGE, name="memory-700", vcpus=4, memory_mb=700 * 1024)
        north = self._spec(large)
        yield self._of(replace(north, availability_zone="north"))

    def _begin_one(self) -> None:
        flavor = self._dice.choice(FLAVORS)
        request = self._request(flavor)
        try:
            ((chosen, *_),) = self._books.schedule(request)
        except NoValidHost:
            return
        days = self._dice.expovariate(1 / _MEAN_DAYS)
        (name,) = request.names
        until = self._clock.at + int((0.2 + days) * 24 * HOUR_US)
        self._running[name] = (chosen.service_host, flavor, until)

    def _end_some(self) -> None:
        now, running = self._clock.at, self._running.items()
        ended = [name for name, (*_, until) in running if until < now]
        for name in ended:
            del self._running[name]
            self._books.delete_allocations(name)

    def _report(self) -> None:
        """Hosts tell what runs there; those with cells tell their load alone, so that
        their claims stay pending and show which CPUs they hold."""
        on: dict[str, dict[str, Flavor]] = {}
        for name, (host, flavor, _) in self._running.items():
            on.setdefault(host, {})[name] = flavor
        for number in range(HOSTS):
            host = host_name(number)
            running = on.get(host, {})
            said = _used(number, (*running.values(),))
            if KINDS[number].has_cells:
                load = read_stats({"metrics": said["metrics"]}, host=host)
                self._books.update_host(host, host, load)
                continue
            used = read_stats(said, host=host)
            whole = replace(used, instances=(*running,), lists_instances=True)
            self._books.update_host(host, host, whole)

    def _spec(self, flavor: Flavor) -> RequestSpec:
        project = self._dice.choice(PROJECTS)
        return RequestSpec(flavor, project_id=project, user_id=f"{project}-operator")

    def _request(self, flavor: Flavor) -> ScheduleRequest:
        return self._of(self._spec(flavor))

    def _of(self, spec: RequestSpec) -> ScheduleRequest:
        return ScheduleRequest(spec, self._names(1), request_id=self._request_id())

    def _names(self, count: int) -> tuple[str, ...]:
        self._number += count
        return tuple(uuid_of(INSTANCE, self._number - one) for one in range(count))

    def _request_id(self) -> str:
        return f"req-{uuid_of(INSTANCE, self._number)}"


def _needs(trait: str) -> dict[str, str]:
    return {f"trait:{trait}": "required"}


def fill(url: str, days: int) -> tuple[int, str]:
    """Write the fleet into the new database at ``url``: how many decisions, and the id
    of the last request that was refused."""
    now = time.time_ns() // 1000 - _LAST_US
    clock = PastClock(now - days * 24 * HOUR_US)
    options = EngineOptions(
        usage_sample_s=0,  # taken by ``usage``, at the times of the clock
        scheduler=SchedulerOptions(enabled_filters=FILTERS),
        store=StoreOptions(create=True),
    )
    store = open_store(url, options.store)
    names = standard_names()
    with Gantt(store, options, clock=clock, standard_names=names) as books:
        sampling = replace(options, usage_sample_s=3_600)
        look = partial(books.read, totals_by_zone, "nova")
        usage = UsageRecorder(store, look, sampling, clock)
        demo = Demo(books, clock, usage)
        demo.found()
        demo.live(days)
        demo.ask()
        refused = [one for one in books.decisions(limit=20) if one.failure is not None]
        return int(books.counts()["decisions"]), refused[0].request_id


def main(folder: Path, days: int = DAYS) -> None:
    """Make all files in ``folder`` anew."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("gantt.db*"):
        old.unlink()
    url = f"sqlite:///{(folder / 'gantt.db').absolute()}"
    count, refused = fill(url, days)
    (folder / "refused").write_text(refused, encoding="utf-8")
    (folder / "gantt.conf").write_text(
        f"[placement_database]\nconnection = {url}\n"
        f"[filter_scheduler]\nenabled_filters = {', '.join(FILTERS)}\n",
        encoding="utf-8",
    )
    print(f"{HOSTS} hosts, {count} requests placed in {days} days.")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
