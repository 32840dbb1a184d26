"""The tables of OpenStack Placement, as its own revision a082b8bb98d0 leaves them.

Apart from Gantt's own tables, because an adopted database has these already.
"""

from __future__ import annotations

import sqlalchemy as sa

from gantt.store.columns import key, required, row_id, times, unique
from gantt.store.migrations.steps import create_index, create_table

revision = "0001_books"
down_revision = None

UPSTREAM_HEAD = "a082b8bb98d0"
PROVIDERS = "resource_providers"


def upgrade() -> None:
    create_table(
        "alembic_version",
        sa.Column("version_num", sa.String(32), nullable=False),
        sa.PrimaryKeyConstraint("version_num", name="alembic_version_pkc"),
        rows=[{"version_num": UPSTREAM_HEAD}],
    )
    _create_names()
    _create_providers()
    _create_consumers()
    _create_amounts()
    _create_links()


def downgrade() -> None:
    raise NotImplementedError("The first revision cannot be undone: drop the database.")


def _create_names() -> None:
    for table, column in (
        ("resource_classes", "name"),
        ("traits", "name"),
        ("consumer_types", "name"),
        ("projects", "external_id"),
        ("users", "external_id"),
    ):
        named = required(sa.Unicode(255), column)
        create_table(table, *row_id(), *named, unique(table, column))
    table = "placement_aggregates"
    uuid = sa.Column("uuid", sa.String(36))
    create_table(table, *row_id(), uuid, unique(table, "uuid"))


def _create_providers() -> None:
    create_table(
        PROVIDERS,
        *row_id(),
        *required(sa.String(36), "uuid"),
        sa.Column("name", sa.Unicode(200)),
        sa.Column("generation", sa.Integer),
        sa.Column("root_provider_id", sa.Integer, sa.ForeignKey(f"{PROVIDERS}.id")),
        sa.Column("parent_provider_id", sa.Integer, sa.ForeignKey(f"{PROVIDERS}.id")),
        unique(PROVIDERS, "uuid"),
        unique(PROVIDERS, "name"),
    )
    for column in ("root_provider_id", "parent_provider_id"):
        create_index(f"{PROVIDERS}_{column}_idx", PROVIDERS, [column])


def _create_consumers() -> None:
    create_table(
        "consumers",
        *row_id(),
        *required(sa.String(36), "uuid"),
        *required(sa.Integer, "project_id", "user_id"),
        sa.Column(
            "generation", sa.Integer, server_default=sa.text("0"), nullable=False
        ),
        sa.Column("consumer_type_id", sa.Integer),
        sa.ForeignKeyConstraint(
            ["consumer_type_id"],
            ["consumer_types.id"],
            name="consumers_consumer_type_id_fkey",
        ),
        unique("consumers", "uuid"),
    )
    for columns in (
        ["project_id", "uuid"],
        ["project_id", "user_id", "uuid"],
        ["consumer_type_id"],
    ):
        create_index(f"consumers_{'_'.join(columns)}_idx", "consumers", columns)


def _create_amounts() -> None:
    pair = ["resource_provider_id", "resource_class_id"]
    name = "uniq_inventories0resource_provider_resource_class"
    create_table(
        "inventories",
        *row_id(),
        *required(sa.Integer, *pair, "total", "reserved"),
        *required(sa.Integer, "min_unit", "max_unit", "step_size"),
        *required(sa.Float, "allocation_ratio"),
        sa.UniqueConstraint(*pair, name=name),
    )
    create_table(
        "allocations",
        *row_id(),
        *required(sa.Integer, "resource_provider_id"),
        *required(sa.String(36), "consumer_id"),
        *required(sa.Integer, "resource_class_id", "used"),
    )
    create_index(
        "allocations_resource_provider_class_used_idx", "allocations", [*pair, "used"]
    )
    for table, column in (
        ("inventories", "resource_class_id"),
        ("allocations", "resource_class_id"),
        ("allocations", "consumer_id"),
    ):
        create_index(f"{table}_{column}_idx", table, [column])


def _create_links() -> None:
    table = "resource_provider_traits"
    create_table(
        table,
        *times(),
        sa.Column("trait_id", sa.Integer, sa.ForeignKey("traits.id")),
        sa.Column("resource_provider_id", sa.Integer, sa.ForeignKey(f"{PROVIDERS}.id")),
        sa.PrimaryKeyConstraint("trait_id", "resource_provider_id"),
    )
    columns = ["resource_provider_id", "trait_id"]
    create_index(f"{table}_resource_provider_trait_idx", table, columns)
    table = "resource_provider_aggregates"
    create_table(table, *times(), key("resource_provider_id"), key("aggregate_id"))
    create_index(f"{table}_aggregate_id_idx", table, ["aggregate_id"])
