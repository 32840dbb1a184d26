"""Records of decisions during which plug-ins were called, while others wrote."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gantt.engine.gantt import Gantt
from gantt.errors import PluginFailed
from gantt.replay.redecision import ASIDE, LEFT
from gantt.scheduler.options import SchedulerOptions
from tests.engine.hooks import hook, policy
from tests.replay.recorded import add_hosts, ask, flush, played, service

HOOKED = policy("HookedFilter")


@pytest.fixture(autouse=True)
def _nothing_hooked() -> Iterator[None]:
    hook.does = lambda _seen: None
    yield
    hook.does = lambda _seen: None


def elsewhere(act: Any) -> None:
    """``act`` in another thread, to its end."""
    thread = threading.Thread(target=act)
    thread.start()
    thread.join()


def first_time(act: Any) -> Any:
    """For a hook: ``act`` once, in another thread."""
    acts = [act]

    def does(_seen: object) -> None:
        if acts:
            elsewhere(acts.pop())

    return does


def test_what_others_wrote_meanwhile_comes_after_its_beginning(tmp_path: Path) -> None:
    with service(tmp_path, scheduler=HOOKED) as gantt:
        add_hosts(gantt, "h0", "h1")
        hook.does = first_time(lambda: add_hosts(gantt, "h0", vcpus=1))
        ask(gantt, 1, vcpus=2)
        hook.does = lambda _seen: None
        ask(gantt, 2, vcpus=2)
    counts, found = played(tmp_path / "record")
    assert counts.unrepeated == {ASIDE: 1}
    assert [one.differs_in for one in found] == [()]


def test_a_file_may_end_meanwhile(tmp_path: Path) -> None:
    with service(tmp_path, scheduler=HOOKED, record_file_bytes=1) as gantt:
        add_hosts(gantt, "h0", "h1")
        flush(gantt)

        def turn_over() -> None:
            add_hosts(gantt, "h0", vcpus=1)
            flush(gantt)

        hook.does = first_time(turn_over)
        ask(gantt, 1, vcpus=2)
        hook.does = lambda _seen: None
        ask(gantt, 2, vcpus=2)
    counts, found = played(tmp_path / "record")
    assert counts.files > 2
    assert counts.decisions == 2
    assert counts.unrepeated == {ASIDE: 1}
    assert [one.differs_in for one in found] == [()]


def test_a_policy_that_comes_into_force_meanwhile_is_not_its_own(
    tmp_path: Path,
) -> None:
    with service(tmp_path, scheduler=HOOKED) as gantt:
        add_hosts(gantt, "h0", "h1")

        def meanwhile() -> None:
            stack = {"cpu_weight_multiplier": -9.0, "ram_weight_multiplier": -9.0}
            gantt.decide_by(SchedulerOptions(multipliers=stack))

        ask(gantt, 1, vcpus=3)
        hook.does = first_time(meanwhile)
        ask(gantt, 2)
        ask(gantt, 3)
    counts, found = played(tmp_path / "record")
    assert not counts.unrepeated
    assert [one.differs_in for one in found] == [()] * 3


def failing(gantt: Gantt) -> None:
    def does(_seen: object) -> None:
        raise ValueError

    hook.does = does
    with pytest.raises(PluginFailed):
        ask(gantt, 1)
    hook.does = lambda _seen: None


def test_a_decision_whose_plug_in_failed_is_told(tmp_path: Path) -> None:
    with service(tmp_path, scheduler=HOOKED) as gantt:
        add_hosts(gantt, "h0")
        failing(gantt)
        ask(gantt, 2)
    counts, found = played(tmp_path / "record")
    assert (counts.decisions, counts.unrepeated) == (2, {LEFT: 1})
    assert [one.differs_in for one in found] == [()]
