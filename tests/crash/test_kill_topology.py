"""kill -9 of a service while the last CPUs and devices are claimed.

What was answered is promised after the restart; what was not, once or not at all.
"""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any
from uuid import UUID

from gantt.connection import connect
from gantt.errors import GanttError, NoValidHost
from gantt.model.hosts import Service
from gantt.model.spec import ScheduleRequest
from tests.api.test_topology_fight import EACH, HOSTS, OPTIONS, SPEC, report_of
from tests.live import Live, start

CLIENTS = 4


class Client(threading.Thread):
    """Claims until the service is gone; ``held``: instance -> host, as answered, of
    claims whose release was not begun."""

    def __init__(self, url: str, number: int) -> None:
        super().__init__(daemon=True)
        self._url, self._rng = url, random.Random(number)
        self.held: dict[str, str] = {}

    def run(self) -> None:
        with closing(connect(self._url)) as gantt:
            while True:
                uuid = str(UUID(int=self._rng.getrandbits(128), version=4))
                try:
                    request = ScheduleRequest(SPEC, (uuid,), return_alternates=False)
                    ((mine,),) = gantt.schedule(request)
                    self.held[uuid] = mine.service_host
                    if self._rng.random() < 0.9:
                        del self.held[uuid]
                        gantt.release_claim(mine.claim or "")
                except NoValidHost:
                    continue
                except GanttError:
                    return


def served(database: str, folder: Path) -> Live:
    file = folder / "gantt.conf"
    file.write_text(OPTIONS)
    options = ("--auth", "noauth2", "--workers", "2", "--config-file", str(file))
    return start(database, folder / "log", options=options)


def pending(database: str) -> dict[str, list[str]]:
    """By host: the instances that it is promised, none of whose CPUs twice."""
    found = {}
    with closing(connect(database)) as gantt:
        for host in HOSTS:
            view = gantt.host_topology(host, host)
            found[host] = [one.instance_uuid for one in view.pending]
            assert not view.is_closed
            if view.obeys_claims:
                used: Counter[object] = Counter()
                used.update(cpu for one in view.pending for cpu in one.cpus)
                used.update(at for one in view.pending for at in one.addresses)
                assert max(used.values(), default=1) == 1
        assert gantt.verify().problems == ()
    return found


def test_promises_outlive_a_kill(
    kind: str, database: str, tmp_path: Path, record_property: Any
) -> None:
    live = served(database, tmp_path)
    with closing(connect(live.url)) as gantt:
        for host in HOSTS:
            gantt.update_service(Service(host))
            gantt.update_host(host, host, report_of(host))
    clients = [Client(live.url, number) for number in range(CLIENTS)]
    for client in clients:
        client.start()
    time.sleep(1.5)
    live.kill()
    for client in clients:
        client.join(30.0)
    held = {uuid: host for one in clients for uuid, host in one.held.items()}
    found = pending(database)
    for uuid, host in held.items():
        assert uuid in found[host], "what was answered is lost"
    unknown = sum(map(len, found.values())) - len(held)
    assert unknown <= CLIENTS, "more is promised than was asked for"
    live = served(database, tmp_path)
    try:
        with closing(connect(live.url)) as gantt:
            number = 0
            while True:
                number += 1
                uuid = str(UUID(int=number, version=4))
                try:
                    gantt.schedule(ScheduleRequest(SPEC, (uuid,)))
                except NoValidHost:
                    break
    finally:
        assert live.stop() == 0
    told = {"kills": 1, "promises kept": len(held), "without an answer": unknown}
    record_property("told", (f"kill -9 among the last CPUs on {kind}", told))
    full = pending(database)
    assert {host: len(mine) for host, mine in full.items()} == dict.fromkeys(
        HOSTS, EACH
    )
    assert all(set(found[host]) <= set(full[host]) for host in HOSTS)
