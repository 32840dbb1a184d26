"""No command of ``gantt`` creates a database for a mistyped URL."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import gantt as library
from gantt.cli.main import gantt
from gantt.client import SchedulerClient
from gantt.errors import Refused
from tests.cli.conftest import Program
from tests.databases import migrate

UUID = "0e3cf1f0-96ab-5f9d-9f6c-6c7d2d6e2f11"
# What each command needs to come as far as the books.
WORDS = {
    "allocation delete": (UUID,),
    "host disable": ("host1", "--reason", "why"),
    "allocation set": (UUID, "--provider", UUID, "VCPU=1"),
    "allocation show": (UUID,),
    "candidates": ("VCPU=1",),
    "capacity": ("vcpus=1,memory_mb=1,disk_gb=1",),
    "claim confirm": (UUID,),
    "claim release": (UUID,),
    "explain": (UUID,),
    "host update": ("host", "vcpus=1"),
    "inventory set": ("host", "VCPU=1"),
    "launch": ("--flavor", "vcpus=1,memory_mb=1", "true"),
    "select": ("--flavor", "vcpus=1,memory_mb=1,disk_gb=1"),
    "snapshot": ("books.record.gz",),
    "usage history": ("--resource-class", "VCPU"),
}


def commands(
    group: click.Group, above: str = ""
) -> Iterator[tuple[str, click.Command]]:
    """Every command that works on books, by the words that name it."""
    for name, command in group.commands.items():
        words = f"{above} {name}".strip()
        if isinstance(command, click.Group):
            yield from commands(command, words)
        elif any(option.name == "url" for option in command.params):
            yield words, command


def arguments(words: str, command: click.Command) -> tuple[str, ...]:
    """``WORDS``, or a name for each argument that has to be given."""
    if words in WORDS:
        return WORDS[words]
    needed = [one for one in command.params if isinstance(one, click.Argument)]
    return tuple("CUSTOM_X" for one in needed if one.required)


COMMANDS = dict(commands(gantt))


@pytest.mark.parametrize("words", COMMANDS)
def test_commands_do_not_create_databases(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor any other file."""
    monkeypatch.chdir(tmp_path)
    url = f"sqlite:///{tmp_path}/typo.db"
    program = Program(gantt, url)
    said = program.fail(*words.split(), *arguments(words, COMMANDS[words]))
    assert f"There is no database at {tmp_path}/typo.db" in said
    assert f"`gantt-manage --database {url} db sync`" in said
    assert list(tmp_path.iterdir()) == []


def test_library_creates_a_database_on_request(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/gantt.db"
    for opens in (library.connect, SchedulerClient):
        with pytest.raises(Refused, match="db sync"):
            opens(url)
    assert list(tmp_path.iterdir()) == []
    SchedulerClient(url, create=True).close()
    books = library.connect(url)
    assert books.list_providers() == ()
    books.close()


def test_library_does_not_upgrade_tables_unasked(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/gantt.db"
    migrate(url, "0013_facts")
    with sqlite3.connect(tmp_path / "gantt.db") as connection:
        connection.execute(
            "UPDATE gantt_alembic_version SET version_num = '0007_shadow'"
        )
        for column in ("topology", "counted_at", "answered"):
            connection.execute(f"ALTER TABLE gantt_claims DROP COLUMN {column}")
        connection.execute("DROP TABLE gantt_heartbeats")
        connection.execute("DROP TABLE gantt_zone_usage")
        connection.execute("ALTER TABLE gantt_services DROP COLUMN disabled_reason")
        connection.execute("DROP TABLE gantt_facts")
        connection.execute("UPDATE gantt_head SET format = 1")
    with pytest.raises(Refused, match="db sync"):
        library.connect(url)
    library.connect(url, create=True).close()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("folder", "is not a file"),
        ("text.db", "it is not an SQLite database"),
        ("empty.db", "has none of Gantt's tables"),
        ("other.db", "has none of Gantt's tables"),
        ("nowhere/gantt.db", "nowhere does not exist"),
    ],
)
def test_unusable_database_file_is_left_unchanged(
    tmp_path: Path, name: str, said: str
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "text.db").write_text("no database " * 100)
    (tmp_path / "empty.db").touch()
    with sqlite3.connect(tmp_path / "other.db") as connection:
        connection.execute("CREATE TABLE mine (id INTEGER)")
    before = (tmp_path / "text.db").read_bytes(), sorted(tmp_path.iterdir())
    told = Program(gantt, f"sqlite:///{tmp_path}/{name}").fail("provider", "list")
    assert said in told
    assert ((tmp_path / "text.db").read_bytes(), sorted(tmp_path.iterdir())) == before
    with sqlite3.connect(tmp_path / "other.db") as connection:
        names = connection.execute("SELECT name FROM sqlite_master").fetchall()
    assert names == [("mine",)]


def test_missing_slash_in_url_is_reported(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    absolute = str(tmp_path / "gantt.db").removeprefix(os.sep)
    said = Program(gantt, f"sqlite:///{absolute}").fail("provider", "list")
    assert f"An absolute path has four slashes: sqlite:////{absolute}" in said
