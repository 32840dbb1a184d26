"""What a run remembers is what would be found out anew."""

from __future__ import annotations

import pytest
from sqlalchemy import bindparam, column, literal_column, select, table
from sqlalchemy.sql.expression import ClauseElement

from gantt.store import StoreOptions
from gantt.store.database import Database, open_database

_THINGS = table("things", column("id"), column("name"))


@pytest.fixture
def database(tmp_path: object) -> Database:
    return open_database(f"sqlite:///{tmp_path}/none.db", StoreOptions())


@pytest.mark.parametrize(
    ("statement", "text", "names"),
    [
        (select(_THINGS.c.id), "SELECT things.id FROM things", ()),
        (select(_THINGS.c.name), "SELECT things.name FROM things", ()),
        (select(literal_column("1")), "SELECT 1", ()),
        (select(literal_column("2")), "SELECT 2", ()),
        *(
            (
                select(_THINGS.c.id).where(_THINGS.c.name == bindparam(name)),
                "SELECT things.id FROM things WHERE things.name = ?",
                (name,),
            )
            for name in ("one", "other")
        ),
    ],
)
def test_statements_that_differ_have_their_own_text(
    database: Database, statement: ClauseElement, text: str, names: tuple[str, ...]
) -> None:
    for _ in range(2):
        found = database.compile(statement)
        assert (" ".join(found.text.split()), found.names) == (text, names)


def test_a_value_in_a_statement_is_refused_each_time(database: Database) -> None:
    statement = select(_THINGS.c.id).where(_THINGS.c.name == "given")
    for _ in range(2):
        with pytest.raises(AssertionError, match="not part of the text"):
            database.compile(statement)
