"""The nova-compute services of a cell, and whether they are up.

Each service writes its row every few seconds, so that rows that were written tell
nothing. A round reads the few that are out of the ordinary (disabled, forced down, or
without a recent heartbeat), and all of them only if their number, ids or versions have
changed. What Gantt hears of one that is up is that it is, not when it was seen last.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

import sqlalchemy as sa

from gantt.model.hosts import Service
from gantt.openstack.feed.connection import Database
from gantt.openstack.feed.tables import SERVICES

COMPUTE: Final = "nova-compute"


class Services:
    """``cell_uuid``: of the cell that has them; ``down_after``: without a heartbeat for
    so long a service is down."""

    def __init__(self, cell_uuid: str, down_after: timedelta) -> None:
        self._cell_uuid = cell_uuid
        self._down_after = down_after
        self._print: tuple[object, ...] | None = None
        self._versions: dict[str, int] = {}
        self._plain: dict[str, Service] = {}
        self._odd: dict[str, Service] = {}
        self._all: dict[str, Service] = {}

    def read(self, database: Database, now: datetime) -> dict[str, Service]:
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
        return frozenset(self._versions.values())

    def _read_versions(self, database: Database) -> bool:
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
        self._versions = {
            host: version or 0
            for page in database.pages(wanted, t.id)
            for _, host, version in page
            if host
        }
        self._plain = {host: self._service(host) for host in self._versions}
        self._print = tuple(row)
        return True

    def _read_odd(self, database: Database, now: datetime) -> dict[str, Service]:
        t = SERVICES.c
        seen = sa.func.coalesce(t.last_seen_up, t.created_at)
        why = t.disabled_reason
        wanted = sa.select(t.host, t.disabled, t.forced_down, seen, why).where(
            t.deleted == 0,
            t.binary == COMPUTE,
            sa.or_(
                t.disabled,
                t.forced_down,
                seen < now - self._down_after,
                seen > now + self._down_after,
            ),
        )
        return {
            host: self._service(
                host,
                disabled=bool(disabled),
                forced_down=bool(forced_down),
                seen=moment(at) if at and abs(at - now) > self._down_after else None,
                reason=reason if disabled else None,
            )
            for host, disabled, forced_down, at, reason in database.rows(wanted)
            if host
        }

    def _service(
        self,
        host: str,
        *,
        disabled: bool = False,
        forced_down: bool = False,
        seen: int | None = None,
        reason: str | None = None,
    ) -> Service:
        return Service(
            host,
            COMPUTE,
            disabled=disabled,
            forced_down=forced_down,
            last_seen_up=seen,
            cell_uuid=self._cell_uuid,
            version=self._versions.get(host, 0),
            disabled_reason=reason,
        )


def moment(at: datetime) -> int:
    """Microseconds since the epoch."""
    return int(at.replace(tzinfo=UTC).timestamp() * 1_000_000)
