"""Gantt beside the tables of another program: in a schema, a database or a file of its
own, and never among tables that only have the names of Placement's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

import gantt
from gantt import errors
from gantt.model.hosts import HostStats
from gantt.store import schema
from gantt.store.database import database_at
from tests.databases import Databases, execute

THEIRS = (
    "CREATE TABLE users (id INTEGER PRIMARY KEY, email VARCHAR(99))",
    "CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL)",
    "INSERT INTO alembic_version VALUES ('abc')",
)
ADVICE = {
    "sqlite": "a file of its own",
    "postgresql": r"a schema of its own: add \?schema=gantt to the URL",
    "mysql": "a database of its own",
}


@pytest.fixture
def url(kind: str, path: Path, databases: Databases) -> Iterator[str]:
    """A database without tables."""
    if kind == "sqlite":
        yield f"sqlite:///{path}"
        return
    with databases.database(kind, is_furnished=False) as url:
        yield url


def test_tables_of_another_program_are_neither_used_nor_touched(url: str) -> None:
    execute(url, *THEIRS)
    kind = url.partition(":")[0].partition("+")[0]
    told = rf"another program under names .*\(users, alembic_version\).*{ADVICE[kind]}"
    for attempt in (schema.sync, schema.check):
        with pytest.raises(errors.Refused, match=told):
            attempt(url)
    with pytest.raises(errors.Refused, match="none of Gantt's|no tables of|another"):
        gantt.connect(url)
    assert execute(url, "SELECT version_num FROM alembic_version") == [("abc",)]
    with database_at(url) as database:
        assert schema.look(database).foreign == ("users", "alembic_version")


@pytest.mark.parametrize("kind", ["postgresql"])
def test_a_schema_of_its_own_is_made_and_used(url: str) -> None:
    execute(url, *THEIRS)
    own = f"{url}?schema=gantt"
    assert schema.sync(own) == schema.sync(own) == schema.HEAD
    with closing(gantt.connect(own)) as books:
        books.update_host(
            "h1", "h1", stats=HostStats(vcpus=4, memory_mb=4096, local_gb=10)
        )
    with closing(gantt.connect(own)) as books:
        assert [host.host for host in books.list_hosts()] == ["h1"]
    names = "SELECT table_schema FROM information_schema.tables WHERE table_name = '{}'"
    assert execute(url, names.format("gantt_hosts")) == [("gantt",)]
    assert sorted(execute(url, names.format("users"))) == [("gantt",), ("public",)]
    # The user of the tests is called gantt as well, and sees that schema first.
    theirs = "SELECT version_num FROM public.alembic_version"
    assert execute(url, theirs) == [("abc",)]


@pytest.mark.parametrize("kind", ["postgresql"])
def test_commands_that_are_advised_name_the_schema(url: str) -> None:
    with pytest.raises(errors.Refused, match=r"\?schema=gantt.* db sync`"):
        schema.check(f"{url}?schema=gantt")


@pytest.mark.parametrize("name", ["Gantt", "g-1", 'g"; DROP TABLE users', "x" * 64])
def test_a_schema_has_a_plain_name(name: str) -> None:
    with pytest.raises(errors.Refused, match="no name of one"):
        schema.check(f"postgresql+psycopg://g@127.0.0.1:1/g?schema={name}")


@pytest.mark.parametrize(
    "url", ["sqlite:///books.db?schema=gantt", "mysql://g@127.0.0.1:1/g?schema=gantt"]
)
def test_only_postgresql_has_schemas(url: str) -> None:
    with pytest.raises(errors.Refused, match="only PostgreSQL has"):
        schema.check(url)
