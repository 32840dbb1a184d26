"""Unmodified openstacksdk: every method of its placement proxy, on a live service."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import openstack
import pytest
from openstack.placement.v1._proxy import Proxy

from tests.live import Live

# Of the kind that every proxy has; they wait for states that Placement does not know.
NOT_OF_PLACEMENT = frozenset({"wait_for_delete", "wait_for_status"})


class Recorder:
    """The proxy, and which of its methods were called."""

    def __init__(self, proxy: Any) -> None:
        self._proxy = proxy
        self.called: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        self.called.add(name)
        return getattr(self._proxy, name)


@pytest.fixture
def placement(live: Live) -> Iterator[Recorder]:
    connection = openstack.connection.Connection(
        auth_type="admin_token",
        auth={"token": "admin", "endpoint": live.url},
        placement_default_microversion="1.39",
    )
    yield Recorder(connection.placement)
    connection.close()


def a_name(start: str = "sdk") -> str:
    return f"{start}-{uuid4().hex[:12]}"


def a_custom_name() -> str:
    return f"CUSTOM_{uuid4().hex[:12].upper()}"


def providers(sdk: Recorder) -> None:
    name, aggregate = a_name(), str(uuid4())
    made = sdk.create_resource_provider(name=name)
    assert (made.name, made.generation) == (name, 0)
    assert sdk.get_resource_provider(made.id).root_provider_id == made.id
    assert sdk.find_resource_provider(name).id == made.id
    assert sdk.find_resource_provider(a_name()) is None
    assert [each.id for each in sdk.resource_providers(name=name)] == [made.id]
    renamed = sdk.update_resource_provider(made, name=name + "ü")
    assert renamed.name == name + "ü"
    changed = sdk.set_resource_provider_aggregates(made, aggregate)
    assert changed.aggregates == [aggregate]
    for fetch in (
        "fetch_resource_provider_aggregates",
        "get_resource_provider_aggregates",
    ):
        assert getattr(sdk, fetch)(made).aggregates == [aggregate]
    sdk.delete_resource_provider(made, ignore_missing=False)
    with pytest.raises(openstack.exceptions.NotFoundException):
        sdk.get_resource_provider(made.id)


def inventories(sdk: Recorder) -> None:
    provider = sdk.create_resource_provider(name=a_name())
    made = sdk.create_resource_provider_inventory(provider, "VCPU", total=4)
    assert (made.total, made.allocation_ratio) == (4, 1.0)
    found = sdk.get_resource_provider_inventory("VCPU", provider)
    assert found.total == 4
    changed = sdk.update_resource_provider_inventory(
        "VCPU",
        provider,
        total=8,
        resource_provider_generation=found.resource_provider_generation,
    )
    assert changed.total == 8
    listed = sdk.resource_provider_inventories(provider)
    assert [(each.resource_class, each.total) for each in listed] == [("VCPU", 8)]
    sdk.delete_resource_provider_inventory("VCPU", provider, ignore_missing=False)
    generation = sdk.get_resource_provider(provider.id).generation
    sdk.set_resource_provider_inventories(
        provider, {"DISK_GB": {"total": 9}}, generation
    )
    assert len(list(sdk.resource_provider_inventories(provider))) == 1
    sdk.delete_resource_provider_inventories(provider)
    assert list(sdk.resource_provider_inventories(provider)) == []


def names(sdk: Recorder) -> None:
    trait, resource_class, other = a_custom_name(), a_custom_name(), a_custom_name()
    assert sdk.create_trait(trait).id == trait
    assert sdk.get_trait(trait).id == trait
    assert [each.id for each in sdk.traits(name=f"in:{trait}")] == [trait]
    provider = sdk.create_resource_provider(name=a_name())
    borne = sdk.get_resource_provider_trait(provider)
    assert borne.traits == []
    assert sdk.set_resource_provider_trait(borne, traits=[trait]).traits == [trait]
    sdk.delete_resource_provider_trait(provider, ignore_missing=False)
    assert sdk.get_resource_provider_trait(provider).traits == []
    sdk.delete_trait(trait, ignore_missing=False)
    sdk.create_resource_class(name=resource_class)
    assert sdk.get_resource_class(resource_class).name == resource_class
    assert sdk.update_resource_class(resource_class, name=other)
    listed = {each.name for each in sdk.resource_classes()}
    assert "VCPU" in listed
    for name in listed & {resource_class, other}:
        sdk.delete_resource_class(name, ignore_missing=False)


def allocations(sdk: Recorder) -> None:
    provider = sdk.create_resource_provider(name=a_name())
    sdk.create_resource_provider_inventory(provider, "VCPU", total=4)
    consumer, project = str(uuid4()), a_name("project")

    def claim(amount: int, generation: int | None) -> dict[str, Any]:
        return {
            "allocations": {provider.id: {"resources": {"VCPU": amount}}},
            "project_id": project,
            "user_id": "u",
            "consumer_generation": generation,
            "consumer_type": "INSTANCE",
        }

    sdk.update_allocation(consumer, **claim(1, None))
    found = sdk.get_allocation(consumer)
    assert found.allocations[provider.id]["resources"] == {"VCPU": 1}
    sdk.create_allocations({consumer: claim(3, found.consumer_generation)})
    assert sdk.fetch_resource_provider_usages(provider).usages == {"VCPU": 3}
    (listed,) = sdk.resource_provider_allocations(provider)
    assert listed.resources == {"VCPU": 3}
    (total,) = sdk.usages(project, user_id="u")
    assert (total.consumer_type, total.consumer_count) == ("INSTANCE", 1)
    assert total.resources == {"VCPU": 3}
    with pytest.raises(openstack.exceptions.ConflictException):
        sdk.update_allocation(str(uuid4()), **claim(2, None))
    sdk.delete_allocation(consumer, ignore_missing=False)
    assert not sdk.get_allocation(consumer).allocations


def candidates(sdk: Recorder) -> None:
    resource_class = a_custom_name()
    sdk.create_resource_class(name=resource_class)
    provider = sdk.create_resource_provider(name=a_name())
    sdk.create_resource_provider_inventory(provider, resource_class, total=2)
    (found,) = sdk.allocation_candidates(resources=f"{resource_class}:2")
    assert list(found.allocations) == [provider.id]
    assert list(sdk.allocation_candidates(resources=f"{resource_class}:3")) == []


def test_every_method_of_the_proxy(placement: Recorder) -> None:
    for story in (providers, inventories, names, allocations, candidates):
        story(placement)
    methods = {
        name
        for name, value in vars(Proxy).items()
        if callable(value) and not name.startswith("_")
    }
    assert placement.called == methods - NOT_OF_PLACEMENT
