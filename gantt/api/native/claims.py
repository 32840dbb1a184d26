"""Claims with a lease over HTTP: confirm or release them.

A caller without ``gantt:claims:any`` may only claim for its own project and change its
claims; claims of other projects are answered like unknown ones.
"""

from __future__ import annotations

from gantt.api.access.fields import ANY
from gantt.api.call import Call
from gantt.errors import ClaimExpired, Forbidden, GanttError, NotFound


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
