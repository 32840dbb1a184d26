"""The ranking that an advice was made from.

Separate because it is made after the answer: names of ten thousand hosts take longer
than their order.
"""

from __future__ import annotations

import math

from gantt.model.advice import AdviceRequest
from gantt.model.shadow import Ranking
from gantt.scheduler.advising import Ranked


def ranking_of(request: AdviceRequest, ranked: Ranked) -> Ranking:
    """Of the hosts that were sent; those that are unknown, or whose report is too old
    to refuse them, are left out."""
    count = len(ranked.weights)
    refused = [
        (at, name)
        for at, name in zip(ranked.order[count:], ranked.refusals, strict=True)
        if name is not None
    ]
    filters = tuple(dict.fromkeys(name for _, name in refused))
    numbers = {name: min(number, 255) for number, name in enumerate(filters)}
    hosts = [request.hosts[at] for at in ranked.order[:count]]
    hosts += [request.hosts[at] for at, _ in refused]
    return Ranking(
        tuple(one.host for one in hosts),
        tuple(one.node or "" for one in hosts),
        tuple(None if one == -math.inf else one for one in ranked.weights),
        bytes(numbers[name] for _, name in refused),
        filters,
    )
