"""What waits in the queue, as lines of a record.

In the thread that writes, so that no decision waits for it. Tokens and passwords of
options are left out here; of requests, what no filter reads is left out in ``forms``.
"""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec.structs import asdict

from gantt.engine.recording.entry_queue import (
    ChangesEntry,
    DecisionEntry,
    DecisionStart,
    Entry,
    PolicyEntry,
)
from gantt.engine.recording.request_forms import RequestForms
from gantt.model.record import (
    Applied,
    Began,
    Ended,
    HeldLine,
    Line,
    Marks,
    RecordedPolicy,
)
from gantt.scheduler.held_host import HeldHost
from gantt.scheduler.options import SchedulerOptions
from gantt.scheduler.selection.marks import marks_of

_SECRET: Final = ("placement", "placement_token")
text: Final = msgspec.json.Encoder().encode_lines
"""Lines as bytes, each with its end."""
# Filters that read image properties by names which operators choose.
_ANY_PROPERTY: Final = frozenset({"AggregateImagePropertiesIsolation"})
_PROPERTY_WEIGHER: Final = "image_props_weight_multiplier"


class RecordLines:
    """Makes lines of entries. ``policy``: the line with the options in force, if any
    yet; ``decisions``: how many were seen."""

    def __init__(self, search_budget: int) -> None:
        self._budget = search_budget
        self._keeps_names = False
        self._forms = RequestForms()
        self.policy: RecordedPolicy | None = None
        self.decisions = 0

    def add(self, entry: Entry, lines: list[Line]) -> None:
        """One line, or two where a form comes first."""
        if isinstance(entry, ChangesEntry):
            lines.append(_applied(entry))
        elif isinstance(entry, DecisionEntry):
            if entry.asked is not None:
                self._begin(entry.asked, lines)
            lines.append(_ended(entry))
        elif isinstance(entry, DecisionStart):
            self._begin(entry, lines)
        elif isinstance(entry, PolicyEntry):
            lines.append(self.take_policy(entry))
        else:
            lines.append(entry)

    def take_policy(self, entry: PolicyEntry) -> RecordedPolicy:
        """The line of these options, which are in force from here on."""
        options = entry.options
        self._forms.clear()
        self._keeps_names = entry.has_plugins or _reads_any_property(options)
        shown = {k: v for k, v in asdict(options).items() if k not in _SECRET}
        self.policy = RecordedPolicy(shown, self._budget)
        return self.policy

    def begin(self) -> None:
        """A file begins, in which no form is yet."""
        self._forms.clear()

    def _begin(self, entry: DecisionStart, lines: list[Line]) -> None:
        self.decisions += 1
        form = self._forms.missing(entry.kind, keeps_names=self._keeps_names)
        if form is not None:
            lines.append(form)
        held = entry.held
        began = Began(
            entry.number,
            entry.now,
            entry.seed,
            entry.source,
            entry.kind.number,
            entry.instance_uuids,
            entry.request_id,
            entry.instance_uuid,
            tuple(_held(key, one) for key, one in held.items()) if held else (),
        )
        lines.append(began)


def _applied(entry: ChangesEntry) -> Applied:
    cursor = entry.cursor
    return Applied(cursor.revision, cursor.batch, entry.rows)  # type: ignore[arg-type]


def _held(key: int, one: HeldHost) -> HeldLine:
    return HeldLine(
        key,
        tuple(one.taken),
        one.count,
        tuple((*at, amount) for at, amount in one.amounts.items()),
        tuple(sorted(one.groups)),
        tuple(msgspec.to_builtins(pending) for pending in one.pendings),
        one.is_firm,
    )


def _ended(entry: DecisionEntry) -> Ended:
    if entry.is_left or entry.failure is not None:
        return Ended(entry.number, Marks(failure=entry.failure), entry.is_left)
    return Ended(entry.number, marks_of(entry.choices, entry.feasible))


def _reads_any_property(options: SchedulerOptions) -> bool:
    names = {one.rpartition(".")[2] for one in options.enabled_filters}
    is_weighed = options.multiplier(_PROPERTY_WEIGHER) != 0.0
    return bool(
        names & _ANY_PROPERTY or is_weighed or options.image_props_weight_setting
    )
