"""Steps of a migration that may be taken twice.

Apart from the revisions, which say what is done: MariaDB keeps each table as soon as it
is made, so that a migration which breaks off leaves a part of itself behind, and the
next attempt begins with its first step again. Elsewhere all of it is undone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from alembic import op


def create_table(
    name: str, *parts: sa.schema.SchemaItem, rows: Sequence[dict[str, Any]] = ()
) -> None:
    """A table with its first rows, as far as it is missing."""
    if _may_be_there() and sa.inspect(op.get_bind()).has_table(name):
        table = sa.Table(name, sa.MetaData(), *parts)
        if rows and not _has_rows(table):
            op.bulk_insert(table, list(rows))
        return
    table = op.create_table(name, *parts)
    if rows:
        op.bulk_insert(table, list(rows))


def add_column(table: str, column: sa.Column[Any]) -> None:
    """A column, unless it is there."""
    if _may_be_there():
        found = sa.inspect(op.get_bind()).get_columns(table)
        if any(one["name"] == column.name for one in found):
            return
    op.add_column(table, column)


def create_index(name: str, table: str, columns: Sequence[str]) -> None:
    """An index, unless it is there."""
    if _may_be_there():
        found = sa.inspect(op.get_bind()).get_indexes(table)
        if any(index["name"] == name for index in found):
            return
    op.create_index(name, table, list(columns))


def _may_be_there() -> bool:
    """Whether this database keeps a part of what broke off."""
    return op.get_bind().dialect.name in ("mysql", "mariadb")


def _has_rows(table: sa.Table) -> bool:
    query = sa.select(sa.literal(1)).select_from(table).limit(1)
    return op.get_bind().execute(query).first() is not None
