"""Searches without a limit take processor time, as they may; small reads, claims and
health beside them are not last."""

from __future__ import annotations

from tests.attacks import beside
from tests.attacks.beside import BUSY_MEDIAN, BUSY_WORST, Beside, check
from tests.attacks.service import ADMIN, Service

SEARCHES = 32
ATTACKED_S = 6.0
# Of the searches themselves, each of some MB.
MORE_MB = 400


def test_small_callers_are_answered_beside_unlimited_searches(
    service: Service, idle: Beside
) -> None:
    one = beside.attacked(service, "searches", SEARCHES, ADMIN, ATTACKED_S)
    assert one.placed == SEARCHES
    check(
        idle,
        one.found,
        one.took,
        median=BUSY_MEDIAN,
        worst=BUSY_WORST,
        most_mb=MORE_MB,
    )
