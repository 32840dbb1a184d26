"""Capacity and usage of a resource class over time.

Separate from usages, which are current: these records outlive their subject, and
contain names of classes that may no longer exist.
"""

from __future__ import annotations

import re
from typing import Final, Literal, get_args

from msgspec import Struct

from gantt.errors import Invalid

Period = Literal["5m", "hour", "day"]
SECONDS: Final[dict[str, int]] = {"5m": 300, "hour": 3_600, "day": 86_400}
"""How long a period of each name is. Days begin at midnight, UTC."""
MICROS: Final = 1_000_000
MOST_RECORDS: Final = 10_000
EVER: Final = 2**63 - 1
"""Later than any time that a table can hold."""
ALL: Final = 2**31 - 1
_NAME: Final = re.compile(r"[A-Z0-9_]{1,255}")
# No database but MariaDB takes two names for one that differ in spaces at their end.
_ZONE: Final = re.compile(r"[^\0\ud800-\udfff]{0,254}[^\0 \ud800-\udfff]")


class UsageRecord(Struct, frozen=True):
    """One resource class over the period of ``period_s`` seconds from ``start`` on
    (microseconds since the epoch, UTC).

    ``samples``: how often it was sampled; samples without inventory of the class do not
    count. ``capacity`` and ``used_avg`` are means over these. ``zone``: only of the
    hosts in it; "": of all providers.
    """

    start: int
    period_s: int
    resource_class: str
    samples: int
    capacity: float
    used_min: float
    used_avg: float
    used_max: float
    zone: str = ""

    @property
    def percent(self) -> float | None:
        """The mean share of the capacity in use; None without capacity."""
        return 100 * self.used_avg / self.capacity if self.capacity > 0 else None


class HistoryQuery(Struct, frozen=True):
    """Which records: of periods that begin within ``since`` <= start < ``until``; of
    these the latest ``limit``. ``resource_class`` None: all classes. ``zone``: of one
    zone; "": of all providers; None: of every zone, and none of all providers."""

    period_s: int
    since: int = 0
    until: int = EVER
    resource_class: str | None = None
    limit: int = ALL
    zone: str | None = ""


def is_zone_name(name: str) -> bool:
    """Whether records can be kept of a zone of that name: every database takes it, and
    tells it from all others."""
    return _ZONE.fullmatch(name) is not None


def history_query(
    resource_class: str | None,
    *,
    since: int | None,
    until: int | None,
    period: str,
    limit: int,
    zone: str | None,
) -> HistoryQuery:
    """``zone`` None or "": all providers. Raises Invalid for an unknown period, an
    invalid name, and a limit out of bounds."""
    if period not in SECONDS:
        names = ", ".join(get_args(Period))
        raise Invalid(f"{period!r} is not a period of the usage history: use {names}.")
    if not 1 <= limit <= MOST_RECORDS:
        raise Invalid(
            f"The usage history returns 1 to {MOST_RECORDS} records at "
            f"once, not {limit}: request a shorter time, or one resource "
            "class."
        )
    if resource_class is not None and not _NAME.fullmatch(resource_class):
        raise Invalid(
            f"{resource_class!r} is not a resource class name: use A-Z, 0-9 and _."
        )
    return HistoryQuery(
        SECONDS[period],
        max(0, since or 0),
        EVER if until is None else min(until, EVER),
        resource_class,
        limit,
        zone or "",
    )
