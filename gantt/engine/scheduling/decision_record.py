"""Records of decisions, as stored and shown."""

from __future__ import annotations

from gantt.errors import NoValidHost, PluginFailed
from gantt.model.selection import Decision, Why
from gantt.model.spec import ScheduleRequest
from gantt.scheduler.evaluation.feasible_hosts import FeasibleHosts


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
