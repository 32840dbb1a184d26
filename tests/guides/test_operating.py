"""The guides that keep Gantt running, followed command by command."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from sqlalchemy import URL, make_url

from tests.databases import Databases
from tests.guides.guide import guide, shown
from tests.shown import Terminal, blocks, said_as_shown

SERVE = (
    "gantt-manage --database sqlite:///{file} db sync\n"
    "gantt serve --database sqlite:///{file} --auth noauth2"
)


def providers(terminal: Terminal) -> list[str]:
    """The names of all providers."""
    return sorted(terminal.type("gantt provider list -o value -c name").split())


def test_a_backup_brings_back_what_there_was(tmp_path: Path) -> None:
    def stop() -> None:
        terminal.type("gantt provider create lost")
        assert providers(terminal) == ["kept", "lost"]
        terminal.stop()

    def start() -> None:
        terminal.type(SERVE.format(file=f"{tmp_path}/gantt.db"))

    instead = {"systemctl stop gantt": stop, "systemctl start gantt": start}
    text = guide("back-up").replace("/var/lib/gantt", str(tmp_path))
    sqlite, _, _ = text.partition("## PostgreSQL")
    _, _, moved = text.partition("## On a new machine")
    (move,) = (one for one in blocks(moved) if "backup.db" in one.text)
    with Terminal(folder=tmp_path, instead=instead) as terminal:
        start()
        terminal.type("gantt provider create kept")
        assert terminal.follow(sqlite) == 5
        assert providers(terminal) == ["kept"]
        terminal.stop()
        new = tmp_path / "new-machine"
        said_as_shown(move, terminal.type(move.text.replace("/srv/gantt", str(new))))
        terminal.type(SERVE.format(file=f"{new}/gantt.db"))
        assert providers(terminal) == ["kept"]


def test_an_upgrade_is_checked_done_and_verified(tmp_path: Path) -> None:
    text = guide("upgrade").replace("/var/lib/gantt", str(tmp_path))
    with Terminal(folder=tmp_path) as terminal:
        terminal.type(SERVE.format(file=f"{tmp_path}/gantt.db"))
        assert terminal.follow(text) == 3
        (probe,) = (one for one in shown("upgrade") if one.name.startswith("curl"))
        if shutil.which("curl"):
            assert terminal.type(probe.commands[0]) == "OK"


PLACE = "postgresql+psycopg://gantt@db/gantt"


@pytest.mark.server("postgresql")
def test_a_dump_of_postgresql_is_restored(tmp_path: Path, databases: Databases) -> None:
    with (
        databases.database("postgresql") as url,
        databases.database("postgresql", is_furnished=False) as empty,
        Terminal(folder=tmp_path) as terminal,
    ):
        plain, elsewhere = (
            make_url(one).set(drivername="postgresql") for one in (url, empty)
        )
        shown = guide("back-up").replace(PLACE, url)
        shown = shown.replace("postgresql://gantt@db/gantt", f"'{_written(plain)}'")
        shown = shown.replace(PLACE.replace("db", "newdb"), empty).replace(
            "postgresql://gantt@newdb/gantt", f"'{_written(elsewhere)}'"
        )
        _, _, text = shown.partition("## PostgreSQL")
        dump, restore, _, move = [one for one in blocks(text) if one.language == "sh"]
        terminal.type(f"gantt provider create kept --url '{url}'")
        said_as_shown(dump, terminal.type(dump.text))
        terminal.type(f"gantt provider create lost --url '{url}'")
        said_as_shown(restore, terminal.type(restore.text))
        said_as_shown(move, terminal.type(move.text))
        for each in (url, empty):
            said = terminal.type(f"gantt provider list -o value -c name --url '{each}'")
            assert said.split() == ["kept"]


@pytest.mark.server("postgresql")
def test_processes_of_one_database_know_the_same(
    tmp_path: Path, databases: Databases
) -> None:
    with (
        databases.database("postgresql", is_furnished=False) as url,
        Terminal(folder=tmp_path) as terminal,
    ):
        assert terminal.follow(guide("scale-out").replace(PLACE, f"'{url}'")) == 4


def _written(url: URL) -> str:
    return url.render_as_string(hide_password=False)


@pytest.mark.server("mariadb")
def test_a_dump_of_mariadb_is_restored(tmp_path: Path, databases: Databases) -> None:
    (block,) = (one for one in shown("back-up") if "mariadb-dump" in one.text)
    assert "`mariadb gantt < gantt.sql` fills an empty database" in guide("back-up")
    with (
        databases.database("mariadb") as url,
        databases.database("mariadb", is_furnished=False) as empty,
        Terminal(folder=tmp_path) as terminal,
    ):
        place, elsewhere = (make_url(one) for one in (url, empty))
        client = {"host": place.host, "port": place.port, "user": place.username}
        client |= {
            "password": place.password,
            "socket": str(place.query.get("unix_socket", "")),
        }
        told = [f"{name}={value}" for name, value in client.items() if value]
        (tmp_path / ".my.cnf").write_text("\n".join(["[client]", *told]))
        terminal.environ["HOME"] = str(tmp_path)
        dump, restore = block.commands
        dump, restore, move = (
            re.sub(r"\bgantt\b(?!\.sql)", str(where.database), one)
            for one, where in (
                (dump, place),
                (restore, place),
                (restore, elsewhere),
            )
        )
        terminal.type(f"gantt provider create kept --url '{url}'")
        assert terminal.type(dump) == ""
        terminal.type(f"gantt provider create lost --url '{url}'")
        assert terminal.type(restore) == ""
        assert terminal.type(move) == ""
        for each in (url, empty):
            said = terminal.type(f"gantt provider list -o value -c name --url '{each}'")
            assert said.split() == ["kept"]
