"""Columns as the tables and the migrations define them.

Migrations use these and never ``tables``, which show the latest schema: what a function
here returns must not change.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import mysql

# In Gantt's own tables names differ in every letter, on every database alike.
_EXACT = {"charset": "utf8mb4", "collation": "utf8mb4_bin"}
Json = sa.Text().with_variant(mysql.LONGTEXT(**_EXACT), "mysql")
# Only an INTEGER key is SQLite's own row number; a BIGINT would cost a second index.
Revision = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
# Long enough that MariaDB makes it a LONGBLOB: a reshape can touch a whole fleet.
Bytes = sa.LargeBinary(2**31 - 1)

Columns = tuple[sa.Column[Any], ...]


def row_id() -> Columns:
    """The first columns of a table whose rows have an id."""
    return (*times(), sa.Column("id", sa.Integer, primary_key=True, nullable=False))


def times() -> Columns:
    """When a row was made and changed."""
    return (
        sa.Column("created_at", sa.DateTime),
        sa.Column("updated_at", sa.DateTime),
    )


def key(name: str, kind: Any = sa.Integer) -> sa.Column[Any]:
    """A part of a primary key; its value is never generated."""
    return sa.Column(name, kind, primary_key=True, autoincrement=False)


def required(kind: Any, *names: str) -> Columns:
    """Columns of one type, none of which may be NULL."""
    return tuple(sa.Column(name, kind, nullable=False) for name in names)


def exact(size: int = 255) -> sa.String:
    """The type of texts of our own tables."""
    return sa.String(size).with_variant(mysql.VARCHAR(size, **_EXACT), "mysql")


def texts(*names: str) -> Columns:
    """Texts of at most 255 letters, none of which may be NULL."""
    return required(exact(), *names)


def uuid(name: str, *, nullable: bool = False) -> sa.Column[Any]:
    return sa.Column(name, exact(36), nullable=nullable)


def unique(table: str, *columns: str) -> sa.UniqueConstraint:
    """Named as Placement names its own."""
    return sa.UniqueConstraint(*columns, name=f"uniq_{table}0{'0'.join(columns)}")
