"""Advice: the body of an external scheduler's caller, from its bytes to the answer's.

One caller at a time, in this process, through the whole WSGI application: decoding,
authorization, the decision, the record, encoding. Every host is sent, each time in a
new order with new weights: the highest first, as callers that weighed them send them.
Bodies are made beforehand: a service does not make them. Between two requests the
process has time for what it does in the background.
"""

from __future__ import annotations

import io
import json
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gantt
from bench import hosts
from bench.report import Row, say
from gantt.api.app import build_app
from gantt.api.hosting.middleware import WsgiApp
from gantt.bench.figures import duration
from gantt.conf import load
from gantt.engine.gantt import Gantt
from gantt.model.forms.primitive import spec_primitive
from gantt.model.spec import RequestSpec

FEW = 10_000
P99_S = 0.010
TIMES = 400
BURST = 50  # requests whose holds stand at once
BODIES = 50
PAUSE_S = 0.02


def measure(folder: Path, scale: float) -> Iterator[Row]:  # noqa: ARG001
    """All rows of this suite."""
    size = int(FEW * scale)
    say(f"advise: {size:,} hosts ...")
    library = gantt.connect("memory://", create=True)
    assert isinstance(library, Gantt)
    try:
        hosts.found(library, size)
        library.schedule(hosts.instances(hosts.Names(3)))
        app = build_app(library, load(environ={}, default_auth="noauth2"))
        names = hosts.Names(4)
        for what, count in (("no hosts held", 1), (f"{BURST} hosts held", BURST)):
            # One consumer renews its own hold; others see those of the burst.
            uuids = [names.take() for _ in range(count)]
            walls, cpus = _times(app, size, uuids)
            name = f"{size:,} hosts, POST /scheduler/nova/external, {what}"
            yield Row(f"{name}, p50", "", duration(walls[len(walls) // 2]))
            p99 = walls[int(0.99 * len(walls))]
            goal = f"≤ {duration(P99_S)}"
            yield Row(f"{name}, p99", goal, duration(p99), is_met=p99 <= P99_S)
            cpu = cpus[int(0.99 * len(cpus))]
            yield Row(f"{name}, p99 of processor time", "", duration(cpu))
    finally:
        library.close()


def _times(
    app: WsgiApp, size: int, uuids: list[str]
) -> tuple[list[float], list[float]]:
    """Seconds of each request by the clock, and of the processor, both sorted. They
    differ by what else the machine does."""
    rng = random.Random(size)
    spec = hosts.spec()
    bodies = [
        _body(size, spec, uuids[number % len(uuids)], rng) for number in range(BODIES)
    ]
    walls, cpus = [], []
    for number in range(TIMES):
        body = bodies[number % BODIES]
        time.sleep(PAUSE_S)
        began, worked = time.perf_counter(), time.process_time()
        answer = _post(app, body)
        walls.append(time.perf_counter() - began)
        cpus.append(time.process_time() - worked)
    assert len(json.loads(answer)["hosts"]) == size
    return sorted(walls), sorted(cpus)


def _body(size: int, spec: RequestSpec, uuid: str, rng: random.Random) -> bytes:
    numbers = list(range(size))
    rng.shuffle(numbers)
    primitive = spec_primitive(spec)
    primitive["nova_object.data"]["instance_uuid"] = uuid
    names = [f"host{number}" for number in numbers]
    weights = sorted((rng.random() for _ in names), reverse=True)
    return json.dumps(
        {
            "spec": primitive,
            "context": {"request_id": f"req-{uuid}", "project_id": "bench"},
            "hosts": [{"host": name, "hypervisor_hostname": name} for name in names],
            "weights": dict(zip(names, weights, strict=True)),
            "rebuild": False,
            "resize": False,
            "live": False,
            "vmware": False,
        }
    ).encode()


def _post(app: WsgiApp, body: bytes) -> bytes:
    environ: dict[str, Any] = {
        "REQUEST_METHOD": "POST",
        "SCRIPT_NAME": "",
        "PATH_INFO": "/scheduler/nova/external",
        "QUERY_STRING": "",
        "REMOTE_ADDR": "127.0.0.1",
        "SERVER_NAME": "127.0.0.1",
        "SERVER_PORT": "8778",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "CONTENT_TYPE": "application/json",
        "CONTENT_LENGTH": str(len(body)),
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(body),
        "wsgi.errors": sys.stderr,
    }
    answer = b"".join(app(environ, _started))
    assert answer.startswith(b'{"hosts"'), answer[:200]
    return answer


def _started(status: str, *_: object) -> None:
    assert status.startswith("200"), status
