"""Requests for NUMA cells and devices from the command line: where they are placed, why
they are refused, and how many fit."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gantt.cli.main import gantt
from gantt.cli.select import _place
from gantt.model.selection import CellPlace, DevicePlace, Place
from tests import inprocess
from tests.cli.conftest import Program
from tests.topology import synthetic

FILTERS = "ComputeFilter,NUMATopologyFilter,PciPassthroughFilter"
PINNED = "vcpus=4,memory_mb=1024,hw:cpu_policy=dedicated,hw:mem_page_size=2MB"
NIC = {"vendor_id": "8086", "product_id": "154c", "physical_network": "physnet1"}


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Program]:
    """With network cards: "names" obeys claims and names devices, "counts" neither."""
    configured = f"[filter_scheduler]\nenabled_filters = {FILTERS}\n"
    configured += "[scheduler]\ntopology_fits = 12\n"
    with inprocess.service(tmp_path, configured=configured) as url:
        program = Program(gantt, url)
        machine = synthetic.network_cards()
        add(program, tmp_path, "names", synthetic.plain_form(machine))
        add(program, tmp_path, "counts", synthetic.nova_form(machine))
        yield program


def add(program: Program, folder: Path, host: str, stats: dict[str, Any]) -> None:
    file = folder / f"{host}.json"
    facts = {"vcpus": 16, "memory_mb": 32_768, "local_gb": 10}
    file.write_text(json.dumps({**facts, **stats}))
    program.do("host", "update", host, "--stats", str(file))


def with_nic(folder: Path, count: int = 1) -> str:
    extra_specs = {"hw:cpu_policy": "dedicated"}
    flavor = {"vcpus": 4, "memory_mb": 1024, "extra_specs": extra_specs}
    request = {"count": count, "request_id": "nic", "spec": [NIC]}
    file = folder / "spec.json"
    file.write_text(json.dumps({"flavor": flavor, "pci_requests": [request]}))
    return str(file)


def test_select_names_cpus_pages_and_devices(fleet: Program, tmp_path: Path) -> None:
    fleet.do("host", "delete", "counts")
    spec = with_nic(tmp_path)
    header, row = fleet.do("select", "--spec", spec).splitlines()
    assert header.split()[-1] == "place"
    assert row.endswith(
        "cell 0 on host cell 1: vCPUs 0-3 on CPUs 8-11; 1 device 0000:19:00.1"
    )
    assert "[ 8c] [ 9c] [10c] [11c]" in fleet.do("host", "show", "names", "--topology")
    (found,) = fleet.ask("select", "--spec", spec)
    (chosen,) = found["selections"]
    assert chosen["place"]["cells"][0]["pinning"] == [
        [0, 12],
        [1, 13],
        [2, 14],
        [3, 15],
    ]


def test_hosts_that_pick_for_themselves_are_told_no_place(
    fleet: Program, tmp_path: Path
) -> None:
    fleet.do("host", "delete", "names")
    spec = with_nic(tmp_path)
    assert "place" not in fleet.do("select", "--spec", spec).split()
    (found,) = fleet.ask("select", "--spec", spec)
    assert [one["place"] for one in found["selections"]] == [None]


def test_a_place_in_words() -> None:
    pinning = ((0, 1), (1, 33), (2, 2), (3, 3))
    cells = (
        CellPlace(0, 2, 1024, 1_048_576, pinning, (4, 5), (34,)),
        CellPlace(1, 0, 1024, None, (), (6,)),
    )
    card: dict[str, str | tuple[str, ...]] = {"vendor_id": "10de", "cap": ("a", "b")}
    devices = (DevicePlace("a", 2, 0, card), DevicePlace("b", 1, None, card))
    assert _place(Place(cells, devices)) == (
        "cell 0 on host cell 2: vCPUs 0-3 on CPUs 1,33,2-3, vCPUs 4-5 on any shared "
        "CPU, the emulator on CPUs 34, 1 GB pages; "
        "cell 1 on host cell 0: vCPUs 6 on any shared CPU; "
        "2 devices near host cell 0 vendor_id=10de cap=a,b; "
        "1 device vendor_id=10de cap=a,b"
    )


def test_refusals_say_what_is_lacking(fleet: Program, tmp_path: Path) -> None:
    said = fleet.fail("select", "--spec", with_nic(tmp_path, count=5))
    assert "the host has 4 of 5 devices" in said
    said = fleet.fail("select", "--flavor", PINNED.replace("=4,", "=9,"))
    assert "cell 0 has 8 of 9 free pinned CPUs" in said
    assert "This would help: ask for 8 instead of 9 PCPU." in said
    said = fleet.fail("select", "--flavor", PINNED.replace("1024", "1023"))
    assert "hw:mem_page_size is 2048 KiB, and NUMA node 0 has 1023 MB" in said


def test_capacity_says_that_it_is_a_lower_bound(fleet: Program) -> None:
    flavor = PINNED.replace("=4,", "=1,").replace("1024", "64")
    said = fleet.do("capacity", flavor)
    cells = re.split(" {3,}", said.splitlines()[1])
    assert cells == [flavor, "at least 12", "1", "topology_fits on 2"]
    assert (
        "More may fit: counting ended at topology_fits of [scheduler], the most that "
        "one request is fitted into hosts (metric gantt_topology_fits_spent_total), on "
        "2 host(s)." in said
    )
    (found,) = fleet.ask("capacity", flavor)
    assert found["is_lower_bound"] is True
    assert found["limits"]["topology_fits"] == 2
    result = fleet.run("capacity", flavor, "-o", "csv")
    assert "counting ended at topology_fits" in result.stderr
    rows = list(csv.reader(io.StringIO(result.stdout)))
    assert rows[1][2] == "12"


def test_capacity_that_is_exact_says_nothing_of_it(fleet: Program) -> None:
    flavor = PINNED.replace("=4,", "=8,")
    said = fleet.do("capacity", flavor)
    _, line = said.splitlines()
    assert re.split(" {3,}", line) == [flavor, "4", "2", "VCPU on 2"]
    assert "counting ended" not in said
