"""Migrations that have not ended: what the audit is not to take for a mistake.

While one goes on, its own uuid has what the instance has at the source, and the
instance may be listed where it has nothing yet, or any more. All are read at the start,
and again within ``span``; in between those that are new or were written, and those that
had not ended.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Any, Final

import sqlalchemy as sa
from msgspec import Struct

from gantt.model.fleet import Move
from gantt.openstack.feed.nova_connection import NovaDatabase, Row
from gantt.openstack.feed.nova_tables import INSTANCES, MIGRATIONS
from gantt.openstack.feed.unreadable_rows import Bad, is_uuid, named

ENDED: Final = (
    "confirmed",
    "reverted",
    "error",
    "failed",
    "completed",
    "cancelled",
    "done",
)
"""As Nova counts in ``migration_get_in_progress_by_host_and_node``."""
# An id may be committed after a later one: so many are looked at again.
_LATE: Final = 100


class Moving(Struct, frozen=True):
    """What one reading found. ``last``: the highest id; ``at``: when all were read;
    ``rows``: by id, what has not ended as (move, its hosts)."""

    last: int
    at: datetime
    rows: dict[int, tuple[Move, tuple[str, ...]]]
    unreadable: Bad

    def by_host(self, there: frozenset[str]) -> dict[str, tuple[Move, ...]]:
        """The moves from or to each host of ``there``. One whose hosts are not there,
        or cannot be read, is at any: what it is about goes on."""
        found: defaultdict[str, list[Move]] = defaultdict(list)
        for _, (move, hosts) in sorted(self.rows.items()):
            known = there.intersection(hosts)
            for host in known or sorted(there)[:1]:
                found[host].append(move)
        return {host: tuple(mine) for host, mine in found.items()}


class Moves:
    """``read`` asks the database, ``take`` remembers what it found."""

    def __init__(self, span: timedelta) -> None:
        self._span = span
        self._known: Moving | None = None

    @property
    def unreadable(self) -> Bad:
        """What cannot be read of what was taken."""
        return {} if self._known is None else self._known.unreadable

    def read(
        self, database: NovaDatabase, since: datetime | None, now: datetime
    ) -> Moving:
        """Those that have not ended. ``since`` None: all rows are read. Raises Refused,
        StoreFailed."""
        known = self._known
        m = MIGRATIONS.c
        if since is None or known is None or self._is_due(known, now):
            ((last,),) = database.rows(sa.select(sa.func.max(m.id)))
            pages = database.pages(sa.select(m.id).where(*_open()), m.id)
            ids = {number for page in pages for (number,) in page}
            return _moving(int(last or 0), now, _read(database, ids))
        new = {number for (number,) in database.rows(_ids(m.id > known.last - _LATE))}
        touched = database.rows(_ids(m.updated_at >= since, *_open()))
        ids = known.rows.keys() | new | {number for (number,) in touched}
        return _moving(max(new, default=known.last), known.at, _read(database, ids))

    def take(self, found: Moving) -> None:
        """What was read has been told."""
        self._known = found

    def _is_due(self, known: Moving, now: datetime) -> bool:
        return now - known.at >= self._span > timedelta()


def _open() -> tuple[sa.ColumnElement[bool], ...]:
    """Conditions of the rows that stand for what has not ended."""
    m = MIGRATIONS.c
    return m.deleted == 0, sa.or_(m.status.is_(None), m.status.not_in(ENDED))


def _ids(*conditions: sa.ColumnElement[bool]) -> Any:
    return sa.select(MIGRATIONS.c.id).where(*conditions)


def _read(database: NovaDatabase, ids: Iterable[int]) -> Iterator[Row]:
    """What of these has not ended, and the id of its instance, if that is there."""
    m, i = MIGRATIONS.c, INSTANCES.c
    both = MIGRATIONS.outerjoin(
        INSTANCES, sa.and_(i.uuid == m.instance_uuid, i.deleted == 0)
    )
    columns = (m.id, m.uuid, m.instance_uuid, m.source_compute, m.dest_compute)
    wanted = sa.select(*columns, i.id.label("there")).select_from(both).where(*_open())
    return database.rows_of(wanted, m.id, ids)


def _moving(last: int, at: datetime, rows: Iterable[Row]) -> Moving:
    found: dict[int, tuple[Move, tuple[str, ...]]] = {}
    bad: Bad = {}
    for number, uuid, instance, source, target, there in rows:
        what = f"row {number} of migrations"
        own = _uuid(f"{what}, its uuid", uuid, bad)
        moved = _uuid(f"{what}, its instance", instance, bad)
        if moved is not None and there is None:
            continue  # it was deleted, and so it does not move
        hosts = (
            named(f"{what}, its source", source, bad),
            named(f"{what}, its target", target, bad),
        )
        found[number] = Move(moved, own), tuple(filter(None, hosts))
    return Moving(last, at, found, bad)


def _uuid(what: str, value: str | None, bad: Bad) -> str | None:
    """None: there is none, or none that can be read."""
    return value if value is not None and is_uuid(what, value, bad) else None
