"""Nova's own filters and weighers behind the adapter say of our hosts what they say of
Nova's."""

from __future__ import annotations

from collections import Counter

import pytest
from nova.weights import WeighedObject

from gantt.errors import GanttError, PluginFailed
from gantt.model.spec import RequestSpec
from gantt.scheduler.options import SchedulerOptions
from gantt.scheduler.plugins.nova import LegacyFilter, LegacyWeigher
from tests.nova import upstream, worlds
from tests.nova.pair import FILTERS, Pair, Tell, explore, opened, tell
from tests.scheduler.fleets import Plan

pytestmark = pytest.mark.filterwarnings("ignore:.*is an invalid UUID:FutureWarning")

# It asks databases for the images of instances, which no plug-in can do here.
WEIGHERS = sorted(set(upstream.WEIGHERS) - {"ImagePropertiesWeigher"})


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
            for name in WEIGHERS:
                _agree(pair, name)
                agreed["scores through the adapter"] += 1

    explore(run, worlds.plans(least=2), worlds.specs_with_cells(), worlds.options())
    tell(record_property, agreed, Counter())


def _agree(pair: Pair, name: str) -> None:
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
