"""The feed: what Nova's databases say of the fleet is what Gantt knows of it.

A thread reads the API database, and for each cell one more its own. Two feeds of one
Gantt do no harm: each says the same.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping
from typing import Final

from msgspec.structs import replace

from gantt.conf.feed_settings import FeedOptions
from gantt.errors import GanttError, NotFound
from gantt.model.fleet import FleetNames, FleetStatement
from gantt.model.protocol import GanttProtocol
from gantt.openstack.feed.api_feed import AGGREGATES, ApiFeed
from gantt.openstack.feed.cell_feed import NOT_YET, CellFeed, CellState
from gantt.openstack.feed.cell_mappings import CellMapping
from gantt.openstack.feed.cell_reader import CellNews
from gantt.openstack.feed.delivery import FeedDelivery
from gantt.openstack.feed.notes import Notes
from gantt.openstack.feed.service_rows import COMPUTE

LOG = logging.getLogger(__name__)
_OF_CELLS: Final = (
    "cell_rounds",
    "cell_failures",
    "rows",
    "reread",
    "missed",
)


class Feed:
    """``start`` returns once everything that can be read soon has been passed on to
    ``gantt``, which may be in this process or behind HTTP."""

    def __init__(self, options: FeedOptions, gantt: GanttProtocol) -> None:
        """Nothing is read yet. Raises Refused."""
        self._options = options
        self.keeps_names = options.feed_names
        self._notes = Notes(time.monotonic)
        self._delivery = FeedDelivery(gantt)
        self._api = ApiFeed(options, self._delivery, self._notes, self._state_names)
        self._cells: dict[str, CellFeed] = {}
        self._seats = threading.BoundedSemaphore(options.feed_cells)
        self._stop = threading.Event()
        self._thread = threading.Thread(
            target=self._run, name="gantt-feed-api", daemon=True
        )
        self._is_started = False
        self._failure = ""
        self._rounds = self._failures = 0

    # -- its life ------------------------------------------------------------------

    def start(self) -> None:
        """Read everything once, and go on reading what changes. A cell that cannot be
        read is left out until it can, and one that takes longer than ``feed_timeout``,
        in its turn, until it is. Raises Refused, StoreFailed (the API database cannot
        be read), and what ``gantt`` raises."""
        self._round()
        cells = list(self._cells.values())
        turns = -(-len(cells) // self._options.feed_cells)
        until = time.monotonic() + turns * self._options.feed_timeout
        for cell in cells:
            cell.wait(until)
        with self._delivery.turn:
            self._is_started = True
            self._state_names()
        check_versions(
            {one.cell.name: one.reader.versions for one in self._cells.values()}
        )
        self._thread.start()

    def stop(self) -> None:
        """Stop reading; returns when no thread is left but those of databases that do
        not answer."""
        self._stop.set()
        cells = list(self._cells.values())
        for cell in cells:
            cell.stop()
        if self._thread.is_alive():
            self._thread.join(2 * self._options.feed_timeout + 1)
        for cell in cells:
            cell.join()
        self._api.database.close()

    # -- for the door that hears Nova's casts --------------------------------------

    def note_update(self, *, host: str | None = None) -> None:
        """Nova has cast something about the instances of ``host``, or (None) about
        aggregates; call it before passing that on. What is being read now is older."""
        self._notes.note(AGGREGATES if host is None else host)

    def reread_instances(self, host: str) -> None:
        """Read the instances of ``host``, with their facts, and pass them on. Raises
        NotFound (no cell has the host), Refused, StoreFailed."""
        for cell in list(self._cells.values()):
            if any(host == one for one, _ in cell.reader.places):
                cell.read_host(host)
                return
        raise NotFound(f"No cell that can be read has a host {host}.")

    # -- for operators ---------------------------------------------------------------

    def cells(self) -> tuple[CellState, ...]:
        """How each cell is, by name."""
        states = [one.state for one in list(self._cells.values())]
        return tuple(sorted(states, key=lambda one: (one.name, one.uuid)))

    def unready(self) -> str:
        """Why what Gantt knows is not what the databases say; "": it was read, and
        passed on. A database that does not answer now is no reason."""
        if self._stop.is_set():
            return "stopping"
        if not self._is_started:
            return "Nova's databases were not read yet"
        if self._delivery.is_failing:
            return "what Nova's databases say cannot be passed on"
        return ""

    def notice(self) -> str:
        """What operators should know although it is ready: cells that are not read, and
        rows that cannot be; "": nothing."""
        cells = sorted(self._cells.values(), key=lambda one: one.cell.name)
        found = [self._api.unreadable.notice()]
        for one in cells:
            late = one.state.failure
            found.append(
                f"cell {one.cell.name} is {NOT_YET}" if late == NOT_YET else ""
            )
            found.append(one.unreadable.notice())
        return "; ".join(filter(None, found))

    def counts(self) -> dict[str, float]:
        """What it has done since it was made, by name; for metrics."""
        cells = list(self._cells.values())
        states = [one.state for one in cells]
        return {
            "rounds": self._rounds,
            "failures": self._failures,
            "statements": self._delivery.statements,
            "refused": self._delivery.refused,
            "cells": len(states),
            "cells_down": sum(1 for one in states if one.failure),
            "hosts": sum(one.hosts for one in states),
            **{name: sum(one.counts[name] for one in cells) for name in _OF_CELLS},
            "unreadable": self._api.unreadable.count
            + sum(one.unreadable.count for one in cells),
            "lag_seconds": max((one.lag_s for one in cells), default=0.0),
            "cells_limit": self._options.feed_cells,
            "notes": len(self._notes.names()),
        }

    # -- the API database ------------------------------------------------------------

    def _run(self) -> None:
        while not self._stop.wait(self._options.feed_interval):
            try:
                self._round()
            except GanttError as error:
                self._failed(error.message)
            except Exception as error:
                LOG.exception("this is a mistake of the feed")
                self._failed(f"{type(error).__name__}: {error}")
            else:
                if self._failure:
                    LOG.warning("Nova's API database can be read again")
                self._failure = ""

    def _failed(self, why: str) -> None:
        self._failures += 1
        if why != self._failure:
            LOG.error("what all cells share stays as it was last known: %s", why)
        self._failure = why

    def _round(self) -> None:
        """Raises Refused, StoreFailed, and what ``gantt`` raises."""
        self._api.round()
        if self._api.moved:
            for cell in self._cells.values():
                cell.read_everything()
        self._set_cells(self._api.cells)
        self._rounds += 1

    def _set_cells(self, mappings: tuple[CellMapping, ...]) -> None:
        """Read these cells and no other."""
        wanted = {one.uuid: one for one in mappings}
        changed = {
            uuid
            for uuid in wanted.keys() | self._cells.keys()
            if uuid not in self._cells or self._cells[uuid].cell != wanted.get(uuid)
        }
        if not changed:
            return
        new = [self._new_cell(wanted[uuid]) for uuid in changed & wanted.keys()]
        old = [self._cells[uuid] for uuid in changed & self._cells.keys()]
        for cell in old:
            cell.stop()
        with self._delivery.turn:
            for cell in old:
                del self._cells[cell.cell.uuid]
            self._cells |= {cell.cell.uuid: cell for cell in new}
            cells = tuple(one.described for one in self._cells.values())
            self._delivery.state(FleetStatement(cells=cells))
            self._state_names()
        for cell in old:
            cell.join()
        for cell in new:
            cell.start()

    def _new_cell(self, mapping: CellMapping) -> CellFeed:
        return CellFeed(
            mapping,
            self._options,
            flavorid_of=self._api.flavorid,
            notes=self._notes,
            deliver=self._deliver,
            mark=lambda cell: self._delivery.state(FleetStatement(cells=(cell,))),
            seat=self._seats,
        )

    # -- passing on ------------------------------------------------------------------

    def _deliver(self, cell: CellFeed, news: CellNews, began: float) -> None:
        """Pass on what ``cell`` found, but for what casts have told since."""
        with self._delivery.turn:
            if self._cells.get(cell.cell.uuid) is not cell:
                return  # it was replaced meanwhile
            statement = self._own_part(cell, news.statement, began)
            self._delivery.state(statement)
            number = cell.cell.number
            for host, node in news.gone:
                if self._api.is_of(host, number):
                    self._delivery.delete_host(host, node)
            for host in news.gone_services:
                if self._api.is_of(host, number):
                    self._delivery.gantt.delete_service(host, COMPUTE)
            for host, uuid in news.left:
                self._delivery.gantt.delete_instance(host, uuid)
            cell.reader.take(news)
            if news.is_full and self._is_started:
                self._state_names(cell)
        self._notes.drop(frozenset(statement.instances), began)

    def _own_part(
        self, cell: CellFeed, said: FleetStatement, began: float
    ) -> FleetStatement:
        number, newer = cell.cell.number, self._notes.since(began)
        is_of = self._api.is_of
        return replace(
            said,
            hosts=tuple(one for one in said.hosts if is_of(one.host, number)),
            services=tuple(one for one in said.services if is_of(one.host, number)),
            instances={
                host: mine
                for host, mine in said.instances.items()
                if host not in newer and is_of(host, number)
            },
            moves={
                host: mine for host, mine in said.moves.items() if is_of(host, number)
            },
        )

    def _state_names(self, fresh: CellFeed | None = None) -> None:
        """Let everything be deleted that no database names; ``fresh``: a cell that was
        just read."""
        if not self._is_started:
            return
        cells = list(self._cells.values())
        known = [one for one in cells if one.is_known or one is fresh]
        names = FleetNames(
            hosts=frozenset().union(*(one.reader.places for one in known)),
            services=frozenset(
                (host, COMPUTE) for one in known for host in one.reader.services
            ),
            cells=frozenset(one.cell.uuid for one in known),
            aggregates=frozenset(self._api.aggregates),
            groups=frozenset(self._api.groups),
            kept_cells=frozenset(one.cell.uuid for one in cells if one not in known),
        )
        self._delivery.state(FleetStatement(names=names))


# By the versions of Nova's services: SERVICE_VERSION_ALIASES of nova/objects/service.py
# in 34.0.0. The tables that the feed reads have their columns in all of these.
RELEASES: Final[Mapping[int, str]] = {
    52: "Victoria",
    54: "Wallaby",
    57: "Xena",
    61: "Yoga",
    64: "Zed",
    66: "Antelope to Caracal",
    67: "Dalmatian",
    68: "Epoxy",
    70: "Flamingo",
    72: "Gazpacho",
    74: "2026.2",
}
OLDEST: Final = 66
NEWEST: Final = 74


def release_of(version: int) -> str:
    """The release that a service of this version is of, as text."""
    for number in sorted(RELEASES):
        if version <= number:
            return f"{version} ({RELEASES[number]})"
    return f"{version} (newer than {RELEASES[NEWEST]})"


def check_versions(versions: Mapping[str, frozenset[int]]) -> tuple[str, ...]:
    """Log a warning, and answer it, for each cell (name -> versions of its computes)
    that has computes of a release out of range."""
    found = []
    for name, mine in sorted(versions.items()):
        odd = sorted(one for one in mine if not OLDEST <= one <= NEWEST)
        if odd:
            text = (
                f"cell {name} has nova-compute services of version "
                f"{', '.join(map(release_of, odd))}; the feed is made for "
                f"{release_of(OLDEST)} to {release_of(NEWEST)}"
            )
            LOG.warning("%s", text)
            found.append(text)
    return tuple(found)
