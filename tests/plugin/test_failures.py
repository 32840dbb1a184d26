"""Whatever Gantt does instead of answering, Nova goes on with its own order, soon."""

from __future__ import annotations

import json
import socket
import struct
import time
from collections.abc import Callable
from typing import Any

import pytest
from gantt_nova_plugin.advisor import Advisor

from tests.live import free_port
from tests.plugin.clouds import filtered, hosts, spec, weighed
from tests.plugin.fake_gantt import Asked, Behaviour, FakeGantt, answer, respond, saying

Configure = Callable[..., Advisor]

# What is promised for a request, and what a busy machine may add.
LIMIT_S = 1.0
SLACK_S = 0.5


def hang(sock: socket.socket, asked: Asked) -> None:
    sock.recv(1)


def drip_head(sock: socket.socket, asked: Asked) -> None:
    for letter in b"HTTP/1.1 200 OK\r\nX: " + b"x" * 1000:
        sock.sendall(bytes([letter]))
        time.sleep(0.01)


def drip_body(sock: socket.socket, asked: Asked) -> None:
    sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
    for _ in range(1000):
        sock.sendall(b" ")
        time.sleep(0.01)


def continue_for_ever(sock: socket.socket, asked: Asked) -> None:
    while True:
        sock.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        time.sleep(0.001)


def end(sock: socket.socket, asked: Asked) -> None:
    sock.shutdown(socket.SHUT_RDWR)


def reset(sock: socket.socket, asked: Asked) -> None:
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()
    raise OSError


def cut(sock: socket.socket, asked: Asked) -> None:
    sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{")
    end(sock, asked)


def endless_chunks(sock: socket.socket, asked: Asked) -> None:
    sock.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while True:
        sock.sendall(b"1000\r\n" + b" " * 0x1000 + b"\r\n")


def redirect(sock: socket.socket, asked: Asked) -> None:
    head = f"Location: {asked.path}\r\n"
    respond(sock, b"", "307 Temporary Redirect", head)


def raw(data: bytes) -> Behaviour:
    def behave(sock: socket.socket, asked: Asked) -> None:
        sock.sendall(data)
        end(sock, asked)

    return behave


def text(body: bytes, status: str = "200 OK") -> Behaviour:
    return lambda sock, asked: respond(sock, body, status)


def with_status(status: str) -> Behaviour:
    """A good answer, but for its status."""
    return lambda sock, asked: respond(sock, json.dumps(answer(asked)).encode(), status)


def changed(**fields: object) -> Behaviour:
    return saying(lambda asked: answer(asked, **fields))


def first_host(**fields: object) -> Behaviour:
    """A good answer, but for its first host."""

    def document(asked: Asked) -> Any:
        said = answer(asked)
        said["hosts"][0].update(fields)
        return said

    return saying(document)


def without(name: str) -> Behaviour:
    def document(asked: Asked) -> Any:
        said = answer(asked)
        del said[name]
        return said

    return saying(document)


def with_hosts(change: Callable[[list[Any]], list[Any]]) -> Behaviour:
    return saying(lambda asked: answer(asked, hosts=change(answer(asked)["hosts"])))


BAD: dict[str, tuple[str, Behaviour]] = {
    "hangs": ("timeout", hang),
    "drips its head": ("timeout", drip_head),
    "drips its body": ("timeout", drip_body),
    "says continue without end": ("timeout", continue_for_ever),
    "ends the connection": ("connection", end),
    "resets the connection": ("connection", reset),
    "cuts the answer": ("connection", cut),
    "speaks another protocol": ("connection", raw(b"SSH-2.0-OpenSSH_9.2\r\n\r\n")),
    "has a line without end": ("connection", raw(b"HTTP/1.1 200 " + b"x" * 70_000)),
    "has very many headers": (
        "connection",
        raw(b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 1000 + b"\r\n"),
    ),
    "400": ("status", with_status("400 Bad Request")),
    "401": ("status", with_status("401 Unauthorized")),
    "404": ("status", with_status("404 Not Found")),
    "500": ("status", with_status("500 Internal Server Error")),
    "503": ("status", with_status("503 Service Unavailable")),
    "201": ("status", with_status("201 Created")),
    "redirects": ("status", redirect),
    "announces a huge answer": (
        "answer",
        lambda sock, asked: respond(sock, b" " * 100_000),
    ),
    "sends chunks without end": ("answer", endless_chunks),
    "nothing": ("answer", text(b"")),
    "no JSON": ("answer", text(b"<html>")),
    "no UTF-8": ("answer", text(b'"\xff\xfe')),
    "deep JSON": ("answer", text(b"[" * 60_000)),
    "a list": ("answer", text(b"[]")),
    "null": ("answer", text(b"null")),
    "no hosts": ("answer", without("hosts")),
    "no decided": ("answer", without("decided")),
    "decided is a word": ("answer", changed(decided="true")),
    "hosts is an object": ("answer", changed(hosts={})),
    "names": ("answer", changed(hosts=["a", "b", "c"])),
    "a host that was not sent": ("answer", first_host(host="x")),
    "a node that was not sent": ("answer", first_host(node="x")),
    "a node that is missing": ("answer", first_host(node=None)),
    "a host that is a number": ("answer", first_host(host=1)),
    "a node that is a list": ("answer", first_host(node=[])),
    "a weight that is a word": ("answer", first_host(weight="1")),
    "a weight that is true": ("answer", first_host(weight=True)),
    "a weight that is infinite": ("answer", first_host(weight=float("inf"))),
    "a weight that is no number": ("answer", first_host(weight=float("nan"))),
    "refused_by is true": ("answer", first_host(refused_by=True)),
    "a host is left out": ("answer", with_hosts(lambda said: said[1:])),
    "a host twice": ("answer", with_hosts(lambda said: [said[0], *said[:2]])),
    "one more": ("answer", with_hosts(lambda said: [*said, said[0]])),
    "an empty list": ("answer", with_hosts(lambda said: [])),
}


@pytest.mark.parametrize("what", BAD)
def test_scheduling_goes_on_when_gantt(
    what: str, configure: Configure, gantt: FakeGantt
) -> None:
    kind, gantt.behave = BAD[what]
    # What is answered is read whole, also where the machine is busy.
    timeout = 0.2 if kind == "timeout" else LIMIT_S
    advisor = configure(mode="decide", timeout=timeout, answer_size_limit=65536)
    request = spec()
    began = time.monotonic()
    assert filtered(request, hosts()) == ["a", "b", "c"]
    assert weighed(request, hosts()) == ["a", "b", "c"]
    assert time.monotonic() - began < LIMIT_S + SLACK_S
    assert advisor.journal.counters() == {"asked": 2, f"failed_{kind}": 2}
    assert len(gantt.asked) == 2, "redirects are not followed, failures not repeated"


def test_scheduling_goes_on_when_gantt_refuses_connections(
    configure: Configure,
) -> None:
    advisor = configure(mode="decide", url=f"http://127.0.0.1:{free_port()}")
    assert filtered(spec(), hosts()) == ["a", "b", "c"]
    assert weighed(spec(), hosts()) == ["a", "b", "c"]
    assert advisor.journal.counters() == {"asked": 2, "failed_connection": 2}


def test_scheduling_goes_on_when_nothing_accepts(configure: Configure) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener:
        where = listener.getsockname()
        filling = [socket.socket() for _ in range(3)]
        for sock in filling:
            sock.setblocking(False)
            sock.connect_ex(where)
        advisor = configure(url=f"http://127.0.0.1:{where[1]}", timeout=0.2)
        began = time.monotonic()
        assert weighed(spec(), hosts()) == ["a", "b", "c"]
        assert time.monotonic() - began < LIMIT_S
        assert advisor.journal.counters()["failed_timeout"] == 1
        for sock in filling:
            sock.close()


@pytest.mark.parametrize("is_decided", [True, False])
def test_list_is_emptied_by_a_decision_alone(
    is_decided: bool, configure: Configure, gantt: FakeGantt
) -> None:
    def refuse_all(asked: Asked) -> Any:
        said = answer(asked, decided=is_decided, why="" if is_decided else "deadline")
        for host in said["hosts"]:
            host["refused_by"] = "RamFilter"
        return said

    advisor = configure(mode="decide")
    gantt.behave = saying(refuse_all)
    assert filtered(spec(), hosts()) == ([] if is_decided else ["a", "b", "c"])
    counted = "answered" if is_decided else "undecided"
    assert advisor.journal.counters()[counted] == 1


def test_order_without_a_decision_changes_nothing(
    configure: Configure, gantt: FakeGantt
) -> None:
    configure(mode="advise")
    gantt.behave = changed(decided=False)
    assert weighed(spec(), hosts()) == ["a", "b", "c"]


@pytest.mark.parametrize("raised", [RuntimeError, RecursionError, GeneratorExit])
def test_request_that_cannot_be_read_passes(
    raised: type[BaseException],
    configure: Configure,
    gantt: FakeGantt,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(self: object) -> None:
        raise raised("secret")

    advisor = configure(mode="decide")
    request = spec()
    monkeypatch.setattr(type(request), "obj_to_primitive", fail)
    assert filtered(request, hosts()) == ["a", "b", "c"]
    assert weighed(request, hosts()) == ["a", "b", "c"]
    assert advisor.journal.counters() == {"asked": 2, "failed_plugin": 2}
    assert gantt.asked == []


def test_hosts_without_names_pass(configure: Configure, gantt: FakeGantt) -> None:
    from gantt_nova_plugin.nova import GanttFilter, GanttWeigher
    from nova.scheduler.weights import WeighedHost

    configure(mode="decide")
    odd = [object(), object()]
    assert GanttFilter().filter_all(iter(odd), spec()) == odd
    states = [WeighedHost(one, 0.0) for one in odd]
    assert GanttWeigher().weigh_objects(states, spec()) == [0.0, 0.0]


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit])
def test_orders_to_stop_are_obeyed(
    stop: type[BaseException], configure: Configure, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: object) -> None:
        raise stop

    configure(mode="decide")
    request = spec()
    monkeypatch.setattr(type(request), "obj_to_primitive", fail)
    with pytest.raises(stop):
        filtered(request, hosts())
