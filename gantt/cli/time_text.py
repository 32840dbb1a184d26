"""Times on the command line, in microseconds since the epoch for the library."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def time_option(flag: str, text: str) -> Callable[[F], F]:
    """An option whose value is a time, as microseconds; None: not given."""
    return click.option(flag, metavar="TIME", callback=_time, help=text)


def _time(
    _context: click.Context, _option: click.Parameter, text: str | None
) -> int | None:
    """Parse a time into microseconds since the epoch."""
    if text is None:
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise click.BadParameter(
            f"{text!r} is not a time: write 2026-11-01, or 2026-11-01T08:00, in UTC or "
            "with an offset such as +01:00."
        ) from None
    at = found if found.tzinfo else found.replace(tzinfo=UTC)
    return (at - EPOCH) // timedelta(microseconds=1)


def shown_at(at: int) -> str:
    """Microseconds since the epoch as a time in UTC, to the minute."""
    return (EPOCH + timedelta(microseconds=at)).isoformat(timespec="minutes")
