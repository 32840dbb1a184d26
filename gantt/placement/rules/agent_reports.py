"""The rule for reports of agents: applied in sequence, each once.

Separate from ``host_reports``, which writes what a report says: here is decided whether
it is its turn. Nothing hangs on the clock of a host but which of two agents started
later, where the full report of one was never applied.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec
from msgspec import UNSET, Struct
from msgspec.structs import replace

from gantt.errors import BadReport, NeedsChanged, ReportGap, UnknownIncarnation
from gantt.model.commands import NAME_LIMITS, NameLimits, ReportHost, UpdateHost
from gantt.model.hosts import HostStats
from gantt.model.reports import (
    NOT_NULL,
    STATS,
    Outcome,
    Report,
    ReportOutcome,
    ReportPlace,
    with_unread,
)
from gantt.placement.fleet_queries import PLACE
from gantt.placement.rules import host_names, host_reports, own_host
from gantt.placement.rules.draft import Draft
from gantt.state.state import State

_PAST: Final = 4
"""Incarnations of which late reports are known to be late."""
_WITHIN: Final = (("free_ram_mb", "memory_mb"), ("free_disk_gb", "local_gb"))
_COUNTS: Final = ("running_vms", "current_workload", "hypervisor_version")
_LISTS: Final = frozenset({"instances", "lists_instances"})
_PERCENT: Final = ".percent"


class _Turn(Struct, frozen=True):
    """``is_news``: it is to be applied; ``outcome``: else what became of it."""

    is_news: bool
    outcome: Outcome = "applied"


def take_in(draft: Draft, command: ReportHost) -> ReportOutcome:
    """Apply a report, or say why that is not needed. Raises FullReportWanted,
    BadReport, TooManyNames, Forbidden, and what ``host_reports.take_in`` raises."""
    known = place_of(draft.state, command.report)
    turn = _turn(known, command)
    report = command.report
    if turn.is_news:
        if command.own_only:
            own_host.check(draft.state, report)
        made = host_names.check(draft.state, command)
        before = known_stats(draft.state, report)
        report = _with_unread(report, before)
        stats = _with_losses(report, known)
        _check(report, stats, before)
        place = _place(report, known, made)
        host_reports.take_in(draft, replace(command.update, stats=stats, place=place))
        return _outcome(command, "applied", place)
    if turn.outcome == "unchanged":
        host_reports.take_in(draft, command.update)
    return _outcome(command, turn.outcome, known)


def as_known(state: State, command: ReportHost, now: int) -> ReportOutcome | None:
    """What became of a report where ``take_in`` would change nothing; None where it
    would, or would refuse it. Raises Invalid."""
    known = place_of(state, command.report)
    try:
        turn = _turn(known, command)
    except (NeedsChanged, ReportGap, UnknownIncarnation):
        return None
    if turn.is_news:
        return None
    if turn.outcome == "unchanged":
        host, _ = host_reports.as_known(state, command.update, now)
        if host is None:
            return None
    return _outcome(command, turn.outcome, known)


def place_of(state: State, report: Report) -> ReportPlace | None:
    """The last report of the host that was applied; None: there was none."""
    found = known_stats(state, report).get(PLACE)
    return None if found is None else msgspec.convert(found, ReportPlace)


def known_stats(state: State, report: Report) -> dict[str, Any]:
    """What is known of the host, by field; not to be changed."""
    table = state.fleet.hosts
    row = table.row_of(report.host, report.node)
    return {} if row is None else table.stats[row]


def _turn(known: ReportPlace | None, command: ReportHost) -> _Turn:
    report = command.report
    if known is None or known.incarnation != report.incarnation:
        return _turn_of_other(known, report)
    if report.full:
        is_news = report.sequence > known.sequence
        return _Turn(is_news, "applied" if is_news else "duplicate")
    if report.sequence < known.sequence:
        return _Turn(False, "duplicate")
    if report.sequence == known.sequence and report.has_fields:
        return _Turn(False, "duplicate")
    expected = known.sequence + report.has_fields
    if report.sequence > expected:
        raise ReportGap(
            f"Report {report.sequence} of {_agent(report)} came after report "
            f"{known.sequence}: what is between is missing. Send a full report."
        )
    _check_needs(command)
    return _Turn(report.has_fields, "unchanged")


def _turn_of_other(known: ReportPlace | None, report: Report) -> _Turn:
    """Whose turn it is, for a report of an agent that is not the one whose report was
    applied last."""
    if known is not None:
        is_past = report.incarnation in known.past
        if is_past or (report.full and report.taken_at < known.taken_at):
            return _Turn(False, "superseded")
    if not report.full:
        raise UnknownIncarnation(
            f"Report {report.sequence} of {_agent(report)} says what changed since a "
            "report that is not known here. Send a full report."
        )
    return _Turn(True)


def _check_needs(command: ReportHost) -> None:
    report = command.report
    if command.needs and report.needs not in ("", command.needs):
        raise NeedsChanged(
            f"Report {report.sequence} of {_agent(report)} was made for the needs "
            f"{report.needs!r}, and now they are {command.needs!r}. Read /gantt/needs "
            "and send a full report."
        )


def _place(report: Report, known: ReportPlace | None, made: int) -> ReportPlace:
    fields = report.fields
    told = {
        name
        for name in fields.__struct_fields__
        if getattr(fields, name) not in (UNSET, None)
    }
    past: tuple[str, ...] = ()
    if known is not None:
        past = known.past
        if known.incarnation != report.incarnation:
            past = (known.incarnation, *past)[:_PAST]
        if not report.full:
            told |= set(known.told)
            told -= {name for name in told if getattr(fields, name) is None}
        told |= set(known.told) & set(report.unread)
    return ReportPlace(
        report.incarnation,
        report.sequence,
        report.needs,
        report.taken_at,
        tuple(sorted(told)),
        past,
        made + (0 if known is None else known.made),
    )


def _with_unread(report: Report, known: dict[str, Any]) -> Report:
    """A full report with the columns of plug-ins that its agent could not read."""
    if not report.full or not report.unread:
        return report
    fields = report.fields
    stats = with_unread(fields.stats, known.get(STATS), report.unread)
    return replace(report, fields=replace(fields, stats=stats))


def _with_losses(report: Report, known: ReportPlace | None) -> HostStats:
    """The fields of a report; where it is full, those that it has no longer are taken
    back."""
    if known is None or not report.full:
        return report.fields
    gone = {
        name: NOT_NULL.get(name)
        for name in known.told
        if getattr(report.fields, name, None) is UNSET and name not in report.unread
    }
    return replace(report.fields, **gone) if gone else report.fields


def _check(report: Report, stats: HostStats, known: dict[str, Any]) -> None:
    """Numbers that no host has. Raises BadReport, which names the field."""

    def value(name: str) -> Any:
        found = getattr(stats, name)
        return known.get(name) if found is UNSET else found

    for part, whole in _WITHIN:
        has, most = value(part), value(whole)
        if has is not None and most is not None and has > most:
            raise _impossible(report, part, has, f"at most {whole}, which is {most}")
    for name in _COUNTS:
        count = value(name)
        if count is not None and count < 0:
            raise _impossible(report, name, count, "0 or more")
    for metric in () if stats.metrics in (UNSET, None) else stats.metrics:
        share = metric.get("value")
        if metric["name"].endswith(_PERCENT) and not 0 <= (share or 0) <= 1:
            field = f"metrics.{metric['name']}"
            raise _impossible(report, field, share, "a fraction from 0 to 1")


def _impossible(report: Report, field: str, value: Any, rule: str) -> BadReport:
    return BadReport(
        f"Report {report.sequence} of {_agent(report)} was not applied: fields.{field} "
        f"must be {rule}; got {value!r}."
    )


def _agent(report: Report) -> str:
    return f"agent {report.incarnation} on host {report.host}, node {report.node}"


def _outcome(
    command: ReportHost, outcome: Outcome, place: ReportPlace | None
) -> ReportOutcome:
    report = command.report
    message = ""
    if outcome == "superseded" and place is not None:
        message = (
            f"This is of {_agent(report)}, but agent {place.incarnation} started later "
            "and reports that host. Stop one of them, or correct the clock."
        )
    return ReportOutcome(
        report.host,
        report.node,
        outcome,
        message=message,
        needs=command.needs,
        taken_at=None if place is None else place.taken_at,
    )


def command_of(
    report: Report,
    update: UpdateHost,
    needs: str,
    *,
    own_only: bool = False,
    new_provider_uuid: str = "",
    most: NameLimits = NAME_LIMITS,
) -> ReportHost:
    """``report`` as a command; ``update``: the options of reports; ``own_only``: it
    came with the token of its host, which takes no provider of another one."""
    is_whole = _LISTS.isdisjoint(report.unread)
    return ReportHost(
        report,
        replace(
            update,
            host=report.host,
            node=report.node,
            stats=HostStats(),
            new_provider_uuid=new_provider_uuid,
            saved_at=report.taken_at,
            listed_at=report.taken_at if is_whole else None,
            is_of_agent=True,
        ),
        needs,
        own_only,
        most,
    )
