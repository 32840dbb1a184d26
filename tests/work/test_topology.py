"""What a request for cells costs once its shape is known."""

from __future__ import annotations

from collections.abc import Callable
from unittest import mock

import pytest

from gantt.connection import open_gantt
from gantt.engine.gantt import Gantt
from gantt.engine.options import EngineOptions
from gantt.model.spec import ScheduleRequest
from gantt.scheduler.options import DEFAULT_FILTERS, SchedulerOptions
from gantt.scheduler.request import requested_topology
from gantt.topology import promised_topology
from tests.scheduler.small_cells import WITH_NIC, uuid
from tests.scheduler.small_cells import report as report_cells

FILTERS = (*DEFAULT_FILTERS, "NUMATopologyFilter", "PciPassthroughFilter")
OPTIONS = EngineOptions(scheduler=SchedulerOptions(enabled_filters=FILTERS))
POOL = {
    "vendor_id": "8086",
    "product_id": "154c",
    "dev_type": "type-VF",
    "numa_node": None,
    "count": 2,
}


def schedule(engine: Gantt, number: int) -> None:
    engine.schedule(ScheduleRequest(WITH_NIC, (uuid(number),)))


def counted(module: object, name: str, act: Callable[[], object]) -> int:
    """How often ``act`` calls a function of ``module``."""
    real = getattr(module, name)
    with mock.patch.object(module, name, side_effect=real) as spy:
        act()
    return spy.call_count


@pytest.mark.parametrize("hosts", [20, 200])
def test_the_shape_is_read_once_and_few_hosts_are_fitted(hosts: int) -> None:
    with open_gantt("memory://", OPTIONS) as engine:
        for number in range(hosts):
            report_cells(engine, f"h{number}", pci_stats=[POOL])

        def four() -> None:
            for number in range(1, 5):
                schedule(engine, number)

        # Once for either filter, once for both.
        assert counted(requested_topology, "topology_of", four) == 3
        # The pick, two alternates, and the committer's own.
        assert counted(promised_topology, "fit", lambda: schedule(engine, 9)) <= 4
