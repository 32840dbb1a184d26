"""One suite for every implementation of GanttProtocol.

Run in process, over HTTP against Gantt, and against any other Placement service whose
address is in GANTT_TEST_PLACEMENT_URL.
"""

from __future__ import annotations

from collections.abc import Callable
from uuid import uuid4

import pytest
from msgspec import UNSET

from gantt import errors
from gantt.model.answers import Provider, ProviderShare, ResourceSummary, TypeUsages
from gantt.model.commands import ConsumerAllocations, Inventory, ReshapedProvider
from gantt.model.protocol import GanttProtocol
from gantt.model.requests import (
    CandidateRequest,
    Labels,
    ProviderQuery,
    RequestGroup,
    TraitQuery,
    UsageQuery,
)

NOWHERE = "00000000-0000-0000-0000-00000000dead"


def a_name(start: str = "host") -> str:
    return f"{start}-{uuid4().hex[:12]}"


def a_custom_name() -> str:
    return f"CUSTOM_{uuid4().hex[:12].upper()}"


def a_provider(books: GanttProtocol, parent: str | None = None) -> Provider:
    return books.create_provider(a_name(), uuid=str(uuid4()), parent_uuid=parent)


def a_host(books: GanttProtocol, **totals: int) -> str:
    """A provider with ``totals`` of inventory; its uuid."""
    uuid = a_provider(books).uuid
    inventories = {name: Inventory(total=total) for name, total in totals.items()}
    books.set_inventories(uuid, inventories)
    return uuid


def a_claim(
    provider: str,
    *,
    consumer: str | None = None,
    generation: int | None = None,
    project: str = "p",
    kind: str = "INSTANCE",
    **resources: int,
) -> ConsumerAllocations:
    """A claim of ``resources`` on ``provider``; of nothing, it gives all back."""
    return ConsumerAllocations(
        consumer_uuid=consumer or str(uuid4()),
        allocations={provider: resources} if resources else {},
        project_id=project,
        user_id="u",
        generation=generation,
        consumer_type=kind,
    )


# Providers


def test_provider_life_cycle(books: GanttProtocol) -> None:
    uuid, name = str(uuid4()), a_name()
    made = books.create_provider(name, uuid=uuid)
    assert (made.uuid, made.name, made.generation) == (uuid, name, 0)
    assert (made.parent_uuid, made.root_uuid) == (None, uuid)
    assert books.get_provider(uuid).name == name
    new_name = a_name("Zürich")
    assert books.update_provider(uuid, name=new_name).name == new_name
    assert [p.uuid for p in books.list_providers(ProviderQuery(name=new_name))] == [
        uuid
    ]
    books.delete_provider(uuid)
    with pytest.raises(errors.NotFound, match=uuid):
        books.get_provider(uuid)


def test_provider_gets_a_random_uuid(books: GanttProtocol) -> None:
    made = books.create_provider(a_name())
    assert books.get_provider(made.uuid).name == made.name


def test_children_move_with_their_parent(books: GanttProtocol) -> None:
    first, second = a_provider(books).uuid, a_provider(books).uuid
    child = a_provider(books, parent=first)
    assert (child.parent_uuid, child.root_uuid) == (first, first)
    moved = books.update_provider(child.uuid, name=child.name, parent_uuid=second)
    assert (moved.parent_uuid, moved.root_uuid) == (second, second)
    tree = books.list_providers(ProviderQuery(in_tree=second))
    assert {p.uuid for p in tree} == {second, child.uuid}
    kept = books.update_provider(child.uuid, name=child.name)
    assert kept.parent_uuid == second
    alone = books.update_provider(child.uuid, name=child.name, parent_uuid=None)
    assert (alone.parent_uuid, alone.root_uuid) == (None, child.uuid)


def test_provider_refusals(books: GanttProtocol) -> None:
    parent = a_provider(books)
    child = a_provider(books, parent=parent.uuid)
    with pytest.raises(errors.DuplicateName, match=parent.name):
        books.create_provider(parent.name)
    with pytest.raises(errors.DuplicateName):
        books.create_provider(a_name(), uuid=parent.uuid)
    with pytest.raises(errors.DuplicateName):
        books.update_provider(child.uuid, name=parent.name)
    with pytest.raises(errors.Invalid, match="parent provider UUID does not exist"):
        books.create_provider(a_name(), parent_uuid=NOWHERE)
    with pytest.raises(errors.Invalid, match="loop"):
        books.update_provider(parent.uuid, name="x", parent_uuid=child.uuid)
    with pytest.raises(errors.ProviderHasChildren):
        books.delete_provider(parent.uuid)
    with pytest.raises(errors.NotFound, match=NOWHERE):
        books.delete_provider(NOWHERE)
    with pytest.raises(errors.NotFound):
        books.update_provider(NOWHERE, name=a_name())


def test_provider_filters(books: GanttProtocol) -> None:
    wanted, other = a_host(books, VCPU=8), a_host(books, VCPU=4)
    trait, rare = a_custom_name(), a_custom_name()
    for name in (trait, rare):
        books.create_trait(name)
    books.set_traits(wanted, [trait])
    books.set_traits(other, [trait, rare])
    aggregate, second = str(uuid4()), str(uuid4())
    books.set_aggregates(wanted, [aggregate])
    books.set_aggregates(other, [aggregate, second])

    def listed(query: ProviderQuery) -> set[str]:
        return {p.uuid for p in books.list_providers(query)} & {wanted, other}

    both = Labels(required=(frozenset({trait}),))
    assert listed(ProviderQuery()) == {wanted, other}
    assert listed(ProviderQuery(uuid=wanted)) == {wanted}
    assert listed(ProviderQuery(traits=both)) == {wanted, other}
    not_rare = Labels(required=both.required, forbidden=frozenset({rare}))
    assert listed(ProviderQuery(traits=not_rare)) == {wanted}
    either = Labels(required=(frozenset({rare, trait}), frozenset({rare})))
    assert listed(ProviderQuery(traits=either)) == {other}
    members = Labels(required=(frozenset({aggregate, second}),))
    assert listed(ProviderQuery(member_of=members)) == {wanted, other}
    outside = Labels(required=members.required, forbidden=frozenset({second}))
    assert listed(ProviderQuery(member_of=outside)) == {wanted}
    room = ProviderQuery(resources={"VCPU": 6}, traits=both)
    assert listed(room) == {wanted}


def test_unknown_names_in_provider_filters(books: GanttProtocol) -> None:
    with pytest.raises(errors.UnknownName, match="CUSTOM_UNKNOWN"):
        books.list_providers(ProviderQuery(resources={"CUSTOM_UNKNOWN": 1}))
    unknown = Labels(required=(frozenset({"CUSTOM_UNKNOWN"}),))
    with pytest.raises(errors.UnknownName, match="CUSTOM_UNKNOWN"):
        books.list_providers(ProviderQuery(traits=unknown))


# Inventories


def test_inventories_are_replaced(books: GanttProtocol) -> None:
    uuid = a_provider(books).uuid
    cpus = Inventory(total=8, reserved=1, max_unit=4, allocation_ratio=1.5)
    answer = books.set_inventories(uuid, {"VCPU": cpus, "DISK_GB": Inventory(total=9)})
    assert answer.generation == 1
    found = books.get_inventories(uuid)
    assert found.generation == 1
    assert found.inventories == {"VCPU": cpus, "DISK_GB": Inventory(total=9)}
    books.set_inventories(uuid, {"VCPU": cpus}, generation=1)
    assert set(books.get_inventories(uuid).inventories) == {"VCPU"}
    assert books.get_usages(uuid).usages == {"VCPU": 0}
    with pytest.raises(errors.ConcurrentUpdate):
        books.set_inventories(uuid, {}, generation=1)
    books.delete_inventories(uuid)
    assert books.get_inventories(uuid).inventories == {}


def test_single_inventory_life_cycle(books: GanttProtocol) -> None:
    uuid = a_host(books, DISK_GB=10)
    added = books.set_inventory(uuid, "VCPU", Inventory(total=2))
    assert added.inventories == {"VCPU": Inventory(total=2)}
    changed = books.set_inventory(uuid, "VCPU", Inventory(total=4))
    assert changed.inventories == {"VCPU": Inventory(total=4)}
    assert changed.generation == books.get_provider(uuid).generation == 3
    books.delete_inventory(uuid, "VCPU")
    assert set(books.get_inventories(uuid).inventories) == {"DISK_GB"}


def test_inventory_refusals(books: GanttProtocol) -> None:
    uuid = a_host(books, VCPU=4)
    books.set_allocations([a_claim(uuid, VCPU=1)])
    before = books.get_inventories(uuid)
    with pytest.raises(errors.NotFound, match=NOWHERE):
        books.get_inventories(NOWHERE)
    with pytest.raises(errors.NotFound, match=NOWHERE):
        books.set_inventories(NOWHERE, {})
    with pytest.raises(errors.NotFound, match=NOWHERE):
        books.set_inventory(NOWHERE, "VCPU", Inventory(total=1))
    with pytest.raises(errors.UnknownName, match="CUSTOM_UNKNOWN"):
        books.set_inventories(uuid, {"CUSTOM_UNKNOWN": Inventory(total=1)})
    with pytest.raises(errors.UnknownName, match="CUSTOM_UNKNOWN"):
        books.set_inventory(uuid, "CUSTOM_UNKNOWN", Inventory(total=1))
    with pytest.raises(errors.Invalid, match="reserved"):
        books.set_inventory(uuid, "VCPU", Inventory(total=1, reserved=2))
    with pytest.raises(errors.InventoryInUse):
        books.set_inventories(uuid, {"DISK_GB": Inventory(total=1)})
    with pytest.raises(errors.InventoryInUse):
        books.delete_inventory(uuid, "VCPU")
    with pytest.raises(errors.InventoryInUse):
        books.delete_inventories(uuid)
    with pytest.raises(errors.NotFound, match="DISK_GB"):
        books.delete_inventory(uuid, "DISK_GB")
    with pytest.raises(errors.ProviderInUse):
        books.delete_provider(uuid)
    after = books.get_inventories(uuid)
    assert (after.generation, after.inventories) == (
        before.generation,
        before.inventories,
    )


# Aggregates, traits, resource classes


def test_aggregates_and_traits_of_a_provider(books: GanttProtocol) -> None:
    uuid = a_provider(books).uuid
    aggregate = str(uuid4())
    assert books.set_aggregates(uuid, [aggregate]).aggregates == (aggregate,)
    assert books.get_aggregates(uuid).aggregates == (aggregate,)
    answer = books.set_traits(uuid, iter(["HW_CPU_X86_AVX2", "HW_CPU_X86_AVX2"]))
    assert answer.traits == ("HW_CPU_X86_AVX2",)
    found = books.get_traits(uuid)
    assert found.traits == ("HW_CPU_X86_AVX2",)
    assert found.generation == books.get_provider(uuid).generation == 2
    with pytest.raises(errors.ConcurrentUpdate):
        books.set_traits(uuid, [], generation=0)
    with pytest.raises(errors.ConcurrentUpdate):
        books.set_aggregates(uuid, [], generation=0)
    with pytest.raises(errors.UnknownName, match="CUSTOM_UNKNOWN"):
        books.set_traits(uuid, ["CUSTOM_UNKNOWN"])
    for read in (books.get_traits, books.get_aggregates, books.get_usages):
        with pytest.raises(errors.NotFound, match=NOWHERE):
            read(NOWHERE)
    with pytest.raises(errors.NotFound):
        books.set_traits(NOWHERE, [])
    with pytest.raises(errors.NotFound):
        books.set_aggregates(NOWHERE, [])


def test_trait_life_cycle(books: GanttProtocol) -> None:
    name, uuid = a_custom_name(), a_provider(books).uuid
    assert books.create_trait(name).is_new
    assert not books.create_trait(name).is_new
    only = TraitQuery(names=frozenset({name, "CUSTOM_UNKNOWN"}))
    assert [trait.name for trait in books.list_traits(only)] == [name]
    prefix = TraitQuery(prefix=name[:-2].lower())
    assert [trait.name for trait in books.list_traits(prefix)] == [name]
    assert books.list_traits(TraitQuery(names=frozenset())) == ()
    books.set_traits(uuid, [name])
    borne = TraitQuery(names=only.names, is_associated=True)
    assert [trait.name for trait in books.list_traits(borne)] == [name]
    unborne = TraitQuery(names=only.names, is_associated=False)
    assert books.list_traits(unborne) == ()
    with pytest.raises(errors.Conflict, match=name):
        books.delete_trait(name)
    books.set_traits(uuid, [])
    books.delete_trait(name)
    with pytest.raises(errors.NotFound, match=name):
        books.delete_trait(name)
    with pytest.raises(errors.Invalid, match="standard"):
        books.delete_trait("HW_CPU_X86_AVX2")


def test_resource_class_life_cycle(books: GanttProtocol) -> None:
    name, uuid = a_custom_name(), a_provider(books).uuid
    assert books.create_resource_class(name).is_new
    assert not books.create_resource_class(name).is_new
    names = [each.name for each in books.list_resource_classes()]
    assert names[:3] == ["VCPU", "MEMORY_MB", "DISK_GB"]
    assert name in names
    books.set_inventory(uuid, name, Inventory(total=1))
    with pytest.raises(errors.Conflict, match=name):
        books.delete_resource_class(name)
    books.delete_inventories(uuid)
    books.delete_resource_class(name)
    with pytest.raises(errors.NotFound, match=name):
        books.delete_resource_class(name)
    with pytest.raises(errors.Invalid):
        books.delete_resource_class("VCPU")


@pytest.mark.parametrize("name", ["lower", "CUSTOM_a", "HW_MINE", "CUSTOM_A/B", ""])
def test_only_custom_names_can_be_created(books: GanttProtocol, name: str) -> None:
    with pytest.raises(errors.Invalid):
        books.create_trait(name)
    with pytest.raises(errors.Invalid):
        books.create_resource_class(name)


# Allocations


def test_allocation_life_cycle(books: GanttProtocol) -> None:
    uuid, consumer, project = a_host(books, VCPU=4), str(uuid4()), a_name("project")
    claim = a_claim(uuid, consumer=consumer, project=project, VCPU=3)
    books.set_allocations([claim])
    found = books.get_allocations(consumer)
    assert found is not None
    assert (found.project_id, found.user_id) == (project, "u")
    assert (found.generation, found.consumer_type) == (1, "INSTANCE")
    generation = books.get_provider(uuid).generation
    assert found.allocations == {uuid: ProviderShare({"VCPU": 3}, generation)}
    assert books.get_usages(uuid).usages == {"VCPU": 3}
    by_consumer = books.get_provider_allocations(uuid).allocations
    assert {key: share.resources for key, share in by_consumer.items()} == {
        consumer: {"VCPU": 3}
    }
    total = UsageQuery(project_id=project, user_id="u")
    assert books.total_usages(total) == {"all": TypeUsages(1, {"VCPU": 3})}
    by_type = UsageQuery(project_id=project, by_type=True)
    assert books.total_usages(by_type) == {"INSTANCE": TypeUsages(1, {"VCPU": 3})}
    books.delete_allocations(consumer)
    assert books.get_allocations(consumer) is None
    with pytest.raises(errors.NotFound, match=consumer):
        books.delete_allocations(consumer)
    assert books.total_usages(total) == {}


def test_generation_and_type_are_optional(books: GanttProtocol) -> None:
    uuid, consumer = a_host(books, VCPU=8), str(uuid4())
    open_claim = ConsumerAllocations(
        consumer, {uuid: {"VCPU": 1}}, project_id="p", user_id="u"
    )
    books.set_allocations([open_claim])
    first = books.get_allocations(consumer)
    assert first is not None
    assert (first.generation, first.consumer_type) == (1, None)
    books.set_allocations([open_claim])  # whatever the generation is now
    typed = a_claim(uuid, consumer=consumer, generation=2, VCPU=2)
    books.set_allocations([typed])
    half_open = ConsumerAllocations(
        consumer, {uuid: {"VCPU": 3}}, project_id="p", user_id="u", generation=3
    )
    books.set_allocations([half_open])
    last = books.get_allocations(consumer)
    assert last is not None
    assert (last.generation, last.consumer_type) == (4, "INSTANCE")
    typed_only = ConsumerAllocations(
        consumer, {uuid: {"VCPU": 4}}, "p", "u", UNSET, consumer_type="MIGRATION"
    )
    books.set_allocations([typed_only])
    end = books.get_allocations(consumer)
    assert end is not None
    assert (end.generation, end.consumer_type) == (5, "MIGRATION")


def test_consumers_change_atomically(books: GanttProtocol) -> None:
    uuid, old, new = a_host(books, VCPU=4), str(uuid4()), str(uuid4())
    books.set_allocations([])
    books.set_allocations([a_claim(uuid, consumer=old, VCPU=4)])
    books.set_allocations(
        [
            a_claim(uuid, consumer=old, generation=1),
            a_claim(uuid, consumer=new, kind="MIGRATION", VCPU=4),
        ]
    )
    assert books.get_allocations(old) is None
    with pytest.raises(errors.DoesNotFit):
        books.set_allocations(
            [
                a_claim(uuid, consumer=new, generation=1, kind="MIGRATION", VCPU=1),
                a_claim(uuid, VCPU=4),
            ]
        )
    assert books.get_usages(uuid).usages == {"VCPU": 4}


def test_allocation_refusals(books: GanttProtocol) -> None:
    uuid, consumer = a_host(books, VCPU=4), str(uuid4())
    with pytest.raises(errors.DoesNotFit, match="exceed the capacity"):
        books.set_allocations([a_claim(uuid, VCPU=5)])
    with pytest.raises(errors.DoesNotFit, match="DISK_GB"):
        books.set_allocations([a_claim(uuid, DISK_GB=1)])
    with pytest.raises(errors.UnknownName, match="CUSTOM_UNKNOWN"):
        books.set_allocations([a_claim(uuid, CUSTOM_UNKNOWN=1)])
    with pytest.raises(errors.UnknownProvider, match=NOWHERE):
        books.set_allocations([a_claim(NOWHERE, VCPU=1)])
    books.set_allocations([a_claim(uuid, consumer=consumer, VCPU=1)])
    for wrong in (None, 7):
        with pytest.raises(errors.ConcurrentUpdate, match="consumer generation"):
            books.set_allocations(
                [a_claim(uuid, consumer=consumer, generation=wrong, VCPU=2)]
            )
    assert books.get_usages(uuid).usages == {"VCPU": 1}
    with pytest.raises(errors.NotFound, match=NOWHERE):
        books.get_provider_allocations(NOWHERE)


# Candidates and reshaping


def test_candidates_name_providers_and_summaries(books: GanttProtocol) -> None:
    name, trait = a_custom_name(), a_custom_name()
    books.create_resource_class(name)
    books.create_trait(trait)
    small, large = a_host(books, **{name: 2}), a_host(books, **{name: 8})
    books.set_traits(large, [trait])
    claim = ConsumerAllocations(str(uuid4()), {large: {name: 3}}, "p", "u")
    books.set_allocations([claim])
    found = books.find_candidates(
        CandidateRequest(groups=(RequestGroup(resources={name: 2}),))
    )
    wanted = [{small: {name: 2}}, {large: {name: 2}}]
    assert len(found.candidates) == 2
    assert all(each.allocations in wanted for each in found.candidates)
    assert {each.mappings[""] for each in found.candidates} == {(small,), (large,)}
    summary = found.summaries[large]
    assert summary.resources == {name: ResourceSummary(capacity=8, used=3)}
    assert (summary.traits, summary.parent_uuid) == ((trait,), None)
    assert summary.root_uuid == large
    borne = Labels(required=(frozenset({trait}),))
    for request in (
        CandidateRequest(groups=(RequestGroup(resources={name: 3}),)),
        CandidateRequest(groups=(RequestGroup(resources={name: 1}, traits=borne),)),
        CandidateRequest(
            groups=(RequestGroup(resources={name: 1}),), root_traits=borne
        ),
        CandidateRequest(groups=(RequestGroup(resources={name: 1}, in_tree=large),)),
    ):
        answer = books.find_candidates(request)
        assert [list(each.allocations) for each in answer.candidates] == [[large]]
    one = CandidateRequest(groups=(RequestGroup(resources={name: 1}),), limit=1)
    assert len(books.find_candidates(one).candidates) == 1
    none = CandidateRequest(groups=(RequestGroup(resources={name: 9}),))
    assert books.find_candidates(none).candidates == ()
    unknown = CandidateRequest(groups=(RequestGroup(resources={"CUSTOM_UNKNOWN": 1}),))
    with pytest.raises(errors.UnknownName, match="CUSTOM_UNKNOWN"):
        books.find_candidates(unknown)


def test_reshape_moves_inventory_with_its_allocations(books: GanttProtocol) -> None:
    root, consumer = a_host(books, VCPU=4, VGPU=2), str(uuid4())
    child = a_provider(books, parent=root)
    books.set_allocations([a_claim(root, consumer=consumer, VCPU=1, VGPU=1)])
    moved = ConsumerAllocations(
        consumer,
        {root: {"VCPU": 1}, child.uuid: {"VGPU": 1}},
        project_id="p",
        user_id="u",
    )

    def reshaped(uuid: str, **totals: int) -> ReshapedProvider:
        return ReshapedProvider(
            uuid,
            books.get_provider(uuid).generation,
            {name: Inventory(total=total) for name, total in totals.items()},
        )

    with pytest.raises(errors.InventoryInUse):
        books.reshape([reshaped(root, VCPU=4)], [])
    with pytest.raises(errors.UnknownProvider, match=NOWHERE):
        books.reshape([ReshapedProvider(NOWHERE, 0, {})], [])
    stale = ReshapedProvider(root, 0, {})
    with pytest.raises(errors.ConcurrentUpdate):
        books.reshape([stale], [])
    books.reshape([reshaped(root, VCPU=4), reshaped(child.uuid, VGPU=2)], [moved])
    assert books.get_usages(root).usages == {"VCPU": 1}
    assert books.get_usages(child.uuid).usages == {"VGPU": 1}
    found = books.get_allocations(consumer)
    assert found is not None
    assert (found.generation, found.consumer_type) == (2, "INSTANCE")


def test_close_is_idempotent(opened: Callable[[], GanttProtocol]) -> None:
    books = opened()
    books.list_resource_classes()
    books.close()
    books.close()


def test_books_are_a_context_manager(opened: Callable[[], GanttProtocol]) -> None:
    with opened() as books:
        assert books.list_resource_classes()
    books.close()
