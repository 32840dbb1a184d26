"""Figures of attacks by every operation of /gantt: ``python -m tests.attacks.measuring
--out FILE``. It asks over HTTP alone, so it can measure a release before this one too,
``--before CHECKOUT``, with ``tests/attacks`` copied into it, which makes its fleet.
Both are then measured in turn, so that what else the machine does hits both alike.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from tests.attacks import beside
from tests.attacks.attackers import allow_open_files, begun
from tests.attacks.beside import HOST_KINDS, Attacked
from tests.attacks.operations import DEAREST, HOSTS, RECORDS
from tests.attacks.service import ADMIN, READER, Renewed, Service

CLIENTS, DEADLINE_S = 8, 30.0
CONFIG = (
    "[filter_scheduler]",
    "enabled_filters = ComputeFilter,ComputeCapabilitiesFilter,ImagePropertiesFilter,"
    "ServerGroupAntiAffinityFilter,ServerGroupAffinityFilter,NUMATopologyFilter,"
    "PciPassthroughFilter",
)
# What a member of a project may send by default goes with its token.
READERS = frozenset({"GET /gantt/decisions"})
ROOT = Path(__file__).parents[2]


def beside_operation(
    service: Service, name: str, seconds: float
) -> Iterator[tuple[int, Attacked]]:
    """What callers see beside one client, while it asks for the first time and a little
    longer, and then beside eight; with how many there are."""
    token = READER if name in READERS else ADMIN
    service.forget_peak()
    before = service.memory_mb()

    def attacked(clients: int, found: beside.Beside) -> tuple[int, Attacked]:
        return clients, Attacked(clients, found, service.peak_mb() - before)

    # What counts is the work of the service: callers do not leave before it is done.
    asked = partial(beside.measure, service, kinds=HOST_KINDS, deadline_s=DEADLINE_S)
    with begun(f"operation {name}", service.port, CLIENTS, token) as attack:
        yield attacked(1, asked(seconds=0, until=attack.is_placed))
        placed = attack.placed()
        yield attacked(placed, asked(seconds=seconds))


def _figures(idle: beside.Beside, one: Attacked) -> dict[str, Any]:
    """Of one attack: times, as multiples of those of the idle service too, and
    multiples of the work of the service while a caller waited."""
    return {
        "memory_mb": round(one.took, 1),
        "failures": sum(len(seen.failures) for seen in one.found.values()),
        **{name: _seen(idle[name], seen) for name, seen in one.found.items()},
    }


def _seen(idle: beside.Seen, seen: beside.Seen) -> dict[str, float]:
    work, most_work = seen.times_more_work(idle)
    return {
        "p50_ms": round(seen.p50 * 1e3, 2),
        "p99_ms": round(seen.p99 * 1e3, 2),
        "p50_ratio": round(seen.p50 / max(idle.p50, 1e-4), 1),
        "p99_ratio": round(seen.p99 / max(idle.p99, 1e-4), 1),
        "work_p50_ratio": round(work, 1),
        "work_most_ratio": round(most_work, 1),
        "answered": len(seen.times) - len(seen.failures),
    }


def _of_operation(renewed: Renewed, name: str, seconds: float) -> Iterator[Any]:
    """Figures of an operation, with one client and with eight; none where the release
    has no such operation."""
    service = renewed.idle()
    method, path = name.split()
    paths = json.loads(service.ask("GET", "/gantt/openapi.json")[1])["paths"]
    if method.lower() not in paths.get(path, {}):
        return
    token = READER if name in READERS else ADMIN
    for clients in (1, CLIENTS):
        service = renewed.idle()
        beside.measure(service, 0.3, HOST_KINDS)
        idle = beside.measure(service, seconds / 2, HOST_KINDS)
        one = beside.attacked(
            service, f"operation {name}", clients, token, seconds, HOST_KINDS
        )
        yield {"clients": one.placed, "operation": name, **_figures(idle, one)}


def _release(folder: Path, hosts: int, checkout: Path) -> Renewed:
    """A release's service over a fleet that it has made itself."""
    fleet = folder / "fleet.db"
    make = "import sys; from pathlib import Path; from tests.attacks import furnished; "
    make += f"furnished.furnished(Path(sys.argv[1]), {hosts}, {RECORDS})"
    # The first folder on its path is that where it begins.
    subprocess.run([sys.executable, "-c", make, str(fleet)], cwd=checkout, check=True)
    within = ("env", "-C", str(checkout))
    return Renewed(folder, fleet=fleet, more=CONFIG, within=within)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and write the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--before", type=Path, help="a checkout of another release")
    parser.add_argument("--hosts", type=int, default=HOSTS)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("operations", nargs="*", default=list(DEAREST))
    given = parser.parse_args(arguments)
    allow_open_files(4_096)
    checkouts = {"before": given.before, "now": ROOT}
    rows: list[dict[str, Any]] = []
    with contextlib.ExitStack() as stack:
        releases = {
            when: stack.enter_context(
                _release(
                    Path(stack.enter_context(tempfile.TemporaryDirectory())),
                    given.hosts,
                    checkout,
                )
            )
            for when, checkout in checkouts.items()
            if checkout is not None
        }
        for name in given.operations:
            for when, renewed in releases.items():
                try:
                    for row in _of_operation(renewed, name, given.seconds):
                        rows.append({"when": when, **row})
                        print(json.dumps(rows[-1]), flush=True)
                except (OSError, RuntimeError) as error:
                    renewed.renew()
                    print(f"{when}: {name} has no figures: {error}", flush=True)
            text = json.dumps({"hosts": given.hosts, "rows": rows}, indent=1)
            given.out.write_text(text + "\n")


if __name__ == "__main__":
    main()
