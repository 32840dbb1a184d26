"""Why domains stopped a request, in the words of its relations."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gantt.placement.domain_rules import DomainCounts
from gantt.scheduler.evaluation.feasible_hosts import FeasibleHosts, all_of
from gantt.scheduler.feasibility.candidate_sources import AMOUNTS, BOOKS
from gantt.scheduler.relations.domain_picks import DomainPicks
from gantt.state.column import Int64s
from gantt.state.domains import NO_DOMAIN


def words(domains: DomainPicks, feasible: FeasibleHosts) -> tuple[str, ...]:
    """Empty: no relation stopped the request. ``feasible``: of its first instance."""
    found = [text for one in domains.hard for text in _of_relation(one, feasible)]
    if domains.is_cut:
        found.append(
            "The search for a way to keep all relations at once ended at its limit "
            "(relation_steps): there may be one."
        )
    return tuple(found)


def _of_relation(one: DomainCounts, feasible: FeasibleHosts) -> Iterator[str]:
    codes, every = one.domains.codes, feasible.all_rows
    if one.relation.kind == "near" and one.counts.any():
        yield _near(one, feasible)
    passing = np.unique(codes[feasible.hosts.rows])
    shut = passing[~one.open()[passing] & (passing != NO_DOMAIN)]
    if len(shut) and one.relation.kind != "near":
        yield _limit(one, int(shut[np.argmin(one.counts[shut])]), feasible)
    hosts = feasible.hosts.fleet.hosts.hosts
    yield from _left_out(hosts, one, every[codes[every] == NO_DOMAIN])


def _limit(one: DomainCounts, code: int, feasible: FeasibleHosts) -> str:
    """``code``: a shut domain, of those the one with the least."""
    relation, key = one.relation, one.relation.key
    names, counts = one.domains.names, one.counts
    has = f"{key} {names[code]} has {counts[code]}"
    if relation.kind == "apart" and one.term.others:
        return f"Apart from {one.term.what} by {key}: it is in {key} {names[code]}."
    if relation.kind == "apart":
        return f"Apart by {key}: {has} of server group {relation.group}."
    if relation.kind == "distinct":
        return f"Distinct by {key}: {has}, and at most {relation.most} may be there."
    there = int(np.count_nonzero(one.eligible))
    apart = f"at most {relation.most} apart."
    if there < relation.min_domains:
        return (
            f"Spread by {key}: {has}; of {relation.min_domains} domains that it must "
            f"have at least there are {there}, so that the least counts as 0, {apart}"
        )
    places = np.flatnonzero(one.eligible)
    if not len(places):
        return f"Spread by {key}: {has}, the least counts as 0, {apart}"
    lowest = int(places[np.argmin(counts[places])])
    state = _state(one, lowest, feasible)
    return (
        f"Spread by {key}: {has}, the least is {counts[lowest]} ({key} "
        f"{names[lowest]}, {state}), {apart}"
    )


def _near(one: DomainCounts, feasible: FeasibleHosts) -> str:
    """Where it may be, and what is there."""
    key, names = one.relation.key, one.domains.names
    codes = np.flatnonzero(one.open()).tolist()
    where = ", ".join(
        f"{names[code]} ({_state(one, code, feasible)})" for code in codes
    )
    there = f"it is in {key} {where}" if codes else f"it is in no {key}"
    return f"Near {one.term.what} by {key}: {there}."


def _state(one: DomainCounts, code: int, feasible: FeasibleHosts) -> str:
    """Why a domain takes none: amounts alone, or anything else."""
    others = [each for each in feasible.masks if each.name not in (AMOUNTS, BOOKS)]
    is_there = one.domains.codes[feasible.all_rows] == code
    is_full = is_there & all_of(others, len(feasible.all_rows))
    return "full" if is_full.any() else "no host there passes"


def _left_out(hosts: list[str], one: DomainCounts, rows: Int64s) -> Iterator[str]:
    """Hosts that are in no domain."""
    key, torn = one.relation.key, rows[one.domains.torn[rows]]
    if len(rows) > len(torn):
        count = len(rows) - len(torn)
        have = "host has" if count == 1 else "hosts have"
        yield f"{count} {have} no {key} and {'was' if count == 1 else 'were'} left out."
    if len(torn):
        host = hosts[int(torn[0])]
        yield (
            f"Of {len(torn)} hosts ({host} is one) two values of {key} are told, so "
            f"that they were left out: 'gantt host label {host} {key}=VALUE' settles "
            "it."
        )
