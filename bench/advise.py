"""Advice: the body of an external scheduler's caller, from its bytes to the answer's.

One caller at a time, in this process, through the whole WSGI application: decoding,
authorization, the decision, the record, encoding. Every host is sent, each time in a
new order with new weights: the highest first, as callers that weighed them send them.
Bodies are made beforehand: a service does not make them. Between two requests the
process has time for what it does in the background.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterator
from pathlib import Path

from bench.report import Row, at_most
from bench.scheduler import FEW, SMALL, decided
from gantt.bench.bench_fleets import INSTANCE, BenchFleet, fleet_of, uuid_of
from gantt.bench.figures import duration
from gantt.bench.gantt_side import spec_of
from gantt.bench.paths import Wsgi
from gantt.model.forms.primitive import spec_primitive

P99_S = 0.010
TIMES = 400
BURST = 50  # requests whose holds stand at once
BODIES = 50
PAUSE_S = 0.02


def measure(folder: Path, scale: float) -> Iterator[Row]:  # noqa: ARG001
    """All rows of this suite."""
    fleet = fleet_of("flat", int(FEW * scale), is_mixed=False)
    with decided("advise", "memory://", fleet) as decisions:
        wsgi = Wsgi(decisions.library)
        for what, count in (("no hosts held", 1), (f"{BURST} hosts held", BURST)):
            # One consumer renews its own hold; others see those of the burst.
            uuids = [uuid_of(INSTANCE, number, count) for number in range(count)]
            walls, cpus = _times(wsgi, fleet, uuids)
            name = f"{len(fleet.hosts):,} hosts, POST /scheduler/nova/external, {what}"
            yield Row(f"{name}, p50", "", duration(walls[len(walls) // 2]))
            yield at_most(f"{name}, p99", P99_S, walls[int(0.99 * len(walls))])
            cpu = cpus[int(0.99 * len(cpus))]
            yield Row(f"{name}, p99 of processor time", "", duration(cpu))


def _times(
    wsgi: Wsgi, fleet: BenchFleet, uuids: list[str]
) -> tuple[list[float], list[float]]:
    """Seconds of each request by the clock, and of the processor, both sorted. They
    differ by what else the machine does."""
    rng = random.Random(len(fleet.hosts))
    bodies = [_body(fleet, uuids[number % len(uuids)], rng) for number in range(BODIES)]
    walls, cpus = [], []
    for number in range(TIMES):
        body = bodies[number % BODIES]
        time.sleep(PAUSE_S)
        began, worked = time.perf_counter(), time.process_time()
        answer = wsgi.ask("POST", "/scheduler/nova/external", body)
        walls.append(time.perf_counter() - began)
        cpus.append(time.process_time() - worked)
    assert len(json.loads(answer)["hosts"]) == len(fleet.hosts)
    return sorted(walls), sorted(cpus)


def _body(fleet: BenchFleet, uuid: str, rng: random.Random) -> bytes:
    names = [host.name for host in fleet.hosts]
    rng.shuffle(names)
    primitive = spec_primitive(spec_of(SMALL))
    primitive["nova_object.data"]["instance_uuid"] = uuid
    weights = sorted((rng.random() for _ in names), reverse=True)
    kinds = ("rebuild", "resize", "live", "vmware")
    return json.dumps(
        {
            "spec": primitive,
            "context": {"request_id": f"req-{uuid}", "project_id": "bench"},
            "hosts": [{"host": name, "hypervisor_hostname": name} for name in names],
            "weights": dict(zip(names, weights, strict=True)),
            **dict.fromkeys(kinds, False),
        }
    ).encode()
