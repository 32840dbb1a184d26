"""Every filter and weigher that Nova has, ours and Nova's own behind the adapter: the
same hosts pass with the same weights, whatever is asked of whatever fleet.

GANTT_NOVA_EXAMPLES makes a run longer, GANTT_NOVA_SEED another one.
"""

from __future__ import annotations

from collections import Counter

import pytest
from nova.weights import WeighedObject

from gantt.errors import GanttError, PluginFailed
from gantt.model.spec import RequestSpec
from gantt.scheduler.options import DEFAULT_MULTIPLIERS, SchedulerOptions
from gantt.scheduler.plugins.nova import LegacyFilter, LegacyWeigher
from tests.nova import known, upstream, worlds
from tests.nova.pair import (
    FILTERS,
    OUR_WEIGHERS,
    OURS,
    Pair,
    Tell,
    disagreements,
    explore,
    opened,
    tell,
)
from tests.nova.upstream import CONF, MULTIPLIERS, WEIGHERS
from tests.nova.upstream import FILTERS as THEIRS
from tests.scheduler.fleets import Plan

pytestmark = pytest.mark.filterwarnings("ignore:.*is an invalid UUID:FutureWarning")


def test_every_filter_of_nova_is_here() -> None:
    assert set(THEIRS) <= set(OURS)


@pytest.mark.parametrize("name", sorted(THEIRS))
def test_both_run_as_often(name: str) -> None:
    theirs = THEIRS[name]
    assert OURS[name].once == theirs.run_filter_once_per_request
    assert OURS[name].on_rebuild == theirs.RUN_ON_REBUILD


def test_the_same_hosts_pass(record_property: Tell) -> None:
    agreed: Counter[str] = Counter()
    met: Counter[str] = Counter()

    def run(plan: Plan, spec: RequestSpec, options: SchedulerOptions) -> None:
        with opened(plan, spec, options) as pair:
            for name in FILTERS:
                assert not disagreements(pair, name, met), name
                agreed["masks"] += 1
                agreed["verdicts"] += len(plan.hosts)

    explore(run, worlds.plans(), worlds.targeted(worlds.specs()), worlds.options())
    tell(record_property, agreed, met)


def test_every_weigher_of_nova_is_here() -> None:
    assert set(WEIGHERS) == set(OUR_WEIGHERS)


@pytest.mark.parametrize("name", MULTIPLIERS)
def test_multipliers_are_configured_alike(name: str) -> None:
    configured = (
        CONF.metrics.weight_multiplier
        if name == "metrics_weight_multiplier"
        else CONF.filter_scheduler[name]
    )
    assert configured == DEFAULT_MULTIPLIERS[name]


def test_scores_and_weights_are_the_same(record_property: Tell) -> None:
    agreed: Counter[str] = Counter()
    met: Counter[str] = Counter()

    def run(plan: Plan, spec: RequestSpec, options: SchedulerOptions) -> None:
        with opened(plan, spec, options) as pair:
            for name in WEIGHERS:
                _agree(pair, name, met)
                agreed["lists of weights"] += 1

    explore(run, worlds.plans(least=2), worlds.specs_with_cells(), worlds.options())
    tell(record_property, agreed, met)


def _agree(pair: Pair, name: str, met: Counter[str]) -> None:
    theirs = pair.their_weights(WEIGHERS[name]())
    ours = pair.our_weights(OUR_WEIGHERS[name])
    if isinstance(theirs, Exception):
        if isinstance(ours, GanttError):
            return
        factor = pair.options.multiplier("metrics_weight_multiplier")
        assert name == "MetricsWeigher" and factor == 0.0, (name, theirs)
        met[known.COUNTS_NOTHING] += 1
        return
    assert not isinstance(ours, GanttError), (name, ours)
    assert ours[1] == theirs[1], name
    if ours[0] is not None:
        least = WEIGHERS[name].minval
        raw = ours[0] if least is None else [max(least, one) for one in ours[0]]
        assert raw == theirs[0], name


# It asks databases for the images of instances, which no plug-in can do here.
ADAPTED = sorted(set(upstream.WEIGHERS) - {"ImagePropertiesWeigher"})


def test_filters_judge_our_hosts_as_novas(record_property: Tell) -> None:
    agreed: Counter[str] = Counter()

    def run(plan: Plan, spec: RequestSpec, options: SchedulerOptions) -> None:
        with opened(plan, spec, options) as pair:
            for name in FILTERS:
                theirs = pair.theirs(upstream.FILTERS[name]())
                ours = pair.ours(LegacyFilter(upstream.FILTERS[name]()))
                failed = [isinstance(one, Exception) for one in theirs]
                if failed and all(failed):
                    assert isinstance(ours, PluginFailed) and name in str(ours)
                else:
                    # A host for which it fails is refused.
                    expected = [
                        not isinstance(one, Exception) and one for one in theirs
                    ]
                    assert ours == expected, name
                agreed["masks through the adapter"] += 1

    explore(run, worlds.plans(), worlds.specs(), worlds.options())
    tell(record_property, agreed, Counter())


def test_weighers_score_our_hosts_as_novas(record_property: Tell) -> None:
    agreed: Counter[str] = Counter()

    def run(plan: Plan, spec: RequestSpec, options: SchedulerOptions) -> None:
        with opened(plan, spec, options) as pair:
            for name in ADAPTED:
                _agree_adapted(pair, name)
                agreed["scores through the adapter"] += 1

    explore(run, worlds.plans(least=2), worlds.specs_with_cells(), worlds.options())
    tell(record_property, agreed, Counter())


def _agree_adapted(pair: Pair, name: str) -> None:
    theirs = pair.their_weights(upstream.WEIGHERS[name]())
    adapter = LegacyWeigher(upstream.WEIGHERS[name]())
    ours = pair.our_weights(adapter)
    if isinstance(theirs, Exception):
        assert isinstance(ours, PluginFailed) and name in str(ours)
        return
    assert not isinstance(ours, GanttError), ours
    assert ours[1] == theirs[1], name


def test_weighed_objects_are_what_nova_makes() -> None:
    # The adapter gives such objects to weigh_objects of a plug-in.
    assert set(vars(WeighedObject(None, 0.0))) == {"obj", "weight"}
