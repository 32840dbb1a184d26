"""All hosts of one decision in order, with the filter that refused each of the others.

Separate from ``why``, which explains refusals by counts: a shadow compares with a host
that is known only later, so each must be found then.
"""

from __future__ import annotations

import math

import numpy as np
from msgspec import Struct

from gantt.model.shadow import Ranking
from gantt.scheduler.evaluation.feasible_hosts import FeasibleHosts
from gantt.scheduler.sent_hosts import NONE, Ranked
from gantt.state.column import Floats, Int32s
from gantt.state.host_table import HostNames
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


_MOST_CAUSES = 255


class KeptRanking(Struct, frozen=True, eq=False):
    """Thirteen bytes a host. ``rows``: int32[n] in ``names``: of the hosts that pass,
    the best first, each with its weight (float64[k]), then of those that are refused,
    each with the number of its filter (uint8[n - k], as bytes)."""

    rows: Int32s
    weights: Floats
    causes: bytes
    filters: tuple[str, ...]
    names: HostNames

    def ranking(self) -> Ranking:
        """With names."""
        rows, weights = self.rows.tolist(), self.weights.tolist()
        hosts, nodes = self.names
        return Ranking(
            tuple([hosts[row] for row in rows]),
            tuple([nodes[row] for row in rows]),
            tuple([None if one == -math.inf else one for one in weights]),
            self.causes,
            self.filters,
        )


def kept(ranked: Ranked) -> KeptRanking:
    """The ranking of the hosts that were sent; those that are unknown, or whose report
    is too old to refuse them, are left out."""
    count = len(ranked.weights)
    is_refused = ranked.causes != NONE
    rows = np.concatenate((ranked.rows[:count], ranked.rows[count:][is_refused]))
    causes = np.minimum(ranked.causes[is_refused], _MOST_CAUSES)
    filters = ranked.masks[: _MOST_CAUSES + 1]
    return KeptRanking(
        rows.astype(np.int32),
        ranked.weights,
        causes.astype(np.uint8).tobytes(),
        filters,
        ranked.names,
    )
