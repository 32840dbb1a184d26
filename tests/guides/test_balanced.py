"""Two services behind the proxy of a guide: one is killed, and no build fails."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen
from uuid import uuid4

import pytest

import gantt
from gantt.model.answers import Inventory
from tests import live
from tests.databases import Databases
from tests.guides.guide import shown
from tests.guides.nginx import proxy

BUILDS = 400
AT_ONCE = 8
KILLED_AFTER = 60
CLASS = "VCPU"


class Cloud:
    """As Nova builds: it asks for candidates, then claims the first for a new
    consumer."""

    def __init__(self, url: str) -> None:
        self.url = url

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """Raises HTTPError."""
        request = Request(
            self.url + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={
                "x-auth-token": "admin",
                "content-type": "application/json",
                "openstack-api-version": "placement 1.36",
            },
        )
        with urlopen(request, timeout=30.0) as answer:
            return json.loads(answer.read() or b"null")

    def build(self) -> str:
        """The new consumer. Raises HTTPError."""
        consumer = str(uuid4())
        found = self.ask("GET", f"/allocation_candidates?resources={CLASS}:1&limit=1")
        (candidate,) = found["allocation_requests"]
        body = {
            **candidate,
            "consumer_generation": None,
            "project_id": "p",
            "user_id": "u",
        }
        try:
            self.ask("PUT", f"/allocations/{consumer}", body)
        except HTTPError as refusal:
            # The answer of the one that died was lost, and the other was asked again.
            if refusal.code != 409 or not self.claimed(consumer):
                raise
        return consumer

    def claimed(self, consumer: str) -> list[int]:
        found = self.ask("GET", f"/allocations/{consumer}")["allocations"]
        return [one["resources"][CLASS] for one in found.values()]


@pytest.fixture
def books(databases: Databases) -> Iterator[str]:
    with databases.database("postgresql") as url:
        with contextlib.closing(gantt.connect(url)) as engine:
            made = engine.create_provider("host")
            engine.set_inventories(made.uuid, {CLASS: Inventory(total=2 * BUILDS)})
        yield url


@pytest.mark.server("postgresql", "nginx")
def test_one_of_two_is_killed_in_a_burst_and_no_build_fails(
    books: str, tmp_path: Path
) -> None:
    (block,) = (one.text for one in shown("scale-out") if one.language == "nginx")
    port = live.free_port()
    block = block.replace("listen 8778;", f"listen 127.0.0.1:{port};")
    with contextlib.ExitStack() as stack:
        services = [live.start(books, tmp_path / f"{n}.log") for n in (1, 2)]
        for number, service in enumerate(services, 1):
            stack.callback(service.kill)
            place = service.url.removeprefix("http://")
            block = block.replace(f"10.0.0.{number}:8778", place)
        stack.enter_context(proxy(tmp_path, port, block))
        cloud = Cloud(f"http://127.0.0.1:{port}")
        done = threading.Semaphore(0)

        def build(_: int) -> str:
            try:
                return cloud.build()
            finally:
                done.release()

        with ThreadPoolExecutor(AT_ONCE) as threads:
            builds = threads.map(build, range(BUILDS))
            for _ in range(KILLED_AFTER):
                done.acquire()
            services[0].kill()
            consumers = list(builds)
        assert len(set(consumers)) == BUILDS
        assert [one for one in consumers if cloud.claimed(one) != [1]] == []
        (host,) = cloud.ask("GET", "/resource_providers")["resource_providers"]
        used = cloud.ask("GET", f"/resource_providers/{host['uuid']}/usages")["usages"]
        assert used == {CLASS: BUILDS}
