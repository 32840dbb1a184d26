"""Gantt and OpenStack Placement, both in this process, must tell the same stories.

GANTT_DIFFERENTIAL_EXAMPLES makes a run longer, GANTT_DIFFERENTIAL_SEED another one.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from gantt.conf import Settings
from tests.conformance.profiles import Profile, settings_of
from tests.conformance.upstream import VERSION
from tests.differential.compare import Differs
from tests.differential.pair import pair
from tests.differential.replay import retell, shorten
from tests.differential.story import Story
from tests.differential.upstream import upstream

EXAMPLES = int(os.environ.get("GANTT_DIFFERENTIAL_EXAMPLES", "10"))
FIRST_SEED = int(os.environ.get("GANTT_DIFFERENTIAL_SEED", "1"))

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return settings_of(Profile.OLD_DEFAULTS, tmp_path)


@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + EXAMPLES))
def test_both_services_give_equal_responses(
    seed: int, settings: Settings, record_property: Callable[[str, object], None]
) -> None:
    story = Story()
    replay = ""
    with pair(settings, upstream()) as both:
        try:
            story.tell(both, seed)
        except Differs as difference:
            replay = f"\n(not shortened)\n{difference}"
    if replay:
        found = retell(settings, shorten(settings, story.steps))
        if found:
            steps, text = found
            replay = "\n".join(["", *map(str, steps), text])
    assert not replay, f"seed {seed}:{replay}"
    tally = story.tally
    told = {"worlds": 1, "queries": tally.queries, "writes": tally.writes}
    record_property("told", [f"Agreed with OpenStack Placement {VERSION}", told])
    record_property("told", ["Known differences met", dict(tally.met)])
