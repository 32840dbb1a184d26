"""Every filter that Nova has: the same hosts pass, whatever is asked of whatever fleet.

GANTT_NOVA_EXAMPLES makes a run longer, GANTT_NOVA_SEED another one.
"""

from __future__ import annotations

from collections import Counter

import pytest

from gantt.model.spec import RequestSpec
from gantt.scheduler.options import SchedulerOptions
from tests.nova import worlds
from tests.nova.pair import FILTERS, OURS, Tell, disagreements, explore, opened, tell
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
