"""Gantt that fails again and again is left alone, and found again."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

import pytest
from gantt_nova_plugin.advisor import Advisor
from gantt_nova_plugin.breaker import Breaker
from gantt_nova_plugin.journal import COUNTERS_EVERY_S, FAILURES_EVERY_S, Journal

from tests.plugin.clouds import hosts, spec, weighed
from tests.plugin.fake_gantt import FakeGantt, advise
from tests.plugin.test_failures import text
from tests.plugin.test_time import Clock

Configure = Callable[..., Advisor]
FAIL = text(b"", "500 Internal Server Error")


def test_breaker_opens_probes_and_closes() -> None:
    clock = Clock()
    breaker = Breaker(clock)
    assert [breaker.failed(3, 30.0) for _ in range(3)] == [False, False, True]
    assert not breaker.allows()
    clock.now += 30
    assert breaker.allows()
    assert not breaker.allows(), "one probe at a time"
    assert not breaker.failed(3, 30.0), "it is open already"
    assert not breaker.allows()
    clock.now += 30
    assert breaker.allows()
    assert breaker.succeeded()
    assert breaker.allows()
    assert not breaker.succeeded()
    assert [breaker.failed(3, 30.0) for _ in range(3)] == [False, False, True]


def test_failures_between_answers_do_not_open_it() -> None:
    breaker = Breaker(Clock())
    for _ in range(10):
        assert not breaker.failed(2, 30.0)
        breaker.succeeded()
    assert breaker.allows()


def test_gantt_that_is_down_is_not_asked_for_a_time(
    configure: Configure, gantt: FakeGantt, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    advisor = configure(mode="advise", breaker_failures=3, breaker_seconds=30.0)
    monkeypatch.setattr(advisor, "_clock", clock)
    advisor._begin()
    gantt.behave = FAIL
    for _ in range(10):
        assert weighed(spec(), hosts()) == ["a", "b", "c"]
    assert len(gantt.asked) == 3
    clock.now += 31
    for _ in range(10):
        weighed(spec(), hosts())
    assert len(gantt.asked) == 4, "one probe"
    gantt.behave = advise
    clock.now += 31
    for _ in range(10):
        assert weighed(spec(), hosts()) == ["c", "b", "a"]
    assert advisor.journal.counters() == {
        "asked": 14,
        "answered": 10,
        "failed_status": 4,
        "skipped_breaker": 16,
    }


class Odd:
    """A request that cannot be sent."""

    def __contains__(self, name: str) -> bool:
        return False

    def obj_to_primitive(self) -> object:
        return {b"key": None}


def test_odd_requests_do_not_open_it(configure: Configure, gantt: FakeGantt) -> None:
    advisor = configure(mode="advise", breaker_failures=2)
    for behave in (text(b"", "400 Bad Request"), advise):
        gantt.behave = behave
        for _ in range(5):
            weighed(spec(), hosts())
        for _ in range(5):
            weighed(Odd(), hosts())
    assert len(gantt.asked) == 10
    assert advisor.journal.counters() == {
        "asked": 20,
        "answered": 5,
        "failed_plugin": 10,
        "failed_status": 5,
    }


def test_probe_whose_thread_is_stopped_is_not_lost(
    configure: Configure, gantt: FakeGantt, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(self: object) -> None:
        raise KeyboardInterrupt

    configure(mode="advise", breaker_failures=1, breaker_seconds=0.0)
    gantt.behave = FAIL
    weighed(spec(), hosts())
    gantt.behave = advise
    request = spec()
    with monkeypatch.context() as patch:
        patch.setattr(type(request), "obj_to_primitive", stop)
        with pytest.raises(KeyboardInterrupt):
            weighed(request, hosts())
    assert weighed(spec(), hosts()) == ["c", "b", "a"]


def lines(caplog: pytest.LogCaptureFixture, level: int = logging.INFO) -> list[str]:
    return [
        record.getMessage()
        for record in caplog.records
        if record.name == "gantt_nova_plugin" and record.levelno >= level
    ]


def test_log_hears_of_changes_alone(
    configure: Configure, gantt: FakeGantt, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "gantt_nova_plugin")
    configure(mode="advise", token="secret", breaker_seconds=0.0)
    many = [f"h{number}" for number in range(100)]
    for _ in range(5):
        weighed(spec(), hosts(many))
    gantt.behave = FAIL
    for _ in range(5):
        weighed(spec(), hosts(many))
    gantt.behave = advise
    for _ in range(5):
        weighed(spec(), hosts(many))
    told = lines(caplog)
    assert told == [
        f"Gantt: mode advise, at {gantt.url}",
        "Gantt gave no advice (status): HTTP status 500",
        "Gantt fails again and again: scheduling goes on without it, and it is asked "
        "again in 0 s; until now: answered=5, asked=8, failed_status=3",
        "Gantt answers again; until now: answered=6, asked=11, failed_status=5",
    ]
    everything = "".join(lines(caplog, logging.DEBUG))
    assert "secret" not in everything
    assert "h1" not in everything


def test_log_has_the_counters_now_and_then(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "gantt_nova_plugin")
    clock = Clock()
    journal = Journal(clock)
    for _ in range(1000):
        journal.count("asked")
        journal.answered(is_decided=True)
        journal.tell_counters()
    assert lines(caplog) == []
    clock.now += COUNTERS_EVERY_S
    for _ in range(1000):
        journal.tell_counters()
    assert lines(caplog) == [
        "Gantt since this process began: answered=1000, asked=1000"
    ]


def test_log_is_not_filled_by_every_other_failure(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "gantt_nova_plugin")
    clock = Clock()
    journal = Journal(clock)
    for _ in range(1000):
        journal.failed("timeout", "late")
        journal.answered(is_decided=True)
    assert len(lines(caplog)) == 1
    clock.now += FAILURES_EVERY_S
    journal.failed("timeout", "late")
    assert len(lines(caplog)) == 2
    assert journal.counters() == {"answered": 1000, "failed_timeout": 1001}


def test_breaker_lets_one_of_many_threads_probe() -> None:
    clock = Clock()
    breaker = Breaker(clock)
    breaker.failed(1, 30.0)
    clock.now += 30
    allowed: list[bool] = []
    threads = [
        threading.Thread(target=lambda: allowed.append(breaker.allows()))
        for _ in range(50)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert allowed.count(True) == 1
