"""Decisions: from a request to claimed hosts, in this process, by the library.

Fleets and requests are those of ``gantt bench``; 16 callers request one instance each,
with the default filters and weighers. Peer is Nova's scheduler: its own filters and
weighers on prepared host states, without its databases, RPC and Placement. ``topology``
asks for four dedicated CPUs in one cell and a VF near them, on hosts with four cells of
sixteen threads, some in use, and eight VFs near two of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count, islice
from pathlib import Path
from statistics import median
from typing import Any

from msgspec import UNSET, structs
from msgspec.structs import replace

from bench.report import Row, at_least, at_most, compared, say
from bench.timing import calls_per_s, seconds
from gantt.bench.bench_fleets import BenchFleet, fleet_of
from gantt.bench.fleet_setup import stats_of
from gantt.bench.gantt_side import GanttSide
from gantt.bench.paths import opened
from gantt.bench.side import Side
from gantt.bench.workloads import CALLERS, Ask, asks
from gantt.client.scheduler import SchedulerClient
from gantt.engine.gantt import Gantt

FEW, MANY = 10_000, 100_000

DURABLE_PER_S, MEMORY_PER_S, GROUPS_PER_S = 2_000, 4_000, 1_000
COLD_S, WARM_S, THOUSAND_S = 0.003, 0.0005, 0.5
REPORTS_PER_S = 10_000
NOVA_TIMES, NOVA_ROUNDS = 1_000, 3

FITTED_PER_S, FITTED_COLD_S, FITTED_WARM_S = 500, 0.020, 0.002
FITTED_TIMES, FITTED_ROUNDS = 200, 2  # of half a minute each with 10,000 hosts

TIMES = 250  # requests of each caller
SINGLE = 200  # decisions of which the median is taken
MEMBERS = 4  # of a server group
CHANGED = 20  # one report in so many has changes
SMALL = Ask(0, 1, 512, 1)
PINNED = next(asks("pinned"))


def measure(folder: Path, scale: float) -> Iterator[Row]:
    """All rows of this suite; ``folder`` is for databases."""
    for size, ease in ((FEW, 1), (MANY, 2)):  # at ten times the size goals are half
        fleet = fleet_of("flat", int(size * scale), is_mixed=False)
        yield from _durable(folder, fleet, ease)
        yield from _in_memory(fleet, ease)


def measure_topology(folder: Path, scale: float) -> Iterator[Row]:
    """The same of instances that are fitted to cells and devices."""
    fleet = fleet_of("nested", int(FEW * scale), is_mixed=False)
    hosts = fleet.hosts
    what = f"{len(hosts):,} hosts of {hosts[0].cells} cells, {PINNED.vcpus} dedicated "
    what += "CPUs and a VF"
    with decided("topology", f"sqlite:///{folder / 'cells.db'}", fleet, PINNED) as here:
        rate = here.per_s(TIMES // 2)
        work = f"{what}: {CALLERS} callers, claims durable (SQLite FULL)"
        yield at_least(work, FITTED_PER_S, rate)
        yield here.single(f"{what}: warm,", FITTED_WARM_S, is_warm=True)
        yield here.single(f"{what}: cold,", FITTED_COLD_S, is_warm=False)
    work = f"{what}: a durable decision, and Nova's two filters on warm host states"
    nova_s = _nova_s(fleet, "pinned", FITTED_ROUNDS)
    yield compared(work, FITTED_TIMES, 1 / rate, nova_s)


def _durable(folder: Path, fleet: BenchFleet, ease: int) -> Iterator[Row]:
    size = len(fleet.hosts)
    what = f"{size:,} hosts, in process"
    with decided("scheduler", f"sqlite:///{folder / f'hosts-{size}.db'}", fleet) as one:
        rate = one.per_s(TIMES)
        work = f"{what}: {CALLERS} callers, claims durable (SQLite FULL)"
        yield at_least(work, DURABLE_PER_S / ease, rate)
        if ease == 1:
            work = f"{what}: that, and Nova's own filters and weighers on warm host "
            nova_s = _nova_s(fleet, "stream", NOVA_ROUNDS)
            yield compared(f"{work}states", NOVA_TIMES, 1 / rate, nova_s)
        work = f"{what}: the same, into anti-affinity groups of {MEMBERS}"
        yield at_least(work, GROUPS_PER_S / ease, one.per_s(TIMES, MEMBERS))
        work = f"{what}: one request for 1,000 instances, durable"
        taken = [seconds(lambda: one.place(count=1_000)) for _ in range(3)]
        yield at_most(work, THOUSAND_S * ease, median(taken))
        work = f"{what}: update_resource_stats, {100 // CHANGED} % change something"
        rate = _reports_per_s(one.library, fleet)
        yield at_least(work, REPORTS_PER_S / ease, rate)


def _in_memory(fleet: BenchFleet, ease: int) -> Iterator[Row]:
    what = f"{len(fleet.hosts):,} hosts, in process"
    with decided("scheduler", "memory://", fleet) as one:
        work = f"{what}: {CALLERS} callers, in memory"
        yield at_least(work, MEMORY_PER_S / ease, one.per_s(TIMES))
        yield one.single(f"{what}: a warm decision", WARM_S * ease, is_warm=True)
        yield one.single(f"{what}: a cold decision", COLD_S * ease, is_warm=False)


@contextmanager
def decided(
    suite: str, url: str, fleet: BenchFleet, ask: Ask = SMALL
) -> Iterator[Decisions]:
    """Decisions on ``fleet``, all of which has reported, like ``ask``."""
    say(f"{suite}: {fleet.name}, {url.partition(':')[0]} ...")
    with opened(url, fleet, lambda *_: None) as library:
        found = Decisions(library, ask)
        found.place()
        yield found


class Decisions:
    """Requests to the library, each with a number of its own; many threads may ask."""

    def __init__(self, library: Gantt, ask: Ask) -> None:
        self.library = library
        self._side, self._ask, self._numbers = GanttSide("", library), ask, count()

    def place(self, **other: int) -> None:
        """Ask as always, but for ``other``; all instances find a host."""
        ask = replace(self._ask, number=next(self._numbers), **other)
        placed = self._side.place(ask)
        assert placed == ask.count, f"{placed} of {ask} were placed"

    def per_s(self, times: int, members: int = 0) -> float:
        """Decisions in a second, ``times`` of each caller; into groups of ``members``,
        one filled after the other."""
        turns = count()
        if not members:
            return calls_per_s(self.place, times)
        return calls_per_s(lambda: self.place(group=next(turns) // members), times)

    def single(self, what: str, goal_s: float, *, is_warm: bool) -> Row:
        """How long a decision takes before it is handed to the committer; of sizes that
        were never asked for, unless it ``is_warm``."""
        for number in range(SINGLE):
            size = self._ask.memory_mb if is_warm else 1_024 + number
            self.place(memory_mb=size)
        records = self.library.decisions(limit=SINGLE)
        found_s = median(record.timings["decide"] for record in records)
        return at_most(f"{what} before its commit, p50", goal_s, found_s)


def _reports_per_s(library: Gantt, fleet: BenchFleet) -> float:
    """Complete reports as an agent sends them, through the client."""
    client, turns = SchedulerClient(library), count()
    known = [structs.asdict(stats_of(host)) for host in fleet.hosts[:FEW]]
    said: list[dict[str, Any]] = [
        {name: value for name, value in one.items() if value is not UNSET}
        for one in known
    ]

    def act() -> None:
        turn = next(turns)
        number = turn * 7919 % len(said)
        news = {} if turn % CHANGED else {"memory_mb_used": 1 + turn}
        name = fleet.hosts[number].name
        client.update_resource_stats(None, name, {**said[number], **news})

    return calls_per_s(act, 4 * TIMES)


def _nova_s(fleet: BenchFleet, workload: str, rounds: int) -> float:
    """Seconds of a request to Nova's filters and weighers; the first does not count."""
    say(f"scheduler: Nova's filters and weighers on {fleet.name} ...")
    # Imported late because it is large.
    from gantt.bench.nova_side import NovaSide

    side: Side = NovaSide(fleet)
    asked = islice(asks(workload), 1 + rounds)
    return median([seconds(lambda: side.place(ask)) for ask in asked][1:])  # noqa: B023
