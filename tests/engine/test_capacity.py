"""How many more instances fit by what hosts report alone."""

from __future__ import annotations

from typing import Any

import pytest

from gantt.engine.factory import open_gantt
from gantt.engine.options import EngineOptions
from gantt.model.spec import Flavor, RequestSpec
from gantt.scheduler.feasibility import amounts
from gantt.scheduler.options import SchedulerOptions
from tests.engine.test_scheduling import ask, report


@pytest.mark.parametrize("most", [7, 50])
def test_capacity_without_inventories_uses_reports(most: int) -> None:
    policy = SchedulerOptions(
        use_placement="never",
        enabled_filters=("NumInstancesFilter",),
        max_instances_per_host=most,
    )
    with open_gantt("memory://", EngineOptions(scheduler=policy)) as engine:
        report(engine, "a", vcpus=4)
        report(engine, "b", vcpus=16)
        spec = ask().spec
        found = engine.capacity(spec)
        assert found.hosts == {"a": 4, "b": min(most, 8)}
        engine.schedule(ask(count=found.total))
        assert engine.capacity(spec).total == 0


def test_capacity_of_a_tiny_flavor_is_cheap(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The columns are locked meanwhile: not a pass over them for every instance."""
    asked = []
    with_room = amounts.with_room

    def counted(*given: Any) -> Any:
        asked.append(given)
        return with_room(*given)

    policy = SchedulerOptions(use_placement="never")
    with open_gantt("memory://", EngineOptions(scheduler=policy)) as engine:
        report(engine, "a", memory_mb=2**31 - 1)
        monkeypatch.setattr(amounts, "with_room", counted)
        found = engine.capacity(RequestSpec(flavor=Flavor(vcpus=0, memory_mb=1)))
    assert found.total == 100_000
    assert len(asked) < 30
