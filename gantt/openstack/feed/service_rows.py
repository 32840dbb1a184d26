"""The nova-compute services of a cell, and whether they are up.

Each service writes its row every few seconds, so that rows that were written tell
nothing. A round reads the few that are out of the ordinary (disabled, forced down, or
without a recent heartbeat), and all of them only if their number, ids or versions have
changed. What Gantt hears of one that is up is that it is, not when it was seen last.
One whose heartbeat cannot be read is down.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Final

import sqlalchemy as sa
from msgspec.structs import replace

from gantt.errors import Invalid
from gantt.model.forms import values
from gantt.model.hosts import Service
from gantt.openstack.feed.nova_connection import NovaDatabase, Row
from gantt.openstack.feed.nova_tables import SERVICES
from gantt.openstack.feed.row_times import Seen, micros
from gantt.openstack.feed.unreadable_rows import Bad, mended, named

COMPUTE: Final = "nova-compute"
# Where a value cannot be read: seen in 1970, so down; older than all others.
_SAFE: Final = {"last_seen_up": (0, "counts as down"), "version": (0, "counts as 0")}


class ServiceReader:
    """``cell_uuid``: of the cell that has them; ``down_after``: without a heartbeat for
    so long a service is down."""

    def __init__(self, cell_uuid: str, down_after: timedelta) -> None:
        self._cell_uuid = cell_uuid
        self._down_after = down_after
        self._print: tuple[object, ...] | None = None
        self._plain: dict[str, Service] = {}
        self._odd: dict[str, Service] = {}
        self._all: dict[str, Service] = {}
        self._bad_plain: Bad = {}
        self._bad_odd: Bad = {}

    def read(self, database: NovaDatabase, now: datetime) -> dict[str, Service]:
        """All services by host; the same object where nothing is different. Raises
        Refused, StoreFailed."""
        is_new = self._read_versions(database)
        odd = self._read_odd(database, now)
        if is_new or odd != self._odd:
            self._odd, self._all = odd, self._plain | odd
        return self._all

    @property
    def versions(self) -> frozenset[int]:
        """The versions of the services, 0 where one has none."""
        return frozenset(int(one.version or 0) for one in self._plain.values())

    @property
    def unreadable(self) -> Bad:
        """What of them could not be read when they were read last."""
        return self._bad_plain | self._bad_odd

    def _read_versions(self, database: NovaDatabase) -> bool:
        """Whether there is anything new."""
        t = SERVICES.c
        mine = t.deleted == 0, t.binary == COMPUTE
        (row,) = database.rows(
            sa.select(
                sa.func.count(),
                sa.func.sum(t.id),
                sa.func.sum(t.version),
                sa.func.min(t.version),
                sa.func.max(t.version),
            ).where(*mine)
        )
        if tuple(row) == self._print:
            return False
        wanted = sa.select(t.id, t.host, t.version).where(*mine)
        bad: Bad = {}
        plain = {}
        for page in database.pages(wanted, t.id):
            for number, said, version in page:
                host = named(f"row {number} of services", said, bad)
                if host:
                    plain[host] = self._service(host, {"version": version or 0}, bad)
        self._plain, self._bad_plain = plain, bad
        self._print = tuple(row)
        return True

    def _read_odd(self, database: NovaDatabase, now: datetime) -> dict[str, Service]:
        t = SERVICES.c
        seen = sa.func.coalesce(t.last_seen_up, t.created_at)
        why = t.disabled_reason
        wanted = sa.select(
            t.host, t.version, t.disabled, t.forced_down, seen.label("seen"), why
        ).where(
            t.deleted == 0,
            t.binary == COMPUTE,
            sa.or_(
                t.disabled,
                t.forced_down,
                seen < now - self._down_after,
                seen > now + self._down_after,
            ),
        )
        bad: Bad = {}
        found = {}
        for row in database.rows(wanted):
            host = named("", row.host, {})  # one that is none was noted before
            if host:
                found[host] = self._odd_service(host, row, now, bad)
        self._bad_odd = bad
        return found

    def _odd_service(self, host: str, row: Row, now: datetime, bad: Bad) -> Service:
        reason = None
        if row.disabled and row.disabled_reason is not None:
            what = f"service of host {host}, its disabled_reason"
            reason = mended(what, row.disabled_reason, bad)
        said = {
            "version": row.version or 0,
            "disabled": bool(row.disabled),
            "forced_down": bool(row.forced_down),
            "last_seen_up": self._last_seen(row.seen, now),
            "disabled_reason": reason,
        }
        return self._service(host, said, bad)

    def _last_seen(self, at: Seen, now: datetime) -> int | str | None:
        if isinstance(at, datetime):
            return micros(at) if abs(at - now) > self._down_after else None
        return at

    def _service(self, host: str, said: dict[str, Any], bad: Bad) -> Service:
        """What cannot be read is noted in ``bad``, and taken on the safe side."""
        plain = Service(
            host,
            COMPUTE,
            disabled=False,
            forced_down=False,
            last_seen_up=None,
            cell_uuid=self._cell_uuid,
            disabled_reason=None,
        )
        try:
            return values.service(replace(plain, **said))
        except Invalid:
            pass
        for name, (safe, sense) in _SAFE.items():
            try:
                one = replace(Service(host, COMPUTE), **{name: said.get(name)})
                values.service(one)
            except Invalid as refusal:
                said[name] = safe
                bad[f"service of host {host}, its {name}"] = (
                    f"{refusal.message} It {sense}"
                )
        return replace(plain, **said)
