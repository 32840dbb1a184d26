"""A record of a live service, to be replayed: two ``gantt serve`` processes on one
database, clients that create, delete and look, a directory of records.

    python bench/live_record.py --decisions 100000 --directory /tmp/live
    gantt replay /tmp/live/record

Prints a line of JSON: decisions, seconds, what became of them.
"""

from __future__ import annotations

import argparse
import json
import random
import time
import uuid
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

from gantt.bench.http_client import Client
from gantt.bench.servers import Server, program
from gantt.connection import connect
from gantt.model.answers import Inventory
from gantt.model.hosts import HostAggregate
from gantt.replay.machines import Machine, empty_stats, uuid_of

SIZES = ((1, 2048), (2, 4096), (2, 8192), (4, 8192), (8, 32768), (16, 65536))
CLASSES = {"VCPU": (64, 2.0), "MEMORY_MB": (262_144, 1.0), "DISK_GB": (4_000, 1.0)}
LIVING = 45


def main() -> None:
    """Fill a database, serve it, ask, stop."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--decisions", type=int, default=100_000)
    parser.add_argument("--hosts", type=int, default=500)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--port", type=int, default=18_790)
    parser.add_argument("--directory", type=Path, required=True)
    parser.add_argument("--file-bytes", type=int, default=8 * 1024 * 1024)
    asked = parser.parse_args()
    asked.directory.mkdir(parents=True, exist_ok=True)
    url = f"sqlite:///{asked.directory}/gantt.db"
    fill(url, asked.hosts)
    with ExitStack() as served:
        servers = [
            served.enter_context(serve(url, asked, number))
            for number in range(asked.processes)
        ]
        print(json.dumps(load(asked, servers)))


def fill(url: str, hosts: int) -> None:
    """Hosts in three zones."""
    with closing(connect(url, create=True)) as books:
        for number in range(hosts):
            name = f"host-{number}"
            amounts = {
                key: Inventory(total, allocation_ratio=ratio)
                for key, (total, ratio) in CLASSES.items()
            }
            machine = Machine(name, amounts)
            books.update_host(name, name, empty_stats(machine))
        zones: dict[str, list[str]] = {}
        for number in range(hosts):
            zones.setdefault(f"zone-{number % 3}", []).append(f"host-{number}")
        books.set_host_aggregates(
            [
                HostAggregate(
                    uuid_of(zone),
                    zone,
                    None,
                    frozenset(names),
                    {"availability_zone": zone},
                )
                for zone, names in zones.items()
            ]
        )


def serve(url: str, asked: argparse.Namespace, number: int) -> Server:
    """One of the processes, all on one database."""
    config = asked.directory / "gantt.conf"
    config.write_text(
        f"[placement_database]\nconnection = {url}\n[api]\nauth_strategy = noauth2\n"
        f"[gantt]\nrecord = {asked.directory}/record\n"
        f"record_file_bytes = {asked.file_bytes}\n"
        "[filter_scheduler]\nhost_subset_size = 3\n"
        "shuffle_best_same_weighed_hosts = true\n"
    )
    port = asked.port + number
    command = [program("gantt"), "serve", "--config-file", str(config)]
    command += ["--listen", f"127.0.0.1:{port}"]
    return Server(command, port, asked.directory / f"serve-{number}.log")


class Caller:
    """Asks one process, one request after the other."""

    def __init__(self, server: Server, seed: int) -> None:
        self.outcomes: Counter[str] = Counter()
        self._rng = random.Random(seed)
        self._http = Client(server)
        self._living: list[str] = []

    def ask(self, decisions: int) -> None:
        """Ask for so many, and let instances go now and then."""
        for _ in range(decisions):
            self._decide()
            while len(self._living) > LIVING * self._rng.uniform(20, 45):
                place = self._rng.randrange(len(self._living))
                self._send("DELETE", f"/allocations/{self._living.pop(place)}", None)

    def _decide(self) -> None:
        rng = self._rng
        vcpus, memory_mb = rng.choice(SIZES)
        flavor = {"vcpus": vcpus, "memory_mb": memory_mb, "root_gb": 20}
        count = 1 if rng.random() < 0.9 else rng.randrange(2, 6)
        spec: dict[str, Any] = {"flavor": flavor, "num_instances": count}
        if rng.random() < 0.3:
            spec["availability_zone"] = f"zone-{rng.randrange(3)}"
        if rng.random() < 0.1:
            group = {"uuid": str(uuid.uuid4()), "policy": "anti-affinity"}
            spec["instance_group"] = group
        uuids = [str(uuid.uuid4()) for _ in range(count)]
        body = {
            "request_spec": spec,
            "instance_uuids": uuids,
            "dry_run": rng.random() < 0.05,
        }
        status = self._send("POST", "/gantt/select", body)
        self.outcomes[str(status)] += 1
        if status == 200 and not body["dry_run"]:
            self._living += uuids

    def _send(self, method: str, path: str, body: object) -> int:
        data = None if body is None else json.dumps(body).encode()
        return self._http.exchange(method, path, data)[0]


def load(asked: argparse.Namespace, servers: list[Server]) -> dict[str, Any]:
    """All callers at once."""
    began = time.monotonic()
    callers = [
        Caller(servers[number % len(servers)], asked.seed * 1000 + number)
        for number in range(asked.clients)
    ]
    each = asked.decisions // asked.clients
    with ThreadPoolExecutor(asked.clients) as threads:
        list(threads.map(lambda one: one.ask(each), callers))
    outcomes = sum((one.outcomes for one in callers), Counter[str]())
    return {
        "decisions": outcomes.total(),
        "seconds": round(time.monotonic() - began, 1),
        "outcomes": outcomes,
    }


if __name__ == "__main__":
    main()
