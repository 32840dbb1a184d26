"""Valid bodies, one of each form, and small faults to insert into them."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import strategies as st

from gantt.api.wire import bodies
from gantt.api.wire.bodies import BodyForm

PROVIDER = "c8e1a4c2-7d3e-4a0e-9f55-0b1f6c1f2a01"
OTHER = "c8e1a4c2-7d3e-4a0e-9f55-0b1f6c1f2a02"
CONSUMER = "5f2a7d10-0c7c-4c8e-8a1e-3d8f4e0a9b11"

RECORD = {
    "total": 8,
    "reserved": 1,
    "min_unit": 1,
    "max_unit": 4,
    "step_size": 1,
    "allocation_ratio": 1.5,
}
INVENTORIES = {
    "resource_provider_generation": 1,
    "inventories": {"VCPU": RECORD, "CUSTOM_GOLD": {"total": 2}},
}
RESOURCES = {"VCPU": 2, "MEMORY_MB": 512}
LISTED = [{"resource_provider": {"uuid": PROVIDER}, "resources": RESOURCES}]
SHARES = {PROVIDER: {"resources": RESOURCES, "generation": 3}}
WHO = {"project_id": "p", "user_id": "u"}


def consumer(version: int) -> dict[str, Any]:
    """The dict form of allocations at a microversion."""
    body: dict[str, Any] = {"allocations": SHARES, **WHO}
    if version >= 28:
        body["consumer_generation"] = None
    if version >= 34:
        body["mappings"] = {"": [PROVIDER], "_NET1": [PROVIDER, OTHER]}
    if version >= 38:
        body["consumer_type"] = "INSTANCE"
    return body


def _allocations(version: int) -> dict[str, Any]:
    if version >= 12:
        return consumer(version)
    return {"allocations": LISTED, **(WHO if version >= 8 else {})}


def _reshape(version: int) -> dict[str, Any]:
    return {
        "inventories": {PROVIDER: INVENTORIES},
        "allocations": {CONSUMER: consumer(version)},
    }


def _create(version: int) -> dict[str, Any]:
    body: dict[str, Any] = {"name": "n", "uuid": PROVIDER}
    return {**body, "parent_provider_uuid": None} if version >= 14 else body


def _update(version: int) -> dict[str, Any]:
    return (
        {"name": "n", "parent_provider_uuid": OTHER} if version >= 14 else {"name": "n"}
    )


def all_forms() -> list[tuple[str, BodyForm[Any], Any]]:
    """(name, form, a body that is right) for each form at each of its changes."""
    single = [
        ("set inventory", bodies.SET_INVENTORY, {**RECORD, **_GENERATION}),
        ("add inventory", bodies.ADD_INVENTORY, {**RECORD, "resource_class": "VCPU"}),
        ("set inventories", bodies.SET_INVENTORIES, INVENTORIES),
        ("list aggregates", bodies.LIST_AGGREGATES, [PROVIDER, OTHER]),
        (
            "set aggregates",
            bodies.SET_AGGREGATES,
            {"aggregates": [PROVIDER, OTHER], **_GENERATION},
        ),
        ("set traits", bodies.SET_TRAITS, {"traits": ["A", "CUSTOM_B"], **_GENERATION}),
        ("name class", bodies.NAME_CLASS, {"name": "CUSTOM_GOLD"}),
    ]
    changing = [
        ("create provider", bodies.CREATE_PROVIDER, (0, 14), _create),
        ("update provider", bodies.UPDATE_PROVIDER, (0, 14), _update),
        ("allocations", bodies.SET_ALLOCATIONS, (0, 8, 12, 28, 34, 38), _allocations),
        (
            "many allocations",
            bodies.SET_MANY_ALLOCATIONS,
            (13, 28, 34, 38),
            lambda version: {CONSUMER: consumer(version)},
        ),
        ("reshape", bodies.RESHAPE, (30, 34, 38), _reshape),
    ]
    return single + [
        (f"{name} 1.{version}", forms[version], make(version))
        for name, forms, versions, make in changing
        for version in versions
    ]


_GENERATION = {"resource_provider_generation": 1}

# Values at and beyond every edge that a schema or a type could draw differently.
ODD_VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 1.0, 4.0, 1.5, -0.0, 1e39, -1e300,
    2_147_483_647, 2_147_483_648, 2**63 - 1, 2**63, -(2**63), 10**30, -(10**400),
    "", "x", "A", "1", "VCPU", "VCPU\n", "custom", "CUSTOM_", "CUSTOM_A\n",
    "ÀÉ", "\u0000",
    "A" * 255, "A" * 256, "n" * 200, "n" * 201, "\U0001f600" * 200,
    PROVIDER, PROVIDER.upper(), PROVIDER.replace("-", ""), f"{{{PROVIDER}}}",
    f"urn:uuid:{PROVIDER}", f"{PROVIDER}\n", PROVIDER[:-1], "-" * 36, "g" * 32,
    "+" + PROVIDER.replace("-", "")[1:], "１" * 32, [], {}, [PROVIDER], [PROVIDER] * 2,
    ["x"], [1], {"x": 1}, {"": 1}, {"VCPU": 1}, {"VCPU": {"total": 1}}, {"": []},
    {"vcpu": {"total": 1}}, {PROVIDER: {"resources": {"VCPU": 1}}}, {"é": 3},
)  # fmt: skip


def _places(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    places = [path]
    children: dict[Any, Any] = {}
    if isinstance(data, dict):
        children = data
    elif isinstance(data, list):
        children = dict(enumerate(data))
    for key, value in children.items():
        places += _places(value, (*path, key))
    return places


@st.composite
def spoilt(draw: st.DrawFn, body: Any) -> Any:
    """``body`` with up to three values replaced, removed, added or renamed."""
    for _ in range(draw(st.integers(1, 3))):
        body = _spoil(draw, copy.deepcopy(body))
    return body


def _spoil(draw: st.DrawFn, body: Any) -> Any:
    place = draw(st.sampled_from(_places(body)))
    value = draw(st.sampled_from(ODD_VALUES))
    if not place:
        return value
    holder, last = body, place[-1]
    for key in place[:-1]:
        holder = holder[key]
    fault = draw(st.sampled_from(("replace", "remove", "add", "rename")))
    if fault == "replace" or isinstance(holder, list):
        holder[last] = value
    elif fault == "remove":
        del holder[last]
    elif fault == "add":
        holder[str(value)[:300]] = holder[last]
    else:
        holder[str(value)[:300]] = holder.pop(last)
    return body
