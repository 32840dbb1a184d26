"""Allocation candidates over HTTP."""

from __future__ import annotations

from typing import Any

from gantt.api.call import NOW, Call
from gantt.api.candidate_query import candidate_request
from gantt.api.query import Params
from gantt.api.refusals import Wording, worded
from gantt.errors import UnknownName
from gantt.model.answers import Candidate, Candidates, ProviderSummary
from gantt.model.requests import CandidateRequest

_UNKNOWN_CLASS = Wording(
    UnknownName,
    "Invalid resource class in resources parameter: ",
    starts="No such resource class",
)


def list_(call: Call) -> None:
    """GET /allocation_candidates"""
    call.check_accept()
    call.authorize("placement:allocation_candidates:list")
    request = candidate_request(Params(call.query_string), call.version, call.options)
    try:
        found: Candidates = call.gantt.find_candidates(request)
    except UnknownName as error:
        raise worded(error, (_UNKNOWN_CLASS,)) from None
    version = call.version
    shown = _shown_classes(request, version)
    body = {
        "allocation_requests": [_request(one, version) for one in found.candidates],
        "provider_summaries": {
            uuid: _summary(one, version, shown) for uuid, one in found.summaries.items()
        },
    }
    call.reply(body, modified_at=NOW)


def _shown_classes(request: CandidateRequest, version: int) -> set[str] | None:
    """Which classes summaries show; None: all that the provider has."""
    if version >= 27:
        return None
    return {name for group in request.groups for name in group.resources}


def _request(candidate: Candidate, version: int) -> dict[str, Any]:
    allocations = candidate.allocations.items()
    if version < 12:
        return {
            "allocations": [
                {"resource_provider": {"uuid": uuid}, "resources": resources}
                for uuid, resources in allocations
            ]
        }
    body: dict[str, Any] = {
        "allocations": {
            uuid: {"resources": resources} for uuid, resources in allocations
        }
    }
    if version >= 34:
        body["mappings"] = candidate.mappings
    return body


def _summary(
    summary: ProviderSummary, version: int, shown: set[str] | None
) -> dict[str, Any]:
    body: dict[str, Any] = {
        "resources": {
            name: {"capacity": one.capacity, "used": one.used}
            for name, one in summary.resources.items()
            if shown is None or name in shown
        }
    }
    if version >= 17:
        body["traits"] = summary.traits
    if version >= 29:
        body["parent_provider_uuid"] = summary.parent_uuid
        body["root_provider_uuid"] = summary.root_uuid
    return body
