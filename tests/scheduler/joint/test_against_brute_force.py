"""On fleets small enough to try all: no demand is refused although it has a place, and
what is planned keeps everything."""

from __future__ import annotations

import re

import pytest

from gantt.errors import Invalid, NoValidHost
from tests.examples import examples
from tests.scheduler.joint.demands import case_of, keeps, opened, ways

_AT_ONCE = 20
_NEVER = re.compile("itself|a cycle of|cannot be so and|No host has|which has no")


@pytest.mark.parametrize("part", range(examples(200) // _AT_ONCE))
def test_a_demand_has_a_place_where_there_is_one(part: int) -> None:
    for seed in range(part * _AT_ONCE, (part + 1) * _AT_ONCE):
        case = case_of(seed)
        with opened(case) as books:
            try:
                plan = books.place(*case.items, *case.relations)
            except Invalid as refusal:
                assert _NEVER.search(str(refusal)), (seed, str(refusal))
                continue
            except NoValidHost as refusal:
                assert next(ways(case), None) is None, (seed, str(refusal))
                continue
            way = {one.name: one.host for one in plan.placements}
            assert keeps(case, way), (seed, way)
