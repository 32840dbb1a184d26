"""Attacks without a token: unfinished bodies that fill the memory for bodies, and
health and metrics requested without a pause."""

from __future__ import annotations

import json
import time

from tests.attacks import beside
from tests.attacks.attackers import attack
from tests.attacks.beside import ATTACKED_S, MORE_MB, Beside, check
from tests.attacks.service import Service

# More bodies of the largest size than bodies_bytes allows.
LARGE = 40
BODIES_MB = 128
PROBES = 64
# As many bytes as a large request has.
PADDING = " " * 1_000_000


def test_endless_bodies_do_not_block_others(service: Service, idle: Beside) -> None:
    service.forget_peak()
    before = service.memory_mb()
    with attack("almost_whole_bodies", service.port, LARGE) as placed:
        assert placed == LARGE
        found = beside.measure(service, ATTACKED_S)
        large = json.dumps({"name": "large"}).encode() + PADDING.encode()
        statuses = [
            service.ask("POST", "/resource_providers", large)[0] for _ in range(3)
        ]
        took = service.peak_mb() - before
    check(idle, found, took, most_mb=2 * BODIES_MB + MORE_MB)
    assert statuses == [200, 409, 409]


def test_endless_probes_are_neither_refused_nor_logged(
    service: Service, idle: Beside
) -> None:
    service.forget_peak()
    before, lines = service.memory_mb(), len(service.log_lines())
    with attack("probes", service.port, PROBES) as placed:
        assert placed == PROBES
        found = beside.measure(service, ATTACKED_S)
        until = time.monotonic() + ATTACKED_S
        statuses = set()
        while time.monotonic() < until:
            for path in ("/readyz", "/metrics"):
                statuses.add(service.ask("GET", path, token="")[0])
        took = service.peak_mb() - before
    check(idle, found, took)
    assert statuses == {200}
    told = service.log_lines()[lines:]
    assert not [one for one in told if "/readyz" in one or "/metrics" in one]
