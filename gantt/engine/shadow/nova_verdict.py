"""The verdict on one instance: what Gantt decided against what Nova claimed. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, Final

from msgspec import Struct

from gantt.engine.shadow.own_decision import Judged
from gantt.model.selection import Score
from gantt.model.shadow import (
    Place,
    RankedHost,
    Ranking,
    RefusedHost,
    ShadowRecord,
    Source,
    Verdict,
)
from gantt.placement.claimed_hosts import ClaimedHost

BEFORE_HOSTS: Final = "request"
"""What refuses a request before any host is looked at."""


class Observed(Struct, frozen=True):
    """A request that Nova decides, and how Gantt judged it. ``instance_uuids``: of
    ``count`` instances those that are known. ``excluded``: hosts that cannot be Nova's
    answer (the source of an evacuation). ``hosts`` were judged; ``later`` makes their
    ranking where ``judged`` has none yet. The other fields as in ShadowRecord."""

    instance_uuids: tuple[str, ...]
    count: int
    judged: Judged
    source: Source
    asked_at: int
    request_id: str = ""
    project_id: str | None = None
    mode: str = "observe"
    operation: str = "create"
    excluded: frozenset[str] = frozenset()
    hosts: int = 0
    later: Callable[[], Ranking] | None = None


class NovaOutcome(Struct, frozen=True):
    """What Nova did for one instance. ``claimed`` None: nothing, as far as is known;
    ``is_placed``: Nova said that it found hosts; ``note``: why it cannot be known."""

    claimed: ClaimedHost | None = None
    is_placed: bool = False
    nova_s: float | None = None
    is_late: bool = False
    note: str = ""


def record_of(
    observed: Observed,
    number: int,
    uuid: str | None,
    outcome: NovaOutcome,
    *,
    record_id: str,
    at: int,
    most_hosts: int,
    most_refused: int,
) -> ShadowRecord:
    """The record of instance ``number`` (from 0), called ``uuid`` if that is known,
    settled ``at``."""
    judged = observed.judged
    ranking = judged.ranking
    pick = judged.picks[number] if number < len(judged.picks) else None
    facts = _compare(judged, pick, outcome)
    return ShadowRecord(
        id=record_id,
        instance_uuid=uuid,
        request_id=observed.request_id,
        project_id=observed.project_id,
        source=observed.source,
        mode=observed.mode,
        operation=observed.operation,
        number=number + 1,
        count=observed.count,
        asked_at=observed.asked_at,
        lag_s=max(0.0, (judged.at - observed.asked_at) / 1_000_000),
        gantt_s=judged.took_s,
        revision=judged.revision,
        hosts=len(ranking.hosts),
        feasible=len(ranking.weights),
        ranked=_best(ranking, most_hosts),
        refused=_refused(ranking),
        refused_hosts=_refused_hosts(ranking, most_refused),
        gantt_host=pick and pick[0],
        gantt_node=pick and pick[1],
        failure=judged.failure if pick is None else None,
        settled_at=at,
        is_late=judged.is_late or outcome.is_late,
        facts_s=_age(judged, number),
        nova_s=outcome.nova_s,
        **facts,
    )


def _age(judged: Judged, number: int) -> float | None:
    """The age of the last report of the host that was picked, in seconds."""
    if number >= len(judged.reported_at):
        return None
    return max(0.0, (judged.at - judged.reported_at[number]) / 1_000_000)


def _compare(
    judged: Judged, pick: Place | None, outcome: NovaOutcome
) -> dict[str, Any]:
    """The fields that tell of Nova's host, and the verdict."""
    claimed = outcome.claimed
    if claimed is None:
        return _without_claim(judged.trouble, pick, outcome)
    facts: dict[str, Any] = {
        "host": claimed.host,
        "node": claimed.node,
        "learnt_from": claimed.learnt_from,
        "claimed_at": claimed.at,
        "note": outcome.note,
    }
    ranking = judged.ranking
    place = ranking.find(claimed.host, claimed.node)
    if pick is not None and _is_same(pick, (claimed.host, claimed.node)):
        facts["verdict"] = "same"
    elif place is None:
        facts["verdict"] = "unknown_host" if ranking.hosts else "undetermined"
        if judged.failure is not None and not ranking.hosts:
            facts["verdict"], facts["refused_by"] = "refused_by_gantt", BEFORE_HOSTS
        elif not ranking.hosts:
            facts["note"] = judged.trouble
    elif (filter_name := ranking.refused_by(place)) is not None:
        facts["verdict"], facts["refused_by"] = "refused_by_gantt", filter_name
    else:
        facts["verdict"] = "ranked"
        facts["differences"] = _differences(judged, pick, claimed)
    if place is not None and place < len(ranking.weights):
        facts["rank"], facts["weight"] = place + 1, ranking.weights[place]
    return facts


def _without_claim(
    trouble: str, pick: Place | None, outcome: NovaOutcome
) -> dict[str, Any]:
    verdict: Verdict = "both_refused" if pick is None else "refused_by_nova"
    if trouble:
        return {"verdict": "undetermined", "note": trouble}
    if outcome.note:
        return {"verdict": "undetermined", "note": outcome.note}
    if outcome.is_placed:
        note = "Nova says that it found a host, but no claim was seen."
        return {"verdict": "undetermined", "note": note}
    return {"verdict": verdict, "is_inferred": True}


def _differences(
    judged: Judged, pick: Place | None, claimed: ClaimedHost
) -> dict[str, float]:
    """What each weigher adds for Gantt's host beyond Nova's; empty where the scores of
    either were not kept."""
    if pick is None or judged.scoring is None:
        return {}
    scores = judged.scoring().scores()
    ours, theirs = _score(scores, pick), _score(scores, (claimed.host, claimed.node))
    if ours is None or theirs is None:
        return {}
    each = {
        name: part[1] - theirs.parts.get(name, (0.0, 0.0))[1]
        for name, part in ours.parts.items()
    }
    return {name: value for name, value in each.items() if value}


def _score(scores: tuple[Score, ...], place: Place) -> Score | None:
    return next((s for s in scores if _is_same((s.host, s.node), place)), None)


def _is_same(one: Place, other: Place) -> bool:
    """Whether they are the same host; an unknown node ("") is any."""
    return one[0] == other[0] and (one[1] == other[1] or "" in (one[1], other[1]))


def _best(ranking: Ranking, most: int) -> tuple[RankedHost, ...]:
    return tuple(
        RankedHost(*ranking.place(number), weight)
        for number, weight in enumerate(ranking.weights[:most])
    )


def _refused(ranking: Ranking) -> dict[str, int]:
    counts = Counter(ranking.causes)
    return {ranking.filters[cause]: count for cause, count in counts.most_common()}


def _refused_hosts(ranking: Ranking, most: int) -> tuple[RefusedHost, ...]:
    first = len(ranking.weights)
    last = min(first + most, len(ranking.hosts))
    return tuple(
        RefusedHost(*ranking.place(number), ranking.refused_by(number) or "")
        for number in range(first, last)
    )
