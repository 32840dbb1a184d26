"""The fleet: what hosts report, what is said of them, and what is claimed on them.

Like all later revisions it only adds tables, so that processes of the release before
can go on until the last of them is replaced.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from gantt.store.columns import Json, exact, required, row_id, texts, unique, uuid
from gantt.store.migrations.steps import create_index, create_table

revision = "0003_fleet"
down_revision = "0002_gate"

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
    _create_groups()
    _create_instances()


def downgrade() -> None:
    for table in reversed(_TABLES):
        op.drop_table(table)


def _create_hosts() -> None:
    create_table(
        "gantt_services",
        *row_id(),
        *texts("host", "binary"),
        *required(sa.Boolean, "disabled", "forced_down"),
        sa.Column("last_seen_up", sa.BigInteger),
        sa.Column("availability_zone", exact()),
        uuid("cell_uuid", nullable=True),
        sa.Column("version", sa.Integer),
        unique("gantt_services", "host", "binary"),
    )
    create_table(
        "gantt_hosts",
        *row_id(),
        *texts("host", "node"),
        uuid("uuid", nullable=True),
        *required(Json, "stats"),
        unique("gantt_hosts", "host", "node"),
    )


def _create_groups() -> None:
    create_table(
        "gantt_host_aggregates",
        *row_id(),
        uuid("uuid"),
        *texts("name"),
        sa.Column("number", sa.Integer),
        *required(Json, "hosts", "metadata"),
        unique("gantt_host_aggregates", "uuid"),
    )
    create_table(
        "gantt_server_groups",
        *row_id(),
        uuid("uuid"),
        *texts("name"),
        sa.Column("policy", exact()),
        *required(sa.Integer, "max_server_per_host"),
        *required(Json, "members"),
        unique("gantt_server_groups", "uuid"),
    )


def _create_instances() -> None:
    create_table(
        "gantt_instances",
        *row_id(),
        uuid("uuid"),
        *texts("host"),
        *required(Json, "facts"),
        unique("gantt_instances", "uuid"),
    )
    create_index("gantt_instances_host_idx", "gantt_instances", ["host"])
    create_table(
        "gantt_claims",
        *row_id(),
        *required(exact(64), "claim"),
        uuid("instance_uuid"),
        *required(sa.Integer, "host_id", "vcpus"),
        *required(sa.BigInteger, "memory_mb", "disk_mb"),
        uuid("group_uuid", nullable=True),
        sa.Column("leased_until", sa.BigInteger),
        sa.Column("consumer_generation", sa.Integer),
        sa.Column("remote", Json),
        unique("gantt_claims", "instance_uuid"),
    )
    create_index("gantt_claims_claim_idx", "gantt_claims", ["claim"])
