"""Checks a history against the laws: lost writes, partial ones, overcommitment, stale
reads.

The log's revisions are the order; the plain rows that they produce are the truth at
each of them. ``laws`` has the rules for one revision, this module those between the log
and the answers of callers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

from msgspec import Struct

from gantt.model.changes import LogEntry
from tests.simulation import laws
from tests.simulation.history import Finding, History, Op, Tables, empty_tables

# Commands of the engines' own.
_OWN = frozenset("SyncNames ExpireClaims Book EndDemand SweepDemands".split())


class Moment(Struct):
    """The truth at one revision, made from the one before by ``entry``."""

    revision: int
    batch: str
    tables: Tables
    entry: LogEntry | None = None


def check(history: History) -> list[Finding]:
    """Every violation in ``history``; empty: it is valid."""
    moments = list(_moments(history.log))
    order = _Order(history, moments)
    findings = [
        *(Finding("all is well at the end", text) for text in history.problems),
        *_continuous(history.log),
        *order.once(),
        *order.in_time(),
    ]
    if findings:
        return findings  # later findings would only repeat it
    return [
        *_revisions(history, moments),
        *_answers(history, moments, order),
        *_reads(history, moments, order),
        *_ends(history, moments),
    ]


def _moments(log: list[LogEntry]) -> Iterator[Moment]:
    tables = empty_tables()
    yield Moment(0, "", tables)
    for entry in log:
        tables = dict(tables)
        for name in {change.table for change in entry.changes}:
            tables[name] = dict(tables[name])
        for change in entry.changes:
            if change.new is None:
                tables[change.table].pop(change.key, None)
            else:
                tables[change.table][change.key] = change.new
        yield Moment(entry.revision, entry.batch, tables, entry)


def _continuous(log: list[LogEntry]) -> Iterator[Finding]:
    for before, entry in pairwise(log):
        if entry.revision != before.revision + 1:
            yield Finding(
                "revisions follow each other",
                f"{before.revision} is followed by {entry.revision}",
            )
        if entry.at < before.at:
            yield Finding(
                "stamps never fall",
                f"revision {entry.revision} is of {entry.at}, {before.revision} was "
                f"of {before.at}",
            )


class _Order:
    """Maps requests to revisions, and ticks to ranges of revisions."""

    def __init__(self, history: History, moments: list[Moment]) -> None:
        self._history = history
        self._log = history.log
        self._by_request: dict[str, list[LogEntry]] = defaultdict(list)
        for entry in history.log:
            self._by_request[entry.request_id].append(entry)
        self._ops = {op.request_id: op for op in history.ops}
        # (tick of the answer, revision) of acknowledged writes, and of begun ones.
        self._acknowledged = sorted(
            (op.ended, entries[-1].revision)
            for op in history.ops
            if op.outcome == "ok"
            and op.ended is not None
            and (entries := self._by_request.get(op.request_id))
        )
        self._begun = [
            (self._ops[e.request_id].invoked if e.request_id in self._ops else 0)
            for e in history.log
        ]
        self._end = moments[-1].revision

    def revision_of(self, op: Op) -> int | None:
        """Its revision in the log."""
        found = self._by_request.get(op.request_id)
        return found[0].revision if found else None

    def known_at(self, tick: int) -> int:
        """The last revision acknowledged by then."""
        known = [rev for ended, rev in self._acknowledged if ended <= tick]
        return max(known, default=0)

    def possible_at(self, tick: int) -> int:
        """The last revision that can have existed by then."""
        for entry, begun in zip(self._log, self._begun, strict=True):
            if begun > tick:
                return entry.revision - 1
        return self._end

    def once(self) -> Iterator[Finding]:
        """Each acknowledged write exists once, each refused one does not."""
        law = "acknowledged writes are there exactly once, others not or once"
        for op in self._history.ops:
            found = len(self._by_request.get(op.request_id, ()))
            if found > 1:
                yield Finding(law, f"{op.request_id} is in the log {found} times")
            if found and op.outcome == "refused":
                yield Finding(law, f"{op.request_id} was refused, and is in the log")
            if op.outcome == "broken":
                yield Finding("errors are of our tree", f"{op.request_id}: {op.text}")
        for request_id, entries in self._by_request.items():
            strange = [e for e in entries if e.kind not in _OWN]
            if request_id not in self._ops and strange:
                yield Finding(
                    law, f"no command asked for revision {strange[0].revision}"
                )

    def in_time(self) -> Iterator[Finding]:
        """A write acknowledged before another began precedes it."""
        law = "writes are in the order in which they were seen"
        highest = 0
        ends = iter([*self._acknowledged, (None, 0)])
        ended, revision = next(ends)
        for op in sorted(self._history.ops, key=lambda one: one.invoked):
            while ended is not None and ended <= op.invoked:
                highest = max(highest, revision)
                ended, revision = next(ends)
            mine = self.revision_of(op)
            if mine is not None and mine <= highest:
                yield Finding(
                    law,
                    f"{op.request_id} is revision {mine}, but {highest} was "
                    "acknowledged before it began",
                )


def _revisions(history: History, moments: list[Moment]) -> Iterator[Finding]:
    commands = {op.request_id: op for op in history.ops}
    for before, after in pairwise(moments):
        entry = after.entry
        assert entry is not None
        op = commands.get(entry.request_id)
        step = laws.Step(
            before.tables, after.tables, entry, op.command if op else None, op
        )
        for finding in laws.judge(step):
            yield Finding(
                finding.law, f"revision {after.revision} ({entry.kind}): {finding.text}"
            )


def _answers(
    history: History, moments: list[Moment], order: _Order
) -> Iterator[Finding]:
    """A refusal, or an answer without changes, was right at some moment."""
    for op in history.ops:
        if op.ended is None or op.outcome not in ("ok", "refused"):
            continue
        if op.error == "Busy" or order.revision_of(op) is not None:
            continue
        first, last = order.known_at(op.invoked), order.possible_at(op.ended)
        window = [m for m in moments if first <= m.revision <= last]
        expected = op.error or "no change"
        heard = {laws.verdict(moment.tables, op.command) for moment in window}
        if expected not in heard and None not in heard:
            yield Finding(
                "answers are true at some moment",
                f"{op.request_id} heard {expected} ({op.text}), which is so at no "
                f"revision from {first} to {last}: {sorted(map(str, heard))}; "
                f"asked {op.command}",
            )


def _reads(history: History, moments: list[Moment], order: _Order) -> Iterator[Finding]:
    at = {(m.revision, m.batch): m for m in moments}
    for read in history.reads:
        where = f"read {read.number} of {read.process} at {read.cursor}"
        moment = at.get((read.cursor.revision, read.cursor.batch))
        if moment is None:
            yield Finding("reads show only what lasts", f"{where}: there is no such")
        elif (shown := laws.differing(read.tables, moment.tables)) is not None:
            yield Finding("reads show only what lasts", f"{where}: {shown}")
        known = order.known_at(read.invoked)
        if read.is_strict and read.cursor.revision < known:
            yield Finding(
                "strict reads see all that was acknowledged",
                f"{where}: {known} was acknowledged before it began",
            )
    yield from _monotonic(history)


def _monotonic(history: History) -> Iterator[Finding]:
    """Per process: reads never go back, and see its own writes."""
    events: dict[str, list[tuple[int, int, str]]] = defaultdict(list)
    revisions = {e.request_id: e.revision for e in history.log if e.request_id}
    for read in history.reads:
        text = f"read {read.number}"
        events[read.process].append((read.ended, read.cursor.revision, text))
    for op in history.ops:
        if op.outcome == "ok" and op.ended is not None and op.request_id in revisions:
            event = (op.ended, revisions[op.request_id], op.request_id)
            events[op.process].append(event)
    for read in history.reads:
        past = [one for one in events[read.process] if one[0] <= read.invoked]
        most = max(past, key=lambda one: one[1], default=(0, 0, ""))
        if most[1] > read.cursor.revision:
            yield Finding(
                "reads of one process never go back",
                f"read {read.number} of {read.process} at {read.cursor}, after "
                f"{most[2]} at {most[1]}",
            )


def _ends(history: History, moments: list[Moment]) -> Iterator[Finding]:
    """The tables equal the result of the log."""
    if history.tables:
        shown = laws.differing(history.tables, moments[-1].tables)
        if shown is not None:
            yield Finding("tables and log agree at the end", shown)
