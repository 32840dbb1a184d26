"""Types of request bodies: for fast decoding, and for the schemas that judge the rest.

``schemas`` makes the schema of a type, which allows every value of the type (a property
test compares them), and where a type says so, more: what a type refuses is judged by
its schema. Refusals quote that, so the order of fields, and of keys where it is given,
is part of the wire contract. Only the HTTP layer uses these types: the engine gets
commands.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Final

from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import asdict

from gantt.model.commands import Inventory
from gantt.model.names import MAX_INT, MAX_NAME, MAX_PROVIDER_NAME, MAX_RATIO

_INT64 = 2**63 - 1

NAMED_SUFFIX: Final = "[a-zA-Z0-9_-]{1,64}"

# The schemas of these five allow more than the types.
Integer = Annotated[
    int, Meta(ge=-_INT64, le=_INT64, extra_json_schema={"type": "integer"})
]
Amount = Annotated[
    int,
    Meta(ge=1, le=MAX_INT, extra_json_schema={"type": "integer", "minimum": 1}),
]
Ratio = Annotated[
    Integer | Annotated[float, Meta(ge=-MAX_RATIO, le=MAX_RATIO)],
    Meta(extra_json_schema={"type": "number", "maximum": MAX_RATIO}),
]
Uuid = Annotated[
    str,
    Meta(
        pattern=r"\A[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\Z",
        extra_json_schema={"type": "string", "format": "uuid"},
    ),
]
SuffixKey = Annotated[
    str, Meta(extra_json_schema={"type": "string", "pattern": NAMED_SUFFIX})
]
Positive = Annotated[int, Meta(ge=1, le=MAX_INT)]
Natural = Annotated[int, Meta(ge=0, le=MAX_INT)]
UuidKey = Annotated[str, Meta(pattern=r"\A[0-9a-fA-F-]{36}\Z")]
ClassName = Annotated[str, Meta(pattern=r"\A[A-Z0-9_]+\Z")]
TypeName = Annotated[
    str, Meta(pattern=r"\A[A-Z0-9_]+\Z", min_length=1, max_length=MAX_NAME)
]
CustomName = Annotated[str, Meta(pattern=r"\ACUSTOM_[A-Z0-9_]+\Z", max_length=MAX_NAME)]
Text = Annotated[str, Meta(min_length=1, max_length=MAX_NAME)]
ProviderName = Annotated[str, Meta(max_length=MAX_PROVIDER_NAME)]


# Keys of an object by patterns, in upstream's orders; ``additionalProperties``: others
# are refused.
_SHARES: Final = dict.fromkeys(
    ("minProperties", "patternProperties", "additionalProperties")
)
_SEVERAL: Final = dict.fromkeys(
    ("minProperties", "additionalProperties", "patternProperties")
)
_ANY_NUMBER: Final = Meta(min_length=0, extra_json_schema=_SEVERAL)
_AT_LEAST_ONE: Final = Meta(min_length=1, extra_json_schema=_SEVERAL)
_MOVED: Final = dict.fromkeys(
    ("patternProperties", "minProperties", "additionalProperties")
)


class PlacementBody(Struct, forbid_unknown_fields=True, kw_only=True):
    """Further fields are refused. ``required``: where these have an order of their own;
    ``ending``: the last keys of the schema."""

    required: ClassVar[tuple[str, ...]] = ()
    ending: ClassVar[tuple[str, ...]] = ("required", "additionalProperties")


# ------------------------------------------------------------------------- providers


class UpdateProvider0(PlacementBody, kw_only=True):
    name: ProviderName


class UpdateProvider14(UpdateProvider0, kw_only=True):
    parent_provider_uuid: Uuid | UnsetType | None = UNSET


class CreateProvider0(UpdateProvider0, kw_only=True):
    uuid: Uuid | UnsetType = UNSET


class CreateProvider14(CreateProvider0, kw_only=True):
    parent_provider_uuid: Uuid | UnsetType | None = UNSET


# ----------------------------------------------------------------------- inventories


class InventoryRecord(PlacementBody, kw_only=True):
    """Numbers stay as submitted, because the answer echoes them."""

    resource_provider_generation: Integer | UnsetType = UNSET
    total: Positive
    reserved: Natural = 0
    min_unit: Positive = 1
    max_unit: Positive = MAX_INT
    step_size: Positive = 1
    allocation_ratio: Ratio = 1.0

    def echo(self) -> dict[str, Any]:
        """The record for an answer."""
        fields = asdict(self)
        fields.pop("resource_provider_generation")
        fields.pop("resource_class", None)
        return fields

    def inventory(self) -> Inventory:
        """The record for a command."""
        return Inventory(
            total=int(self.total),
            reserved=int(self.reserved),
            min_unit=int(self.min_unit),
            max_unit=int(self.max_unit),
            step_size=int(self.step_size),
            # The schema has no minimum, but a float has.
            allocation_ratio=float(max(self.allocation_ratio, -MAX_RATIO)),
        )


class SetInventoryBody(InventoryRecord, kw_only=True):
    required = ("total", "resource_provider_generation")

    resource_provider_generation: Integer


class AddInventoryBody(InventoryRecord, kw_only=True):
    resource_class: ClassName


class SetInventoriesBody(PlacementBody, kw_only=True):
    resource_provider_generation: Integer
    inventories: dict[ClassName, InventoryRecord]


# ---------------------------------------------------------------------------- labels


Uuids = Annotated[list[Uuid], Meta(extra_json_schema={"uniqueItems": True})]


class SetAggregates19(PlacementBody, kw_only=True):
    aggregates: Uuids
    resource_provider_generation: Integer


class SetTraitsBody(PlacementBody, kw_only=True):
    traits: list[Text]
    resource_provider_generation: Integer


class NameClass(PlacementBody, kw_only=True):
    name: CustomName


# ----------------------------------------------------------------------- allocations

Resources = Annotated[
    dict[ClassName, Amount], Meta(min_length=1, extra_json_schema=_SHARES)
]


class ProviderRef(PlacementBody, kw_only=True):
    ending = ("additionalProperties", "required")

    uuid: Uuid


class ListedShare(PlacementBody, kw_only=True):
    resource_provider: ProviderRef
    resources: Resources


class Listed0(PlacementBody, kw_only=True):
    allocations: Annotated[list[ListedShare], Meta(min_length=1)]


class Listed8(Listed0, kw_only=True):
    project_id: Text
    user_id: Text


class AllocationBody(PlacementBody, kw_only=True):
    generation: Integer | UnsetType = UNSET
    resources: Resources


class Consumer13(PlacementBody, kw_only=True):
    """The form in which the allocations may be empty."""

    ending = ("additionalProperties", "required")

    allocations: Annotated[
        dict[UuidKey, AllocationBody], Meta(min_length=0, extra_json_schema=_SHARES)
    ]
    project_id: Text
    user_id: Text


class Consumer12(Consumer13, kw_only=True):
    allocations: Annotated[
        dict[UuidKey, AllocationBody], Meta(min_length=1, extra_json_schema=_SHARES)
    ]


class Consumer28(Consumer13, kw_only=True):
    consumer_generation: Annotated[
        Integer | None,
        Meta(
            extra_json_schema={
                "type": ["integer", "null"],
                "additionalProperties": False,
            }
        ),
    ]


class Consumer34(Consumer28, kw_only=True):
    mappings: (
        Annotated[
            dict[SuffixKey, Annotated[list[Uuid], Meta(min_length=1)]],
            Meta(min_length=1),
        ]
        | UnsetType
    ) = UNSET


class Consumer38(Consumer34, kw_only=True):
    consumer_type: TypeName


class _Reshape(PlacementBody, kw_only=True):
    inventories: Annotated[
        dict[UuidKey, SetInventoriesBody], Meta(min_length=1, extra_json_schema=_MOVED)
    ]


class Reshape30(_Reshape, kw_only=True):
    allocations: Annotated[dict[UuidKey, Consumer28], _ANY_NUMBER]


class Reshape34(_Reshape, kw_only=True):
    allocations: Annotated[dict[UuidKey, Consumer34], _ANY_NUMBER]


class Reshape38(_Reshape, kw_only=True):
    allocations: Annotated[dict[UuidKey, Consumer38], _ANY_NUMBER]


# Several consumers at once, by their uuids.
Consumers13 = Annotated[dict[UuidKey, Consumer13], _AT_LEAST_ONE]
Consumers28 = Annotated[dict[UuidKey, Consumer28], _AT_LEAST_ONE]
Consumers34 = Annotated[dict[UuidKey, Consumer34], _AT_LEAST_ONE]
Consumers38 = Annotated[dict[UuidKey, Consumer38], _AT_LEAST_ONE]
