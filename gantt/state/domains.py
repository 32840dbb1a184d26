"""Topology keys as columns of hosts: rack, row, power, or whatever an operator calls
them. A value of a key is a domain.

A column is made when a rule first asks for its key, and anew after what is said of any
host has changed. Whose word counts, in this order: an operator's label, metadata of
host aggregates (``rack`` or ``topology:rack``), traits of the host's provider
(``CUSTOM_RACK_R7``). A host of which the first of these that says anything says two
things is in no domain.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import compress
from typing import Final, Protocol, TypeAlias

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from gantt.model.relations import HOST
from gantt.state.bits import BitMatrix
from gantt.state.column import ALL, ANY, NO_ROW, Bools, Int32s, Int64s
from gantt.state.fact_table import Facts
from gantt.state.fleet_tables import HostAggregateTable
from gantt.state.host_table import HostTable
from gantt.state.name_table import NameTable
from gantt.state.provider_columns import Providers

PREFIX: Final = "topology:"
NO_DOMAIN: Final = 0
_TRAIT: Final = "CUSTOM_"
_MOST_KEYS: Final = 64
_SOME: Final = 4
_Said: TypeAlias = tuple[Int64s, NDArray[np.str_]]
"""Rows of hosts, and the value that is said of each."""


class Domains(Struct, frozen=True, eq=False):
    """``codes``: int32 per row of ``state.hosts``, ``names[code]`` is its domain;
    NO_DOMAIN: none. ``torn``: bool per row, of which two values are told. ``some``:
    int64[domains, k], rows of each; ``is_whole``: no host is in none. ``said``: rows,
    and for each of them a place in ``values``: all that counts of what is told of
    them, two values of a host too. Nothing of this changes later."""

    key: str
    codes: Int32s
    names: tuple[str, ...]
    torn: Bools
    some: Int64s
    is_whole: bool
    said: tuple[Int64s, Int32s]
    values: tuple[str, ...]

    def bearing(self, value: str) -> Bools:
        """bool per row of ``state.hosts``: which have the key with ``value``, also as
        traits write it; "": with any."""
        found: Bools = np.zeros(len(self.codes), np.bool_)
        rows, codes = self.said
        if value:
            alike = (value, in_trait(value))
            rows = rows[
                np.isin(codes, [n for n, one in enumerate(self.values) if one in alike])
            ]
        found[rows] = True
        return found

    @property
    def is_known(self) -> bool:
        """Whether any host has the key."""
        return len(self.names) > 1 or bool(self.torn.any())

    def having(self, mask: Bools) -> Bools:
        """bool[domains]: which have a host of ``mask`` (bool per row). Of most a look
        at some of their hosts tells."""
        if not len(mask):
            return np.zeros(len(self.names), np.bool_)
        found: Bools = ANY(mask[self.some], axis=1)
        found[NO_DOMAIN] = True
        if not ALL(found):
            found[self.codes[mask]] = True
        found[NO_DOMAIN] = False
        return found


def in_trait(text: str) -> str:
    """``text`` in the letters that names of traits may have."""
    return re.sub("[^A-Z0-9_]", "_", text.upper())


class _Fleet(Protocol):
    """What of a fleet puts hosts into domains."""

    hosts: HostTable
    facts: Facts
    aggregates: HostAggregateTable


class _Books(Protocol):
    """What of a State does."""

    @property
    def fleet(self) -> _Fleet: ...

    providers: Providers
    traits: NameTable
    provider_traits: BitMatrix


class _Words(Struct, frozen=True):
    """What is said of anything: ``keys`` and ``pairs`` of labels and metadata;
    ``traits``: all names; ``begins``: what CUSTOM ones begin with before a ``_``."""

    keys: frozenset[str]
    pairs: frozenset[tuple[str, str]]
    traits: frozenset[str]
    begins: frozenset[str]


class DomainColumns:
    """The columns of one State, by key."""

    def __init__(self, books: _Books) -> None:
        fleet = books.fleet
        self._hosts, self._facts = fleet.hosts, fleet.facts
        self._aggregates = fleet.aggregates
        self._providers, self._traits = books.providers, books.traits
        self._provider_traits = books.provider_traits
        self._known: dict[str, tuple[tuple[int, ...], Domains]] = {}
        self._words: tuple[tuple[int, ...], _Words] | None = None

    def of(self, key: str) -> Domains:
        """The column of a key, which may be one that no host has."""
        said = self._facts.moves, self._aggregates.moves, self._traits.moves
        stamp = *said, self._provider_traits.moves, self._hosts.structure
        known = self._known.get(key)
        if known is None or known[0] != stamp:
            self._known.pop(key, None)
            while len(self._known) >= _MOST_KEYS:  # requests make them up
                del self._known[next(iter(self._known))]
            known = self._known[key] = stamp, self._made(key)
        return known[1]

    def known_keys(self) -> list[str]:
        """The keys that labels and aggregates have, and HOST; of traits it cannot be
        told where the key ends."""
        found = {HOST, *(key for each in self._facts.labels.values() for key in each)}
        for metadata in self._aggregates.metadata.values():
            found.update(key.removeprefix(PREFIX) for key in metadata)
        return sorted(found)

    def knows(self, key: str, value: str) -> bool:
        """Whether a label is said of anything, hosts or what they may be in or have;
        "": any value of the key."""
        words, names = self._told(), (key, PREFIX + key)
        if value:
            trait = f"{_TRAIT}{in_trait(f'{key}_{value}')}"
            is_trait = self._traits.find(trait) is not None
            return is_trait or any((name, value) in words.pairs for name in names)
        name = in_trait(key)
        is_trait = not words.traits.isdisjoint((name, _TRAIT + name))
        is_trait = is_trait or _TRAIT + name in words.begins
        return is_trait or not words.keys.isdisjoint(names)

    def _told(self) -> _Words:
        """Made anew after any of it has changed: a request asks for many."""
        stamp = self._facts.moves, self._aggregates.moves, self._traits.moves
        if self._words is None or self._words[0] != stamp:
            told = [*self._facts.labels.values(), *self._aggregates.metadata.values()]
            pairs = frozenset(pair for one in told for pair in one.items())
            traits = frozenset(trait.name for trait in self._traits.rows())
            parts = [one.split("_") for one in traits if one.startswith(_TRAIT)]
            begins = frozenset(
                "_".join(one[:count]) for one in parts for count in range(2, len(one))
            )
            keys = frozenset(key for key, _ in pairs)
            self._words = stamp, _Words(keys, pairs, traits, begins)
        return self._words[1]

    def known_labels(self) -> set[str]:
        """All of them; of traits as their name has it."""
        told = [*self._facts.labels.values(), *self._aggregates.metadata.values()]
        found = {
            f"{key.removeprefix(PREFIX)}={value}"
            for one in told
            for key, value in one.items()
        }
        for trait in self._traits.rows():
            if trait.name.startswith(_TRAIT):
                found.add(trait.name.removeprefix(_TRAIT).lower())
        return found

    # -- how a column is made -----------------------------------------------------

    def _made(self, key: str) -> Domains:
        hosts = self._hosts
        column = _Column(hosts.height)
        if key == HOST:
            rows = hosts.live_rows()
            column.settle([(rows, np.array([hosts.hosts[row] for row in rows]))])
        else:
            column.settle(list(self._of_labels(key)))
            column.settle(list(self._of_aggregates(key)))
            column.settle(list(self._of_traits(key)))
            column.note(self._of_bare_traits(key))
        return column.done(key, hosts.live_rows())

    def _of_labels(self, key: str) -> Iterator[_Said]:
        for host, labels in self._facts.labels.items():
            if key in labels:
                rows = np.array(self._hosts.rows_of(host), np.int64)
                yield rows, np.full(len(rows), labels[key])

    def _of_aggregates(self, key: str) -> Iterator[_Said]:
        hosts = self._hosts
        for metadata_key in (key, PREFIX + key):
            having = self._aggregates.having(metadata_key)
            if having:
                rows, labels = hosts.aggregates.pairs(hosts.live_rows())
                values = np.array([having.get(n, "") for n in range(max(having) + 1)])
                is_said = np.isin(labels, list(having))
                yield rows[is_said], values[labels[is_said]]

    def _of_traits(self, key: str) -> Iterator[_Said]:
        prefix = f"{_TRAIT}{in_trait(key)}_"
        for trait in self._traits.rows():
            if trait.name.startswith(prefix):
                its = self._with_trait(self._traits.index_by_id[trait.id])
                yield its, np.full(len(its), trait.name.removeprefix(prefix))

    def _of_bare_traits(self, key: str) -> Iterator[Int64s]:
        """Hosts with a trait that is all of the key."""
        name = in_trait(key)
        for one in (name, _TRAIT + name):
            index = self._traits.index_of(one)
            if index is not None:
                yield self._with_trait(index)

    def _with_trait(self, index: int) -> Int64s:
        hosts, height = self._hosts, self._providers.height
        rows = hosts.live_rows()
        rows = rows[hosts.provider[rows] != NO_ROW]
        bears = self._provider_traits.any_of((index,), height)
        found: Int64s = rows[bears[hosts.provider[rows]]]
        return found


class _Column:
    """A column while it is made."""

    def __init__(self, height: int) -> None:
        self.codes: Int32s = np.zeros(height, np.int32)
        self.names: list[str] = [""]
        self.torn: Bools = np.zeros(height, np.bool_)
        self._code_of: dict[str, int] = {}
        self._said: list[tuple[Int64s, Int32s]] = []

    def settle(self, said: list[_Said]) -> None:
        """Take in what one source says, of the hosts that no source before it named."""
        if not said:
            return
        rows = np.concatenate([one for one, _ in said])
        spoken = np.concatenate([one for _, one in said])
        is_open = (self.codes[rows] == NO_DOMAIN) & ~self.torn[rows] & (spoken != "")
        rows = rows[is_open]
        words, places = np.unique(spoken[is_open], return_inverse=True)
        codes = np.array([self._code(word) for word in words.tolist()], np.int32)
        if not len(codes):
            return
        new = codes[places]
        self._said.append((rows, new))
        self.codes[rows] = new
        torn = rows[self.codes[rows] != new]
        self.torn[torn] = True
        self.codes[torn] = NO_DOMAIN

    def note(self, bare: Iterable[Int64s]) -> None:
        """Hosts that have the key without a value."""
        for rows in bare:
            self._said.append((rows, np.zeros(len(rows), np.int32)))

    def done(self, key: str, live: Int64s) -> Domains:
        """What was settled of the hosts at ``live``, without values that none has."""
        is_used = np.bincount(self.codes, minlength=len(self.names)) > 0
        is_used[NO_DOMAIN] = True
        codes = (np.cumsum(is_used) - 1)[self.codes].astype(np.int32)
        names = tuple(compress(self.names, is_used))
        order = np.argsort(codes, kind="stable")
        starts = np.searchsorted(codes[order], np.arange(len(names)))
        last = np.append(starts[1:], len(order)) - 1
        places = np.minimum(starts[:, None] + np.arange(_SOME), last[:, None])
        some = order[np.maximum(places, 0)] if len(order) else places
        is_whole = bool((codes[live] != NO_DOMAIN).all())
        rows = np.concatenate([one for one, _ in self._said] or [np.zeros(0, np.int64)])
        told = np.concatenate([one for _, one in self._said] or [np.zeros(0, np.int32)])
        said = rows, told
        values = tuple(self.names)
        return Domains(key, codes, names, self.torn, some, is_whole, said, values)

    def _code(self, word: str) -> int:
        code = self._code_of.get(word)
        if code is None:
            code = self._code_of[word] = len(self.names)
            self.names.append(word)
        return code
