"""How far plans are from the best of all ways, by the weights of the hosts that they
take: ``python -m tests.scheduler.joint.regret [CASES]``.

The weights are those of an idle fleet. Regret is what a plan lacks of the best way, as
a part of what lies between the best and the worst.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Mapping

from msgspec.structs import replace

from gantt.engine.gantt import Gantt
from gantt.errors import Invalid, NoValidHost
from gantt.model.demand import Demand
from gantt.scheduler.options import SchedulerOptions
from gantt.scheduler.request.plain_item import wishes
from tests.scheduler.joint.demands import Case, case_of, keeps, opened, ways


def main(cases: int) -> None:
    """Prints what was found of so many cases."""
    placed, refused, wrong = list[float](), 0, list[int]()
    for seed in range(cases):
        case = case_of(seed)
        with opened(case) as books:
            try:
                plan = books.place(*case.items, *case.relations, dry_run=True)
            except Invalid:
                continue
            except NoValidHost:
                refused += 1
                if next(ways(case), None) is not None:
                    wrong.append(seed)
                continue
            way = {one.name: one.host for one in plan.placements}
            if not keeps(case, way):
                wrong.append(seed)
            placed.append(_regret(books, case, way))
    best = sum(1 for one in placed if one < 1e-9)
    print(f"{len(placed)} placed, {refused} refused; wrong: {wrong or 'none'}")
    print(
        f"best way: {best}; regret: {statistics.fmean(placed):.1%} on average, "
        f"{statistics.quantiles(placed, n=100)[94]:.1%} at the 95th percentile"
    )


def _regret(books: Gantt, case: Case, way: Mapping[str, str]) -> float:
    weights = _weights(books, case)
    scores = [_score(weights, each) for each in ways(case)]
    best, worst = max(scores), min(scores)
    if best - worst < 1e-9:
        return 0.0
    return (best - _score(weights, way)) / (best - worst)


def _score(weights: Mapping[str, Mapping[str, float]], way: Mapping[str, str]) -> float:
    return sum(weights[name].get(host, 0.0) for name, host in way.items())


def _weights(books: Gantt, case: Case) -> dict[str, dict[str, float]]:
    """Thing -> host -> its weight."""
    found = {}
    demand = Demand(tuple(case.items), dry_run=True)
    for wish in books.read(lambda state: wishes(state, demand, SchedulerOptions())):
        spec = replace(wish.request.spec, num_instances=1)
        decision = books.decide(replace(wish.request, spec=spec))
        weights = {one.host: one.weight for one in decision.scores}
        found.update(dict.fromkeys(wish.item.names, weights))
    return found


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000)
