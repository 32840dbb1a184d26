"""What a record adds to a decision: two engines on databases of their own, one that
records, asked in turns; processor time of the whole process, all threads included.

    python bench/record_cost.py --hosts 1000 --decisions 2000

Prints a line of JSON: milliseconds per decision without and with a record, the median
over the turns: ``wall_ms`` as the caller waits for it, ``work_ms`` of processor time of
all threads. And of both the ratios: of the medians, of the least turns (the one to look
at on a machine that others use as well), and the quartiles of single turns.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

from gantt.connection import open_gantt
from gantt.engine.gantt import Gantt
from gantt.engine.options import EngineOptions
from gantt.engine.recording.options import RecordOptions
from gantt.model.answers import Inventory
from gantt.model.spec import Flavor, RequestSpec, ScheduleRequest
from gantt.replay.machines import Machine, empty_stats
from gantt.store.interface import StoreOptions


class Cost(NamedTuple):
    """Seconds of a decision: until its caller has the answer; of processor time of the
    caller, and of all threads."""

    wall: float
    caller: float
    work: float


AMOUNTS = {"VCPU": Inventory(64), "MEMORY_MB": Inventory(262_144)}
FLAVORS = [Flavor(n, 2048 * n, name=f"f{n}") for n in (1, 2, 4)]


def main() -> None:
    """Ask both in turns."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", type=int, default=1000)
    parser.add_argument("--decisions", type=int, default=2000)
    parser.add_argument("--turn", type=int, default=50)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        sides = [
            opened(Path(folder), name, asked.hosts) for name in ("plain", "record")
        ]
        turns: list[list[Cost]] = [[], []]
        for turn in range(2 + asked.decisions // asked.turn):
            for gantt, mine in zip(sides, turns, strict=True):
                cost = decide(gantt, turn, asked.turn)
                if turn >= 2:  # caches are warm
                    mine.append(cost)
        counts = sides[1].counts()
        for gantt in sides:
            gantt.close()
    found = {
        "hosts": asked.hosts,
        "decisions": asked.decisions,
        "recorded": counts["recorded"],
        "dropped": counts["recorded_dropped"],
    }
    for name, each in zip(
        Cost._fields, zip(*map(columns, turns), strict=True), strict=True
    ):
        found |= compared(name, *each)
    print(json.dumps(found))


def columns(costs: list[Cost]) -> list[tuple[float, ...]]:
    """Of each measure the values of all turns."""
    return list(zip(*costs, strict=True))


def compared(
    name: str, plain: Sequence[float], record: Sequence[float]
) -> dict[str, object]:
    """Medians and ratios of one measure."""
    medians = statistics.median(plain), statistics.median(record)
    ratios = [two / one for one, two in zip(plain, record, strict=True)]
    return {
        f"{name}_ms": [round(1000 * one, 3) for one in medians],
        f"{name}_ratio": round(medians[1] / medians[0], 3),
        f"{name}_ratio_of_least": round(min(record) / min(plain), 3),
        f"{name}_ratio_quartiles": [
            round(one, 3) for one in statistics.quantiles(ratios)
        ],
    }


def opened(folder: Path, name: str, hosts: int) -> Gantt:
    """An engine with hosts that are alike."""
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
    return Cost(wall_s / count, caller_s / count, work_s / count)


if __name__ == "__main__":
    main()
