"""The laws of repeats and releases find a rule that breaks them."""

from __future__ import annotations

from typing import Any

import pytest

from gantt.placement.rules import claims, leases
from gantt.placement.rules.request_kind import RequestKind, standing
from tests.simulation.run import Plan, Run

SEEDS = range(1, 13)


def broken() -> set[str]:
    """The laws that some seeds break."""
    return {
        finding.law
        for seed in SEEDS
        for finding in Run(Plan(seed, "memory", steps=100)).go().findings
    }


def test_a_repeat_that_is_taken_for_a_move(monkeypatch: pytest.MonkeyPatch) -> None:
    def forgetful(*given: Any) -> RequestKind:
        found = standing(*given)
        return RequestKind.MOVE if found is RequestKind.REPEAT else found

    monkeypatch.setattr(claims, "standing", forgetful)
    assert "a repeat books nothing more" in broken()


def test_a_release_that_frees_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leases, "_take_back", lambda *_: None)
    assert "a claim that ends frees what it added" in broken()
