"""The answer to the same request again."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from gantt.model import rows as t
from gantt.model.answers import Candidate, Repeat
from gantt.model.request_identity import read_answered
from gantt.model.topology import Fit
from gantt.placement.rules.draft import Draft
from gantt.topology.promised_topology import from_text


class RepeatedClaim(Struct, frozen=True):
    """The answer for an instance that was claimed before; ``generation``, ``fit``: see
    Claimed."""

    answer: Repeat
    generation: int | None
    fit: Fit | None


def again(draft: Draft, instance_uuid: str, leased_until: int | None) -> RepeatedClaim:
    """The claim of the instance is the answer; a lease is only ever made longer."""
    row = draft.state.fleet.claims.by_instance[instance_uuid]
    assert row.answered is not None, "its digest is known"
    known = row.leased_until
    if leased_until is not None and known is not None and known < leased_until:
        longer = replace(row, leased_until=leased_until, updated_at=draft.now)
        draft.put(t.CLAIMS, longer)
    answered = read_answered(row.answered)
    candidate = Candidate(answered.allocations, answered.mappings)
    pending = None if row.topology is None else from_text(row.topology)
    return RepeatedClaim(
        Repeat(row.host_id, candidate),
        row.consumer_generation,
        None if pending is None else pending.fit,
    )
