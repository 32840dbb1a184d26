"""Request bodies: bytes in, commands out; microversions of bodies end here.

Most bodies are decoded by a prebuilt typed decoder (``body_types``). Those that it
refuses are judged by a JSON schema made of the type (``schemas``, ``schema_errors``);
if that allows them, say ``4.0`` for an integer, they become the same values
(``body_values``). Large bodies are judged one at a time. Every function may raise
Problem 400, and those for inventories UnknownName.
"""

from __future__ import annotations

import functools
import threading
import uuid as _uuid
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar, Generic, TypeVar

import msgspec
from msgspec import UNSET

from gantt.api.wire import body_types as wire
from gantt.api.wire import body_values
from gantt.api.wire.microversion import MAX_MINOR
from gantt.api.wire.schema_errors import judge_body
from gantt.api.wire.schemas import Schema, schema_of
from gantt.model import commands

W = TypeVar("W")

# The size of a large body in bytes; shorter ones are judged in a few ms.
LARGE = 16_384


class BodyForm(Generic[W]):
    """One type of body at microversions from ``since`` on.

    ``check`` is false for values that the type allows and its schema does not.
    """

    # Judging holds the interpreter's lock: several large bodies at once would delay all
    # other requests. One lock for all forms, as there is one interpreter.
    _LOCK: ClassVar[AbstractContextManager[object]] = threading.Lock()

    def __init__(
        self, kind: Any, since: int = 0, check: Callable[[W], bool] | None = None
    ) -> None:
        self._kind = kind
        self._decode: Callable[[bytes], W] = msgspec.json.Decoder(kind).decode
        self._check = check
        self.since = since

    @functools.cached_property
    def _build(self) -> Callable[[Any], W]:
        return body_values.builder(self._kind)

    def schema_of(self, _version: int = 0) -> Schema:
        """The schema, for which the version is settled."""
        return schema_of(self._kind)

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


class BodyForms(tuple[BodyForm[Any], ...]):
    """Indexed by minor version; the first form serves all before it too."""

    def schema_of(self, version: int) -> Schema:
        """Its schema there."""
        return self[version].schema_of()


def _at_each_version(*forms: BodyForm[Any]) -> BodyForms:
    changes: Mapping[int, BodyForm[Any]] = {form.since: form for form in forms}
    table = [forms[0]]
    for minor in range(1, MAX_MINOR + 1):
        table.append(changes.get(minor, table[-1]))
    return BodyForms(table)


def _are_unique(names: list[str]) -> bool:
    return len(set(names)) == len(names)


CREATE_PROVIDER = _at_each_version(
    BodyForm(wire.CreateProvider0), BodyForm(wire.CreateProvider14, 14)
)
UPDATE_PROVIDER = _at_each_version(
    BodyForm(wire.UpdateProvider0), BodyForm(wire.UpdateProvider14, 14)
)
SET_INVENTORY: BodyForm[wire.SetInventoryBody] = BodyForm(wire.SetInventoryBody)
ADD_INVENTORY: BodyForm[wire.AddInventoryBody] = BodyForm(wire.AddInventoryBody)
SET_INVENTORIES: BodyForm[wire.SetInventoriesBody] = BodyForm(wire.SetInventoriesBody)
LIST_AGGREGATES: BodyForm[list[str]] = BodyForm(wire.Uuids, 1, _are_unique)
SET_AGGREGATES: BodyForm[wire.SetAggregates19] = BodyForm(
    wire.SetAggregates19, 19, lambda body: _are_unique(body.aggregates)
)
AGGREGATES = _at_each_version(LIST_AGGREGATES, SET_AGGREGATES)
SET_TRAITS: BodyForm[wire.SetTraitsBody] = BodyForm(wire.SetTraitsBody, 6)
NAME_CLASS: BodyForm[wire.NameClass] = BodyForm(wire.NameClass, 2)
SET_ALLOCATIONS = _at_each_version(
    BodyForm(wire.Listed0),
    BodyForm(wire.Listed8, 8),
    BodyForm(wire.Consumer12, 12),
    BodyForm(wire.Consumer28, 28),
    BodyForm(wire.Consumer34, 34),
    BodyForm(wire.Consumer38, 38),
)
SET_MANY_ALLOCATIONS = _at_each_version(
    BodyForm(wire.Consumers13, 13),
    BodyForm(wire.Consumers28, 28),
    BodyForm(wire.Consumers34, 34),
    BodyForm(wire.Consumers38, 38),
)
RESHAPE = _at_each_version(
    BodyForm(wire.Reshape30, 30),
    BodyForm(wire.Reshape34, 34),
    BodyForm(wire.Reshape38, 38),
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
