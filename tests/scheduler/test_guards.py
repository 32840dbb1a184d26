"""Guards of plug-ins pass on all that a filter and a weigher can be asked."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from gantt.scheduler.contract import Filter, Weigher
from gantt.scheduler.plugins.guards import GuardedFilter, GuardedWeigher


def _public(of: type) -> dict[str, Any]:
    """Methods and properties that are asked from outside."""
    return {
        name: member
        for name, member in vars(of).items()
        if not name.startswith("_")
        and (inspect.isfunction(member) or isinstance(member, property))
    }


@pytest.mark.parametrize(
    ("contract", "guard"),
    [(Filter, GuardedFilter), (Weigher, GuardedWeigher)],
)
def test_guard_forwards_every_method_and_property(contract: type, guard: type) -> None:
    asked = _public(contract)
    assert asked
    assert asked.keys() <= vars(guard).keys()


@pytest.mark.parametrize("contract", [Filter, Weigher])
def test_guard_has_every_attribute(contract: type) -> None:
    values: dict[str, Any] = {
        name: value
        for name, value in vars(contract).items()
        if not name.startswith("_") and isinstance(value, bool | int | float | str)
    }
    assert values
    for name, usual in values.items():
        unusual: Any = "else" if isinstance(usual, str) else not usual
        ask = {"mask": lambda *_: None, "score": lambda *_: None, name: unusual}
        plugin = type("Theirs", (contract,), ask)()
        guarded: Any = (
            GuardedFilter("theirs", plugin)
            if contract is Filter
            else GuardedWeigher("theirs", plugin)
        )
        assert getattr(guarded, name) == unusual, name
