"""Recorded decisions, decided again on the very State that each of them saw.

A process's files are played one after the other: the snapshot becomes a State, changes
are applied to it in the order in which that process applied them, and each decision is
made where it was made. A decision that rested, so that others wrote meanwhile, rests at
the same place and finds the same changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import merge
from typing import Final

import msgspec
from msgspec.structs import replace

from gantt.engine.recording.dice import SeededDice
from gantt.errors import BudgetSpent, Invalid, NoValidHost, UnknownName
from gantt.model import record as r
from gantt.model.changes import Cursor
from gantt.model.record import Applied, Line, Paused
from gantt.model.spec import ScheduleRequest
from gantt.replay.process_records import (
    RecordedFile,
    RecordedProcess,
    missing_files,
    policy_of_line,
)
from gantt.replay.recorded_changes import apply_line, load_line
from gantt.replay.redecision_results import Played, Redecided
from gantt.replay.what_if import AS_IT_IS, WhatIf
from gantt.scheduler import cycle
from gantt.scheduler.evaluation.driver import Driver
from gantt.scheduler.evaluation.known_drivers import driver_of
from gantt.scheduler.feasibility.candidate_sources import BOOK_SOURCE, REPORT_SOURCE
from gantt.scheduler.held_host import HeldHost
from gantt.scheduler.hosts import Taken
from gantt.scheduler.options import SchedulerOptions
from gantt.scheduler.pauses import Moved
from gantt.scheduler.plugins.policy import policy_of
from gantt.scheduler.selection.marks import marks_of, pack_choices
from gantt.state.fleet_columns import Journal
from gantt.state.state import State
from gantt.topology.promised_topology import PromisedTopology

REMOTE: Final = "a remote Placement had listed the candidates"
LEFT: Final = "it was begun again, or a plug-in failed"
CUT: Final = "its file ended before it"
ASIDE: Final = "others wrote while a plug-in was called"


def play(
    processes: tuple[RecordedProcess, ...],
    played: Played,
    options: SchedulerOptions | None = None,
    what_if: WhatIf = AS_IT_IS,
) -> Iterator[Redecided]:
    """All decisions of all processes, by the revisions that they saw. ``options``: the
    policy; None: that of the record. ``what_if``: its options and flavors. Raises
    Invalid, Refused."""
    each = [_of_process(one, played, options, what_if) for one in processes]
    yield from merge(*each, key=lambda one: one.revision)
    if played.early and not played.files:
        raise Invalid(
            f"{', '.join(played.early)} ends within its snapshot: nothing can be "
            "decided again."
        )


def _of_process(
    process: RecordedProcess,
    played: Played,
    options: SchedulerOptions | None,
    what_if: WhatIf,
) -> Iterator[Redecided]:
    for number in missing_files(process):
        played.missing.append(f"{process.process}, file {number}")
    for files in _runs(process.files):
        yield from _Player(files, played, options, what_if).run()


def _runs(files: tuple[RecordedFile, ...]) -> list[list[RecordedFile]]:
    """Files that go on where the one before ends are played on one State."""
    found: list[list[RecordedFile]] = []
    for file in files:
        before = found[-1][-1].head.number if found else 0
        if found and file.head.follows and file.head.number == before + 1:
            found[-1].append(file)
        else:
            found.append([file])
    return found


class _Player:
    """Plays files that go on one after the other."""

    def __init__(
        self,
        files: list[RecordedFile],
        played: Played,
        options: SchedulerOptions | None,
        what_if: WhatIf,
    ) -> None:
        self._files, self._played, self._what_if = files, played, what_if
        self._file = files[0]
        self._process = files[0].head.process
        self._options = options
        self._budget = 0
        self._state = State()
        self._read = self._state.cursor  # of the line that was read last
        self._driver: Driver | None = None
        self._is_started = False
        self._forms: dict[int, r.Form] = {}

    def run(self) -> Iterator[Redecided]:
        """Raises Invalid."""
        lines = self._lines()
        for line in lines:
            if isinstance(line, r.Began):
                yield from self._decision(line, lines)
            else:
                self._take(line, self._where)

    @property
    def _where(self) -> str:
        """The place of the line that was read last."""
        return self._file.where

    def _lines(self) -> Iterator[r.Line]:
        """The lines of all files, as if they were one."""
        for number, file in enumerate(self._files):
            self._file = file
            file.check_format()
            lines = iter(file)
            if number:
                lines = self._after_snapshot(file, lines)
            for line in lines:
                if isinstance(line, r.Started | r.Applied):
                    self._read = Cursor(line.revision, line.batch)
                yield line
            self._played.files += self._is_started
            if file.is_early:
                self._played.early.append(file.path.name)

    def _after_snapshot(
        self, file: RecordedFile, lines: Iterator[r.Line]
    ) -> Iterator[r.Line]:
        """The rest of ``lines``. Raises Invalid where the snapshot is of another
        revision than the file before ended at; a decision under way may not have let
        that in yet."""
        for line in lines:
            if isinstance(line, r.Started):
                here = self._read
                if (line.revision, line.batch) != (here.revision, here.batch):
                    raise Invalid(
                        f"{file.path} begins at revision {line.revision}, but the file "
                        f"before it ends at {here.revision}: it is not whole. Replay "
                        "them one by one."
                    )
                return lines
        return iter(())

    def _take(self, line: r.Line, where: str) -> None:
        """All but decisions. Raises Invalid, which begins with ``where``."""
        played = self._played
        if isinstance(line, r.Applied):
            played.changes += len(line.changes)
            apply_line(self._state, line, where)
        elif isinstance(line, r.Rows):
            load_line(self._state, line, where)
        elif isinstance(line, r.Started):
            self._state.apply((), Cursor(line.revision, line.batch))
            self._is_started = True
        elif isinstance(line, r.RecordedPolicy):
            self._decide_by(line, where)
        elif isinstance(line, r.Form):
            self._forms[line.number] = line
        elif isinstance(line, r.Settled):
            played.claims += len(line.hosts)
            played.lost += line.attempts - 1
        elif isinstance(line, r.Dropped):
            played.dropped[line.reason] += line.decisions

    def _decide_by(self, line: r.RecordedPolicy, where: str) -> None:
        recorded = policy_of_line(line, where)
        self._budget = line.search_budget
        options = recorded if self._options is None else self._options
        with self._what_if.named():
            options = self._what_if.policy(replace(options, placement="embedded"))
            if self._driver is not None and options == self._driver.policy.options:
                return
            self._state.fleet.journal = Journal(options.kept_changes)
            self._driver = driver_of(policy_of(options))

    # -- decisions ----------------------------------------------------------------

    def _decision(self, began: r.Began, lines: Iterator[r.Line]) -> Iterator[Redecided]:
        """Read on to its end, and make it; what was applied meanwhile is applied when
        it rests."""
        self._played.decisions += 1
        form = self._forms.get(began.form)
        if form is None:
            raise Invalid(
                f"The record of {self._process} has no form {began.form} before "
                f"decision {began.number}: it is not whole. Leave it out."
            )
        between: list[tuple[r.Line, str]] = []
        for line in lines:
            if isinstance(line, r.Ended) and line.number == began.number:
                break
            between.append((line, self._where))
        else:
            self._played.unrepeated[CUT] += 1
            return
        resting = Resting(self._take, between)
        why = self._unrepeatable(began, line, resting)
        if why:
            self._played.unrepeated[why] += 1
            resting.end()
            return
        revision, request = self._state.revision, _request(form, began)
        again, hosts = self._made(began, request, resting)
        resting.end()
        yield Redecided(
            self._process,
            began.number,
            revision,
            began.now,
            request,
            line.marks,
            again,
            self._names(line.marks),
            hosts,
            form.left_out,
        )

    def _unrepeatable(
        self, began: r.Began, ended: r.Ended, resting: Resting
    ) -> str | None:
        if ended.is_left:
            return LEFT
        if began.source == r.REMOTE:
            return REMOTE
        return ASIDE if resting.has_more else None

    def _made(
        self, began: r.Began, request: ScheduleRequest, resting: Resting
    ) -> tuple[r.Marks, tuple[str, ...]]:
        state, driver = self._state, self._driver
        if driver is None:
            raise Invalid(
                f"A record of {self._process} has a decision before any policy."
            )
        spec = self._what_if.asked(request.spec)
        try:
            found = cycle.decide(
                state,
                replace(request, spec=spec),
                BOOK_SOURCE if began.source == r.BOOKS else REPORT_SOURCE,
                driver,
                now=began.now,
                rng=SeededDice(began.seed),
                budget=self._budget,
                pause=resting,
                held=self._held(began.held),
            )
        except (NoValidHost, Invalid, UnknownName, BudgetSpent) as refusal:
            return r.Marks(failure=refusal.message), ()
        except Moved:
            return r.Marks(failure="others moved rows while it rested"), ()
        count = len(found.feasible.hosts.rows)
        ascends = driver.chooser is None
        choices = pack_choices(found.feasible, found.picks, ascends=ascends)
        marks = marks_of(choices, count)
        return marks, self._names(marks)

    def _names(self, marks: r.Marks) -> tuple[str, ...]:
        """The hosts by name; of those that went meanwhile, their ids."""
        hosts = self._state.fleet.hosts
        rows = [(key, hosts.row_by_id.get(key)) for key, _ in marks.firsts]
        return tuple(
            f"host {key}" if row is None else hosts.hosts[row] for key, row in rows
        )

    def _held(self, lines: tuple[r.HeldLine, ...]) -> dict[int, HeldHost]:
        row_by_id = self._state.fleet.hosts.row_by_id
        return {
            row_by_id[one.host_id]: HeldHost(
                Taken(*one.taken),
                one.count,
                {(uuid, name): amount for uuid, name, amount in one.amounts},
                frozenset(one.groups),
                tuple(
                    msgspec.convert(pending, PromisedTopology)
                    for pending in one.pendings
                ),
                one.is_firm,
            )
            for one in lines
            if one.host_id in row_by_id
        }


def _request(form: r.Form, began: r.Began) -> ScheduleRequest:
    request = form.request
    spec = request.spec
    if began.instance_uuid is not None:
        spec = replace(spec, instance_uuid=began.instance_uuid)
    return replace(
        request,
        spec=spec,
        instance_uuids=began.instance_uuids,
        request_id=began.request_id,
    )


class Resting:
    """The pause of a decision. ``take``: takes a line, given where it is;
    ``between``: the lines between the decision's first and last, and where they are."""

    def __init__(
        self, take: Callable[[Line, str], None], between: list[tuple[Line, str]]
    ) -> None:
        self._take = take
        self._calls = 0
        self._due: list[tuple[int, list[tuple[Line, str]]]] = []
        waiting: list[tuple[Line, str]] = []
        for line, where in between:
            if isinstance(line, Paused):
                self._due.append((line.call, waiting))
                waiting = []
            else:
                waiting.append((line, where))
        self._last = waiting

    @property
    def has_more(self) -> bool:
        """Whether something was applied while it did not rest."""
        return any(isinstance(line, Applied) for line, _ in self._last)

    def __call__(self) -> None:
        self._calls += 1
        if self._due and self._due[0][0] == self._calls:
            for line, where in self._due.pop(0)[1]:
                self._take(line, where)

    def end(self) -> None:
        """All that is left."""
        for _, lines in self._due:
            for line, where in lines:
                self._take(line, where)
        for line, where in self._last:
            self._take(line, where)
