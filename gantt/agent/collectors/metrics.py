"""metrics: how busy the machine is, by the names of Nova's monitors.

Shares of time are those since it was asked before, at first since the machine started.
A *.percent is a fraction (0.35), as compute_nodes has it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final

from gantt.agent.files import Files

STAT: Final = "/proc/stat"
FREQUENCY: Final = "/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq"
BANDWIDTH: Final = "/sys/fs/resctrl/mon_data"
SOURCE: Final = "gantt"
_NS_PER_TICK: Final = 10_000_000
_BYTES_PER_MB: Final = 1_000_000
# user nice system idle iowait irq softirq steal
_KINDS: Final = {
    "user": (0, 1),
    "kernel": (2, 5, 6),
    "idle": (3,),
    "iowait": (4,),
}
_COLUMNS: Final = 8


class MetricsCollector:
    """Remembers what it read before. ``monotonic``: seconds."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._ticks: list[int] = [0] * _COLUMNS
        self._moved: dict[str, int] = {}
        self._moved_at = 0.0

    @property
    def provides(self) -> frozenset[str]:
        return frozenset({"metrics"})

    def collect(self, files: Files) -> dict[str, Any]:
        """Those that can be read; bandwidths where the kernel measures them, from the
        second time on."""
        found = [*self._times(files), *self._bandwidth(files)]
        kilohertz = files.number_if_there(FREQUENCY)
        if kilohertz is not None:
            found.append(_metric("cpu.frequency", kilohertz // 1000))
        return {"metrics": found} if found else {}

    def _times(self, files: Files) -> list[dict[str, Any]]:
        text = files.text(STAT)
        if text is None:
            return []
        words = text.partition("\n")[0].split()
        ticks = [int(one) for one in words[1 : 1 + _COLUMNS] if one.isdigit()]
        if words[:1] != ["cpu"] or len(ticks) < 5:
            files.problem(STAT, "its first line is not that of all CPUs")
            return []
        ticks += [0] * (_COLUMNS - len(ticks))
        spent = [max(0, n - o) for n, o in zip(ticks, self._ticks, strict=True)]
        self._ticks = ticks
        every = sum(spent)
        found = []
        for kind, columns in _KINDS.items():
            nanoseconds = sum(ticks[one] for one in columns) * _NS_PER_TICK
            found.append(_metric(f"cpu.{kind}.time", nanoseconds))
            if every:
                share = sum(spent[one] for one in columns) / every
                found.append(_metric(f"cpu.{kind}.percent", round(share, 2)))
        if every:
            busy = 1 - (spent[3] + spent[4]) / every
            found.append(_metric("cpu.percent", round(max(0.0, busy), 2)))
        return found

    def _bandwidth(self, files: Files) -> list[dict[str, Any]]:
        """MB per second of each cell's memory controller, by resctrl."""
        moved: dict[str, int] = {}
        for name in files.names(BANDWIDTH, "mon_L3_"):
            count = files.number_if_there(f"{BANDWIDTH}/{name}/mbm_total_bytes")
            if count is not None:
                moved[str(int(name.removeprefix("mon_L3_")))] = count
        before, self._moved = self._moved, moved
        now = self._monotonic()
        took, self._moved_at = now - self._moved_at, now
        rates = {
            cell: int((count - before[cell]) / took / _BYTES_PER_MB)
            for cell, count in moved.items()
            if cell in before and count >= before[cell] and took > 0
        }
        if not rates:
            return []
        values = {"name": "numa.membw.current", "numa_membw_values": rates}
        return [{**values, "source": SOURCE}]


def _metric(name: str, value: float) -> dict[str, Any]:
    return {"name": name, "value": value, "source": SOURCE}
