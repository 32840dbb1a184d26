"""Whole decisions about instances with NUMA cells and devices: the chain of filters
with both that fit, all weighers, many instances at once, alternates and limits.

GANTT_NOVA_EXAMPLES makes a run longer, GANTT_NOVA_SEED another one.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable
from itertools import combinations
from random import Random
from typing import Any

import pytest
from hypothesis import strategies as st
from msgspec.structs import replace
from nova import exception

from gantt.errors import Invalid, NoValidHost
from gantt.model.spec import Flavor, Image, RequestSpec, ScheduleRequest
from gantt.model.topology import HostCell, HostTopology, Pages, Pool
from gantt.placement.candidates.combination import Budget
from gantt.scheduler import cycle
from gantt.scheduler.evaluation.known_drivers import caching, filtering
from gantt.scheduler.feasibility.candidate_sources import NOTHING
from gantt.scheduler.options import SchedulerOptions
from gantt.scheduler.scoring import host_weights
from gantt.scheduler.selection.answer import selections
from gantt.scheduler.selection.topology_fit import fitting_of
from gantt.state.state import State
from tests.nova import fitted_worlds, upstream, worlds
from tests.nova.fitted_pair import FRESH_REQUESTS, MENDS, FittedPair, corrected, opened
from tests.nova.fitted_worlds import ALIASES, BOTH, Ask
from tests.nova.pair import OURS, SEED, Tell, explore, reported, tell
from tests.nova.test_decisions import (
    MANY,
    Unlimited,
    _for_many,
    _in_cell,
    _options_for_many,
    _policy,
)
from tests.scheduler.fleets import NOW, Plan, a_host
from tests.topology.machines import KIB_2M

pytestmark = pytest.mark.filterwarnings("ignore:.*is an invalid UUID:FutureWarning")

Answer = list[Any] | Exception


def _agreed_with(
    ours: Answer, theirs: Callable[[tuple[str, ...]], Answer], allowed: tuple[str, ...]
) -> tuple[str, ...]:
    """The fewest corrections of Nova with which both answer the same."""
    answers = []
    for size in range(len(allowed) + 1):
        for mends in combinations(allowed, size):
            answers.append(theirs(mends))
            if answers[-1] == ours:
                return mends
    raise AssertionError((ours, answers))


def _passing(pair: FittedPair) -> Callable[[Any], bool]:
    """Whether arrays alone let a host pass."""
    names = set(zip(pair.hosts.names, pair.hosts.nodes, strict=True))
    for one in set(BOTH) & set(pair.options.enabled_filters):
        mask = pair.ours(OURS[one])
        if not isinstance(mask, list):
            return lambda _: False
        places = zip(pair.hosts.names, pair.hosts.nodes, mask, strict=True)
        names &= {(host, node) for host, node, passes in places if passes}
    return lambda state: (state.host, state.nodename) in names


def _easy() -> st.SearchStrategy[RequestSpec]:
    return worlds.easy(worlds.specs())


# -- one instance: every host that fits, in order -------------------------------------


def _ranked(pair: FittedPair, state: State) -> list[Any]:
    driver = filtering(_policy(pair.options))
    try:
        field = driver.feasible_hosts(
            state, pair.spec, Unlimited(), now=NOW, budget=Budget()
        )
    except Invalid:
        return []  # what no host fits is refused before any is looked at
    names, nodes, rows = field.hosts.names, field.hosts.nodes, field.hosts.rows
    fitting = fitting_of(state, field)
    return [
        (names[at], nodes[at], float(field.weights[at]))
        for at in host_weights.best(field.weights, len(field.hosts)).tolist()
        if fitting is None or fitting.fits(int(rows[at]), NOTHING)
    ]


def _their_ranked(pair: FittedPair, mends: tuple[str, ...]) -> Answer:
    scheduler, asked = upstream.scheduler(pair.options), pair.asked()
    with corrected(mends, scheduler, _passing(pair)):
        hosts = scheduler.host_manager
        try:
            passing = hosts.get_filtered_hosts(_in_cell(pair), asked)
            weighed = hosts.get_weighed_hosts(passing, asked)
        except Exception as error:
            return error
    return [(one.obj.host, one.obj.nodename, one.weight) for one in weighed]


def test_the_same_hosts_fit_and_are_in_the_same_order(record_property: Tell) -> None:
    agreed: Counter[str] = Counter()
    met: Counter[str] = Counter()

    def run(plan: Plan, spec: RequestSpec, options: SchedulerOptions) -> None:
        dice = Random(f"{SEED} {plan} {spec} {options}")
        plan = fitted_worlds.with_cells(plan, dice)
        asked = fitted_worlds.asking(spec, dice)
        some = (BOTH, BOTH, BOTH, BOTH[:1], BOTH[1:], ())
        options = fitted_worlds.with_fitting(options, dice, some)
        with opened(plan, *asked, options) as pair:
            if isinstance(pair, Exception):
                agreed["requests that the API refuses"] += 1
                return
            ours = _ranked(pair, reported(plan, pair.options).state())
            mends = _agreed_with(ours, lambda m: _their_ranked(pair, m), MENDS)
        met.update(mends)
        agreed["chains"] += 1
        agreed["hosts that fit, in order"] += len(ours)
        agreed["requests for cells"] += pair.asked().numa_topology is not None
        agreed["requests for devices"] += bool(pair.asked().pci_requests.requests)

    explore(
        run,
        worlds.working(worlds.plans(least=3, most=7)),
        _easy() | worlds.targeted(_easy()),
        worlds.options().map(lambda one: replace(one, metrics_weight_setting={})),
    )
    tell(record_property, agreed, met)


# -- many instances -------------------------------------------------------------------


def _chosen(pair: FittedPair, state: State, uuids: tuple[str, ...]) -> list[Any]:
    answers: list[list[Any]] = []
    for one in (filtering, caching):
        driver = one(_policy(pair.options))
        request = ScheduleRequest(pair.spec, uuids)
        try:
            picks = cycle.decide(state, request, Unlimited(), driver, now=NOW)
        except (Invalid, NoValidHost):
            answers.append([])
            continue
        found = selections(
            state, request, picks.feasible, picks.picks, picks.spare, NOW
        )
        answers.append(
            [
                [
                    (
                        one.service_host,
                        one.nodename,
                        one.limits and one.limits.numa_topology,
                    )
                    for one in row
                ]
                for row in found
            ]
        )
    assert answers[0] == answers[1]
    return answers[0]


def _their_chosen(
    pair: FittedPair, uuids: tuple[str, ...], mends: tuple[str, ...]
) -> Answer:
    scheduler, asked = upstream.scheduler(pair.options), pair.asked()
    if asked.instance_group is not None:
        asked.instance_group.members = [*asked.instance_group.members, *uuids]
    with corrected(mends, scheduler, _passing(pair)):
        try:
            found = scheduler._legacy_find_hosts(
                None,
                len(uuids),
                asked,
                pair.states(),
                pair.options.max_attempts - 1,
                instance_uuids=list(uuids),
            )
        except exception.NoValidHost:
            return []
        except Exception as error:
            return error
    return [
        [(one.service_host, one.nodename, _limits(one)) for one in row] for row in found
    ]


def _limits(selection: Any) -> dict[str, Any] | None:
    found = (
        selection.limits.numa_topology if "numa_topology" in selection.limits else None
    )
    if found is None:
        return None
    near = found.network_metadata
    return {
        "cpu_allocation_ratio": found.cpu_allocation_ratio,
        "ram_allocation_ratio": found.ram_allocation_ratio,
        "network_metadata": {
            "physnets": sorted(near.physnets),
            "tunneled": near.tunneled,
        },
    }


def _of_one_cell(plan: Plan) -> Plan:
    """Of several, alternates may be fewer than Nova's (docs/deviations.md)."""
    hosts = [
        {**host, "service": {**host["service"], "cell_uuid": worlds.CELLS[0]}}
        for host in plan.hosts
    ]
    return dataclasses.replace(plan, hosts=hosts)


def test_many_instances_go_to_the_same_hosts(record_property: Tell) -> None:
    agreed: Counter[str] = Counter()
    met: Counter[str] = Counter()

    def run(
        plan: Plan, spec: RequestSpec, options: SchedulerOptions, many: int
    ) -> None:
        dice = Random(f"{SEED} {plan} {spec} {options}")
        plan = _of_one_cell(fitted_worlds.with_cells(plan, dice, has_pages=True))
        asked = fitted_worlds.asking(spec, dice)
        options = fitted_worlds.with_fitting(options, dice, (BOTH,))
        uuids = MANY[:many]
        told = [{**group, "policy": None} for group in plan.groups]
        with opened(plan, *asked, options) as pair:
            if isinstance(pair, Exception):
                return
            ours = _chosen(
                pair,
                reported(dataclasses.replace(plan, groups=told), pair.options).state(),
                uuids,
            )
            mends = _agreed_with(ours, lambda m: _their_chosen(pair, uuids, m), MENDS)
        met.update(mends)
        agreed["requests for many"] += 1
        agreed["instances placed"] += len(ours)
        agreed["alternates"] += sum(len(row) - 1 for row in ours)

    explore(
        run,
        worlds.working(worlds.plans(least=3, most=7)),
        _for_many(),
        _options_for_many(),
        st.integers(1, len(MANY)),
    )
    tell(record_property, agreed, met)


# -- smallest cases -------------------------------------------------------------------


def _host(name: str, topology: HostTopology, **facts: Any) -> dict[str, Any]:
    """Up, in the first cell."""
    service = {"last_seen_up": NOW, "cell_uuid": worlds.CELLS[0]}
    common = {"hypervisor_type": "QEMU", "hypervisor_version": 6, "service": service}
    return a_host(name, **common, **fitted_worlds.reported(topology), **facts)


def test_nova_asks_for_the_next_instance_what_the_first_was_given() -> None:
    """Pages of 2 MB, which only the host has where the first one is."""
    cpus = 0b1111
    cell = HostCell(0, cpus, cpus, 512, siblings=(1, 2, 4, 8))
    pages = (Pages(KIB_2M, 256),), (Pages(4, 1 << 17),)
    hosts = [
        _host(name, HostTopology((replace(cell, pages=one),)), free_ram_mb=free)
        for name, free, one in zip("ab", (2048, 1024), pages, strict=True)
    ]
    flavor = Flavor(1, 512, extra_specs={"hw:mem_page_size": "any"})
    spec = RequestSpec(flavor, Image(), instance_uuid=MANY[0])
    options = SchedulerOptions(enabled_filters=BOTH)
    plan = Plan(hosts)
    with opened(plan, spec, Ask((), is_given=False), options) as pair:
        assert isinstance(pair, FittedPair)
        ours = _chosen(pair, reported(plan, pair.options).state(), MANY[:2])
        assert [row[0][0] for row in ours] == ["a", "b"]
        assert _their_chosen(pair, MANY[:2], ()) == []
        assert _their_chosen(pair, MANY[:2], (FRESH_REQUESTS,)) == ours


@pytest.mark.parametrize(("name", "fits"), [("vf", False), ("card", True)])
def test_devices_of_the_flavor_are_taken_before_those_of_ports(
    name: str, fits: bool
) -> None:
    """The flavor's take the first pool that is like them, the only one for the port."""
    ids = {"vendor_id": "8086", "product_id": "10ed", "dev_type": "type-VF"}
    network = {"physical_network": "physnet0"}
    pools = (
        Pool(1, None, {**ids, **network}),
        Pool(1, None, {**ids, "physical_network": "physnet1", "trusted": "true"}),
        Pool(1, None, {**ids, "dev_type": "type-PCI"}),
    )
    flavor = Flavor(1, 512, extra_specs={"pci_passthrough:alias": f"{name}:1"})
    spec = RequestSpec(flavor, Image(), instance_uuid=MANY[0])
    options = SchedulerOptions(enabled_filters=BOTH[1:], pci_alias=ALIASES)
    port = {"count": 1, "spec": [network], "request_id": upstream.uuid_of("p")}
    plan = Plan([_host("a", HostTopology((), pools))])
    for is_given in (False, True):
        with opened(plan, spec, Ask((port,), is_given), options) as pair:
            assert isinstance(pair, FittedPair)
            ours = _chosen(pair, reported(plan, pair.options).state(), MANY[:1])
            assert bool(ours) is fits
            assert ours == _their_chosen(pair, MANY[:1], ())


@pytest.mark.parametrize(
    ("kind", "pinned", "passes"),
    [
        ("rebuild", 0b1111, True),
        ("resize", 0b1111, False),
        ("live_migrate", 0b1111, False),
        ("resize", 0b0011, True),
    ],
)
def test_only_a_rebuild_is_not_fitted_beside_what_the_host_counts(
    kind: str, pinned: int, passes: bool
) -> None:
    """What is pinned is pinned for the instance itself, which is there."""
    cpus = 0b1111
    cell = HostCell(0, cpus, cpus, 4096, pinned, siblings=(1, 2, 4, 8))
    plan = Plan([_host("a", HostTopology((cell,)))])
    flavor = Flavor(2, 512, extra_specs={"hw:cpu_policy": "dedicated"})
    hints: dict[str, tuple[str, ...]] = {"_nova_check_type": (kind,)}
    spec = RequestSpec(
        flavor,
        Image(),
        instance_uuid=MANY[0],
        force_hosts=("a",),
        scheduler_hints=hints,
    )
    options = SchedulerOptions(enabled_filters=BOTH)
    with opened(plan, spec, Ask((), is_given=False), options) as pair:
        assert isinstance(pair, FittedPair)
        ours = _chosen(pair, reported(plan, pair.options).state(), MANY[:1])
        assert bool(ours) is passes
        assert ours == _their_chosen(pair, MANY[:1], ())
