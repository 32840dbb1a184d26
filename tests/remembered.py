"""What a run of the tests finds out once, as it is the same each time.

A process opens its store once; the tests open thousands, of a few kinds. Text that
SQLAlchemy makes of equal statements is equal, and a server compares names as before:
each is found out by the real code, the first time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy.sql.expression import ClauseElement

from gantt.store.database.dialect import Database, Statement
from gantt.store.database.mariadb import MysqlDatabase, column_query

Ask = Callable[[str], list[Any]]


def remember(patch: pytest.MonkeyPatch) -> None:
    """Until ``patch`` is undone."""
    patch.setattr(Database, "compile", _compile_once(Database.compile))
    patch.setattr(MysqlDatabase, "learn", _learn_once(MysqlDatabase.learn))


def _compile_once(
    compile_: Callable[[Database, ClauseElement], Statement],
) -> Callable[[Database, ClauseElement], Statement]:
    """By SQLAlchemy's own key, which also has the names of parameters."""
    known: dict[object, Statement] = {}

    def compiled(database: Database, statement: ClauseElement) -> Statement:
        key = statement._generate_cache_key()
        if key is None or any(one.value is not None for one in key.bindparams):
            return compile_(database, statement)
        dialect = database.engine.dialect
        place = (dialect.name, dialect.driver, dialect.paramstyle, key.key)
        if place not in known:
            known[place] = compile_(database, statement)
        return known[place]

    return compiled


def _learn_once(
    learn: Callable[[MysqlDatabase, Ask], None],
) -> Callable[[MysqlDatabase, Ask], None]:
    """What a collation takes for equal: the servers of a run are one release."""
    known: dict[tuple[str, str], Callable[[str], str]] = {}

    def learnt(database: MysqlDatabase, ask: Ask) -> None:
        charset, collation = ask(column_query("resource_providers", "name"))[0]
        if (charset, collation) not in known:
            learn(database, ask)
            known[charset, collation] = database._fold
        database._charset = charset
        database._fold = known[charset, collation]

    return learnt
