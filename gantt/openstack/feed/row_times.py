"""Times as the databases of Nova have them, read so that one that is none costs itself.

Each is selected as text: drivers differ in what they make of "0000-00-00 00:00:00",
which MariaDB keeps by default, and some fail the whole statement.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

Seen = datetime | str | None
"""What a column of a time reads as: text where it is no time."""


class UtcTime(sa.types.TypeDecorator[Any]):
    """A time without a zone, which is UTC; read as ``Seen``."""

    impl = sa.DateTime
    cache_ok = True

    def column_expression(self, column: sa.ColumnElement[Any]) -> sa.ColumnElement[Any]:
        """How it is selected."""
        return sa.type_coerce(sa.cast(column, sa.Text), self)

    def result_processor(
        self,
        dialect: sa.Dialect,  # noqa: ARG002
        coltype: object,  # noqa: ARG002
    ) -> Callable[[Any], Seen]:
        """What is made of it."""
        return _read


def _read(value: Any) -> Seen:
    if value is None:
        return None
    text = str(value)
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return text
    return found if found.tzinfo is None else text


def micros(at: datetime) -> int:
    """Microseconds since the epoch."""
    return int(at.replace(tzinfo=UTC).timestamp() * 1_000_000)
