"""Callers during an attack: their answers and response times, what the service worked
meanwhile, and the memory that the attack costs.

Each kind of caller sends one request after another, each over a new connection, so that
an unanswered one delays only its own kind. ``check`` compares the result with that of
the idle service in the same run.
"""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from statistics import median, quantiles
from uuid import uuid4

from tests.attacks.attackers import attack
from tests.attacks.operations import HOSTS
from tests.attacks.service import ADMIN, ANSWERED, Service, provider

DEADLINE_S = 5.0
# Below this a ratio compares the noise of a busy machine.
FLOOR_S = 0.004
ATTACKED_S, IDLE_S, SETTLED_S = 3.0, 2.0, 20.0
# Between two requests of a caller: callers alone must not keep the processors busy.
PAUSE_S = 0.01
BEGUN_S = 0.5
# A fault of the service is there each time; other programs are not always as busy.
TIMES = 3
# Most attacks take no processor time to speak of, but the machine may be busy with
# other tests. A caller that is not answered waits more than a thousand times as long.
MEDIAN, WORST = 10, 50
# Those that keep processors and the interpreter's lock busy: callers have a share.
BUSY_MEDIAN, BUSY_WORST = 60, 500
# Memory that all connections of an attack may take.
MORE_MB = 80.0

HEADERS = {"x-auth-token": ADMIN, "openstack-api-version": "placement 1.39"}
Request = tuple[str, str, str | None]


def livez(_number: int) -> Request:
    return "GET", "/livez", None


def small_get(number: int) -> Request:
    return "GET", f"/resource_providers/{provider(number % 900 + 1)}/inventories", None


def claim(number: int) -> Request:
    body = {
        "allocations": {provider(number % 900 + 1): {"resources": {"VCPU": 1}}},
        "project_id": "beside",
        "user_id": "beside",
        "consumer_generation": None,
        "consumer_type": "INSTANCE",
    }
    return "PUT", f"/allocations/{uuid4()}", json.dumps(body)


def decision(number: int) -> Request:
    flavor = {"vcpus": 1, "memory_mb": 64 + number % 8, "root_gb": 0}
    body = {"request_spec": {"flavor": flavor}, "instance_uuids": [str(uuid4())]}
    return "POST", "/gantt/select", json.dumps(body)


def host(number: int) -> Request:
    name = f"host{number % HOSTS}"
    return "GET", f"/gantt/hosts/{name}/{name}", None


Kinds = Mapping[str, Callable[[int], Request]]
KINDS: Kinds = {"livez": livez, "small_get": small_get, "claim": claim}
# Where the fleet has hosts.
HOST_KINDS: Kinds = {"livez": livez, "host": host, "decision": decision}


@dataclass
class Seen:
    """What callers of one kind saw. ``worked``: seconds of CPU time that the worker
    took while one of them waited, which other programs do not prolong."""

    times: list[float] = field(default_factory=list)
    worked: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    @property
    def p50(self) -> float:
        return median(self.times) if self.times else DEADLINE_S

    @property
    def p99(self) -> float:
        if len(self.times) < 2:
            return DEADLINE_S
        return quantiles(self.times, n=100, method="inclusive")[98]

    def times_slower(self, idle: Seen) -> float:
        """The median as a multiple of that of the idle service."""
        return self.p50 / max(idle.p50, FLOOR_S)

    def times_slower_at_worst(self, idle: Seen) -> float:
        """The same of the 99th percentile."""
        return self.p99 / max(idle.p99, FLOOR_S)

    def times_more_work(self, idle: Seen) -> tuple[float, float]:
        """The median and the most of the service's work while a caller waited, as
        multiples of its median when idle."""
        usual = median(idle.worked)
        return median(self.worked) / usual, max(self.worked) / usual


Beside = Mapping[str, Seen]


def measure(
    service: Service,
    seconds: float,
    kinds: Kinds = KINDS,
    until: Callable[[], bool] = lambda: True,
    deadline_s: float = DEADLINE_S,
) -> Beside:
    """What each kind of caller sees for so long, and then until ``until``; all kinds at
    once. ``deadline_s``: what is not answered by then has failed."""
    found = {name: Seen() for name in kinds}
    end = time.monotonic() + seconds
    asking = Asking(
        service.port,
        service.working_clock(),
        lambda: time.monotonic() >= end and until(),
        deadline_s,
    )
    threads = [
        threading.Thread(target=asking.run, args=(kinds[name], seen))
        for name, seen in found.items()
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


@dataclass(frozen=True)
class Attacked:
    """One attack: how many attackers were in place, what callers beside them saw, and
    by how many MB the memory of the service grew at most."""

    placed: int
    found: Beside
    took: float


def attacked(
    service: Service,
    kind: str,
    count: int,
    token: str = "",
    seconds: float = ATTACKED_S,
    kinds: Kinds = KINDS,
) -> Attacked:
    """Attack, and measure beside it."""
    service.forget_peak()
    before = service.memory_mb()
    with attack(kind, service.port, count, token) as placed:
        time.sleep(BEGUN_S)
        found = measure(service, seconds, kinds)
        took = service.peak_mb() - before
    return Attacked(placed, found, took)


def check_attack(
    service: Service,
    idle: Beside,
    kind: str,
    count: int,
    token: str = "",
    seconds: float = ATTACKED_S,
    **limits: float,
) -> None:
    """Attack, and ``check``; up to three times, for the second and third of which
    callers are measured again beside the idle service."""
    for left in reversed(range(TIMES)):
        one = attacked(service, kind, count, token, seconds)
        assert one.placed == count
        try:
            check(idle, one.found, one.took, **limits)
            return
        except AssertionError:
            if not left:
                raise
        service.is_settled(SETTLED_S)
        idle = measure(service, IDLE_S)


def check(
    idle: Beside,
    found: Beside,
    took: float,
    *,
    median: float = MEDIAN,
    worst: float = WORST,
    most_mb: float = MORE_MB,
) -> None:
    """Every caller was answered, at most so many times slower than by the idle service,
    and the attack took at most ``most_mb``."""
    lines = "\n".join((*told(idle, found), f"took {took:.0f} of {most_mb:.0f} MB"))
    assert set(found) == set(idle) and found, lines
    for name, seen in found.items():
        assert seen.times, lines
        assert not seen.failures, lines
        assert seen.times_slower(idle[name]) <= median, lines
        assert seen.times_slower_at_worst(idle[name]) <= worst, lines
    assert took <= most_mb, lines


@dataclass(frozen=True)
class Asking:
    """How callers ask, one request after the other. ``worked_s``: the clock of what the
    worker does."""

    port: int
    worked_s: Callable[[], float]
    is_over: Callable[[], bool]
    deadline_s: float

    def run(self, kind: Callable[[int], Request], seen: Seen) -> None:
        """Until it is over."""
        number = 0
        while not self.is_over():
            number += 1
            began, worked = time.perf_counter(), self.worked_s()
            failure = self._ask(*kind(number))
            seen.worked.append(self.worked_s() - worked)
            seen.times.append(time.perf_counter() - began)
            if failure:
                seen.failures.append(failure)
            time.sleep(PAUSE_S)

    def _ask(self, method: str, path: str, body: str | None) -> str:
        """Why there was no good answer, or ""."""
        connection = http.client.HTTPConnection(
            "127.0.0.1", self.port, timeout=self.deadline_s
        )
        headers = {**HEADERS, **({} if body is None else _JSON)}
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            text = answer.read()
        except (OSError, http.client.HTTPException) as error:
            return f"{method} {path}: {error!r}"
        finally:
            connection.close()
        if answer.status in ANSWERED:
            return ""
        return f"{method} {path}: {answer.status} {text[:200]!r}"


_JSON = {"content-type": "application/json"}


def told(idle: Beside, attacked: Beside) -> Iterator[str]:
    """A line for each kind: for messages of tests."""
    for name, seen in attacked.items():
        yield (
            f"{name}: p50 {idle[name].p50 * 1e3:.1f} -> {seen.p50 * 1e3:.1f} ms, "
            f"p99 {idle[name].p99 * 1e3:.1f} -> {seen.p99 * 1e3:.1f} ms, "
            f"{len(seen.times)} asked, {len(seen.failures)} failed {seen.failures[:2]}"
        )
