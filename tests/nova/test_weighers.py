"""Every weigher that Nova has: the same raw scores and the same weights, to the last
bit."""

from __future__ import annotations

from collections import Counter

import pytest

from gantt.errors import GanttError
from gantt.model.spec import RequestSpec
from gantt.scheduler.options import DEFAULT_MULTIPLIERS, SchedulerOptions
from tests.nova import known, worlds
from tests.nova.pair import OUR_WEIGHERS, Pair, Tell, explore, opened, tell
from tests.nova.upstream import CONF, MULTIPLIERS, WEIGHERS
from tests.scheduler.fleets import Plan

pytestmark = pytest.mark.filterwarnings("ignore:.*is an invalid UUID:FutureWarning")


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
