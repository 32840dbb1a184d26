"""What stands in the books, asked for one by one and all at once."""

from __future__ import annotations

import pytest

from gantt.errors import UnknownName
from gantt.model.answers import (
    ConsumerShare,
    ConsumerView,
    Name,
    Provider,
    ProviderAllocations,
    ProviderInventories,
    ProviderShare,
    ProviderUsages,
)
from gantt.model.changes import Change, Cursor
from gantt.model.commands import (
    CreateProvider,
    DeleteProvider,
    Inventory,
    SetAggregates,
    SetAllocations,
    SetInventories,
    SetTraits,
    UpdateProvider,
)
from gantt.model.requests import Labels, ProviderQuery, TraitQuery
from gantt.model.rows import AllocationRow
from gantt.placement import queries
from tests.placement.desk import (
    ABSENT,
    ALICE,
    BOB,
    CHILD,
    HOST,
    LEAF,
    OTHER,
    SHARES,
    Desk,
    claim,
    furnished,
    put,
)

AVX, GOLD = "HW_CPU_X86_AVX", "CUSTOM_GOLD"


def required(*alternatives: str | tuple[str, ...]) -> Labels:
    """Each argument is a name, or several of which one is enough."""
    sets = [(a,) if isinstance(a, str) else a for a in alternatives]
    return Labels(tuple(frozenset(names) for names in sets))


def forbidden(*names: str) -> Labels:
    return Labels((), frozenset(names))


@pytest.fixture(scope="module")
def desk() -> Desk:
    """HOST: AVX, in a1. CHILD: GOLD, in a2. OTHER: AVX and GOLD, in a1 and a2."""
    desk = furnished()
    desk.do(
        SetTraits(HOST, (AVX,)),
        SetTraits(CHILD, (GOLD,)),
        SetTraits(OTHER, (AVX, GOLD)),
        SetAggregates(HOST, ("a1",)),
        SetAggregates(CHILD, ("a2",)),
        SetAggregates(OTHER, ("a2", "a1")),
        put(ALICE, {HOST: {"VCPU": 5}, OTHER: {"VCPU": 1}}, consumer_type="INSTANCE"),
        put(BOB, {HOST: {"VCPU": 1, "MEMORY_MB": 24}}),
    )
    return desk


QUERIES = [
    (ProviderQuery(), [HOST, CHILD, LEAF, OTHER]),
    (ProviderQuery(uuid=LEAF), [LEAF]),
    (ProviderQuery(uuid=ABSENT), []),
    (ProviderQuery(name="other"), [OTHER]),
    (ProviderQuery(name="absent"), []),
    (ProviderQuery(name="other", uuid=OTHER), [OTHER]),
    (ProviderQuery(name="other", uuid=HOST), []),
    (ProviderQuery(name="other", uuid=ABSENT), []),
    # T17: any member of the tree will do
    (ProviderQuery(in_tree=HOST), [HOST, CHILD, LEAF]),
    (ProviderQuery(in_tree=LEAF), [HOST, CHILD, LEAF]),
    (ProviderQuery(in_tree=OTHER), [OTHER]),
    (ProviderQuery(in_tree=ABSENT), []),
    (ProviderQuery(in_tree=LEAF, name="other"), []),
    # Each provider alone: no tree, no sharing
    (ProviderQuery(resources={"VCPU": 1}), [HOST, OTHER]),
    (ProviderQuery(resources={"VCPU": 2}), [HOST, OTHER]),
    (ProviderQuery(resources={"VCPU": 3}), [OTHER]),
    (ProviderQuery(resources={"VCPU": 4}), []),
    (ProviderQuery(resources={"VCPU": 1, "MEMORY_MB": 1000}), [HOST]),
    (ProviderQuery(resources={"VCPU": 1, "MEMORY_MB": 1001}), []),
    (ProviderQuery(resources={"DISK_GB": 1}), []),
    (ProviderQuery(resources={"VCPU": 2**31}), []),
    (ProviderQuery(resources={"VCPU": 2**63 - 1}), []),
    (ProviderQuery(resources={"VCPU": 10**30}), []),
    (ProviderQuery(traits=required(AVX)), [HOST, OTHER]),
    (ProviderQuery(traits=required(AVX, GOLD)), [OTHER]),
    (ProviderQuery(traits=required((AVX, GOLD))), [HOST, CHILD, OTHER]),
    (ProviderQuery(traits=forbidden(AVX)), [CHILD, LEAF]),
    (ProviderQuery(traits=Labels((frozenset({AVX}),), frozenset({AVX}))), []),
    # T16: membership is the provider's own, not its root's
    (ProviderQuery(member_of=required("a1")), [HOST, OTHER]),
    (ProviderQuery(member_of=required("a1", "a2")), [OTHER]),
    (ProviderQuery(member_of=required(("a1", "a2", "a3"))), [HOST, CHILD, OTHER]),
    (ProviderQuery(member_of=required("a3")), []),
    (ProviderQuery(member_of=forbidden("a1")), [CHILD, LEAF]),
    (ProviderQuery(member_of=forbidden("a1", "a3")), [CHILD, LEAF]),
    (
        ProviderQuery(traits=required(AVX), member_of=required("a2"), in_tree=OTHER),
        [OTHER],
    ),
]


@pytest.mark.parametrize(("query", "expected"), QUERIES)
def test_listing(desk: Desk, query: ProviderQuery, expected: list[str]) -> None:
    assert [one.uuid for one in queries.providers(desk.state, query)] == expected


UNKNOWN = [
    (ProviderQuery(resources={"NOPE": 1}), "No such resource class NOPE."),
    (ProviderQuery(traits=required("NOPE")), "No such trait(s): NOPE."),
    (ProviderQuery(traits=forbidden("NOPE")), "No such trait(s): NOPE."),
    (ProviderQuery(traits=required(("Z", "NOPE", AVX))), "No such trait(s): NOPE."),
    (
        ProviderQuery(traits=required(AVX), resources={"NO": 1}),
        "No such resource class NO.",
    ),
]


@pytest.mark.parametrize(("query", "text"), UNKNOWN)
def test_listing_by_names_that_do_not_exist(
    desk: Desk, query: ProviderQuery, text: str
) -> None:
    with pytest.raises(UnknownName) as refused:
        queries.providers(desk.state, query)
    assert str(refused.value) == text


UNNOTICED = [
    ProviderQuery(in_tree=ABSENT, resources={"NO": 1}),
    ProviderQuery(in_tree=ABSENT, traits=required("NO")),
    ProviderQuery(traits=Labels((frozenset({SHARES}),), frozenset({"NO"}))),
    ProviderQuery(traits=required(SHARES), resources={"NO": 1}),
    ProviderQuery(member_of=required(ABSENT), resources={"NO": 1}),
]


@pytest.mark.parametrize("query", UNNOTICED)
def test_a_name_is_not_looked_up_when_no_provider_is_left(
    desk: Desk, query: ProviderQuery
) -> None:
    assert queries.providers(desk.state, query) == ()


UNITS = [
    (Inventory(100, min_unit=2, max_unit=8, step_size=3), {3, 6}),
    (Inventory(100, min_unit=2, max_unit=4), {2, 3, 4}),
    (Inventory(4, reserved=3, allocation_ratio=2.5), {1, 2}),
    (Inventory(4, reserved=4), set()),
    (Inventory(8, allocation_ratio=0.0), set()),
]


@pytest.mark.parametrize(("inventory", "fitting"), UNITS)
def test_units_and_capacity_narrow_the_list(
    inventory: Inventory, fitting: set[int]
) -> None:
    """What is listed can be claimed, and nothing else can."""
    for amount in range(1, 10):
        desk = furnished()
        desk.do(SetInventories(LEAF, {"DISK_GB": inventory}))
        listed = queries.providers(
            desk.state, ProviderQuery(resources={"DISK_GB": amount})
        )
        assert (len(listed) == 1) == (amount in fitting)
        if listed:
            desk.do(put(ALICE, {LEAF: {"DISK_GB": amount}}))


def test_the_oldest_comes_first_also_after_rows_were_used_again() -> None:
    desk = furnished()
    new = "55555555-5555-4555-8555-555555555555"
    desk.do(DeleteProvider(LEAF), CreateProvider(new, "new"))
    found = [one.uuid for one in queries.providers(desk.state, ProviderQuery())]
    assert found == [HOST, CHILD, OTHER, new]


def test_one_provider(desk: Desk) -> None:
    assert queries.provider(desk.state, ABSENT) is None
    assert queries.provider(desk.state, CHILD.upper()) is not None or CHILD.isdigit()
    assert queries.provider(desk.state, LEAF) == Provider(
        LEAF, "leaf", 0, CHILD, HOST, 106
    )


def test_views_of_an_absent_uuid_are_none(desk: Desk) -> None:
    for view in (
        queries.inventories,
        queries.usages,
        queries.aggregates,
        queries.traits,
        queries.provider_allocations,
        queries.allocations,
    ):
        assert view(desk.state, ABSENT) is None


def test_inventories(desk: Desk) -> None:
    stock = {"VCPU": Inventory(8), "MEMORY_MB": Inventory(1024)}
    found = queries.inventories(desk.state, HOST)
    assert found == ProviderInventories(5, stock, 108)
    assert found is not None
    assert list(found.inventories) == ["VCPU", "MEMORY_MB"]
    assert queries.inventories(desk.state, LEAF) == ProviderInventories(0, {}, None)


def test_usages_have_a_key_per_inventory(desk: Desk) -> None:
    host = ProviderUsages(5, {"VCPU": 6, "MEMORY_MB": 24})
    assert queries.usages(desk.state, HOST) == host
    assert queries.usages(desk.state, LEAF) == ProviderUsages(0, {})


def test_allocations_of_a_consumer(desk: Desk) -> None:
    assert queries.allocations(desk.state, ALICE) == ConsumerView(
        {HOST: ProviderShare({"VCPU": 5}, 5), OTHER: ProviderShare({"VCPU": 1}, 4)},
        "project",
        "user",
        1,
        "INSTANCE",
        116,
    )
    bob = queries.allocations(desk.state, BOB)
    assert bob is not None
    assert (bob.consumer_type, bob.created_at) == (None, 117)


def test_allocations_on_a_provider(desk: Desk) -> None:
    assert queries.provider_allocations(desk.state, HOST) == ProviderAllocations(
        5,
        {
            ALICE: ConsumerShare({"VCPU": 5}, 1),
            BOB: ConsumerShare({"VCPU": 1, "MEMORY_MB": 24}, 1),
        },
        117,
    )
    empty = queries.provider_allocations(desk.state, LEAF)
    assert empty == ProviderAllocations(0, {}, None)


def test_a_consumer_without_a_record_is_shown_as_far_as_it_is_known() -> None:
    """Very old databases have allocations without a consumers row."""
    desk = furnished()
    row = AllocationRow(1, 1, "ghost", 0, 2, None, None)
    desk.state.apply([Change("allocations", 1, None, row)], Cursor(99, "b"))
    found = queries.allocations(desk.state, "ghost")
    assert found == ConsumerView(
        {HOST: ProviderShare({"VCPU": 2}, 1)}, "", "", 0, None, None
    )
    on_host = queries.provider_allocations(desk.state, HOST)
    assert on_host is not None
    assert on_host.allocations == {"ghost": ConsumerShare({"VCPU": 2}, 0)}
    desk.do(put("ghost", {HOST: {"VCPU": 1}}, generation=None))
    assert desk.consumer("ghost").generation == 1


NAMES = [
    (TraitQuery(), {AVX, SHARES, GOLD}),
    (TraitQuery(names=frozenset({AVX, "NOPE"})), {AVX}),
    (TraitQuery(names=frozenset()), set()),
    (TraitQuery(prefix="custom_"), {GOLD}),
    (TraitQuery(prefix="HW%"), set()),
    (TraitQuery(prefix="HW_"), {AVX}),
    (TraitQuery(is_associated=True), {AVX, GOLD}),
    (TraitQuery(is_associated=False), {SHARES}),
    (TraitQuery(prefix="M", is_associated=True), set()),
]


@pytest.mark.parametrize(("query", "expected"), NAMES)
def test_traits_by_name(desk: Desk, query: TraitQuery, expected: set[str]) -> None:
    found = [one.name for one in queries.trait_names(desk.state, query)]
    assert (len(found), set(found)) == (len(expected), expected)


def test_classes_come_by_their_numbers(desk: Desk) -> None:
    found = [one.name for one in queries.resource_classes(desk.state)]
    assert found == ["VCPU", "MEMORY_MB", "DISK_GB", "CUSTOM_FPGA"]
    assert queries.resource_class(desk.state, "VCPU") == Name("VCPU", 101, 101)
    assert queries.resource_class(desk.state, "NOPE") is None
    assert queries.trait(desk.state, GOLD) == Name(GOLD, 102, 102)
    assert queries.trait(desk.state, "NOPE") is None


def test_labels_of_a_provider_are_its_own_after_rows_were_used_again() -> None:
    desk = furnished()
    desk.do(SetTraits(LEAF, (GOLD,)), SetAggregates(LEAF, ("a",)))
    desk.do(DeleteProvider(LEAF), CreateProvider(LEAF, "leaf", HOST))
    traits = queries.traits(desk.state, LEAF)
    aggregates = queries.aggregates(desk.state, LEAF)
    assert traits is not None
    assert aggregates is not None
    assert (traits.traits, aggregates.aggregates) == ((), ())


def test_a_moved_tree_is_two_trees() -> None:
    """T18."""
    desk = furnished()
    desk.do(UpdateProvider(CHILD, "child", None))
    for member, tree in ((HOST, [HOST]), (LEAF, [CHILD, LEAF])):
        listed = queries.providers(desk.state, ProviderQuery(in_tree=member))
        assert [one.uuid for one in listed] == tree


def test_an_overfull_provider_is_not_listed() -> None:
    desk = furnished()
    pair = (claim(ALICE, {OTHER: {"VCPU": 2}}), claim(BOB, {OTHER: {"VCPU": 2}}))
    desk.do(SetAllocations(pair), SetInventories(OTHER, {"VCPU": Inventory(2)}))
    assert (
        queries.providers(
            desk.state, ProviderQuery(resources={"VCPU": 1}, in_tree=OTHER)
        )
        == ()
    )
