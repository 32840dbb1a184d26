"""What a cell's database says of its hosts, compared with the last time.

``read`` asks the database and makes a statement of what is different; ``take``
remembers it, once the statement has been passed on. The two are apart because reading
may take long and fail, and neither may lose a change.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from msgspec import Struct

from gantt.conf.feed_settings import FLAVOR, IMAGE, FeedOptions
from gantt.errors import Invalid
from gantt.model.fleet import FleetStatement, HostReport, Move
from gantt.model.forms import scalars, values
from gantt.model.hosts import IMAGE_REF, NAME, OWNER, Instance, Service
from gantt.openstack.feed import nova_tables as t
from gantt.openstack.feed.cell_mappings import CellMapping
from gantt.openstack.feed.compute_node_report import report_of
from gantt.openstack.feed.live_rows import LiveRows, RowNews
from gantt.openstack.feed.migrations import Migrations
from gantt.openstack.feed.nova_connection import NovaDatabase, Row
from gantt.openstack.feed.open_migrations import Moves, Moving
from gantt.openstack.feed.row_times import micros
from gantt.openstack.feed.service_rows import ServiceReader
from gantt.openstack.feed.unreadable_rows import Bad, is_uuid, named

Place = tuple[str, str]
_Node = tuple[str, str, int]
_Instance = tuple[str, str | None, int | None, str | None, int]
# What cannot be read of rows, by table and id.
_BadRows = dict[tuple[str, int], Bad]
_STATS_AT = 2
_IMAGE_KEY = "image_"


class CellNews(Struct):
    """What one reading found. ``since``: from when the next one reads; ``gone``:
    (host, node); ``gone_services``: hosts; ``left``: (host, instance) of migrations
    that ended elsewhere; ``unreadable``: of the rows that are new; ``moving``: what
    moves, None: that was not read."""

    since: datetime | None
    is_full: bool
    services: dict[str, Service]
    nodes: RowNews[_Node]
    instances: RowNews[_Instance]
    on: dict[str, dict[str, Instance]]
    statement: FleetStatement
    unreadable: _BadRows
    gone: frozenset[Place] = frozenset()
    gone_services: frozenset[str] = frozenset()
    left: tuple[tuple[str, str], ...] = ()
    moving: Moving | None = None


class CellReader:
    """``flavorid_of``: of a flavor by its id in the API database."""

    def __init__(
        self,
        cell: CellMapping,
        options: FeedOptions,
        flavorid_of: Callable[[int], str | None],
    ) -> None:
        self._options = options
        self._flavorid_of = flavorid_of
        self._overlap = timedelta(seconds=options.feed_overlap)
        down_after = timedelta(seconds=options.service_down_time)
        self._service_reader = ServiceReader(cell.uuid, down_after)
        n, i = t.NODES.c, t.INSTANCES.c
        stats, times = [n[one] for one in t.STATS], (n.updated_at, n.created_at)
        again_s = options.feed_full_interval
        self._nodes = LiveRows(
            t.NODES, [n.host, *stats, *times], _node, page=500, again_s=again_s
        )
        columns = [i.uuid, i.host, i.instance_type_id, i.image_ref]
        whose = [i.display_name, i.project_id] if options.feed_names else []
        columns += [*whose, i.updated_at, i.created_at]
        self._instances = LiveRows(t.INSTANCES, columns, _instance, again_s=again_s)
        self._migrations = Migrations(self._overlap, timedelta(seconds=again_s))
        self._moves = Moves(timedelta(seconds=again_s))
        # By host: what moves from or to it.
        self._moves_of: dict[str, tuple[Move, ...]] = {}
        self.services: dict[str, Service] = {}
        self.places: frozenset[Place] = frozenset()
        # By host: the instances that it has.
        self.on: dict[str, dict[str, Instance]] = {}
        self._bad_rows: _BadRows = {}

    @property
    def unreadable(self) -> Bad:
        """All that cannot be read, as far as it was taken."""
        found = self._service_reader.unreadable | self._moves.unreadable
        for one in self._bad_rows.values():
            found |= one
        return found

    @property
    def versions(self) -> frozenset[int]:
        """The versions of the cell's computes."""
        return self._service_reader.versions

    def read(
        self,
        database: NovaDatabase,
        now: datetime,
        since: datetime | None,
        again: frozenset[str],
        *,
        at: float,
        counts: bool,
    ) -> CellNews:
        """What is different since the last round. ``since`` None: everything is read;
        ``again``: hosts whose instances are stated whatever was known; ``at``:
        monotonic seconds; ``counts``: whether rows of instances are counted too. Raises
        Refused, StoreFailed."""
        began = now - self._overlap
        services = self._service_reader.read(database, now)
        nodes = self._nodes.read(database, since, at=at)
        # First: the instance is where it goes before its migration has ended.
        moving = self._moves.read(database, since, now)
        instances = self._instances.read(database, since, at=at, counts=counts)
        places = self._places_after(nodes)
        unreadable: _BadRows = {}
        hosts = self._reports(nodes, unreadable)
        on = self._on_after(database, instances, unreadable)
        moved = frozenset(on) | again | {one.host for one in hosts}
        there = frozenset(host for host, _ in places)
        statement = FleetStatement(
            services=self._news_of(services, {} if since is None else self.services),
            hosts=hosts,
            instances={
                host: tuple(on.get(host, self.on.get(host, {})).values())
                for host in sorted(moved & there)
            },
            moves=self._news_of_moves(
                moving.by_host(there),
                there if since is None else there & {one.host for one in hosts},
            ),
        )
        left = self._migrations.read(database, since, now)
        return CellNews(
            since=began,
            is_full=since is None,
            services=services,
            nodes=nodes,
            instances=instances,
            on=on,
            statement=statement,
            gone=self.places - places,
            gone_services=frozenset(self.services.keys() - services.keys()),
            left=tuple(
                (host, uuid)
                for host, uuid in left
                if uuid not in on.get(host, self.on.get(host, {}))
            ),
            unreadable=unreadable,
            moving=moving,
        )

    def take(self, found: CellNews) -> None:
        """What ``found`` says is known from now on."""
        self.places = self._places_after(found.nodes)
        self._nodes.take(found.nodes)
        self._instances.take(found.instances)
        for table, part in (
            (t.NODES.name, found.nodes),
            (t.INSTANCES.name, found.instances),
        ):
            for key in (*part.new, *part.gone) if self._bad_rows else ():
                self._bad_rows.pop((table, key), None)
        self._bad_rows |= found.unreadable
        if found.moving is not None:
            self._migrations.take()
            self._moves.take(found.moving)
            there = frozenset(host for host, _ in self.places)
            self._moves_of = found.moving.by_host(there)
        self.services = found.services
        for host, mine in found.on.items():
            if mine:
                self.on[host] = mine
            else:
                self.on.pop(host, None)

    def read_host(self, database: NovaDatabase, host: str) -> CellNews:
        """The instances of one host, all of them. Raises Refused, StoreFailed."""
        instances = self._instances.read_some(
            database, t.INSTANCES.c.host == host, lambda kept: kept[1] == host
        )
        unreadable: _BadRows = {}
        on = self._on_after(database, instances, unreadable)
        mine = on.setdefault(host, self.on.get(host, {}))
        statement = FleetStatement(instances={host: tuple(mine.values())})
        nothing: RowNews[_Node] = RowNews({}, {})
        return CellNews(
            since=None,
            is_full=False,
            services=self.services,
            nodes=nothing,
            instances=instances,
            on=on,
            statement=statement,
            unreadable=unreadable,
        )

    def _news_of(
        self, services: dict[str, Service], known: dict[str, Service]
    ) -> tuple[Service, ...]:
        if services is known:
            return ()
        return tuple(one for host, one in services.items() if known.get(host) != one)

    def _news_of_moves(
        self, moves: dict[str, tuple[Move, ...]], again: frozenset[str]
    ) -> dict[str, tuple[Move, ...]]:
        """What moves, of hosts of which other moves are known, and of ``again``."""
        known = self._moves_of
        changed = {
            host
            for host in moves.keys() | known.keys()
            if moves.get(host) != known.get(host)
        }
        return {host: moves.get(host, ()) for host in sorted(changed | again)}

    def _places_after(self, nodes: RowNews[_Node]) -> frozenset[Place]:
        if not (nodes.new or nodes.gone):
            return self.places
        known = {
            key: kept
            for key, kept in self._nodes.known.items()
            if key not in nodes.gone
        }
        known |= {key: _node(row) for key, row in nodes.new.items()}
        return frozenset((host, node) for host, node, _ in known.values() if host)

    def _reports(
        self, nodes: RowNews[_Node], unreadable: _BadRows
    ) -> tuple[HostReport, ...]:
        found = []
        # The newest row of a place last: it is the one that holds.
        for number, row in sorted(nodes.new.items()):
            bad: Bad = {}
            what = f"row {number} of compute_nodes"
            host, node, _ = _node(row, what, bad)
            if host:
                fields = row[_STATS_AT : _STATS_AT + len(t.STATS)]
                stats, columns = report_of(dict(zip(t.STATS, fields, strict=True)))
                for name, why in columns:
                    bad[f"{name} of host {host}, node {node}"] = why
                # One that was saved when cannot be read: long ago, so that no claim
                # counts as in it.
                at = _saved_at(row, 0, f"host {host}, node {node}", bad)
                found.append(HostReport(host, node, stats, at, dict(columns)))
            if bad:
                unreadable[t.NODES.name, number] = bad
        return tuple(found)

    def _on_after(
        self, database: NovaDatabase, found: RowNews[_Instance], unreadable: _BadRows
    ) -> dict[str, dict[str, Instance]]:
        """All instances of the hosts whose instances are not as they were known."""
        lost: defaultdict[str, set[str]] = defaultdict(set)
        won: defaultdict[str, dict[str, Instance]] = defaultdict(dict)
        for key in found.new:
            before = self._instances.known.get(key)
            if before is not None and before[1]:
                lost[before[1]].add(before[0])
        for uuid, host, *_ in found.gone.values():
            if host:
                lost[host].add(uuid)
        placed = []
        bad: Bad = {}
        for number, row in found.new.items():
            if _instance(row, f"row {number} of instances", bad)[1]:
                placed.append(row)
            elif bad:
                unreadable[t.INSTANCES.name, number], bad = bad, {}
        for row, facts in zip(placed, self._facts(database, placed), strict=True):
            won[row.host][row.uuid] = _checked(row, facts, bad)
            if bad:
                unreadable[t.INSTANCES.name, row[0]], bad = bad, {}
        after = {}
        for host in lost.keys() | won.keys():
            kept = self.on.get(host, {})
            after[host] = {
                uuid: one for uuid, one in kept.items() if uuid not in lost[host]
            } | won[host]
        return after

    def _facts(
        self, database: NovaDatabase, rows: Sequence[Row]
    ) -> list[dict[str, Any]]:
        """Those that filters or weighers read, of each row, and whose it is."""
        wanted = self._options.facts
        found = [_whose(row) | _image(row, wanted) for row in rows]
        if FLAVOR in wanted:
            for facts, row in zip(found, rows, strict=True):
                flavorid = self._flavorid_of(row.instance_type_id)
                if flavorid is not None:
                    facts[FLAVOR] = flavorid
        if IMAGE in wanted:
            images = _image_properties(database, [row.uuid for row in rows])
            for facts, row in zip(found, rows, strict=True):
                if row.uuid in images:
                    facts[IMAGE] = images[row.uuid]
        return found


def _whose(row: Row) -> dict[str, Any]:
    """Its name and project; None, where they are not read: they are to be forgotten."""
    whose = {key: getattr(row, key, None) for key in (NAME, OWNER)}
    # Refuses nothing: no message quotes a name, so that logs have none.
    return {key: value and scalars.cut(value) for key, value in whose.items()}


def _image(row: Row, wanted: Collection[str]) -> dict[str, Any]:
    """Its image where that is wanted; none where it boots from a volume."""
    has_image = IMAGE_REF in wanted and row.image_ref
    return {IMAGE_REF: scalars.cut(row.image_ref)} if has_image else {}


def _image_properties(
    database: NovaDatabase, uuids: Sequence[str]
) -> dict[str, dict[str, str]]:
    m = t.SYSTEM_METADATA.c
    found: defaultdict[str, dict[str, str]] = defaultdict(dict)
    wanted = sa.select(m.instance_uuid, m.key, m.value).where(
        m.deleted == 0, m.key.startswith(_IMAGE_KEY, autoescape=True)
    )
    for uuid, key, value in database.rows_of(wanted, m.instance_uuid, uuids):
        if value is not None:
            found[uuid][key.removeprefix(_IMAGE_KEY)] = value
    return dict(found)


def _node(row: Row, what: str = "", bad: Bad | None = None) -> _Node:
    """No host: it has none, or it or the node cannot be named, as ``bad`` says."""
    found: Bad = {} if bad is None else bad
    host = named(what, row.host, found)
    node = named(what, row.hypervisor_hostname, found) or host
    return "" if found else host, node, hash(tuple(row))


def _instance(row: Row, what: str = "", bad: Bad | None = None) -> _Instance:
    """No host: it is on none, or it or the host cannot be named, as ``bad`` says."""
    found: Bad = {} if bad is None else bad
    host = named(what, row.host, found)
    if host and not is_uuid(what, row.uuid, found):
        host = ""
    whose = hash((getattr(row, NAME, None), getattr(row, OWNER, None)))
    return row.uuid, host or None, row.instance_type_id, row.image_ref, whose


def _checked(row: Row, facts: Mapping[str, Any], bad: Bad) -> Instance:
    """Without its facts if they cannot be read."""
    what = f"instance {row.uuid}"
    # When it was saved cannot be read: just now, so that its claim stands longer.
    one = Instance(row.uuid, dict(facts), _saved_at(row, None, what, bad))
    if not facts:
        return one
    try:
        return values.instances((one,))[0]
    except Invalid as refusal:
        bad[what] = f"{refusal.message} Its facts are left out"
        return Instance(one.uuid, {}, one.saved_at)


def _saved_at(row: Row, unknown: int | None, what: str, bad: Bad) -> int | None:
    """When the row was last written, in microseconds; ``unknown``: it cannot be
    read."""
    at = row.updated_at or row.created_at
    if at is None:
        return None
    if isinstance(at, datetime) and at.year >= 1970:
        return micros(at)
    bad[f"{what}, when it was saved"] = f"{at} is no time since 1970"
    return unknown
