"""Claims with a lease, over HTTP: keep what was claimed, or give it back.

Who may not ``gantt:claims:any`` touches claims of the own project alone, and
hears of others what is said of claims that there are not.
"""

from __future__ import annotations

from gantt.api.call import Call
from gantt.errors import ClaimExpired, GanttError, NotFound

ANY = "gantt:claims:any"


def confirm(call: Call, claim: str) -> None:
    """POST /gantt/claims/{claim}/confirm"""
    _check_own(call, claim, ClaimExpired)
    call.gantt.confirm_claim(claim)


def release(call: Call, claim: str) -> None:
    """DELETE /gantt/claims/{claim}"""
    _check_own(call, claim, NotFound)
    call.gantt.release_claim(claim)


def _check_own(call: Call, claim: str, refusal: type[GanttError]) -> None:
    """Raises ``refusal`` for a claim that is not the caller's to touch, or is none."""
    if not call.door.policy.allows(ANY, call.caller, {}):
        return
    own = call.caller.project_id
    if own is None or call.gantt.claim_projects(claim) != {own}:
        raise refusal(
            f"Claim {claim} holds nothing for instances of this project: it was "
            "released or its lease ended, its hosts have named all of its instances, "
            "there never was such a claim, or it is of another project. Look at the "
            "allocations of its instances, or select destinations again."
        )
