"""Launches a planned split in memory: the whole decision and the committer's rule.

Shows that what a split predicts can be had: every instance is decided by the filters,
the search and the exact fit as any other, on the one host that the plan names, and
claimed, so that the next sees it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gantt.errors import BudgetSpent, ClaimLost, NoValidHost
from gantt.model.spec import RequestSpec, ScheduleRequest
from gantt.placement.candidates.combination import Budget
from gantt.replay.machines import uuid_of
from gantt.replay.replay_books import ReplayBooks
from gantt.scheduler.capacity.fair import FlavorOnHost
from gantt.scheduler.evaluation.driver import Driver
from gantt.scheduler.evaluation.feasible_hosts import FeasibleHosts
from gantt.scheduler.feasibility.candidate_sources import BOOK_SOURCE
from gantt.scheduler.selection.claim import claim_of
from gantt.scheduler.selection.picks import pick_hosts

_PLANNED = "the host of the plan"


class OnOneHost(Driver):
    """Decides as ``driver`` does, among one host alone."""

    def __init__(self, driver: Driver, row: int) -> None:
        super().__init__(driver.policy, "planned")
        self._driver, self._row = driver, row

    def feasible_hosts(self, *asked: Any, **more: Any) -> FeasibleHosts:
        found = self._driver.feasible_hosts(*asked, **more)
        return found.only(np.flatnonzero(found.hosts.rows == self._row), _PLANNED)


def launch(
    books: ReplayBooks,
    specs: Sequence[RequestSpec],
    plan: Sequence[FlavorOnHost],
    driver: Driver,
) -> list[int]:
    """How many of each of ``specs`` are running in the end."""
    launched = [0] * len(specs)
    for number, step in enumerate(plan):
        only = OnOneHost(driver, step.row)
        names = [f"{number}/{each}" for each in range(step.count)]
        launched[step.flavor] += place(books, specs[step.flavor], names, only)
    return launched


def place(
    books: ReplayBooks,
    spec: RequestSpec,
    names: Sequence[str],
    driver: Driver,
) -> int:
    """Instances of these names, in one request, and then one by one if not all fit: how
    many were claimed."""
    uuids = tuple(uuid_of("launched", name) for name in names)
    if _claim(books, spec, uuids, driver):
        return len(uuids)
    if len(uuids) == 1:
        return 0
    return sum(_claim(books, spec, (uuid,), driver) for uuid in uuids)


def _claim(
    books: ReplayBooks,
    spec: RequestSpec,
    uuids: tuple[str, ...],
    driver: Driver,
) -> bool:
    request = ScheduleRequest(spec, instance_uuids=uuids, return_alternates=False)
    try:
        found = pick_hosts(
            books.state, request, BOOK_SOURCE, driver, books.now, Budget(None)
        )
        if len(found.picks) < len(uuids):
            return False
        books.submit(claim_of(request, found.feasible, found.picks, uuids[0]))
    except (BudgetSpent, ClaimLost, NoValidHost):
        return False
    return True
