"""Questions that Nova's books refuse have answers here: groups of traits alone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import gantt
from gantt.engine.gantt import Gantt
from gantt.model.commands import Inventory
from gantt.model.spec import Destination, Flavor, RequestSpec, ResourceGroup
from gantt.scheduler.options import SchedulerOptions
from gantt.scheduler.request import shape
from gantt.state.fleet_columns import Fleet

# Two hosts, alike but for their aggregate and for a trait of a part of one.
HOSTS = {
    "a": "aaaaaaaa-0000-4000-8000-000000000001",
    "b": "bbbbbbbb-0000-4000-8000-000000000001",
}
CARDS = {
    "a": "aaaaaaaa-0000-4000-8000-000000000002",
    "b": "bbbbbbbb-0000-4000-8000-000000000002",
}
ZONE = "cccccccc-0000-4000-8000-000000000001"
NOTHING = {"resources:VCPU": "0", "resources:MEMORY_MB": "0", "resources:DISK_GB": "0"}
CARD = ResourceGroup("card", {"VGPU": 1})


@pytest.fixture
def books() -> Iterator[Gantt]:
    found = gantt.connect("memory://")
    assert isinstance(found, Gantt)
    eight = Inventory(total=8)
    for name, uuid in HOSTS.items():
        found.create_provider(name, uuid=uuid)
        found.create_provider(f"{name}-card", uuid=CARDS[name], parent_uuid=uuid)
        found.set_inventories(uuid, {"VCPU": eight}, generation=0)
        found.set_inventories(CARDS[name], {"VGPU": eight}, generation=0)
    found.set_aggregates(HOSTS["a"], [ZONE], generation=1)
    found.set_traits(HOSTS["b"], ["COMPUTE_ACCELERATORS"], generation=1)
    yield found
    found.close()


def hosts_for(books: Gantt, spec: RequestSpec) -> set[str]:
    """The hosts whose cards are offered."""
    (request,) = shape.candidate_requests(
        spec, SchedulerOptions(), Fleet(), lambda _: True
    )
    found = books.find_candidates(request)
    uuids = {uuid for one in found.candidates for uuid in one.allocations}
    return {name for name, uuid in CARDS.items() if uuid in uuids}


def a_spec(extra_specs: dict[str, str], **fields: object) -> RequestSpec:
    flavor = Flavor(vcpus=1, extra_specs=extra_specs)
    return RequestSpec(flavor=flavor, requested_resources=(CARD,), **fields)  # type: ignore[arg-type]


def test_aggregate_applies_without_host_resources(books: Gantt) -> None:
    destination = Destination(aggregates=(frozenset({ZONE}),))
    assert hosts_for(books, a_spec(NOTHING)) == {"a", "b"}
    assert hosts_for(books, a_spec(NOTHING, requested_destination=destination)) == {"a"}


def test_trait_applies_without_host_resources(books: Gantt) -> None:
    wanted = {**NOTHING, "trait:COMPUTE_ACCELERATORS": "required"}
    assert hosts_for(books, a_spec(wanted)) == {"b"}


def test_a_suffixed_group_of_traits(books: Gantt) -> None:
    assert hosts_for(books, a_spec({"trait1:COMPUTE_ACCELERATORS": "required"})) == {
        "b"
    }


@pytest.mark.parametrize("digits", [12, 18])
def test_huge_amounts_match_no_host(books: Gantt, digits: int) -> None:
    assert hosts_for(books, a_spec({"resources:VCPU": "9" * digits})) == set()


def test_huge_sizes_match_no_host(books: Gantt) -> None:
    flavor = Flavor(vcpus=10**30, memory_mb=10**25)
    spec = RequestSpec(flavor=flavor, requested_resources=(CARD,))
    assert hosts_for(books, spec) == set()
