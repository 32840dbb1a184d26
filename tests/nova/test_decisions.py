"""Whole decisions: named hosts, the chain of filters, weights and order; and many
instances at once, each seeing those before it, with alternates."""

from __future__ import annotations

import dataclasses
from collections import Counter
from typing import Any

import pytest
from hypothesis import strategies as st
from msgspec.structs import replace
from nova import exception

from gantt.errors import Invalid, NoValidHost
from gantt.model.spec import InstanceGroup, RequestSpec, ScheduleRequest
from gantt.placement.candidates.combination import Budget
from gantt.scheduler import cycle
from gantt.scheduler.evaluation.known_drivers import filtering
from gantt.scheduler.feasibility.candidate_sources import BookSource
from gantt.scheduler.hosts import Taken
from gantt.scheduler.options import SchedulerOptions
from gantt.scheduler.plugins.policy import Policy, policy_of
from gantt.scheduler.request.job import Job
from gantt.scheduler.scoring import host_weights
from gantt.scheduler.selection.answer import selections
from gantt.state.state import State
from tests.nova import known, upstream, worlds
from tests.nova.pair import Pair, Tell, explore, opened, reported, tell
from tests.scheduler.fleets import NOW, Plan

pytestmark = pytest.mark.filterwarnings("ignore:.*is an invalid UUID:FutureWarning")

MANY = ("new-1", "new-2", "new-3", "new-4")
Ranking = list[tuple[str, str, float]]


class Unlimited(BookSource):
    """Filters and weighers decide alone, as if every host had room in the books."""

    def prepare(
        self, state: State, spec: RequestSpec, options: SchedulerOptions
    ) -> Job:
        del state, options
        return Job(
            spec, (), Taken(spec.flavor.vcpus, spec.flavor.memory_mb, spec.disk_mb)
        )


def _policy(options: SchedulerOptions) -> Policy:
    """With the weighers in Nova's order, since sums depend on it in the last bit."""
    policy = policy_of(options)
    places = list(upstream.WEIGHERS)
    theirs = [one for one in policy.weighers if one.name in places]
    in_order = sorted(theirs, key=lambda one: places.index(one.name))
    return replace(policy, weighers=tuple(in_order))


def _ours(pair: Pair, state: State) -> Ranking | Exception:
    try:
        field = filtering(_policy(pair.options)).feasible_hosts(
            state, pair.spec, Unlimited(), now=NOW, budget=Budget()
        )
    except Invalid as error:
        return error
    names, nodes = field.hosts.names, field.hosts.nodes
    order = host_weights.best(field.weights, len(field.hosts)).tolist()
    return [(names[at], nodes[at], float(field.weights[at])) for at in order]


def _theirs(pair: Pair) -> Ranking | Exception:
    asked, hosts = pair.asked(), upstream.scheduler(pair.options).host_manager
    try:
        passing = hosts.get_filtered_hosts(_in_cell(pair), asked)
        weighed = hosts.get_weighed_hosts(passing, asked)
    except Exception as error:
        return error
    return [(one.obj.host, one.obj.nodename, one.weight) for one in weighed]


def _in_cell(pair: Pair) -> list[Any]:
    """Nova reads the hosts of the one cell that a request is bound to."""
    place = pair.spec.requested_destination
    if place is None or place.cell_uuid is None or place.allow_cross_cell_move:
        return pair.states()
    return [one for one in pair.states() if one.cell_uuid == place.cell_uuid]


def test_the_same_hosts_in_the_same_order(record_property: Tell) -> None:
    agreed: Counter[str] = Counter()
    met: Counter[str] = Counter()

    def run(plan: Plan, spec: RequestSpec, options: SchedulerOptions) -> None:
        with opened(plan, known.with_slash(spec), options) as pair:
            theirs, ours = (
                _theirs(pair),
                _ours(pair, reported(plan, pair.options).state()),
            )
        if isinstance(theirs, Exception) or isinstance(ours, Exception):
            _explain(theirs, ours, options, met)
            return
        assert ours == theirs
        agreed["chains"] += 1
        agreed["hosts in order"] += len(theirs)

    specs = worlds.specs()
    explore(
        run,
        worlds.working(worlds.plans(least=2)) | worlds.plans(least=2),
        worlds.targeted(worlds.easy(specs) | specs),
        worlds.options(),
    )
    tell(record_property, agreed, met)


def _explain(
    theirs: object, ours: object, options: SchedulerOptions, met: Counter[str]
) -> None:
    """One side, or both, could not judge; what each filter says is compared by
    itself."""
    if isinstance(ours, Exception) and isinstance(theirs, Exception):
        return
    if isinstance(ours, Exception):
        texts = ("is not a number", "make no network")
        assert isinstance(ours, Invalid) and any(one in str(ours) for one in texts)
        met[known.UNREAD] += 1
    elif isinstance(theirs, exception.ComputeHostMetricNotFound):
        assert options.multiplier("metrics_weight_multiplier") == 0.0
        met[known.COUNTS_NOTHING] += 1
    else:
        assert isinstance(theirs, Exception)
        is_text = known.is_cpu_text(theirs)
        assert is_text or known.is_unreadable(theirs), theirs
        met[known.TEXT_OF_CPU if is_text else known.UNREADABLE] += 1


def _have_several_cells(plan: Plan) -> bool:
    return len({host["service"]["cell_uuid"] for host in plan.hosts}) > 1


def _for_many() -> st.SearchStrategy[RequestSpec]:
    """What matters between picks: groups, amounts, limits; without what only one side
    refuses."""
    groups = st.builds(
        InstanceGroup,
        uuid=st.sampled_from(["g1", "g2"]),
        policy=st.sampled_from(
            ["affinity", "anti-affinity", "soft-affinity", "soft-anti-affinity", None]
        ),
        max_server_per_host=st.integers(1, 2),
        members=st.frozensets(st.sampled_from(["i1", "i2", "i3"]), max_size=2),
    )
    return st.builds(
        lambda spec, group: replace(
            spec,
            is_bfv=False,
            instance_uuid=MANY[0],
            instance_group=group,
        ),
        worlds.easy(worlds.specs()),
        st.none() | groups,
    )


def _options_for_many() -> st.SearchStrategy[SchedulerOptions]:
    limits = (
        "NumInstancesFilter",
        "IoOpsFilter",
        "AggregateIoOpsFilter",
        "AggregateNumInstancesFilter",
    )
    return st.builds(
        lambda options, extra: replace(
            options,
            metrics_weight_setting={},
            # Nova's weigher of images fails on the stubs that its picks leave behind.
            multipliers={**options.multipliers, "image_props_weight_multiplier": 0.0},
            enabled_filters=(*SchedulerOptions().enabled_filters, *extra),
        ),
        worlds.options(),
        st.lists(st.sampled_from(limits), max_size=2, unique=True).map(tuple),
    )


def test_many_instances_go_to_the_same_hosts(record_property: Tell) -> None:
    agreed: Counter[str] = Counter()

    def run(
        plan: Plan, spec: RequestSpec, options: SchedulerOptions, count: int
    ) -> None:
        uuids = MANY[:count]
        with opened(plan, spec, options) as pair:
            theirs = _selected(pair, uuids)
            # Nova's caller gives the rule of a group, and what was told of it is ours.
            told = [{**group, "policy": None} for group in plan.groups]
            ours = _chosen(
                pair,
                reported(dataclasses.replace(plan, groups=told), pair.options).state(),
                uuids,
            )
        if _have_several_cells(plan):
            # Alternates are taken from the best hosts only (docs/deviations.md).
            theirs = [
                longer[: len(row)] for row, longer in zip(ours, theirs, strict=True)
            ]
            assert all(ours)
        assert ours == theirs
        agreed["requests for many"] += 1
        agreed["instances placed"] += len(theirs)

    explore(
        run,
        worlds.working(worlds.plans(least=1)),
        _for_many(),
        _options_for_many(),
        st.integers(1, len(MANY)),
    )
    tell(record_property, agreed, Counter())


def _selected(pair: Pair, uuids: tuple[str, ...]) -> list[list[tuple[str, str]]]:
    """Hosts and alternates as Nova finds them; none: no valid host."""
    asked, scheduler = pair.asked(), upstream.scheduler(pair.options)
    if asked.instance_group is not None:
        # Its API makes them members before it asks for their hosts.
        asked.instance_group.members = [*asked.instance_group.members, *uuids]
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
    return [[(one.service_host, one.nodename) for one in row] for row in found]


def _chosen(
    pair: Pair, state: State, uuids: tuple[str, ...]
) -> list[list[tuple[str, str]]]:
    driver = filtering(_policy(pair.options))
    request = ScheduleRequest(pair.spec, uuids)
    try:
        picks = cycle.decide(state, request, Unlimited(), driver, now=NOW)
    except NoValidHost:
        return []
    found = selections(state, request, picks.feasible, picks.picks, picks.spare, NOW)
    return [[(one.service_host, one.nodename) for one in row] for row in found]
