"""Reports of agents: each is answered by itself, and most need no write.

Separate from ``Fleet`` because these come by the thousand, in lists, in any order and
more than once. What says nothing new is found out by one read for the whole list; only
the rest takes its turn at the committer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Final, get_args

from msgspec.structs import replace

from gantt.engine.background.heartbeats import Heartbeats
from gantt.engine.clock_watch import ClockWatch
from gantt.engine.scheduling.state_access import StateAccess, StateMethods
from gantt.engine.uuids import new_uuid
from gantt.errors import (
    BadReport,
    Forbidden,
    GanttError,
    Invalid,
    ReportTime,
    TooManyNames,
)
from gantt.model import commands as c
from gantt.model.forms import reports as forms
from gantt.model.hosts import HostStats
from gantt.model.reports import Delivery, Outcome, Report, ReportOutcome
from gantt.placement.rules import agent_reports
from gantt.state.state import State

_US: Final = 1_000_000


class Reporting(StateMethods):
    """``report_hosts`` of the library. ``needs``: the digest of what is needed now."""

    def __init__(
        self,
        state: StateAccess,
        clock_watch: ClockWatch,
        heartbeats: Heartbeats,
        needs: Callable[[], str],
    ) -> None:
        super().__init__(state)
        self._clock_watch = clock_watch
        self._heartbeats = heartbeats
        self._needs = needs
        self._outcomes: Counter[str] = Counter()
        self._fulls_wanted = 0
        self._over_names = 0

    def report_hosts(
        self, reports: Iterable[Report | bytes], *, only_host: str | None = None
    ) -> tuple[ReportOutcome, ...]:
        """See GanttProtocol. ``only_host``: those of other hosts are refused, and
        of its own those that name a node or a provider of another one."""
        said = list(reports)
        self._checks.statement("reports", len(said))
        now = self._clock.now()

        def checked(report: Report, _place: int) -> tuple[Report, ReportTime | None]:
            _check_host(report, only_host)
            return report, self._judge_time(report, now)

        return self._take_in(said, checked, now, own_only=only_host is not None)

    def take_deliveries(
        self, deliveries: Sequence[Delivery]
    ) -> tuple[ReportOutcome, ...]:
        """What became of each, once that is durable. Each may only say what the token
        of its host may. Raises Unavailable, and some may have been applied then."""

        now = self._clock.now()
        heard_since = now - int(self._heartbeats.down_s * _US)

        def checked(report: Report, place: int) -> tuple[Report, ReportTime | None]:
            delivery = deliveries[place]
            _check_key(report, delivery.key)
            _check_way(report, delivery.host)
            # Nothing was filed in the future: where a topic takes the time from the
            # host, a clock that is wrong must not judge itself.
            late = self._judge_time(report, min(delivery.at, now))
            # What has waited for long says no more that its agent is there.
            is_old = report.beats and delivery.at < heard_since
            return replace(report, beats=False) if is_old else report, late

        if now - _waited_since(deliveries, now) > self._heartbeats.late_s * _US:
            self._heartbeats.are_late()
        said = [one.report for one in deliveries]
        return self._take_in(said, checked, now, own_only=True)

    def _take_in(
        self,
        said: Sequence[Report | bytes],
        checked: Callable[[Report, int], tuple[Report, ReportTime | None]],
        now: int,
        *,
        own_only: bool,
    ) -> tuple[ReportOutcome, ...]:
        """``checked`` refuses the report at a place of ``said``, or returns it as it
        may go on, and what is wrong with its time alone; ``own_only``: each is said by
        its host alone."""
        needs, update, options = self._needs(), self._update(), self._checks.options
        most = c.NameLimits(
            options.max_host_traits,
            options.max_host_instances,
            options.max_host_artifacts,
        )
        found: list[ReportOutcome | None] = [None] * len(said)
        commands: dict[int, c.ReportHost] = {}
        untimely: dict[int, ReportTime] = {}
        for place, one in enumerate(said):
            try:
                report = forms.report(one, self._checks.options.max_report_bytes)
                report, refused = checked(report, place)
                commands[place] = agent_reports.command_of(
                    report, update, needs, own_only=own_only, most=most
                )
                if refused is not None:
                    untimely[place] = refused
            except GanttError as refusal:
                found[place] = forms.refused(one, refusal, needs)
        if commands:
            self._answer(commands, untimely, found, now)
            self._take_heartbeats(commands, found)
        outcomes = []
        for outcome in found:
            assert outcome is not None, "every report has an outcome"
            outcomes.append(outcome)
            self._outcomes[outcome.outcome] += 1
            self._fulls_wanted += outcome.wants_full
            self._over_names += outcome.code == TooManyNames.code
        return tuple(outcomes)

    def counts(self) -> dict[str, float]:
        """What became of reports since this opened, by name; for metrics."""
        kinds: tuple[Outcome, ...] = get_args(Outcome)
        return {
            **{f"reports_{kind}": self._outcomes[kind] for kind in kinds},
            "reports_full_wanted": self._fulls_wanted,
            "reports_over_names": self._over_names,
        }

    def _answer(
        self,
        commands: dict[int, c.ReportHost],
        untimely: dict[int, ReportTime],
        found: list[ReportOutcome | None],
        now: int,
    ) -> None:
        """Fill in ``found`` for each of ``commands``, by place in the list."""
        asked = list(commands.values())
        known = self._reader.read_touched(_as_known, asked, now)
        news: dict[int, c.ReportHost] = {}
        for (place, command), outcome in zip(commands.items(), known, strict=True):
            refused = untimely.get(place)
            if outcome is not None and (
                refused is None or outcome.outcome == "superseded"
            ):
                found[place] = outcome
            elif refused is not None:
                found[place] = forms.refused(command.report, refused, command.needs)
            else:
                news[place] = _with_uuid(command)
        answers = self._committer.submit_all(list(news.values()))
        for (place, command), answer in zip(news.items(), answers, strict=True):
            if isinstance(answer, GanttError):
                answer = forms.refused(command.report, answer, command.needs)
            found[place] = answer

    def _take_heartbeats(
        self, commands: dict[int, c.ReportHost], found: list[ReportOutcome | None]
    ) -> None:
        """Agents that were allowed to report are there, whatever became of it."""
        beat_s = self._heartbeats.beat_s
        if beat_s is None:
            return
        heard = []
        for place, command in commands.items():
            report, outcome = command.report, found[place]
            if report.beats and outcome is not None and _is_heard(outcome):
                heard.append((report.host, report.node))
                found[place] = replace(outcome, beat_s=beat_s)
        self._heartbeats.heard(heard)

    def _update(self) -> c.UpdateHost:
        """The options of reports, without what one says."""
        options = self._checks.options
        return c.UpdateHost(
            "",
            "",
            HostStats(),
            new_provider_uuid="",
            initial_ratios=options.novas_ratios,
            writes_books=self._checks.writes_books,
            renewed_after_us=int(options.report_age_s * _US),
        )

    def _judge_time(self, report: Report, now: int) -> ReportTime | None:
        """What is wrong with the time of a report, if anything is."""
        options = self._checks.options
        ahead_s = (report.taken_at - now) / _US
        refused = None
        if -ahead_s > options.max_report_age_s:
            refused = ReportTime(
                f"taken_at is {-ahead_s:.0f} s ago by {self._clock_watch.whose} clock, "
                f"and reports may be {options.max_report_age_s:g} s old "
                "(max_report_age_s of [scheduler]). Compare the clock of the host with "
                "it, correct the one that is off, and send what is true now."
            )
        elif ahead_s > options.max_report_lead_s:
            refused = ReportTime(
                f"taken_at is {ahead_s:.0f} s in the future by "
                f"{self._clock_watch.whose} clock, and "
                f"clocks may be {options.max_report_lead_s:g} s ahead "
                "(max_report_lead_s of [scheduler]). Compare the clock of the host "
                "with it, and correct the one that is off."
            )
        self._clock_watch.judged(report.host, 0.0 if refused is None else ahead_s)
        return refused


def _waited_since(deliveries: Sequence[Delivery], now: int) -> int:
    """When the newest one was filed of the source that is furthest behind."""
    newest: dict[str, int] = {}
    for one in deliveries:
        newest[one.source] = max(one.at, newest.get(one.source, one.at))
    return min(newest.values(), default=now)


def _check_way(report: Report, only_host: str | None) -> None:
    """Raises Forbidden."""
    if only_host is not None and report.host != only_host:
        raise Forbidden(
            f"host is {report.host!r}, but it came by the topic of the host "
            f"{only_host!r}: write it to the topic of its own host."
        )


def _check_key(report: Report, key: str) -> None:
    """Raises BadReport."""
    if report.key != key:
        raise BadReport(
            f"The report has the key {key!r}, but it is of host {report.host!r}, node "
            f"{report.node!r}: its key must be {report.key!r}."
        )


def _check_host(report: Report, only_host: str | None) -> None:
    """Raises Forbidden."""
    if only_host is not None and report.host != only_host:
        raise Forbidden(
            f"host is {report.host!r}, but this token may only report the host "
            f"{only_host!r}: use the token of that host, or one with the role service."
        )


def _is_heard(outcome: ReportOutcome) -> bool:
    return outcome.outcome != "superseded" and outcome.code != Forbidden.code


def _as_known(
    state: State, commands: Sequence[c.ReportHost], now: int
) -> tuple[list[ReportOutcome | None], int]:
    """What ``agent_reports.as_known`` says of each, and when the hosts of those that it
    knows were touched last."""
    table, touched = state.fleet.hosts, state.fleet.context_touched
    found = []
    for command in commands:
        try:
            outcome = agent_reports.as_known(state, command, now)
        except Invalid:
            outcome = None  # the committer refuses it
        row = table.row_of(command.report.host, command.report.node)
        if outcome is not None and row is not None:
            touched = max(touched, int(table.touched[row]))
        found.append(outcome)
    return found, touched


def _with_uuid(command: c.ReportHost) -> c.ReportHost:
    """With a uuid for a provider, where a host may be new."""
    update = replace(command.update, new_provider_uuid=new_uuid())
    return replace(command, update=update)
