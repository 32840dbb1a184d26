"""The tables: Placement's own schema, name for name, and Gantt's beside it.

They stand apart from the statements made of them because an operator's database must
fit this page exactly: it is adopted in place, and can be handed back.
"""

from __future__ import annotations

import sqlalchemy as sa

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
FORMAT = 3

metadata = sa.MetaData()


def _named(table: str, column: str) -> sa.Table:
    """A table of names with ids, unique by ``column``."""
    named = required(sa.Unicode(255), column)
    return sa.Table(table, metadata, *row_id(), *named, unique(table, column))


def _index(table: str, *columns: str) -> sa.Index:
    return sa.Index(f"{table}_{'_'.join(columns)}_idx", *columns)


resource_classes = _named(rows.RESOURCE_CLASSES, "name")
traits = _named(rows.TRAITS, "name")
consumer_types = _named(rows.CONSUMER_TYPES, "name")
projects = _named(rows.PROJECTS, "external_id")
users = _named(rows.USERS, "external_id")

placement_aggregates = sa.Table(
    rows.AGGREGATES,
    metadata,
    *row_id(),
    sa.Column("uuid", sa.String(36)),
    unique(rows.AGGREGATES, "uuid"),
)

resource_providers = sa.Table(
    rows.PROVIDERS,
    metadata,
    *row_id(),
    *required(sa.String(36), "uuid"),
    sa.Column("name", sa.Unicode(200)),
    sa.Column("generation", sa.Integer),
    sa.Column(
        "root_provider_id",
        sa.Integer,
        sa.ForeignKey("resource_providers.id"),
        info={"null_is": "id"},
    ),
    sa.Column("parent_provider_id", sa.Integer, sa.ForeignKey("resource_providers.id")),
    unique(rows.PROVIDERS, "uuid"),
    unique(rows.PROVIDERS, "name"),
    _index(rows.PROVIDERS, "root_provider_id"),
    _index(rows.PROVIDERS, "parent_provider_id"),
)

consumers = sa.Table(
    rows.CONSUMERS,
    metadata,
    *row_id(),
    *required(sa.String(36), "uuid"),
    *required(sa.Integer, "project_id", "user_id"),
    sa.Column("generation", sa.Integer, nullable=False, server_default=sa.text("0")),
    sa.Column("consumer_type_id", sa.Integer),
    sa.ForeignKeyConstraint(
        ["consumer_type_id"],
        ["consumer_types.id"],
        name="consumers_consumer_type_id_fkey",
    ),
    unique(rows.CONSUMERS, "uuid"),
    _index(rows.CONSUMERS, "project_id", "uuid"),
    _index(rows.CONSUMERS, "project_id", "user_id", "uuid"),
    _index(rows.CONSUMERS, "consumer_type_id"),
)

inventories = sa.Table(
    rows.INVENTORIES,
    metadata,
    *row_id(),
    *required(sa.Integer, "resource_provider_id", "resource_class_id", "total"),
    *required(sa.Integer, "reserved", "min_unit", "max_unit", "step_size"),
    *required(sa.Float, "allocation_ratio"),
    sa.UniqueConstraint(
        "resource_provider_id",
        "resource_class_id",
        name="uniq_inventories0resource_provider_resource_class",
    ),
    _index(rows.INVENTORIES, "resource_class_id"),
)

allocations = sa.Table(
    rows.ALLOCATIONS,
    metadata,
    *row_id(),
    *required(sa.Integer, "resource_provider_id"),
    *required(sa.String(36), "consumer_id"),
    *required(sa.Integer, "resource_class_id", "used"),
    sa.Index(
        "allocations_resource_provider_class_used_idx",
        "resource_provider_id",
        "resource_class_id",
        "used",
    ),
    _index(rows.ALLOCATIONS, "resource_class_id"),
    _index(rows.ALLOCATIONS, "consumer_id"),
)

resource_provider_traits = sa.Table(
    rows.PROVIDER_TRAITS,
    metadata,
    *times(),
    sa.Column("trait_id", sa.Integer, sa.ForeignKey("traits.id"), primary_key=True),
    sa.Column(
        "resource_provider_id",
        sa.Integer,
        sa.ForeignKey("resource_providers.id"),
        primary_key=True,
    ),
    sa.Index(
        "resource_provider_traits_resource_provider_trait_idx",
        "resource_provider_id",
        "trait_id",
    ),
)

resource_provider_aggregates = sa.Table(
    rows.PROVIDER_AGGREGATES,
    metadata,
    *times(),
    key("resource_provider_id"),
    key("aggregate_id"),
    _index(rows.PROVIDER_AGGREGATES, "aggregate_id"),
)

gantt_services = sa.Table(
    rows.SERVICES,
    metadata,
    *row_id(),
    *texts("host", "binary"),
    *required(sa.Boolean, "disabled", "forced_down"),
    sa.Column("last_seen_up", sa.BigInteger),
    sa.Column("availability_zone", exact()),
    uuid("cell_uuid", nullable=True),
    sa.Column("version", sa.Integer),
    sa.Column("disabled_reason", exact()),
    unique(rows.SERVICES, "host", "binary"),
)

gantt_facts = sa.Table(
    rows.FACTS,
    metadata,
    *row_id(),
    *required(exact(32), "kind"),
    *texts("subject"),
    *required(sa.Boolean, "disabled", "away"),
    sa.Column("at", sa.BigInteger),
    sa.Column("reason", Json),
    unique(rows.FACTS, "kind", "subject"),
)

gantt_hosts = sa.Table(
    rows.HOSTS,
    metadata,
    *row_id(),
    *texts("host", "node"),
    uuid("uuid", nullable=True),
    *required(Json, "stats"),
    unique(rows.HOSTS, "host", "node"),
)

gantt_host_aggregates = sa.Table(
    rows.HOST_AGGREGATES,
    metadata,
    *row_id(),
    uuid("uuid"),
    *texts("name"),
    sa.Column("number", sa.Integer),
    *required(Json, "hosts", "metadata"),
    unique(rows.HOST_AGGREGATES, "uuid"),
)

gantt_instances = sa.Table(
    rows.INSTANCES,
    metadata,
    *row_id(),
    uuid("uuid"),
    *texts("host"),
    *required(Json, "facts"),
    unique(rows.INSTANCES, "uuid"),
    _index(rows.INSTANCES, "host"),
)

gantt_server_groups = sa.Table(
    rows.SERVER_GROUPS,
    metadata,
    *row_id(),
    uuid("uuid"),
    *texts("name"),
    sa.Column("policy", exact()),
    *required(sa.Integer, "max_server_per_host"),
    *required(Json, "members"),
    unique(rows.SERVER_GROUPS, "uuid"),
)

# No foreign key: a claim may be remembered longer than its host (rows.NO_HOST).
gantt_bookings = sa.Table(
    rows.BOOKINGS,
    metadata,
    *row_id(),
    *required(exact(64), "claim"),
    uuid("instance_uuid"),
    *required(sa.Integer, "host_id", "vcpus"),
    *required(sa.BigInteger, "memory_mb", "disk_mb"),
    uuid("group_uuid", nullable=True),
    sa.Column("leased_until", sa.BigInteger),
    sa.Column("consumer_generation", sa.Integer),
    sa.Column("remote", Json),
    sa.Column("topology", Json),
    sa.Column("counted_at", sa.BigInteger),
    sa.Column("answered", Json),
    *texts("item"),
    *required(exact(8), "role"),
    *texts("name", "project", "plan"),
    *required(exact(64), "digest"),
    sa.Column("starts_at", sa.BigInteger),
    sa.Column("ends_at", sa.BigInteger),
    sa.Column("released", Json),
    sa.Column("labels", Json),
    unique(rows.BOOKINGS, "instance_uuid", "item", "role"),
    _index(rows.BOOKINGS, "claim"),
)

# The identity of this database and its format; its one row is the committer's lock.
gantt_head = sa.Table(
    "gantt_head",
    metadata,
    key("id"),
    *required(sa.String(36), "identity"),
    *required(sa.Integer, "epoch", "format"),
    *required(sa.BigInteger, "compacted_to"),
    *required(sa.DateTime, "created_at"),
)

# One row per revision; ``at`` in microseconds since the epoch, UTC.
gantt_log = sa.Table(
    "gantt_log",
    metadata,
    key("revision", Revision),
    *required(sa.String(36), "batch"),
    *required(sa.BigInteger, "at"),
    *required(sa.String(64), "kind"),
    *required(sa.String(255), "request_id"),
    *required(Bytes, "changes"),
)

# The sums of the tables at the last clean stop; one row, JSON in ``facts``.
gantt_fingerprint = sa.Table(
    "gantt_fingerprint",
    metadata,
    key("id"),
    *required(sa.BigInteger, "revision"),
    *required(sa.String(36), "batch"),
    *required(sa.Text, "facts"),
)

# The leader of the leader tasks; no row: there has been none yet.
gantt_leader = sa.Table(
    "gantt_leader",
    metadata,
    key("id"),
    *texts("holder"),
    *required(sa.BigInteger, "beat"),
)

# Capacity and use of a resource class, from ``start`` (as ``at`` of the log) on for
# ``period`` seconds; see gantt.model.usage_history.
gantt_usage_history = sa.Table(
    "gantt_usage_history",
    metadata,
    key("period"),
    key("start", sa.BigInteger),
    sa.Column("resource_class", exact(), primary_key=True),
    *required(sa.Integer, "samples"),
    *required(sa.Double, "capacity", "used_min", "used_avg", "used_max"),
)

# The same of the hosts of a zone; see ``zone`` of a record.
gantt_zone_usage = sa.Table(
    "gantt_zone_usage",
    metadata,
    key("period"),
    key("start", sa.BigInteger),
    sa.Column("zone", exact(), primary_key=True),
    sa.Column("resource_class", exact(), primary_key=True),
    *required(sa.Integer, "samples"),
    *required(sa.Double, "capacity", "used_min", "used_avg", "used_max"),
)

# The latest decisions; see SharedDecision in gantt.store.interface.
gantt_decisions = sa.Table(
    "gantt_decisions",
    metadata,
    sa.Column("id", Revision, primary_key=True),
    *texts("process"),
    *required(sa.BigInteger, "number", "at"),
    *texts("request_id"),
    sa.Column("project_id", exact()),
    *required(sa.Boolean, "is_refused"),
    *required(sa.Integer, "instances"),
    *required(Json, "instance_uuids"),
    *required(Bytes, "record"),
)

# The latest shadow records; see ShadowRow in gantt.store.interface.
gantt_shadow = sa.Table(
    "gantt_shadow",
    metadata,
    sa.Column("id", Revision, primary_key=True),
    *required(sa.BigInteger, "at"),
    *texts("request_id"),
    sa.Column("instance_uuid", exact()),
    *texts("verdict"),
    *required(Bytes, "record"),
)

# When a host, by its id, was heard of last: microseconds by the clock of the process
# that took its report.
gantt_heartbeats = sa.Table(
    "gantt_heartbeats",
    metadata,
    key("host_id"),
    *required(sa.BigInteger, "heard_at"),
)

# Every table that holds rows: Placement's own, then the fleet's.
BOOKS: dict[str, sa.Table] = {name: metadata.tables[name] for name in rows.ROW_TYPES}

_TIMES = ("created_at", "updated_at")

# The columns of each table in the order of the fields of its row type.
COLUMNS: dict[str, tuple[str, ...]] = {
    rows.PROVIDERS: rows.ProviderRow.__struct_fields__,
    rows.CONSUMERS: rows.ConsumerRow.__struct_fields__,
    rows.INVENTORIES: rows.InventoryRow.__struct_fields__,
    rows.ALLOCATIONS: rows.AllocationRow.__struct_fields__,
    rows.AGGREGATES: ("id", "uuid", *_TIMES),
    rows.PROJECTS: ("id", "external_id", *_TIMES),
    rows.USERS: ("id", "external_id", *_TIMES),
    rows.RESOURCE_CLASSES: rows.NameRow.__struct_fields__,
    rows.TRAITS: rows.NameRow.__struct_fields__,
    rows.CONSUMER_TYPES: rows.NameRow.__struct_fields__,
    rows.PROVIDER_TRAITS: ("resource_provider_id", "trait_id", *_TIMES),
    rows.PROVIDER_AGGREGATES: ("resource_provider_id", "aggregate_id", *_TIMES),
    **{name: rows.ROW_TYPES[name].__struct_fields__ for name in rows.FLEET},
}
# Where the two times of a row are among its columns.
TIMES_AT: dict[str, int] = {
    name: columns.index(_TIMES[0]) for name, columns in COLUMNS.items()
}


def _unique(table: str) -> list[list[int]]:
    keys = [
        *(one.columns for one in BOOKS[table].indexes if one.unique),
        *(
            one.columns
            for one in BOOKS[table].constraints
            if isinstance(one, sa.UniqueConstraint)
        ),
    ]
    return [[COLUMNS[table].index(column.name) for column in one] for one in keys]


# Of each unique key of a table but the primary one, where its columns are in a row.
UNIQUE: dict[str, list[list[int]]] = {name: _unique(name) for name in COLUMNS}
