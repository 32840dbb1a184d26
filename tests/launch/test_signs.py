"""Launches are counted: hosts that were tried, instances, seconds."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import gantt
from gantt.launch.contract import Launcher
from gantt.launch.launching import Launching
from gantt.launch.outcome import LaunchOptions
from gantt.launch.simulated import SimulatedLauncher
from gantt.model.protocol import GanttProtocol
from gantt.observe.launch_signs import LaunchSigns
from tests.launch.fleet import HOSTS, add_hosts, asked


@pytest.fixture
def books() -> Iterator[GanttProtocol]:
    found = gantt.connect("memory://")
    add_hosts(found)
    yield found
    found.close()


def launch(
    books: GanttProtocol, launcher: Launcher, signs: LaunchSigns, timeout_s: float = 60
) -> None:
    request = asked()
    options = LaunchOptions(max_attempts=2, timeout_s=timeout_s)
    launching = Launching(books, launcher, options, signs)
    (one,) = launching.launch(request, books.schedule(request))
    launching.release(one)


def test_outcomes_are_counted(books: GanttProtocol) -> None:
    signs = LaunchSigns()
    launch(books, SimulatedLauncher({}), signs)
    launch(books, SimulatedLauncher({"host-3": "no image"}), signs)
    launch(books, SimulatedLauncher(dict.fromkeys(HOSTS, "no image")), signs)
    lines = signs.metrics().decode().splitlines()
    for line in (
        'gantt_launch_attempts_total{outcome="running"} 2.0',
        'gantt_launch_attempts_total{outcome="launch"} 3.0',
        'gantt_launch_instances_total{outcome="running"} 2.0',
        'gantt_launch_instances_total{outcome="given_up"} 1.0',
        'gantt_launch_seconds_count{outcome="given_up"} 1.0',
    ):
        assert line in lines
    assert (signs.unready(), signs.notice()) == ("", "")


def test_a_launcher_that_does_not_return_is_a_timeout(books: GanttProtocol) -> None:
    import threading

    never = threading.Event()

    class Hanging:
        def launch(self, *_: object) -> object:
            never.wait(60)
            raise RuntimeError("released")

    signs = LaunchSigns()
    launch(books, Hanging(), signs, timeout_s=0.05)  # type: ignore[arg-type]
    never.set()
    assert 'gantt_launch_attempts_total{outcome="timeout"} 2.0' in (
        signs.metrics().decode()
    )
