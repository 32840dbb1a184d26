"""How many calls an advice costs, whatever number of hosts is sent."""

from __future__ import annotations

from msgspec.structs import replace

from gantt.model.advice import AdviceHost, AdviceRequest, Order
from gantt.scheduler.evaluation.driver import Driver
from gantt.scheduler.evaluation.known_drivers import caching
from gantt.scheduler.explain.ranking import kept
from gantt.scheduler.options import SchedulerOptions
from gantt.scheduler.plugins.policy import policy_of
from tests.scheduler.test_sent_hosts import SPEC, Fleet, ranked
from tests.work.counting import calls

TOO_MUCH = replace(SPEC, flavor=replace(SPEC.flavor, memory_mb=999_999))


def advise(fleet: Fleet, driver: Driver, request: AdviceRequest) -> list[str]:
    """As for a caller in a hurry: what is compared later is kept, and not more."""
    request = replace(request)  # as decoded: nothing is computed yet
    held = {fleet.row("h0"): fleet.held("h0", 1024)}
    found = ranked(fleet, driver, request, held=held)
    assert len(kept(found).rows) == len(request.hosts)
    order, weights = found.order.tolist(), found.weights.tolist()
    return Order(request, order, weights, found.refusals).names()


def test_calls_do_not_depend_on_the_number_of_hosts() -> None:
    fleet = Fleet(**{f"h{number}": 4096 for number in range(200)})
    driver = caching(policy_of(SchedulerOptions()))
    for spec in (SPEC, TOO_MUCH):
        counts = []
        for size in (20, 200):
            names = [f"h{number}" for number in range(size)]
            hosts = tuple(AdviceHost(name, name) for name in names)
            weights = {name: float(-at) for at, name in enumerate(names)}
            request = AdviceRequest(spec, hosts, weights)
            assert sorted(advise(fleet, driver, request)) == sorted(names)
            counts.append(calls(advise, fleet, driver, request))
        assert counts[0] == counts[1]


def test_names_are_resolved_when_they_are_needed() -> None:
    """They are those of the time of the advice, whatever became of the hosts."""
    fleet = Fleet(a=4096, b=512, c=8192)
    driver = caching(policy_of(SchedulerOptions()))
    hosts = tuple(AdviceHost(name, name) for name in ("gone", "a", "b", "c"))
    later = kept(ranked(fleet, driver, AdviceRequest(SPEC, hosts)))
    counts = [calls(later.ranking)]
    fleet.state.fleet.hosts.remove(int(fleet.state.fleet.hosts.id[fleet.row("c")]))
    found = later.ranking()
    assert (found.hosts, found.nodes) == (("c", "a", "b"), ("c", "a", "b"))
    assert found.refused_by(2) == "free resources"
    assert len(found.weights) == 2
    driver = caching(policy_of(SchedulerOptions()))
    many = Fleet(**{f"h{number}": 4096 for number in range(200)})
    hosts = tuple(AdviceHost(f"h{number}") for number in range(200))
    counts.append(calls(kept(ranked(many, driver, AdviceRequest(SPEC, hosts))).ranking))
    assert counts[0] == counts[1]
