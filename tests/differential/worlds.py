"""The beginning of every story: trees, sharing providers, inventories, claims.

Small ones, in which everything meets everything: a handful of providers in a few
trees, five classes, four traits, four aggregates.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.differential.sketch import (
    AGGREGATES,
    CLASSES,
    CONSUMERS,
    CUSTOM_CLASSES,
    CUSTOM_TRAITS,
    SHARES,
    TRAITS,
    Sketch,
    Wish,
)
from tests.differential.step import Now, Step

LATEST = 39
PROVIDERS = "/resource_providers"
MOST_BELOW_ONE = 5


def world(sketch: Sketch) -> Iterator[Wish]:
    """Wishes that build one; each must have been granted before the next is drawn."""
    for name in CUSTOM_CLASSES:
        yield Wish(Step("PUT", f"/resource_classes/{name}", LATEST))
    for name in CUSTOM_TRAITS:
        yield Wish(Step("PUT", f"/traits/{name}", LATEST))
    is_flat = sketch.chance(0.15)
    may_share = sketch.chance(0.65)
    for _ in range(sketch.rng.randint(4, 11)):
        yield from _provider(sketch, is_flat=is_flat, may_share=may_share)
    for consumer in CONSUMERS[: sketch.rng.randint(0, 6)]:
        if sketch.places():
            yield _claim(sketch, consumer)


def _provider(sketch: Sketch, *, is_flat: bool, may_share: bool) -> Iterator[Wish]:
    uuid = sketch.next_provider()
    parent = None if is_flat else _parent(sketch)
    body = {"name": f"n{sketch.created}", "uuid": uuid, "parent_provider_uuid": parent}
    inventories = {rc: inventory(sketch) for rc in sketch.some(CLASSES, 1, 4)}
    if sketch.chance(0.1):
        inventories = {}

    def exists() -> None:
        sketch.parents[uuid] = parent
        sketch.inventories[uuid] = inventories

    traits = sketch.some(TRAITS, 0, 3)
    # Children that share run into a fault of Placement's: few of them.
    if may_share and sketch.chance(0.08 if parent else 0.35):
        traits.append(SHARES)
    aggregates = sketch.some(AGGREGATES, 0, 3)
    yield Wish(Step("POST", PROVIDERS, LATEST, body), exists)
    for step in furnish(uuid, inventories, traits, aggregates):
        yield Wish(step)


def furnish(
    uuid: str,
    inventories: Mapping[str, Mapping[str, Any]],
    traits: Sequence[str] = (),
    aggregates: Sequence[str] = (),
) -> Iterator[Step]:
    """What a provider has, bears, and is in."""
    path = f"{PROVIDERS}/{uuid}"
    for what, given in (
        ("inventories", inventories),
        ("traits", list(traits)),
        ("aggregates", list(aggregates)),
    ):
        if given:
            body = {"resource_provider_generation": Now(path), what: given}
            yield Step("PUT", f"{path}/{what}", LATEST, body)


def _parent(sketch: Sketch) -> str | None:
    """Often a provider whose tree is not large yet."""
    if not sketch.parents or sketch.chance(0.3):
        return None
    parent = sketch.one(list(sketch.parents))
    siblings = sum(each == parent for each in sketch.parents.values())
    return None if siblings >= MOST_BELOW_ONE else parent


def inventory(sketch: Sketch) -> dict[str, Any]:
    """Mostly plain; some with units, a part reserved, a ratio."""
    record: dict[str, Any] = {"total": sketch.one((1, 4, 4, 8, 8, 16, 100))}
    if sketch.chance(0.2):
        record["reserved"] = sketch.rng.randint(0, record["total"] - 1)
    if sketch.chance(0.1):
        record["min_unit"] = 2
    if sketch.chance(0.15):
        record["max_unit"] = sketch.one((1, 2, 3, 4))
    if sketch.chance(0.1):
        record["step_size"] = sketch.one((2, 3))
    if sketch.chance(0.25):
        record["allocation_ratio"] = sketch.one((1.5, 2.0, 1.15, 16.0))
    return record


def _claim(sketch: Sketch, consumer: str) -> Wish:
    allocations: dict[str, Any] = {}
    for uuid, rc in sketch.some(sketch.places(), 1, 2):
        resources = allocations.setdefault(uuid, {"resources": {}})["resources"]
        resources[rc] = sketch.one((1, 1, 2, 2, 3))
    body = {
        "allocations": allocations,
        "project_id": "p1",
        "user_id": "u1",
        "consumer_generation": None,
        "consumer_type": "INSTANCE",
    }
    step = Step("PUT", f"/allocations/{consumer}", LATEST, body)
    return Wish(step, lambda: sketch.consumers.add(consumer))
