"""The tables of OpenStack Placement, as its own revision a082b8bb98d0 leaves them.

Apart from Gantt's own tables, because an adopted database has these already.
"""

from __future__ import annotations

import sqlalchemy as sa

from gantt.store.migrations.steps import create_index, create_table

revision = "0001_books"
down_revision = None
branch_labels = None
depends_on = None

UPSTREAM_HEAD = "a082b8bb98d0"


def upgrade() -> None:
    _create_upstream_version()
    _create_names()
    _create_providers()
    _create_consumers()
    _create_inventories()
    _create_allocations()
    _create_links()


def downgrade() -> None:
    raise NotImplementedError("The first revision cannot be undone: drop the database.")


def _times() -> tuple[sa.Column[object], sa.Column[object]]:
    return (
        sa.Column("created_at", sa.DateTime()),
        sa.Column("updated_at", sa.DateTime()),
    )


def _id() -> sa.Column[object]:
    return sa.Column("id", sa.Integer(), primary_key=True, nullable=False)


def _integers(*names: str) -> tuple[sa.Column[object], ...]:
    return tuple(sa.Column(name, sa.Integer(), nullable=False) for name in names)


def _create_upstream_version() -> None:
    create_table(
        "alembic_version",
        sa.Column("version_num", sa.String(32), nullable=False),
        sa.PrimaryKeyConstraint("version_num", name="alembic_version_pkc"),
        rows=[{"version_num": UPSTREAM_HEAD}],
    )


def _create_names() -> None:
    for table, column in (
        ("resource_classes", "name"),
        ("traits", "name"),
        ("consumer_types", "name"),
        ("projects", "external_id"),
        ("users", "external_id"),
    ):
        create_table(
            table,
            *_times(),
            _id(),
            sa.Column(column, sa.Unicode(255), nullable=False),
            sa.UniqueConstraint(column, name=f"uniq_{table}0{column}"),
        )
    create_table(
        "placement_aggregates",
        *_times(),
        _id(),
        sa.Column("uuid", sa.String(36)),
        sa.UniqueConstraint("uuid", name="uniq_placement_aggregates0uuid"),
    )


def _create_providers() -> None:
    table = "resource_providers"
    create_table(
        table,
        *_times(),
        _id(),
        sa.Column("uuid", sa.String(36), nullable=False),
        sa.Column("name", sa.Unicode(200)),
        sa.Column("generation", sa.Integer()),
        sa.Column(
            "root_provider_id", sa.Integer(), sa.ForeignKey("resource_providers.id")
        ),
        sa.Column(
            "parent_provider_id", sa.Integer(), sa.ForeignKey("resource_providers.id")
        ),
        sa.UniqueConstraint("uuid", name="uniq_resource_providers0uuid"),
        sa.UniqueConstraint("name", name="uniq_resource_providers0name"),
    )
    for column in ("root_provider_id", "parent_provider_id"):
        create_index(f"{table}_{column}_idx", table, [column])


def _create_consumers() -> None:
    create_table(
        "consumers",
        *_times(),
        _id(),
        sa.Column("uuid", sa.String(36), nullable=False),
        *_integers("project_id", "user_id"),
        sa.Column(
            "generation", sa.Integer(), server_default=sa.text("0"), nullable=False
        ),
        sa.Column("consumer_type_id", sa.Integer()),
        sa.ForeignKeyConstraint(
            ["consumer_type_id"],
            ["consumer_types.id"],
            name="consumers_consumer_type_id_fkey",
        ),
        sa.UniqueConstraint("uuid", name="uniq_consumers0uuid"),
    )
    for columns in (
        ["project_id", "uuid"],
        ["project_id", "user_id", "uuid"],
        ["consumer_type_id"],
    ):
        create_index(f"consumers_{'_'.join(columns)}_idx", "consumers", columns)


def _create_inventories() -> None:
    create_table(
        "inventories",
        *_times(),
        _id(),
        *_integers("resource_provider_id", "resource_class_id", "total", "reserved"),
        *_integers("min_unit", "max_unit", "step_size"),
        sa.Column("allocation_ratio", sa.Float(), nullable=False),
        sa.UniqueConstraint(
            "resource_provider_id",
            "resource_class_id",
            name="uniq_inventories0resource_provider_resource_class",
        ),
    )
    create_index(
        "inventories_resource_class_id_idx", "inventories", ["resource_class_id"]
    )


def _create_allocations() -> None:
    create_table(
        "allocations",
        *_times(),
        _id(),
        *_integers("resource_provider_id"),
        sa.Column("consumer_id", sa.String(36), nullable=False),
        *_integers("resource_class_id", "used"),
    )
    create_index(
        "allocations_resource_provider_class_used_idx",
        "allocations",
        ["resource_provider_id", "resource_class_id", "used"],
    )
    for column in ("resource_class_id", "consumer_id"):
        create_index(f"allocations_{column}_idx", "allocations", [column])


def _create_links() -> None:
    create_table(
        "resource_provider_traits",
        *_times(),
        sa.Column("trait_id", sa.Integer(), sa.ForeignKey("traits.id")),
        sa.Column(
            "resource_provider_id", sa.Integer(), sa.ForeignKey("resource_providers.id")
        ),
        sa.PrimaryKeyConstraint("trait_id", "resource_provider_id"),
    )
    create_index(
        "resource_provider_traits_resource_provider_trait_idx",
        "resource_provider_traits",
        ["resource_provider_id", "trait_id"],
    )
    create_table(
        "resource_provider_aggregates",
        *_times(),
        sa.Column("resource_provider_id", sa.Integer(), autoincrement=False),
        sa.Column("aggregate_id", sa.Integer(), autoincrement=False),
        sa.PrimaryKeyConstraint("resource_provider_id", "aggregate_id"),
    )
    create_index(
        "resource_provider_aggregates_aggregate_id_idx",
        "resource_provider_aggregates",
        ["aggregate_id"],
    )
