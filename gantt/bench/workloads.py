"""What is asked of every side: requests in a row, the same at every run.

stream          one caller, one instance a request, four sizes
burst           the same, by sixteen callers at once
multi-create    one request for many instances
anti-affinity   one instance a request, into groups of four that keep apart
pinned          dedicated CPUs in one NUMA cell, and a virtual function near it
churn           as stream; for each that comes, the oldest of eight goes
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from gantt.bench.bench_fleets import GROUP, INSTANCE, uuid_of

WORKLOADS: Final = (
    "stream",
    "burst",
    "multi-create",
    "anti-affinity",
    "pinned",
    "churn",
)
CALLERS: Final = 16
AT_ONCE: Final = 25
"""Instances of one request of multi-create."""
_MEMBERS: Final = 4
_STAY: Final = 8
_PINNED_CPUS: Final = 4
_SIZES: Final = ((1, 512, 1), (2, 2_048, 10), (4, 8_192, 20), (8, 16_384, 40))
_SEED: Final = 1


class Ask(Struct, frozen=True):
    """A request for ``count`` instances. ``group``: the number of an anti-affinity
    group; -1: none. ``leaves``: the request whose instances go before; -1: none."""

    number: int
    vcpus: int
    memory_mb: int
    disk_gb: int
    count: int = 1
    group: int = -1
    is_pinned: bool = False
    leaves: int = -1

    @property
    def names(self) -> tuple[str, ...]:
        """The uuids of its instances."""
        return tuple(uuid_of(INSTANCE, self.number, at) for at in range(self.count))

    @property
    def group_uuid(self) -> str:
        return uuid_of(GROUP, self.group)


def asks(workload: str) -> Iterator[Ask]:
    """The endless row of requests of one of ``WORKLOADS``."""
    assert workload in WORKLOADS, workload
    rng = random.Random(_SEED)  # noqa: S311 - the same at every run
    number = 0
    while True:
        yield _ask(workload, number, rng)
        number += 1


def _ask(workload: str, number: int, rng: random.Random) -> Ask:
    if workload == "pinned":
        return Ask(number, _PINNED_CPUS, 4_096, 1, is_pinned=True)
    if workload == "multi-create":
        return Ask(number, *_SIZES[1], count=AT_ONCE)
    size = _SIZES[rng.randrange(len(_SIZES))]
    if workload == "anti-affinity":
        return Ask(number, *size, group=number // _MEMBERS)
    leaves = number - _STAY if workload == "churn" else -1
    return Ask(number, *size, leaves=max(leaves, -1))
