"""Requests for cells, pinned CPUs and devices, from the request to the claim."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from gantt.connection import open_gantt
from gantt.engine.gantt import Gantt
from gantt.errors import BudgetSpent, NoValidHost
from gantt.model.advice import AdviceHost, AdviceRequest, Mode
from gantt.model.hosts import Instance
from gantt.model.selection import Place, Why
from gantt.model.spec import Flavor, RequestSpec, ScheduleRequest
from tests.scheduler.small_cells import (
    NIC,
    PINNED,
    WITH_NIC,
    hosts,
    options,
    place,
    report,
    uuid,
)


@pytest.fixture(params=["caching", "filter", "chance"])
def engine(request: pytest.FixtureRequest) -> Iterator[Gantt]:
    with open_gantt("memory://", options(driver=request.param)) as found:
        yield found


def test_only_what_fits_is_picked(engine: Gantt) -> None:
    report(engine, "a", 0, 2)
    report(engine, "b", 0)
    report(engine, "c", numa_topology=None)
    assert hosts(place(engine, 1)) == ["b"]
    # As many CPUs as asked for are free on a, but in no one cell.
    with pytest.raises(NoValidHost):
        place(engine, 2)
    assert not engine.verify().problems


def test_instances_of_one_request_share_what_there_is(engine: Gantt) -> None:
    report(engine, "a")
    report(engine, "b", 0)
    with pytest.raises(NoValidHost) as refused:
        place(engine, 1, 2, 3, 4)
    assert "4 instances were asked for, 3 have a place" in refused.value.message
    assert hosts(place(engine, 1, 2, 3)) == ["a", "a", "b"]


def test_alternates_fit_too(engine: Gantt) -> None:
    for name in "abc":
        report(engine, name)
    report(engine, "d", 0, 2)
    for number in range(4):
        found = engine.schedule(ScheduleRequest(PINNED, (uuid(number),)))
        assert "d" not in {one.service_host for one in found[0]}
    several = engine.schedule(ScheduleRequest(PINNED, (uuid(8), uuid(9))))
    assert all(one.service_host != "d" for mine in several for one in mine)


def test_devices_are_counted_with_the_cells(engine: Gantt) -> None:
    pool = {**NIC, "numa_node": 1, "count": 1}
    report(engine, "a", 2, pci_stats=[pool])
    report(engine, "b", 0, pci_stats=[pool])
    # The device of a is beside a cell that has no room.
    assert hosts(place(engine, 1, spec=WITH_NIC)) == ["b"]
    with pytest.raises(NoValidHost):
        place(engine, 2, spec=WITH_NIC)


@pytest.mark.parametrize("requests", [((1, 2),), ((1,), (2,))])
@pytest.mark.parametrize("driver", ["caching", "filter"])
def test_devices_that_are_promised_count_for_weights(
    driver: str, requests: tuple[tuple[int, ...], ...]
) -> None:
    """Used-up hosts come first, whether a request before took the devices or the same;
    memory would spread the instances."""
    weighing = {"pci_weight_multiplier": 10.0, "ram_weight_multiplier": 1.0}
    with open_gantt(
        "memory://", options(driver=driver, multipliers=weighing)
    ) as engine:
        for name in "ab":
            report(engine, name, pci_stats=[{**NIC, "numa_node": None, "count": 2}])
        found = [
            one for each in requests for one in place(engine, *each, spec=WITH_NIC)
        ]
        assert len(set(hosts(found))) == 1
        assert not engine.verify().problems


def test_limits_are_those_of_the_host(engine: Gantt) -> None:
    report(engine, "a", cpu_allocation_ratio=3.0, ram_allocation_ratio=1.5)
    (found,) = place(engine, 1)
    assert found.limits is not None
    assert found.limits.numa_topology == {
        "cpu_allocation_ratio": 3.0,
        "ram_allocation_ratio": 1.5,
        "network_metadata": {"physnets": [], "tunneled": False},
    }
    (plain,) = place(engine, 2, spec=RequestSpec(Flavor(1, 64)))
    assert plain.limits is None or plain.limits.numa_topology is None


def test_a_host_that_obeys_is_told_what_to_use(engine: Gantt) -> None:
    devices = [{"address": f"0000:81:00.{number}"} for number in (1, 2)]
    pool = {**NIC, "numa_node": None, "count": 2, "devices": devices}
    report(engine, "a", pci_stats=[pool], obeys_claims=True)
    places = [one.place or Place() for one in place(engine, 1, 2, spec=WITH_NIC)]
    cpus = {cpu for one in places for at in one.cells for _, cpu in at.pinning}
    cards = {at for one in places for pool in one.devices for at in pool.addresses}
    assert cpus == {0, 1, 2, 3}
    assert cards == {"0000:81:00.1", "0000:81:00.2"}


def test_forced_hosts_are_not_asked(engine: Gantt) -> None:
    report(engine, "a", 0, 1, 2, 3)
    (found,) = place(engine, 1, spec=replace(PINNED, force_hosts=("a",)))
    assert (found.service_host, found.place, found.limits) == ("a", None, None)


def test_what_a_forced_host_carries_is_promised_to_none_other(engine: Gantt) -> None:
    report(engine, "a", obeys_claims=True)
    (forced,) = place(engine, 1, spec=replace(PINNED, force_hosts=("a",)))
    (other,) = place(engine, 2)
    assert forced.place is not None and other.place is not None
    used = [
        cpu for one in (forced.place, other.place) for _, cpu in one.cells[0].pinning
    ]
    assert sorted(used) == [0, 1, 2, 3]
    with pytest.raises(NoValidHost):
        place(engine, 3)
    # A host that is full is forced all the same; a topology that cannot be, too.
    place(engine, 4, spec=replace(PINNED, force_hosts=("a",)))
    odd = replace(PINNED.flavor, extra_specs={"hw:numa_nodes": "3"})
    place(engine, 5, spec=replace(PINNED, flavor=odd, force_hosts=("a",)))
    assert not engine.verify().problems


def test_a_rebuild_asks_for_nothing(engine: Gantt) -> None:
    report(engine, "a", 0, 1, 2, 3)
    hints = {"_nova_check_type": ("rebuild",)}
    spec = replace(PINNED, force_hosts=("a",), scheduler_hints=hints)
    (found,) = place(engine, 1, spec=spec)
    assert found.service_host == "a"


def test_a_dry_run_takes_nothing(engine: Gantt) -> None:
    report(engine, "a", 0)
    for _ in range(2):
        asked = ScheduleRequest(PINNED, (uuid(1),), dry_run=True)
        assert engine.decide(asked).chosen[0][0].service_host == "a"
    assert hosts(place(engine, 1)) == ["a"]
    assert engine.decide(asked).failure is not None


def test_what_was_released_is_free_again(engine: Gantt) -> None:
    report(engine, "a", 0)
    for number in range(3):
        (found,) = place(engine, number)
        assert found.claim is not None
        engine.release_claim(found.claim)


def test_a_report_that_counts_the_instance_ends_the_claim(engine: Gantt) -> None:
    report(engine, "a")
    place(engine, 1)
    engine.update_instances("a", [Instance(uuid(1))])
    assert engine.list_hosts(host="a")[0].claimed["instances"] == 1
    report(engine, "a", 0, 1, instances=(uuid(1),))
    assert engine.list_hosts(host="a")[0].claimed["instances"] == 0
    assert hosts(place(engine, 2)) == ["a"]
    with pytest.raises(NoValidHost):
        place(engine, 3)


def test_the_hosts_that_are_fitted_are_limited() -> None:
    """Each of the requests is met by itself, by one device of each host."""
    wishes = ({"vendor_id": "8086"}, {"product_id": "154c"})
    two = tuple(
        {"count": 1, "request_id": str(number), "spec": [wish]}
        for number, wish in enumerate(wishes)
    )
    spec = RequestSpec(Flavor(1, 64), pci_requests=two)
    with open_gantt("memory://", options(topology_fits=2)) as engine:
        for name in "abc":
            report(engine, name, pci_stats=[{**NIC, "numa_node": 0, "count": 1}])
        with pytest.raises(BudgetSpent, match="topology_fits of .scheduler.") as no:
            place(engine, 1, spec=spec)
        assert "2 hosts, the limit" in no.value.message
        counts = engine.counts()
        assert (counts["topology_fits"], counts["topology_fits_spent"]) == (2, 1)
        assert hosts(place(engine, 1, spec=RequestSpec(Flavor(1, 64))))


def test_the_search_for_cells_on_a_host_is_limited() -> None:
    """Its end is a refusal by name, and counted."""
    two = {"hw:numa_nodes": "2", "hw:cpu_policy": "dedicated"}
    spec = RequestSpec(Flavor(2, 64, extra_specs=two))
    for steps in (1, 3):
        with open_gantt("memory://", options(topology_steps=steps)) as engine:
            report(engine, "a")
            if steps == 1:
                with pytest.raises(NoValidHost) as no:
                    place(engine, 1, spec=spec)
                assert isinstance(no.value.why, Why)
                (near,) = no.value.why.nearest
                assert near.lacks == (
                    "the search ended after 1 steps (topology_steps); 2 placements of "
                    "the cells are possible"
                )
            else:
                assert hosts(place(engine, 1, spec=spec)) == ["a"]
            # Twice where it is refused: trials of what would help search, too.
            assert engine.counts()["topology_fits_cut"] == (2 if steps == 1 else 0)
            assert engine.counts()["topology_steps_limit"] == steps


def test_advice_puts_hosts_last_that_do_not_fit() -> None:
    with open_gantt("memory://", options()) as engine:
        report(engine, "a", 0, 2)
        report(engine, "b")
        sent = tuple(AdviceHost(name, name) for name in "ab")
        modes: tuple[Mode, ...] = ("decide", "advise")
        for number, mode in enumerate(modes):
            request = AdviceRequest(
                replace(PINNED, instance_uuid=uuid(number)), sent, mode=mode
            )
            found = engine.advise(request).hosts
            assert [one.host for one in found] == ["b", "a"]


def test_burst_of_advice_does_not_name_the_same_last_cell() -> None:
    with open_gantt("memory://", options()) as engine:
        for name in "abc":
            report(engine, name, 0)  # one cell of each is left
        sent = tuple(AdviceHost(name, name) for name in "abc")

        def first(number: int) -> str:
            spec = replace(PINNED, instance_uuid=uuid(number))
            return engine.advise(AdviceRequest(spec, sent)).hosts[0].host

        assert sorted(first(number) for number in range(3)) == ["a", "b", "c"]
        # Advice holds back, and refuses nothing: there is no other host.
        assert first(3) in "abc"
        assert hosts(place(engine, 0, 1, 2)) == ["a", "b", "c"]
