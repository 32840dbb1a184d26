"""What each rule costs: how many more instances would fit without it.

Every rule that applies is left out by itself, and what fits then is counted: masks and
divisions over all hosts, no decisions. Rules that only hold together cost nothing by
this measure, as leaving out either does not help.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import numpy as np
from msgspec import Struct, structs

from gantt.errors import GanttError
from gantt.model.capacity import Price, Prices, RuleKind
from gantt.model.diagnosis import Relaxation
from gantt.model.names import MAX_INT
from gantt.model.spec import RequestSpec, ScheduleRequest
from gantt.placement import group_rules
from gantt.placement.candidates.combination import Budget
from gantt.scheduler.capacity.flavor_room import FlavorRoom
from gantt.scheduler.capacity.split import FlavorMix, Localities
from gantt.scheduler.capacity.taken_room import Together
from gantt.scheduler.capacity.tries import Tries
from gantt.scheduler.evaluation.evaluation import evaluate
from gantt.scheduler.evaluation.feasible_hosts import skips_filters
from gantt.scheduler.explain.concessions import conceded, concessions
from gantt.scheduler.feasibility.candidate_sources import CandidateSource
from gantt.scheduler.pauses import Moved, Pause, never
from gantt.scheduler.plugins.policy import Policy, without
from gantt.state.inventory_columns import ClassTable
from gantt.state.state import State
from gantt.state.supposition import supposing

# What is asked for rather than how: without it there is nothing to count.
_SUBJECT: Final = frozenset(("amount", "devices", "pci_requests", "numa_nodes"))
_OPTIONS: Final = {
    "limit_tenants_to_placement_aggregate": "aggregates of projects",
    "enable_isolated_aggregate_filtering": "isolated aggregates",
    "image_metadata_prefilter": "traits for image properties",
    "query_placement_for_image_type_support": "disk formats of images",
    "query_placement_for_routed_network_aggregates": "aggregates of networks",
}


Change = Callable[[ClassTable], ClassTable]


class Supposed(Struct, frozen=True, eq=False):
    """The question with one rule left out."""

    state: State
    spec: RequestSpec
    policy: Policy


class Rule(Struct, frozen=True, eq=False):
    """``without``: makes the question. It may raise what a wrong request does."""

    kind: RuleKind
    name: str
    text: str
    without: Callable[[], Supposed]
    given_up: Relaxation | None = None


def prices(
    state: State,
    mix: FlavorMix,
    source: CandidateSource,
    policy: Policy,
    *,
    now: int,
    budget: int | None = None,
    pause: Pause = never,
) -> Prices:
    """The prices of all rules for the one request of ``mix``: hosts that only trying
    tells about are tried within ``capacity_steps`` with every rule, and within as many
    for all others together. ``pause``: wherever others may write meanwhile. Raises
    Invalid, NoValidHost, UnknownName, Moved."""
    # Hosts are not ranked, so nothing is weighed.
    policy = structs.replace(policy, weighers=())
    (spec,) = mix.specs
    tries = Tries(policy.options.capacity_steps, remembers=True)
    spec = structs.replace(group_rules.with_rule(state.fleet, spec), num_instances=1)
    places, moves = Localities(state, mix.default_zone), _moves(state)

    def counted(one: Supposed) -> FlavorRoom:
        feasible = evaluate(
            one.state, one.spec, source, one.policy, now, Budget(budget)
        )
        together = Together(one.state, pause, tries)
        room = FlavorRoom(one.state, feasible, together, Budget(budget))
        room.take(room.room())
        return room

    with_all = Supposed(state, spec, policy)
    base, applied = counted(with_all), state.applied
    most, found, left_out = policy.options.capacity_rules, list[Price](), 0
    # Nothing can be compared with a count that was cut.
    is_whole = not tries.cuts
    tries.renew()
    for number, rule in enumerate(list(_rules(state, spec, policy, base))):
        pause()
        if _moves(state) != moves:
            raise Moved
        cuts = tries.cuts
        if state.applied != applied:  # both sides of a difference are of one moment
            base, applied = counted(with_all), state.applied
            is_whole = tries.cuts == cuts
        try:
            room = counted(rule.without()) if is_whole and number < most else None
        except GanttError:
            room = None
        if room is None or tries.cuts != cuts:
            left_out += 1
        else:
            found.append(_price(rule, room, base, places))
    found.sort(key=lambda one: (-one.more, one.kind, one.name))
    total = int(base.counts.sum())
    return Prices(total, tuple(found), left_out, base.is_lower_bound)


def _moves(state: State) -> tuple[int, int]:
    """Changes whenever rows of hosts or providers may mean others."""
    return state.fleet.hosts.structure, state.providers.structure


def _price(rule: Rule, room: FlavorRoom, base: FlavorRoom, places: Localities) -> Price:
    return Price(
        rule.kind,
        rule.name,
        rule.text,
        int(room.counts.sum() - base.counts.sum()),
        _less(
            places.by_zone(room.rows, room.counts),
            places.by_zone(base.rows, base.counts),
        ),
        _less(
            places.by_aggregate(room.rows, room.counts),
            places.by_aggregate(base.rows, base.counts),
        ),
        rule.given_up,
        room.is_lower_bound or base.is_lower_bound,
    )


def _less(now: dict[str, int], then: dict[str, int]) -> dict[str, int]:
    """The differences by name, where there is one."""
    found = {
        name: now.get(name, 0) - then.get(name, 0) for name in sorted({*now, *then})
    }
    return {name: more for name, more in found.items() if more}


def _rules(
    state: State, spec: RequestSpec, policy: Policy, base: FlavorRoom
) -> Iterator[Rule]:
    request = ScheduleRequest(spec)
    for one in concessions(request):
        if one.kind not in _SUBJECT:
            yield Rule(
                "request",
                one.kind,
                one.text,
                _conceding(state, request, one, policy),
                one,
            )
    if not skips_filters(spec):
        for each in policy.filters:
            text = f"disable the filter {each.name}"
            less = without(policy, each.name)
            yield Rule("filter", each.name, text, _asking(state, spec, less))
    for option, what in _OPTIONS.items():
        if getattr(policy.options, option):
            options = structs.replace(policy.options, **{option: False})
            less = structs.replace(policy, options=options)
            text = f"switch off {option} ({what})"
            yield Rule("option", option, text, _asking(state, spec, less))
    for name in base.amounts:
        for kind, text, change in _inventories(state, name):
            yield Rule(kind, name, text, _supposing(state, name, change, spec, policy))


def _conceding(
    state: State, request: ScheduleRequest, one: Relaxation, policy: Policy
) -> Callable[[], Supposed]:
    return lambda: Supposed(state, conceded(request, one).spec, policy)


def _asking(state: State, spec: RequestSpec, policy: Policy) -> Callable[[], Supposed]:
    return lambda: Supposed(state, spec, policy)


def _inventories(state: State, name: str) -> Iterator[tuple[RuleKind, str, Change]]:
    """What inventories of a class say beside their totals, each left out."""
    table = _table(state, name)
    live = table.live_rows()
    if (table.allocation_ratio[live] != 1.0).any():
        yield "ratio", f"take allocation ratios of {name} as 1", _without_ratio
    if table.reserved[live].any():
        yield "reserved", f"reserve nothing of {name}", _without_reserved
    is_free = (table.min_unit == 1) & (table.step_size == 1)
    is_free &= table.max_unit >= table.total
    if not is_free[live].all():
        text = f"allow any amount of {name} (min_unit, max_unit, step_size)"
        yield "units", text, _without_units


def _without_ratio(table: ClassTable) -> ClassTable:
    return table.supposing(capacity=(table.total - table.reserved).astype(np.float64))


def _without_reserved(table: ClassTable) -> ClassTable:
    return table.supposing(capacity=table.total * table.allocation_ratio)


def _without_units(table: ClassTable) -> ClassTable:
    ones = np.ones_like(table.step_size)
    most = np.full_like(table.max_unit, MAX_INT)
    return table.supposing(min_unit=ones, max_unit=most, step_size=ones)


def _table(state: State, name: str) -> ClassTable:
    index = state.classes.index_of(name)
    table = None if index is None else state.inventories.table(index)
    return ClassTable() if table is None else table


def _supposing(
    state: State, name: str, change: Change, spec: RequestSpec, policy: Policy
) -> Callable[[], Supposed]:
    def made() -> Supposed:
        index = state.classes.index_of(name)
        assert index is not None, "it has a table"
        return Supposed(supposing(state, index, change), spec, policy)

    return made
