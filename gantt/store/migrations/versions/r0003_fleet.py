"""The fleet: what hosts report, what is said of them, and what is claimed on them.

It only adds tables, so that whoever still runs the release before can go on until the
last process is replaced.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

from gantt.store.migrations.steps import create_index, create_table

revision = "0003_fleet"
down_revision = "0002_gate"
branch_labels = None
depends_on = None

_EXACT = {"charset": "utf8mb4", "collation": "utf8mb4_bin"}
_TABLES = (
    "gantt_services",
    "gantt_hosts",
    "gantt_host_aggregates",
    "gantt_instances",
    "gantt_server_groups",
    "gantt_claims",
)


def upgrade() -> None:
    _create_hosts()
    _create_aggregates()
    _create_instances()
    _create_claims()


def downgrade() -> None:
    for table in reversed(_TABLES):
        op.drop_table(table)


def _first() -> tuple[sa.Column[object], ...]:
    return (
        sa.Column("created_at", sa.DateTime()),
        sa.Column("updated_at", sa.DateTime()),
        sa.Column("id", sa.Integer(), primary_key=True, nullable=False),
    )


def _text(name: str, size: int = 255, *, nullable: bool = False) -> sa.Column[str]:
    exact = sa.String(size).with_variant(mysql.VARCHAR(size, **_EXACT), "mysql")
    return sa.Column(name, exact, nullable=nullable)


def _json(name: str, *, nullable: bool = False) -> sa.Column[str]:
    long = sa.Text().with_variant(mysql.LONGTEXT(**_EXACT), "mysql")
    return sa.Column(name, long, nullable=nullable)


def _unique(table: str, *columns: str) -> sa.UniqueConstraint:
    return sa.UniqueConstraint(*columns, name=f"uniq_{table}0{'0'.join(columns)}")


def _create_hosts() -> None:
    create_table(
        "gantt_services",
        *_first(),
        _text("host"),
        _text("binary"),
        sa.Column("disabled", sa.Boolean(), nullable=False),
        sa.Column("forced_down", sa.Boolean(), nullable=False),
        sa.Column("last_seen_up", sa.BigInteger()),
        _text("availability_zone", nullable=True),
        _text("cell_uuid", 36, nullable=True),
        sa.Column("version", sa.Integer()),
        _unique("gantt_services", "host", "binary"),
    )
    create_table(
        "gantt_hosts",
        *_first(),
        _text("host"),
        _text("node"),
        _text("uuid", 36, nullable=True),
        _json("stats"),
        _unique("gantt_hosts", "host", "node"),
    )


def _create_aggregates() -> None:
    create_table(
        "gantt_host_aggregates",
        *_first(),
        _text("uuid", 36),
        _text("name"),
        sa.Column("number", sa.Integer()),
        _json("hosts"),
        _json("metadata"),
        _unique("gantt_host_aggregates", "uuid"),
    )


def _create_instances() -> None:
    create_table(
        "gantt_instances",
        *_first(),
        _text("uuid", 36),
        _text("host"),
        _json("facts"),
        _unique("gantt_instances", "uuid"),
    )
    create_index("gantt_instances_host_idx", "gantt_instances", ["host"])
    create_table(
        "gantt_server_groups",
        *_first(),
        _text("uuid", 36),
        _text("name"),
        _text("policy", nullable=True),
        sa.Column("max_server_per_host", sa.Integer(), nullable=False),
        _json("members"),
        _unique("gantt_server_groups", "uuid"),
    )


def _create_claims() -> None:
    create_table(
        "gantt_claims",
        *_first(),
        _text("claim", 64),
        _text("instance_uuid", 36),
        sa.Column("host_id", sa.Integer(), nullable=False),
        sa.Column("vcpus", sa.Integer(), nullable=False),
        sa.Column("memory_mb", sa.BigInteger(), nullable=False),
        sa.Column("disk_mb", sa.BigInteger(), nullable=False),
        _text("group_uuid", 36, nullable=True),
        sa.Column("leased_until", sa.BigInteger()),
        sa.Column("consumer_generation", sa.Integer()),
        _json("remote", nullable=True),
        _unique("gantt_claims", "instance_uuid"),
    )
    create_index("gantt_claims_claim_idx", "gantt_claims", ["claim"])
