"""What waits on the tape, as lines of a record.

In the thread that writes, so that no decision waits for it. What is secret is left out
here: tokens and passwords of options, and of requests what no filter reads.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec
from msgspec.structs import asdict, replace

from gantt.engine.recording.tape import Asked, Entry, Found, Moved, Policed
from gantt.engine.scheduling.kept_request import without_private
from gantt.model.record import (
    Applied,
    Began,
    Ended,
    HeldLine,
    Line,
    Marks,
    Policy,
)
from gantt.scheduler.held_host import HeldHost
from gantt.scheduler.options import SchedulerOptions
from gantt.scheduler.selection.marks import marks_of

_SECRET: Final = ("placement", "placement_token")
_ENCODE: Final = msgspec.json.Encoder().encode
# Filters that read image properties by names which operators choose.
_ANY_PROPERTY: Final = frozenset({"AggregateImagePropertiesIsolation"})
_PROPERTY_WEIGHER: Final = "image_props_weight_multiplier"


class Lines:
    """Encodes entries. ``policy``: the line with the options in force, if any yet;
    ``decisions``: how many were encoded."""

    def __init__(self, search_budget: int) -> None:
        self._budget = search_budget
        self._keeps_names = False
        self.policy: bytes | None = None
        self.decisions = 0

    def line(self, entry: Entry) -> bytes:
        """One line, without its end."""
        if isinstance(entry, Moved):
            return _ENCODE(_applied(entry))
        if isinstance(entry, Policed):
            return self.take_policy(entry)
        if isinstance(entry, Asked):
            self.decisions += 1
            return _ENCODE(_began(entry, keeps_names=self._keeps_names))
        if isinstance(entry, Found):
            return _ENCODE(_ended(entry))
        return _ENCODE(entry)

    def take_policy(self, entry: Policed) -> bytes:
        """The line of these options, which are in force from here on."""
        options = entry.options
        self._keeps_names = entry.has_plugins or _reads_any_property(options)
        shown = {k: v for k, v in asdict(options).items() if k not in _SECRET}
        self.policy = _ENCODE(Policy(shown, self._budget))
        return self.policy


def whole(line: Line) -> bytes:
    """A line that is made here."""
    return _ENCODE(line)


def _applied(entry: Moved) -> Applied:
    changes: list[tuple[str, Any, Any]] = [
        (one.table, one.key, one.new) for one in entry.changes
    ]
    cursor = entry.cursor
    return Applied(cursor.revision, cursor.batch, changes)  # type: ignore[arg-type]


def _began(entry: Asked, *, keeps_names: bool) -> Began:
    request, left_out = entry.request, tuple[str, ...]()
    spec = request.spec
    if spec.scheduler_hints or spec.image is not None or spec.requested_networks:
        spec, left_out = without_private(spec, keeps_names=keeps_names)
    spec = replace(spec, user_id=None)
    request = replace(request, spec=spec, user_id=None)
    held = tuple(_held(key, one) for key, one in entry.held.items())
    return Began(
        entry.number, entry.now, entry.seed, entry.source, request, left_out, held
    )


def _held(key: int, one: HeldHost) -> HeldLine:
    return HeldLine(
        key,
        tuple(one.taken),
        one.count,
        tuple((*at, amount) for at, amount in one.amounts.items()),
        tuple(sorted(one.groups)),
        tuple(msgspec.to_builtins(pending) for pending in one.pendings),
    )


def _ended(entry: Found) -> Ended:
    if entry.is_left or entry.failure is not None:
        return Ended(entry.number, Marks(failure=entry.failure), entry.is_left)
    marks = marks_of(entry.bits, entry.picks, entry.feasible)
    return Ended(entry.number, marks)


def _reads_any_property(options: SchedulerOptions) -> bool:
    names = {one.rpartition(".")[2] for one in options.enabled_filters}
    is_weighed = options.multiplier(_PROPERTY_WEIGHER) != 0.0
    return bool(
        names & _ANY_PROPERTY or is_weighed or options.image_props_weight_setting
    )
