"""``gantt select --what-if``: a decision as it is, and as it would be."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from gantt.cli.command_session import CommandSession
from gantt.cli.output import plain, say, table
from gantt.cli.what_if_engines import WhatIfEngines
from gantt.model.selection import Decision
from gantt.model.spec import ScheduleRequest


def try_select(
    session: CommandSession, tried: WhatIfEngines, request: ScheduleRequest
) -> None:
    """Both decisions, and where they differ."""
    request = replace(request, dry_run=True)
    tried.tell_unasked([request.spec])
    other = replace(request, spec=tried.asked(request.spec))
    tried.check([request.spec])
    live = tried.live.decide(request)
    with tried.changed_for([request.spec]) as gantt:
        changed = gantt.decide(other)
    if session.is_whole:
        session.print_document(
            {"revision": tried.revision, "live": live, "what_if": changed}
        )
        return
    rows = list(_instances(request, live, changed))
    columns = ("instance", "live", "what if", "same")
    if not session.is_prose:
        session.print_rows(columns, rows)
        return
    say(f"At revision {tried.revision:,}; nothing was claimed.\n")
    say(table(columns, plain(rows)))
    say("\n" + table(("hosts", "live", "what if"), plain(list(_steps(live, changed)))))
    for title, one in (("live", live), ("what if", changed)):
        if one.failure is not None:
            say("\n" + plain(f"{title}: {one.failure}"))


def _instances(
    request: ScheduleRequest, live: Decision, changed: Decision
) -> Iterator[tuple[str, str, str, str]]:
    for number, uuid in enumerate(request.instance_uuids or ()):
        one, other = _host(live, number), _host(changed, number)
        yield uuid, one, other, "yes" if one == other else "no"


def _host(decision: Decision, number: int) -> str:
    if decision.failure is not None or number >= len(decision.chosen):
        return "refused"
    return decision.chosen[number][0].service_host


def _steps(live: Decision, changed: Decision) -> Iterator[tuple[str, Any, Any]]:
    """How many hosts there are, and how many each filter left."""
    yield "all", live.hosts, changed.hosts
    one = {step.name: step.after for step in live.steps}
    other = {step.name: step.after for step in changed.steps}
    for name in dict.fromkeys((*one, *other)):
        yield f"after {name}", one.get(name, "-"), other.get(name, "-")
