"""No message or command shows a password of a database URL."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from sqlalchemy import make_url

import gantt
from gantt import errors
from gantt.cli.manage import manage
from gantt.cli.status import status
from gantt.connection import connect
from gantt.store import StoreOptions
from gantt.store.database import Database, open_database
from tests.cli.conftest import Program
from tests.databases import Databases
from tests.kinds import SERVER_KINDS
from tests.live import free_port
from tests.simulation import __main__ as simulation
from tests.simulation.run import Plan

SECRETS = "passwd=canary&password=canary&ssl_key_password=can%23ary"
WORDS = [
    ("db", "sync"),
    ("db", "version"),
    ("db", "stamp", "head"),
    ("db", "stamp", "nonsense"),
    ("verify",),
    ("adopt",),
    ("adopt", "--dry-run"),
    ("release",),
]


def shows(text: str) -> bool:
    return "canary" in text or "ary" in text.replace("library", "")


@pytest.mark.parametrize(
    "url",
    [
        "postgresql+psycopg://u@h/db?password=canary",
        "postgresql+psycopg://u:canary@h/db?sslpassword=canary",
        "mysql+pymysql://u:canary@h/db?passwd=canary",
        "mysql+pymysql://u@h/db?p%61sswd=can%23ary",
        "sqlite:////tmp/gantt.db?password=canary",
    ],
)
def test_a_database_is_shown_without_its_secrets(url: str) -> None:
    database: Database = open_database(url, StoreOptions())
    texts = [
        database.url,
        database.command("db sync"),
        database.failure(OSError("no answer")).message,
        str(database.classify_commit(OSError("no answer"))),
    ]
    for text in texts:
        assert not shows(text), text
    assert "***" in texts[1] or url.startswith("sqlite")


@pytest.mark.parametrize(
    "url",
    [
        "oracle://u:canary@h/db?password=canary",
        "mssql+pyodbc:///?odbc_connect=UID%3Du%3BPWD%3Dcanary",
        "postgresql://u:canary:x@h:port/db?password=canary",
        "postgresql:u:canary@h/db",
        "mysql:/u:canary@h/db",
        "postgresql//u:canary@h/db",
        "u:canary@h/db",
        "u:canary@h/gantt.db",
        "sqlite:gantt.db?password=canary",
        "sqlite://h/gantt.db?key=can#ary",
        "memory:///x?password=canary",
    ],
)
def test_a_refused_url_is_shown_without_its_secrets(url: str) -> None:
    with pytest.raises(errors.Refused) as refused:
        open_database(url, StoreOptions())
    assert not shows(refused.value.message), refused.value.message


@pytest.mark.parametrize(
    "place",
    [
        "postgresql+psycopg://u:canary@127.0.0.1:{port}/db",
        "mysql+pymysql://u:canary@127.0.0.1:{port}/db",
        "sqlite:///{folder}/gantt.db",
    ],
)
def test_programs_show_no_secrets_of_a_missing_database(
    place: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    url = f"{place.format(port=free_port(), folder=tmp_path)}?{SECRETS}"
    for words in WORDS:
        must_not_show(manage, ("--database", url, *words), caplog)
    must_not_show(status, ("--database", url, "upgrade", "check"), caplog)
    copying = ("import", "placement", "--from", url)
    must_not_show(manage, ("--database", url, *copying), caplog)


@pytest.mark.parametrize("kind", SERVER_KINDS)
def test_programs_show_no_secrets_of_a_server(
    kind: str, databases: Databases, caplog: pytest.LogCaptureFixture
) -> None:
    with databases.database(kind, is_furnished=False) as plain:
        url, word = make_url(plain), "password"
        if kind == "mariadb":
            databases.server(kind).execute(
                "CREATE OR REPLACE USER shown@'%%' IDENTIFIED BY 'canary'",
                "GRANT ALL ON *.* TO shown@'%%'",
            )
            url, word = url.set(username="shown"), "passwd"
        named = url.update_query_dict({word: "canary"}).render_as_string(False)
        said = [
            must_not_show(manage, ("--database", named, *words), caplog)
            for words in [("db", "version"), *WORDS, ("db", "sync"), *WORDS]
        ]
    assert "db sync`" in said[0]
    assert f"{word}=***" in said[0]


def must_not_show(
    program: click.Command, words: tuple[str, ...], caplog: pytest.LogCaptureFixture
) -> str:
    """What the program and the log say."""
    caplog.clear()
    with caplog.at_level("DEBUG"):
        result = Program(program, "").run(*words)
    text = result.output + caplog.text
    assert not shows(text), text
    assert "Traceback" not in text
    return text


def test_a_replay_shows_no_password() -> None:
    told = simulation.command(Plan(7, "URL", 20), "postgresql://u:canary@h/d")
    assert "--store postgresql://u:***@h/d " in told


def test_a_service_is_shown_without_its_password() -> None:
    with pytest.raises(errors.Invalid, match="no usable port") as refused:
        connect("http://u:canary/x@h:8778")
    assert not shows(refused.value.message)


def test_urls_are_rendered_in_one_place() -> None:
    places = [
        file.relative_to(Path(gantt.__file__).parent).as_posix()
        for file in Path(gantt.__file__).parent.rglob("*.py")
        if "render_as_string" in file.read_text()
    ]
    assert places == ["store/database/url.py"]
