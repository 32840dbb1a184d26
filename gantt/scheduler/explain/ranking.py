"""All hosts of one decision in order, with the filter that refused each of the others.

Separate from ``why``, which explains refusals by counts: a shadow compares with a host
that is known only later, so each must be found then.
"""

from __future__ import annotations

import numpy as np

from gantt.model.shadow import Ranking
from gantt.scheduler.evaluation.feasible_hosts import FeasibleHosts
from gantt.state.state import State

_MOST_CAUSES = 255


def ranking(state: State, feasible: FeasibleHosts) -> Ranking:
    """Every host; names are shared with the State, not copied."""
    order = feasible.best(len(feasible.hosts))
    best = feasible.hosts.rows[order]
    masks = feasible.masks[:_MOST_CAUSES]
    causes = np.full(len(feasible.all_rows), _MOST_CAUSES, np.uint8)
    # Backwards, so that the first filter to refuse a host is what remains.
    for number in reversed(range(len(masks))):
        causes[~masks[number].mask] = number
    refused = ~np.isin(feasible.all_rows, feasible.hosts.rows)
    rows = [*best.tolist(), *feasible.all_rows[refused].tolist()]
    hosts, nodes = state.fleet.hosts.hosts, state.fleet.hosts.nodes
    return Ranking(
        tuple(hosts[row] for row in rows),
        tuple(nodes[row] for row in rows),
        tuple(feasible.weights[order].tolist()),
        np.minimum(causes[refused], len(masks)).tobytes(),
        (*(one.name for one in masks), "other filters"),
    )
