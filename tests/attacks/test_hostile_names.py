"""Hostile names do not delay other callers; ``test_names`` covers the names."""

from __future__ import annotations

from tests.attacks.beside import BUSY_MEDIAN, BUSY_WORST, Beside, check_attack
from tests.attacks.service import ADMIN, Service

SENDERS = 4


def test_hostile_names_do_not_delay_other_callers(
    service: Service, idle: Beside
) -> None:
    limits = {"median": BUSY_MEDIAN, "worst": BUSY_WORST}
    check_attack(service, idle, "hostile_names", SENDERS, ADMIN, **limits)
