"""What a record adds to a decision: two engines on databases of their own, one that
records, asked in turns; processor time of the whole process, all threads included.

    python bench/record_cost.py --hosts 1000 --decisions 2000

Prints a line of JSON: milliseconds of processor time per decision without and with a
record, the median over the turns, and ratios: of the medians, of the least turns (the
one to look at on a machine that others use as well), and the quartiles of single turns.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path
from uuid import UUID

from gantt.connection import open_gantt
from gantt.engine.gantt import Gantt
from gantt.engine.options import EngineOptions
from gantt.engine.recording.options import RecordOptions
from gantt.model.answers import Inventory
from gantt.model.spec import Flavor, RequestSpec, ScheduleRequest
from gantt.replay.machines import Machine, empty_stats
from gantt.store.interface import StoreOptions

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
        costs: tuple[list[float], list[float]] = ([], [])
        callers: tuple[list[float], list[float]] = ([], [])
        for turn in range(2 + asked.decisions // asked.turn):
            for gantt, mine in zip(sides, costs, strict=True):
                here_s, took_s = decide(gantt, turn, asked.turn)
                if turn >= 2:  # caches are warm
                    mine.append(1000 * took_s / asked.turn)
                    (callers[0] if mine is costs[0] else callers[1]).append(
                        1000 * here_s / asked.turn
                    )
        counts = sides[1].counts()
        for gantt in sides:
            gantt.close()
    plain, record = map(statistics.median, costs)
    ratios = [two / one for one, two in zip(*costs, strict=True)]
    print(
        json.dumps(
            {
                "hosts": asked.hosts,
                "decisions": asked.decisions,
                "plain_ms": round(plain, 3),
                "record_ms": round(record, 3),
                "caller_ms": [round(statistics.median(one), 3) for one in callers],
                "caller_least_ms": [round(min(one), 3) for one in callers],
                "ratio": round(record / plain, 3),
                "ratio_of_least": round(min(costs[1]) / min(costs[0]), 3),
                "ratio_of_turns": round(statistics.median(ratios), 3),
                "ratio_quartiles": [
                    round(one, 3) for one in statistics.quantiles(ratios)
                ],
                "recorded": counts["recorded"],
                "dropped": counts["recorded_dropped"],
            }
        )
    )


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


def decide(gantt: Gantt, turn: int, count: int) -> tuple[float, float]:
    """Claims, one after the other; seconds of processor time: of the thread that asks,
    and of all, with what is written afterwards."""
    began, here = time.process_time(), time.thread_time()
    for number in range(count):
        spec = RequestSpec(FLAVORS[number % 3])
        uuid = str(UUID(int=turn * count + number + 1))
        gantt.schedule(ScheduleRequest(spec, (uuid,)))
    here = time.thread_time() - here
    if gantt._recording is not None:
        gantt._recording.flush()
    return here, time.process_time() - began


if __name__ == "__main__":
    main()
