"""Look-ups of allocations: answered in the event loop, or handed to a thread."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from typing import Any, cast

import pytest

from gantt.api.call import AT_ONCE, Environ
from gantt.api.handlers.allocations import encoded
from gantt.api.hosting.front import Front
from gantt.api.hosting.pools import Pools
from gantt.api.wire.microversion import MAX_MINOR
from gantt.conf import load
from gantt.engine.reading.reader import WouldWait
from gantt.model.answers import ConsumerView, ProviderShare
from tests.api.hosting.test_environ import Headers, Scope

PATH = "/allocations/1111"


class App:
    """Notes the thread and the environment of each request; ``waits``: raises
    WouldWait where it must not wait."""

    def __init__(self, waits: bool = False) -> None:
        self.waits = waits
        self.threads: list[threading.Thread] = []
        self.environs: list[Environ] = []

    def __call__(self, environ: Environ, start: Callable[..., Any]) -> list[bytes]:
        self.threads.append(threading.current_thread())
        self.environs.append(dict(environ))
        # As behind a proxy that has stripped a prefix.
        environ["SCRIPT_NAME"] += "/prefix"
        if self.waits and AT_ONCE in environ:
            raise WouldWait
        start("200 OK", [])
        return [b"{}"]


class Exchange:
    def __init__(self) -> None:
        self.status = 0
        self.is_answered = threading.Event()

    def response_bytes(self, status: int, headers: object, body: bytes) -> None:
        self.status = status
        self.is_answered.set()


def ask(app: App, path: str = PATH, method: str = "GET") -> Exchange:
    settings = load(environ={}, default_auth="noauth2")
    front = Front(
        app,
        Pools(settings),
        turned_away=app,
        refused=lambda reason: None,
        is_stopping=lambda: False,
    )
    exchange = Exchange()

    async def run() -> None:
        front.__rsgi_init__(asyncio.get_running_loop())
        scope = Scope(path, method=method, headers=Headers())
        await front.__rsgi__(cast(Any, scope), cast(Any, exchange))

    loop = asyncio.new_event_loop()
    serving = loop.create_task(run())
    while not exchange.is_answered.is_set():
        loop.run_until_complete(asyncio.sleep(0.001))
    serving.cancel()
    loop.close()
    return exchange


@pytest.mark.parametrize("path", [PATH, f"/placement{PATH}"])
def test_look_up_is_answered_in_the_event_loop(path: str) -> None:
    app = App()
    assert ask(app, path).status == 200
    assert app.threads == [threading.current_thread()]
    assert AT_ONCE in app.environs[0]


def test_look_up_that_would_wait_is_handed_to_a_thread() -> None:
    app = App(waits=True)
    assert ask(app).status == 200
    first, second = app.threads
    assert (first, second.name) == (threading.current_thread(), "gantt-quick-1")
    at_once, later = app.environs
    assert AT_ONCE not in later
    # The first attempt has not changed what the second gets.
    assert later == {key: value for key, value in at_once.items() if key != AT_ONCE}


@pytest.mark.parametrize(
    ("method", "path"),
    [("DELETE", PATH), ("GET", "/allocations"), ("GET", "/resource_providers/1")],
)
def test_others_are_handed_to_a_thread(method: str, path: str) -> None:
    app = App()
    ask(app, path, method)
    (thread,) = app.threads
    assert thread is not threading.current_thread()
    assert AT_ONCE not in app.environs[0]


ODD = 'a"\\\u00e9\n\u2603'


@pytest.mark.parametrize("version", range(MAX_MINOR + 1))
@pytest.mark.parametrize("consumer_type", [None, "INSTANCE", ODD])
def test_body_is_what_json_makes_of_it(version: int, consumer_type: str | None) -> None:
    shares = {
        ODD: ProviderShare({"VCPU": 1, "CUSTOM_A": 2**62}, 7),
        "b": ProviderShare({"X": 1}, 0),
    }
    view = ConsumerView(shares, ODD, "u", 3, consumer_type)
    expected: dict[str, Any] = {
        "allocations": {
            uuid: {"resources": share.resources, "generation": share.generation}
            for uuid, share in shares.items()
        }
    }
    if version >= 12:
        expected |= {"project_id": ODD, "user_id": "u"}
    if version >= 28:
        expected["consumer_generation"] = 3
    if version >= 38:
        expected["consumer_type"] = consumer_type or "unknown"
    assert encoded(view, version) == json.dumps(expected).encode()
