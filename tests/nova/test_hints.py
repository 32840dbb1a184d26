"""Hints and named hosts that meet: a request for neighbours, a group and hosts by name
at once gets the hosts that Nova finds, and is refused only what can never fit."""

from __future__ import annotations

from collections import Counter
from typing import Any
from unittest import mock

import pytest
from hypothesis import strategies as st
from msgspec.structs import replace
from nova import context, exception
from nova.scheduler import utils

from gantt.engine.factory import standard_names
from gantt.errors import Invalid, NoValidHost
from gantt.model.changes import Cursor
from gantt.model.spec import Destination, Flavor, InstanceGroup, RequestSpec
from gantt.placement.candidates.combination import Budget
from gantt.placement.rules import plan
from gantt.scheduler.evaluation.driver import Driver
from gantt.scheduler.evaluation.known_drivers import caching, filtering
from gantt.scheduler.options import SchedulerOptions
from gantt.scheduler.plugins.policy import policy_of
from gantt.state.state import State
from tests.nova import upstream, worlds
from tests.nova.pair import EXAMPLES, Pair, Tell, explore, opened, tell
from tests.scheduler.desk import source
from tests.scheduler.fleets import HOST_NAMES, NOW, Plain, Plan, a_host

pytestmark = pytest.mark.filterwarnings("ignore:.*is an invalid UUID:FutureWarning")

MANY = 5 * EXAMPLES
NAMES = ("i1", "i2", "i3", "twin", "gone")
Places = set[tuple[str, str]]


def _fleets() -> st.SearchStrategy[Plan]:
    """Hosts of one node or two, with room for anything and known to Placement; a few
    instances."""
    places = st.tuples(st.sampled_from(HOST_NAMES[:4]), st.sampled_from("ab"))
    return st.lists(places, min_size=2, max_size=6, unique=True).map(_fleet)


def _fleet(places: list[tuple[str, str]]) -> Plan:
    hosts: list[Plain] = []
    for number, (name, letter) in enumerate(places):
        mine: Plain = {f"i{number + 1}": {}, **({"twin": {}} if number == 0 else {})}
        is_first = name not in {other["host"] for other in hosts}
        node = f"{name}-{letter}"
        facts = {
            "node": node,
            "uuid": upstream.uuid_of(node),
            "service": {"last_seen_up": NOW, "cell_uuid": worlds.CELLS[0]},
            "hypervisor_type": "QEMU",
            "hypervisor_version": 6_002_000,
            "hypervisor_hostname": node,
            "cpu_info": {},
            "metrics": [],
            "instances": mine if is_first else {},
        }
        hosts.append(a_host(name, **facts))
    return Plan(hosts)


def _state(fleet: Plan) -> State:
    """With the standard classes and traits."""
    state = fleet.state()
    names = plan(state, standard_names(), NOW)
    state.apply(names.changes, Cursor(state.revision + 1, "names"))
    return state


def _names(most: int = 3) -> st.SearchStrategy[tuple[str, ...]]:
    return st.lists(st.sampled_from(NAMES), max_size=most, unique=True).map(tuple)


def _hints() -> st.SearchStrategy[dict[str, tuple[str, ...]]]:
    """Mostly both, with names in common."""
    both = st.fixed_dictionaries({"same_host": _names(), "different_host": _names()})
    shared = st.builds(
        lambda near, more: {"same_host": near, "different_host": (*near[:1], *more)},
        _names(),
        _names(2),
    )
    some = st.fixed_dictionaries(
        {}, optional={"same_host": _names(), "different_host": _names()}
    )
    return shared | both | some


def _specs() -> st.SearchStrategy[RequestSpec]:
    hosts = st.sampled_from(("h1", "h2", "h3", "H1", "H2", "elsewhere"))
    # Nova's database, which may mind the case, looks up a host that is requested.
    exact = st.sampled_from(("h1", "h2", "h3", "elsewhere"))
    few = st.lists(hosts, min_size=1, max_size=2, unique=True).map(tuple)
    nodes = st.sampled_from(("h1-a", "h1-b", "h2-a", "h3-a", "nowhere"))
    none: st.SearchStrategy[tuple[str, ...]] = st.just(())
    groups = st.builds(
        InstanceGroup,
        uuid=st.just("g1"),
        policy=st.sampled_from(("affinity", "anti-affinity")),
        members=st.frozensets(st.sampled_from(NAMES), max_size=3),
    )
    return st.builds(
        RequestSpec,
        flavor=st.just(Flavor(vcpus=1)),
        instance_uuid=st.just("new"),
        scheduler_hints=_hints(),
        ignore_hosts=none | none | few,
        force_hosts=none | none | few,
        force_nodes=none | none | none | st.tuples(nodes),
        requested_destination=st.none()
        | st.none()
        | st.builds(Destination, host=exact, node=st.none() | nodes),
        instance_group=st.none() | st.none() | groups,
    )


def _options() -> st.SearchStrategy[SchedulerOptions]:
    default = SchedulerOptions().enabled_filters
    both = (*default, "SameHostFilter", "DifferentHostFilter")
    chosen = (both, both, both, (*default, "SameHostFilter"), default)
    return st.builds(
        lambda names: SchedulerOptions(enabled_filters=names), st.sampled_from(chosen)
    )


def _theirs(pair: Pair) -> Places:
    """What Nova asks Placement for, and what its filters leave of that."""
    asked, states = pair.asked(), pair.states()
    computes = {
        state.uuid: mock.Mock(
            uuid=state.uuid, host=state.host, hypervisor_hostname=state.nodename
        )
        for state in states
    }

    def found(_: object, host: str | None, node: str | None, cell: Any) -> list[Any]:
        # As a database that does not mind the case.
        return [
            one
            for one in computes.values()
            if (not host or one.host.lower() == host.lower())
            and (not node or one.hypervisor_hostname == node)
        ]

    manager = mock.Mock(get_compute_nodes_by_host_or_node=found)
    try:
        wanted = utils.resources_from_request_spec(
            context.get_admin_context(), asked, manager
        )
    except exception.NoValidHost:
        return set()
    tree = wanted.get_request_group(None).in_tree
    left = [one for one in states if tree in (None, one.uuid)]
    hosts = upstream.scheduler(pair.options).host_manager
    passing = hosts.get_filtered_hosts(left, asked)
    return {(one.host, one.nodename) for one in passing}


def _ours(driver: Driver, state: State, spec: RequestSpec) -> Places | Invalid:
    try:
        field = driver.feasible_hosts(
            state, spec, source(False), now=NOW, budget=Budget()
        )
    except NoValidHost:
        return set()
    except Invalid as error:
        return error
    return set(zip(field.hosts.names, field.hosts.nodes, strict=True))


def test_hints_and_named_hosts_that_meet(record_property: Tell) -> None:
    agreed: Counter[str] = Counter()

    def run(fleet: Plan, spec: RequestSpec, options: SchedulerOptions) -> None:
        with opened(fleet, spec, options) as pair:
            theirs = _theirs(pair)
        policy, state = policy_of(options), _state(fleet)
        warm = caching(policy)
        # Of the same shape, so that what follows is kept.
        _ours(warm, state, replace(spec, scheduler_hints={}, instance_group=None))
        for driver in (filtering(policy), warm, warm):
            ours = _ours(driver, state, spec)
            if isinstance(ours, Invalid):
                assert theirs == set(), (str(ours), theirs)
                assert "host" in str(ours), ours
                agreed["refused"] += 1
            else:
                assert ours == theirs
        near, far = (
            {*spec.scheduler_hints.get(name, ())}
            for name in ("same_host", "different_host")
        )
        agreed["cases"] += 1
        agreed["cases with hosts"] += bool(theirs)
        agreed["cases of hints that overlap"] += bool(near & far)
        agreed["those with hosts"] += bool(near & far and theirs)

    # Small fleets are drawn quickly, and what meets has many kinds.
    explore(run, _fleets(), _specs(), _options(), examples=MANY)
    assert agreed["those with hosts"] and agreed["refused"]
    tell(record_property, agreed, Counter())
