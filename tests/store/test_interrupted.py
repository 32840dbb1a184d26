"""A migration that breaks off between two of its statements is completed by the next.

MariaDB keeps what was made until then; elsewhere all of it is undone.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, create_engine, event, inspect, text

from gantt import errors
from gantt.store import open_store, schema
from gantt.store.adoption.adopt import OURS, PLACEMENTS, RELEASED, adopt, release
from tests.databases import Databases
from tests.kinds import KINDS

# From what is made first to the last version that is noted: there are some fifty.
SOME = {"mariadb": (1, 2, 3, 5, 8, 13, 22, 31, 34, 36, 41)}
ANY = (1, 9, 30)
CHANGES = ("CREATE", "INSERT", "UPDATE", "ALTER")
DROPS = ("DROP",)


class Crash(BaseException):
    """The process is gone."""


@contextmanager
def crash_before(number: int, words: tuple[str, ...] = CHANGES) -> Iterator[list[str]]:
    """Before the statement with that number that changes anything."""
    seen: list[str] = []

    def look(_c: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if statement.lstrip().upper().startswith(words):
            seen.append(statement)
            if len(seen) == number:
                raise Crash

    event.listen(Engine, "before_cursor_execute", look)
    try:
        yield seen
    finally:
        event.remove(Engine, "before_cursor_execute", look)


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@contextmanager
def empty(kind: str, folder: Path, databases: Databases) -> Iterator[str]:
    """A database without tables."""
    if kind == "sqlite":
        path = folder / "books.db"
        path.unlink(missing_ok=True)
        yield f"sqlite:///{path}"
    else:
        with databases.database(kind, is_furnished=False) as url:
            yield url


def looked_at(url: str) -> dict[str, object]:
    """Tables with their columns, indexes and constraints, and how many rows."""
    engine = create_engine(url)
    found: dict[str, object] = {}
    with engine.connect() as connection:
        schema_of = inspect(connection)
        for table in sorted(schema_of.get_table_names()):
            rows = connection.execute(text(f"SELECT count(*) FROM {table}")).scalar()
            columns = [one["name"] for one in schema_of.get_columns(table)]
            indexes = sorted(str(one["name"]) for one in schema_of.get_indexes(table))
            keys = len(schema_of.get_foreign_keys(table))
            found[table] = (columns, indexes, keys, rows)
    engine.dispose()
    return found


@pytest.fixture
def whole(kind: str, tmp_path: Path, databases: Databases) -> dict[str, object]:
    """What a migration leaves that nothing happened to."""
    with empty(kind, tmp_path, databases) as url:
        schema.sync(url)
        return looked_at(url)


@pytest.mark.slow
def test_an_interrupted_migration_is_resumed(
    kind: str, tmp_path: Path, databases: Databases, whole: dict[str, object]
) -> None:
    for number in SOME.get(kind, ANY):
        with empty(kind, tmp_path, databases) as url:
            try:
                with crash_before(number) as seen:
                    schema.sync(url)
            except Crash:
                pass
            else:
                assert len(seen) > 40
                break
            with pytest.raises(errors.Refused, match=r"gantt-manage .*db sync"):
                open_store(url)
            assert schema.sync(url) == schema.HEAD, seen[-1]
            assert looked_at(url) == whole, seen[-1]
            open_store(url).close()


@pytest.mark.slow
def test_an_interrupted_adoption_is_completed(
    kind: str, tmp_path: Path, databases: Databases, whole: dict[str, object]
) -> None:
    tables = {name for name in whole if not name.startswith("gantt_")}
    for number in SOME.get(kind, ANY):
        with empty(kind, tmp_path, databases) as url:
            schema.sync(url)
            database = create_engine(url)
            with database.begin() as connection:
                for name in set(whole) - tables:
                    connection.execute(text(f"DROP TABLE {name}"))
                connection.execute(
                    text("INSERT INTO traits (id, name) VALUES (1, 'CUSTOM_KEPT')")
                )
            database.dispose()
            try:
                with crash_before(number) as seen:
                    adopt(url)
            except Crash:
                pass
            else:
                assert len(seen) > 9
                break
            # Books of another program are not taken over by accident.
            if schema.version(url) is None:
                with pytest.raises(errors.Refused, match=r"gantt-manage .*adopt"):
                    schema.sync(url)
            was = adopt(url).was
            assert was in (PLACEMENTS, OURS), seen[-1]
            schema.check(url)
            found = looked_at(url)
            assert found.keys() == whole.keys(), seen[-1]
            assert found["gantt_head"] == whole["gantt_head"], seen[-1]
            assert schema.version(url) == schema.HEAD


@pytest.mark.server("mariadb")  # elsewhere it is one transaction
def test_an_interrupted_drop_can_be_repeated(databases: Databases) -> None:
    with databases.database("mariadb") as url:
        with pytest.raises(Crash), crash_before(9, DROPS):
            release(url, drop=True)
        assert adopt(url).was == RELEASED
        schema.check(url)
