"""What a claim names of a host, equal in process and over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from gantt import errors
from gantt.model.hosts import HostStats
from gantt.model.protocol import GanttProtocol
from gantt.model.selection import CellPlace, DevicePlace, Place, Selection
from gantt.model.spec import Flavor, RequestSpec, ScheduleRequest
from gantt.scheduler.options import DEFAULT_FILTERS
from tests import inprocess
from tests.topology import synthetic

UUID = "00000001-aaaa-4000-8000-000000000000"
FILTERS = (*DEFAULT_FILTERS, "NUMATopologyFilter", "PciPassthroughFilter")
CONFIGURED = f"[filter_scheduler]\nenabled_filters = {','.join(FILTERS)}\n"
NIC = {"vendor_id": "8086", "product_id": "154c", "physical_network": "physnet1"}
SPEC = RequestSpec(
    Flavor(2, 1024, extra_specs={"hw:cpu_policy": "dedicated"}),
    pci_requests=({"count": 1, "request_id": "nic", "spec": [NIC]},),
)


@pytest.fixture(params=inprocess.DOORS)
def books(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[GanttProtocol]:
    with inprocess.opened(request.param, tmp_path, CONFIGURED) as found:
        yield found


def report(books: GanttProtocol, *, obeys: bool) -> HostStats:
    host = synthetic.plain_form(synthetic.network_cards())
    stats = HostStats(
        vcpus=16, memory_mb=32_768, local_gb=10, **{**host, "obeys_claims": obeys}
    )
    books.update_host("one", "one", stats)
    return stats


def selected(books: GanttProtocol, spec: RequestSpec = SPEC) -> Selection:
    ((found, *_),) = books.schedule(ScheduleRequest(spec, (UUID,)))
    return found


def test_a_host_that_obeys_gets_cells_cpus_and_devices(books: GanttProtocol) -> None:
    report(books, obeys=True)
    place = selected(books).place
    assert isinstance(place, Place)
    assert place.cells == (CellPlace(0, 1, 1024, None, ((0, 8), (1, 9))),)
    (devices,) = place.devices
    assert isinstance(devices, DevicePlace)
    assert devices.addresses == ("0000:19:00.1",)
    assert (devices.count, devices.numa_node) == (1, 1)
    view = books.host_topology("one", "one")
    assert view.obeys_claims
    (pending,) = view.pending
    assert (pending.cells, pending.cpus) == ((1,), (8, 9))
    assert pending.is_binding


def test_other_hosts_pick_for_themselves(books: GanttProtocol) -> None:
    report(books, obeys=False)
    found = selected(books)
    assert found.claim is not None
    assert found.place is None
    assert not books.host_topology("one", "one").obeys_claims


def test_whether_a_host_obeys_is_kept_until_it_says_otherwise(
    books: GanttProtocol,
) -> None:
    report(books, obeys=True)
    books.update_host("one", "one", HostStats(running_vms=3))
    (view,) = books.list_hosts()
    assert view.stats["obeys_claims"] is True
    books.update_host("one", "one", HostStats(obeys_claims=False))
    assert not books.host_topology("one", "one").obeys_claims


def test_what_never_fits_has_an_error_of_its_own(books: GanttProtocol) -> None:
    report(books, obeys=True)
    flavor = Flavor(2, 1023, extra_specs={"hw:mem_page_size": "2MB"})
    with pytest.raises(errors.NeverFits, match="hw:mem_page_size is 2048 KiB"):
        selected(books, replace(SPEC, flavor=flavor))
