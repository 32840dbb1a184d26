"""The fleet: hosts, and all that is said of them, as tables that belong together.

Beside the books because Placement knows none of it: ``State.apply`` hands over what
concerns these tables. Small tables are plain containers; only hosts are columns.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct

from gantt.model import rows as t
from gantt.model.facts import as_service, kind_of
from gantt.model.rows import (
    BookingRow,
    FactRow,
    FleetRow,
    HostAggregateRow,
    HostRow,
    InstanceRow,
    ServerGroupRow,
    ServiceRow,
)
from gantt.state.domains import DomainColumns
from gantt.state.fact_table import Facts
from gantt.state.fleet_tables import (
    COMPUTE,
    BookingTable,
    FleetTable,
    HostAggregateTable,
    InstanceTable,
    ServerGroupTable,
    ServiceTable,
)
from gantt.state.host_table import HostTable
from gantt.state.tree_rooms import TreeRooms

JOURNAL_LENGTH = 4096


class Fleet:
    """All tables of the fleet; ``stamp`` marks host rows that changed."""

    def __init__(self) -> None:
        self.hosts = HostTable()
        self.services = ServiceTable()
        self.facts = Facts()
        self.aggregates = HostAggregateTable()
        self.instances = InstanceTable()
        self.groups = ServerGroupTable()
        self.claims = BookingTable()
        # What is left in the trees of hosts; None: without the books.
        self.rooms: TreeRooms | None = None
        # Where hosts are by topology keys; None: without the books.
        self.domains: DomainColumns | None = None
        # Moves when what is said of aggregates or groups, not of one host, changes.
        self.context_touched = 0
        # Moves when a provider changes that stands for no host: it may share.
        self.others_touched = 0
        self.journal = Journal()

    # -- the way in ---------------------------------------------------------------

    def put(self, row: FleetRow, stamp: int) -> None:
        """Take in a row that is no host."""
        if isinstance(row, BookingRow):
            self._put_claim(row, stamp)
        elif isinstance(row, ServiceRow):
            self.services.put(row)
            if row.binary == COMPUTE:
                self._serve(row.host, stamp)
        elif isinstance(row, FactRow):
            self._put_fact(row, None, stamp)
        elif isinstance(row, HostAggregateRow):
            self._put_aggregate(row, stamp)
        elif isinstance(row, InstanceRow):
            self._touch(self.instances.put(row), stamp)
        else:
            assert isinstance(row, ServerGroupRow), "put_host takes hosts"
            self.groups.put(row)
            self.context_touched = stamp

    def load_instances(self, rows: list[InstanceRow], stamp: int) -> None:
        """Take in rows of a snapshot."""
        self.instances.load(rows)
        self._touch({row.host for row in rows}, stamp)

    def put_host(self, values: HostRow, provider: int, stamp: int) -> None:
        """Take in a host; ``provider``: the row of its provider, or NO_ROW."""
        is_new = values.id not in self.hosts.row_by_id
        row = self.hosts.put(values, provider)
        if is_new:
            self._serve_row(row, values.host)
            for uuid in self.aggregates.of_host(values.host):
                self.hosts.aggregates.set(row, self.aggregates.index[uuid], True)
            for instance in self.claims.on(values.id):
                self.hosts.claim(row, self.claims.by_instance[instance], 1)
        self._mark(row, stamp)

    def remove(self, table: str, key: int, stamp: int) -> None:
        if table == t.HOSTS:
            self._mark(self.hosts.remove(key), stamp)
        elif table == t.SERVICES:
            gone = self.services.remove(key)
            if gone.binary == COMPUTE:
                self._serve(gone.host, stamp)
        elif table == t.FACTS:
            self._put_fact(None, key, stamp)
        elif table == t.HOST_AGGREGATES:
            index, hosts = self.aggregates.remove(key)
            for host in hosts:
                for row in self.hosts.rows_of(host):
                    self.hosts.aggregates.set(row, index, False)
            self.context_touched = stamp
        elif table == t.INSTANCES:
            self._touch(self.instances.remove(key), stamp)
        elif table == t.SERVER_GROUPS:
            self.groups.remove(key)
            self.context_touched = stamp
        else:
            self._remove_claim(key, stamp)

    def provider_moved(self, uuid: str, provider: int, stamp: int) -> None:
        """A provider came, or went (NO_ROW)."""
        for row in self.hosts.provider_moved(uuid, provider):
            self._mark(row, stamp)

    def get(self, table: str, key: int) -> FleetRow | None:
        if table == t.HOSTS:
            return self.hosts.get(key)
        found: FleetRow | None = self._table(table).get(key)
        return found

    def rows(self, table: str) -> Iterator[FleetRow]:
        """Every row of a table, by ascending key."""
        return self.hosts.rows() if table == t.HOSTS else self._table(table).rows()

    def _table(self, table: str) -> FleetTable[Any]:
        tables: dict[str, FleetTable[Any]] = {
            t.SERVICES: self.services,
            t.FACTS: self.facts,
            t.HOST_AGGREGATES: self.aggregates,
            t.INSTANCES: self.instances,
            t.SERVER_GROUPS: self.groups,
            t.BOOKINGS: self.claims,
        }
        return tables[table]

    def _put_fact(self, row: FactRow | None, key: int | None, stamp: int) -> None:
        """Take in ``row``, or let go of the one with ``key``."""
        off = self.facts.disabled_cells
        if row is None:
            row = self.facts.remove(key or 0)
        else:
            self.facts.put(row)
        if self.facts.disabled_cells != off:
            self.context_touched = stamp
        if row.kind in ("agent", "operator"):
            self._serve(row.subject, stamp)
        elif row.kind in ("labels", "relations"):
            self.context_touched = stamp

    def _serve(self, host: str, stamp: int) -> None:
        for row in self.hosts.rows_of(host):
            self._serve_row(row, host)
        self._touch((host,), stamp)

    def _serve_row(self, row: int, host: str) -> None:
        service = self.services.by_place.get((host, COMPUTE))
        facts = self.facts.by_subject  # for each row of a report: no call
        agent, word = facts.get(("agent", host)), facts.get(("operator", host))
        self.hosts.serve(row, service, is_gone=agent is not None and agent.away)
        if word is not None and word.disabled:
            self.hosts.is_disabled[row] = True

    def _put_aggregate(self, values: HostAggregateRow, stamp: int) -> None:
        changed = self.aggregates.put(values)
        index, hosts = self.aggregates.index[values.uuid], self.aggregates.hosts
        for host in changed:
            for row in self.hosts.rows_of(host):
                is_member = host in hosts[values.uuid]
                self.hosts.aggregates.set(row, index, is_member)
        self.context_touched = stamp

    def _put_claim(self, values: BookingRow, stamp: int) -> None:
        old = self.claims.by_id.get(values.id)
        row = self.hosts.row_by_id.get(values.host_id)
        if old is not None and _takes(old) == _takes(values):
            self.claims.remove(values.id)
            if row is not None:
                self.hosts.starting[row] += values.is_starting - old.is_starting
        elif old is not None:
            self._remove_claim(values.id, stamp)
            old = None
        self.claims.put(values)
        if row is not None:
            is_use = old is not None or self.hosts.claim(row, values, 1)
            self._mark(row, stamp, is_use=is_use)

    def _remove_claim(self, key: int, stamp: int) -> None:
        gone = self.claims.remove(key)
        row = self.hosts.row_by_id.get(gone.host_id)
        if row is not None:
            is_use = self.hosts.claim(row, gone, -1)
            self._mark(row, stamp, is_use=is_use)

    def _touch(self, hosts: Iterable[str], stamp: int) -> None:
        for host in hosts:
            for row in self.hosts.rows_of(host):
                self._mark(row, stamp)

    def provider_touched(self, provider: int, root: int, stamp: int) -> None:
        """What is said of a provider in the tree of ``root`` changed. Hosts may stand
        on either; what hosts report decides labels by the host's own alone."""
        hosts = self.hosts.rows_by_provider
        rows: Iterable[int] = hosts.get(root, ())
        if not rows:
            self.others_touched = stamp
        if provider != root:
            rows = {*rows, *hosts.get(provider, ())}
        for row in rows:
            self._mark(row, stamp, is_use=True)

    def _mark(self, row: int, stamp: int, *, is_use: bool = False) -> None:
        self.hosts.touched[row] = stamp
        self.journal.mark(row, stamp, is_use=is_use)

    # -- questions ----------------------------------------------------------------

    def told(self, host: str, binary: str) -> ServiceRow | None:
        """A service, or a fact as it is told among the services."""
        kind = kind_of(host, binary)
        if kind is None:
            return self.services.by_place.get((host, binary))
        fact = self.facts.of(kind, host)
        return None if fact is None else as_service(fact)

    def members_on(
        self, members: Iterable[str], group_uuid: str | None = None
    ) -> dict[str, int]:
        """Host name -> how many of ``members`` are on it, or promised it. One that
        moves counts on both: it may stay where it is after all. ``group_uuid``: as in
        ``hosts_of``."""
        found: dict[str, int] = {}
        for uuid in members:
            for host in self.hosts_of(uuid, group_uuid):
                found[host] = found.get(host, 0) + 1
        return found

    def hosts_of(self, instance_uuid: str, group_uuid: str | None = None) -> set[str]:
        """The host that an instance is promised, and the one that names it.
        ``group_uuid``: whose member it is asked about; where it is promised as a member
        of another group it will be none of this one's."""
        known = self.instances.by_uuid.get(instance_uuid)
        found = set() if known is None else {known.host}
        claim = self.claims.by_instance.get(instance_uuid)
        if claim is None:
            return found
        is_other = None not in (group_uuid, claim.group_uuid)
        if is_other and claim.group_uuid != group_uuid:
            return found
        row = self.hosts.row_by_id.get(claim.host_id)
        return found if row is None else {*found, self.hosts.hosts[row]}


def _takes(row: BookingRow) -> tuple[object, ...]:
    """What a claim takes of which host."""
    amounts = row.vcpus, row.memory_mb, row.disk_mb
    return row.host_id, amounts, row.topology, row.is_reported


class ChangedHosts(Struct, frozen=True):
    """Rows of hosts. ``is_use``: nothing of them changed but the columns ``hosts.USE``
    and what is said of their providers."""

    rows: set[int]
    is_use: bool


class Journal:
    """Which hosts changed: the last ``length`` marks, oldest first. What keeps
    decisions pays for what changed since it last looked, not for what there is."""

    def __init__(self, length: int = JOURNAL_LENGTH) -> None:
        self._marks: deque[tuple[int, int, bool]] = deque(maxlen=length)
        self._forgotten = 0

    def mark(self, row: int, stamp: int, *, is_use: bool = False) -> None:
        """The host at ``row`` changed; ``stamp`` never falls."""
        marks = self._marks
        if len(marks) == marks.maxlen:
            self._forgotten = marks[0][0]
        marks.append((stamp, row, is_use))

    def since(self, stamp: int) -> ChangedHosts | None:
        """What changed after ``stamp``; None: that is too long ago to tell."""
        if stamp < self._forgotten:
            return None
        rows: set[int] = set()
        is_use = True
        for at, row, is_of_use in reversed(self._marks):
            if at <= stamp:
                break
            rows.add(row)
            is_use &= is_of_use
        return ChangedHosts(rows, is_use)
