"""The hosts of one request, as working arrays that filters and weighers read.

A view of some rows of ``state.hosts``: columns are gathered on first use, and
``consume`` changes these copies alone, so that the second instance of a request sees
the first.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any, Final, NamedTuple

import numpy as np

from gantt.model.rows import InstanceRow
from gantt.scheduler.host_columns import NAMES, HostArrays
from gantt.state.bits import BitMatrix
from gantt.state.column import Bools, Floats, Int32s, Int64s
from gantt.state.fleet_columns import Fleet

_EVERYWHERE: Final = slice(None)


class Taken(NamedTuple):
    """What an instance takes of a host's columns. ``devices``: those it asks for, where
    a filter looks at devices."""

    vcpus: int
    memory_mb: int
    disk_mb: int
    devices: int = 0


class Hosts(HostArrays):
    """``rows``: int64[n] row numbers in ``state.hosts``; every array has length n.

    Columns are attributes (``hosts.free_ram_mb``), listed in ``HostArrays``: copies,
    gathered once. ``added``: per place, instances of this request picked so far.
    """

    def __init__(self, fleet: Fleet, rows: Int64s) -> None:
        self.fleet = fleet
        self.rows = rows
        self.added: dict[int, list[str]] = {}

    def __len__(self) -> int:
        return len(self.rows)

    def column(self, name: str) -> Bools | Int32s | Int64s | Floats:
        """The column of that name, where it is only known at run time; what hosts
        report beyond columns (``stats``, ``metrics``) is in ``reported``. Raises
        KeyError with the valid names."""
        if name not in NAMES:
            known = ", ".join(sorted(NAMES))
            raise KeyError(f"there is no column {name!r}; there is {known}")
        found: Bools | Int32s | Int64s | Floats = getattr(self, name)
        return found

    # -- instances and hosts ------------------------------------------------------

    @property
    def names(self) -> list[str]:
        """Service host names, by place."""
        names = self.fleet.hosts.hosts
        return [names[row] for row in self.rows.tolist()]

    @property
    def nodes(self) -> list[str]:
        """Node names, by place."""
        nodes = self.fleet.hosts.nodes
        return [nodes[row] for row in self.rows.tolist()]

    @property
    def cells(self) -> list[str | None]:
        """The cells of the hosts' services, by place."""
        cells = self.fleet.hosts.cells
        return [cells[row] for row in self.rows.tolist()]

    def at_hosts(self, names: Iterable[str]) -> Bools:
        """bool[n]: whose service host is one of ``names`` (case matters)."""
        rows = [row for name in names for row in self.fleet.hosts.rows_of(name)]
        return self.at_rows(rows)

    def counts_on(self, counts: dict[str, int]) -> Int64s:
        """int64[n]: ``counts`` by service host name, 0 for hosts not named."""
        height = self.fleet.hosts.height
        found = np.zeros(height, np.int64)
        for name, count in counts.items():
            for row in self.fleet.hosts.rows_of(name):
                found[row] = count
        return found[self.rows]

    def at_rows(self, rows: Collection[int]) -> Bools:
        """bool[n]: which are at one of these rows of ``state.hosts``."""
        found = np.zeros(self.fleet.hosts.height, np.bool_)
        found[list(rows)] = True
        return found[self.rows]

    def instances_on(self, place: int) -> set[str]:
        """Instances on the service host at ``place``, on any of its nodes: reported
        ones, those with claims, and picks of this request."""
        hosts = self.fleet.hosts
        name = hosts.hosts[int(self.rows[place])]
        found = set(self.fleet.instances.on(name))
        for row in hosts.rows_of(name):
            found.update(self.fleet.claims.on(int(hosts.id[row])))
        for at, uuids in self.added.items():
            if hosts.hosts[int(self.rows[at])] == name:
                found.update(uuids)
        return found

    def known_instances(self, place: int) -> dict[str, InstanceRow]:
        """Instances that the host at ``place`` reported, with their facts."""
        return self.fleet.instances.on(self.fleet.hosts.hosts[int(self.rows[place])])

    def left_of(self, resource_class: str) -> Floats:
        """float64[n, width]: what each provider in the trees of the hosts has left of a
        class, by the books; -1.0 where a host has fewer such providers than others.
        Picks of this request are not taken off."""
        rooms = self.fleet.rooms
        if rooms is None:
            return np.empty((len(self), 0))
        return rooms.left(self.provider, resource_class)

    # -- aggregates and reported facts --------------------------------------------

    def in_any(self, aggregates: Iterable[int]) -> Bools:
        """bool[n]: members of at least one aggregate, by index."""
        bits: BitMatrix = self.fleet.hosts.aggregates
        return bits.any_of(aggregates, self.fleet.hosts.height)[self.rows]

    def aggregate_values(self, key: str) -> tuple[Int32s, list[tuple[str, ...]]]:
        """(codes int32[n], values): per host the raw values of ``key`` in the metadata
        of its aggregates, sorted, each once; ``values[codes[i]]``. Code 0: none."""
        having = self.fleet.aggregates.having(key)
        codes: Int32s = np.zeros(len(self), np.int32)
        # Distinct sets of aggregates are few: a code for each, extended one by one.
        sets: list[tuple[int, ...]] = [()]
        code_of: dict[tuple[int, ...], int] = {(): 0}
        for index in having:
            member = self.in_any((index,))
            before = codes[member]
            after = before.copy()
            for code in np.unique(before).tolist():
                wider = (*sets[code], index)
                if wider not in code_of:
                    code_of[wider] = len(sets)
                    sets.append(wider)
                after[before == code] = code_of[wider]
            codes[member] = after
        values = [tuple(sorted({having[one] for one in found})) for found in sets]
        return codes, values

    def domains(self, key: str) -> tuple[Int32s, tuple[str, ...]]:
        """(codes int32[n], names): the domain of each host by a topology key, such as
        its rack. Code 0: it has none."""
        domains = self.fleet.domains
        if domains is None:
            return np.zeros(len(self), np.int32), ("",)
        found = domains.of(key)
        return found.codes[self.rows], found.names

    def with_label(self, key: str, value: str) -> Bools:
        """bool[n]: which have a label, by an operator's word, by metadata of their
        aggregates, or by traits. ``value`` "": with any."""
        domains = self.fleet.domains
        if domains is None:
            return np.zeros(len(self), np.bool_)
        return domains.of(key).bearing(value)[self.rows]

    def reported(self, *path: str) -> tuple[Int32s, list[Any]]:
        """(codes int32[n], values): what hosts report at ``path`` (a field of
        compute_nodes, then keys within it). Code 0: nothing there."""
        factor = self.fleet.hosts.factor(*path)
        return factor.codes[self.rows], factor.values

    def judge(
        self, codes: Int32s, values: list[Any], passes: Callable[[Any], bool]
    ) -> Bools:
        """bool[n]: ``passes(values[code])`` per host, called once per distinct value,
        that of code 0 included."""
        verdicts = np.zeros(len(values), np.bool_)
        for code in np.unique(codes).tolist():
            verdicts[code] = passes(values[code])
        return verdicts[codes]

    # -- between picks ------------------------------------------------------------

    def at(self, places: Int64s) -> Hosts:
        """The hosts at ``places``, with what was consumed on them."""
        picked = Hosts(self.fleet, self.rows[places])
        for name, values in self.__dict__.items():
            if isinstance(values, np.ndarray) and name != "rows":
                _keep_column(picked, name, values[places])
        if self.added:
            picked.added = {
                number: self.added[place]
                for number, place in enumerate(places.tolist())
                if place in self.added
            }
        return picked

    def on(self, fleet: Fleet) -> Hosts:
        """These hosts, read from ``fleet``, a copy of theirs; gathered and consumed
        columns are kept."""
        if fleet is self.fleet:
            return self
        rows = self.rows.view()
        rows.flags.writeable = False
        found = Hosts(fleet, rows)
        for name, values in self.__dict__.items():
            if isinstance(values, np.ndarray) and name != "rows":
                _keep_column(found, name, values.view())
        found.added = {place: list(uuids) for place, uuids in self.added.items()}
        return found

    def keep(self, mask: Bools) -> Hosts:
        """The hosts that ``mask`` (bool[n]) names, with what was consumed on them."""
        kept = Hosts(self.fleet, self.rows[mask])
        for name, values in self.__dict__.items():
            if isinstance(values, np.ndarray) and name != "rows":
                _keep_column(kept, name, values[mask])
        if self.added:
            new_place = np.cumsum(mask) - 1
            kept.added = {
                int(new_place[place]): list(uuids)
                for place, uuids in self.added.items()
                if mask[place]
            }
        return kept

    def copy(self) -> Hosts:
        """These hosts, with columns of their own that may be consumed."""
        return self.keep(np.ones(len(self), np.bool_))

    def consume(self, place: int, taken: Taken, instance_uuid: str) -> None:
        """An instance that takes so much goes to the host at ``place``."""
        self.land(taken, 1, place)
        self.added.setdefault(place, []).append(instance_uuid)

    def land(
        self,
        taken: Taken | Int64s,
        count: int | Int64s,
        at: int | Int64s | slice = _EVERYWHERE,
    ) -> None:
        """``count`` instances, which take ``taken`` together, are on the host ``at`` a
        place; on several: int64[places], and int64[fields of Taken, places]."""
        vcpus, memory_mb, disk_mb, devices = taken
        for column, amount in (
            ("free_ram_mb", -memory_mb),
            ("free_disk_mb", -disk_mb),
            ("vcpus_used", vcpus),
            *((("pci_free", -devices),) if np.any(devices) else ()),
            ("num_instances", count),
            ("num_io_ops", count),
        ):
            values = self.column(column)
            values.flags.writeable = True
            values[at] += amount
            values.flags.writeable = False


def _keep_column(hosts: Hosts, name: str, values: Bools | Int64s | Floats) -> None:
    """Make a shared array read-only."""
    values.flags.writeable = False
    hosts.__dict__[name] = values
