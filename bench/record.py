"""What a record adds to a decision: pairs of engines on databases of their own, of
which one records, asked in turns, with what is written afterwards.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from statistics import median, quantiles
from typing import Final, NamedTuple
from uuid import UUID

from bench.report import Row, say
from gantt.bench.figures import duration
from gantt.connection import open_gantt
from gantt.engine.gantt import Gantt
from gantt.engine.options import EngineOptions, RecordOptions
from gantt.model.answers import Inventory
from gantt.model.spec import Flavor, RequestSpec, ScheduleRequest
from gantt.replay.machines import Machine, empty_stats
from gantt.store.interface import StoreOptions

HOSTS: Final = 1_000
DECISIONS, TURN = 24_000, 200
PAIRS: Final = 6
"""Where an engine's memory lies is worth a percent or two to it."""
WARM_UP: Final = 2 * PAIRS
MOST: Final = 1.05
AMOUNTS: Final = {"VCPU": Inventory(64), "MEMORY_MB": Inventory(262_144)}
FLAVORS: Final = [Flavor(n, 2048 * n, name=f"f{n}") for n in (1, 2, 4)]


class Cost(NamedTuple):
    """Seconds of a decision: until its caller has the answer; of processor time of all
    threads, and of the caller's alone."""

    wall_s: float
    work_s: float
    caller_s: float


# What is measured -> whether it has the goal: the last is a part of the one before.
MEASURES: Final = {
    "until the caller has the answer": True,
    "processor time of all threads": True,
    "of that, the caller's": False,
}


def measure(folder: Path, scale: float) -> Iterator[Row]:
    """Ask all in turns."""
    hosts, decisions = max(100, int(HOSTS * scale)), max(500, int(DECISIONS * scale))
    say(f"record: {decisions:,} decisions on {hosts:,} hosts, twice ...")
    asked = WARM_UP + decisions // TURN
    turns: list[list[Cost]] = [[], []]
    with ExitStack() as stack:
        pairs = [
            [
                stack.enter_context(closing(opened(folder / str(number), name, hosts)))
                for name in ("plain", "record")
            ]
            for number in range(PAIRS)
        ]
        for turn in range(asked):
            both = list(zip(pairs[turn % PAIRS], turns, strict=True))
            for gantt, mine in both[:: 1 if turn // PAIRS % 2 else -1]:
                mine.append(decide(gantt, turn, TURN))
        recorded = sum(recording.counts()["recorded"] for _, recording in pairs)
    columns = (list(zip(*mine[WARM_UP:], strict=True)) for mine in turns)
    for (what, is_goal), plain, record in zip(MEASURES.items(), *columns, strict=True):
        yield compared(f"{hosts:,} hosts: {what}", plain, record, is_goal=is_goal)
    yield Row(
        f"recorded of {asked * TURN:,} decisions",
        "all",
        f"{recorded:,.0f}",
        is_met=recorded == asked * TURN,
    )


def compared(
    what: str, plain: Sequence[float], record: Sequence[float], *, is_goal: bool
) -> Row:
    """Medians of the turns, and their ratio beside those of single turns: load of the
    machine meets both sides of one alike."""
    ratio = median(record) / median(plain)
    quarters = quantiles(two / one for one, two in zip(plain, record, strict=True))
    least = min(record) / min(plain)
    return Row(
        f"{what}, with a record and without, median",
        f"≤ {MOST - 1:.0%} more" if is_goal else "",
        f"{duration(median(record))}, {duration(median(plain))}",
        ratio=f"{ratio - 1:+.1%}; turns {quarters[0] - 1:+.1%} … "
        f"{quarters[2] - 1:+.1%}; least {least - 1:+.1%}",
        is_met=ratio <= MOST if is_goal else None,
    )


def opened(folder: Path, name: str, hosts: int) -> Gantt:
    """An engine with hosts that are alike."""
    folder.mkdir(exist_ok=True)
    record = str(folder / "files") if name == "record" else ""
    options = EngineOptions(
        recording=RecordOptions(record=record),
        store=StoreOptions(create=True),
        usage_sample_s=0,
    )
    gantt = open_gantt(f"sqlite:///{folder}/{name}.db", options)
    for number in range(hosts):
        host = f"h{number}"
        gantt.update_host(host, host, empty_stats(Machine(host, AMOUNTS)))
    return gantt


def decide(gantt: Gantt, turn: int, count: int) -> Cost:
    """Claims, one after the other; with what is written afterwards."""
    worked, began, here = time.process_time(), time.perf_counter(), time.thread_time()
    for number in range(count):
        spec = RequestSpec(FLAVORS[number % 3])
        uuid = str(UUID(int=turn * count + number + 1))
        gantt.schedule(ScheduleRequest(spec, (uuid,)))
    wall_s, caller_s = time.perf_counter() - began, time.thread_time() - here
    if gantt._recording is not None:
        gantt._recording.flush()
    work_s = time.process_time() - worked
    return Cost(wall_s / count, work_s / count, caller_s / count)
