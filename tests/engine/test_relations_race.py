"""Processes that share one database fight over the last slot of each rack."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import pytest
from msgspec.structs import replace

from gantt.engine.factory import open_gantt
from gantt.engine.gantt import Gantt
from gantt.engine.options import EngineOptions
from gantt.errors import NoValidHost
from gantt.model.spec import Flavor, InstanceGroup, RequestSpec, ScheduleRequest
from gantt.store.interface import StoreOptions
from tests.engine.test_relations import new_uuid, report
from tests.live import ending

ROOT = Path(__file__).parents[2]
GROUP = InstanceGroup("11111111-1111-4111-8111-111111111111", "soft-affinity")
FLAVOR = Flavor(vcpus=1, memory_mb=16, name="s")
RACKS, PROCESSES = 3, 8

WORKER = """
import sys
from tests.engine.test_relations_race import fight
fight(sys.argv[1])
"""


def connected(url: str) -> Gantt:
    return open_gantt(url, EngineOptions(store=StoreOptions(lock_timeout_s=60)))


def fight(url: str) -> None:
    """Ask for one instance after the other, by each of two rules, until there is no
    place; tell where they went."""
    with connected(url) as engine:
        print("ready", flush=True)
        sys.stdin.readline()
        won = []
        for relation in ("gantt:distinct=rack:5", "gantt:spread=rack:1"):
            name, _, value = relation.partition("=")
            flavor = replace(FLAVOR, extra_specs={name: value})
            group = replace(GROUP, uuid=GROUP.uuid.replace("1", "12"[len(name) > 12]))
            spec = RequestSpec(flavor, project_id="p", instance_group=group)
            for _ in range(4):
                try:
                    found = engine.schedule(ScheduleRequest(spec, (new_uuid(),)))
                except NoValidHost:
                    continue
                won.append((name, found[0][0].service_host))
        print(json.dumps(won), flush=True)


@pytest.mark.server("postgresql")
@pytest.mark.parametrize("kind", ["postgresql"], indirect=True)
def test_no_rack_gets_more_than_the_rule_allows(url: str) -> None:
    with connected(url) as engine:
        for number in range(2 * RACKS):
            report(engine, f"h{number}", vcpus=40)
            engine.label_host(f"h{number}", {"rack": f"r{number % RACKS}"})
    won: dict[str, Counter[int]] = {}
    with ExitStack() as stack:
        workers = [
            stack.enter_context(
                ending(
                    subprocess.Popen(
                        [sys.executable, "-c", WORKER, url],
                        stdin=subprocess.PIPE,
                        stdout=subprocess.PIPE,
                        text=True,
                        cwd=ROOT,
                    )
                )
            )
            for _ in range(PROCESSES)
        ]
        for worker in workers:
            assert worker.stdout
            assert worker.stdout.readline() == "ready\n"
        for worker in workers:
            assert worker.stdin
            worker.stdin.write("go\n")
            worker.stdin.flush()
        for worker in workers:
            out, _ = worker.communicate(timeout=120)
            assert worker.returncode == 0
            for name, host in json.loads(out):
                won.setdefault(name, Counter())[int(host[1:]) % RACKS] += 1
    # 32 were asked for of each kind.
    assert won["gantt:distinct"] == dict.fromkeys(range(RACKS), 5)
    spread = won["gantt:spread"]
    assert max(spread.values()) - min(spread.values()) <= 1
    assert spread.total() == 32
