"""Small fleets that change, and requests to them, drawn from a seed."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final

import msgspec
from msgspec import Struct

from gantt.engine.factory import standard_names
from gantt.model import rows as t
from gantt.model.changes import Change, Cursor
from gantt.model.rows import (
    BookingRow,
    HostAggregateRow,
    HostRow,
    InstanceRow,
    Row,
    ServerGroupRow,
    ServiceRow,
)
from gantt.model.spec import Flavor, Image, InstanceGroup, RequestSpec
from gantt.placement.rules import plan
from gantt.scheduler.contract import Request
from gantt.scheduler.hosts import Hosts
from gantt.scheduler.options import SchedulerOptions
from gantt.state.state import State

NOW: Final = 1_700_000_000_000_000
_SECOND: Final = 1_000_000
_POLICIES: Final = ("affinity", "anti-affinity", "soft-affinity", "soft-anti-affinity")
_INSTANCES: Final = tuple(f"instance-{number}" for number in range(8))
_TABLES: Final = (
    t.HOSTS,
    t.SERVICES,
    t.HOST_AGGREGATES,
    t.INSTANCES,
    t.SERVER_GROUPS,
    t.BOOKINGS,
)


class Values(Struct, frozen=True, kw_only=True):
    """What fleets and requests are drawn from, beside what Gantt itself knows.

    ``reports``: by dotted path ("stats.rack") what hosts report there, or, for None,
    do not; ``metadata``: of aggregates; ``hints``, ``extra_specs``,
    ``image_properties``: of requests, by name; ``requests``: whole ones, each asked as
    it is; ``options``: of the scheduler.
    """

    reports: Mapping[str, tuple[Any, ...]] = {}
    metadata: Mapping[str, tuple[str, ...]] = {}
    hints: Mapping[str, tuple[str, ...]] = {}
    extra_specs: Mapping[str, tuple[str, ...]] = {}
    image_properties: Mapping[str, tuple[Any, ...]] = {}
    requests: tuple[RequestSpec, ...] = ()
    options: SchedulerOptions = SchedulerOptions()


USUAL: Final = Values()


class World:
    """A fleet of up to a dozen hosts (or ``size``). What it is and how it changes
    follows from ``seed`` and ``values`` alone."""

    def __init__(
        self, seed: int, values: Values = USUAL, size: int | None = None
    ) -> None:
        self._dice = random.Random(seed)  # noqa: S311 - the seed is the point
        self._values = values
        self.now = NOW
        self.state = State()
        self.state.apply(_names(), Cursor(1, "names"))
        self._rows: dict[tuple[str, int], Row] = {}
        count = self._dice.randint(1, 12) if size is None else size
        self._names = [f"h{number}" for number in range(count)]
        self._put_all(
            [
                *((t.SERVICES, self._service(key)) for key in range(count)),
                *((t.HOSTS, self._host(key)) for key in range(count)),
                *((t.HOST_AGGREGATES, self._aggregate(key)) for key in range(3)),
                *((t.INSTANCES, self._instance(key)) for key in range(4)),
                (t.SERVER_GROUPS, self._group()),
                *((t.BOOKINGS, self._claim(key)) for key in range(4, 7)),
            ]
        )

    def hosts(self) -> Hosts:
        """All hosts, as a request sees them first."""
        return Hosts(self.state.fleet, self.state.fleet.hosts.live_rows().astype(int))

    def request(self, spec: RequestSpec) -> Request:
        """``spec`` at the time of this world."""
        return Request(spec, self._values.options, self.now)

    def specs(self) -> Iterator[RequestSpec]:
        """Requests without end: ``Values.requests``, then drawn ones."""
        yield from self._values.requests
        while True:
            yield self._spec()

    def change(self) -> None:
        """Something happens to a host, or to what is said of it, or time passes."""
        dice, key = self._dice, self._dice.randrange(len(self._names))
        changed: Row
        match dice.randrange(7):
            case 0:
                table, changed = t.SERVICES, self._service(key)
            case 1:
                table, changed = t.HOST_AGGREGATES, self._aggregate(dice.randrange(3))
            case 2:
                table, changed = t.INSTANCES, self._instance(dice.randrange(4))
            case 3:
                table, changed = t.BOOKINGS, self._claim(dice.randrange(4, 7))
            case 4:
                table, changed = t.SERVER_GROUPS, self._group()
            case _:
                table, changed = t.HOSTS, self._host(key)
        self.now += dice.choice((0, _SECOND, 100 * _SECOND))
        self._put_all([(table, changed)])

    def facts(self) -> bytes:
        """All that is in the fleet; it differs where a plug-in changed anything."""
        fleet = self.state.fleet
        rows = [list(fleet.rows(table)) for table in _TABLES]
        said = (fleet.hosts.stats, fleet.aggregates.metadata)
        return msgspec.msgpack.encode((rows, said))

    def _put_all(self, rows: list[tuple[str, Row]]) -> None:
        changes = []
        for table, row in rows:
            key = int(row.id)  # type: ignore[union-attr]
            changes.append(Change(table, key, self._rows.get((table, key)), row))
            self._rows[table, key] = row
        self.state.apply(changes, Cursor(self.state.revision + 1, "world"))

    # -- what there is ------------------------------------------------------------

    def _host(self, key: int) -> HostRow:
        name = self._names[key]
        reported = self._report() if self._dice.random() < 0.9 else {}
        for path, values in self._values.reports.items():
            _set(reported, path.split("."), self._dice.choice(values))
        text = _text(reported)
        return HostRow(key + 1, name, name, None, text, NOW, self.now)

    def _report(self) -> dict[str, Any]:
        dice = self._dice
        memory_mb, vcpus = dice.choice((4096, 65536)), dice.choice((0, 4, 16))
        arch = dice.choice(("x86_64", "aarch64"))
        found = {
            "vcpus": vcpus,
            "vcpus_used": dice.randint(0, 20),
            "memory_mb": memory_mb,
            "memory_mb_used": 512,
            "free_ram_mb": dice.choice((-512, 0, 2048, memory_mb)),
            "local_gb": dice.choice((0, 100, 1000)),
            "local_gb_used": 10,
            "free_disk_gb": dice.choice((0, 20, 500)),
            "hypervisor_type": "QEMU",
            "hypervisor_version": dice.choice((0, 6_002_000, 8_002_000)),
            "supported_instances": [[arch, "kvm", "hvm"]],
            "cpu_info": {"arch": arch, "features": dice.sample(("avx", "vmx"), 1)},
            "metrics": [{"name": "cpu.percent", "value": dice.randint(0, 100)}],
            "stats": {
                "num_instances": str(dice.randint(0, 60)),
                "io_workload": str(dice.randint(0, 12)),
                "failed_builds": str(dice.choice((0, 0, 3))),
            },
            "host_ip": f"10.0.{dice.randint(0, 1)}.{dice.randint(1, 9)}",
            "cpu_allocation_ratio": dice.choice((1.0, 16.0)),
            "ram_allocation_ratio": dice.choice((1.0, 1.5)),
            "disk_allocation_ratio": 1.0,
        }
        for name in dice.sample(sorted(found), dice.randint(0, 3)):
            del found[name]
        return found

    def _service(self, key: int) -> ServiceRow:
        dice = self._dice
        seen = dice.choice((None, self.now, self.now, self.now - 100 * _SECOND))
        is_off = dice.random() < 0.2
        cell = dice.choice((None, "cell-1", "cell-2"))
        name, binary = self._names[key], "nova-compute"
        return ServiceRow(
            key + 1, name, binary, is_off, False, seen, None, cell, 66, NOW, NOW
        )

    def _aggregate(self, key: int) -> HostAggregateRow:
        dice = self._dice
        members = dice.sample(self._names, dice.randint(0, len(self._names)))
        known = {"availability_zone": ("az1", "az2"), **self._values.metadata}
        names = dice.sample(sorted(known), dice.randint(0, len(known)))
        metadata = {name: dice.choice(known[name]) for name in names}
        uuid = f"00000000-0000-4000-8000-{key:012d}"
        hosts, said = _text(sorted(members)), _text(metadata)
        return HostAggregateRow(
            key + 1, uuid, f"a{key}", key + 1, hosts, said, NOW, NOW
        )

    def _instance(self, key: int) -> InstanceRow:
        host = self._dice.choice(self._names)
        facts = _text({"project_id": self._dice.choice(("p1", "p2"))})
        return InstanceRow(key + 1, _INSTANCES[key], host, facts, NOW, NOW)

    def _group(self) -> ServerGroupRow:
        members = _text(sorted(self._dice.sample(_INSTANCES, 3)))
        policy = self._dice.choice(_POLICIES)
        return ServerGroupRow(1, "group", "group", policy, 1, members, NOW, NOW)

    def _claim(self, key: int) -> BookingRow:
        host, amounts = self._dice.randrange(len(self._names)) + 1, (2, 1024, 10_240)
        rest = (None, None, None, None, NOW, NOW)
        return BookingRow(key + 1, f"c{key}", _INSTANCES[key], host, *amounts, *rest)

    # -- what is asked for --------------------------------------------------------

    def _spec(self) -> RequestSpec:
        dice, values = self._dice, self._values
        image = None
        if dice.random() < 0.7:
            image = Image("image", "qcow2", self._some(values.image_properties))
        group = None
        if dice.random() < 0.5:
            members = frozenset(dice.sample(_INSTANCES, 2))
            group = InstanceGroup("group", dice.choice(_POLICIES), 1, members)
        hints: dict[str, tuple[str, ...]] = {
            name: (value,) for name, value in self._some(values.hints).items()
        }
        return RequestSpec(
            flavor=Flavor(
                vcpus=dice.choice((0, 1, 8)),
                memory_mb=dice.choice((0, 512, 8192)),
                root_gb=dice.choice((0, 10, 200)),
                name=dice.choice(("small", "large")),
                extra_specs=self._some(values.extra_specs),
            ),
            image=image,
            project_id=dice.choice(("p1", "p2", None)),
            user_id=dice.choice(("u1", "u2")),
            instance_uuid=dice.choice(_INSTANCES),
            ignore_hosts=tuple(dice.sample(self._names, 1))
            if dice.randrange(2)
            else (),
            retry_hosts=(("h0", "h0"),) if dice.random() < 0.2 else (),
            instance_group=group,
            scheduler_hints=hints,
            is_bfv=dice.random() < 0.2,
        )

    def _some(self, values: Mapping[str, tuple[Any, ...]]) -> dict[str, Any]:
        names = self._dice.sample(sorted(values), self._dice.randint(0, len(values)))
        return {name: self._dice.choice(values[name]) for name in names}


@cache
def _names() -> tuple[Change, ...]:
    return tuple(plan(State(), standard_names(), NOW).changes)


def _set(report: dict[str, Any], path: list[str], value: object) -> None:
    for name in path[:-1]:
        report = report.setdefault(name, {})
    if value is None:
        report.pop(path[-1], None)
    else:
        report[path[-1]] = value


def _text(value: object) -> str:
    return msgspec.json.encode(value).decode()
