"""Demands in plain words: amounts with units, names, and what makes two alike."""

from __future__ import annotations

from uuid import UUID

import pytest

from gantt.errors import Invalid, NoValidHost
from gantt.model.demand import Demand, Item, check, consumer_uuid, typed
from gantt.model.demand_queue import seconds_of
from gantt.model.demand_relations import ItemRelation, near, spread
from gantt.model.placements import PlacedView, Placement, Plan
from gantt.model.quantities import Quantity
from gantt.model.selection import Why


@pytest.mark.parametrize(
    ("field", "given", "resource_class", "amount"),
    [
        ("cpu", 2, "VCPU", 2),
        ("cpu", "2", "VCPU", 2),
        ("cpu", 2.0, "VCPU", 2),
        ("memory", 4096, "MEMORY_MB", 4096),
        ("memory", "4GiB", "MEMORY_MB", 4096),
        ("memory", "4 Gi", "MEMORY_MB", 4096),
        ("memory", "512MiB", "MEMORY_MB", 512),
        ("memory", "1.5TiB", "MEMORY_MB", 1_572_864),
        ("memory", "4GB", "MEMORY_MB", 3815),
        ("memory", "1KiB", "MEMORY_MB", 1),
        ("disk", 20, "DISK_GB", 20),
        ("disk", "2TiB", "DISK_GB", 2048),
        ("disk", "512MiB", "DISK_GB", 1),
        ("gpu", 1, "PGPU", 1),
    ],
)
def test_amounts_are_in_the_unit_of_their_class(
    field: str, given: Quantity, resource_class: str, amount: int
) -> None:
    item = Item("web", **{field: given})  # type: ignore[arg-type]
    assert item.amounts == {resource_class: amount}


@pytest.mark.parametrize(
    ("field", "given"),
    [
        ("memory", "4 cores"),
        ("memory", "4G"),
        ("memory", "much"),
        ("memory", float("nan")),
        ("cpu", 1.5),
        ("cpu", "2GiB"),
        ("cpu", -1),
        ("disk", "-1GiB"),
        ("gpu", 2**31),
        ("cpu", True),
    ],
)
def test_an_amount_that_cannot_be_is_refused_by_item_and_field(
    field: str, given: Quantity
) -> None:
    item = Item("web", **{field: given})  # type: ignore[arg-type]
    with pytest.raises(Invalid, match=f"Item 'web', {field}: .*{given}"):
        _ = item.amounts


def test_the_length_of_an_amount_does_not_matter() -> None:
    """Its text is tried in one way, not in as many as it has spaces, squared."""
    spaces = " " * 100_000
    assert Item("web", memory=f"{spaces}4{spaces}GiB{spaces}").amounts
    with pytest.raises(Invalid, match="is no amount"):
        _ = Item("web", memory=f"4{spaces}!").amounts
    with pytest.raises(Invalid, match="is no duration"):
        seconds_of(f"4{spaces}!")


def test_any_class_is_given_by_its_name() -> None:
    asked: dict[str, Quantity] = {"VGPU": 1, "port": "3", "memory": "1GiB"}
    found = Item("web", resources=asked).amounts
    assert found == {"VGPU": 1, "PORT": 3, "MEMORY_MB": 1024}
    with pytest.raises(Invalid, match="Item 'web', VCPU: is given twice"):
        _ = Item("web", cpu=1, resources={"VCPU": 1}).amounts


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ((Item("web"),), "Item 'web' asks for nothing"),
        ((Item("web", cpu=1, count=0),), r"items\[0\].count"),
        ((Item("", cpu=1),), r"items\[0\].name"),
        ((Item("n" * 256, cpu=1),), r"items\[0\].name"),
        ((Item("n" * 254, cpu=1, count=2),), "name: .*255"),
        ((Item("d" * 31, cpu=1, count=2),), "name: with one of its numbers it is a u"),
        ((Item("web", cpu=1), Item("web", cpu=2)), "Two things are called 'web'"),
        ((Item("a", 2, cpu=1), Item("a-2", cpu=1)), "Two things are called 'a-2'"),
        (
            (Item("web", cpu=1, labels={"ssd": "yes"}, without={"ssd": "yes"}),),
            "ssd=yes is among its labels",
        ),
        (({"name": "web", "cpus": 1},), "unknown field `cpus`"),
    ],
)
def test_what_can_never_be_is_refused(items: tuple[Item, ...], message: str) -> None:
    with pytest.raises(Invalid, match=message):
        check(typed(Demand(items)))


def test_names_are_of_their_project() -> None:
    check(typed(Demand((Item("d" * 32, cpu=1), Item("d" * 30, cpu=1, count=9)))))
    assert Item("web", 3).names == ("web-1", "web-2", "web-3")
    assert Item("web").names == ("web",)
    uuid = consumer_uuid("blue", "web")
    assert str(UUID(uuid)) == uuid == consumer_uuid("blue", "web")
    assert uuid not in (consumer_uuid("red", "web"), consumer_uuid("blue", "web-1"))
    assert consumer_uuid("a", "b/c") != consumer_uuid("a/b", "c")
    assert consumer_uuid(None, uuid.upper()) == uuid


def test_demands_are_alike_however_they_are_written() -> None:
    one = Demand((Item("web", 2, memory="4GiB", cpu=1),), plan="p")
    assert one.digest == Demand((Item("web", 2, memory=4096, cpu="1"),), "q").digest
    others = [
        Demand((Item("web", 3, memory="4GiB", cpu=1),), "p"),
        Demand((Item("web", 2, memory="4GiB", cpu=1, zone="a"),), "p"),
        Demand((Item("web", 2, memory="4GiB", cpu=1),), "p", project="blue"),
        Demand((Item("web", 2, memory="4GiB", cpu=1),), "p", lease_s=9.0),
    ]
    assert one.digest not in [other.digest for other in others]


@pytest.mark.parametrize(
    ("item", "relations", "are_alike"),
    [
        (Item("web", cpu=1), (), True),
        (Item("web", cpu=1), (spread("rack"),), True),
        (Item("web", cpu=1, not_with=("db",)), (), False),
        (Item("web", cpu=1), (near("db", "rack"),), False),
    ],
)
def test_what_a_project_names_is_not_what_another_does(
    item: Item, relations: tuple[ItemRelation, ...], are_alike: bool
) -> None:
    """Room that suits one of them may not suit the other: neither is behind it."""
    one, other = (
        Demand((item,), relations=relations, project=project).shape(by_project=False)
        for project in ("red", "blue")
    )
    assert (one == other) is are_alike


def test_all_that_is_asked_and_answered_prints_on_a_line() -> None:
    """However long its names are."""
    for name in ("web", "n" * 255):
        item = Item(name, count=3, cpu=2, labels={name: name}, not_with=(name,) * 9)
        one = Placement(name, name, name, name, name, {name: {name: 1}})
        view = PlacedView(name, name, name, name, name, plan=name, project=name)
        why = Why(said=(f"Of 3 hosts, {name}.",) * 9)
        for value in (
            item,
            Demand((item,) * 9, plan=name),
            near(name, name, items=[name] * 9),
            one,
            view,
            Plan((one,) * 9, name),
            why,
        ):
            assert name[:3] in repr(value)
            assert len(repr(value)) <= 100
            assert "\n" not in repr(value)
    assert repr(view) != repr(one)
    assert repr(Placement("web", "h1", "h1", "web", "u")) == "<Placement web on h1>"
    assert str(PlacedView("web", "h1", "h1", "web", "u", plan="app")) == (
        "web on h1 (placed by the plan 'app')"
    )
    refusal = NoValidHost("There is no room.", Why(said=("Of 3 hosts, none.",)))
    assert str(refusal).splitlines() == ["There is no room.", "Of 3 hosts, none."]
