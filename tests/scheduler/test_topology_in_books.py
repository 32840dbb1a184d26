"""Devices that Placement has, too (pci_in_placement): the candidate whose providers
have devices near the cells is the one that is claimed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from uuid import NAMESPACE_OID, uuid5

import pytest
from msgspec.structs import replace

from gantt.connection import open_gantt
from gantt.engine.gantt import Gantt
from gantt.errors import NoValidHost
from gantt.model.commands import Inventory
from gantt.model.selection import Selection
from gantt.model.spec import RequestSpec
from tests.scheduler.small_cells import PINNED, options, place, report

GPU = "CUSTOM_PCI_10DE_1EB8"
ALIAS = {"name": "gpu", "vendor_id": "10de", "product_id": "1eb8"}
TAGS = {"vendor_id": "10de", "product_id": "1eb8", "dev_type": "type-PCI"}


def card(name: str) -> str:
    return str(uuid5(NAMESPACE_OID, name))


def asks(count: int, affinity: str = "required") -> RequestSpec:
    extra_specs = {
        **PINNED.flavor.extra_specs,
        "pci_passthrough:alias": f"gpu:{count}",
        "hw:pci_numa_affinity_policy": affinity,
    }
    return replace(PINNED, flavor=replace(PINNED.flavor, extra_specs=extra_specs))


@pytest.fixture
def engine() -> Iterator[Gantt]:
    asked: dict[str, Any] = {"pci_in_placement": True, "pci_alias": (ALIAS,)}
    with open_gantt("memory://", options(**asked)) as found:
        found.create_resource_class(GPU)
        yield found


def has_cards(engine: Gantt, host: str, *pinned: int) -> None:
    """A card at each of two cells; in the books each is a provider of its own."""
    pools = [
        {**TAGS, "numa_node": node, "count": 1, "rp_uuid": card(f"{host}{node}")}
        for node in range(2)
    ]
    report(engine, host, *pinned, pci_stats=pools)
    (root,) = (one.uuid for one in engine.list_providers() if one.name == host)
    for node in range(2):
        uuid = card(f"{host}{node}")
        engine.create_provider(f"{host}_{node}", uuid=uuid, parent_uuid=root)
        engine.set_inventories(uuid, {GPU: Inventory(total=1)}, generation=0)
        engine.set_traits(uuid, ["COMPUTE_MANAGED_PCI_DEVICE"], generation=1)


def cards_of(found: list[Selection]) -> list[str]:
    """Providers of the cards that each instance was given."""
    return [
        uuid
        for one in found
        for uuid, asked in json.loads(one.allocation_request or "")[
            "allocations"
        ].items()
        if GPU in asked["resources"]
    ]


@pytest.mark.parametrize(("pinned", "node"), [((0,), 1), ((2,), 0)])
def test_the_card_is_near_the_cell(engine: Gantt, pinned: Any, node: int) -> None:
    has_cards(engine, "a", *pinned)
    assert cards_of(place(engine, 1, spec=asks(1))) == [card(f"a{node}")]
    # The other card is at the cell that has no room.
    with pytest.raises(NoValidHost):
        place(engine, 2, spec=asks(1))
    assert not engine.verify().problems


def test_instances_of_one_request_get_a_card_each(engine: Gantt) -> None:
    has_cards(engine, "a")
    found = place(engine, 1, 2, spec=asks(1))
    assert sorted(cards_of(found)) == sorted((card("a0"), card("a1")))
    with pytest.raises(NoValidHost):
        place(engine, 3, spec=asks(1, "preferred"))


def test_two_cards_come_of_two_providers(engine: Gantt) -> None:
    has_cards(engine, "a")
    with pytest.raises(NoValidHost):
        place(engine, 1, spec=asks(2))  # no cell has two
    found = place(engine, 1, spec=asks(2, "preferred"))
    assert sorted(cards_of(found)) == sorted((card("a0"), card("a1")))


def test_a_card_for_one_use_is_reserved_in_the_books(engine: Gantt) -> None:
    """The compute reserves it while it is used, and until an operator resets it; its
    pool may have it back long before."""
    has_cards(engine, "a")
    for node in range(2):
        used = {GPU: Inventory(total=1, reserved=1)}
        engine.set_inventories(card(f"a{node}"), used)
    with pytest.raises(NoValidHost):
        place(engine, 1, spec=asks(1))
    engine.set_inventories(card("a1"), {GPU: Inventory(total=1)})
    assert cards_of(place(engine, 1, spec=asks(1))) == [card("a1")]
