"""``gantt-manage``: makes, stamps and verifies a database."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from gantt.cli.manage import manage
from gantt.connection import open_gantt
from gantt.model.commands import Inventory
from gantt.model.hosts import HostStats
from gantt.store import schema
from tests.cli.conftest import Program


class Manage(Program):
    """The program on one database file."""

    def __init__(self, file: Path) -> None:
        super().__init__(manage, "")
        self.file = file
        self.url = f"sqlite:///{file}"

    def on(self, *arguments: str) -> tuple[str, ...]:
        return ("--database", self.url, *arguments)


@pytest.fixture
def program(tmp_path: Path) -> Manage:
    return Manage(tmp_path / "gantt.db")


def test_sync_and_version(program: Manage) -> None:
    assert "db sync`" in program.fail(*program.on("db", "version"))
    assert not program.file.exists()
    assert program.do(*program.on("db", "sync")).strip() == schema.HEAD
    assert program.do(*program.on("db", "sync")).strip() == schema.HEAD
    assert program.do(*program.on("db", "version")).strip() == schema.HEAD


def test_stamp(program: Manage) -> None:
    program.do(*program.on("db", "sync"))
    oldest = schema.REVISIONS[0]
    program.do(*program.on("db", "stamp", oldest))
    assert program.do(*program.on("db", "version")).strip() == oldest
    said = program.fail(*program.on("db", "stamp", "nonsense"))
    assert schema.HEAD in said


def test_database_is_read_from_a_configuration_file(
    program: Manage, tmp_path: Path
) -> None:
    file = tmp_path / "placement.conf"
    file.write_text(f"[placement_database]\nconnection = {program.url}\n")
    program.do("--config-file", str(file), "db", "sync")
    assert program.file.exists()


def test_manage_requires_a_database(
    program: Manage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OS_GANTT_CONFIG_DIR", "/nonexistent")
    for words in (("db", "sync"), ("db", "version"), ("verify",)):
        assert "--database" in program.fail(*words)


def test_online_data_migrations_has_nothing_to_do(program: Manage) -> None:
    said = program.do("db", "online_data_migrations", "--max-count", "50")
    assert said.split("\n")[0].split() == [
        "Migration",
        "Total",
        "Found",
        "Completed",
    ]
    assert "0" in program.fail(
        "db", "online_data_migrations", "--max-count", "0", status=127
    )


def test_verify(program: Manage) -> None:
    program.do(*program.on("db", "sync"))
    books = open_gantt(program.url)
    uuid = books.create_provider("host").uuid
    books.set_inventories(uuid, {"VCPU": Inventory(total=4)})
    books.close()
    said = program.do(*program.on("verify"))
    assert "No problems" in said
    assert "1 resource_providers" in said


def test_verify_reports_problems(program: Manage) -> None:
    program.do(*program.on("db", "sync"))
    books = open_gantt(program.url)
    parent = books.create_provider("host").uuid
    child = books.create_provider("part", parent_uuid=parent).uuid
    books.close()
    with sqlite3.connect(program.file) as connection:
        connection.execute(
            "UPDATE resource_providers SET root_provider_id = id WHERE uuid = ?",
            (child,),
        )
    said = program.fail(*program.on("verify"))
    assert child in said
    assert "problem" in said


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        ("UPDATE gantt_hosts SET stats = '{'", "gantt_hosts"),
        ("UPDATE gantt_hosts SET stats = '[]'", "gantt_hosts"),
        ("UPDATE resource_providers SET parent_provider_id = 3 - id", "form a cycle"),
        ("UPDATE resource_providers SET parent_provider_id = 99", "id 99"),
    ],
)
def test_a_damaged_row_is_named(program: Manage, damage: str, says: str) -> None:
    program.do(*program.on("db", "sync"))
    books = open_gantt(program.url)
    for name in ("one", "two"):
        books.create_provider(name)
    books.update_host("h", "h", HostStats(vcpus=4, memory_mb=64, local_gb=1))
    books.close()
    with sqlite3.connect(program.file) as connection:
        connection.execute("DELETE FROM resource_providers WHERE id > 2")
        connection.execute("DELETE FROM inventories")
        connection.execute(damage)
    said = program.fail(*program.on("verify"))
    assert says in said
    assert "the database is damaged. Restore a backup, or correct" in said


def test_verify_does_not_create_a_database(program: Manage, tmp_path: Path) -> None:
    """Not even with sync_on_startup."""
    assert str(program.file) in program.fail(*program.on("verify"))
    config = tmp_path / "gantt.conf"
    config.write_text("[placement_database]\nsync_on_startup = true\n")
    words = ("--config-file", str(config), *program.on("verify"))
    assert str(program.file) in program.fail(*words)
    assert not program.file.exists()
