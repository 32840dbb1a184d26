"""The tables are those of OpenStack Placement at its revision a082b8bb98d0.

The expectations were read from a database that Placement itself had made.
"""

from __future__ import annotations

from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Dialect, create_engine, inspect
from sqlalchemy.dialects.mysql.pymysql import MySQLDialect_pymysql
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.schema import CreateTable

from gantt.model.rows import FLEET
from gantt.store import schema
from gantt.store.tables import COLUMNS, metadata

MYSQL = MySQLDialect_pymysql()
POSTGRESQL = PGDialect_psycopg()  # type: ignore[no-untyped-call]
TIMES = ["created_at DATETIME", "updated_at DATETIME"]
ID = "id INTEGER NOT NULL"


@pytest.fixture
def kind() -> str:
    """Files are looked into and schemas compared here: SQLite alone."""
    return "sqlite"


def _names(column: str, table: str) -> dict[str, Any]:
    return {
        "columns": [*TIMES, ID, f"{column} VARCHAR(255) NOT NULL"],
        "key": ["id"],
        "unique": {f"uniq_{table}0{column}": [column]},
    }


EXPECTED: dict[str, dict[str, Any]] = {
    "resource_classes": _names("name", "resource_classes"),
    "traits": _names("name", "traits"),
    "consumer_types": _names("name", "consumer_types"),
    "projects": _names("external_id", "projects"),
    "users": _names("external_id", "users"),
    "placement_aggregates": {
        "columns": [*TIMES, ID, "uuid VARCHAR(36)"],
        "key": ["id"],
        "unique": {"uniq_placement_aggregates0uuid": ["uuid"]},
    },
    "resource_providers": {
        "columns": [
            *TIMES,
            ID,
            "uuid VARCHAR(36) NOT NULL",
            "name VARCHAR(200)",
            "generation INTEGER",
            "root_provider_id INTEGER",
            "parent_provider_id INTEGER",
        ],
        "key": ["id"],
        "unique": {
            "uniq_resource_providers0name": ["name"],
            "uniq_resource_providers0uuid": ["uuid"],
        },
        "indexes": {
            "resource_providers_parent_provider_id_idx": ["parent_provider_id"],
            "resource_providers_root_provider_id_idx": ["root_provider_id"],
        },
        "foreign": {
            "parent_provider_id": "resource_providers.id",
            "root_provider_id": "resource_providers.id",
        },
    },
    "consumers": {
        "columns": [
            *TIMES,
            ID,
            "uuid VARCHAR(36) NOT NULL",
            "project_id INTEGER NOT NULL",
            "user_id INTEGER NOT NULL",
            "generation INTEGER NOT NULL",
            "consumer_type_id INTEGER",
        ],
        "key": ["id"],
        "unique": {"uniq_consumers0uuid": ["uuid"]},
        "indexes": {
            "consumers_consumer_type_id_idx": ["consumer_type_id"],
            "consumers_project_id_user_id_uuid_idx": ["project_id", "user_id", "uuid"],
            "consumers_project_id_uuid_idx": ["project_id", "uuid"],
        },
        "foreign": {"consumer_type_id": "consumer_types.id"},
    },
    "inventories": {
        "columns": [
            *TIMES,
            ID,
            "resource_provider_id INTEGER NOT NULL",
            "resource_class_id INTEGER NOT NULL",
            "total INTEGER NOT NULL",
            "reserved INTEGER NOT NULL",
            "min_unit INTEGER NOT NULL",
            "max_unit INTEGER NOT NULL",
            "step_size INTEGER NOT NULL",
            "allocation_ratio FLOAT NOT NULL",
        ],
        "key": ["id"],
        "unique": {
            "uniq_inventories0resource_provider_resource_class": [
                "resource_provider_id",
                "resource_class_id",
            ]
        },
        "indexes": {"inventories_resource_class_id_idx": ["resource_class_id"]},
    },
    "allocations": {
        "columns": [
            *TIMES,
            ID,
            "resource_provider_id INTEGER NOT NULL",
            "consumer_id VARCHAR(36) NOT NULL",
            "resource_class_id INTEGER NOT NULL",
            "used INTEGER NOT NULL",
        ],
        "key": ["id"],
        "indexes": {
            "allocations_consumer_id_idx": ["consumer_id"],
            "allocations_resource_class_id_idx": ["resource_class_id"],
            "allocations_resource_provider_class_used_idx": [
                "resource_provider_id",
                "resource_class_id",
                "used",
            ],
        },
    },
    "resource_provider_traits": {
        "columns": [
            *TIMES,
            "trait_id INTEGER NOT NULL",
            "resource_provider_id INTEGER NOT NULL",
        ],
        "key": ["trait_id", "resource_provider_id"],
        "indexes": {
            "resource_provider_traits_resource_provider_trait_idx": [
                "resource_provider_id",
                "trait_id",
            ]
        },
        "foreign": {
            "resource_provider_id": "resource_providers.id",
            "trait_id": "traits.id",
        },
    },
    "resource_provider_aggregates": {
        "columns": [
            *TIMES,
            "resource_provider_id INTEGER NOT NULL",
            "aggregate_id INTEGER NOT NULL",
        ],
        "key": ["resource_provider_id", "aggregate_id"],
        "indexes": {"resource_provider_aggregates_aggregate_id_idx": ["aggregate_id"]},
    },
    "alembic_version": {
        "columns": ["version_num VARCHAR(32) NOT NULL"],
        "key": ["version_num"],
    },
}


def _column(found: Any) -> str:
    return f"{found['name']} {found['type']}" + (
        "" if found["nullable"] else " NOT NULL"
    )


def _foreign(found: Any) -> tuple[str, str]:
    target = f"{found['referred_table']}.{found['referred_columns'][0]}"
    return found["constrained_columns"][0], target


@pytest.mark.parametrize("table", EXPECTED)
def test_a_table_is_as_in_placement(url: str, table: str) -> None:
    schema.sync(url)
    inspector = inspect(create_engine(url))
    wanted = EXPECTED[table]
    unique = inspector.get_unique_constraints(table)
    indexes = inspector.get_indexes(table)
    foreign = inspector.get_foreign_keys(table)
    assert [_column(each) for each in inspector.get_columns(table)] == wanted["columns"]
    assert inspector.get_pk_constraint(table)["constrained_columns"] == wanted["key"]
    assert {str(each["name"]): each["column_names"] for each in unique} == wanted.get(
        "unique", {}
    )
    assert {
        str(each["name"]): each["column_names"]
        for each in indexes
        if not each.get("duplicates_constraint") and not each["unique"]
    } == wanted.get("indexes", {})
    assert dict(_foreign(each) for each in foreign) == wanted.get("foreign", {})


def test_names_and_defaults_that_reflection_does_not_compare(url: str) -> None:
    schema.sync(url)
    inspector = inspect(create_engine(url))
    generation = {c["name"]: c for c in inspector.get_columns("consumers")}[
        "generation"
    ]
    assert str(generation["default"]).strip("'\"") == "0"
    (foreign,) = inspector.get_foreign_keys("consumers")
    assert foreign["name"] == "consumers_consumer_type_id_fkey"
    assert inspector.get_pk_constraint("alembic_version")["name"] == (
        "alembic_version_pkc"
    )


def test_there_are_no_unexpected_tables(url: str) -> None:
    schema.sync(url)
    own = {"head", "log", "fingerprint", "leader", "usage_history"}
    own |= {"zone_usage", "decisions", "shadow", "heartbeats"}
    assert set(inspect(create_engine(url)).get_table_names()) == {
        *EXPECTED,
        *FLEET,
        *(f"gantt_{name}" for name in (*own, "alembic_version")),
    }


FLEET_KEYS: dict[str, tuple[list[str], list[str] | None]] = {
    "gantt_services": (["host", "binary"], None),
    "gantt_facts": (["kind", "subject"], None),
    "gantt_hosts": (["host", "node"], None),
    "gantt_host_aggregates": (["uuid"], None),
    "gantt_instances": (["uuid"], ["host"]),
    "gantt_server_groups": (["uuid"], None),
    "gantt_bookings": (["instance_uuid", "item", "role"], ["claim"]),
}


@pytest.mark.parametrize("table", FLEET_KEYS)
def test_constraints_and_indexes_of_the_fleet(url: str, table: str) -> None:
    schema.sync(url)
    inspector = inspect(create_engine(url))
    (unique,) = inspector.get_unique_constraints(table)
    own = [i for i in inspector.get_indexes(table) if not i["unique"]]
    wanted, looked_for = FLEET_KEYS[table]
    assert unique["column_names"] == wanted
    assert [i["column_names"] for i in own] == ([looked_for] if looked_for else [])
    assert inspector.get_pk_constraint(table)["constrained_columns"] == ["id"]


def _types(table: str, dialect: Dialect) -> dict[str, str]:
    made = str(CreateTable(metadata.tables[table]).compile(dialect=dialect))
    pairs = (line.split(maxsplit=1) for line in made.splitlines() if "\t" in line)
    return {name.strip("`"): kind.rstrip(", ") for name, kind in pairs}


def test_types_of_long_texts_and_names_in_every_dialect() -> None:
    found = _types("gantt_hosts", MYSQL)
    exact = "CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL"
    assert found["stats"] == f"LONGTEXT {exact}"
    assert found["host"] == f"VARCHAR(255) {exact}"
    found = _types("gantt_hosts", POSTGRESQL)
    assert found["stats"] == "TEXT NOT NULL"
    assert found["id"] == "SERIAL NOT NULL"
    assert found["host"] == "VARCHAR(255) NOT NULL"
    found = _types("gantt_services", MYSQL)
    assert (found["disabled"], found["last_seen_up"]) == ("BOOL NOT NULL", "BIGINT")


def test_the_migrations_produce_the_tables_of_this_release(url: str) -> None:
    schema.sync(url)
    with create_engine(url).connect() as connection:
        context = MigrationContext.configure(
            connection, opts={"version_table": "gantt_alembic_version"}
        )
        found = compare_metadata(context, metadata)
    # The version table of Placement is not part of what Gantt describes.
    assert [each for each in found if "alembic_version" not in str(each)] == []


def test_every_field_of_a_row_has_a_column() -> None:
    for name, columns in COLUMNS.items():
        assert sorted(columns) == sorted(metadata.tables[name].c.keys())
        # Writers convert both as neighbours; columns that came later stand after them.
        at = columns.index("created_at")
        assert columns[at + 1] == "updated_at"
