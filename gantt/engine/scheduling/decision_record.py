"""Records: of decisions, and of repairs and takeovers, which chose no host.

All of them are stored and shown in the form of a decision, which is made here.
"""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

from gantt.errors import NoValidHost, PluginFailed
from gantt.model.audit import Finding
from gantt.model.selection import Decision, Why
from gantt.model.spec import ScheduleRequest
from gantt.model.takeover import Takeover
from gantt.scheduler.evaluation.feasible_hosts import FeasibleHosts


class Repaired(Struct, frozen=True, tag=True):
    """A repair of the audit: what it undid. ``project_id``: whose the instance is."""

    request_id: str
    instance_uuids: tuple[str, ...]
    project_id: str | None
    revision: int
    at: int
    driver: str
    undone: Finding


class TakenOver(Struct, frozen=True, tag=True):
    """A host that took over what another one had: what moved."""

    request_id: str
    instance_uuids: tuple[str, ...]
    revision: int
    at: int
    driver: str
    done: Takeover
    project_id: str | None = None


Recorded: TypeAlias = Decision | Repaired | TakenOver


def as_decision(record: Recorded) -> Decision:
    """The form in which it is stored and shown."""
    if isinstance(record, Decision):
        return record
    return Decision(
        record.request_id,
        record.instance_uuids,
        record.project_id,
        record.revision,
        record.at,
        record.driver,
        hosts=1,
        steps=(),
        scores=(),
        repair=record.undone if isinstance(record, Repaired) else None,
        takeover=record.done if isinstance(record, TakenOver) else None,
    )


def decided(
    request: ScheduleRequest,
    feasible: FeasibleHosts,
    *,
    revision: int,
    at: int,
    driver: str,
) -> Decision:
    """Hosts were found; the outcome of their claims is added later. ``at``:
    microseconds."""
    return Decision(
        request.request_id,
        request.instance_uuids or (),
        request.spec.project_id or request.project_id,
        revision,
        at,
        driver,
        len(feasible.all_rows),
        feasible.steps,
        (),
        is_dry_run=request.dry_run,
    )


def failed(
    request: ScheduleRequest,
    refusal: NoValidHost | PluginFailed,
    *,
    revision: int,
    at: int,
    driver: str,
) -> Decision:
    """No host was found, or a plug-in failed."""
    told = refusal.why if isinstance(refusal, NoValidHost) else None
    why = told if isinstance(told, Why) else None
    return Decision(
        request.request_id,
        request.instance_uuids or (),
        request.spec.project_id or request.project_id,
        revision,
        at,
        driver,
        why.steps[0].before if why and why.steps else 0,
        why.steps if why else (),
        (),
        why=why,
        failure=refusal.message,
        is_dry_run=request.dry_run,
    )
