"""Allocation candidates, side by side with upstream on copies of the same file."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import NamedTuple
from urllib.parse import urlencode

from bench import fleet, load
from bench.report import Row, at_most, compared, say
from bench.timing import seconds
from gantt.bench.figures import duration
from gantt.bench.http_client import Client
from gantt.bench.servers import Server

FLAT = 10_000
TREES = 1_000
HOSTS, CHILDREN = 100, 8
CONNECTIONS = 8

# Upstream takes seconds for what Gantt does in milliseconds.
ROUNDS = 5
GANTT_TIMES = 20
# For the request that upstream may never answer.
UPSTREAM_PATIENCE_S = 60.0

FEW, MANY = 10, 1000
AMOUNTS = {"VCPU": 1, "MEMORY_MB": 512, "DISK_GB": 10}

ISOLATED_S = 0.050
MIXED_PER_S, MIXED_P99_MS = 1_500, 25.0


class Runner(NamedTuple):
    """A connection, the path that it asks for, how often in a round, and rounds."""

    client: Client
    path: str
    times: int
    rounds: int

    def seconds(self) -> list[float]:
        """From each request of a round to the last byte of its answer."""
        ask = partial(self.client.ask, self.path)
        return [seconds(ask) for _ in range(self.times)]


def medians(runners: Sequence[Runner]) -> list[float]:
    """The median seconds of each; they take turns, so that other load meets all of
    them, after one request that does not count."""
    for one in runners:
        one.client.ask(one.path)
    taken: list[list[float]] = [[] for _ in runners]
    for turn in range(max(one.rounds for one in runners)):
        for one, found in zip(runners, taken, strict=True):
            if turn < one.rounds:
                found += one.seconds()
    return [median(found) for found in taken]


def offers(client: Client, path: str) -> list[list[str]]:
    """The providers of each candidate."""
    found = json.loads(client.ask(path))["allocation_requests"]
    return [list(one["allocations"]) for one in found]


def question(limit: int, **more: str) -> str:
    """The path of a request for candidates."""
    asked = urlencode({"limit": limit, **more}, safe=":,!")
    return f"/allocation_candidates?{asked}"


def plain(limit: int) -> str:
    """Three classes of one provider."""
    return question(limit, resources=resources(AMOUNTS))


def resources(amounts: dict[str, int]) -> str:
    """In the form of the query string."""
    return ",".join(f"{name}:{amount}" for name, amount in amounts.items())


def labeled(limit: int) -> str:
    """As ``plain``, of providers with a trait, without another, in one of five
    aggregates."""
    return question(
        limit,
        resources=resources(AMOUNTS),
        required=f"{fleet.REQUIRED_TRAIT},!{fleet.FORBIDDEN_TRAIT}",
        member_of=f"in:{','.join(fleet.AGGREGATES[::2])}",
    )


def granular(limit: int) -> str:
    """Disk of the host, processors with memory of one of its nodes, two functions of
    two of its ports."""
    return question(
        limit,
        resources="DISK_GB:10",
        resources1="VCPU:2,MEMORY_MB:1024",
        resources2="SRIOV_NET_VF:1",
        resources3="SRIOV_NET_VF:1",
        group_policy="isolate",
    )


def isolated(limit: int) -> str:
    """One unit of each of eight children."""
    groups = {f"resources{number}": "VGPU:1" for number in range(1, CHILDREN + 1)}
    return question(limit, group_policy="isolate", **groups)


def measure(folder: Path, scale: float) -> Iterator[Row]:
    """All rows of this suite; databases and logs are in ``folder``."""
    yield from _flat(folder, int(FLAT * scale))
    yield from _trees(folder, int(TREES * scale))
    yield from _isolated(folder, int(HOSTS * scale))


def _flat(folder: Path, count: int) -> Iterator[Row]:
    say(f"candidates: {count:,} flat providers ...")
    database = folder / "flat.db"
    fleet.write(database, fleet.labeled(count))
    fleet_name = f"{count:,} flat × 3 classes"
    with Server.upstream(database) as upstream, Server.gantt(database) as gantt:
        yield _race(gantt, upstream, f"{fleet_name}, limit={FEW}", plain(FEW), 1000)
        yield _race(gantt, upstream, f"{fleet_name}, limit={MANY}", plain(MANY), 300)
        what = f"the same, traits and aggregates that 35 % have, limit={MANY}"
        yield _race(gantt, upstream, what, labeled(MANY), 300)
    say("candidates: mixed with claims ...")
    with Server.gantt(database) as gantt:
        yield _mixed(folder, gantt)


def _trees(folder: Path, count: int) -> Iterator[Row]:
    say(f"candidates: {count:,} trees ...")
    database = folder / "trees.db"
    fleet.write(database, fleet.numa_trees(count))
    what = f"{count:,} trees of 7, granular, limit={MANY}"
    with Server.upstream(database) as upstream, Server.gantt(database) as gantt:
        yield _race(gantt, upstream, what, granular(MANY), 100)


def _isolated(folder: Path, hosts: int) -> Iterator[Row]:
    say("candidates: isolated over equal children ...")
    database = folder / "isolated.db"
    fleet.write(database, fleet.equal_children(hosts, CHILDREN))
    path = isolated(MANY)
    what = f"{CHILDREN} isolated over {CHILDREN} equal children"
    with Server.gantt(database) as server:
        (taken,) = medians([Runner(Client(server), path, GANTT_TIMES, ROUNDS)])
        work = f"{what} on each of {hosts} hosts, limit={MANY}"
        yield at_most(work, ISOLATED_S, taken)
    database = folder / "one.db"
    fleet.write(database, fleet.equal_children(1, CHILDREN))
    # Without a limit upstream builds all 8^8, which takes minutes.
    with (
        Server.upstream(database, most_candidates=MANY) as upstream,
        Server.gantt(database) as gantt,
    ):
        (taken,) = medians([Runner(Client(gantt), path, GANTT_TIMES, ROUNDS)])
        slow = _once(upstream, path)
        yield Row(
            f"the same on one host, upstream stopping at {MANY:,}",
            "",
            duration(taken),
            duration(slow) if slow else f"over {duration(UPSTREAM_PATIENCE_S)}",
            f"{slow / taken:,.0f}×" if slow else "",
        )


def _race(gantt: Server, upstream: Server, what: str, path: str, goal: float) -> Row:
    """Upstream once and Gantt often in each round. Raises RuntimeError when the numbers
    of candidates differ."""
    ours, theirs = Client(gantt), Client(upstream)
    counts = len(offers(ours, path)), len(offers(theirs, path))
    if counts[0] != counts[1]:
        raise RuntimeError(f"{path}: {counts[0]} candidates, upstream has {counts[1]}")
    found = medians(
        [Runner(theirs, path, 1, ROUNDS), Runner(ours, path, GANTT_TIMES, ROUNDS)]
    )
    return compared(what, goal, gantt_s=found[1], upstream_s=found[0])


def _once(server: Server, path: str) -> float | None:
    """How long one request takes; None: it timed out."""
    try:
        return Runner(Client(server, UPSTREAM_PATIENCE_S), path, 1, 1).seconds()[0]
    except TimeoutError:
        return None


def _mixed(folder: Path, server: Server) -> Row:
    path = plain(FEW)
    offered = [uuid for uuids in offers(Client(server), path) for uuid in uuids]
    found = load.mixed(server, folder, path, AMOUNTS, offered, connections=CONNECTIONS)
    failed = f", {found.failures} FAILED" if found.failures else ""
    return Row(
        f"{CONNECTIONS} clients: 80 % candidates limit={FEW}, 20 % claims",
        f"≥ {MIXED_PER_S:,}/s, 99 % ≤ {MIXED_P99_MS:g} ms",
        f"{found.per_s:,.0f}/s{failed}, 99 % {found.p99_ms:.1f} ms",
        is_met=found.per_s >= MIXED_PER_S
        and found.p99_ms <= MIXED_P99_MS
        and not found.failures,
    )
