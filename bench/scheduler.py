"""Decisions: from a request to claimed hosts, in this process, by the library.

16 callers request one instance each, with the default filters and weighers. Peer is
Nova's scheduler: its own filters and weighers on prepared host states.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import count, islice
from pathlib import Path
from statistics import median
from typing import Any

from msgspec import UNSET, structs

import gantt
from bench import hosts
from bench.report import Row, compared, say
from gantt.bench.figures import duration
from gantt.bench.fleets import fleet_of
from gantt.bench.workloads import asks
from gantt.client.scheduler import SchedulerClient
from gantt.engine.gantt import Gantt
from gantt.engine.options import EngineOptions
from gantt.model.spec import InstanceGroup, ScheduleRequest

FEW, MANY = 10_000, 100_000

DURABLE_PER_S, MEMORY_PER_S, GROUPS_PER_S = 2_000, 4_000, 1_000
COLD_S, WARM_S, THOUSAND_S = 0.003, 0.0005, 0.5
REPORTS_PER_S = 10_000
NOVA_TIMES = 1_000
NOVA_ROUNDS = 3

# Other load on the machine may delay the committer.
PATIENT = EngineOptions(wait_s=30.0)

TIMES = 250  # requests of each caller
SINGLE = 200  # decisions of which the median is taken
MEMBERS = 4  # of a server group
CHANGED = 20  # one report in so many has changes


def measure(folder: Path, scale: float) -> Iterator[Row]:
    """All rows of this suite; ``folder`` is for databases."""
    yield from _fleet(folder, int(FEW * scale), is_first=True)
    yield from _fleet(folder, int(MANY * scale), is_first=False)


def _fleet(folder: Path, size: int, *, is_first: bool) -> Iterator[Row]:
    """At ten times the size the goals are half."""
    ease = 1 if is_first else 2
    fleet = f"{size:,} hosts, in process"
    say(f"scheduler: {size:,} hosts on a disk ...")
    with _library(f"sqlite:///{folder / f'hosts-{size}.db'}", size) as library:
        names = hosts.Names(1)
        durable = _decisions_per_s(library, names)
        what = f"{fleet}: {hosts.CALLERS} callers, claims durable (SQLite FULL)"
        yield _rate(what, durable, DURABLE_PER_S / ease)
        if is_first:
            yield _peer(size, 1 / durable)
        rate = _group_decisions_per_s(library, names)
        what = f"{fleet}: the same, into anti-affinity groups of {MEMBERS}"
        yield _rate(what, rate, GROUPS_PER_S / ease)
        taken = _at_once(library, names, 1000)
        what = f"{fleet}: one request for 1,000 instances, durable"
        yield _time(what, taken, THOUSAND_S * ease)
        rate = _reports_per_s(library, size)
        what = f"{fleet}: update_resource_stats, {100 // CHANGED} % change something"
        yield _rate(what, rate, REPORTS_PER_S / ease)
    say(f"scheduler: {size:,} hosts in memory ...")
    with _library("memory://", size) as library:
        names = hosts.Names(2)
        rate = _decisions_per_s(library, names)
        what = f"{fleet}: {hosts.CALLERS} callers, in memory"
        yield _rate(what, rate, MEMORY_PER_S / ease)
        yield _time(
            f"{fleet}: a warm decision before its commit, p50",
            _single(library, names, is_warm=True),
            WARM_S * ease,
        )
        yield _time(
            f"{fleet}: a cold decision before its commit, p50",
            _single(library, names, is_warm=False),
            COLD_S * ease,
        )


@contextmanager
def _library(url: str, size: int) -> Iterator[Gantt]:
    """A scheduler of so many hosts, all of which have reported."""
    library = gantt.connect(url, options=PATIENT, create=True)
    assert isinstance(library, Gantt), url
    try:
        hosts.found(library, size)
        library.schedule(hosts.instances(hosts.Names(9)))
        yield library
    finally:
        library.close()


def _decisions_per_s(library: Gantt, names: hosts.Names) -> float:
    return hosts.per_second(lambda: library.schedule(hosts.instances(names)), TIMES)


def _group_decisions_per_s(library: Gantt, names: hosts.Names) -> float:
    """One member per request; the caller's groups are filled one after the other."""
    turns = count()

    def act() -> None:
        number = next(turns) // MEMBERS
        uuid = f"00000000-0000-4000-9000-{number:012x}"
        spec = hosts.spec(InstanceGroup(uuid, "anti-affinity"))
        library.schedule(ScheduleRequest(spec, (names.take(),)))

    return hosts.per_second(act, TIMES)


def _at_once(library: Gantt, names: hosts.Names, size: int) -> float:
    """The median of three requests."""
    taken = []
    for _ in range(3):
        request = hosts.instances(names, size)
        taken.append(hosts.seconds(partial(library.schedule, request)))
    return median(taken)


def _single(library: Gantt, names: hosts.Names, *, is_warm: bool) -> float:
    """Duration of a decision before it is handed to the committer."""
    for number in range(SINGLE):
        # A new size: nothing of it is cached.
        memory_mb = hosts.MEMORY_MB if is_warm else 1024 + number
        library.schedule(hosts.instances(names, memory_mb=memory_mb))
    records = library.decisions(limit=SINGLE)
    return median(record.timings["decide"] for record in records)


def _reports_per_s(library: Gantt, size: int) -> float:
    """Complete reports as an agent sends them, through the client."""
    client, turns = SchedulerClient(library), count()
    known = [_plain(number) for number in range(min(size, FEW))]

    def act() -> None:
        turn = next(turns)
        number = turn * 7919 % len(known)
        report = known[number]
        if turn % CHANGED == 0:
            report = {**report, "memory_mb_used": 1 + turn}
        client.update_resource_stats(None, f"host{number}", report)

    return hosts.per_second(act, 4 * TIMES)


def _plain(number: int) -> dict[str, Any]:
    said = structs.asdict(hosts.stats(number))
    return {name: value for name, value in said.items() if value is not UNSET}


def _peer(size: int, gantt_s: float) -> Row:
    """Nova without databases, RPC and Placement against a whole durable decision."""
    say(f"scheduler: Nova's filters and weighers on {size:,} hosts ...")
    # Imported late because it is large.
    from gantt.bench.nova_side import NovaSide

    side = NovaSide(fleet_of("flat", size, is_mixed=False))
    taken = [
        hosts.seconds(partial(side.place, ask))
        for ask in islice(asks("stream"), 1 + NOVA_ROUNDS)
    ]
    return compared(
        f"{size:,} hosts, in process: that, and Nova's own filters and weighers on "
        "warm host states",
        NOVA_TIMES,
        gantt_s,
        median(taken[1:]),
    )


def _rate(work: str, found: float, goal: float) -> Row:
    return Row(work, f"≥ {goal:,.0f}/s", f"{found:,.0f}/s", is_met=found >= goal)


def _time(work: str, found: float, goal: float) -> Row:
    goal_text = f"≤ {duration(goal)}"
    return Row(work, goal_text, duration(found), is_met=found <= goal)
