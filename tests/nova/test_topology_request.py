"""From flavor and image to NUMA cells and devices: as Nova's API derives them.

GANTT_NOVA_EXAMPLES makes a run longer, GANTT_NOVA_SEED another one.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
from nova import exception
from nova.pci import request as their_devices
from nova.virt import hardware

from gantt.errors import Invalid
from gantt.model.cpu_sets import mask_of
from gantt.model.forms.instance_topology import GivenTopology, read_instance_topology
from gantt.model.spec import Flavor, Image, RequestSpec
from gantt.model.topology import InstanceCell
from gantt.scheduler.request import requested_devices
from gantt.scheduler.request.features import device_affinity
from gantt.scheduler.request.requested_topology import topology_of
from tests.nova import known_topologies, shapes, upstream
from tests.nova.pair import EXAMPLES, Tell, explore, tell

REFUSED = (exception.NovaException, ValueError)
Asked = dict[str, Any]


def their_object(spec: RequestSpec) -> Any:
    """Nova's topology; an error that refuses it."""
    asked = upstream.request_spec(spec)
    try:
        return hardware.numa_get_constraints(asked.flavor, asked.image)
    except REFUSED as error:
        return error


def theirs(spec: RequestSpec) -> GivenTopology | Exception | None:
    found = their_object(spec)
    if found is None or isinstance(found, Exception):
        return found
    cells = tuple(
        InstanceCell(
            one.id,
            mask_of(one.cpuset),
            mask_of(one.pcpuset),
            one.memory,
            one.pagesize,
            one.cpu_policy,
            one.cpu_thread_policy,
        )
        for one in found.cells
    )
    return GivenTopology(cells, found.emulator_threads_policy == "isolate")


def ours(spec: RequestSpec) -> GivenTopology | Invalid | None:
    try:
        return topology_of(spec)
    except Invalid as refusal:
        return refusal


def test_the_same_topology_or_none(record_property: Tell) -> None:
    agreed: Counter[str] = Counter()
    met: Counter[str] = Counter()

    def run(spec: RequestSpec) -> None:
        their, our = theirs(spec), ours(spec)
        if isinstance(our, Invalid) and not isinstance(their, Exception):
            reason = known_topologies.reason(spec, their)
            assert reason is not None, (spec.flavor, spec.image, our, their)
            met[reason] += 1
        elif isinstance(our, Invalid):
            agreed["refused topologies"] += 1
        else:
            assert our == their, (spec.flavor, spec.image)
            agreed["topologies" if our else "requests without topology"] += 1

    explore(run, shapes.topologies(), examples=8 * EXAMPLES)
    tell(record_property, agreed, met)


def test_a_topology_that_nova_made_is_read_as_it_is(record_property: Tell) -> None:
    agreed: Counter[str] = Counter()

    def run(spec: RequestSpec) -> None:
        made, derived = their_object(spec), ours(spec)
        if isinstance(derived, GivenTopology):
            assert read_instance_topology(made.obj_to_primitive()) == derived
            agreed["topologies read"] += 1

    explore(run, shapes.topologies(), examples=2 * EXAMPLES)
    tell(record_property, agreed, Counter())


TWO = {"hw:numa_nodes": "2"}
DEDICATED = {"hw:cpu_policy": "dedicated"}


@pytest.mark.parametrize(
    ("extra_specs", "memory_mb", "reason"),
    [
        ({"hw:mem_page_size": "2MB"}, 1023, known_topologies.INDIVISIBLE),
        ({"hw:mem_page_size": "100B"}, 1024, known_topologies.NO_SIZE),
        ({"hw:mem_page_size": "0"}, 1024, known_topologies.NO_SIZE),
        ({"hw:mem_page_size": "16Mb"}, 1024, known_topologies.BITS),
        (
            TWO
            | {"hw:numa_cpus.0": "0-1", "hw:numa_cpus.1": "2-3"}
            | {"hw:numa_mem.0": "0", "hw:numa_mem.1": "1024"},
            1024,
            known_topologies.NO_MEMORY,
        ),
        (TWO | {"hw:numa_cpus.2": "0"}, 1024, known_topologies.NO_NODE),
        (TWO | {"hw:numa_cpus.1": "0-1"}, 1024, known_topologies.NO_LOWER),
        (
            {"hw:cpu_policy": "mixed", "hw:cpu_dedicated_mask": "^0,^9"},
            1024,
            known_topologies.BEYOND,
        ),
        (
            {"hw:cpu_policy": "mixed", "hw:cpu_realtime": "yes"}
            | {"hw:emulator_threads_policy": "share"},
            1024,
            known_topologies.ALL_PINNED,
        ),
        (
            TWO
            | {"hw:cpu_policy": "mixed", "hw:cpu_dedicated_mask": "0"}
            | {"hw:cpu_thread_policy": "isolate"},
            1024,
            known_topologies.NO_PINNED,
        ),
        (
            TWO
            | {"hw:cpu_policy": "mixed", "hw:cpu_dedicated_mask": "3"}
            | {"hw:emulator_threads_policy": "isolate"},
            1024,
            known_topologies.NO_PINNED,
        ),
        (
            {**DEDICATED, "trait:HW_CPU_HYPERTHREADING": "required"}
            | {"trait2:HW_CPU_HYPERTHREADING": "forbidden"},
            1024,
            known_topologies.BOTH_TRAITS,
        ),
        ({"hw:locked_memory": "maybe"}, 1024, known_topologies.SWITCH),
        (DEDICATED | {"hw:cpu_realtime": "maybe"}, 1024, known_topologies.SWITCH),
        ({"hw:cpu_policy": ""}, 1024, known_topologies.EMPTY),
    ],
)
def test_what_nova_accepts_and_never_fits(
    extra_specs: dict[str, str], memory_mb: int, reason: str
) -> None:
    flavor = Flavor(vcpus=4, memory_mb=memory_mb, extra_specs=extra_specs)
    spec = RequestSpec(flavor=flavor, image=Image())
    their = theirs(spec)
    assert not isinstance(their, Exception) and isinstance(ours(spec), Invalid)
    assert known_topologies.reason(spec, their) == reason


def test_no_host_has_so_many_nodes() -> None:
    flavor = Flavor(vcpus=256, memory_mb=1024, extra_specs={"hw:numa_nodes": "256"})
    spec = RequestSpec(flavor=flavor, image=Image())
    assert isinstance(theirs(spec), GivenTopology) and isinstance(ours(spec), Invalid)


# --------------------------------------------------------------------------- devices


def their_requests(spec: RequestSpec, aliases: list[dict[str, str]]) -> Any:
    """(count, specs, policy) of each; an error that refuses them."""
    asked = upstream.request_spec(spec)
    texts = [json.dumps(one) for one in aliases]
    upstream.CONF.set_override("alias", texts, "pci")
    their_devices.get_alias_from_config.cache_clear()
    try:
        policy = hardware.get_pci_numa_policy_constraint(asked.flavor, asked.image)
        found = their_devices.get_pci_requests_from_flavor(asked.flavor, policy)
    except REFUSED as error:
        return error
    finally:
        upstream.CONF.clear_override("alias", "pci")
        their_devices.get_alias_from_config.cache_clear()
    return [
        (one.count, [dict(each) for each in one.spec], one.numa_policy)
        for one in found.requests
        if one.count
    ]


def our_requests(spec: RequestSpec, aliases: list[dict[str, str]]) -> Any:
    try:
        found = requested_devices.wanted(spec, tuple(aliases))
        device_affinity(spec)
    except Invalid as refusal:
        return refusal
    return [(one.count, list(one.wanted), one.affinity) for one in found]


def test_the_same_devices(record_property: Tell) -> None:
    agreed: Counter[str] = Counter()

    def run(spec: RequestSpec, aliases: list[dict[str, str]]) -> None:
        their, our = their_requests(spec, aliases), our_requests(spec, aliases)
        if isinstance(their, Exception):
            assert isinstance(our, Invalid), (their, our)
            agreed["refused devices"] += 1
        else:
            assert our == their
            agreed["requests for devices"] += 1

    explore(run, shapes.asked_devices(), shapes.aliases(), examples=8 * EXAMPLES)
    tell(record_property, agreed, Counter())


GPU = {"name": "gpu", "vendor_id": "10de", "product_id": "1eb8"}
OTHER = GPU | {"product_id": "1572"}


def test_aliases_of_one_name_must_agree() -> None:
    flavor = Flavor(vcpus=1, extra_specs={"pci_passthrough:alias": "gpu:1"})
    spec = RequestSpec(flavor=flavor, image=Image())
    pf, vf = {"device_type": "type-PF"}, {"device_type": "type-VF"}
    near = vf | {"numa_policy": "required"}
    for one, other in ((GPU | pf, OTHER | vf), (GPU | vf, OTHER | near)):
        assert isinstance(their_requests(spec, [one, other]), Exception)
        assert isinstance(our_requests(spec, [one, other]), Invalid)
    # Nova reads the type of the first without looking whether there is one.
    assert isinstance(their_requests(spec, [GPU, OTHER]), Exception)
    kinds = [{"vendor_id": "10de", "product_id": each} for each in ("1eb8", "1572")]
    assert our_requests(spec, [GPU, OTHER]) == [(1, kinds, "legacy")]
