"""Migrations that ended without their instance: the host that was to take it is no
longer promised it.

Nova's computes tell what they have, not what they did not get.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

import sqlalchemy as sa

from gantt.openstack.feed.connection import Database
from gantt.openstack.feed.tables import MIGRATIONS

FAILED: Final = frozenset({"error", "failed", "cancelled", "reverted"})


class Migrations:
    """Each ended migration is told once."""

    def __init__(self) -> None:
        self._told: frozenset[int] = frozenset()
        self._found: frozenset[int] = frozenset()

    def read(self, database: Database, since: datetime) -> tuple[tuple[str, str], ...]:
        """(host, instance) of migrations that failed since, unless the instance is on
        its way there again. Raises Refused, StoreFailed."""
        m = MIGRATIONS.c
        wanted = sa.select(m.id, m.instance_uuid, m.dest_compute, m.status).where(
            m.updated_at >= since
        )
        latest: dict[tuple[str, str], tuple[int, str]] = {}
        for number, uuid, host, status in sorted(map(tuple, database.rows(wanted))):
            if host and uuid:
                latest[(host, uuid)] = number, status
        failed = {
            number: place
            for place, (number, status) in latest.items()
            if status in FAILED
        }
        self._found = frozenset(failed)
        return tuple(
            place for number, place in failed.items() if number not in self._told
        )

    def take(self) -> None:
        """What was read last has been told."""
        self._told = self._found
