"""Calls to a service that never answers: each is given up, and they do not pile up."""

from __future__ import annotations

import threading

import pytest

from gantt.liveness.group import MOST, Calls


def test_a_call_answers_or_raises_what_it_raised() -> None:
    calls = Calls(10.0)
    assert calls.within(lambda: 7) == 7
    with pytest.raises(ZeroDivisionError):
        calls.within(lambda: 1 // 0)


def test_calls_that_do_not_return_are_limited_and_their_places_come_back() -> None:
    calls, release = Calls(0.05), threading.Event()
    begun: list[int] = []

    def hang() -> None:
        begun.append(1)
        release.wait(60)

    for _ in range(MOST):
        with pytest.raises(TimeoutError, match="no answer within"):
            calls.within(hang)
    for _ in range(3):
        with pytest.raises(TimeoutError, match="earlier calls"):
            calls.within(hang)
    assert len(begun) == MOST
    release.set()
    patient = Calls(10.0)
    patient._seats = calls._seats
    assert patient.within(lambda: "again") == "again"
