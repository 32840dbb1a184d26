"""The points of the simulation at which faults occur.

Separate from the two kinds of stores because both have the same points: before and
after each statement, and at the commit.
"""

from __future__ import annotations

from typing import Final

from tests.simulation.fault_schedule import (
    ABORT_COMMIT,
    CLOCK,
    CRASH,
    DROPPED,
    KEPT,
    PAUSE,
    SLOW,
    FaultSchedule,
)
from tests.simulation.threads import SimClock
from tests.simulation.world import Crashed, Site, World

_HOUR_US: Final = 3_600_000_000


class Place(Site):
    """A process: its clock, and its faults."""

    def __init__(self, name: str, world: World, faults: FaultSchedule) -> None:
        super().__init__(name)
        self.world = world
        self.faults = faults
        self.clock = SimClock(world)

    def step(self, what: str) -> None:
        """Before a statement: time passes, possibly much; the process may be killed."""
        faults, world = self.faults, self.world
        if self.is_dead:
            raise Crashed
        if faults.strikes(CLOCK):
            jump = faults.amount(CLOCK, -_HOUR_US, _HOUR_US)
            self.clock.skew_us = int(jump)
            world.tell(f"the clock is {jump / 1e6:+.0f} s off")
        if faults.strikes(PAUSE):
            pause_s = faults.amount(PAUSE, 0.1, 20.0)
            self.paused_until = world.time + pause_s
            world.tell(f"pauses {pause_s:.1f} s before {what}")
        self.maybe_crash(f"before {what}")
        slow_s = faults.amount(SLOW, 0.05, 5.0) if faults.strikes(SLOW) else 0.0
        world.step(slow_s or 0.000_5)

    def maybe_crash(self, where: str) -> None:
        """The process may be killed here. Raises Crashed."""
        if self.faults.strikes(CRASH):
            self.world.tell(f"killed {where}")
            self.world.kill(self)
            raise Crashed

    def fate(self) -> str | None:
        """The fault of a commit: None, or one of three."""
        for kind in (ABORT_COMMIT, KEPT, DROPPED):
            if self.faults.strikes(kind):
                self.world.tell(kind)
                return kind
        return None
