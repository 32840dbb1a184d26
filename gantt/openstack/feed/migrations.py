"""Migrations that ended without their instance: the host that was to take it is no
longer promised it.

Nova's computes tell what they have, not what they did not get.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

import sqlalchemy as sa

from gantt.openstack.feed.nova_connection import NovaDatabase
from gantt.openstack.feed.nova_tables import MIGRATIONS
from gantt.openstack.feed.unreadable_rows import is_uuid, named

FAILED: Final = frozenset({"error", "failed", "cancelled", "reverted"})


class Migrations:
    """Each ended migration is told once. ``span``: at the start, and again after so
    long, all that ended within it are read; 0: never."""

    def __init__(self, overlap: timedelta, span: timedelta) -> None:
        self._overlap, self._span = overlap, span
        self._told: frozenset[int] = frozenset()
        # When all were read last.
        self._at: datetime | None = None
        self._read: tuple[frozenset[int], datetime | None] = frozenset(), None

    def read(
        self, database: NovaDatabase, since: datetime | None, now: datetime
    ) -> tuple[tuple[str, str], ...]:
        """(host, instance) of migrations that failed since, unless the instance is on
        its way there again. Raises Refused, StoreFailed."""
        is_whole = self._at is None or now - self._at >= self._span > timedelta()
        if is_whole or since is None:
            since = now - self._overlap - self._span
        m = MIGRATIONS.c
        wanted = sa.select(m.id, m.instance_uuid, m.dest_compute, m.status).where(
            m.updated_at >= since
        )
        latest: dict[tuple[str, str], tuple[int, str]] = {}
        for number, uuid, host, status in sorted(map(tuple, database.rows(wanted))):
            # What cannot be a name, or no uuid, is on no host that is known.
            if named("", host, {}) and is_uuid("", uuid, {}):
                latest[(host, uuid)] = number, status
        failed = {
            number: place
            for place, (number, status) in latest.items()
            if status in FAILED
        }
        new = failed.keys() - self._told
        # What was told is kept for as long as it may be read again.
        is_kept = not is_whole and self._span > timedelta()
        told = frozenset(failed) | (self._told if is_kept else frozenset())
        self._read = told, now if is_whole else self._at
        return tuple(failed[number] for number in sorted(new))

    def take(self) -> None:
        """What was read last has been told."""
        self._told, self._at = self._read
