"""Both read one plan: Nova's filters and weighers, and ours."""

from __future__ import annotations

import dataclasses
import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from nova.weights import WeighedObject, normalize

from gantt.errors import GanttError, Invalid, PluginFailed
from gantt.model.spec import RequestSpec
from gantt.scheduler.contract import Filter, Request, Weigher
from gantt.scheduler.hosts import Hosts
from gantt.scheduler.options import SchedulerOptions
from gantt.scheduler.plugins.registry import built_in, built_in_filters
from gantt.scheduler.scoring import weighers as weigher_modules
from gantt.scheduler.scoring.scale import scales_of, total
from tests.nova import known, upstream
from tests.nova.worlds import known_to_all
from tests.scheduler.fleets import NOW, Plan, all_hosts

EXAMPLES = int(os.environ.get("GANTT_NOVA_EXAMPLES", "20"))
SEED = int(os.environ.get("GANTT_NOVA_SEED", "1"))

FITTING = frozenset(("NUMATopologyFilter", "PciPassthroughFilter"))
"""Their masks are necessary conditions, so the comparison filter by filter leaves them
out: ``test_topology_filters`` compares them with the fit behind them, and
``test_fitted_decisions`` whole decisions."""

OURS = {name: one() for name, one in built_in_filters().items()}
OUR_WEIGHERS = {
    name: one()
    for name, one in built_in(weigher_modules, Weigher).items()
    if name not in ("RoomWeigher", "PreferredLabelsWeigher")
}
"""Those that Nova has, too."""
FILTERS = sorted(set(upstream.FILTERS) - FITTING)

RATIOS = ("cpu_allocation_ratio", "ram_allocation_ratio", "disk_allocation_ratio")

Tell = Callable[[str, object], None]
Verdicts = list[bool | Exception]


def explore(
    run: Callable[..., None],
    *strategies: st.SearchStrategy[Any],
    examples: int = EXAMPLES,
) -> None:
    """Call ``run`` with so many examples; the same ones for the same seed."""
    chosen = settings(
        max_examples=examples,
        database=None,
        deadline=None,
        derandomize=False,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    seed(SEED)(chosen(given(*strategies)(run)))()


def tell(record: Tell, agreed: Counter[str], met: Counter[str]) -> None:
    """For the lines at the end of a run."""
    record("told", [f"Agreed with Nova {upstream.VERSION}", dict(agreed)])
    record("told", ["Known differences from Nova met", dict(met)])


def reported(plan: Plan, options: SchedulerOptions) -> Plan:
    """The plan with the ratios of hosts as they are settled when Nova reports them."""
    usual = dict(zip(RATIOS, options.novas_ratios, strict=True))
    hosts = [
        {**one, **{name: one.get(name) or usual[name] for name in RATIOS}}
        for one in plan.hosts
    ]
    return dataclasses.replace(plan, hosts=hosts)


class Pair:
    """One plan, spec and options, as both sides see them; use it as ``opened``."""

    def __init__(self, plan: Plan, spec: RequestSpec, options: SchedulerOptions):
        self.plan = plan
        self.spec = spec
        self.options = options
        self.hosts: Hosts = all_hosts(reported(plan, options).state())

    @property
    def request(self) -> Request:
        """What ours read."""
        return Request(self.spec, self.options, NOW)

    def asked(self) -> Any:
        """What Nova's read."""
        return upstream.request_spec(known_to_all(self.spec, self.plan))

    def states(self) -> list[Any]:
        """The hosts as Nova's read them."""
        return upstream.host_states(self.plan)

    def with_spec(self, spec: RequestSpec) -> Pair:
        """The same, asked something else."""
        return Pair(self.plan, spec, self.options)

    # -- filters ------------------------------------------------------------------

    def theirs(
        self, one: Any, mend: Callable[[Any], Any] = lambda state: state
    ) -> Verdicts:
        """What Nova's filter says of each host."""
        asked = self.asked()
        found: Verdicts = []
        for state in map(mend, self.states()):
            try:
                found.append(bool(one._filter_one(state, asked)))
            except Exception as error:
                found.append(error)
        return found

    def ours(self, one: Filter) -> list[bool] | GanttError:
        """What our filter says of each host, or of the request. Which filters a
        rebuild goes through is for the cycle to say."""
        if self.spec.is_rebuild and not one.on_rebuild:
            return [True] * len(self.hosts)
        try:
            return [bool(value) for value in one.mask(self.hosts, self.request)]
        except (Invalid, PluginFailed) as error:
            return error

    # -- weighers -----------------------------------------------------------------

    def their_weights(self, one: Any) -> tuple[list[float], list[float]] | Exception:
        """Raw scores, and normalised ones times their multipliers."""
        states, asked = self.states(), self.asked()
        try:
            raw = one.weigh_objects([WeighedObject(s, 0.0) for s in states], asked)
            factors = [one.weight_multiplier(state) for state in states]
        except Exception as error:
            return error
        scaled = normalize(list(raw), one.minval, one.maxval)
        return list(raw), [f * x for f, x in zip(factors, scaled, strict=True)]

    def our_weights(
        self, one: Weigher
    ) -> tuple[list[float] | None, list[float]] | GanttError:
        """The same; raw scores None where hosts need not be told apart."""
        try:
            scales = scales_of(self.hosts, self.request, (one,))
        except (Invalid, PluginFailed) as error:
            return error
        weights = total(scales, len(self.hosts)).tolist()
        return (scales[0].raw.tolist() if scales else None), weights


@contextmanager
def opened(plan: Plan, spec: RequestSpec, options: SchedulerOptions) -> Iterator[Pair]:
    """Nova configured by the same options."""
    with upstream.configured(options):
        yield Pair(plan, spec, options)


def disagreements(
    pair: Pair, name: str, met: Counter[str]
) -> list[tuple[int, object, object]]:
    """(place, Nova's verdict, ours) where nothing known explains the difference."""
    theirs, ours = pair.theirs(upstream.FILTERS[name]()), pair.ours(OURS[name])
    if isinstance(ours, GanttError):
        if all(isinstance(one, Exception) for one in theirs):
            return []
        met[known.UNREAD] += 1
        mended = pair.with_spec(known.readable(pair.spec))
        if mended.spec == pair.spec:
            return [(-1, theirs, ours)]
        return disagreements(mended, name, met)
    if theirs == ours:
        return []
    slashed = known.with_slash(pair.spec)
    if name == "SimpleCIDRAffinityFilter" and slashed != pair.spec:
        met[known.PREFIX] += 1
        return disagreements(pair.with_spec(slashed), name, met)
    if any(isinstance(one, Exception) and known.is_cpu_text(one) for one in theirs):
        met[known.TEXT_OF_CPU] += 1
        theirs = pair.theirs(upstream.FILTERS[name](), known.read_cpu)
    found: list[tuple[int, object, object]] = []
    for place, (one, other) in enumerate(zip(theirs, ours, strict=True)):
        if isinstance(one, Exception) and known.is_unreadable(one) and not other:
            met[known.UNREADABLE] += 1
        elif one != other:
            found.append((place, one, other))
    return found
