"""The tables: Placement's own schema, name for name, and Gantt's beside it.

They stand apart from the statements made of them because an operator's database must
fit this page exactly: it is adopted in place, and can be handed back.
"""

from __future__ import annotations

from typing import Any

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
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    Unicode,
    UniqueConstraint,
    text,
)
from sqlalchemy.dialects import mysql

from gantt.model import rows

# What alembic calls the schema of these tables in OpenStack Placement.
UPSTREAM_HEAD = "a082b8bb98d0"
UPSTREAM_VERSION_TABLE = "alembic_version"
VERSION_TABLE = "gantt_alembic_version"
# The version of what log rows and head row mean; another one must not write here.
FORMAT = 1

# Only an INTEGER key is SQLite's own row number; a BIGINT would cost a second index.
Revision = BigInteger().with_variant(Integer(), "sqlite")
# Long enough that MariaDB makes it a LONGBLOB: a reshape can touch a whole fleet.
Changes = LargeBinary(2**31 - 1)

# In our own tables names differ in every letter, on every database alike.
_EXACT = {"charset": "utf8mb4", "collation": "utf8mb4_bin"}
Json = Text().with_variant(mysql.LONGTEXT(**_EXACT), "mysql")

metadata = MetaData()


def _times() -> tuple[Column[Any], Column[Any]]:
    return Column("created_at", DateTime), Column("updated_at", DateTime)


def _id() -> Column[Any]:
    return Column("id", Integer, primary_key=True, nullable=False)


def _named(table: str, column: str, size: int) -> Table:
    """A table of names with ids, unique by ``column``."""
    return Table(
        table,
        metadata,
        *_times(),
        _id(),
        Column(column, Unicode(size), nullable=False),
        UniqueConstraint(column, name=f"uniq_{table}0{column}"),
    )


resource_classes = _named(rows.RESOURCE_CLASSES, "name", 255)
traits = _named(rows.TRAITS, "name", 255)
consumer_types = _named(rows.CONSUMER_TYPES, "name", 255)
projects = _named(rows.PROJECTS, "external_id", 255)
users = _named(rows.USERS, "external_id", 255)

placement_aggregates = Table(
    rows.AGGREGATES,
    metadata,
    *_times(),
    _id(),
    Column("uuid", String(36)),
    UniqueConstraint("uuid", name="uniq_placement_aggregates0uuid"),
)

resource_providers = Table(
    rows.PROVIDERS,
    metadata,
    *_times(),
    _id(),
    Column("uuid", String(36), nullable=False),
    Column("name", Unicode(200)),
    Column("generation", Integer),
    Column(
        "root_provider_id",
        Integer,
        ForeignKey("resource_providers.id"),
        info={"null_is": "id"},
    ),
    Column("parent_provider_id", Integer, ForeignKey("resource_providers.id")),
    UniqueConstraint("uuid", name="uniq_resource_providers0uuid"),
    UniqueConstraint("name", name="uniq_resource_providers0name"),
    Index("resource_providers_root_provider_id_idx", "root_provider_id"),
    Index("resource_providers_parent_provider_id_idx", "parent_provider_id"),
)

consumers = Table(
    rows.CONSUMERS,
    metadata,
    *_times(),
    _id(),
    Column("uuid", String(36), nullable=False),
    Column("project_id", Integer, nullable=False),
    Column("user_id", Integer, nullable=False),
    Column("generation", Integer, nullable=False, server_default=text("0")),
    Column("consumer_type_id", Integer),
    ForeignKeyConstraint(
        ["consumer_type_id"],
        ["consumer_types.id"],
        name="consumers_consumer_type_id_fkey",
    ),
    UniqueConstraint("uuid", name="uniq_consumers0uuid"),
    Index("consumers_project_id_uuid_idx", "project_id", "uuid"),
    Index("consumers_project_id_user_id_uuid_idx", "project_id", "user_id", "uuid"),
    Index("consumers_consumer_type_id_idx", "consumer_type_id"),
)

inventories = Table(
    rows.INVENTORIES,
    metadata,
    *_times(),
    _id(),
    Column("resource_provider_id", Integer, nullable=False),
    Column("resource_class_id", Integer, nullable=False),
    Column("total", Integer, nullable=False),
    Column("reserved", Integer, nullable=False),
    Column("min_unit", Integer, nullable=False),
    Column("max_unit", Integer, nullable=False),
    Column("step_size", Integer, nullable=False),
    Column("allocation_ratio", Float, nullable=False),
    UniqueConstraint(
        "resource_provider_id",
        "resource_class_id",
        name="uniq_inventories0resource_provider_resource_class",
    ),
    Index("inventories_resource_class_id_idx", "resource_class_id"),
)

allocations = Table(
    rows.ALLOCATIONS,
    metadata,
    *_times(),
    _id(),
    Column("resource_provider_id", Integer, nullable=False),
    Column("consumer_id", String(36), nullable=False),
    Column("resource_class_id", Integer, nullable=False),
    Column("used", Integer, nullable=False),
    Index(
        "allocations_resource_provider_class_used_idx",
        "resource_provider_id",
        "resource_class_id",
        "used",
    ),
    Index("allocations_resource_class_id_idx", "resource_class_id"),
    Index("allocations_consumer_id_idx", "consumer_id"),
)

resource_provider_traits = Table(
    rows.PROVIDER_TRAITS,
    metadata,
    *_times(),
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
    *_times(),
    Column("resource_provider_id", Integer, primary_key=True, autoincrement=False),
    Column("aggregate_id", Integer, primary_key=True, autoincrement=False),
    Index("resource_provider_aggregates_aggregate_id_idx", "aggregate_id"),
)


def _exact(size: int) -> String:
    return String(size).with_variant(mysql.VARCHAR(size, **_EXACT), "mysql")


def _text(name: str, size: int = 255, *, nullable: bool = False) -> Column[Any]:
    return Column(name, _exact(size), nullable=nullable)


def _json(name: str, *, nullable: bool = False) -> Column[Any]:
    return Column(name, Json, nullable=nullable)


gantt_services = Table(
    rows.SERVICES,
    metadata,
    *_times(),
    _id(),
    _text("host"),
    _text("binary"),
    Column("disabled", Boolean, nullable=False),
    Column("forced_down", Boolean, nullable=False),
    Column("last_seen_up", BigInteger),
    _text("availability_zone", nullable=True),
    _text("cell_uuid", 36, nullable=True),
    Column("version", Integer),
    UniqueConstraint("host", "binary", name="uniq_gantt_services0host0binary"),
)

gantt_hosts = Table(
    rows.HOSTS,
    metadata,
    *_times(),
    _id(),
    _text("host"),
    _text("node"),
    _text("uuid", 36, nullable=True),
    _json("stats"),
    UniqueConstraint("host", "node", name="uniq_gantt_hosts0host0node"),
)

gantt_host_aggregates = Table(
    rows.HOST_AGGREGATES,
    metadata,
    *_times(),
    _id(),
    _text("uuid", 36),
    _text("name"),
    Column("number", Integer),
    _json("hosts"),
    _json("metadata"),
    UniqueConstraint("uuid", name="uniq_gantt_host_aggregates0uuid"),
)

gantt_instances = Table(
    rows.INSTANCES,
    metadata,
    *_times(),
    _id(),
    _text("uuid", 36),
    _text("host"),
    _json("facts"),
    UniqueConstraint("uuid", name="uniq_gantt_instances0uuid"),
    Index("gantt_instances_host_idx", "host"),
)

gantt_server_groups = Table(
    rows.SERVER_GROUPS,
    metadata,
    *_times(),
    _id(),
    _text("uuid", 36),
    _text("name"),
    _text("policy", nullable=True),
    Column("max_server_per_host", Integer, nullable=False),
    _json("members"),
    UniqueConstraint("uuid", name="uniq_gantt_server_groups0uuid"),
)

# No foreign key: a claim may be remembered longer than its host (rows.NO_HOST).
gantt_claims = Table(
    rows.CLAIMS,
    metadata,
    *_times(),
    _id(),
    _text("claim", 64),
    _text("instance_uuid", 36),
    Column("host_id", Integer, nullable=False),
    Column("vcpus", Integer, nullable=False),
    Column("memory_mb", BigInteger, nullable=False),
    Column("disk_mb", BigInteger, nullable=False),
    _text("group_uuid", 36, nullable=True),
    Column("leased_until", BigInteger),
    Column("consumer_generation", Integer),
    _json("remote", nullable=True),
    UniqueConstraint("instance_uuid", name="uniq_gantt_claims0instance_uuid"),
    Index("gantt_claims_claim_idx", "claim"),
)

# Who this database is, and how to read it; its one row is the lock of the committer.
gantt_head = Table(
    "gantt_head",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("identity", String(36), nullable=False),
    Column("epoch", Integer, nullable=False),
    Column("format", Integer, nullable=False),
    Column("compacted_to", BigInteger, nullable=False),
    Column("created_at", DateTime, nullable=False),
)

# One row per revision; ``at`` in microseconds since the epoch, UTC.
gantt_log = Table(
    "gantt_log",
    metadata,
    Column("revision", Revision, primary_key=True, autoincrement=False),
    Column("batch", String(36), nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("kind", String(64), nullable=False),
    Column("request_id", String(255), nullable=False),
    Column("changes", Changes, nullable=False),
)

# What the tables added up to at the last clean stop; one row, JSON in ``facts``.
gantt_fingerprint = Table(
    "gantt_fingerprint",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("revision", BigInteger, nullable=False),
    Column("batch", String(36), nullable=False),
    Column("facts", Text, nullable=False),
)

# Who leads the leader tasks; no row: nobody has yet.
gantt_leader = Table(
    "gantt_leader",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    _text("holder"),
    Column("beat", BigInteger, nullable=False),
)

# What there was of a resource class, and what of it was used, from ``start`` (as
# ``at`` of the log) on for ``period`` seconds; see gantt.model.usage_history.
gantt_usage_history = Table(
    "gantt_usage_history",
    metadata,
    Column("period", Integer, primary_key=True, autoincrement=False),
    Column("start", BigInteger, primary_key=True, autoincrement=False),
    Column("resource_class", _exact(255), primary_key=True),
    Column("samples", Integer, nullable=False),
    Column("capacity", Double, nullable=False),
    Column("used_min", Double, nullable=False),
    Column("used_avg", Double, nullable=False),
    Column("used_max", Double, nullable=False),
)

# What was decided lately; see SharedDecision in gantt.store.interface.
gantt_decisions = Table(
    "gantt_decisions",
    metadata,
    Column("id", Revision, primary_key=True),
    _text("process"),
    Column("number", BigInteger, nullable=False),
    Column("at", BigInteger, nullable=False),
    _text("request_id"),
    _text("project_id", nullable=True),
    Column("is_refused", Boolean, nullable=False),
    Column("instances", Integer, nullable=False),
    _json("instance_uuids"),
    Column("record", Changes, nullable=False),
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
