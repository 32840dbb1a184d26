"""Types of request bodies, for fast decoding.

The schema of the same name in ``schemas`` allows every value of a type (a property test
compares them); what a type refuses is judged by the schema. Only the HTTP layer uses
these types: the engine gets commands.
"""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import asdict

from gantt.model.commands import Inventory
from gantt.model.names import MAX_INT, MAX_NAME, MAX_PROVIDER_NAME, MAX_RATIO

_INT64 = 2**63 - 1

Integer = Annotated[int, Meta(ge=-_INT64, le=_INT64)]
Positive = Annotated[int, Meta(ge=1, le=MAX_INT)]
Natural = Annotated[int, Meta(ge=0, le=MAX_INT)]
Ratio = Integer | Annotated[float, Meta(ge=-MAX_RATIO, le=MAX_RATIO)]
Uuid = Annotated[str, Meta(pattern=r"\A[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\Z")]
UuidKey = Annotated[str, Meta(pattern=r"\A[0-9a-fA-F-]{36}\Z")]
ClassName = Annotated[str, Meta(pattern=r"\A[A-Z0-9_]+\Z")]
TypeName = Annotated[str, Meta(pattern=r"\A[A-Z0-9_]+\Z", max_length=MAX_NAME)]
CustomName = Annotated[str, Meta(pattern=r"\ACUSTOM_[A-Z0-9_]+\Z", max_length=MAX_NAME)]
Text = Annotated[str, Meta(min_length=1, max_length=MAX_NAME)]
ProviderName = Annotated[str, Meta(max_length=MAX_PROVIDER_NAME)]


class _Body(Struct, forbid_unknown_fields=True, kw_only=True):
    """Further fields are refused."""


# ------------------------------------------------------------------------- providers


class UpdateProvider0(_Body, kw_only=True):
    name: ProviderName


class UpdateProvider14(UpdateProvider0, kw_only=True):
    parent_provider_uuid: Uuid | UnsetType | None = UNSET


class CreateProvider0(UpdateProvider0, kw_only=True):
    uuid: Uuid | UnsetType = UNSET


class CreateProvider14(CreateProvider0, kw_only=True):
    parent_provider_uuid: Uuid | UnsetType | None = UNSET


# ----------------------------------------------------------------------- inventories


class InventoryRecord(_Body, kw_only=True):
    """Numbers stay as submitted, because the answer echoes them."""

    total: Positive
    reserved: Natural = 0
    min_unit: Positive = 1
    max_unit: Positive = MAX_INT
    step_size: Positive = 1
    allocation_ratio: Ratio = 1.0
    resource_provider_generation: Integer | UnsetType = UNSET

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


class SetInventory(InventoryRecord, kw_only=True):
    resource_provider_generation: Integer


class AddInventory(InventoryRecord, kw_only=True):
    resource_class: ClassName


class SetInventories(_Body, kw_only=True):
    resource_provider_generation: Integer
    inventories: dict[ClassName, InventoryRecord]


# ---------------------------------------------------------------------------- labels


class SetAggregates19(_Body, kw_only=True):
    aggregates: list[Uuid]
    resource_provider_generation: Integer


class SetTraits(_Body, kw_only=True):
    traits: list[Text]
    resource_provider_generation: Integer


class NameClass(_Body, kw_only=True):
    name: CustomName


# ----------------------------------------------------------------------- allocations

Resources = Annotated[dict[ClassName, Positive], Meta(min_length=1)]


class ProviderRef(_Body, kw_only=True):
    uuid: Uuid


class ListedShare(_Body, kw_only=True):
    resource_provider: ProviderRef
    resources: Resources


class Listed0(_Body, kw_only=True):
    allocations: Annotated[list[ListedShare], Meta(min_length=1)]


class Listed8(Listed0, kw_only=True):
    project_id: Text
    user_id: Text


class Share(_Body, kw_only=True):
    resources: Resources
    generation: Integer | UnsetType = UNSET


class Consumer13(_Body, kw_only=True):
    """The form in which the allocations may be empty."""

    allocations: dict[UuidKey, Share]
    project_id: Text
    user_id: Text


class Consumer12(Consumer13, kw_only=True):
    allocations: Annotated[dict[UuidKey, Share], Meta(min_length=1)]


class Consumer28(Consumer13, kw_only=True):
    consumer_generation: Integer | None


class Consumer34(Consumer28, kw_only=True):
    mappings: (
        Annotated[
            dict[str, Annotated[list[Uuid], Meta(min_length=1)]], Meta(min_length=1)
        ]
        | UnsetType
    ) = UNSET


class Consumer38(Consumer34, kw_only=True):
    consumer_type: TypeName


class _Reshape(_Body, kw_only=True):
    inventories: Annotated[dict[UuidKey, SetInventories], Meta(min_length=1)]


class Reshape30(_Reshape, kw_only=True):
    allocations: dict[UuidKey, Consumer28]


class Reshape34(_Reshape, kw_only=True):
    allocations: dict[UuidKey, Consumer34]


class Reshape38(_Reshape, kw_only=True):
    allocations: dict[UuidKey, Consumer38]


# Several consumers at once, by their uuids.
Consumers13 = Annotated[dict[UuidKey, Consumer13], Meta(min_length=1)]
Consumers28 = Annotated[dict[UuidKey, Consumer28], Meta(min_length=1)]
Consumers34 = Annotated[dict[UuidKey, Consumer34], Meta(min_length=1)]
Consumers38 = Annotated[dict[UuidKey, Consumer38], Meta(min_length=1)]
