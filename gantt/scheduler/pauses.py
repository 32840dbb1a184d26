"""Where a long decision may let others at the State, and what must not change then.

A decider does not know of locks or clocks: it calls its ``Pause`` wherever it could go
on after others wrote. Whoever runs it passes one that mostly does nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from gantt.scheduler.feasibility.feasible_hosts import FeasibleHosts
from gantt.state.state import State

Pause: TypeAlias = Callable[[], None]
"""Raises Moved when the State that the caller works on is no longer the one there is.
"""


class Moved(Exception):
    """What was computed before a pause does not hold after it; compute it again."""


def never() -> None:
    """Keep the State throughout."""


def within(state: State, feasible: FeasibleHosts, pause: Pause) -> Pause:
    """``pause``, for use while places are found in ``feasible``. What a place has left
    is read when it is found, and judged again when it is claimed; but rows must mean
    the same hosts and providers, and of trees a survey knows more than that."""
    is_flat = feasible.candidates.is_per_host

    def stand() -> tuple[int, ...]:
        structure = state.fleet.hosts.structure, state.providers.structure
        return structure if is_flat else (state.applied,)

    before = stand()

    def paused() -> None:
        pause()
        if stand() != before:
            raise Moved

    return paused
