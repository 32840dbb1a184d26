"""Figures of attacks by every operation of /gantt: ``python -m tests.attacks.measuring
--out FILE``. It asks over HTTP alone, so it can measure a release before this one too:
copy ``tests/attacks`` beside that release and run it there.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.attacks import beside
from tests.attacks.attackers import allow_open_files
from tests.attacks.furnished import furnished
from tests.attacks.operations import DEAREST
from tests.attacks.service import ADMIN, READER, Service, attacked

CLIENTS = (1, 8)
CONFIG = (
    "[filter_scheduler]",
    "enabled_filters = ComputeFilter,ComputeCapabilitiesFilter,ImagePropertiesFilter,"
    "ServerGroupAntiAffinityFilter,ServerGroupAffinityFilter,NUMATopologyFilter,"
    "PciPassthroughFilter",
)
# What a member of a project may send by default goes with its token.
READERS = frozenset({"GET /gantt/decisions"})


def figures(idle: beside.Beside, one: beside.Attacked) -> dict[str, Any]:
    """Of one attack: seconds, and how many times those of the idle service."""
    return {
        "memory_mb": round(one.took, 1),
        "failures": sum(len(seen.failures) for seen in one.found.values()),
        **{
            name: {
                "p50_ms": round(seen.p50 * 1e3, 2),
                "p99_ms": round(seen.p99 * 1e3, 2),
                "p50_ratio": round(seen.p50 / max(idle[name].p50, 1e-4), 1),
                "p99_ratio": round(seen.p99 / max(idle[name].p99, 1e-4), 1),
                "answered": len(seen.times) - len(seen.failures),
            }
            for name, seen in one.found.items()
        },
    }


def of_operation(
    service: Service, name: str, clients: int, seconds: float
) -> tuple[beside.Beside, beside.Attacked]:
    """The idle service just before, and the attack."""
    service.settle()
    token = READER if name in READERS else ADMIN
    idle = beside.measure(service.port, seconds / 2, beside.HOST_KINDS)
    one = beside.attacked(
        service, f"operation {name}", clients, token, seconds, beside.HOST_KINDS
    )
    return idle, one


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and write the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--fleet", type=Path, help="made where it is missing")
    parser.add_argument("--hosts", type=int, default=2_000)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--clients", type=int, nargs="*", default=CLIENTS)
    parser.add_argument("operations", nargs="*", default=list(DEAREST))
    given = parser.parse_args(arguments)
    allow_open_files(4_096)
    with tempfile.TemporaryDirectory() as folder:
        fleet = given.fleet or Path(folder, "fleet.db")
        if not fleet.exists():
            furnished(fleet, given.hosts)
        found: dict[str, Any] = {}
        for name in given.operations:
            for clients in given.clients:
                place = Path(folder, str(len(found)))
                place.mkdir()
                with attacked(place, fleet=fleet, more=CONFIG) as service:
                    beside.measure(service.port, 1.0, beside.HOST_KINDS)
                    idle, one = of_operation(service, name, clients, given.seconds)
                found[f"{clients} x {name}"] = figures(idle, one)
                print(name, clients, json.dumps(found[f"{clients} x {name}"]))
                text = json.dumps({"hosts": given.hosts, "attacks": found}, indent=1)
                given.out.write_text(text + "\n")


if __name__ == "__main__":
    main()
