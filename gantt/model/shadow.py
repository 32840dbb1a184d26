"""Shadow records: what Gantt decided beside Nova, and what Nova then claimed.

Separate from ``selection``, whose records are of decisions that claimed something: here
Nova decides, and each record has a verdict on one instance.
"""

from __future__ import annotations

from typing import Final, Literal

from msgspec import Struct

from gantt.errors import Invalid
from gantt.model.bounds import Name, RequestId, Text, Whole
from gantt.model.paging import Key
from gantt.model.spec import RequestSpec

Source = Literal["advice", "notification"]
Phase = Literal["start", "end"]
Verdict = Literal[
    "same",
    "ranked",
    "refused_by_gantt",
    "unknown_host",
    "refused_by_nova",
    "both_refused",
    "undetermined",
]
"""``same``: Nova claimed Gantt's host; ``ranked``: another one that passes;
``refused_by_gantt``: one that Gantt's filters refuse; ``unknown_host``: one that Gantt
does not know; ``refused_by_nova``: Nova claimed none, Gantt has one; ``both_refused``:
neither has one; ``undetermined``: what Nova did, or Gantt would do, is not known."""
WITH_HOST: Final = ("same", "ranked", "refused_by_gantt", "unknown_host")
"""The verdicts on a host that Nova claimed."""
MOST_SHADOWS: Final = 100_000
Place = tuple[str, str]
"""Host, node."""


class ShadowEvent(Struct, frozen=True):
    """Nova began to select hosts (``phase`` start), or has selected them (end).

    ``at``: microseconds since the epoch, by the clock of Nova's machine; None: now.
    ``instance_uuids``: those that are known, in the order of the request; () is the one
    that ``spec`` names. Other instances of the request are counted, but Nova's choice
    for them is not known.
    """

    spec: RequestSpec
    phase: Phase = "start"
    request_id: RequestId = ""
    at: int | None = None
    instance_uuids: tuple[Name, ...] = ()


class Ranking(Struct, frozen=True):
    """All hosts as one decision judged them, by columns: those that pass, best first
    and each with its weight, then the others, each with the number of the filter that
    refused it first."""

    hosts: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    weights: tuple[float | None, ...] = ()
    causes: bytes = b""
    filters: tuple[str, ...] = ()

    def find(self, host: str, node: str) -> int | None:
        """The place of a compute node, counted from 0; None: unknown."""
        for place, name in enumerate(self.hosts):
            if name == host and (node == "" or self.nodes[place] in (node, "")):
                return place
        return None

    def refused_by(self, place: int) -> str | None:
        """The filter that refused the host at ``place``; None: it passes."""
        number = place - len(self.weights)
        return None if number < 0 else self.filters[self.causes[number]]

    def place(self, number: int) -> Place:
        """The host and node at a place."""
        return self.hosts[number], self.nodes[number]


class RankedHost(Struct, frozen=True):
    """A host that passes, with its weight (None: not weighed)."""

    host: str
    node: str
    weight: float | None


class RefusedHost(Struct, frozen=True):
    """A host, and the filter that refused it first."""

    host: str
    node: str
    refused_by: str


class ShadowRecord(Struct, frozen=True):
    """One instance of one request that Nova decided.

    ``source``, ``mode``, ``operation``: how Gantt learnt of it. ``number`` of ``count``
    instances of the request. ``asked_at``: when Nova asked or said so; ``lag_s``: from
    then until Gantt had decided; ``gantt_s``: the decision itself; ``nova_s``: that of
    Nova, where its notifications tell it, else from ``asked_at`` to its claim, where it
    claims in these books and they keep fractions of seconds. ``is_late``: Nova's claim
    could not be left out of the decision. ``hosts`` were judged, ``feasible`` pass;
    ``ranked``: the best of these; ``refused``: filter -> hosts that it refused first;
    ``refused_hosts``: some of them. ``gantt_host``: Gantt's choice; None, with
    ``failure``: it has none.

    ``host``: that of Nova's claim, ``learnt_from`` allocations, remote allocations or
    instances, claimed at ``claimed_at``. ``rank``: of that host in Gantt's order, from
    1; ``refused_by``: the filter that refuses it; ``differences``: weigher -> how much
    more it adds for Gantt's host than for Nova's. ``is_inferred``: that Nova refused is
    concluded from the claim that never came. ``facts_s``: how old the last report of
    Gantt's host was when it was chosen. Times are in microseconds since the epoch.
    """

    id: str
    instance_uuid: str | None
    request_id: str
    project_id: str | None
    source: Source
    mode: str
    operation: str
    number: int
    count: int
    asked_at: int
    lag_s: float
    gantt_s: float
    revision: int
    hosts: int
    feasible: int
    ranked: tuple[RankedHost, ...]
    refused: dict[str, int]
    refused_hosts: tuple[RefusedHost, ...]
    gantt_host: str | None
    gantt_node: str | None
    failure: str | None
    verdict: Verdict
    settled_at: int
    is_late: bool = False
    host: str | None = None
    node: str | None = None
    learnt_from: str | None = None
    claimed_at: int | None = None
    nova_s: float | None = None
    rank: int | None = None
    weight: float | None = None
    refused_by: str | None = None
    differences: dict[str, float] = {}
    is_inferred: bool = False
    note: str = ""
    facts_s: float | None = None

    @property
    def decided_at(self) -> int:
        """When Gantt had decided."""
        return self.asked_at + round(self.lag_s * 1_000_000)


ShadowPlace = tuple[Key, Key]
"""Of a record among all: when Nova asked (microseconds), and a number among those of
the same time."""


class ShadowPage(Struct, frozen=True):
    """Records, the latest first. ``next``: continue after it; "": these are the
    last."""

    shadow_records: tuple[ShadowRecord, ...]
    next: str = ""


class ShadowQuery(Struct, frozen=True):
    """Which records; None: any. ``since`` <= ``asked_at`` < ``until``; of these the
    latest ``limit`` that precede ``after``."""

    since: int | None = None
    until: int | None = None
    instance_uuid: Text | None = None
    request_id: Text | None = None
    verdict: Verdict | None = None
    limit: Whole = 100
    after: ShadowPlace | None = None

    def means(self, record: ShadowRecord) -> bool:
        """Whether ``record`` is one of them."""
        return (
            (self.since is None or record.asked_at >= self.since)
            and (self.until is None or record.asked_at < self.until)
            and self.instance_uuid in (None, record.instance_uuid)
            and self.request_id in (None, record.request_id)
            and self.verdict in (None, record.verdict)
        )


class Agreement(Struct, frozen=True):
    """How far choices agree, of the requests with a host of Nova's that Gantt judged
    (``compared``): the shares where it is Gantt's own choice, and among Gantt's best;
    None: there are none. ``mean_rank``: of those that pass Gantt's filters."""

    compared: int
    same: float | None
    top_3: float | None
    top_5: float | None
    top_10: float | None
    mean_rank: float | None


class Disagreement(Struct, frozen=True):
    """Records alike: their verdict, the reason (a filter, the weigher that makes the
    greatest difference, or claims not known yet), how many, and the latest."""

    verdict: Verdict
    reason: str
    count: int
    example: ShadowRecord


class Spread(Struct, frozen=True):
    """``seconds`` at the 50th and 99th percentile, of so many."""

    count: int
    p50_s: float | None
    p99_s: float | None


class Usage(Struct, frozen=True):
    """Where instances went: how many hosts, and how many on the fullest."""

    instances: int
    hosts: int
    most_on_one_host: int


class SwitchEffect(Struct, frozen=True):
    """What would have been different with Gantt. ``only_gantt``: placed by Gantt, and
    refused by Nova, and that not on a host of which claims were not known yet;
    ``only_nova``: the reverse. ``gantt``, ``nova``: of the instances
    that both placed."""

    only_gantt: int
    only_nova: int
    gantt: Usage
    nova: Usage


class ShadowReport(Struct, frozen=True):
    """Computed from ``records``, observed from ``first_at`` to ``last_at``. ``notes``:
    what limits its meaning; ``facts``: how old reports of Gantt's hosts were."""

    records: int
    first_at: int | None
    last_at: int | None
    verdicts: dict[str, int]
    agreement: Agreement
    disagreements: tuple[Disagreement, ...]
    gantt_latency: Spread
    nova_latency: Spread
    lag: Spread
    switch: SwitchEffect
    notes: tuple[str, ...]
    facts: Spread = Spread(0, None, None)


def check_limit(limit: int) -> int:
    """Raises Invalid beyond the bounds."""
    if not 1 <= limit <= MOST_SHADOWS:
        raise Invalid(
            f"limit must be from 1 to {MOST_SHADOWS} shadow records, not {limit}: ask "
            "for a shorter time."
        )
    return limit
