"""The rows of the books, one frozen value per table of Placement's own schema.

Rows are what Changes carry, what the store writes and what the columns take in. Times
are microseconds since the epoch in UTC, or None where the database has NULL.
"""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

PROVIDERS = "resource_providers"
INVENTORIES = "inventories"
ALLOCATIONS = "allocations"
CONSUMERS = "consumers"
PROJECTS = "projects"
USERS = "users"
CONSUMER_TYPES = "consumer_types"
RESOURCE_CLASSES = "resource_classes"
TRAITS = "traits"
AGGREGATES = "placement_aggregates"
PROVIDER_TRAITS = "resource_provider_traits"
PROVIDER_AGGREGATES = "resource_provider_aggregates"


class ProviderRow(Struct, frozen=True, array_like=True):
    """One resource provider. A root's ``root_provider_id`` is its own id."""

    id: int
    uuid: str
    name: str
    generation: int
    root_provider_id: int
    parent_provider_id: int | None
    created_at: int | None
    updated_at: int | None


class InventoryRow(Struct, frozen=True, array_like=True):
    """What one provider has of one resource class."""

    id: int
    resource_provider_id: int
    resource_class_id: int
    total: int
    reserved: int
    min_unit: int
    max_unit: int
    step_size: int
    allocation_ratio: float
    created_at: int | None
    updated_at: int | None


class AllocationRow(Struct, frozen=True, array_like=True):
    """What one consumer uses of one class on one provider.

    ``consumer_id`` is the consumer's uuid, as in Placement's schema.
    """

    id: int
    resource_provider_id: int
    consumer_id: str
    resource_class_id: int
    used: int
    created_at: int | None
    updated_at: int | None


class ConsumerRow(Struct, frozen=True, array_like=True):
    """Who uses resources; exists as long as it has allocations."""

    id: int
    uuid: str
    project_id: int
    user_id: int
    generation: int
    consumer_type_id: int | None
    created_at: int | None
    updated_at: int | None


class NameRow(Struct, frozen=True, array_like=True):
    """A name with an id: class, trait, consumer type, project, user or aggregate."""

    id: int
    name: str
    created_at: int | None
    updated_at: int | None


class LinkRow(Struct, frozen=True, array_like=True):
    """A provider bears a trait, or is a member of an aggregate."""

    resource_provider_id: int
    label_id: int
    created_at: int | None
    updated_at: int | None


Row: TypeAlias = (
    ProviderRow | InventoryRow | AllocationRow | ConsumerRow | NameRow | LinkRow
)
Key: TypeAlias = int | tuple[int, int]

# Parents before children: the order in which rows can be inserted one table at a time.
ROW_TYPES: dict[str, type[Row]] = {
    RESOURCE_CLASSES: NameRow,
    TRAITS: NameRow,
    AGGREGATES: NameRow,
    PROJECTS: NameRow,
    USERS: NameRow,
    CONSUMER_TYPES: NameRow,
    PROVIDERS: ProviderRow,
    CONSUMERS: ConsumerRow,
    INVENTORIES: InventoryRow,
    ALLOCATIONS: AllocationRow,
    PROVIDER_TRAITS: LinkRow,
    PROVIDER_AGGREGATES: LinkRow,
}


def key_of(row: Row) -> Key:
    """The key under which a row is known within its table."""
    if isinstance(row, LinkRow):
        return (row.resource_provider_id, row.label_id)
    return row.id
