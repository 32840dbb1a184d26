"""A trace twice: as it is, and with a what-if."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from gantt.replay.decision_files import Counted, count
from gantt.replay.machines import Machine
from gantt.replay.replay_report import ReplayReport, report_of
from gantt.replay.run import Decided, Replay, ReplaySettings
from gantt.replay.what_if import AS_IT_IS, WhatIf, noted, within
from gantt.scheduler.evaluation.known_drivers import driver_of
from gantt.scheduler.plugins.policy import policy_of

if TYPE_CHECKING:
    from gantt.replay.traces import Trace

_WAYS: Final = ("same", "moved", "only_live", "only_what_if")


class TraceTrial(Struct, frozen=True):
    """Both reports, and how many arrivals went the same way: on the same hosts, or
    refused by both; ``moved``: on other hosts; the rest was placed on one side.
    ``unasked``: flavors of the what-if that no arrival asked for."""

    live: ReplayReport
    what_if: ReplayReport
    arrivals: int
    same: int
    moved: int
    only_live: int
    only_what_if: int
    unasked: tuple[str, ...] = ()


def try_trace(
    trace: Trace,
    machines: Sequence[Machine],
    settings: ReplaySettings,
    what_if: WhatIf,
    limit: int | None = None,
) -> TraceTrial:
    """Raises Invalid, Refused."""
    names: set[str | None] = set()
    replaying = Replay(machines, settings)
    with what_if.named():
        changed = replace(settings, options=what_if.policy(settings.options))
        with within("options"):
            driver = driver_of(policy_of(changed.options))
        trying = Replay(what_if.machines(machines), changed, driver)
    live, left = _replayed(trace, replaying, AS_IT_IS, limit, names)
    tried, right = _replayed(trace, trying, what_if, limit, set())
    went = Counter(map(_went, left, right))
    unasked = what_if.unasked(names)
    ways = {one: went[one] for one in _WAYS}
    return TraceTrial(live, tried, len(left), **ways, unasked=unasked)


def _went(one: Decided, other: Decided) -> str:
    if one.hosts == other.hosts:
        return "same"
    if one.hosts and other.hosts:
        return "moved"
    return "only_live" if one.hosts else "only_what_if"


def _replayed(
    trace: Trace,
    replaying: Replay,
    what_if: WhatIf,
    limit: int | None,
    names: set[str | None],
) -> tuple[ReplayReport, list[Decided]]:
    """``names``: takes those of the flavors that are asked for."""
    before = len(trace.reader.skipped)
    arrivals = trace.arrivals(limit)
    known = noted(arrivals, lambda one: one.spec, names)
    asked = Counted(what_if.arrivals(known))
    decided = list(replaying.run(asked))
    footer = count(decided, asked)
    skipped = len(trace.reader.skipped) - before
    report = report_of(
        trace.name, replaying.outcome, skipped, footer.arrivals, footer.decisions
    )
    return report, decided
