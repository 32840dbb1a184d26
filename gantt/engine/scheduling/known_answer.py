"""The answer of a request that was made before, where no host is left for another.

The committer says whether it was; where hosts are left, it does so when it judges the
claim of the decision.
"""

from __future__ import annotations

from gantt.engine.commit.committer import Committer
from gantt.engine.reading.reader import Consistency, Reader
from gantt.engine.uuids import new_uuid
from gantt.errors import ClaimLost
from gantt.model.scheduling import Selections
from gantt.model.spec import ScheduleRequest
from gantt.scheduler.plugins.policy import Policy
from gantt.scheduler.selection.answer import repeated
from gantt.scheduler.selection.claim import repeat_of
from gantt.state.state import State


def known_answer(
    reader: Reader,
    committer: Committer,
    request: ScheduleRequest,
    policy: Policy,
    now: int,
) -> Selections | None:
    """None: it was not made before. Raises AlreadyClaimed."""
    if not reader.read(_has_claims, request, consistency=Consistency.ASSUMED):
        return None
    try:
        claimed = committer.submit(repeat_of(request, new_uuid()), request.request_id)
    except ClaimLost:
        return None
    local = Consistency.LOCAL
    return reader.read(repeated, request, policy, claimed, now, consistency=local)


def _has_claims(state: State, request: ScheduleRequest) -> bool:
    known = state.fleet.claims.by_instance
    return any(uuid in known for uuid in request.names)
