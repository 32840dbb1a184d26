"""Which hosts are what a request asks for, whether they have room now or not.

A domain counts where it has such a host (Kubernetes' nodeAffinityPolicy Honor): a rack
that is full still does, one of another zone does not. Hosts that are disabled or down
count no more: else a rack without power would stop everything (kubernetes#80921).
"""

from __future__ import annotations

import numpy as np

from gantt.scheduler.evaluation.evaluation import OF_USE
from gantt.scheduler.evaluation.feasible_hosts import (
    HOST_LABELS,
    IN_SERVICE,
    TARGETS,
    FeasibleHosts,
)
from gantt.scheduler.feasibility import amounts
from gantt.scheduler.feasibility.candidate_sources import LABELS
from gantt.scheduler.hosts import Hosts
from gantt.scheduler.request.job import Job
from gantt.state.column import ALL, ANY, Bools, Int64s
from gantt.state.domains import NO_DOMAIN, Domains
from gantt.state.state import State

_USUAL = frozenset({"VCPU", "MEMORY_MB", "DISK_GB"})
"""Classes that any host has, or shares."""


def eligible(state: State, feasible: FeasibleHosts, domains: Domains) -> Bools:
    """bool[domains]: which have a host that is what the request asks for. Of most a
    look at some of their hosts tells."""
    every = feasible.all_rows
    mask = np.zeros(state.fleet.hosts.height, np.bool_)
    some = domains.some[NO_DOMAIN + 1 :].ravel()
    if len(some) < len(every):
        mask[some] = _meeting(state, feasible, np.searchsorted(every, some))
        found: Bools = ANY(mask[domains.some], axis=1)
        if ALL(found[NO_DOMAIN + 1 :]):
            return found
    mask[every] = _meeting(state, feasible, np.arange(len(every)))
    return domains.having(mask)


def _meeting(state: State, feasible: FeasibleHosts, places: Int64s) -> Bools:
    """bool[places]: of zone, aggregates, traits, named hosts, and what filters say that
    do not look at what is used; and those that pass everything, as a tree may have what
    the host itself has not."""
    lasting = {IN_SERVICE, TARGETS, LABELS, HOST_LABELS}
    for one in feasible.policy.filters:
        declared = one.cacheable
        if declared is None or not declared.elementwise or one.is_costly:
            continue
        if OF_USE.isdisjoint(declared.needs):
            lasting.add(one.name)
    found = _labeled(state, feasible, feasible.all_rows[places])
    passing = np.ones(len(places), np.bool_)
    for mask in feasible.masks:
        at = mask.mask[places]
        passing &= at
        if mask.name in lasting:
            found &= at
    return found | passing


def _labeled(state: State, feasible: FeasibleHosts, rows: Int64s) -> Bools:
    """bool[rows]: with the traits and aggregates of the first question, and any
    inventory of its classes."""
    hosts = Hosts(state.fleet, rows)
    if not feasible.job.questions:
        return np.ones(len(hosts), np.bool_)
    question = feasible.job.questions[0]
    found = amounts.labeled(state, hosts, question)
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
