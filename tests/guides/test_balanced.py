"""Two services behind a proxy, as guides have it: one is killed, or both are replaced,
and no build fails."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, ClassVar, TypeAlias
from urllib.error import HTTPError
from urllib.request import Request, urlopen
from uuid import uuid4

import pytest

import gantt
from gantt.model.answers import Inventory
from tests import live
from tests.databases import Databases, execute
from tests.guides.guide import shown
from tests.guides.nginx import balancer, proxy
from tests.http_server import LoopbackHandler, LoopbackServer, answering
from tests.store.test_side_by_side import EXPAND
from tests.tidy.source import ROOT

Start: TypeAlias = Callable[[Path, int, str], contextlib.AbstractContextManager[None]]

BUILDS = 400
AT_ONCE = 8
AFTER = 60
PAUSE_S = 0.2  # between builds of one caller, once there were BUILDS
ROOM = 100_000
CLASS = "VCPU"
# As the guide has it.
DRAINS = {"OS_GANTT__DRAIN_DELAY_S": "3"}


class Cloud:
    """As Nova builds: it asks for candidates, then claims the first for a new
    consumer."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.tries_s = 0.0  # for so long it asks again what got no answer

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """Raises HTTPError."""
        give_up = time.monotonic() + self.tries_s
        while True:
            try:
                return self._ask(method, path, body)
            except HTTPError as refusal:
                if refusal.code < 500 or time.monotonic() > give_up:
                    raise
                time.sleep(0.2)

    def _ask(self, method: str, path: str, body: Any) -> Any:
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
            engine.set_inventories(made.uuid, {CLASS: Inventory(total=ROOM)})
        yield url


class Burst:
    """Builds by several at once, of two services behind a proxy."""

    def __init__(
        self,
        books: str,
        folder: Path,
        stack: contextlib.ExitStack,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self.books, self.folder, self._stack = books, folder, stack
        self.environ = environ or {}
        self.services = [self._start(n, live.free_port()) for n in (1, 2)]
        self._done = threading.Semaphore(0)

    def _start(self, number: int, port: int) -> live.Live:
        log = self.folder / f"{number}.log"
        found = live.spawn(
            self.books, log, port=port, environ={**DRAINS, **self.environ}
        )
        self._stack.callback(found.kill)
        live.wait_until_up(found)
        return found

    def behind(self, kind: str) -> Cloud:
        """The proxy, as it is shown for such services."""
        urls = [service.url for service in self.services]
        return Cloud(self._stack.enter_context(before(urls, kind, self.folder)))

    def again(self, number: int) -> None:
        """Stop one as its unit does, and start it again."""
        port = int(self.services[number].url.rpartition(":")[2])
        assert self.services[number].stop() == 0
        self.services[number] = self._start(number + 1, port)

    def build(self, cloud: Cloud, meanwhile: Callable[[], None]) -> float:
        """``meanwhile`` after some of them; BUILDS at least, and more until that is
        done; the seconds of the longest. Raises AssertionError where one failed, is
        missing, or was claimed twice."""
        took_s: list[float] = []
        over = threading.Event()

        def some(_: int) -> list[str]:
            mine = []
            while not over.is_set() or len(took_s) < BUILDS:
                began = time.monotonic()
                try:
                    mine.append(cloud.build())
                finally:
                    took_s.append(time.monotonic() - began)
                    self._done.release()
                if len(took_s) >= BUILDS:
                    over.wait(PAUSE_S)
            return mine

        with ThreadPoolExecutor(AT_ONCE) as callers:
            builds = callers.map(some, range(AT_ONCE))
            for _ in range(AFTER):
                self._done.acquire()
            try:
                meanwhile()
            finally:
                over.set()
            consumers = [one for each in builds for one in each]
        assert len(set(consumers)) == len(consumers) >= BUILDS
        assert [one for one in consumers if cloud.claimed(one) != [1]] == []
        (host,) = cloud.ask("GET", "/resource_providers")["resource_providers"]
        used = cloud.ask("GET", f"/resource_providers/{host['uuid']}/usages")["usages"]
        assert used == {CLASS: len(consumers)}
        return max(took_s)


@contextlib.contextmanager
def before(urls: Sequence[str], kind: str, folder: Path) -> Iterator[str]:
    """The address of a proxy, as it is shown, in front of these two."""
    text, start = shown_proxy(kind)
    port = live.free_port()
    text = text.replace("10.0.0.10:8778", f"127.0.0.1:{port}")
    text = text.replace("listen 8778;", f"listen 127.0.0.1:{port};")
    for number, url in enumerate(urls, 1):
        text = text.replace(f"10.0.0.{number}:8778", url.removeprefix("http://"))
    with start(folder, port, text):
        yield f"http://127.0.0.1:{port}"


def shown_proxy(kind: str) -> tuple[str, Start]:
    """Its configuration, and what starts it."""
    if kind == "guide":
        (block,) = (one.text for one in shown("scale-out") if one.language == "nginx")
        return block, proxy
    name, start = {
        "nginx": ("nginx.conf", proxy),
        "haproxy": ("haproxy.cfg", balancer),
    }[kind]
    return (ROOT / "deploy" / "two-machines" / name).read_text(), start


@pytest.fixture
def burst(books: str, tmp_path: Path) -> Iterator[Burst]:
    with contextlib.ExitStack() as stack:
        yield Burst(books, tmp_path, stack)


@pytest.mark.server("postgresql")
@pytest.mark.server("nginx")
@pytest.mark.server("haproxy")
@pytest.mark.parametrize("kind", ["guide", "nginx", "haproxy"])
def test_one_of_two_is_killed_in_a_burst_and_no_build_fails(
    burst: Burst, kind: str
) -> None:
    burst.build(burst.behind(kind), burst.services[0].kill)


@pytest.mark.server("postgresql")
@pytest.mark.server("nginx")
@pytest.mark.server("haproxy")
@pytest.mark.parametrize("kind", ["nginx", "haproxy"])
def test_an_upgrade_one_by_one_loses_no_build(burst: Burst, kind: str) -> None:
    """The next release adds to the tables while both of this one serve."""

    def upgraded() -> None:
        execute(burst.books, *EXPAND)
        for number in range(2):
            burst.again(number)

    burst.build(burst.behind(kind), upgraded)
    log = (burst.folder / "1.log").read_text()
    assert "0099_next, which a newer Gantt made" in log


class Unready(LoopbackHandler):
    """As a service whose database is away: it answers what it has in memory."""

    asked: ClassVar[threading.Semaphore]

    def do_GET(self) -> None:
        is_check = self.path == "/readyz"
        self.reply(503 if is_check else 200, b"no database" if is_check else b"known")
        if is_check:
            self.asked.release()


@pytest.mark.server("nginx")
@pytest.mark.server("haproxy")
@pytest.mark.parametrize("kind", ["guide", "nginx", "haproxy"])
def test_services_that_are_not_ready_answer_themselves(
    tmp_path: Path, kind: str
) -> None:
    Unready.asked = threading.Semaphore(0)
    with contextlib.ExitStack() as stack:
        services = [LoopbackServer(Unready) for _ in range(2)]
        urls = [stack.enter_context(answering(one)).url for one in services]
        url = stack.enter_context(before(urls, kind, tmp_path))
        if kind == "haproxy":  # it has found both not ready, and once more
            for _ in range(3 * len(services)):
                assert Unready.asked.acquire(timeout=30.0)
        for _ in range(2):
            with pytest.raises(HTTPError) as refusal:
                urlopen(f"{url}/readyz", timeout=30.0)
            assert (refusal.value.code, refusal.value.read()) == (503, b"no database")
            with urlopen(f"{url}/gantt/hosts", timeout=30.0) as answer:
                assert answer.read() == b"known"


class Echo(LoopbackHandler):
    """Answers with the headers that name who asks."""

    def do_GET(self) -> None:
        said = {name: one for name, one in self.headers.items() if "orward" in name}
        self.reply(200, json.dumps(said).encode())


@pytest.mark.server("nginx")
@pytest.mark.server("haproxy")
@pytest.mark.parametrize("kind", ["guide", "nginx", "haproxy"])
def test_callers_do_not_choose_the_address_that_they_seem_to_have(
    tmp_path: Path, kind: str
) -> None:
    forged = {"Forwarded": "for=10.9.9.9;host=evil"}
    forged |= {
        f"X-Forwarded-{one}": "evil" for one in ("For", "Host", "Prefix", "Proto")
    }
    with contextlib.ExitStack() as stack:
        one = stack.enter_context(answering(LoopbackServer(Echo)))
        url = stack.enter_context(before([one.url, one.url], kind, tmp_path))
        with urlopen(Request(url, headers=forged), timeout=30.0) as answer:
            said = {name.lower(): value for name, value in json.load(answer).items()}
    assert said == {"x-forwarded-for": "127.0.0.1", "x-forwarded-proto": "http"}
