"""Where masks and scores come from. Drivers of other packages are
``contract.Chooser``."""

from __future__ import annotations

from gantt.errors import Invalid
from gantt.model.spec import RequestSpec
from gantt.placement.candidates.combination import Budget
from gantt.scheduler.evaluation.choosers import GuardedChooser
from gantt.scheduler.evaluation.evaluation import evaluate
from gantt.scheduler.evaluation.feasible_hosts import FeasibleHosts
from gantt.scheduler.evaluation.shapes import Shapes
from gantt.scheduler.feasibility.candidate_sources import CandidateSource
from gantt.scheduler.plugins.policy import Policy, without
from gantt.scheduler.stages import Mark
from gantt.state.state import State


class Driver:
    """Made once per engine with its ``policy``. It may remember, but what it answers
    depends on its arguments alone. It is asked once at a time. ``name``: in options and
    records. ``chooser``: which of the hosts that pass are tried; None: the best by
    weight."""

    def __init__(
        self,
        policy: Policy,
        name: str,
        chooser: GuardedChooser | None = None,
        *,
        keeps: bool = False,
        is_fixed: bool = False,
    ) -> None:
        """``keeps``: evaluations are kept for requests of the same shape.
        ``is_fixed``: its filters are not chosen by options."""
        self.policy = policy
        self.name = name
        self.chooser = chooser
        self._shapes = Shapes(policy) if keeps else None
        self._is_fixed = is_fixed
        self.fits = 0
        self.fits_spent = 0
        self.fits_cut = 0
        self.relations_cut = 0
        self.joint_found = 0
        self.joint_cut = 0

    def counts(self) -> dict[str, float]:
        """What was counted so far, by name; for metrics."""
        return {
            "topology_fits": self.fits,
            "topology_fits_spent": self.fits_spent,
            "topology_fits_cut": self.fits_cut,
            "relations_cut": self.relations_cut,
            "joint_found": self.joint_found,
            "joint_cut": self.joint_cut,
            "shapes_kept": self.kept,
            "shape_hits": self.hits,
            "shape_misses": self.misses,
        }

    @property
    def kept(self) -> int:
        """How many shapes of requests are remembered."""
        return 0 if self._shapes is None else len(self._shapes)

    @property
    def hits(self) -> int:
        """Requests of a shape that was kept."""
        return 0 if self._shapes is None else self._shapes.hits

    @property
    def misses(self) -> int:
        """Requests of another."""
        return 0 if self._shapes is None else self._shapes.misses

    def feasible_hosts(
        self,
        state: State,
        spec: RequestSpec,
        source: CandidateSource,
        *,
        now: int,
        budget: Budget,
        is_trial: bool = False,
        mark: Mark | None = None,
    ) -> FeasibleHosts:
        """Which hosts pass, and how good each is. ``source``: decides amounts.
        ``is_trial``: the request will not be asked again and need not be remembered.
        ``mark``: is told of the stages. Raises Invalid, NoValidHost, UnknownName."""
        if self._shapes is not None and source.is_lasting and not is_trial:
            # Kept plug-ins also judge hosts that others exclude; whether their refusal
            # applies, and which comes first, needs a fresh evaluation.
            try:
                return self._shapes.feasible_hosts(
                    state, spec, source, now, budget, mark
                )
            except Invalid:
                pass
        return evaluate(state, spec, source, self.policy, now, budget, mark)

    def trial(self) -> Driver:
        """A driver that decides as this one, keeps nothing, and counts for itself:
        others may ask this one between two steps of a trial."""
        fixed = self._is_fixed
        return Driver(self.policy, self.name, self.chooser, is_fixed=fixed)

    def add_counts(self, other: Driver) -> None:
        """What a ``trial`` counted counts here, too."""
        self.fits += other.fits
        self.fits_spent += other.fits_spent
        self.fits_cut += other.fits_cut
        self.relations_cut += other.relations_cut

    def without(self, name: str) -> Driver | None:
        """A driver that decides the same way without the filter ``name``; None: this
        one needs it."""
        if self._is_fixed:
            return None
        return Driver(without(self.policy, name), self.name, self.chooser)
