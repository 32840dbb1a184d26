"""Whether two answers say the same. Lists are compared without their order.

Placement's own order comes from salted hashes; that Gantt's order is stable is tested
elsewhere.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

from tests.api.wsgi_client import Answer

FIRST_VERSION_WITH_CODES = 23


class Differs(AssertionError):
    """The services disagree, and no known difference explains it."""


def canonical(value: Any) -> Any:
    """Equal for values that differ in the order of lists or keys only."""
    if isinstance(value, Mapping):
        return {key: canonical(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return sorted(map(canonical, value), key=as_text)
    return value


def as_text(value: Any) -> str:
    """The same text for equal values."""
    return json.dumps(value, sort_keys=True)


def content(answer: Answer, version: int) -> Any:
    """What must be equal: of a refusal its code, of all others the body."""
    if answer.status >= 400:
        error = answer.json["errors"][0]
        code = error.get("code") if version >= FIRST_VERSION_WITH_CODES else None
        return [answer.status, code]
    return [answer.status, canonical(answer.json) if answer.body else None]


def is_same(ours: Answer, theirs: Answer, version: int) -> bool:
    """Whether both say the same."""
    if ours.status != theirs.status:
        return False
    return bool(content(ours, version) == content(theirs, version))


def must_be_same(ours: Answer, theirs: Answer, version: int) -> None:
    """Raises Differs."""
    if not is_same(ours, theirs, version):
        raise Differs(f"ours:   {_brief(ours)}\ntheirs: {_brief(theirs)}")


def _brief(answer: Answer) -> str:
    if answer.status >= 400:
        return f"{answer.status} {answer.text}"
    if not answer.body:
        return str(answer.status)
    body = canonical(answer.json)
    if isinstance(body, dict) and "allocation_requests" in body:
        count = len(body["allocation_requests"])
        return f"{answer.status} ({count} candidates) {as_text(body)}"
    return f"{answer.status} {as_text(body)}"


# ----------------------------------------------------------------- candidates, limited


def requests_of(body: Mapping[str, Any]) -> Counter[str]:
    """The candidates of an answer, each with how often it is in it."""
    return Counter(as_text(canonical(each)) for each in body["allocation_requests"])


def must_be_part(part: Mapping[str, Any], whole: Mapping[str, Any], limit: int) -> None:
    """The candidates of ``part`` are ``limit`` of ``whole``, any. Raises Differs."""
    some, all_of = requests_of(part), requests_of(whole)
    wanted = min(limit, all_of.total())
    if some.total() != wanted or some - all_of:
        raise Differs(
            f"{some.total()} candidates where {wanted} of {all_of.total()} are due; "
            f"not among them: {list(some - all_of)}"
        )


def shown_with(
    part: Mapping[str, Any], whole: Mapping[str, Any], roots: Mapping[str, str]
) -> dict[str, Any]:
    """The summaries of ``whole`` in trees that the candidates of ``part`` use.

    ``roots``: the root of every provider, or itself where no trees are meant. An
    answer that was not cut keeps all of its summaries.
    """
    shown = dict(whole["provider_summaries"])
    if len(part["allocation_requests"]) < len(whole["allocation_requests"]):
        used = {roots[uuid] for one in part["allocation_requests"] for uuid in _of(one)}
        shown = {uuid: one for uuid, one in shown.items() if roots[uuid] in used}
    return shown


def _of(candidate: Mapping[str, Any]) -> list[str]:
    """The providers of a candidate, in the form of any microversion."""
    allocations = candidate["allocations"]
    if isinstance(allocations, list):
        return [each["resource_provider"]["uuid"] for each in allocations]
    return list(allocations)
