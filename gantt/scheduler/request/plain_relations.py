"""The relations of a demand, as its items' requests have them.

Whom they count is looked up in the books as they are: items and things of the demand,
and what was placed before by that name.
"""

from __future__ import annotations

from collections.abc import Callable

from gantt.errors import Invalid
from gantt.model.demand import Demand
from gantt.model.demand_relations import ItemRelation, bound, item_of
from gantt.model.relations import DomainTerm
from gantt.placement.domain_queries import check_key
from gantt.state.domains import NO_DOMAIN
from gantt.state.state import State


def terms_of(
    state: State, demand: Demand, unknown: Callable[[ItemRelation], Invalid]
) -> dict[str, tuple[DomainTerm, ...]]:
    """Item -> its relations. ``unknown``: the refusal of what nothing is called. Raises
    Invalid."""
    found: dict[str, tuple[DomainTerm, ...]] = dict.fromkeys(demand.names, ())
    for one in demand.relations:
        try:
            check_key(state, one.key)
        except Invalid as error:
            raise one.wrong("key", str(error).removesuffix(".")) from None
        if one.to and not item_of(one.to, demand.names):
            _check_placed(state, demand, one, unknown)
        names = bound(one, demand.names)
        term = DomainTerm(one.relation, others=_others(demand, one), what=one.to)
        for name in names:
            found[name] += (term,)
        if one.kind == "apart" and one.to in found:  # whichever is placed first
            uuids = [demand.uuid(each) for name in names for each in demand.names[name]]
            found[one.to] += (
                DomainTerm(one.relation, others=tuple(uuids), what=", ".join(names)),
            )
    return found


def _others(demand: Demand, one: ItemRelation) -> tuple[str, ...]:
    """Whom it counts; none where the things of one item are counted alone."""
    names = demand.names
    if one.to:
        called = names.get(one.to, (one.to,))
    else:
        items = bound(one, names)
        called = () if len(items) < 2 else sum((names[item] for item in items), ())
    return tuple(map(demand.uuid, called))


def _check_placed(
    state: State,
    demand: Demand,
    one: ItemRelation,
    unknown: Callable[[ItemRelation], Invalid],
) -> None:
    """Whether what it names is placed, and in a domain if others shall be near it."""
    places = state.fleet.hosts_of(demand.uuid(one.to))
    if not places:
        raise unknown(one)
    domains, hosts = state.domains.of(one.key), state.fleet.hosts
    rows = [row for host in places for row in hosts.rows_of(host)]
    if (
        one.kind == "near"
        and not one.soft
        and not (domains.codes[rows] != NO_DOMAIN).any()
    ):
        raise one.wrong(
            "to",
            f"{one.to!r} is on {', '.join(sorted(places))}, which has no {one.key}: "
            "near it there is nothing",
        )
