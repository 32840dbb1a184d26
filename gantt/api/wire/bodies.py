"""Request bodies: bytes in, commands out; microversions of bodies end here.

Most bodies are decoded by a prebuilt typed decoder (``typed``). Those that it refuses
are judged by a JSON schema (``verdict``); if the schema allows them, say ``4.0`` for an
integer, they become the same values (``accepted``). Large bodies are judged one at a
time. Every function may raise Problem 400, and those for inventories UnknownName.
"""

from __future__ import annotations

import threading
import uuid as _uuid
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar, Generic, TypeVar

import msgspec
from msgspec import UNSET

from gantt.api.wire import accepted, schemas
from gantt.api.wire import typed as wire
from gantt.api.wire.microversion import MAX_MINOR
from gantt.api.wire.verdict import SchemaOf, judge_body
from gantt.model import commands

W = TypeVar("W")

# The size of a large body in bytes; shorter ones are judged in a few ms.
LARGE = 16_384


class Form(Generic[W]):
    """One type of body at microversions from ``since`` on.

    ``build`` converts data that the schema allows to the type; ``check`` is false for
    values that the type allows and the schema does not.
    """

    __slots__ = ("_build", "_check", "_decode", "schema_of", "since")

    # Judging holds the interpreter's lock: several large bodies at once would delay all
    # other requests. One lock for all forms, as there is one interpreter.
    _LOCK: ClassVar[AbstractContextManager[object]] = threading.Lock()

    def __init__(
        self,
        kind: Any,
        schema_of: SchemaOf,
        since: int,
        build: Callable[[Any], W],
        check: Callable[[W], bool] | None = None,
    ) -> None:
        self._decode: Callable[[bytes], W] = msgspec.json.Decoder(kind).decode
        self._build = build
        self._check = check
        self.schema_of = schema_of
        self.since = since

    def decode(self, raw: bytes) -> W | None:
        """The value, or None if the decoder refuses ``raw``."""
        try:
            value = self._decode(raw)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            return None
        if self._check is not None and not self._check(value):
            return None
        return value

    def judge(self, raw: bytes) -> W:
        """The value, if the schema allows it."""
        with self._LOCK if len(raw) >= LARGE else nullcontext():
            return self._build(judge_body(raw, self.schema_of, self.since))

    def read(self, raw: bytes) -> W:
        """The value of ``raw``."""
        value = self.decode(raw)
        return self.judge(raw) if value is None else value


def _at_each_version(*forms: Form[Any]) -> tuple[Form[Any], ...]:
    """Indexed by minor version; the first form serves all before it too."""
    changes: Mapping[int, Form[Any]] = {form.since: form for form in forms}
    table = [forms[0]]
    for minor in range(1, MAX_MINOR + 1):
        table.append(changes.get(minor, table[-1]))
    return tuple(table)


def _are_unique(names: list[str]) -> bool:
    return len(set(names)) == len(names)


def _plain(kind: type[W], schema_of: SchemaOf, since: int = 0) -> Form[W]:
    """An object without numbers, or with a provider generation alone."""
    return Form(kind, schema_of, since, accepted.fields(kind))


CREATE_PROVIDER = _at_each_version(
    _plain(wire.CreateProvider0, schemas.create_provider),
    _plain(wire.CreateProvider14, schemas.create_provider, 14),
)
UPDATE_PROVIDER = _at_each_version(
    _plain(wire.UpdateProvider0, schemas.update_provider),
    _plain(wire.UpdateProvider14, schemas.update_provider, 14),
)
SET_INVENTORY = _plain(wire.SetInventory, schemas.set_inventory)
ADD_INVENTORY = _plain(wire.AddInventory, schemas.add_inventory)
SET_INVENTORIES = Form(
    wire.SetInventories, schemas.set_inventories, 0, accepted.inventories
)
LIST_AGGREGATES = Form(
    list[wire.Uuid], schemas.set_aggregates, 1, accepted.as_is, _are_unique
)
SET_AGGREGATES = Form(
    wire.SetAggregates19,
    schemas.set_aggregates,
    19,
    accepted.fields(wire.SetAggregates19),
    lambda body: _are_unique(body.aggregates),
)
SET_TRAITS = _plain(wire.SetTraits, schemas.set_traits, 6)
NAME_CLASS = _plain(wire.NameClass, schemas.name_class, 2)
SET_ALLOCATIONS = _at_each_version(
    Form(wire.Listed0, schemas.set_allocations, 0, accepted.listed(wire.Listed0)),
    Form(wire.Listed8, schemas.set_allocations, 8, accepted.listed(wire.Listed8)),
    *(
        Form(kind, schemas.set_allocations, since, accepted.consumer(kind))
        for since, kind in (
            (12, wire.Consumer12),
            (28, wire.Consumer28),
            (34, wire.Consumer34),
            (38, wire.Consumer38),
        )
    ),
)
SET_MANY_ALLOCATIONS = _at_each_version(
    *(
        Form(several, schemas.set_many_allocations, since, accepted.consumers(kind))
        for since, several, kind in (
            (13, wire.Consumers13, wire.Consumer13),
            (28, wire.Consumers28, wire.Consumer28),
            (34, wire.Consumers34, wire.Consumer34),
            (38, wire.Consumers38, wire.Consumer38),
        )
    )
)
RESHAPE = _at_each_version(
    *(
        Form(kind, schemas.reshape, since, accepted.reshape(kind, consumer))
        for since, kind, consumer in (
            (30, wire.Reshape30, wire.Consumer28),
            (34, wire.Reshape34, wire.Consumer34),
            (38, wire.Reshape38, wire.Consumer38),
        )
    )
)


# ----------------------------------------------------------------- bodies to commands


def create_provider(raw: bytes, version: int) -> commands.CreateProvider:
    """POST /resource_providers; a provider without a uuid gets one here."""
    body = CREATE_PROVIDER[version].read(raw)
    return commands.CreateProvider(
        uuid=str(_uuid.UUID(body.uuid) if body.uuid is not UNSET else _uuid.uuid4()),
        name=body.name,
        parent_uuid=getattr(body, "parent_provider_uuid", None) or None,
    )


def update_provider(raw: bytes, version: int, uuid: str) -> commands.UpdateProvider:
    """PUT /resource_providers/{uuid}."""
    body = UPDATE_PROVIDER[version].read(raw)
    return commands.UpdateProvider(
        uuid=uuid,
        name=body.name,
        parent_uuid=getattr(body, "parent_provider_uuid", UNSET),
        may_move=version >= 37,
    )


def set_aggregates(raw: bytes, version: int, uuid: str) -> commands.SetAggregates:
    """PUT /resource_providers/{uuid}/aggregates."""
    if version < 19:
        names = LIST_AGGREGATES.read(raw)
        return commands.SetAggregates(uuid, tuple(names), bump=False)
    body = SET_AGGREGATES.read(raw)
    generation = body.resource_provider_generation
    return commands.SetAggregates(uuid, tuple(body.aggregates), generation)


def set_traits(raw: bytes, uuid: str) -> commands.SetTraits:
    """PUT /resource_providers/{uuid}/traits."""
    body = SET_TRAITS.read(raw)
    generation = body.resource_provider_generation
    return commands.SetTraits(uuid, tuple(body.traits), generation)


def set_allocations(
    raw: bytes, version: int, consumer_uuid: str, *, project_id: str, user_id: str
) -> commands.SetAllocations:
    """PUT /allocations/{consumer_uuid}; ``project_id`` and ``user_id`` are for bodies
    without them (before 1.8)."""
    body = SET_ALLOCATIONS[version].read(raw)
    if isinstance(body, wire.Consumer13):
        return commands.SetAllocations((_consumer(consumer_uuid, body),))
    if isinstance(body, wire.Listed8):
        project_id, user_id = body.project_id, body.user_id
    allocations = {
        share.resource_provider.uuid: share.resources for share in body.allocations
    }
    return commands.SetAllocations(
        (commands.ConsumerAllocations(consumer_uuid, allocations, project_id, user_id),)
    )


def set_many_allocations(raw: bytes, version: int) -> commands.SetAllocations:
    """POST /allocations."""
    return commands.SetAllocations(_consumers(SET_MANY_ALLOCATIONS[version].read(raw)))


def reshape(raw: bytes, version: int) -> commands.Reshape:
    """POST /reshaper."""
    body = RESHAPE[version].read(raw)
    providers = tuple(
        commands.ReshapedProvider(
            uuid,
            wanted.resource_provider_generation,
            {name: record.inventory() for name, record in wanted.inventories.items()},
        )
        for uuid, wanted in body.inventories.items()
    )
    return commands.Reshape(providers, _consumers(body.allocations))


def _consumers(
    bodies: Mapping[str, wire.Consumer13],
) -> tuple[commands.ConsumerAllocations, ...]:
    return tuple(_consumer(uuid, body) for uuid, body in bodies.items())


def _consumer(uuid: str, body: wire.Consumer13) -> commands.ConsumerAllocations:
    return commands.ConsumerAllocations(
        consumer_uuid=uuid,
        allocations={
            provider: share.resources for provider, share in body.allocations.items()
        },
        project_id=body.project_id,
        user_id=body.user_id,
        generation=(
            body.consumer_generation if isinstance(body, wire.Consumer28) else UNSET
        ),
        consumer_type=(
            body.consumer_type if isinstance(body, wire.Consumer38) else UNSET
        ),
    )
