"""How long a request is held up: a second at most, however many calls it needs."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator

import pytest
from gantt_nova_plugin import resolver
from gantt_nova_plugin.advisor import Advisor
from gantt_nova_plugin.deadline import Deadline, OutOfTime
from gantt_nova_plugin.resolver import Resolver

from tests.plugin.clouds import filtered, hosts, spec, weighed
from tests.plugin.fake_gantt import Asked, FakeGantt, advise
from tests.plugin.test_failures import LIMIT_S, SLACK_S, hang

Configure = Callable[..., Advisor]


class Clock:
    """Goes on when it is told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_all_instances_of_a_request_share_a_second(
    configure: Configure, gantt: FakeGantt
) -> None:
    advisor = configure(mode="decide", timeout=0.4, breaker_failures=1000)
    gantt.behave = hang
    request = spec(num_instances=50)
    began = time.monotonic()
    for number in range(50):
        request.instance_uuid = f"00000000-0000-0000-0000-{number:012}"
        assert filtered(request, hosts(), number) == ["a", "b", "c"]
        assert weighed(request, hosts()) == ["a", "b", "c"]
    assert time.monotonic() - began < LIMIT_S + SLACK_S
    counters = advisor.journal.counters()
    assert counters["skipped_delay"] == 100 - counters["asked"]
    assert counters["asked"] == counters["failed_timeout"] == 3


def test_answers_in_time_are_all_used(configure: Configure, gantt: FakeGantt) -> None:
    advisor = configure(mode="advise")
    request = spec(num_instances=20)
    for number in range(20):
        request.instance_uuid = f"00000000-0000-0000-0000-{number:012}"
        assert weighed(request, hosts()) == ["c", "b", "a"]
    assert advisor.journal.counters() == {"asked": 20, "answered": 20}
    assert gantt.connections == 1


def test_next_request_has_a_second_of_its_own(
    configure: Configure, gantt: FakeGantt
) -> None:
    advisor = configure(mode="advise", timeout=0.1, request_delay_limit=0.1)
    gantt.behave = hang
    first, second = spec(), spec()
    for request in (first, first, second):
        assert weighed(request, hosts()) == ["a", "b", "c"]
    counters = advisor.journal.counters()
    assert (counters["asked"], counters["skipped_delay"]) == (2, 1)


def test_search_for_alternates_is_not_asked_again(
    configure: Configure, gantt: FakeGantt
) -> None:
    advisor = configure(mode="advise")
    request = spec()
    assert weighed(request, hosts("abcd")) == ["d", "c", "b", "a"]
    assert weighed(request, hosts("acd")) == ["d", "c", "a"]
    assert len(gantt.asked) == 1
    assert advisor.journal.counters()["reused"] == 1
    assert weighed(request, hosts("abx")) == ["x", "b", "a"]
    assert len(gantt.asked) == 2


def test_answers_about_earlier_instances_are_not_kept(
    configure: Configure, gantt: FakeGantt
) -> None:
    configure(mode="decide")
    request = spec()
    first, second = (f"00000000-0000-0000-0000-{n:012}" for n in range(2))
    for uuid in (first, second, second, first):
        request.instance_uuid = uuid
        filtered(request, hosts())
        weighed(request, hosts())
    asked = [one.body["instance_uuid"] for one in gantt.asked]
    assert asked == [first, first, second, second, first, first]


def test_the_same_instance_in_another_request_is_asked_about(
    configure: Configure, gantt: FakeGantt
) -> None:
    configure(mode="advise")
    request = spec()
    again = spec(instance_uuid=request.instance_uuid)
    weighed(request, hosts())
    weighed(again, hosts())
    assert len(gantt.asked) == 2


@pytest.fixture
def hanging_dns(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Names that are looked up, without an end until the test ends."""
    asked: list[str] = []
    ended = threading.Event()
    real = resolver._getaddrinfo

    def hanging(host: str, port: int, flags: int) -> list[resolver.AddressInfo]:
        if flags:
            return real(host, port, flags)
        asked.append(host)
        ended.wait(30)
        raise socket.gaierror(socket.EAI_AGAIN, "no")

    monkeypatch.setattr(resolver, "_getaddrinfo", hanging)
    yield asked
    ended.set()


def test_name_server_that_hangs_is_not_waited_for(
    configure: Configure, hanging_dns: list[str]
) -> None:
    advisor = configure(mode="decide", url="http://gantt.invalid:1", timeout=0.1)
    for _ in range(3):
        assert filtered(spec(), hosts()) == ["a", "b", "c"]
    assert advisor.journal.counters() == {"asked": 3, "failed_timeout": 3}
    assert hanging_dns == ["gantt.invalid"], "one lookup at a time"


def test_unknown_name_is_a_failure(
    configure: Configure, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unknown(host: str, port: int, flags: int) -> list[resolver.AddressInfo]:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(resolver, "_getaddrinfo", unknown)
    advisor = configure(mode="decide", url="http://gantt.invalid:1")
    assert filtered(spec(), hosts()) == ["a", "b", "c"]
    assert advisor.journal.counters() == {"asked": 1, "failed_connection": 1}


def test_address_is_used_in_time_while_the_name_server_hangs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock, hang = Clock(), threading.Event()
    first = resolver._getaddrinfo("127.0.0.1", 1, socket.AI_NUMERICHOST)
    second = resolver._getaddrinfo("127.0.0.2", 1, socket.AI_NUMERICHOST)
    tried = Resolver(clock)
    deadline = Deadline(time.monotonic, 10)
    monkeypatch.setattr(
        resolver, "_getaddrinfo", lambda *asked: [] if asked[2] else first
    )
    assert list(tried.addresses("gantt", 1, deadline)) == first

    def slow(host: str, port: int, flags: int) -> list[resolver.AddressInfo]:
        assert flags or hang.wait(30)
        return [] if flags else second

    monkeypatch.setattr(resolver, "_getaddrinfo", slow)
    clock.now += resolver.FRESH_S + 1
    for _ in range(2):
        deadline = Deadline(lambda: 0.0, 1.0)  # a wait would last for its second
        began = time.monotonic()
        assert list(tried.addresses("gantt", 1, deadline)) == first
        assert time.monotonic() - began < 1.0
    hang.set()
    while list(tried.addresses("gantt", 1, Deadline(time.monotonic, 10))) == first:
        time.sleep(0.001)
    assert list(tried.addresses("gantt", 1, Deadline(time.monotonic, 10))) == second


def test_address_is_used_while_the_name_server_is_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Clock()
    found = resolver._getaddrinfo("127.0.0.1", 1, socket.AI_NUMERICHOST)
    said: list[list[resolver.AddressInfo] | None] = [found, None]

    def answer(host: str, port: int, flags: int) -> list[resolver.AddressInfo]:
        if flags or not said or not (now := said.pop(0)):
            raise socket.gaierror(socket.EAI_AGAIN, "no")
        return now

    monkeypatch.setattr(resolver, "_getaddrinfo", answer)
    tried = Resolver(clock)
    deadline = Deadline(time.monotonic, 10)
    assert list(tried.addresses("gantt", 1, deadline)) == found
    clock.now += resolver.FRESH_S - 1
    assert list(tried.addresses("gantt", 1, deadline)) == found
    assert said == [None], "not looked up again within a minute"
    clock.now += 2
    assert list(tried.addresses("gantt", 1, deadline)) == found
    while said:
        time.sleep(0.001)
    assert list(tried.addresses("gantt", 1, deadline)) == found


def test_name_is_looked_up_again_after_no_thread_could_be_started(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = resolver._getaddrinfo("127.0.0.1", 1, socket.AI_NUMERICHOST)
    monkeypatch.setattr(
        resolver, "_getaddrinfo", lambda *asked: [] if asked[2] else found
    )
    tried = Resolver(time.monotonic)

    def fail(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", fail)
        with pytest.raises(RuntimeError):
            tried.addresses("gantt", 1, Deadline(time.monotonic, 10))
    assert list(tried.addresses("gantt", 1, Deadline(time.monotonic, 10))) == found


def test_second_address_is_tried(
    configure: Configure, gantt: FakeGantt, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.2", 0), backlog=0) as full:
        where = full.getsockname()
        filling = [socket.socket() for _ in range(3)]
        for sock in filling:
            sock.setblocking(False)
            sock.connect_ex(where)
        good = ("127.0.0.1", gantt.port)

        def two(host: str, port: int, flags: int) -> list[resolver.AddressInfo]:
            if flags:
                raise socket.gaierror(socket.EAI_NONAME, "no number")
            return [
                (socket.AF_INET, socket.SOCK_STREAM, 0, "", one)
                for one in (where, good)
            ]

        monkeypatch.setattr(resolver, "_getaddrinfo", two)
        configure(mode="advise", url="http://gantt.invalid:1")
        assert weighed(spec(), hosts()) == ["c", "b", "a"]
        for sock in filling:
            sock.close()


def test_deadline_has_an_end() -> None:
    clock = Clock()
    deadline = Deadline(clock, 2.0)
    clock.now += 1.5
    assert deadline.left() == 0.5
    clock.now += 0.5
    with pytest.raises(OutOfTime):
        deadline.left()


def test_idle_connection_that_was_ended_is_made_anew(
    configure: Configure, gantt: FakeGantt
) -> None:
    advisor = configure(mode="advise")
    weighed(spec(), hosts())
    gantt.hang_up()
    assert weighed(spec(), hosts()) == ["c", "b", "a"]
    assert advisor.journal.counters() == {"asked": 2, "answered": 2}
    assert gantt.connections == 2


def test_server_that_ends_each_connection_is_asked_all_the_same(
    configure: Configure, gantt: FakeGantt
) -> None:
    def advise_and_end(sock: socket.socket, asked: Asked) -> None:
        advise(sock, asked)
        sock.shutdown(socket.SHUT_RDWR)

    advisor = configure(mode="advise")
    gantt.behave = advise_and_end
    for _ in range(5):
        assert weighed(spec(), hosts()) == ["c", "b", "a"]
    assert advisor.journal.counters() == {"asked": 5, "answered": 5}
