"""The tables: Placement's own schema, name for name, and Gantt's beside it.

They stand apart from the statements made of them because an operator's database must
fit this page exactly: it is adopted in place, and can be handed back.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Double,
    Float,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    Unicode,
    UniqueConstraint,
    text,
)

from gantt.model import rows
from gantt.store.columns import (
    Bytes,
    Json,
    Revision,
    exact,
    key,
    required,
    row_id,
    texts,
    times,
    unique,
    uuid,
)

# What alembic calls the schema of these tables in OpenStack Placement.
UPSTREAM_HEAD = "a082b8bb98d0"
UPSTREAM_VERSION_TABLE = "alembic_version"
VERSION_TABLE = "gantt_alembic_version"
# The version of what log rows and head row mean; another one must not write here.
FORMAT = 1

metadata = MetaData()


def _named(table: str, column: str) -> Table:
    """A table of names with ids, unique by ``column``."""
    named = required(Unicode(255), column)
    return Table(table, metadata, *row_id(), *named, unique(table, column))


def _index(table: str, *columns: str) -> Index:
    return Index(f"{table}_{'_'.join(columns)}_idx", *columns)


resource_classes = _named(rows.RESOURCE_CLASSES, "name")
traits = _named(rows.TRAITS, "name")
consumer_types = _named(rows.CONSUMER_TYPES, "name")
projects = _named(rows.PROJECTS, "external_id")
users = _named(rows.USERS, "external_id")

placement_aggregates = Table(
    rows.AGGREGATES,
    metadata,
    *row_id(),
    Column("uuid", String(36)),
    unique(rows.AGGREGATES, "uuid"),
)

resource_providers = Table(
    rows.PROVIDERS,
    metadata,
    *row_id(),
    *required(String(36), "uuid"),
    Column("name", Unicode(200)),
    Column("generation", Integer),
    Column(
        "root_provider_id",
        Integer,
        ForeignKey("resource_providers.id"),
        info={"null_is": "id"},
    ),
    Column("parent_provider_id", Integer, ForeignKey("resource_providers.id")),
    unique(rows.PROVIDERS, "uuid"),
    unique(rows.PROVIDERS, "name"),
    _index(rows.PROVIDERS, "root_provider_id"),
    _index(rows.PROVIDERS, "parent_provider_id"),
)

consumers = Table(
    rows.CONSUMERS,
    metadata,
    *row_id(),
    *required(String(36), "uuid"),
    *required(Integer, "project_id", "user_id"),
    Column("generation", Integer, nullable=False, server_default=text("0")),
    Column("consumer_type_id", Integer),
    ForeignKeyConstraint(
        ["consumer_type_id"],
        ["consumer_types.id"],
        name="consumers_consumer_type_id_fkey",
    ),
    unique(rows.CONSUMERS, "uuid"),
    _index(rows.CONSUMERS, "project_id", "uuid"),
    _index(rows.CONSUMERS, "project_id", "user_id", "uuid"),
    _index(rows.CONSUMERS, "consumer_type_id"),
)

inventories = Table(
    rows.INVENTORIES,
    metadata,
    *row_id(),
    *required(Integer, "resource_provider_id", "resource_class_id", "total"),
    *required(Integer, "reserved", "min_unit", "max_unit", "step_size"),
    *required(Float, "allocation_ratio"),
    UniqueConstraint(
        "resource_provider_id",
        "resource_class_id",
        name="uniq_inventories0resource_provider_resource_class",
    ),
    _index(rows.INVENTORIES, "resource_class_id"),
)

allocations = Table(
    rows.ALLOCATIONS,
    metadata,
    *row_id(),
    *required(Integer, "resource_provider_id"),
    *required(String(36), "consumer_id"),
    *required(Integer, "resource_class_id", "used"),
    Index(
        "allocations_resource_provider_class_used_idx",
        "resource_provider_id",
        "resource_class_id",
        "used",
    ),
    _index(rows.ALLOCATIONS, "resource_class_id"),
    _index(rows.ALLOCATIONS, "consumer_id"),
)

resource_provider_traits = Table(
    rows.PROVIDER_TRAITS,
    metadata,
    *times(),
    Column("trait_id", Integer, ForeignKey("traits.id"), primary_key=True),
    Column(
        "resource_provider_id",
        Integer,
        ForeignKey("resource_providers.id"),
        primary_key=True,
    ),
    Index(
        "resource_provider_traits_resource_provider_trait_idx",
        "resource_provider_id",
        "trait_id",
    ),
)

resource_provider_aggregates = Table(
    rows.PROVIDER_AGGREGATES,
    metadata,
    *times(),
    key("resource_provider_id"),
    key("aggregate_id"),
    _index(rows.PROVIDER_AGGREGATES, "aggregate_id"),
)

gantt_services = Table(
    rows.SERVICES,
    metadata,
    *row_id(),
    *texts("host", "binary"),
    *required(Boolean, "disabled", "forced_down"),
    Column("last_seen_up", BigInteger),
    Column("availability_zone", exact()),
    uuid("cell_uuid", nullable=True),
    Column("version", Integer),
    unique(rows.SERVICES, "host", "binary"),
)

gantt_hosts = Table(
    rows.HOSTS,
    metadata,
    *row_id(),
    *texts("host", "node"),
    uuid("uuid", nullable=True),
    *required(Json, "stats"),
    unique(rows.HOSTS, "host", "node"),
)

gantt_host_aggregates = Table(
    rows.HOST_AGGREGATES,
    metadata,
    *row_id(),
    uuid("uuid"),
    *texts("name"),
    Column("number", Integer),
    *required(Json, "hosts", "metadata"),
    unique(rows.HOST_AGGREGATES, "uuid"),
)

gantt_instances = Table(
    rows.INSTANCES,
    metadata,
    *row_id(),
    uuid("uuid"),
    *texts("host"),
    *required(Json, "facts"),
    unique(rows.INSTANCES, "uuid"),
    _index(rows.INSTANCES, "host"),
)

gantt_server_groups = Table(
    rows.SERVER_GROUPS,
    metadata,
    *row_id(),
    uuid("uuid"),
    *texts("name"),
    Column("policy", exact()),
    *required(Integer, "max_server_per_host"),
    *required(Json, "members"),
    unique(rows.SERVER_GROUPS, "uuid"),
)

# No foreign key: a claim may be remembered longer than its host (rows.NO_HOST).
gantt_claims = Table(
    rows.CLAIMS,
    metadata,
    *row_id(),
    *required(exact(64), "claim"),
    uuid("instance_uuid"),
    *required(Integer, "host_id", "vcpus"),
    *required(BigInteger, "memory_mb", "disk_mb"),
    uuid("group_uuid", nullable=True),
    Column("leased_until", BigInteger),
    Column("consumer_generation", Integer),
    Column("remote", Json),
    unique(rows.CLAIMS, "instance_uuid"),
    _index(rows.CLAIMS, "claim"),
)

# The identity of this database and its format; its one row is the committer's lock.
gantt_head = Table(
    "gantt_head",
    metadata,
    key("id"),
    *required(String(36), "identity"),
    *required(Integer, "epoch", "format"),
    *required(BigInteger, "compacted_to"),
    *required(DateTime, "created_at"),
)

# One row per revision; ``at`` in microseconds since the epoch, UTC.
gantt_log = Table(
    "gantt_log",
    metadata,
    key("revision", Revision),
    *required(String(36), "batch"),
    *required(BigInteger, "at"),
    *required(String(64), "kind"),
    *required(String(255), "request_id"),
    *required(Bytes, "changes"),
)

# The sums of the tables at the last clean stop; one row, JSON in ``facts``.
gantt_fingerprint = Table(
    "gantt_fingerprint",
    metadata,
    key("id"),
    *required(BigInteger, "revision"),
    *required(String(36), "batch"),
    *required(Text, "facts"),
)

# The leader of the leader tasks; no row: there has been none yet.
gantt_leader = Table(
    "gantt_leader", metadata, key("id"), *texts("holder"), *required(BigInteger, "beat")
)

# Capacity and use of a resource class, from ``start`` (as ``at`` of the log) on for
# ``period`` seconds; see gantt.model.usage_history.
gantt_usage_history = Table(
    "gantt_usage_history",
    metadata,
    key("period"),
    key("start", BigInteger),
    Column("resource_class", exact(), primary_key=True),
    *required(Integer, "samples"),
    *required(Double, "capacity", "used_min", "used_avg", "used_max"),
)

# The latest decisions; see SharedDecision in gantt.store.interface.
gantt_decisions = Table(
    "gantt_decisions",
    metadata,
    Column("id", Revision, primary_key=True),
    *texts("process"),
    *required(BigInteger, "number", "at"),
    *texts("request_id"),
    Column("project_id", exact()),
    *required(Boolean, "is_refused"),
    *required(Integer, "instances"),
    *required(Json, "instance_uuids"),
    *required(Bytes, "record"),
)

# Every table that holds rows: Placement's own, then the fleet's.
BOOKS: dict[str, Table] = {name: metadata.tables[name] for name in rows.ROW_TYPES}

# The columns of each table in the order of the fields of its row type.
COLUMNS: dict[str, tuple[str, ...]] = {
    rows.PROVIDERS: rows.ProviderRow.__struct_fields__,
    rows.CONSUMERS: rows.ConsumerRow.__struct_fields__,
    rows.INVENTORIES: rows.InventoryRow.__struct_fields__,
    rows.ALLOCATIONS: rows.AllocationRow.__struct_fields__,
    rows.AGGREGATES: ("id", "uuid", "created_at", "updated_at"),
    rows.PROJECTS: ("id", "external_id", "created_at", "updated_at"),
    rows.USERS: ("id", "external_id", "created_at", "updated_at"),
    rows.RESOURCE_CLASSES: rows.NameRow.__struct_fields__,
    rows.TRAITS: rows.NameRow.__struct_fields__,
    rows.CONSUMER_TYPES: rows.NameRow.__struct_fields__,
    rows.PROVIDER_TRAITS: (
        "resource_provider_id",
        "trait_id",
        "created_at",
        "updated_at",
    ),
    rows.PROVIDER_AGGREGATES: (
        "resource_provider_id",
        "aggregate_id",
        "created_at",
        "updated_at",
    ),
    **{name: rows.ROW_TYPES[name].__struct_fields__ for name in rows.FLEET},
}
