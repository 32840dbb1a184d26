"""What the API database says of the whole cloud: aggregates, server groups, the cell
of each host, flavors.

These tables are small and their rows are removed when they are deleted, so each is read
whole whenever its number, the sum of its ids or its latest time is not as before.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from itertools import chain
from typing import Any, Final

import msgspec
import sqlalchemy as sa

from gantt.errors import Invalid
from gantt.model.bounds import MAX_TEXT, MAX_WHOLE
from gantt.model.forms import nouns, scalars
from gantt.model.hosts import HostAggregate, ServerGroup
from gantt.openstack.feed import nova_tables as t
from gantt.openstack.feed.nova_connection import NovaDatabase, Row
from gantt.openstack.feed.unreadable_rows import Bad, is_uuid, mended, names

_TIMES: Final = ("created_at", "updated_at")


class Watched:
    """Tables that belong together, and whether they may have changed; ``overlap``: so
    long after a write others may come with the same time, or an earlier one."""

    def __init__(self, overlap: timedelta, *tables: sa.Table) -> None:
        self._overlap = overlap
        self._tables = tables
        self._last: tuple[object, ...] | None = None
        self._is_fresh = False

    def has_changed(self, database: NovaDatabase, now: datetime) -> bool:
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
            known = (one for one in times if isinstance(one, datetime))
            latest = max(known, default=None)
            is_fresh |= latest is not None and latest > now - self._overlap
        last, self._last = self._last, tuple(found)
        was_fresh, self._is_fresh = self._is_fresh, is_fresh
        return last != self._last or was_fresh or is_fresh

    def forget(self) -> None:
        """Count it as changed, whatever the next look says."""
        self._last = None


def read_aggregates(database: NovaDatabase) -> tuple[tuple[HostAggregate, ...], Bad]:
    """All aggregates, each without what of it cannot be read. Raises Refused,
    StoreFailed."""
    hosts = _by(database, t.AGGREGATE_HOSTS, "aggregate_id", "host")
    said = _by(database, t.AGGREGATE_METADATA, "aggregate_id", "key", "value")
    bad: Bad = {}
    found = []
    for number, uuid, name in _whole(database, t.AGGREGATES, "uuid", "name"):
        if is_uuid(f"row {number} of aggregates", uuid, bad):
            what = f"aggregate {uuid}"
            one = HostAggregate(
                uuid,
                mended(f"{what}, its name", name or "", bad, MAX_TEXT),
                number,
                names(f"{what}, a host", (host for (host,) in hosts[number]), bad),
                _metadata(what, said[number], bad),
            )
            found.append(one)
    return tuple(found), bad


def _metadata(what: str, said: Iterable[tuple[Any, ...]], bad: Bad) -> dict[str, str]:
    """A value is kept without what cannot be: its key alone may be a limit."""
    what = f"{what}, its metadata"
    return {
        mended(what, key or "", bad): mended(what, value or "", bad, MAX_TEXT)
        for key, value in said
    }


def read_groups(database: NovaDatabase) -> tuple[tuple[ServerGroup, ...], Bad]:
    """All server groups, each without what of it cannot be read. Raises Refused,
    StoreFailed."""
    members = _by(database, t.GROUP_MEMBERS, "group_id", "instance_uuid")
    rules = _by(database, t.GROUP_POLICIES, "group_id", "policy", "rules")
    bad: Bad = {}
    found = []
    for number, uuid, name in _whole(database, t.GROUPS, "uuid", "name"):
        if is_uuid(f"row {number} of instance_groups", uuid, bad):
            what = f"server group {uuid}"
            policy, rule = next(iter(rules[number]), (None, None))
            group = ServerGroup(
                uuid,
                mended(f"{what}, its name", name or "", bad, MAX_TEXT),
                _policy(what, policy, bad),
                _max_per_host(what, rule, bad),
                names(
                    f"{what}, a member",
                    (member for (member,) in members[number]),
                    bad,
                    scalars.uuid,
                ),
            )
            found.append(group)
    return tuple(found), bad


def _policy(what: str, value: str | None, bad: Bad) -> str | None:
    if value is None:
        return None
    try:
        return nouns.group_policy("its policy", value)
    except Invalid as refusal:
        bad[f"{what}, its policy"] = refusal.message
        return None


def read_host_mappings(database: NovaDatabase) -> dict[str, int]:
    """Host -> the id of its cell. Raises Refused, StoreFailed."""
    rows = _whole(database, t.HOST_MAPPINGS, "host", "cell_id")
    return {host: cell for _, host, cell in rows}


def read_flavors(database: NovaDatabase) -> dict[int, str]:
    """Id -> flavorid. Raises Refused, StoreFailed."""
    return dict(map(tuple, _whole(database, t.FLAVORS, "flavorid")))


def _max_per_host(what: str, rules: str | None, bad: Bad) -> int:
    """One where it cannot be read: the strictest."""
    try:
        found = msgspec.json.decode(rules or "{}", type=dict[str, Any])
        return min(max(1, int(found.get("max_server_per_host", 1))), MAX_WHOLE)
    except (msgspec.MsgspecError, ArithmeticError, TypeError, ValueError) as error:
        bad[f"{what}, its rules"] = f"{error}. It takes one per host"
    except RecursionError:
        bad[f"{what}, its rules"] = "they are nested too deep. It takes one per host"
    return 1


def _by(
    database: NovaDatabase, table: sa.Table, key: str, *columns: str
) -> defaultdict[int, list[tuple[Any, ...]]]:
    """What is in ``columns``, by the number in ``key``."""
    found: defaultdict[int, list[tuple[Any, ...]]] = defaultdict(list)
    for _, number, *values in _whole(database, table, key, *columns):
        found[number].append(tuple(values))
    return found


def _whole(database: NovaDatabase, table: sa.Table, *columns: str) -> Iterator[Row]:
    """Rows by their id, which is first."""
    key = table.c.id
    wanted = sa.select(key, *(table.c[name] for name in columns))
    return chain.from_iterable(database.pages(wanted, key))
