"""Fleets, requests and options at random, of the kind that Nova can express, too.

The fleets are those of the scheduler's own tests, completed with what Nova cannot do
without; requests and options are wider than there: every operator, every name.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st
from msgspec import structs

from gantt.model.spec import Destination, Image, InstanceGroup, RequestSpec
from gantt.scheduler.options import SchedulerOptions
from tests.nova.upstream import FILTERS, MULTIPLIERS
from tests.scheduler import fleets
from tests.scheduler.fleets import HOST_NAMES, INSTANCES, NOW, Plain, Plan

CELLS = (
    "ce110000-0000-4000-8000-000000000001",
    "ce110000-0000-4000-8000-000000000002",
)
METRICS = ("cpu.percent", "cpu.frequency", "cpu.user.percent")
PROPERTIES: dict[str, tuple[Any, ...]] = {
    "hw_architecture": ("x86_64", "aarch64", "i686", "amd64"),
    "img_hv_type": ("kvm", "qemu", "xen", "xapi"),
    "hw_vm_mode": ("hvm", "xen", "hv", "pv", "exe"),
    "img_hv_requested_version": (">=6.0", ">=1.2, <2.0", "!=7.0", "== 6.2", "<=1.2.3"),
    "hw_maxphysaddr_bits": (39, 42, 52),
    "hw_disk_bus": ("virtio", "ide", "scsi"),
    "os_type": ("linux", "windows"),
    "hw_cpu_cores": (0, 4, 8),
    "os_require_quiesce": (True, False),
}
METADATA: dict[str, tuple[str, ...]] = {
    **fleets.METADATA,
    **dict.fromkeys(MULTIPLIERS, ("2.0", "-1", "x", "0", " 0.5 ", "1e3", "", "0,5")),
    "rack": ("r1", "r1, r2"),
    "hw_cpu_cores": ("4", "8, 16"),
    "os_require_quiesce": ("True", "true", "False"),
    "no_such_property": ("1",),
    "availability_zone": ("az1", "az2"),
}
ATTRIBUTES = tuple(
    (
        "vcpus_total vcpus_used free_ram_mb total_usable_ram_mb free_disk_mb "
        "total_usable_disk_gb num_instances num_io_ops failed_builds "
        "cpu_allocation_ratio hypervisor_type disk_mb_used hypervisor_version "
        "host nodename hypervisor_hostname host_ip"
    ).split()
)
PATHS = tuple(
    (
        "stats:rack stats:score rack nothing cpu_info:arch cpu_info:features "
        "cpu_info:maxphysaddr:bits cpu_info:topology:cores "
        "cpu_info:topology:nothing vcpus_used:deeper cpu_info stats"
    ).split()
)
OPERATORS = (
    "=",
    "==",
    "!=",
    ">=",
    "<=",
    "s==",
    "s!=",
    "s<",
    "s<=",
    "s>",
    "s>=",
    "<in>",
    "<all-in>",
    "<or>",
    "",
    "<",
    ">",
)
OPERANDS = (
    "0",
    "4",
    "8",
    "16",
    "7.0",
    "1e3",
    "-3",
    "x",
    "r1",
    "r2",
    "avx",
    "QEMU",
    "true",
    "x86_64",
    "h1",
    "h1-a",
    "10.0.0.1",
    "4 8",
    "x <or> r1",
    "avx sse",
    "",
)


def plans(least: int = 0, most: int = 6) -> st.SearchStrategy[Plan]:
    """A fleet with all that Nova needs to know of one."""
    return _plans(least, most)


def working(plans: st.SearchStrategy[Plan]) -> st.SearchStrategy[Plan]:
    """The same, and every service works."""
    up = {"disabled": False, "forced_down": False, "last_seen_up": NOW}

    def mended(plan: Plan) -> Plan:
        hosts = [{**host, "service": {**host["service"], **up}} for host in plan.hosts]
        return replace(plan, hosts=hosts)

    return plans.map(mended)


@st.composite
def _plans(draw: st.DrawFn, least: int, most: int) -> Plan:
    plan = draw(fleets.fleets(least, most))
    services: dict[str, Plain] = {}
    hosts: list[Plain] = []
    for host in plan.hosts:
        service = services.setdefault(host["host"], draw(_service(host["service"])))
        hosts.append(draw(_host({**host, "service": service})))
    names = sorted(services)
    return replace(plan, hosts=hosts, aggregates=draw(_aggregates(names)))


@st.composite
def _service(draw: st.DrawFn, known: Plain | None) -> Plain:
    service = known or {}
    return {
        **service,
        "last_seen_up": service.get("last_seen_up") or NOW,
        "cell_uuid": draw(st.sampled_from(CELLS)),
    }


@st.composite
def _host(draw: st.DrawFn, host: Plain) -> Plain:
    """What is never null in Nova's table is said, and metrics bear known names."""
    metric = st.fixed_dictionaries(
        {
            "value": st.integers(0, 100) | st.sampled_from([0.29, 0.35, 0.5]),
            "timestamp": st.just("2026-01-01T00:00:00Z"),
            "source": st.just("virt"),
        }
    )
    pool = st.fixed_dictionaries(
        {
            "vendor_id": st.just("8086"),
            "product_id": st.sampled_from(["10fb", "10ed"]),
            "numa_node": st.sampled_from([None, 0, 1]),
            "count": st.integers(0, 70),
        }
    )
    names = draw(st.lists(st.sampled_from(METRICS), unique=True))
    instances = {
        uuid: {
            **facts,
            "image_properties": draw(
                st.fixed_dictionaries(
                    {},
                    optional={
                        "hw_disk_bus": st.sampled_from(["virtio", "ide"]),
                        "os_type": st.sampled_from(["linux", "windows"]),
                        "hw_cpu_cores": st.sampled_from(["4", "8"]),
                    },
                )
            ),
        }
        for uuid, facts in host["instances"].items()
    }
    free_disk = host.get("free_disk_gb")
    return {
        **host,
        "instances": instances,
        "hypervisor_type": host.get("hypervisor_type") or "QEMU",
        "hypervisor_version": host.get("hypervisor_version") or 6_002_000,
        "hypervisor_hostname": host["node"],
        "free_disk_gb": 100 if free_disk is None else free_disk,
        "cpu_info": host.get("cpu_info") or {},
        "metrics": [{"name": one, **draw(metric)} for one in names],
        "pci_stats": draw(st.none() | st.lists(pool, max_size=2)),
    }


def _aggregates(names: list[str]) -> st.SearchStrategy[list[Plain]]:
    members = st.sets(st.sampled_from(names)) if names else st.just(set())
    few = st.sampled_from(sorted(METADATA)).flatmap(
        lambda key: st.tuples(st.just(key), st.sampled_from(METADATA[key]))
    )
    metadata = st.lists(few, max_size=6).map(dict)
    return st.lists(
        st.fixed_dictionaries({"hosts": members, "metadata": metadata}), max_size=4
    ).map(lambda found: [{"uuid": f"a{n}", **one} for n, one in enumerate(found)])


# -- requests -------------------------------------------------------------------------


def extra_specs() -> st.SearchStrategy[dict[str, str]]:
    """Every operator against every kind of name."""
    scoped = st.sampled_from([*ATTRIBUTES, *PATHS]).map("capabilities:{}".format)
    keys = st.one_of(
        st.sampled_from([*ATTRIBUTES, "rack", "score", "nothing"]),
        scoped,
        st.sampled_from(sorted(METADATA)),
        st.sampled_from(sorted(METADATA)).map(
            "aggregate_instance_extra_specs:{}".format
        ),
        st.sampled_from(["hw:maxphysaddr_bits", "hw:watchdog_action", "trait:X"]),
    )
    values = st.builds(
        "{} {}".format, st.sampled_from(OPERATORS), st.sampled_from(OPERANDS)
    ).map(str.strip)
    wide = st.dictionaries(keys, values, max_size=2)
    return wide | fleets._extra_specs()


def images() -> st.SearchStrategy[Image]:
    """Images with any of the properties that filters read."""
    some = st.sampled_from(sorted(PROPERTIES)).flatmap(
        lambda key: st.tuples(st.just(key), st.sampled_from(PROPERTIES[key]))
    )
    return st.builds(
        Image,
        id=st.sampled_from([None, "im1", "im2"]),
        properties=st.lists(some, max_size=4).map(dict),
    )


def queries() -> st.SearchStrategy[str]:
    """JSON text of the hint ``query``."""
    names = [*ATTRIBUTES, "stats.rack", "stats.score", "stats", "nothing", "cell_uuid"]
    plain = st.one_of(
        st.sampled_from([0, 1, 4, 8, 1024, 1.5, True, False, None]),
        st.sampled_from(["", "r1", "h1", "4", "QEMU"]),
        st.sampled_from([f"${name}" for name in names]),
    )
    words = st.sampled_from(["=", "<", ">", "<=", ">=", "in", "not", "or", "and"])

    def wrapped(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        return st.builds(
            lambda word, parts: [word, *parts], words, st.lists(inner, max_size=3)
        )

    whole = wrapped(st.recursive(plain, wrapped, max_leaves=5))
    return whole.map(json.dumps)


def hints() -> st.SearchStrategy[dict[str, tuple[str, ...]]]:
    """Every hint that a filter reads."""
    uuids = st.lists(
        st.sampled_from([*INSTANCES, "nowhere"]), min_size=1, max_size=3, unique=True
    ).map(tuple)
    cidr = st.sampled_from([("/16",), ("24",), ("/8",), ("/64",), ("/0",)])
    near = st.sampled_from([("10.0.0.9",), ("10.0.1.1",), ("fd00::2",)])
    return st.fixed_dictionaries(
        {},
        optional={
            "same_host": uuids,
            "different_host": uuids,
            "build_near_host_ip": near,
            "cidr": cidr,
            "query": queries().map(lambda text: (text,)),
        },
    )


def destinations() -> st.SearchStrategy[Destination]:
    """A host, one of its nodes, or a cell."""
    return st.builds(
        Destination,
        host=st.sampled_from([None, *HOST_NAMES, "H1"]),
        node=st.sampled_from([None, None, "h1-a", "h2-b"]),
        cell_uuid=st.sampled_from([None, *CELLS]),
        allow_cross_cell_move=st.booleans(),
    )


def specs() -> st.SearchStrategy[RequestSpec]:
    """A request with a bit of everything."""
    return st.builds(
        lambda spec, extra, image, hints: structs.replace(
            spec,
            flavor=structs.replace(spec.flavor, extra_specs=extra),
            image=image,
            scheduler_hints=hints,
        ),
        fleets.specs(),
        extra_specs(),
        st.none() | images(),
        hints(),
    )


def specs_with_cells() -> st.SearchStrategy[RequestSpec]:
    """The same, where a move may leave its cell."""
    return st.builds(
        lambda spec, place: structs.replace(spec, requested_destination=place),
        specs(),
        st.none() | destinations(),
    )


def easy(specs: st.SearchStrategy[RequestSpec]) -> st.SearchStrategy[RequestSpec]:
    """The same without hints, and without what flavor and image ask of hosts."""
    return specs.map(
        lambda spec: structs.replace(
            spec,
            flavor=structs.replace(spec.flavor, extra_specs={}),
            scheduler_hints={},
            image=None,
        )
    )


def targeted(specs: st.SearchStrategy[RequestSpec]) -> st.SearchStrategy[RequestSpec]:
    """The same, naming hosts to use, to avoid or to be forced onto, or a rebuild."""
    names = st.lists(st.sampled_from([*HOST_NAMES, "H2", "none"]), max_size=2)
    seldom = st.sampled_from([False, False, False, True])

    @st.composite
    def draw_one(draw: st.DrawFn) -> RequestSpec:
        spec = draw(specs)
        hints = spec.scheduler_hints
        if draw(seldom):
            hints = {**hints, "_nova_check_type": ("rebuild",)}
        return structs.replace(
            spec,
            scheduler_hints=hints,
            ignore_hosts=tuple(draw(names)) if draw(seldom) else (),
            force_hosts=tuple(draw(names)) if draw(seldom) else (),
            force_nodes=("h1-a", "h3-b") if draw(seldom) else (),
            requested_destination=draw(destinations()) if draw(seldom) else None,
        )

    return draw_one()


def known_to_all(spec: RequestSpec, plan: Plan) -> RequestSpec:
    """The request as Nova's conductor completes it: the group with all members, those
    promised a place too, and with the hosts that they are on."""
    group = spec.instance_group
    if group is None:
        return spec
    members = set(group.members)
    for one in plan.groups:
        if one["uuid"] == group.uuid:
            members |= set(one["members"])
    members |= {c["instance"] for c in plan.claims if c["group"] == group.uuid}
    hosts = set(group.hosts)
    for host in plan.hosts:
        here = plan.instances_of(host)
        here |= {claim["instance"] for claim in plan.claims_of(host)}
        if here & members:
            hosts.add(host["host"])
    known: InstanceGroup = structs.replace(
        group, members=frozenset(members), hosts=frozenset(hosts)
    )
    return structs.replace(spec, instance_group=known)


# -- options --------------------------------------------------------------------------


def options() -> st.SearchStrategy[SchedulerOptions]:
    """Limits, settings and multipliers of every filter and weigher."""
    factor = st.sampled_from([0.0, 1.0, -1.0, 0.3, 2.5, 1000.0])
    # Nova refuses to be configured with less than 0 here.
    positive = st.sampled_from([0.0, 1.0, 0.3, 2.5])
    at_least_0 = {
        "pci_weight_multiplier",
        "soft_affinity_weight_multiplier",
        "soft_anti_affinity_weight_multiplier",
    }
    multipliers = st.fixed_dictionaries(
        {},
        optional={
            name: positive if name in at_least_0 else factor for name in MULTIPLIERS
        },
    )
    images = st.lists(st.sampled_from(["im1", "im2"]), max_size=1).map(tuple)
    hosts = st.lists(st.sampled_from(HOST_NAMES), max_size=2).map(tuple)
    known = sorted(set(FILTERS) - {"NUMATopologyFilter", "PciPassthroughFilter"})
    metrics = st.dictionaries(st.sampled_from(METRICS), factor, max_size=2)
    properties = st.dictionaries(
        st.sampled_from(["hw_disk_bus", "os_type"]), factor, max_size=2
    )
    return st.builds(
        SchedulerOptions,
        multipliers=multipliers,
        max_io_ops_per_host=st.integers(1, 12),
        max_instances_per_host=st.integers(1, 12),
        isolated_images=images,
        isolated_hosts=hosts,
        restrict_isolated_hosts_to_isolated_images=st.booleans(),
        image_properties_default_architecture=st.sampled_from(
            [None, None, "x86_64", "aarch64"]
        ),
        aggregate_image_properties_isolation_namespace=st.sampled_from(
            [None, None, "hw", "os"]
        ),
        aggregate_image_properties_isolation_separator=st.sampled_from(["_", "."]),
        metrics_weight_setting=metrics,
        metrics_required=st.booleans(),
        metrics_weight_of_unavailable=st.sampled_from([-10000.0, 0.0, 50.0]),
        image_props_weight_setting=properties,
        initial_cpu_allocation_ratio=st.sampled_from([4.0, 16.0]),
        initial_ram_allocation_ratio=st.sampled_from([1.0, 1.5]),
        enabled_filters=st.lists(st.sampled_from(known), max_size=5, unique=True).map(
            tuple
        )
        | st.just(SchedulerOptions().enabled_filters),
    )
