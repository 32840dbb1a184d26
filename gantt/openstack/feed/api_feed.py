"""The API database: rounds of reading what all cells share.

Aggregates and server groups are passed on; the cells, the cell of each host and the
flavors are kept for those that read cells.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Final

from gantt.conf.feed_settings import FLAVOR, FeedOptions
from gantt.model.fleet import FleetStatement
from gantt.model.hosts import HostAggregate, ServerGroup
from gantt.openstack.feed import nova_tables as t
from gantt.openstack.feed.api_database import (
    Watched,
    read_aggregates,
    read_flavors,
    read_groups,
    read_host_mappings,
)
from gantt.openstack.feed.cell_mappings import CellMapping, read_mappings, with_user
from gantt.openstack.feed.delivery import FeedDelivery
from gantt.openstack.feed.notes import Notes
from gantt.openstack.feed.nova_connection import NovaDatabase
from gantt.openstack.feed.unreadable_rows import Bad, Unreadable

AGGREGATES: Final = ""
"""The name under which casts about aggregates are noted: no host has it."""


class ApiFeed:
    """``cells``, ``aggregates``, ``groups``: as they were last read; the latter two by
    uuid. ``moved``: whether the last round found hosts in another cell than before;
    ``unreadable``: what cannot be read.
    ``state_names`` lets everything be deleted that is in neither. Raises Refused."""

    def __init__(
        self,
        options: FeedOptions,
        delivery: FeedDelivery,
        notes: Notes,
        state_names: Callable[[], None],
    ) -> None:
        url = with_user(options.api_url, options)
        self.database = NovaDatabase("Nova's API database", url, options.feed_timeout)
        self._options = options
        self._delivery = delivery
        self._notes = notes
        self._state_names = state_names
        self._has_lost = False
        self.cells: tuple[CellMapping, ...] = ()
        self.aggregates: dict[str, HostAggregate] = {}
        self.groups: dict[str, ServerGroup] = {}
        self.moved = False
        self.unreadable = Unreadable("Nova's API database")
        self._bad_aggregates: Bad = {}
        self._bad_groups: Bad = {}
        self._cell_of: dict[str, int] = {}
        self._flavors: dict[int, str] = {}
        overlap = timedelta(seconds=options.feed_overlap)
        self._of_aggregates = Watched(
            overlap, t.AGGREGATES, t.AGGREGATE_HOSTS, t.AGGREGATE_METADATA
        )
        self._of_groups = Watched(overlap, t.GROUPS, t.GROUP_POLICIES, t.GROUP_MEMBERS)
        self._of_hosts = Watched(overlap, t.HOST_MAPPINGS)
        self._of_flavors = Watched(overlap, t.FLAVORS)
        self._whole_at = time.monotonic()

    def flavorid(self, number: int) -> str | None:
        """The flavorid of the flavor with this id."""
        return self._flavors.get(number)

    def is_of(self, host: str, cell: int) -> bool:
        """Whether a host that the database of ``cell`` names is of that cell: where
        several name it, its mapping decides."""
        return self._cell_of.get(host, cell) == cell

    def round(self) -> None:
        """Read what may have changed, and pass it on. Raises Refused, StoreFailed, and
        what passing on raises."""
        began = time.monotonic()
        now = self.database.now()
        watched = self._of_aggregates, self._of_groups, self._of_hosts, self._of_flavors
        if 0 < self._options.feed_full_interval <= began - self._whole_at:
            # What was committed long after its time is not seen by its time.
            self._whole_at = began
            for one in watched:
                one.forget()
        try:
            aggregates, groups, hosts, flavors = [
                one.has_changed(self.database, now) for one in watched
            ]
            if flavors and FLAVOR in self._options.facts:
                self._flavors = read_flavors(self.database)
            self.moved = hosts and self._read_cells_of_hosts()
            self.cells, bad_cells = read_mappings(self.database, self._options)
            is_told = AGGREGATES in self._notes.names()
            if aggregates or is_told:
                self._state_aggregates(began, is_told=is_told)
            if groups:
                self._state_groups()
        except BaseException:
            # What was not passed on must be found again.
            for one in watched:
                one.forget()
            raise
        self.unreadable.tell(bad_cells | self._bad_aggregates | self._bad_groups)

    def _read_cells_of_hosts(self) -> bool:
        """Whether any host is in another cell than it was."""
        before, self._cell_of = self._cell_of, read_host_mappings(self.database)
        return any(
            before.get(host, cell) != cell for host, cell in self._cell_of.items()
        )

    def _state_aggregates(self, began: float, *, is_told: bool) -> None:
        """``is_told``: casts told of some, which may have left others as they were
        before: all are stated."""
        read, self._bad_aggregates = read_aggregates(self.database)
        found = {one.uuid: one for one in read}
        with self._delivery.turn:
            if AGGREGATES in self._notes.since(began):
                return
            self._drop_aggregates(found)
            known = {} if is_told else self.aggregates
            new = tuple(one for uuid, one in found.items() if known.get(uuid) != one)
            self._delivery.state(FleetStatement(aggregates=new))
            self.aggregates = found
        self._notes.drop(frozenset({AGGREGATES}), began)

    def _drop_aggregates(self, found: Mapping[str, HostAggregate]) -> None:
        """Those that are not ``found``. Not one by one: that is for callers whose
        reports write the books, and would change providers that computes write."""
        kept = {uuid: one for uuid, one in self.aggregates.items() if uuid in found}
        self._has_lost |= len(kept) < len(self.aggregates)
        self.aggregates = kept
        if self._has_lost:
            self._state_names()
            self._has_lost = False

    def _state_groups(self) -> None:
        read, self._bad_groups = read_groups(self.database)
        found = {one.uuid: one for one in read}
        with self._delivery.turn:
            for uuid in self.groups.keys() - found.keys():
                self._delivery.gantt.delete_server_group(uuid)
            new = tuple(
                one for uuid, one in found.items() if self.groups.get(uuid) != one
            )
            self._delivery.state(FleetStatement(groups=new))
            self.groups = found
