"""What refused requests for cells and devices are told."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from msgspec.structs import replace

from gantt.cli.refusal import why_text
from gantt.connection import open_gantt
from gantt.engine.gantt import Gantt
from gantt.errors import NoValidHost
from gantt.model.hosts import HostStats, Service
from gantt.model.selection import Why
from gantt.model.spec import RequestSpec, ScheduleRequest
from gantt.model.topology import Fit, FitLack, HostTopology
from gantt.scheduler.explain.lacks import Lacks
from gantt.scheduler.explain.refusal_reason import PICKED
from gantt.topology.fit import fit
from tests.scheduler.small_cells import (
    NIC,
    PINNED,
    TWO_CELLS,
    options,
    place,
    report,
    uuid,
)


@pytest.fixture(params=["caching", "filter"])
def engine(request: pytest.FixtureRequest) -> Iterator[Gantt]:
    with open_gantt("memory://", options(driver=request.param)) as found:
        yield found


def refusal(engine: Gantt, spec: RequestSpec, *numbers: int) -> Why:
    with pytest.raises(NoValidHost) as refused:
        engine.schedule(ScheduleRequest(spec, tuple(map(uuid, numbers or (90,)))))
    assert isinstance(refused.value.why, Why)
    return refused.value.why


def lacks(found: Why) -> dict[str, str | None]:
    return {near.host: near.lacks for near in found.nearest}


def test_the_nearest_hosts_say_what_a_cell_lacks(engine: Gantt) -> None:
    report(engine, "a", 0, 2)
    report(engine, "b", 0, 2, 3)
    report(engine, "c", numa_topology=None)
    found = refusal(engine, PINNED)
    assert lacks(found) == {
        "a": "cell 0 has 1 of 2 free pinned CPUs",
        "b": "cell 0 has 1 of 2 free pinned CPUs",
        "c": "the host has 0 of 1 NUMA cells that can carry the instance's",
    }
    assert "cell 0 has 1 of 2 free pinned CPUs" in why_text(found)
    (record, *_) = engine.decisions()
    assert record.why is not None
    assert lacks(record.why) == lacks(found)


def test_a_host_that_only_the_exact_fit_refuses_says_so_too(engine: Gantt) -> None:
    pool = {**NIC, "numa_node": 1, "count": 1}
    wanted = replace(
        TWO_CELLS,
        pci_requests=(
            {
                "count": 2,
                "request_id": "nic",
                "spec": [NIC],
                "numa_policy": "required",
            },
        ),
    )
    report(engine, "a", pci_stats=[pool])
    (said,) = lacks(refusal(engine, wanted)).values()
    assert said is not None
    assert said.startswith("the host has 1 of 2 devices")


def test_requests_without_a_topology_lack_none(engine: Gantt) -> None:
    report(engine, "a", vcpus=1, cpu_allocation_ratio=4.0)
    huge = replace(PINNED, flavor=replace(PINNED.flavor, vcpus=999, extra_specs={}))
    found = refusal(engine, huge)
    assert lacks(found) == {"a": "0 of 4 VCPU in use, max_unit 1 (999 asked)"}
    report(engine, "a", vcpus=64)
    engine.update_service(Service("a", disabled=True))
    found = refusal(engine, replace(huge, flavor=replace(huge.flavor, vcpus=1)))
    assert lacks(found) == {"a": None}
    assert "removed_by\n" in why_text(found)


def test_only_the_nearest_hosts_are_fitted(
    engine: Gantt, monkeypatch: pytest.MonkeyPatch
) -> None:
    fits: list[HostTopology] = []

    def counted(host: HostTopology, *args: Any, **more: Any) -> Fit | FitLack:
        fits.append(host)
        return fit(host, *args, **more)

    monkeypatch.setattr("gantt.topology.promised_topology.fit", counted)
    for number in range(40):
        report(engine, f"h{number:02}", 0, 2)
    assert len(refusal(engine, PINNED).nearest) == 10
    assert 1 <= len(fits) <= 11  # the last with the change that would help


def test_a_host_whose_claims_do_not_fit_its_report_is_closed(engine: Gantt) -> None:
    report(engine, "a")
    place(engine, 1)
    report(engine, "a", 0, 2)
    said = lacks(refusal(engine, PINNED))["a"]
    assert said == "pending claims do not fit the last report of the host"
    engine.update_host("a", "a", HostStats(instances=(uuid(1),)))
    assert not engine.host_topology("a", "a").is_closed


def test_few_of_the_hosts_that_were_filled_are_fitted_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Others wait meanwhile."""
    asked: list[int] = []
    of = Lacks.of

    def noted(lacks: Lacks, row: int) -> tuple[float, str | None]:
        asked.append(row)
        return of(lacks, row)

    monkeypatch.setattr(Lacks, "of", noted)
    with open_gantt("memory://", options(explain_budget=100)) as engine:
        for number in range(30):
            report(engine, f"h{number}", 0)
        found = refusal(engine, PINNED, *range(200, 231))
    filled = [one for one in found.steps if one.name == PICKED]
    assert [one.before - one.after for one in filled] == [30]
    assert len(asked) <= 100 / 20 + 10
