"""The result of ``select_destinations``, and the record of a decision."""

from __future__ import annotations

from collections.abc import Sized
from typing import Any, Final, Protocol

from msgspec import Struct

from gantt.model.audit import Finding
from gantt.model.diagnosis import Diagnosis, Relaxation
from gantt.model.names import on_one_line
from gantt.model.paging import Key
from gantt.model.spec import RequestSpec
from gantt.model.takeover import Takeover


class Limits(Struct, frozen=True):
    """Limits for the caller's own claim on the host; None: no limit."""

    numa_topology: dict[str, Any] | None = None
    vcpu: int | None = None
    disk_gb: int | None = None
    memory_mb: int | None = None


class CellPlace(Struct, frozen=True):
    """Where a NUMA cell of an instance must start: cell ``host_cell`` of its host.

    ``pinning``: (vCPU, CPU of the host); ``floating``: vCPUs that may run on any shared
    CPU of the host cell; ``emulator``: CPUs for the emulator; ``page_kib`` None: the
    host's smallest pages.
    """

    cell: int
    host_cell: int
    memory_mb: int
    page_kib: int | None = None
    pinning: tuple[tuple[int, int], ...] = ()
    floating: tuple[int, ...] = ()
    emulator: tuple[int, ...] = ()


class DevicePlace(Struct, frozen=True):
    """Devices that an instance must get: ``count`` of those with ``tags``, at
    ``addresses`` where the host names them. ``provider_uuid``: where they are in the
    books."""

    request_id: str | None
    count: int
    numa_node: int | None
    tags: dict[str, str | tuple[str, ...]]
    addresses: tuple[str, ...] = ()
    provider_uuid: str | None = None


class Place(Struct, frozen=True):
    """Cells, CPUs, pages and devices that a claim names, on a host that obeys it."""

    cells: tuple[CellPlace, ...] = ()
    devices: tuple[DevicePlace, ...] = ()


class Selection(Struct, frozen=True):
    """A host for an instance: the fields of Nova's Selection 1.1, and ours.

    ``allocation_request``: JSON text of {"allocations": …, "mappings": …}; "null" where
    nothing is claimed. ``claim``: the claim that holds it (None: an alternate, or
    nothing was claimed). ``age_s``: seconds since the last report of the host that was
    stored: one with changes, or the first without any after ``report_age_s``; None:
    there is none, or the clock is behind it. ``place``: what the instance must use
    there; None: the host picks, or nothing was asked for.
    """

    compute_node_uuid: str | None
    service_host: str
    nodename: str
    cell_uuid: str | None = None
    limits: Limits | None = None
    allocation_request: str | None = None
    allocation_request_version: str | None = None
    availability_zone: str | None = None
    claim: str | None = None
    age_s: float | None = None
    place: Place | None = None


class Step(Struct, frozen=True):
    """The effect of one filter: hosts in and out, and how many it *alone* removed:
    those that pass every other one that checked them.

    A filter that checks hosts one by one runs last and only on those that remain; the
    exact search runs after all filters. So ``removed_alone`` of a step may count hosts
    that a later one of these would have refused too.
    """

    name: str
    before: int
    after: int
    removed_alone: int


class Score(Struct, frozen=True):
    """One host's weight and its parts: weigher -> (raw, multiplied) score. The second
    is 0 where the weigher has no effect: its multiplier is 0, or the host is the only
    one, which is not weighed; only a dry run includes those."""

    host: str
    node: str
    weight: float
    parts: dict[str, tuple[float, float]] = {}
    age_s: float | None = None


Column = list[float] | float
"""A number for each of some hosts, or the one that all of them have."""


class Scoring(Struct, frozen=True):
    """The scores of the best hosts by columns, which are far cheaper to make, send and
    store than a Score for each. ``parts``: weigher, raw scores, the bounds of
    normalisation, and the multiplier."""

    names: list[tuple[str, str]]
    weights: list[float]
    ages_s: list[float | None]
    parts: list[tuple[str, Column, float, float, Column]]

    def scores(self) -> tuple[Score, ...]:
        """One for each host, the best first."""
        parts: list[dict[str, tuple[float, float]]] = [{} for _ in self.names]
        for weigher, raws, low, high, factors in self.parts:
            pairs = zip(_each(raws, parts), _each(factors, parts), strict=True)
            for mine, (raw, factor) in zip(parts, pairs, strict=True):
                mine[weigher] = raw, scaled(raw, low, high, factor)
        return tuple(
            Score(*name, weight, mine, age_s)
            for name, weight, mine, age_s in zip(
                self.names, self.weights, parts, self.ages_s, strict=True
            )
        )


def scaled(raw: float, low: float, high: float, factor: float) -> float:
    """A raw score, normalised between ``low`` and ``high``, and multiplied."""
    if low == high:
        return 0.0
    return (min(max(raw, low), high) - low) / (high - low) * factor


def _each(column: Column, hosts: Sized) -> list[float]:
    return column if isinstance(column, list) else [column] * len(hosts)


_MOST_LINES: Final = 3


class Near(Struct, frozen=True):
    """A host that only a few filters or amounts refused, and these. ``lacks``: what of
    its resources, NUMA cells and devices is too little for an instance, and labels that
    it lacks; None: that fits, or was not asked for."""

    host: str
    node: str
    removed_by: tuple[str, ...]
    lacks: str | None = None

    @property
    def text(self) -> str:
        """Why it was refused."""
        return self.lacks or f"refused by {', '.join(self.removed_by)}"


class Why(Struct, frozen=True):
    """Why hosts were removed.

    ``books``: the diagnosis of the search for one instance when it found nothing;
    ``change``: the smallest change with which every instance of the request would have
    had a host, as text, and ``given_up`` the same as values: one change, or two that
    only help together. ``is_truncated``: the search for it ended at its limit
    (``change_budget``), or others wrote meanwhile, so that a smaller change, or any if
    none is named, may exist. ``related``: how relations by topology keys kept instances
    from hosts. ``said``: all of it in plain words, counts of hosts
    first, and nothing else, where it was asked for in such.
    """

    steps: tuple[Step, ...] = ()
    nearest: tuple[Near, ...] = ()
    change: str | None = None
    books: Diagnosis | None = None
    given_up: tuple[Relaxation, ...] = ()
    is_truncated: bool = False
    said: tuple[str, ...] = ()
    related: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return on_one_line(f"<Why {' '.join(self.lines)}>")

    @property
    def lines(self) -> tuple[str, ...]:
        """The nearest hosts and what would help, in a few lines."""
        if self.said:
            return self.said
        near = (f"{one.host}: {one.text}." for one in self.nearest[:_MOST_LINES])
        return (*near, *filter(None, [self.help]))

    @property
    def help(self) -> str:
        """What would help, of a request that was refused; "": that is not known, as to
        a caller who only sees counts."""
        if self.change:
            return f"This would help: {self.change}."
        is_known = bool(self.nearest) and not self.is_truncated
        return "No single change of the request would help." if is_known else ""


class KeptSpec(RequestSpec, frozen=True, omit_defaults=True):
    """A request without who asked for it; what it leaves open takes no room."""


class KeptRequest(Struct, frozen=True):
    """What a decision was asked, so that it can be tried again as a dry run.

    ``request_spec``: of all its instances; ``left_out``: what it also asked for and is
    not kept, since it may be private: scheduler hints and image properties that Gantt
    does not know. ``filters_off``: enabled filters that a dry run left out.
    """

    request_spec: KeptSpec
    left_out: tuple[str, ...] = ()
    filters_off: tuple[str, ...] = ()


class Decision(Struct, frozen=True):
    """The record of one call.

    ``steps``: of the first instance; ``scores``: the best hosts in order (all of them
    in the answer to a dry run, not in its stored record) as they were for the first
    instance; ``chosen``: per instance, its host first, then alternates. ``timings``:
    seconds by stage. ``repair``: what a repair of the audit undid, and ``takeover``:
    what one host took over from another, which are no choice of hosts. ``request``:
    what was asked, with what a dry run gave up already given up; None: it was longer
    than ``record_request_bytes``, or is not shown. ``names``: uuid -> name, of its
    instances whose names are known when it is shown; no record keeps them.
    """

    request_id: str
    instance_uuids: tuple[str, ...]
    project_id: str | None
    revision: int
    at: int
    driver: str
    hosts: int
    steps: tuple[Step, ...]
    scores: tuple[Score, ...]
    chosen: tuple[tuple[Selection, ...], ...] = ()
    why: Why | None = None
    failure: str | None = None
    attempts: int = 1
    timings: dict[str, float] = {}
    is_dry_run: bool = False
    repair: Finding | None = None
    takeover: Takeover | None = None
    request: KeptRequest | None = None
    names: dict[str, str] = {}

    @property
    def emptied_by(self) -> Step | None:
        """The first step that left no host of those that came to it."""
        return next((one for one in self.steps if one.before and not one.after), None)

    @property
    def reason(self) -> str:
        """What refused the request, in a word: the filter that left no host, else
        ``claims_lost`` or ``books``."""
        if self.emptied_by is not None:
            return self.emptied_by.name
        return "claims_lost" if self.hosts and self.steps else "books"


DecisionPlace = tuple[Key, Key, str]
"""Of a record among all: when it was decided (microseconds), its number within its
process, the process."""


class Named(Protocol):
    """By what a record is found."""

    @property
    def request_id(self) -> str: ...

    @property
    def instance_uuids(self) -> tuple[str, ...]: ...

    @property
    def project_id(self) -> str | None: ...


class Asked(Struct, frozen=True):
    """Filters for decisions; None: any. ``limit``: maximum number, latest first, of
    those that precede ``after``; None: of all."""

    request_id: str | None = None
    instance_uuid: str | None = None
    project_id: str | None = None
    limit: int = 100
    after: DecisionPlace | None = None

    def means(self, record: Named) -> bool:
        """Whether ``record`` is one of them."""
        instance = self.instance_uuid
        return (
            self.request_id in (None, record.request_id)
            and self.project_id in (None, record.project_id)
            and (instance is None or instance in record.instance_uuids)
        )


class DecisionPage(Struct, frozen=True):
    """Records, the latest first. ``next``: continue after it; "": these are the
    last."""

    decisions: tuple[Decision, ...]
    next: str = ""


class Capacity(Struct, frozen=True):
    """How many more of a flavor fit: in total, by host, and what removed the others.

    ``limits``: what blocks the next instance -> on how many hosts, the most first: a
    resource class, a filter (one that counts, or the rule of a server group), "fit of
    all parts together" where a tree has no place, an option at which counting ended
    ("capacity_per_host", "search_budget", "topology_fits"). Only hosts that pass
    everything else count, once for each cause. ``is_lower_bound``: counting ended at
    such an option on some hosts, which may have room for more; ``limits`` says on how
    many. ``change``: with which one would fit, where none does, and ``is_truncated`` as
    in ``Why``.
    """

    total: int
    hosts: dict[str, int]
    steps: tuple[Step, ...]
    nearest: tuple[Near, ...] = ()
    change: str | None = None
    limits: dict[str, int] = {}
    is_truncated: bool = False
    is_lower_bound: bool = False
