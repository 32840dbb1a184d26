"""Replays in full: a published trace on a large fleet, and the record of live services.

The trace is that of Azure's VMs, test split; see ``forecast`` for where it lies. The
record is made by ``bench/live_record.py``: two services on one database.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from bench.forecast import traces
from bench.report import Row, say

HOSTS: Final = 5_000
MOST_S: Final = 600.0
DECISIONS, RECORD_HOSTS, FILE_BYTES = 100_000, 300, 8_000_000
_PROGRAM: Final = Path(sys.executable).with_name("gantt")
_RECORDER: Final = Path(__file__).with_name("live_record.py")


def measure(folder: Path, scale: float) -> Iterator[Row]:
    """All rows of this suite."""
    yield from _trace(max(1, int(HOSTS * scale)))
    yield from _record(folder, max(100, int(DECISIONS * scale)))


def _trace(hosts: int) -> Iterator[Row]:
    """On a smaller fleet most arrivals are refused."""
    say(f"replays: Azure's test split on {hosts:,} hosts ...")
    asked = ("--part", "test", "--fleet", f"{hosts}xvcpus=64,memory_mb=262144")
    found, took_s, worked_s = _run(
        [_PROGRAM, "replay", traces() / "azure-vm-v1", *asked, "-o", "json"]
    )
    arrived, placed = found["arrived"], found["placed"]
    faults = found["conflicts"] + found["violations"]
    yield Row(
        f"Azure's test split on {hosts:,} hosts: {arrived:,} creations, "
        f"{found['departed']:,} departures",
        f"≤ {MOST_S / 60:.0f} min",
        f"{took_s / 60:.1f} min; {worked_s / 60:.1f} min of processor time",
        is_met=took_s <= MOST_S,
    )
    yield Row(
        "placed of them", "", f"{placed:,}; {1e6 * worked_s / arrived:.0f} µs each"
    )
    yield Row("conflicts and group violations", "0", str(faults), is_met=not faults)


def _record(folder: Path, decisions: int) -> Iterator[Row]:
    say(f"replays: {decisions:,} decisions of two services ...")
    asked = {
        "--decisions": decisions,
        "--hosts": RECORD_HOSTS,
        "--file-bytes": FILE_BYTES,
        "--directory": folder / "live",
    }
    options = [str(word) for pair in asked.items() for word in pair]
    _run([sys.executable, _RECORDER, *options])
    words = [_PROGRAM, "replay", folder / "live/record", "-o", "json"]
    found, took_s, _ = _run(words, differing=1)
    same, made = found["same"], found["decisions"]
    yield Row(
        f"{made:,} recorded decisions of {found['processes']} services in "
        f"{found['files']} files, made again bit for bit",
        "all",
        f"{same:,}, in {took_s / 60:.1f} min",
        is_met=same == made >= decisions,
    )


def _run(words: Sequence[object], *, differing: int = 0) -> tuple[Any, float, float]:
    """What it printed as JSON, seconds by the clock, and of processor time;
    ``differing``: its status where decisions differ. Raises CalledProcessError."""
    began, before = time.monotonic(), _children_s()
    command = [str(word) for word in words]
    done = subprocess.run(command, check=False, stdout=subprocess.PIPE)
    if done.returncode not in (0, differing) or not done.stdout:
        raise subprocess.CalledProcessError(done.returncode, command)
    return json.loads(done.stdout), time.monotonic() - began, _children_s() - before


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
