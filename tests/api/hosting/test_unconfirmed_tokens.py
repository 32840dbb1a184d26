"""Requests with tokens that Keystone has not confirmed have a few threads of their own,
of which one address has half."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from gantt.api.access.confirmed_tokens import ConfirmedTokens
from gantt.api.hosting.pools import JobPool, Pools
from gantt.api.hosting.unconfirmed_tokens import (
    Seat,
    Unconfirmed,
    address_of,
)
from gantt.conf import AuthOptions, load
from gantt.errors import Refused
from tests.configured import settings_of

A, B = "192.0.2.1", "192.0.2.2"
WAIT_S = 10.0


class Slow:
    """Jobs that wait for Keystone until they are let go."""

    def __init__(self) -> None:
        self.began: list[str] = []
        self.changed = threading.Condition()
        self.go = threading.Event()

    def job(self, name: str) -> Callable[[], None]:
        def run() -> None:
            with self.changed:
                self.began.append(name)
                self.changed.notify_all()
            self.go.wait(WAIT_S)

        return run

    def wait_for(self, count: int) -> None:
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.began) >= count, WAIT_S)


def test_one_address_has_half_of_the_threads_and_a_bounded_queue() -> None:
    threads, slow = Unconfirmed(8, 32, 4096), Slow()
    accepted = sum(threads.take(A, slow.job("a")) for _ in range(300))
    assert accepted == 4 + 32
    assert (threads.waiting, threads.refused) == (32, 300 - accepted)
    assert threads.take(B, slow.job("b"))  # at once, whatever waits
    slow.wait_for(5)
    assert sorted(slow.began) == ["a"] * 4 + ["b"]
    slow.go.set()
    slow.wait_for(accepted + 1)
    assert threads.waiting == 0


@pytest.mark.parametrize(
    ("peer", "forwarded", "is_behind_proxy", "expected"),
    [
        (A, "", False, A),
        (A, B, False, A),  # anyone may send the header
        (A, "", True, A),
        (A, f"192.0.2.9, {B}", True, B),
        (A, f"192.0.2.9,{B}", True, B),
        ("[2001:db8::1:2:3:4]", "", False, "2001:db8::/64"),
        ("2001:db8::5", "", False, "2001:db8::/64"),
        ("::ffff:192.0.2.1", "", False, A),
        ("", "", False, ""),
        (A, "unknown", True, "unknown"),
    ],
)
def test_whose_queue_a_request_waits_in(
    peer: str, forwarded: str, is_behind_proxy: bool, expected: str
) -> None:
    environ = {"REMOTE_ADDR": peer, "HTTP_X_FORWARDED_FOR": forwarded}
    assert address_of(environ, is_behind_proxy) == expected


def test_the_requests_of_all_addresses_that_wait_are_bounded() -> None:
    threads, slow = Unconfirmed(2, 8, 20), Slow()
    many = [f"192.0.2.{number}" for number in range(100)]
    accepted = sum(threads.take(one, slow.job(one)) for one in many)
    assert accepted == 2 + 20
    assert (threads.waiting, threads.refused) == (20, 78)
    slow.go.set()
    slow.wait_for(accepted)
    assert sorted(slow.began) == sorted(many[:accepted])
    assert threads.waiting == 0
    assert threads.take(A, slow.job("a"))


def test_a_full_queue_keeps_places_for_addresses_that_have_none() -> None:
    threads, slow = Unconfirmed(1, 8, 20), Slow()
    many = [f"192.0.2.{number}" for number in range(9) for _ in range(9)]
    accepted = sum(threads.take(one, slow.job(one)) for one in many)
    assert accepted == 1 + 8 + 2 + 7  # 10 of a few, then one of each other
    assert threads.take("198.51.100.1", slow.job("another"))
    slow.go.set()
    slow.wait_for(accepted + 1)


def test_a_job_that_fails_gives_its_thread_back() -> None:
    threads, slow = Unconfirmed(2, 32, 4096), Slow()

    def fails() -> None:
        raise ValueError

    assert threads.take(A, fails)
    assert threads.take(A, slow.job("next"))
    slow.wait_for(1)
    slow.go.set()


def test_known_tokens_never_wait_behind_unknown_ones() -> None:
    tokens = ConfirmedTokens(AuthOptions())
    pools = Pools(load(environ={}), tokens)
    asked = {
        "REQUEST_METHOD": "PUT",
        "PATH_INFO": "/allocations/1",
        "QUERY_STRING": "",
        "REMOTE_ADDR": A,
    }
    confirmed = {
        **asked,
        "HTTP_X_AUTH_TOKEN": "known",
        "HTTP_X_IDENTITY_STATUS": "Confirmed",
        "HTTP_X_USER_ID": "nova",
        "keystone.token_info": {"token": {"expires_at": "2999-01-01T00:00:00Z"}},
    }
    tokens.remember(confirmed)
    assert isinstance(pools.pool_for(asked), JobPool)  # without one: refused at once
    assert isinstance(pools.pool_for(confirmed), JobPool)
    assert isinstance(pools.pool_for({**asked, "HTTP_X_AUTH_TOKEN": "new"}), Seat)
    assert isinstance(pools.pool_for({**asked, "HTTP_X_STORAGE_TOKEN": "new"}), Seat)
    both = {**confirmed, "HTTP_X_SERVICE_TOKEN": "new"}
    assert isinstance(pools.pool_for(both), Seat)
    tokens.forget(confirmed)
    assert isinstance(pools.pool_for(confirmed), Seat)
    assert isinstance(Pools(load(environ={})).pool_for(both), JobPool)


def test_how_many_of_one_address_wait_is_an_option(tmp_path: Path) -> None:
    set_to = {("gantt", "unconfirmed_per_address"): 3}
    pools = Pools(load(environ={}, overrides=set_to), ConfirmedTokens(AuthOptions()))
    assert pools.counts()["unconfirmed_per_address_limit"] == 3
    asked = {
        "REQUEST_METHOD": "PUT",
        "PATH_INFO": "/allocations/1",
        "QUERY_STRING": "",
        "REMOTE_ADDR": A,
        "HTTP_X_AUTH_TOKEN": "new",
    }
    seat, slow = pools.pool_for(asked), Slow()
    assert isinstance(seat, Seat)
    assert sum(seat.take(slow.job("a")) for _ in range(20)) == 4 + 3
    slow.go.set()
    with pytest.raises(Refused, match="unconfirmed_per_address"):
        settings_of(tmp_path, "[gantt]\nunconfirmed_per_address = 0\n")
