"""What callers notice when one of two dies: builds behind a proxy, calls of a
conductor, a feed. Databases, broker, programs and callers share the processors.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Final
from uuid import uuid4

import oslo_messaging as messaging

import gantt
from bench.feed import fill
from bench.report import Row, say
from gantt.bench.figures import duration
from gantt.model.answers import Inventory
from gantt.store.tables import FORMAT
from tests import live
from tests.brokers import start_rabbitmq
from tests.databases import Databases, Postgres, execute
from tests.guides.test_balanced import AT_ONCE, BUILDS, CLASS, ROOM, Burst
from tests.openstack.conductor import conductor, context, instances, spec
from tests.openstack.feed.nova_databases import ApiDatabase, CellDatabase, new_mariadb
from tests.openstack.processes import new_books, scheduler
from tests.openstack.test_processes import asked
from tests.store.test_side_by_side import EXPAND
from tests.waiting import until

CALLERS: Final = 4
CALLS: Final = 40
HOSTS: Final = 1_000
TRIES_S: Final = 300.0
FORMAT_1: Final = "b1de1cec"


def measure(folder: Path, scale: float) -> Iterator[Row]:
    """All rows of this suite."""
    with Databases() as servers:
        for kind in ("nginx", "haproxy"):
            for work in (_kill, _replace):
                yield _served(servers, folder, kind, work)
        yield _one_stop(servers, folder)
        yield _scheduler(folder)
        yield _feed(servers, folder, max(10, int(HOSTS * scale)))


def _kill(burst: Burst) -> str:
    burst.services[0].kill()
    return "one of two `gantt serve` is killed"


def _replace(burst: Burst) -> str:
    execute(burst.books, *EXPAND)
    for number in range(2):
        burst.again(number)
    return "both are stopped and started again, one by one, on tables of a next release"


def _served(
    servers: Databases, folder: Path, kind: str, work: Callable[[Burst], str]
) -> Row:
    say(f"deaths: {work.__name__} behind {kind} ...")
    done: list[str] = []
    url = servers.server(Postgres.name).new()
    with closing(gantt.connect(url, create=True)) as engine:
        made = engine.create_provider("host")
        engine.set_inventories(made.uuid, {CLASS: Inventory(total=ROOM)})
    with ExitStack() as stack:
        burst = Burst(url, folder, stack)
        cloud = burst.behind(kind)
        longest_s = burst.build(cloud, lambda: done.append(work(burst)))
    what = f"{kind}: {done[0]}; {BUILDS} builds or more, {AT_ONCE} at once"
    return Row(what, "0 fail", f"0 fail, longest {duration(longest_s)}", is_met=True)


def _one_stop(servers: Databases, folder: Path) -> Row:
    """From the last release whose log is in format 1; callers try again until they are
    answered."""
    say("deaths: an upgrade with one stop ...")
    old = folder / "old"
    old.mkdir()
    archive = subprocess.run(
        ["git", "archive", FORMAT_1, "gantt"], capture_output=True, check=True
    )
    subprocess.run(["tar", "-x", "-C", str(old)], input=archive.stdout, check=True)
    # Python would look for this release in the folder of the caller first.
    its = {"PYTHONPATH": str(old), "PYTHONSAFEPATH": "1"}
    url = servers.server(Postgres.name).new(is_furnished=False)
    program = "from gantt.cli.manage import main; main()"
    manage = [sys.executable, "-c", program, "--database", url, "db", "sync"]
    subprocess.run(manage, env={**os.environ, **its}, check=True)
    assert _format(url) == 1
    with ExitStack() as stack:
        before = Burst(url, folder, stack, environ=its)
        cloud = before.behind("nginx")
        cloud.tries_s = TRIES_S
        uuid = str(uuid4())
        cloud.ask("POST", "/resource_providers", {"name": "host", "uuid": uuid})
        amounts = {CLASS: {"total": ROOM}}
        total = {"resource_provider_generation": 0, "inventories": amounts}
        cloud.ask("PUT", f"/resource_providers/{uuid}/inventories", total)
        took_s = [0.0]

        def upgrade() -> None:
            began = time.monotonic()
            for one in before.services:
                one.stop()
            subprocess.run(manage, check=True)
            assert _format(url) == FORMAT
            before.environ = {}
            for number in range(2):
                before.again(number)
            took_s[0] = time.monotonic() - began

        longest_s = before.build(cloud, upgrade)
    return Row(
        f"one stop, from {FORMAT_1}; {BUILDS} builds or more, which try again",
        "0 lost",
        f"0 lost, longest {duration(longest_s)}; all in {duration(took_s[0])}",
        is_met=True,
    )


def _format(url: str) -> int:
    ((found,),) = execute(url, "SELECT format FROM gantt_head")
    return int(found)


def _scheduler(folder: Path) -> Row:
    say("deaths: a scheduler ...")
    took_s, lost = [0.0], [0]
    over = threading.Event()
    with ExitStack() as stack:
        broker = stack.enter_context(start_rabbitmq())
        books = new_books(folder, 20)
        api = stack.enter_context(conductor(broker.url, timeout_s=30))
        first, _ = [
            stack.enter_context(scheduler(folder, broker.url, books, host=host))
            for host in ("one", "two")
        ]

        def call() -> None:
            while not over.is_set():
                began = time.monotonic()
                try:
                    api.select_destinations(context(), spec(), instances(), True, True)
                except messaging.MessagingTimeout:
                    lost[0] += 1
                took_s.append(time.monotonic() - began)

        threads = [threading.Thread(target=call) for _ in range(CALLERS)]
        for one in threads:
            one.start()
        until(lambda: len(took_s) > CALLS, 120)
        first.kill()
        until(lambda: len(took_s) > 2 * CALLS, 120)
        over.set()
        for one in threads:
            one.join()
    return Row(
        f"one of two `gantt scheduler` is killed under {CALLERS} callers",
        "0 lost",
        f"{lost[0]} lost, longest {duration(max(took_s))}",
        is_met=not lost[0],
    )


def _feed(servers: Databases, folder: Path, hosts: int) -> Row:
    say("deaths: a feed ...")
    server = servers.server("mariadb")
    api, cell = ApiDatabase(new_mariadb(server)), CellDatabase(new_mariadb(server))
    with closing(api), closing(cell), ExitStack() as stack:
        fill(api, cell, hosts)
        (folder / "feed.conf").write_text(f"[api_database]\nconnection = {api.url}\n")
        service = stack.enter_context(live.served(folder))
        ports = live.free_port(), live.free_port()
        feeds = []
        for port in ports:
            words = ("--config-file", str(folder / "feed.conf"), "--url", service.url)
            listen = ("--metrics-listen", f"127.0.0.1:{port}")
            feed = subprocess.Popen(live.program("feed", *words, *listen))
            stack.callback(feed.kill)
            feeds.append(feed)
            until(lambda port=port: _answers(port), 120)  # type: ignore[misc]
        feeds[0].kill()
        began = time.monotonic()
        wanted = f"\ngantt_feed_hosts {float(hosts)}\n"
        until(lambda: wanted in asked(ports[1], "/metrics")[1], 120)
        took_s = time.monotonic() - began
    return Row(
        f"a `gantt feed` is killed: until the other has read {hosts:,} computes",
        "",
        duration(took_s),
    )


def _answers(port: int) -> bool:
    try:
        return asked(port, "/readyz")[0] == 200
    except OSError:
        return False
