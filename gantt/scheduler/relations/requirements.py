"""Which hosts are what a request asks for, whether they have room now or not.

A domain counts where it has such a host (Kubernetes' nodeAffinityPolicy Honor): a rack
that is full still does, one of another zone does not. Hosts that are disabled or down
count no more: else a rack without power would stop everything (kubernetes#80921).
"""

from __future__ import annotations

import numpy as np

from gantt.scheduler.evaluation.evaluation import OF_USE
from gantt.scheduler.evaluation.feasible_hosts import (
    IN_SERVICE,
    TARGETS,
    FeasibleHosts,
    all_of,
)
from gantt.scheduler.feasibility import amounts
from gantt.scheduler.feasibility.candidate_sources import LABELS
from gantt.scheduler.hosts import Hosts
from gantt.scheduler.request.job import Job
from gantt.state.column import Bools, Int64s
from gantt.state.state import State

_USUAL = frozenset({"VCPU", "MEMORY_MB", "DISK_GB"})
"""Classes that any host has, or shares."""


def meeting(state: State, feasible: FeasibleHosts) -> Bools:
    """bool[all hosts]: zone, aggregates, traits, named hosts, and what filters say
    that do not look at what is used; and those that pass everything."""
    size = len(feasible.all_rows)
    lasting = {IN_SERVICE, TARGETS, LABELS}
    for one in feasible.policy.filters:
        declared = one.cacheable
        if declared is None or not declared.elementwise or one.is_costly:
            continue
        if OF_USE.isdisjoint(declared.needs):
            lasting.add(one.name)
    masks = [one for one in feasible.masks if one.name in lasting]
    found = all_of(masks, size) & _labeled(state, feasible)
    return found | all_of(feasible.masks, size)


def _labeled(state: State, feasible: FeasibleHosts) -> Bools:
    """bool[all hosts]: with the traits and aggregates of the first question, and any
    inventory of its classes."""
    hosts = Hosts(state.fleet, feasible.all_rows)
    found = np.ones(len(hosts), np.bool_)
    if not feasible.job.questions:
        return found
    question = feasible.job.questions[0]
    found &= amounts.labeled(state, hosts, question)
    if feasible.surveys:
        classes = {name for group in question.groups for name in group.resources}
        for name in classes - _USUAL:
            found &= (hosts.left_of(name) >= 0.0).any(axis=1)
    return found


def room_for(hosts: Hosts, job: Job, most: int) -> Int64s:
    """int64[n]: how many instances each of ``hosts`` has room for by its inventories,
    ``most`` where these do not tell."""
    found = np.full(len(hosts), most, np.int64)
    if not job.questions:
        return found
    for group in job.questions[0].groups:
        for name, amount in group.resources.items():
            left = hosts.left_of(name)
            if amount and left.shape[1]:
                room = np.maximum(left // amount, 0.0).sum(axis=1)
                is_told = (left >= 0.0).any(axis=1)
                room = np.minimum(room, most).astype(np.int64)
                found = np.where(is_told, np.minimum(found, room), found)
    return found
