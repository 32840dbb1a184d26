"""Fleets for the tests of filters, weighers and drivers: said in plain dicts.

A naive reading of a rule walks the same dicts that the columns were built from, so
that a test compares two ways of reading one fleet.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np
from hypothesis import strategies as st

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
from gantt.scheduler.contract import Request, Weigher
from gantt.scheduler.hosts import Hosts
from gantt.scheduler.options import SchedulerOptions
from gantt.scheduler.scoring.scale import scales_of, total
from gantt.state.column import Floats
from gantt.state.state import State

Plain = dict[str, Any]
NOW = 1_700_000_000_000_000
"""The time of every request here, in microseconds."""

NOT_STATS = frozenset({"host", "node", "uuid", "service", "instances"})
"""What a plain host says beside fields of compute_nodes."""


@dataclass(frozen=True)
class Plan:
    """A fleet in plain words.

    hosts: ``host``, ``node`` (default: the host's name), ``uuid``, ``service`` (fields
    of ServiceRow, or None), ``instances`` (uuid -> facts; they belong to the service
    host, so say them once), and fields of compute_nodes. aggregates: ``uuid``,
    ``hosts``, ``metadata``. groups: ``uuid``, ``policy``, ``max_server_per_host``,
    ``members``. claims: ``instance``, ``host``, ``node``, ``vcpus``, ``memory_mb``,
    ``disk_mb``, ``group`` (uuid), ``claim``.
    """

    hosts: Sequence[Plain] = ()
    aggregates: Sequence[Plain] = ()
    groups: Sequence[Plain] = ()
    claims: Sequence[Plain] = field(default=())

    def state(self) -> State:
        """A new State of this fleet; host rows are in the order of ``hosts``."""
        return fleet(self.hosts, self.aggregates, self.groups, self.claims)

    def instances_of(self, host: Plain) -> set[str]:
        """What the service host of ``host`` names."""
        same = (one for one in self.hosts if one["host"] == host["host"])
        return {uuid for one in same for uuid in one.get("instances") or ()}

    def claims_of(self, host: Plain) -> list[Plain]:
        """Claims on this very node."""
        return [one for one in self.claims if place_of(one) == place_of(host)]

    def promised_to(self, host: Plain) -> set[str]:
        """Instances with a claim on any node of the service host of ``host``."""
        return {one["instance"] for one in self.claims if one["host"] == host["host"]}

    def metadata_of(self, host: Plain, key: str) -> list[str]:
        """The values of ``key`` in the aggregates that ``host`` is in."""
        return [
            one["metadata"][key]
            for one in self.aggregates
            if host["host"] in one["hosts"] and key in one["metadata"]
        ]


def place_of(one: Plain) -> tuple[str, str]:
    """(host, node) of a plain host or claim."""
    return one["host"], one.get("node") or one["host"]


def fleet(
    hosts: Sequence[Plain] = (),
    aggregates: Sequence[Plain] = (),
    groups: Sequence[Plain] = (),
    claims: Sequence[Plain] = (),
) -> State:
    """A State built from Changes; the dicts are those of ``Plan``."""
    state = State()
    rows = [
        *_host_rows(hosts),
        *_aggregate_rows(aggregates),
        *_group_rows(groups),
        *_claim_rows(claims, {place_of(one): n for n, one in enumerate(hosts, 1)}),
    ]
    changes = (Change(table, t.key_of(row), None, row) for table, row in rows)
    state.apply(changes, Cursor(1, "fleet"))
    return state


def all_hosts(state: State) -> Hosts:
    """Every host of ``state``, as one request sees them."""
    return Hosts(state.fleet, state.fleet.hosts.live_rows().astype(np.int64))


def request(spec: RequestSpec | None = None, **options: Any) -> Request:
    """A request for ``spec`` at NOW."""
    return Request(spec or RequestSpec(), SchedulerOptions(**options), NOW)


def weights(hosts: Hosts, asked: Request, weighers: Sequence[Weigher]) -> Floats:
    """float64[len(hosts)]: the weight of every host, as a fresh field has it."""
    return total(scales_of(hosts, asked, weighers), len(hosts))


def a_host(name: str = "h1", **fields: Any) -> Plain:
    """A plain host that is up and has reported; ``fields`` add to it or replace."""
    return {
        "host": name,
        "node": name,
        "vcpus": 16,
        "vcpus_used": 0,
        "memory_mb": 32768,
        "memory_mb_used": 0,
        "free_ram_mb": 32768,
        "local_gb": 500,
        "local_gb_used": 0,
        "free_disk_gb": 500,
        "stats": {},
        **fields,
    }


def _text(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _host_rows(hosts: Sequence[Plain]) -> Iterator[tuple[str, Row]]:
    served: set[str] = set()
    instances = 0
    for number, one in enumerate(hosts, 1):
        name, node = place_of(one)
        service = one.get("service")
        if service is not None and name not in served:
            served.add(name)
            yield t.SERVICES, _service_row(number, name, service)
        stats = {key: value for key, value in one.items() if key not in NOT_STATS}
        uuid = one.get("uuid")
        yield t.HOSTS, HostRow(number, name, node, uuid, _text(stats), NOW, NOW)
        named: Mapping[str, Any] | Iterable[str] = one.get("instances") or {}
        facts = named if isinstance(named, Mapping) else {key: {} for key in named}
        for uuid, known in facts.items():
            instances += 1
            yield (
                t.INSTANCES,
                InstanceRow(instances, uuid, name, _text(known), NOW, NOW),
            )


def _service_row(number: int, host: str, service: Plain) -> ServiceRow:
    return ServiceRow(
        number,
        host,
        service.get("binary", "nova-compute"),
        service.get("disabled", False),
        service.get("forced_down", False),
        service.get("last_seen_up"),
        service.get("availability_zone"),
        service.get("cell_uuid"),
        service.get("version"),
        NOW,
        NOW,
    )


def _aggregate_rows(aggregates: Sequence[Plain]) -> Iterator[tuple[str, Row]]:
    for number, one in enumerate(aggregates, 1):
        hosts, metadata = sorted(one["hosts"]), one.get("metadata", {})
        yield (
            t.HOST_AGGREGATES,
            HostAggregateRow(
                number,
                one["uuid"],
                str(one.get("name", one["uuid"])),
                number,
                _text(hosts),
                _text(metadata),
                NOW,
                NOW,
            ),
        )


def _group_rows(groups: Sequence[Plain]) -> Iterator[tuple[str, Row]]:
    for number, one in enumerate(groups, 1):
        yield (
            t.SERVER_GROUPS,
            ServerGroupRow(
                number,
                one["uuid"],
                str(one.get("name", one["uuid"])),
                one.get("policy"),
                one.get("max_server_per_host", 1),
                _text(sorted(one.get("members", ()))),
                NOW,
                NOW,
            ),
        )


def _claim_rows(
    claims: Sequence[Plain], id_of: dict[tuple[str, str], int]
) -> Iterator[tuple[str, Row]]:
    for number, one in enumerate(claims, 1):
        yield (
            t.BOOKINGS,
            BookingRow(
                number,
                one.get("claim", f"claim-{number}"),
                one["instance"],
                id_of[place_of(one)],
                one.get("vcpus", 0),
                one.get("memory_mb", 0),
                one.get("disk_mb", 0),
                one.get("group"),
                None,
                None,
                None,
                NOW,
                NOW,
            ),
        )


# -- at random ------------------------------------------------------------------------

HOST_NAMES = ("h1", "h2", "h3", "h4", "h5")
INSTANCES = tuple(f"i{number}" for number in range(1, 9))
GROUP = "g1"
ARCHITECTURES = ("x86_64", "aarch64", "amd64")
HYPERVISORS = ("kvm", "qemu", "xen")
METADATA: dict[str, tuple[str, ...]] = {
    "max_io_ops_per_host": ("1", "4", "9", "many", " 2 ", "3,4"),
    "max_instances_per_host": ("0", "2", "60", "", "5.5"),
    "ram_weight_multiplier": ("2.0", "-1", "x"),
    "instance_type": ("small", "small, large", "huge"),
    "filter_tenant_id": ("p1", "p1,p2", "p3"),
    "filter_tenant_id_more": ("p2", " p4 "),
    "hw_disk_bus": ("virtio", "scsi, ide"),
    "os_type": ("linux,windows", "linux"),
    "ssd": ("true", "true,false", "1"),
    "cores": ("4", "8, 16"),
}


def _maybe(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | strategy


def _services() -> st.SearchStrategy[Plain | None]:
    second = 1_000_000
    seen = st.sampled_from(
        [NOW, NOW - 60 * second, NOW - 60 * second - 1, NOW + 61 * second, 0]
    )
    return _maybe(
        st.fixed_dictionaries(
            {
                "disabled": st.sampled_from([False, False, True]),
                "forced_down": st.sampled_from([False, False, True]),
                "last_seen_up": _maybe(seen),
            }
        )
    )


def _reports() -> st.SearchStrategy[Plain]:
    """Fields of compute_nodes as hosts report them, or leave them out."""
    small = st.integers(0, 12)
    stats = {
        "num_instances": small | small.map(str),
        "io_workload": small,
        "failed_builds": st.integers(0, 3) | st.just("2"),
        "rack": st.sampled_from(["r1", "r2"]),
        "score": st.integers(0, 9) | st.sampled_from(["7", "x"]),
    }
    triple = st.tuples(
        st.sampled_from(ARCHITECTURES),
        st.sampled_from(HYPERVISORS),
        st.sampled_from(["hvm", "xen", "exe"]),
    ).map(list)
    cpu = {
        "arch": st.sampled_from(ARCHITECTURES),
        "features": st.lists(st.sampled_from(["avx", "sse", "vmx"]), max_size=3),
        "maxphysaddr": st.fixed_dictionaries({"bits": st.sampled_from([39, 46, 52])}),
        "topology": st.fixed_dictionaries({"cores": small}),
    }
    metric = st.fixed_dictionaries(
        {
            "name": st.sampled_from(["cpu.percent", "net.load"]),
            "value": st.integers(0, 100),
            "timestamp": st.just("2026-01-01T00:00:00Z"),
            "source": st.just("virt"),
        }
    )
    return st.fixed_dictionaries(
        {
            "vcpus": st.integers(0, 64),
            "vcpus_used": st.integers(0, 70),
            "memory_mb": st.integers(0, 65536),
            "local_gb": st.integers(0, 1000),
        },
        optional={
            "free_ram_mb": st.integers(-1024, 65536),
            "free_disk_gb": _maybe(st.integers(0, 1000)),
            "disk_available_least": _maybe(st.integers(-10, 1000)),
            "hypervisor_type": _maybe(st.sampled_from(["QEMU", "KVM"])),
            "hypervisor_version": _maybe(
                st.sampled_from([0, 1_002_003, 6_002_000, 7_000_000])
            ),
            "hypervisor_hostname": st.sampled_from(["n1", "n2"]),
            "host_ip": _maybe(
                st.sampled_from(["10.0.0.1", "10.0.1.200", "192.168.1.1", "fd00::1"])
            ),
            "cpu_info": _maybe(st.fixed_dictionaries({}, optional=cpu)),
            "supported_instances": _maybe(st.lists(triple, max_size=3)),
            "metrics": _maybe(
                st.lists(metric, max_size=2, unique_by=lambda one: one["name"])
            ),
            "cpu_allocation_ratio": st.sampled_from([0.0, 1.0, 4.0]),
            "ram_allocation_ratio": st.sampled_from([0.0, 1.0, 1.5]),
            "disk_allocation_ratio": st.sampled_from([0.0, 1.0]),
            "stats": st.fixed_dictionaries({}, optional=stats),
        },
    )


@st.composite
def fleets(draw: st.DrawFn, least: int = 0, most: int = 6) -> Plan:
    """A small fleet with a bit of everything. An instance is on one service host at
    most and has one claim at most; both may be said of it."""
    places = draw(
        st.lists(
            st.tuples(st.sampled_from(HOST_NAMES), st.sampled_from(["a", "b"])),
            min_size=least,
            max_size=most,
            unique=True,
        )
    )
    names = sorted({name for name, _ in places})
    services = {name: draw(_services()) for name in names}
    hosts: list[Plain] = [
        {
            "host": name,
            "node": f"{name}-{node}",
            "service": services[name],
            "instances": {},
            **draw(_reports()),
        }
        for name, node in places
    ]
    claims: list[Plain] = []
    if hosts:
        owners = st.integers(-1, len(hosts) - 1)
        for uuid in INSTANCES:
            on, promised = draw(owners), draw(st.just(-1) | owners)
            if on >= 0:
                hosts[on]["instances"][uuid] = {"flavorid": draw(st.sampled_from("12"))}
            if promised >= 0:
                claims.append(_a_claim(draw, uuid, hosts[promised]))
    return Plan(hosts, draw(_aggregates(names)), draw(_groups()), claims)


def _a_claim(draw: st.DrawFn, uuid: str, host: Plain) -> Plain:
    return {
        "instance": uuid,
        "host": host["host"],
        "node": host["node"],
        "vcpus": draw(st.integers(0, 4)),
        "memory_mb": draw(st.sampled_from([0, 512, 4096])),
        "disk_mb": draw(st.sampled_from([0, 10240])),
        "group": draw(st.sampled_from([None, GROUP])),
    }


def _aggregates(names: Sequence[str]) -> st.SearchStrategy[list[Plain]]:
    members = st.sets(st.sampled_from(names)) if names else st.just(set())
    metadata = st.fixed_dictionaries(
        {}, optional={key: st.sampled_from(some) for key, some in METADATA.items()}
    )
    return st.lists(
        st.fixed_dictionaries({"hosts": members, "metadata": metadata}), max_size=3
    ).map(
        lambda found: [{"uuid": f"a{n}", **one} for n, one in enumerate(found)],
    )


def _groups() -> st.SearchStrategy[list[Plain]]:
    group = st.fixed_dictionaries(
        {
            "uuid": st.just(GROUP),
            "policy": st.just("anti-affinity"),
            "members": st.sets(st.sampled_from(INSTANCES), max_size=4),
        }
    )
    return st.lists(group, max_size=1)


def _texts(*values: str) -> st.SearchStrategy[str]:
    return st.sampled_from(values)


def _extra_specs() -> st.SearchStrategy[dict[str, str]]:
    return st.fixed_dictionaries(
        {},
        optional={
            "ssd": _texts("true", "<or> 1 <or> true", "s!= x"),
            "cores": _texts("= 8", ">= 9", "4"),
            "vcpus_used": _texts("<= 20", "== 4"),
            "rack": _texts("r1", "<in> r"),
            "capabilities:rack": _texts("r1", "s== r2"),
            "capabilities:stats:score": _texts("= 5", "7", "!= 3"),
            "capabilities:cpu_info:features": _texts("<in> avx", "<all-in> avx sse"),
            "capabilities:cpu_info:topology:cores": _texts("= 4", "<or> 2 <or> 8"),
            "hw:maxphysaddr_bits": _texts("42", "52"),
            "aggregate_instance_extra_specs:ssd": _texts("true", "false"),
            "hw:watchdog_action": _texts("reset"),
        },
    )


def _images() -> st.SearchStrategy[Image]:
    properties = st.fixed_dictionaries(
        {},
        optional={
            "hw_architecture": st.sampled_from(ARCHITECTURES),
            "img_hv_type": st.sampled_from(HYPERVISORS),
            "hw_vm_mode": st.sampled_from(["hvm", "xen", "hv"]),
            "img_hv_requested_version": st.sampled_from([">=6.0", ">=1.2, <2.0"]),
            "hw_maxphysaddr_bits": st.sampled_from([42, 52]),
            "hw_disk_bus": st.sampled_from(["virtio", "ide"]),
            "os_type": st.sampled_from(["linux", "windows"]),
        },
    )
    return st.builds(
        Image, id=st.sampled_from([None, "im1", "im2"]), properties=properties
    )


def _instance_groups() -> st.SearchStrategy[InstanceGroup]:
    policies = ["affinity", "anti-affinity", "soft-affinity", "soft-anti-affinity"]
    return st.builds(
        InstanceGroup,
        uuid=st.sampled_from([GROUP, "g2"]),
        policy=st.sampled_from([*policies, None]),
        max_server_per_host=st.integers(1, 3),
        members=st.frozensets(st.sampled_from(INSTANCES), max_size=4),
        hosts=st.frozensets(st.sampled_from([*HOST_NAMES, "elsewhere"]), max_size=2),
    )


def _hints() -> st.SearchStrategy[dict[str, tuple[str, ...]]]:
    uuids = st.lists(
        st.sampled_from([*INSTANCES, "nowhere"]), min_size=1, max_size=3, unique=True
    ).map(tuple)
    return st.fixed_dictionaries(
        {},
        optional={
            "same_host": uuids,
            "different_host": uuids,
            "build_near_host_ip": st.just(("10.0.0.9",)),
            "cidr": _texts("/16", "24").map(lambda text: (text,)),
            "query": _texts(
                '[">=", "$free_ram_mb", 1024]',
                '["and", ["=", "$stats.rack", "r1"], ["<", "$vcpus_used", 8]]',
                '["not", ["in", "$host", "h1", "h2"]]',
            ).map(lambda text: (text,)),
        },
    )


def specs() -> st.SearchStrategy[RequestSpec]:
    """A request with a bit of everything, much of it about fleets of ``fleets``."""
    flavors = st.builds(
        Flavor,
        vcpus=st.integers(0, 8),
        memory_mb=st.sampled_from([0, 512, 4096]),
        root_gb=st.integers(0, 20),
        ephemeral_gb=st.integers(0, 5),
        swap=st.sampled_from([0, 1024]),
        name=st.sampled_from(["small", "large", "huge", None]),
        flavorid=st.sampled_from(["1", "2"]),
        extra_specs=_extra_specs(),
    )
    return st.builds(
        RequestSpec,
        flavor=flavors,
        image=_maybe(_images()),
        project_id=st.sampled_from(["p1", "p2", "p4", None]),
        user_id=st.just("u1"),
        instance_uuid=st.sampled_from([*INSTANCES, "new"]),
        instance_group=_maybe(_instance_groups()),
        scheduler_hints=_hints(),
        is_bfv=st.booleans(),
    )
