"""Requests in Nova's form and in our own, there and back."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gantt import errors
from gantt.model.forms.primitive import spec_primitive
from gantt.model.forms.spec import read_spec
from gantt.model.spec import (
    Destination,
    Flavor,
    Image,
    InstanceGroup,
    NetworkMetadata,
    RequestedNetwork,
    RequestLevel,
    RequestSpec,
    ResourceGroup,
)
from tests.examples import examples
from tests.model.forms import objects
from tests.model.forms.documents import anything, mutated

FLAVOR = Flavor(
    vcpus=2,
    memory_mb=512,
    root_gb=10,
    ephemeral_gb=1,
    swap=64,
    name="m1",
    flavorid="f1",
    id=1,
    extra_specs={"hw:cpu_policy": "shared"},
)


def test_every_nova_field_is_read() -> None:
    found = read_spec(objects.full())
    expected = RequestSpec(
        flavor=FLAVOR,
        image=Image(
            id=objects.IMAGE,
            disk_format="qcow2",
            properties={
                "hw_architecture": "x86_64",
                "img_hv_type": "qemu",
                "traits_required": ["HW_CPU_X86_AVX2"],
            },
        ),
        project_id="p",
        user_id="u",
        instance_uuid=objects.INSTANCE,
        ignore_hosts=("x",),
        requested_destination=Destination(
            host="h",
            cell_uuid=objects.CELL,
            aggregates=(frozenset("ab"), frozenset("c")),
            forbidden_aggregates=frozenset("z"),
        ),
        retry_hosts=(("h1", "n1"),),
        instance_group=InstanceGroup(
            uuid=objects.GROUP,
            policy="anti-affinity",
            max_server_per_host=2,
            members=frozenset({objects.MEMBER}),
            hosts=frozenset({"h3"}),
        ),
        scheduler_hints={"same_host": (objects.MEMBER,), "query": ('["=", "$x", 1]',)},
        requested_resources=(
            ResourceGroup(
                requester_id="r1",
                resources={"VCPU": 1},
                required_traits=frozenset("T"),
                aggregates=(frozenset("ab"),),
            ),
        ),
        request_level_params=RequestLevel(
            root_required=frozenset("T"), same_subtree=(frozenset("ab"),)
        ),
        requested_networks=(RequestedNetwork(network_id="net"),),
        network_metadata=NetworkMetadata(frozenset("p"), tunneled=True),
        numa_topology=objects.full()["nova_object.data"]["numa_topology"],
        pci_requests=({"count": 1, "spec": [{"vendor_id": "8086"}]},),
        unset=found.unset,
        nulls=found.nulls,
    )
    assert found == expected


@pytest.mark.parametrize(
    ("given", "segments"),
    [
        ({}, None),
        ({"segments": None}, None),
        ({"segments": []}, frozenset()),
        ({"segments": ["s1", "s2"]}, frozenset({"s1", "s2"})),
    ],
)
def test_segments_are_unknown_none_or_some(
    given: dict[str, Any], segments: frozenset[str] | None
) -> None:
    networks = [{"network_id": "net", **given}]
    spec = read_spec({"flavor": {}, "requested_networks": networks})
    assert spec.requested_networks == (RequestedNetwork("net", segments=segments),)
    assert read_spec(msgspec.to_builtins(spec)) == spec


def test_segments_are_no_part_of_novas_object() -> None:
    network = {"network_id": "net", "segments": ["s1"], "trouble": "x"}
    networks = objects.nova(
        "NetworkRequestList",
        "1.1",
        objects=[objects.nova("NetworkRequest", "1.3", **network)],
    )
    spec = read_spec(objects.small(requested_networks=networks))
    assert spec.requested_networks == (RequestedNetwork("net"),)


@pytest.mark.parametrize(
    "primitive",
    [
        objects.full(),
        objects.small(),
        objects.small(image=None, retry=None, scheduler_hints=None, is_bfv=True),
        objects.small(image=objects.nova("ImageMeta", "1.8")),
        objects.small(ignore_hosts=[], force_hosts=["a"], num_instances=3),
        objects.small(request_level_params=objects.nova("RequestLevelParams", "1.1")),
        objects.small(
            network_metadata=objects.nova("NetworkMetadata", "1.0", tunneled=False)
        ),
        objects.small(
            instance_group=objects.nova("InstanceGroup", "1.11", policies=None)
        ),
    ],
)
def test_set_unset_and_null_round_trip(
    primitive: dict[str, Any],
) -> None:
    assert spec_primitive(read_spec(primitive)) == primitive


def test_native_form_round_trips_through_json() -> None:
    for spec in (
        read_spec(objects.full()),
        RequestSpec(flavor=Flavor(vcpus=1), retry_hosts=(("a", "b"),), num_instances=2),
    ):
        document = json.loads(json.dumps(msgspec.to_builtins(spec)))
        assert read_spec(document) == spec


def test_native_values_can_be_written_for_nova() -> None:
    spec = RequestSpec(
        flavor=Flavor(vcpus=1),
        instance_group=InstanceGroup(uuid=objects.GROUP, policy="affinity"),
        numa_topology={"cells": [{"id": 0, "memory": 512}]},
    )
    data = spec_primitive(spec)["nova_object.data"]
    assert "instance_uuid" not in data
    assert data["image"] is None
    group = data["instance_group"]["nova_object.data"]
    assert (group["policy"], group["policies"]) == ("affinity", ["affinity"])
    assert group["_rules"] == {}
    topology = data["numa_topology"]
    assert topology["nova_object.name"] == "InstanceNUMATopology"
    cell = topology["nova_object.data"]["cells"][0]
    assert cell["nova_object.name"] == "InstanceNUMACell"
    again = read_spec(spec_primitive(spec))
    assert (again.flavor, again.instance_group) == (spec.flavor, spec.instance_group)


def test_python_object_is_converted_to_its_primitive() -> None:
    class NovaFlavor:
        def obj_to_primitive(self) -> dict[str, Any]:
            return objects.flavor()

    class NovaSpec:
        def obj_to_primitive(self) -> dict[str, Any]:
            return objects.small()

    assert read_spec(NovaSpec()).flavor == FLAVOR
    assert read_spec({"flavor": NovaFlavor()}).flavor == FLAVOR


def test_native_value_is_returned_unchanged() -> None:
    spec = RequestSpec(flavor=FLAVOR)
    assert read_spec(spec) is spec


# -- versions ---------------------------------------------------------------------


def test_newer_minor_is_accepted_and_its_new_fields_ignored() -> None:
    assert read_spec(objects.small("1.99", quantum_level=7)).flavor == FLAVOR
    newer = objects.nova("Flavor", "1.9", vcpus=1, mystery=[1])
    assert read_spec(objects.small(flavor=newer)).flavor == Flavor(vcpus=1)


def test_older_minor_is_accepted() -> None:
    assert read_spec(objects.small("1.0")).flavor == FLAVOR


@pytest.mark.parametrize("version", ["2.0", "12.3"])
def test_newer_major_is_refused_with_both_versions(version: str) -> None:
    with pytest.raises(errors.Invalid, match=rf"{version}.*1\.15"):
        read_spec(objects.small(version))
    with pytest.raises(errors.Invalid, match=rf"{version}.*1\.15"):
        read_spec({"version": version, "flavor": {}})


def test_newer_major_of_a_nested_object_is_refused_by_name() -> None:
    group = objects.nova("InstanceGroup", "2.0", uuid=objects.GROUP)
    with pytest.raises(errors.Invalid, match=r"instance_group.*2\.0.*1\.11"):
        read_spec(objects.small(instance_group=group))


@pytest.mark.parametrize("version", [None, 1, "one", "1", "1.2.3.4", "0.9"])
def test_malformed_version_is_refused(version: Any) -> None:
    with pytest.raises(errors.Invalid, match="version"):
        read_spec(objects.small(version))


def test_native_form_of_a_newer_minor_may_have_unknown_fields() -> None:
    newer = {"version": "1.99", "flavor": {"vcpus": 1, "qubits": 2}, "fate": 1}
    assert read_spec(newer) == RequestSpec(flavor=Flavor(vcpus=1))


@pytest.mark.parametrize(
    ("document", "named"),
    [
        ({"flavor": {"vcpus": 1}, "fate": 1}, "'fate'"),
        ({"flavor": {"vcpu": 1}}, r"request_spec\.flavor.*'vcpu'"),
        ({"flavor": {}, "image": {"ids": ""}}, r"request_spec\.image.*'ids'"),
    ],
)
def test_native_form_of_this_version_has_no_unknown_fields(
    document: dict[str, Any], named: str
) -> None:
    with pytest.raises(errors.Invalid, match=named):
        read_spec(document)


# -- groups from before -----------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "policy", "limit"),
    [
        ({"policies": ["anti-affinity"]}, "anti-affinity", 1),
        ({"policies": ["legacy"]}, None, 1),
        ({"policies": []}, None, 1),
        ({"policy": "affinity", "policies": ["anti-affinity"]}, "affinity", 1),
        (
            {"policy": "anti-affinity", "_rules": {"max_server_per_host": "3"}},
            "anti-affinity",
            3,
        ),
        ({"policy": None, "_rules": {}}, None, 1),
    ],
)
def test_legacy_group_policies(
    fields: dict[str, Any], policy: str | None, limit: int
) -> None:
    group = objects.nova("InstanceGroup", "1.10", uuid=objects.GROUP, **fields)
    found = read_spec(objects.small(instance_group=group)).instance_group
    assert found is not None
    assert (found.policy, found.max_server_per_host) == (policy, limit)


# -- refusals ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"flavor": None}, "request_spec.flavor is missing"),
        ({"flavor": 3}, "request_spec.flavor must be an object, not 3"),
        (
            {"flavor": objects.nova("Image", "1.0")},
            "request_spec.flavor nova_object.name must be 'Flavor', not 'Image'",
        ),
        ({"flavor": objects.flavor(vcpus="2")}, r"flavor.vcpus must be .*, not '2'"),
        ({"flavor": objects.flavor(vcpus=-1)}, "flavor.vcpus must be .*, not -1"),
        ({"flavor": objects.flavor(vcpus=True)}, "flavor.vcpus must be .*, not true"),
        ({"flavor": objects.flavor(swap=10**40)}, "flavor.swap .* of 133 bits"),
        (
            {"flavor": objects.flavor(extra_specs={f"k{n}": "v" for n in range(257)})},
            "flavor.extra_specs has 257 keys; the limit is 256",
        ),
        ({"flavor": objects.flavor(swap=10**5000)}, "flavor.swap .* of 16610 bits"),
        ({"flavor": objects.flavor(extra_specs={"a": []})}, "extra_specs.a must be"),
        ({"num_instances": 0}, "request_spec.num_instances must be"),
        ({"ignore_hosts": "h"}, "request_spec.ignore_hosts must be a list, not 'h'"),
        ({"ignore_hosts": [None]}, "request_spec.ignore_hosts must be text, not null"),
        ({"ignore_hosts": ["\ud800"]}, "request_spec.ignore_hosts contains a lone"),
        ({"project_id": "x" * 70_000}, "project_id has 70000 characters"),
        ({"scheduler_hints": []}, "scheduler_hints must be an object"),
        ({"scheduler_hints": {"a": [None]}}, "scheduler_hints.a must be text"),
        ({"is_bfv": "no"}, "request_spec.is_bfv must be true or false"),
        ({"numa_topology": {"cells": 4}}, "numa_topology.cells must be a list"),
        (
            {"numa_topology": {"cells": [{"cpuset": [0]}]}},
            "request_spec.numa_topology.cells.0.memory is missing",
        ),
        (
            {"numa_topology": {"cells": [{"cpuset": ["x"], "memory": 1}]}},
            "numa_topology.cells.0.cpuset must be an integer, not 'x'",
        ),
        (
            {"numa_topology": {"cells": [], "emulator_threads_policy": "far"}},
            "numa_topology.emulator_threads_policy must be one of isolate, share",
        ),
        (
            {"pci_requests": [{"count": 1, "spec": {}}]},
            "request_spec.pci_requests.0.spec must be a list",
        ),
        (
            {"pci_requests": [{"count": 1, "spec": [{}, "8086"]}]},
            "request_spec.pci_requests.0.spec.1 must be an object, not '8086'",
        ),
        (
            {"instance_group": {"uuid": objects.GROUP, "policy": "near"}},
            "instance_group.policy must be one of affinity, .*, not 'near'",
        ),
        (
            {"instance_group": {"_rules": {"max_server_per_host": "many"}}},
            "max_server_per_host must be an integer, not 'many'",
        ),
        (
            {"requested_destination": {"aggregates": ["a,,b"]}},
            "requested_destination.aggregates is empty",
        ),
        (
            {"requested_destination": {"aggregates": [[]]}},
            "requested_destination.aggregates has an empty set",
        ),
        (
            {"requested_resources": [{"resources": {"VCPU": "1"}}]},
            "requested_resources.0.resources.VCPU must be an integer",
        ),
        (
            {"image": {"properties": {"trait:HW": "forbidden"}}},
            "image.properties.trait:HW must be 'required'",
        ),
    ],
)
def test_refusal_names_the_field_and_value(fields: dict[str, Any], named: str) -> None:
    with pytest.raises(errors.Invalid, match=named):
        read_spec(objects.small(**fields))


def test_object_of_another_namespace_is_refused() -> None:
    foreign = objects.small() | {"nova_object.namespace": "ironic"}
    with pytest.raises(errors.Invalid, match="'nova', not 'ironic'"):
        read_spec(foreign)


@pytest.mark.parametrize("request_spec", [None, 3, "x", [], object()])
def test_non_object_is_refused(request_spec: Any) -> None:
    with pytest.raises(errors.Invalid, match="request_spec must be an object"):
        read_spec(request_spec)


def test_filter_properties_with_an_object_are_refused() -> None:
    with pytest.raises(errors.Invalid, match="filter_properties"):
        read_spec(objects.small(), {"ignore_hosts": ["a"]})
    assert read_spec(objects.small(), {}).flavor == FLAVOR


@settings(max_examples=examples(40), deadline=None)
@given(anything())
def test_any_json_raises_only_gantt_errors(document: Any) -> None:
    with pytest.raises(errors.GanttError):
        read_spec(document)


@settings(max_examples=examples(60), deadline=None)
@given(st.data())
def test_faulty_objects_raise_only_gantt_errors(data: Any) -> None:
    document = data.draw(mutated(objects.full()))
    try:
        found = read_spec(document)
    except errors.GanttError as error:
        assert error.message
    else:
        json.dumps(spec_primitive(found))
        assert read_spec(json.loads(msgspec.json.encode(found))) == found
