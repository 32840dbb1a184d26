"""Response times during an attack: ``/livez`` and a small GET, against goals.

Attackers and callers are those of ``tests/attacks``, which check ratios; the times of
this machine are printed here. Attackers are processes of their own, on the same
processors as the server.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from bench.report import Row, at_most, megabytes, say
from gantt.bench.figures import duration
from tests.attacks import beside
from tests.attacks.beside import Beside, Seen
from tests.attacks.service import ADMIN, MEMBER, PROVIDERS, Service, attacked, fill

SECONDS = 10.0
BEGUN_S = 1.0
GOALS_S = {"livez": 0.1, "small_get": 0.25}
SHOWN = {"livez": "/livez", "small_get": "GET inventories"}


class Attack(Struct, frozen=True):
    """The kind and number of attackers, and the memory that they may cost."""

    name: str
    kind: str
    count: int
    token: str
    most_mb: int


ATTACKS = (
    Attack("slow bodies of a member", "slow_bodies", 64, MEMBER, 80),
    Attack("slow bodies of a member", "slow_bodies", 256, MEMBER, 80),
    Attack("slow bodies without a token", "slow_bodies", 256, "", 80),
    Attack("slow headers", "slow_headers", 256, MEMBER, 80),
    Attack("readers of long answers that read nothing", "slow_readers", 64, ADMIN, 400),
    Attack("idle connections", "idle", 10_000, "", 400),
    Attack("huge names of 30 MB at once", "huge_names", 8, MEMBER, 80),
    Attack("deep and wide bodies at once", "strange_json", 4, ADMIN, 200),
    Attack("senders of hostile names", "hostile_names", 4, ADMIN, 80),
    Attack("searches without a limit", "searches", 32, ADMIN, 400),
)


def measure(folder: Path, scale: float) -> Iterator[Row]:
    """All rows of this suite."""
    fleet = folder / "attacked.db"
    providers = max(1_000, int(PROVIDERS * scale))
    say(f"attacks: a fleet of {providers:,} ...")
    fill(f"sqlite:///{fleet}", providers)
    own = folder / "attacked"
    own.mkdir()
    with attacked(own, fleet=fleet) as service:
        beside.measure(service, BEGUN_S)
        idle = beside.measure(service, SECONDS)
        yield from _rows(f"{providers:,} providers, idle", idle, idle)
        for one in ATTACKS:
            yield from _attacked(service, one, idle)


def _attacked(service: Service, one: Attack, idle: Beside) -> Iterator[Row]:
    say(f"attacks: {one.count:,} {one.name} ...")
    seen = beside.attacked(service, one.kind, one.count, one.token, SECONDS)
    name, took = f"{seen.placed:,} {one.name}", seen.took
    yield from _rows(name, seen.found, idle)
    yield at_most(f"{name}: memory", one.most_mb, took, megabytes)


def _rows(name: str, found: Beside, idle: Beside) -> Iterator[Row]:
    for kind, goal in GOALS_S.items():
        seen = found[kind]
        yield Row(
            f"{name}: {SHOWN[kind]}, median and p99",
            f"p99 ≤ {duration(goal)}",
            f"{duration(seen.p50)}, {duration(seen.p99)}{_failed(seen)}",
            ratio=f"{seen.p99 / idle[kind].p99:.1f}×",
            is_met=seen.p99 <= goal and not seen.failures,
        )


def _failed(seen: Seen) -> str:
    if not seen.failures:
        return ""
    return f", {len(seen.failures):,} of {len(seen.times):,} not answered"
