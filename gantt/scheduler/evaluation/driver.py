"""What a driver is. Those of other packages are ``contract.Chooser``."""

from __future__ import annotations

from gantt.model.spec import RequestSpec
from gantt.placement.candidates.combine import Budget
from gantt.scheduler.evaluation.choosers import GuardedChooser
from gantt.scheduler.evaluation.feasible_hosts import FeasibleHosts
from gantt.scheduler.feasibility.candidates import CandidateSource
from gantt.scheduler.plugins.policy import Policy
from gantt.scheduler.stages import Mark
from gantt.state.state import State


class Driver:
    """Made once per engine with its ``policy``. It may remember, but what it answers
    depends on its arguments alone. It is asked once at a time. ``chooser``: which of
    the hosts that pass are tried; None: the best by weight."""

    name: str = ""

    def __init__(
        self,
        policy: Policy,
        name: str | None = None,
        chooser: GuardedChooser | None = None,
    ) -> None:
        """``name``: in options and records, where it is not that of the class."""
        self.policy = policy
        self.name = self.name if name is None else name
        self.chooser = chooser
        self.hits = 0
        self.misses = 0
        self.fits = 0
        self.fits_spent = 0
        self.fits_cut = 0

    def counts(self) -> dict[str, float]:
        """What was counted so far, by name; for metrics."""
        return {
            "topology_fits": self.fits,
            "topology_fits_spent": self.fits_spent,
            "topology_fits_cut": self.fits_cut,
            "shapes_kept": self.kept,
            "shape_hits": self.hits,
            "shape_misses": self.misses,
        }

    @property
    def kept(self) -> int:
        """How many shapes of requests are remembered."""
        return 0

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
        raise NotImplementedError

    def without(self, name: str) -> Driver | None:
        """A driver that decides the same way without the filter ``name``; None: this
        one needs it."""
        raise NotImplementedError
