"""Forecasts of when room runs out, held against what happened in published traces.

At many times of a trace the use until then is the history, and room for a little more
is asked for, of a class or of a flavor, which several classes may stop: until when it
lasts, with a chance of 90, 50 and 10 %. Then the trace
tells until when it lasted. A forecast sees only what was before it, and nothing is
fitted to a trace; but the form of the method was chosen among a few with the Azure
trace and that of inference in view. The trace ``openb`` was first looked at afterwards.

Windows overlap, so that their number says little: intervals come from a bootstrap of
whole blocks of them, each as long as the horizon.
"""

from __future__ import annotations

import csv
import lzma
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from bench.report import Row, say
from gantt.replay.readers.azure import Azure
from gantt.scheduler.capacity.forecast import CHANCES, passage

Series = NDArray[np.float64]

HEADROOMS: Final = (0.1, 0.25, 0.5)
"""Parts of what use varied by over the last horizon."""
ENOUGH: Final = 4.0
"""How many times as much room a flavor has of the classes that do not limit it."""
LEAST, MOST = 0.85, 0.95
BLOCKS: Final = 2
"""With fewer a trace is shown, but not judged: of one block there is no interval."""
WINDOWS: Final = 400
BIN_S: Final = 300
_SEED: Final = 0
_RESAMPLED: Final = 2000


class Plan(Struct, frozen=True):
    """How a trace is cut. In steps of ``step_s``: the ``horizon``, the first window,
    and from one to the next."""

    name: str
    step_s: int
    horizon: int
    first: int
    every: int


AZURE = Plan("azure-vm-v1 test", 900, 96, 193, 1)
DEV = Plan("azure-vm-v1 dev", 900, 96, 193, 1)
OPENB = Plan("alibaba-gpu-2023-openb", 3600, 168, 337, 12)
DLRM = Plan("alibaba-dlrm-2025", 3600, 120, 241, 3)


class Tested(Struct, frozen=True, eq=False):
    """``starts``: int64[n], the step of each window; ``held``: bool[n, chances],
    whether room lasted until that date."""

    plan: Plan
    starts: NDArray[np.int64]
    held: NDArray[np.bool_]

    def share(self, place: int) -> float:
        """Of windows in which the date of CHANCES[place] held."""
        return float(self.held[:, place].mean())

    def interval(self, place: int, seed: int = _SEED) -> tuple[float, float]:
        """95 %, from a bootstrap of blocks of windows as long as the horizon."""
        numbers = self._numbers
        blocks = [self.held[numbers == one, place] for one in np.unique(numbers)]
        sums = np.array([one.sum() for one in blocks], np.float64)
        sizes = np.array([len(one) for one in blocks], np.float64)
        rng = np.random.default_rng(seed)
        drawn = rng.integers(0, len(blocks), (_RESAMPLED, len(blocks)))
        shares = sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1)
        low, high = np.quantile(shares, (0.025, 0.975))
        return float(low), float(high)

    @property
    def _numbers(self) -> NDArray[np.int64]:
        """int64[n]: the block of each window."""
        found: NDArray[np.int64] = self.starts // self.plan.horizon
        return found

    @property
    def is_judged(self) -> bool:
        """Whether it tells enough, whatever it tells: by how many blocks there are.
        More windows, or flavors, at the same times add none."""
        return len(np.unique(self._numbers)) >= BLOCKS

    @property
    def overlap(self) -> float:
        """The part of a window's horizon that the next in time shares."""
        return 1 - self.plan.every / self.plan.horizon


def compared(
    plan: Plan, series: Series, most: int | None = None, *, flavors: bool = False
) -> Tested:
    """``series``: float64[classes, n]. Every class by itself, or flavors of all of them
    (``flavors``), with every headroom. ``most``: at most so many windows of each,
    evenly; None: all."""
    starts, held = [], []
    last = series.shape[1] - plan.horizon
    times = np.arange(plan.first, last, plan.every)
    if most is not None:
        times = times[:: max(1, len(times) // most)]
    for used, slack in _asked(series.T, flavors=flavors):
        for at in times.tolist():
            before, after = used[: at + 1], used[at + 1 : at + 1 + plan.horizon]
            recent = used[at - plan.horizon : at + 1]
            for part in HEADROOMS:
                room = part * slack * np.ptp(recent, axis=0)
                starts.append(at)
                held.append(_held(before, after - used[at], room, plan.horizon))
    return Tested(plan, np.array(starts), np.array(held))


def _asked(series: Series, *, flavors: bool) -> Iterator[tuple[Series, Series]]:
    """Use, float64[n, classes], and how much slack each class has beside the others: of
    a flavor that all limit, and of those that one does."""
    count = series.shape[1]
    if not flavors:
        yield from ((series[:, [one]], np.ones(1)) for one in range(count))
        return
    yield series, np.ones(count)
    for one in range(count):
        yield series, np.where(np.arange(count) == one, 1.0, ENOUGH)


def _held(before: Series, grown: Series, room: Series, horizon: int) -> list[bool]:
    found = passage(before, room, horizon)
    assert found is not None, "the first window has enough history"
    is_out = (grown >= room).any(axis=1)
    lasted = int(is_out.argmax()) + 1 if is_out.any() else horizon + 1
    dates = [horizon + 1 if one is None else one for one in found.steps]
    return [lasted >= date for date in dates]


def azure(folder: Path, split: str, step_s: int, seed: int = _SEED) -> Series:
    """float64[2, n]: VCPUs and MiB in use. Durations that are bins are drawn by
    ``seed``."""
    came, gone, sizes = [], [], []
    for one in Azure(folder / "azure-vm-v1", split, seed).arrivals():
        until = one.until[0]
        came.append(one.at / 1e6)
        gone.append(np.inf if until is None else until / 1e6)
        sizes.append((one.spec.flavor.vcpus, one.spec.flavor.memory_mb))
    length = int(max(came) // BIN_S) + 1
    return _in_use(
        np.array(came), np.array(gone), np.array(sizes, np.float64), length, step_s
    )


def dlrm(folder: Path, step_s: int) -> Series:
    """float64[3, n]: CPUs, GPUs and GiB that run, of the trace of inference."""
    name = "alibaba-dlrm-2025/disaggregated_DLRM_trace.csv.xz"
    with lzma.open(folder / name, "rt") as file:
        rows = list(csv.DictReader(file))
    came = np.array([float(one["creation_time"] or -1) for one in rows])
    gone = np.array([float(one["deletion_time"] or "inf") for one in rows])
    columns = ("cpu_request", "gpu_request", "memory_request")
    sizes = np.array([[float(one[name]) for name in columns] for one in rows])
    length = int(max(came.max(), gone[np.isfinite(gone)].max()) // BIN_S) + 1
    return _in_use(came, gone, sizes, length, step_s)


def openb(folder: Path, step_s: int) -> Series:
    """float64[2, n]: CPUs and GPUs in use, in thousandths."""
    name = "alibaba-gpu-2023-openb/openb_pod_list_default.csv.xz"
    with lzma.open(folder / name, "rt") as file:
        rows = list(csv.DictReader(file))
    came = np.array([float(one["creation_time"]) for one in rows])
    gone = np.array([float(one["deletion_time"] or "inf") for one in rows])
    sizes = np.array(
        [
            (
                float(one["cpu_milli"]),
                float(one["num_gpu"]) * float(one["gpu_milli"] or 0),
            )
            for one in rows
        ]
    )
    length = int(came.max() // BIN_S) + 1
    return _in_use(came, gone, sizes, length, step_s)


def _in_use(
    came: Series, gone: Series, sizes: Series, length: int, step_s: int
) -> Series:
    """float64[classes, n]. What came before the trace began is there from the start."""
    at = np.clip(came // BIN_S, 0, length - 1).astype(np.int64)
    is_gone = gone < length * BIN_S
    until = (gone[is_gone] // BIN_S).astype(np.int64)
    used = []
    for size in sizes.T:
        more = np.bincount(at, size, length)
        less = np.bincount(until, size[is_gone], length)
        used.append(np.cumsum(more - less))
    return np.array(used)[:, :: step_s // BIN_S]


def traces() -> Path:
    """The folder of the published traces, which are not part of the repository."""
    beside = Path(__file__).parents[2] / "shared" / "data"
    return Path(os.environ.get("GANTT_TRACES") or beside)


def measure(folder: Path, scale: float) -> Iterator[Row]:  # noqa: ARG001
    """All rows of this suite."""
    where, most = traces(), None if scale >= 1 else max(10, int(WINDOWS * scale))
    say("forecast: windows of the traces ...")
    for plan, series in (
        (DEV, azure(where, "dev", DEV.step_s)),
        (AZURE, azure(where, "test", AZURE.step_s)),
        (DLRM, dlrm(where, DLRM.step_s)),
        (OPENB, openb(where, OPENB.step_s)),
    ):
        yield from _rows(compared(plan, series, most), "classes")
        yield from _rows(compared(plan, series, most, flavors=True), "flavors")


def _rows(found: Tested, asked: str) -> Iterator[Row]:
    count, overlap = len(found.starts), found.overlap
    what = f"{found.plan.name}, {asked}: {count:,} windows, overlap {overlap:.0%}"
    for place, chance in enumerate(CHANCES):
        low, high = found.interval(place)
        share = found.share(place)
        has_goal = found.is_judged and place == 0
        yield Row(
            f"{what}: lasted until the date with a chance of {1 - chance:.0%}",
            f"{LEAST:.0%} … {MOST:.0%}" if has_goal else "",
            f"{share:.1%} (95 %: {low:.1%} … {high:.1%})",
            is_met=LEAST <= share <= MOST if has_goal else None,
        )
