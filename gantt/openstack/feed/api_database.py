"""What the API database says of the whole cloud: aggregates, server groups, the cell
of each host, flavors.

These tables are small and their rows are removed when they are deleted, so each is read
whole whenever its number, the sum of its ids or its latest time is not as before.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final

import msgspec
import sqlalchemy as sa

from gantt.model.hosts import HostAggregate, ServerGroup
from gantt.openstack.feed import tables as t
from gantt.openstack.feed.connection import Database, Row

_TIMES: Final = ("created_at", "updated_at")


class Watched:
    """Tables that belong together, and whether they may have changed; ``overlap``: so
    long after a write others may come with the same time, or an earlier one."""

    def __init__(self, overlap: timedelta, *tables: sa.Table) -> None:
        self._overlap = overlap
        self._tables = tables
        self._last: tuple[object, ...] | None = None
        self._is_fresh = False

    def has_changed(self, database: Database, now: datetime) -> bool:
        """Whether to read them. What was written a moment ago counts as changed again:
        times are whole seconds, and writers' clocks differ. Raises Refused,
        StoreFailed."""
        found: list[object] = []
        is_fresh = False
        for table in self._tables:
            columns = [sa.func.max(table.c[name]) for name in _TIMES]
            ((count, total, *times),) = database.rows(
                sa.select(sa.func.count(), sa.func.sum(table.c.id), *columns)
            )
            found += (count, total, *times)
            latest = max((one for one in times if one is not None), default=None)
            is_fresh |= latest is not None and latest > now - self._overlap
        last, self._last = self._last, tuple(found)
        was_fresh, self._is_fresh = self._is_fresh, is_fresh
        return last != self._last or was_fresh or is_fresh

    def forget(self) -> None:
        """Count it as changed, whatever the next look says."""
        self._last = None


def read_aggregates(database: Database) -> tuple[HostAggregate, ...]:
    """All aggregates. Raises Refused, StoreFailed."""
    hosts, metadata = t.AGGREGATE_HOSTS.c, t.AGGREGATE_METADATA.c
    of: defaultdict[int, set[str]] = defaultdict(set)
    for _, number, host in _whole(database, hosts.id, hosts.aggregate_id, hosts.host):
        of[number].add(host)
    said: defaultdict[int, dict[str, str]] = defaultdict(dict)
    for _, number, key, value in _whole(
        database, metadata.id, metadata.aggregate_id, metadata.key, metadata.value
    ):
        said[number][key] = value or ""
    own = t.AGGREGATES.c
    return tuple(
        HostAggregate(
            uuid,
            name or "",
            number,
            frozenset(of.get(number, ())),
            said.get(number, {}),
        )
        for number, uuid, name in _whole(database, own.id, own.uuid, own.name)
        if uuid
    )


def read_groups(database: Database) -> tuple[ServerGroup, ...]:
    """All server groups. Raises Refused, StoreFailed."""
    members, policies = t.GROUP_MEMBERS.c, t.GROUP_POLICIES.c
    of: defaultdict[int, set[str]] = defaultdict(set)
    for _, number, uuid in _whole(
        database, members.id, members.group_id, members.instance_uuid
    ):
        of[number].add(uuid)
    rules: dict[int, tuple[str | None, int]] = {}
    for _, number, policy, rule in _whole(
        database, policies.id, policies.group_id, policies.policy, policies.rules
    ):
        rules.setdefault(number, (policy, _max_per_host(rule)))
    own = t.GROUPS.c
    found = []
    for number, uuid, name in _whole(database, own.id, own.uuid, own.name):
        policy, most = rules.get(number, (None, 1))
        group = ServerGroup(
            uuid, name or "", policy, most, frozenset(of.get(number, ()))
        )
        found.append(group)
    return tuple(found)


def read_host_mappings(database: Database) -> dict[str, int]:
    """Host -> the id of its cell. Raises Refused, StoreFailed."""
    own = t.HOST_MAPPINGS.c
    return {
        host: cell for _, host, cell in _whole(database, own.id, own.host, own.cell_id)
    }


def read_flavors(database: Database) -> dict[int, str]:
    """Id -> flavorid. Raises Refused, StoreFailed."""
    own = t.FLAVORS.c
    return dict(tuple(row) for row in _whole(database, own.id, own.flavorid))


def _max_per_host(rules: str | None) -> int:
    try:
        found = msgspec.json.decode(rules or "{}", type=dict[str, Any])
        return max(1, int(found.get("max_server_per_host", 1)))
    except (msgspec.MsgspecError, TypeError, ValueError):
        return 1


def _whole(
    database: Database, key: sa.Column[Any], *columns: sa.Column[Any]
) -> Sequence[Row]:
    pages = database.pages(sa.select(key, *columns), key)
    return [row for page in pages for row in page]
