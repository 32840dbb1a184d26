"""Claims with a lease, over HTTP: keep what was claimed, or give it back."""

from __future__ import annotations

from gantt.api.call import Call


def confirm(call: Call, claim: str) -> None:
    """POST /gantt/claims/{claim}/confirm"""
    call.gantt.confirm_claim(claim)


def release(call: Call, claim: str) -> None:
    """DELETE /gantt/claims/{claim}"""
    call.gantt.release_claim(claim)
