"""Which hosts a watcher takes down, and when it takes none."""

from __future__ import annotations

import pytest

from gantt.engine.memberships import statement
from gantt.liveness.watcher import MemberSightings, judge
from gantt.model.fleet import AGENT, LIVENESS, Verdict
from gantt.model.hosts import Service

INTERVAL = 10.0
BOTH = frozenset({"a", "b"})
A = frozenset({"a"})


def looks(*found: frozenset[str] | None, every: float = 10 / 3) -> MemberSightings:
    """What was seen when looks found this, None: no answer."""
    seen, now = MemberSightings(0.0), 0.0
    for hosts in found:
        seen = seen.failed() if hosts is None else seen.answered(hosts, now)
        now += every
    return seen


def verdict(seen: MemberSightings, now: float, **known: bool) -> Verdict:
    return judge(seen, known, now=now, interval=INTERVAL)


def test_a_host_that_is_seen_first_is_up() -> None:
    assert verdict(looks(BOTH), 0.0) == Verdict(("a", "b"))


def test_a_host_that_two_looks_missed_is_down() -> None:
    settled = [BOTH] * 8
    once = looks(*settled, A)
    assert verdict(once, 27.0, a=True, b=True) == Verdict(is_frozen=False)
    twice = looks(*settled, A, A)
    assert verdict(twice, 30.0, a=True, b=True) == Verdict((), ("b",), False)


def test_a_host_that_is_down_is_not_taken_down_again() -> None:
    seen = looks(*[A] * 8)
    assert verdict(seen, 24.0, a=True, b=False) == Verdict(is_frozen=False)


def test_a_host_that_returns_is_up_at_once() -> None:
    seen = looks(*[A] * 8, BOTH)
    assert verdict(seen, 27.0, a=True, b=False) == Verdict(("b",), (), False)


@pytest.mark.parametrize("answers", [0, 8])
def test_without_an_answer_for_an_interval_the_last_state_stands(answers: int) -> None:
    seen = looks(*[A] * answers, None, None, None, None)
    assert verdict(seen, 40.0, a=True, b=True) == Verdict(is_frozen=True)


def test_one_look_that_fails_freezes_nothing() -> None:
    seen = looks(*[A] * 8, None)
    assert verdict(seen, 27.0, a=True, b=True) == Verdict()


def test_after_an_outage_missing_hosts_have_two_intervals_to_come_back() -> None:
    seen = looks(*[BOTH] * 8, None, A, A, every=1.0)
    assert verdict(seen, 28.9, a=True, b=True) == Verdict(is_frozen=True)
    again = seen.answered(A, 28.0)
    assert verdict(again, 28.9, a=True, b=True) == Verdict()
    assert verdict(again, 29.0, a=True, b=True) == Verdict((), ("b",), False)


def test_only_changes_are_stored() -> None:
    nothing = Verdict(is_frozen=False)
    assert statement(nothing, was_frozen=False, now=5) == ()
    assert statement(Verdict(is_frozen=None), was_frozen=True, now=5) == ()
    assert statement(Verdict(("a",), ("b",), False), was_frozen=True, now=5) == (
        Service("a", AGENT, forced_down=False, last_seen_up=5),
        Service("b", AGENT, forced_down=True, last_seen_up=5),
        Service(LIVENESS, LIVENESS, forced_down=False, last_seen_up=5),
    )
