"""Prefer hosts with the labels that a request is better with.

Its multiplier is larger than those that balance hosts, so that one without them is
taken where none with them has room.
"""

from __future__ import annotations

import numpy as np

from gantt.scheduler.contract import Cacheable, Request, Weigher
from gantt.scheduler.hosts import Hosts
from gantt.state.column import Floats


class PreferredLabelsWeigher(Weigher):
    """The score is how many of the preferred labels a host has."""

    cacheable = Cacheable(needs=("domains",), reads=("labels",), elementwise=True)
    option = "preferred_labels_weight_multiplier"

    def is_neutral(self, request: Request) -> bool:
        terms = request.spec.labels
        return terms is None or not terms.preferred

    def score(self, hosts: Hosts, request: Request) -> Floats:
        scores: Floats = np.zeros(len(hosts))
        if request.spec.labels is not None:
            for key, value in request.spec.labels.preferred.items():
                scores += hosts.with_label(key, value)
        return scores
