"""Points at which a long decision lets others write, and what must not change then.

A decision does not know about locks or clocks: it calls its ``Pause`` wherever it could
continue after others wrote. Mostly that does nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from gantt.model.names import SHARES_VIA_AGGREGATE
from gantt.scheduler.evaluation.feasible_hosts import FeasibleHosts
from gantt.state.state import State

Pause: TypeAlias = Callable[[], None]
"""Raises Moved when the State of the caller was replaced; one that also lets others
decide raises RowsMoved, too, and Busy where it would have to wait for too long."""


class Moved(Exception):
    """Results from before a pause are invalid after it; compute them again."""


class RowsMoved(Moved):
    """The State is the same, but rows that were looked up are not."""


def never() -> None:
    """Keep the State throughout."""


class RowValidity:
    """The meaning of row numbers of hosts and providers; others may write meanwhile.
    Made when rows are first used, it tells whether they are still valid."""

    def __init__(self, state: State) -> None:
        hosts = state.fleet.hosts
        self._state = state
        self._names = _moves_of_names(state)
        self._structure = _structure(state)
        self._is_flat = _is_flat(state)
        self._rows = hosts.live_rows()
        self._ids, self._providers = hosts.id[self._rows], hosts.provider[self._rows]

    def holds(self, state: State) -> bool:
        """Whether every earlier host still exists, on the same provider, and trees are
        unchanged; hosts and providers without a tree may be new."""
        if state is not self._state or _moves_of_names(state) != self._names:
            return False
        now, hosts = _structure(state), state.fleet.hosts
        if now == self._structure:
            return True
        return (
            (self._is_flat or now[1] == self._structure[1])
            and bool((hosts.id[self._rows] == self._ids).all())
            and bool((hosts.provider[self._rows] == self._providers).all())
        )


def within(state: State, feasible: FeasibleHosts | None, pause: Pause) -> Pause:
    """``pause``, for use while places are found in ``feasible``. What a place has left
    is read when it is found, and judged again when it is claimed; but row numbers must
    stay valid, and a survey of trees depends on more than that. None: rows of hosts and
    providers alone matter."""
    if feasible is not None and not feasible.candidates.is_per_host:
        return unwritten(state, pause)

    def paused() -> None:
        before = _structure(state)
        pause()
        if _structure(state) != before:
            raise RowsMoved

    return paused


def unwritten(state: State, pause: Pause) -> Pause:
    """``pause``, for use of what follows no write to ``state``: a survey of trees, and
    copies of tables."""

    def paused() -> None:
        before = state.applied
        pause()
        if state.applied != before:
            raise RowsMoved

    return paused


def _structure(state: State) -> tuple[int, int]:
    return state.fleet.hosts.structure, state.providers.structure


def _moves_of_names(state: State) -> tuple[int, ...]:
    return state.classes.moves, state.traits.moves, state.aggregates.moves


def _is_flat(state: State) -> bool:
    """Whether no provider has a parent, and none shares."""
    shares = state.traits.index_of(SHARES_VIA_AGGREGATE)
    is_shared = shares is not None and state.provider_traits.is_used(shares)
    return state.providers.forest.is_flat and not is_shared
