"""How a plug-in is called: the seam between guards, which are pure, and the engine,
which has locks, threads and a clock.

The engine lets go of the state lock meanwhile, and hands out a copy of the fleet to
read; a decision without an engine calls in place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol, TypeAlias, TypeVar

from gantt.state.fleet_columns import Fleet

T = TypeVar("T")
Check: TypeAlias = Callable[[], None]
"""Asked between hosts. Raises Stuck when the time of the call is up."""


class Stuck(Exception):
    """A call has no answer in time, or is not begun because an earlier one has none;
    the text follows the name of the plug-in."""


class NamedPlugin(Protocol):
    """A plug-in, as messages name it."""

    label: str


class Outside(Protocol):
    def frozen(self, fleet: Fleet) -> Fleet:
        """What a plug-in may read in place of ``fleet`` during ``call``."""

    def call(self, plugin: NamedPlugin, ask: Callable[[Check], T]) -> T:
        """What ``ask`` answers or raises; it calls ``plugin``, and runs with no lock
        held. Raises Stuck; Moved: what was computed before does not hold any more.
        """


class InPlace:
    """Calls plug-ins within the caller's thread and without a limit."""

    def frozen(self, fleet: Fleet) -> Fleet:
        return fleet

    def call(self, plugin: NamedPlugin, ask: Callable[[Check], T]) -> T:  # noqa: ARG002
        return ask(_no_limit)


def _no_limit() -> None:
    """There is no clock here."""


IN_PLACE: Final = InPlace()
