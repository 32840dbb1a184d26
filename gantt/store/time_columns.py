"""Microseconds since the epoch to what DATETIME columns hold, and back.

Placement's schema has naive UTC times, as text on SQLite. Loading converts hundreds of
thousands of them, most of them equal.
"""

from __future__ import annotations

from datetime import datetime, timedelta

_EPOCH = datetime(1970, 1, 1)
_MICROSECOND = timedelta(microseconds=1)
_MEMO_LIMIT = 100_000


def to_datetime(micros: int | None) -> datetime | None:
    """A naive UTC datetime, for drivers that have the type."""
    return None if micros is None else _EPOCH + timedelta(microseconds=micros)


def to_text(micros: int | None) -> str | None:
    """The text that SQLAlchemy stores in an SQLite DATETIME column."""
    if micros is None:
        return None
    return (_EPOCH + timedelta(microseconds=micros)).isoformat(" ", "microseconds")


def to_micros(value: str | datetime | None) -> int | None:
    """The value of a DATETIME column; None for NULL and for text that is no time."""
    if value is None:
        return None
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else value
        return (moment.replace(tzinfo=None) - _EPOCH) // _MICROSECOND
    except (TypeError, ValueError):
        return None  # imported by hand; times only show in response headers


class MicrosMemo(dict[str | datetime | None, int | None]):
    """``memo[value]`` is ``to_micros(value)``, computed once for equal values."""

    def __missing__(self, value: str | datetime | None) -> int | None:
        micros = to_micros(value)
        if len(self) < _MEMO_LIMIT:
            self[value] = micros
        return micros
