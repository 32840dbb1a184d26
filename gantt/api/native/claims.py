"""Claims with a lease over HTTP: confirm or release them.

A caller without ``gantt:claims:any`` may only claim for its own project and change its
claims; claims of other projects are answered like unknown ones.
"""

from __future__ import annotations

from msgspec.structs import replace

from gantt.api.call import Call
from gantt.errors import ClaimExpired, Forbidden, GanttError, NotFound
from gantt.model.spec import RequestSpec

ANY = "gantt:claims:any"
_PROJECT = frozenset({"project_id"})


def confirm(call: Call, claim: str) -> None:
    """POST /gantt/claims/{claim}/confirm"""
    _check_own(call, claim, ClaimExpired)
    call.gantt.confirm_claim(claim)


def release(call: Call, claim: str) -> None:
    """DELETE /gantt/claims/{claim}"""
    _check_own(call, claim, NotFound)
    call.gantt.release_claim(claim)


def bound_to(call: Call) -> str | None:
    """The only project that the caller may claim for; None: any. Raises Forbidden for
    a caller that is bound to its project and has none."""
    if not call.door.policy.allows(ANY, call.caller, {}):
        return None
    if call.caller.project_id is None:
        raise Forbidden(
            f"Callers without permission {ANY} may only use their own "
            "project, but this token has no project. Authenticate with a "
            "project."
        )
    return call.caller.project_id


def owned(own: str | None, spec: RequestSpec, *named: str | None) -> RequestSpec:
    """``spec`` for the project ``own`` (None: unchanged); ``named``: further projects
    that the request names. Raises Forbidden if any of them is another."""
    if own is None:
        return spec
    for project in (spec.project_id, *named):
        if project is not None and project != own:
            raise Forbidden(
                f"The request is for project {project}, but the caller lacks "
                f"permission {ANY} and belongs to project {own}. Omit "
                f"project_id, or authenticate with project {project}."
            )
    return replace(
        spec,
        project_id=own,
        unset=spec.unset - _PROJECT,
        nulls=spec.nulls - _PROJECT,
    )


def _check_own(call: Call, claim: str, refusal: type[GanttError]) -> None:
    """Raises ``refusal`` for a claim that is unknown or not the caller's."""
    if not call.door.policy.allows(ANY, call.caller, {}):
        return
    own = call.caller.project_id
    if own is None or call.gantt.claim_projects(claim) != {own}:
        raise refusal(
            f"Claim {claim} holds nothing for instances of this project: "
            "it was released or its lease ended, its hosts have reported "
            "all of its instances, the claim never existed, or it "
            "belongs to another project. Check the allocations of its "
            "instances, or select destinations again."
        )
