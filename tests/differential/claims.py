"""Random writes of allocations: in every form that a microversion knows, and reshapes.

Apart from the other writes because a claim has six forms, two generations to be wrong
about and several consumers at once.
"""

from __future__ import annotations

from typing import Any

from tests.differential.sketch import (
    CLASSES,
    CONSUMERS,
    PROJECTS,
    TYPES,
    UNKNOWN_PROVIDER,
    USERS,
    Sketch,
    Wish,
)
from tests.differential.step import Now, Step
from tests.differential.worlds import PROVIDERS, inventory

UNKNOWN = "CUSTOM_UNHEARD_OF"
FIRST_WITH_OWNERS = 8
FIRST_WITH_DICTIONARIES = 12
FIRST_WITH_GENERATIONS = 28
FIRST_WITH_MAPPINGS = 34
FIRST_WITH_TYPES = 38


def claim(sketch: Sketch) -> Wish:
    """PUT of one consumer's allocations."""
    version = sketch.one((*range(40), *range(28, 40), 39, 39))
    consumer = sketch.one(CONSUMERS)
    body = _consumer(sketch, version, consumer)
    if version < FIRST_WITH_DICTIONARIES:
        body["allocations"] = [
            {"resource_provider": {"uuid": uuid}, **one}
            for uuid, one in body["allocations"].items()
        ]
    step = Step("PUT", f"/allocations/{consumer}", version, body)
    return Wish(step, lambda: sketch.consumers.add(consumer))


def claims(sketch: Sketch) -> Wish:
    """POST of several consumers' allocations."""
    version = sketch.one((*range(13, 40), *range(28, 40)))
    return Wish(Step("POST", "/allocations", version, _consumers(sketch, version, 1)))


def release(sketch: Sketch) -> Wish:
    """DELETE of all that a consumer has."""
    known = sorted(sketch.consumers)
    consumer = sketch.one(known if known and sketch.chance(0.9) else CONSUMERS)
    step = Step("DELETE", f"/allocations/{consumer}", sketch.one(range(40)))
    return Wish(step, lambda: sketch.consumers.discard(consumer))


def reshape(sketch: Sketch) -> Wish:
    """POST of new inventories together with new allocations."""
    version = sketch.one((*range(29, 40), 39, 39, 39))
    wanted = {}
    after: dict[str, dict[str, Any]] = {}
    for uuid in sketch.some(list(sketch.parents) or [UNKNOWN_PROVIDER], 1, 3):
        path = f"{PROVIDERS}/{uuid}"
        records = dict(sketch.inventories.get(uuid, {}))
        if sketch.chance(0.5):
            records[sketch.one(CLASSES)] = inventory(sketch)
        if records and sketch.chance(0.3):
            del records[sketch.one(sorted(records))]
        if sketch.chance(0.02):
            records[UNKNOWN] = {"total": 1}
        after[uuid] = records
        wanted[uuid] = {
            "resource_provider_generation": Now(path, int(sketch.chance(0.06))),
            "inventories": records,
        }
    if sketch.chance(0.04):
        wanted[UNKNOWN_PROVIDER] = {
            "resource_provider_generation": 0,
            "inventories": {},
        }
    body = {
        "inventories": wanted,
        "allocations": _consumers(sketch, version, 0, after),
    }
    step = Step("POST", "/reshaper", version, body)
    return Wish(step, lambda: sketch.inventories.update(after))


def _consumers(
    sketch: Sketch,
    version: int,
    least: int,
    after: dict[str, dict[str, Any]] | None = None,
) -> dict[str, Any]:
    return {
        consumer: _consumer(sketch, version, consumer, after)
        for consumer in sketch.some(CONSUMERS, least, 3)
    }


def _consumer(
    sketch: Sketch,
    version: int,
    consumer: str,
    after: dict[str, dict[str, Any]] | None = None,
) -> dict[str, Any]:
    """The dictionary form; ``after``: inventories that will be there by then."""
    body: dict[str, Any] = {"allocations": _allocations(sketch, after)}
    if version >= FIRST_WITH_OWNERS:
        body["project_id"] = sketch.one(PROJECTS)
        body["user_id"] = sketch.one(USERS)
    if version >= FIRST_WITH_GENERATIONS:
        body["consumer_generation"] = _generation(sketch, consumer)
    if version >= FIRST_WITH_MAPPINGS and sketch.chance(0.2):
        body["mappings"] = {"1": [UNKNOWN_PROVIDER]}
    if version >= FIRST_WITH_TYPES:
        body["consumer_type"] = sketch.one(TYPES)
    if sketch.chance(0.02):
        body.pop(sketch.one(sorted(body)))
        body.setdefault("allocations", {})
    return body


def _generation(sketch: Sketch, consumer: str) -> Now | None:
    path = f"/allocations/{consumer}"
    if sketch.chance(0.06):
        return sketch.one((None, Now(path, 1), Now(path, -1)))
    return Now(path)


def _allocations(
    sketch: Sketch, after: dict[str, dict[str, Any]] | None
) -> dict[str, Any]:
    """Mostly of what there is an inventory of."""
    if sketch.chance(0.12):
        return {}
    places = sketch.places()
    if after:
        places = [(uuid, rc) for uuid, all_of in after.items() for rc in all_of]
    chosen = sketch.some(places, 1, 3)
    if not chosen or sketch.chance(0.05):
        chosen.append((sketch.provider(), sketch.one(CLASSES)))
    if sketch.chance(0.02):
        chosen.append((sketch.provider(), UNKNOWN))
    if sketch.chance(0.03):
        chosen.append((UNKNOWN_PROVIDER, sketch.one(CLASSES)))
    found: dict[str, Any] = {}
    for uuid, rc in chosen:
        amount = sketch.one((1, 1, 1, 1, 2, 2, 2, 4, 4, 6, 9, 100))
        found.setdefault(uuid, {"resources": {}})["resources"][rc] = amount
    return found
