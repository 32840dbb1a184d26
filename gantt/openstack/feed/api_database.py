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
    hosts, metadata = t.AGGREGATE_HOSTS.c, t.AGGREGATE_METADATA.c
    of: defaultdict[int, list[Any]] = defaultdict(list)
    for _, number, host in _whole(database, hosts.id, hosts.aggregate_id, hosts.host):
        of[number].append(host)
    said: defaultdict[int, list[tuple[Any, Any]]] = defaultdict(list)
    for _, number, key, value in _whole(
        database, metadata.id, metadata.aggregate_id, metadata.key, metadata.value
    ):
        said[number].append((key, value))
    own = t.AGGREGATES.c
    bad: Bad = {}
    found = []
    for number, uuid, name in _whole(database, own.id, own.uuid, own.name):
        if is_uuid(f"row {number} of aggregates", uuid, bad):
            what = f"aggregate {uuid}"
            one = HostAggregate(
                uuid,
                mended(f"{what}, its name", name or "", bad, MAX_TEXT),
                number,
                names(f"{what}, a host", of.get(number, ()), bad),
                _metadata(what, said.get(number, []), bad),
            )
            found.append(one)
    return tuple(found), bad


def _metadata(what: str, said: list[tuple[Any, Any]], bad: Bad) -> dict[str, str]:
    """A value is kept without what cannot be: its key alone may be a limit."""
    what = f"{what}, its metadata"
    return {
        mended(what, key or "", bad): mended(what, value or "", bad, MAX_TEXT)
        for key, value in said
    }


def read_groups(database: NovaDatabase) -> tuple[tuple[ServerGroup, ...], Bad]:
    """All server groups, each without what of it cannot be read. Raises Refused,
    StoreFailed."""
    members, policies = t.GROUP_MEMBERS.c, t.GROUP_POLICIES.c
    of: defaultdict[int, list[Any]] = defaultdict(list)
    for _, number, uuid in _whole(
        database, members.id, members.group_id, members.instance_uuid
    ):
        of[number].append(uuid)
    rules: dict[int, tuple[str | None, str | None]] = {}
    for _, number, policy, rule in _whole(
        database, policies.id, policies.group_id, policies.policy, policies.rules
    ):
        rules.setdefault(number, (policy, rule))
    own = t.GROUPS.c
    bad: Bad = {}
    found = []
    for number, uuid, name in _whole(database, own.id, own.uuid, own.name):
        if is_uuid(f"row {number} of instance_groups", uuid, bad):
            what = f"server group {uuid}"
            policy, rule = rules.get(number, (None, None))
            group = ServerGroup(
                uuid,
                mended(f"{what}, its name", name or "", bad, MAX_TEXT),
                _policy(what, policy, bad),
                _max_per_host(what, rule, bad),
                names(f"{what}, a member", of.get(number, ()), bad, scalars.uuid),
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
    own = t.HOST_MAPPINGS.c
    return {
        host: cell for _, host, cell in _whole(database, own.id, own.host, own.cell_id)
    }


def read_flavors(database: NovaDatabase) -> dict[int, str]:
    """Id -> flavorid. Raises Refused, StoreFailed."""
    own = t.FLAVORS.c
    return dict(tuple(row) for row in _whole(database, own.id, own.flavorid))


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


def _whole(
    database: NovaDatabase, key: sa.Column[Any], *columns: sa.Column[Any]
) -> Sequence[Row]:
    pages = database.pages(sa.select(key, *columns), key)
    return [row for page in pages for row in page]
