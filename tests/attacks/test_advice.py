"""Requests for advice as no cloud should send them: many hosts, odd names, numbers that
are none, bodies that do not end. The caller gets an order or a refusal, in time."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.attacks.service import Service, attacked

NOVA, CINDER = "/scheduler/nova/external", "/scheduler/cinder/external"
MOST_BYTES = 4 << 20
FLAVOR = {"vcpus": 1, "memory_mb": 512, "root_gb": 1, "ephemeral_gb": 0, "swap": 0}
ODD = (
    "é",
    "\u202e",
    "\x00",
    "\n",
    "../..",
    "%s",
    "{}",
    "'; --",
    "\U0001f600",
    " ",
    '"',
)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with attacked(
        tmp_path_factory.mktemp("advised"), options={"advice_from": "127.0.0.0/8"}
    ) as found:
        yield found


def body(*names: str, **more: Any) -> dict[str, Any]:
    return {
        "spec": {"flavor": FLAVOR},
        "hosts": [{"host": one, "hypervisor_hostname": one} for one in names],
        "weights": {one: float(at) for at, one in enumerate(reversed(names))},
        **more,
    }


def ask(service: Service, sent: object, path: str = NOVA) -> tuple[int, Any]:
    """Status and document."""
    status, raw = service.ask("POST", path, sent)
    return status, json.loads(raw)


def lives(service: Service) -> None:
    assert ask(service, body("b", "a")) == (200, {"hosts": ["b", "a"]})


def test_many_hosts_with_odd_names_come_back_as_they_were(service: Service) -> None:
    names = [f"{ODD[n % len(ODD)]}{n}" + "x" * (n % 200) for n in range(10_000)]
    sent = body(*names)
    began = time.monotonic()
    status, found = ask(service, sent)
    assert time.monotonic() - began < 10
    assert (status, found["hosts"]) == (200, names)
    for path in (CINDER, CINDER.replace("cinder", "manila")):
        assert ask(service, sent, path) == (200, {"hosts": names})


@pytest.mark.parametrize("path", [NOVA, CINDER])
def test_hosts_that_are_sent_twice_are_not_lost(service: Service, path: str) -> None:
    sent = body("a", "b", "a", "b", "a")
    sent["weights"] = {"a": 2.0, "b": 1.0}
    status, found = ask(service, sent, path)
    assert status == 200
    assert set(found["hosts"]) == {"a", "b"}


@pytest.mark.parametrize("path", [NOVA, CINDER])
@pytest.mark.parametrize(
    "number", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999", '"1"', "null", "[]"]
)
def test_weights_that_are_no_numbers_are_refused(
    service: Service, path: str, number: str
) -> None:
    text = json.dumps(body("a", "b")).replace("0.0", number)
    status, found = ask(service, text.encode(), path)
    assert status == 400, found
    lives(service)


@pytest.mark.parametrize("number", ["1e308", "-1e308", "5e-324", "-0.0", "1" * 300])
def test_weights_of_any_size_order_hosts(service: Service, number: str) -> None:
    text = json.dumps(body("a", "b")).replace("0.0", number)
    assert ask(service, text.encode())[0] == 200
    status, found = ask(service, text.encode(), CINDER)
    high = float(number) > 1
    assert (status, found["hosts"]) == (200, ["b", "a"] if high else ["a", "b"])


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"null",
        b"[]",
        b"7",
        b'{"hosts":' + b"[" * 100_000,
        b"\xff\xfe{}",
        b'{"spec": {}, "hosts": [], "weights": {}}',
        b'{"spec":' * 50_000,
        json.dumps(body("a") | {"hosts": [{"host": ""}]}).encode(),
        json.dumps(body("x" * 256)).encode(),
        json.dumps(body("a") | {"hosts": [[]]}).encode(),
        json.dumps(body("a") | {"weights": {"a": 1, "b": 1}}).encode(),
        json.dumps(body("\ud800")).encode(),
    ],
    ids=range(13),
)
def test_bodies_that_cannot_be_read_are_refused(service: Service, sent: bytes) -> None:
    status, _ = ask(service, sent)
    assert status == 400
    lives(service)


def test_bodies_above_the_limit_are_refused(service: Service) -> None:
    text = json.dumps(body("a")).encode()
    status, _ = ask(service, text.ljust(MOST_BYTES))
    assert status == 200
    status, _ = service.ask("POST", NOVA, text.ljust(MOST_BYTES + 1))
    assert status == 413
    lives(service)


def test_slow_callers_delay_no_advice(service: Service) -> None:
    head = (
        f"POST {NOVA} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        "Content-Length: 1000000\r\n\r\n{"
    )
    slow = [socket.create_connection(("127.0.0.1", service.port)) for _ in range(300)]
    try:
        for one in slow:
            one.sendall(head.encode())
        for _ in range(5):
            for one in slow:
                one.sendall(b" ")
            began = time.monotonic()
            lives(service)
            assert time.monotonic() - began < 5
    finally:
        for one in slow:
            one.close()
    lives(service)
