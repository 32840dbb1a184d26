"""Random writes: mostly sensible, some against the rules.

Each kind is a function of the sketch. What is wrong is so in one way mostly, so that
many rules have their turn; sometimes in two, so that it shows which one comes first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.differential.claims import claim, claims, release, reshape
from tests.differential.sketch import (
    AGGREGATES,
    CLASSES,
    CUSTOM_CLASSES,
    CUSTOM_TRAITS,
    SHARES,
    TRAITS,
    UNKNOWN_PROVIDER,
    Sketch,
    Wish,
)
from tests.differential.step import Now, Step
from tests.differential.worlds import PROVIDERS, inventory

UNKNOWN = "CUSTOM_UNHEARD_OF"


def write(sketch: Sketch) -> Wish:
    """The next one."""
    (kind,) = sketch.rng.choices(list(KINDS), list(KINDS.values()))
    return kind(sketch)


def _generation(sketch: Sketch, path: str) -> Now:
    """The provider's, wrong one time in twelve."""
    return Now(path, sketch.one((1, -1)) if sketch.chance(0.08) else 0)


# -------------------------------------------------------------------------- providers


def _create(sketch: Sketch) -> Wish:
    version = sketch.one(range(40))
    uuid = sketch.provider() if sketch.chance(0.1) else sketch.next_provider()
    name = "n1" if sketch.chance(0.1) else f"n{sketch.created}"
    body: dict[str, Any] = {"name": name, "uuid": uuid}
    parent = None
    if version >= 14 or sketch.chance(0.05):
        parent = sketch.one((None, sketch.provider(), sketch.provider(), uuid))
        if parent != uuid or sketch.chance(0.2):
            body["parent_provider_uuid"] = parent

    def exists() -> None:
        sketch.parents[uuid] = parent
        sketch.inventories[uuid] = {}

    return Wish(Step("POST", PROVIDERS, version, body), exists)


def _update(sketch: Sketch) -> Wish:
    version = sketch.one((*range(40), 37, 38, 39, 39, 39, 39, 39, 39))
    uuid = sketch.provider()
    number = int(uuid[:8], 16)
    name = f"n{sketch.created}" if sketch.chance(0.1) else f"n{number}"
    body: dict[str, Any] = {"name": name}
    keeps = sketch.chance(0.1) or version < 14
    parent = (
        sketch.parents.get(uuid)
        if keeps
        else sketch.one((None, None, UNKNOWN_PROVIDER))
    )
    if not keeps and sketch.chance(0.8):
        parent = sketch.provider()
    if not keeps:
        body["parent_provider_uuid"] = parent

    def moved() -> None:
        sketch.parents[uuid] = parent

    return Wish(Step("PUT", f"{PROVIDERS}/{uuid}", version, body), moved)


def _remove(sketch: Sketch) -> Wish:
    uuid = sketch.provider()

    def gone() -> None:
        sketch.parents.pop(uuid, None)
        sketch.inventories.pop(uuid, None)

    return Wish(
        Step("DELETE", f"{PROVIDERS}/{uuid}", sketch.one(range(40))),
        gone,
    )


# ------------------------------------------------------------------------ inventories


def _record(sketch: Sketch) -> dict[str, Any]:
    """An inventory; one in ten has nothing to give, or less."""
    record = inventory(sketch)
    if sketch.chance(0.1):
        total = record["total"]
        record["reserved"] = sketch.one((total, total, total + 1))
    if sketch.chance(0.05):
        record["allocation_ratio"] = sketch.one((0.1, 0.0, -1.0, 3))
    return record


def _put_inventories(sketch: Sketch) -> Wish:
    uuid = sketch.provider()
    path = f"{PROVIDERS}/{uuid}"
    records = {rc: _record(sketch) for rc in sketch.some(CLASSES, 0, 4)}
    # What is in use stays, mostly.
    if sketch.chance(0.7):
        records = {**sketch.inventories.get(uuid, {}), **records}
    if sketch.chance(0.04):
        records[UNKNOWN] = {"total": 1}
    body = {
        "resource_provider_generation": _generation(sketch, path),
        "inventories": records,
    }

    def set_() -> None:
        sketch.inventories[uuid] = records

    step = Step("PUT", f"{path}/inventories", sketch.one(range(40)), body)
    return Wish(step, set_)


def _place(sketch: Sketch) -> tuple[str, str]:
    places = sketch.places()
    if places and sketch.chance(0.85):
        return sketch.one(places)
    return sketch.provider(), sketch.one((*CLASSES, UNKNOWN))


def _put_inventory(sketch: Sketch) -> Wish:
    uuid, rc = _place(sketch)
    path = f"{PROVIDERS}/{uuid}"
    record = _record(sketch)
    body = {"resource_provider_generation": _generation(sketch, path), **record}

    def set_() -> None:
        sketch.inventories.setdefault(uuid, {})[rc] = record

    step = Step("PUT", f"{path}/inventories/{rc}", sketch.one(range(40)), body)
    return Wish(step, set_)


def _post_inventory(sketch: Sketch) -> Wish:
    uuid, rc = sketch.provider(), sketch.one((*CLASSES, *CLASSES, UNKNOWN))
    record = _record(sketch)
    body = {"resource_class": rc, **record}

    def set_() -> None:
        sketch.inventories.setdefault(uuid, {})[rc] = record

    path = f"{PROVIDERS}/{uuid}/inventories"
    return Wish(Step("POST", path, sketch.one(range(40)), body), set_)


def _delete_inventory(sketch: Sketch) -> Wish:
    uuid, rc = _place(sketch)

    def gone() -> None:
        sketch.inventories.get(uuid, {}).pop(rc, None)

    path = f"{PROVIDERS}/{uuid}/inventories/{rc}"
    return Wish(Step("DELETE", path, sketch.one(range(40))), gone)


def _delete_inventories(sketch: Sketch) -> Wish:
    uuid = sketch.provider()

    def gone() -> None:
        sketch.inventories[uuid] = {}

    path = f"{PROVIDERS}/{uuid}/inventories"
    return Wish(Step("DELETE", path, sketch.one(range(40))), gone)


# ---------------------------------------------------------------------- what they are


def _put_traits(sketch: Sketch) -> Wish:
    path = f"{PROVIDERS}/{sketch.provider()}"
    traits = sketch.some((*TRAITS, SHARES), 0, 3)
    if sketch.chance(0.05):
        traits.append(UNKNOWN)
    if traits and sketch.chance(0.05):
        traits.append(traits[0])
    body = {"resource_provider_generation": _generation(sketch, path), "traits": traits}
    return Wish(Step("PUT", f"{path}/traits", sketch.one(range(5, 40)), body))


def _delete_traits(sketch: Sketch) -> Wish:
    path = f"{PROVIDERS}/{sketch.provider()}/traits"
    return Wish(Step("DELETE", path, sketch.one(range(6, 40))))


def _put_aggregates(sketch: Sketch) -> Wish:
    version = sketch.one((*range(40), *range(19, 40)))
    path = f"{PROVIDERS}/{sketch.provider()}"
    body: Any = sketch.some(AGGREGATES, 0, 3)
    if sketch.chance(0.05):
        body.append(sketch.one(("nonsense", *body)))
    if (version >= 19) != sketch.chance(0.05):
        body = {
            "resource_provider_generation": _generation(sketch, path),
            "aggregates": body,
        }
    return Wish(Step("PUT", f"{path}/aggregates", version, body))


# ------------------------------------------------------------------------------ names


def _class_name(sketch: Sketch) -> str:
    return sketch.one((*CUSTOM_CLASSES, "CUSTOM_C", "CUSTOM_D", "VCPU", "custom_e"))


def _name_class(sketch: Sketch) -> Wish:
    version = sketch.one(range(40))
    name = _class_name(sketch)
    if sketch.chance(0.5):
        return Wish(Step("POST", "/resource_classes", version, {"name": name}))
    body = {"name": _class_name(sketch)} if version < 7 else None
    return Wish(Step("PUT", f"/resource_classes/{name}", version, body))


def _delete_class(sketch: Sketch) -> Wish:
    path = f"/resource_classes/{_class_name(sketch)}"
    return Wish(Step("DELETE", path, sketch.one(range(40))))


def _name_trait(sketch: Sketch) -> Wish:
    name = sketch.one((*CUSTOM_TRAITS, "CUSTOM_V", "CUSTOM_W", "HW_CPU_X86_AVX", "x"))
    method = sketch.one(("PUT", "PUT", "DELETE"))
    return Wish(Step(method, f"/traits/{name}", sketch.one(range(5, 40))))


# How often each is drawn.
KINDS: dict[Callable[[Sketch], Wish], int] = {
    _create: 3,
    _update: 4,
    _remove: 2,
    _put_inventories: 4,
    _put_inventory: 4,
    _post_inventory: 3,
    _delete_inventory: 2,
    _delete_inventories: 1,
    _put_traits: 4,
    _delete_traits: 1,
    _put_aggregates: 4,
    _name_class: 3,
    _delete_class: 1,
    _name_trait: 2,
    claim: 10,
    claims: 6,
    release: 3,
    reshape: 5,
}
