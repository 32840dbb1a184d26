"""A demand that waits for room: as the books keep it, and as it is shown."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Annotated, Final, Literal, Protocol, TypeAlias

import msgspec
from msgspec import Meta, Struct

from gantt.errors import Conflict, Invalid, NoValidHost
from gantt.model.bounds import Text
from gantt.model.demand import Demand
from gantt.model.fleet_lists import Limit
from gantt.model.paging import After
from gantt.model.placements import Plan

DemandState: TypeAlias = Literal["waiting", "placed", "late", "cancelled", "refused"]
MAX_POLL_S: Final = 20.0
"""So long one question waits for an answer; who asks on, asks again."""
PollS = Annotated[float, Meta(ge=0, le=MAX_POLL_S)]
_UNITS: Final = {"": 1, "s": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400}
_WRITTEN: Final = re.compile(r"\s*(\d+(?:\.\d+)?)(?:\s*([a-z]+))?\s*", re.ASCII)


class DemandEntry(Struct, frozen=True, omit_defaults=True):
    """What the books keep. ``shape``: equal for demands that any room suits alike;
    ``state``: what became of it; ``said``: why it ended; ``claim``: what was booked for
    it."""

    demand: Demand
    shape: str
    state: DemandState = "waiting"
    said: str = ""
    claim: str = ""

    @property
    def text(self) -> str:
        """The form in which the books keep it."""
        return msgspec.json.encode(self).decode()


class DemandView(Struct, frozen=True):
    """A demand that waits, or waited. ``project``, ``plan``, ``things``: whose it is,
    and what it asks for, by name; ``since``, ``until``: microseconds; ``place``: in the
    queue, by priority and age, 1 is the next (0: it waits no more); ``said``: why it
    ended, or why it waits; ``placed``: its answer."""

    uuid: str
    state: DemandState
    things: tuple[str, ...]
    priority: int = 0
    plan: str = ""
    project: str = ""
    since: int = 0
    until: int = 0
    place: int = 0
    said: tuple[str, ...] = ()
    placed: Plan | None = None

    @property
    def answer(self) -> Plan:
        """Raises NoValidHost, Conflict: it ended without one."""
        if self.placed is not None:
            return self.placed
        kind = Conflict if self.state == "refused" else NoValidHost
        raise kind(" ".join(self.said) or f"Demand {self.uuid} is {self.state}.")


class DemandsQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Demands that wait, the next one first, then those that ended, by uuid."""

    state: DemandState | None = None
    project: Annotated[Text | None, Meta(description="Default: all.")] = None
    limit: Limit = 1_000
    after: After = ""


class DemandQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """GET /gantt/demands/{uuid}. ``wait_s``: for so long at most, until it waits no
    more; ``explain``: say why it waits."""

    wait_s: PollS = 0.0
    explain: bool = False


_DEMANDS: Final = DemandsQuery()


def no_room(demand: Demand) -> str:
    """What is said where the time is over."""
    return (
        f"There was no room for {names_text(demand)} within "
        f"{duration_text(demand.wait_s or 0.0)}. Nothing was placed."
    )


def names_text(demand: Demand) -> str:
    """What it asks for, in a few words."""
    first, more = demand.items[0].name, len(demand.items) - 1
    return f"{first!r} and {more} more" if more else repr(first)


def duration_text(seconds: float) -> str:
    """Such as 10 min."""
    for unit, name in ((3600, "h"), (60, "min")):
        if seconds and seconds % unit == 0:
            return f"{int(seconds) // unit} {name}"
    return f"{seconds:g} s"


def seconds_of(given: float | str) -> float:
    """``given`` as people write it: 90, "90s", "10m", "1h". Raises Invalid."""
    found = _WRITTEN.fullmatch(str(given).lower())
    if found is None or (found[2] or "") not in _UNITS:
        raise Invalid(f"{given!r} is no duration: write 90s, 10m, 1h or 1d.")
    return float(Fraction(found[1]) * _UNITS[found[2] or ""])


class WaitingProtocol(Protocol):
    """Demands that wait, over the library: a part of SchedulerProtocol."""

    def await_plan(self, plan: Plan) -> Plan:
        """The answer of a demand that waits, once there is one; any other plan is its
        own. Raises NoValidHost: there was no room in time, or it was cancelled."""

    def list_demands(self, query: DemandsQuery = _DEMANDS) -> tuple[DemandView, ...]:
        """Demands that wait for room, the next one first, then those that ended in the
        last hour."""

    def show_demand(
        self, uuid: str, *, wait_s: float = 0.0, explain: bool = False
    ) -> DemandView:
        """A demand that waits, or waited. ``wait_s``: once it waits no more, or after
        so many seconds, 20 at most; ``explain``: say why it waits, which costs a
        decision. Raises NotFound."""

    def cancel_demand(self, uuid: str) -> None:
        """It waits no more. Raises NotFound; Conflict: it has ended."""
