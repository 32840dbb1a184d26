"""What is missing, where, and how much: in words."""

from __future__ import annotations

import pytest

from gantt.model.topology import DeviceRequest, FitLack, InstanceCell
from gantt.topology.fit import fit
from gantt.topology.lack_text import sentence
from gantt.topology.promised_topology import CLOSED
from tests.topology.machines import (
    KIB_2M,
    host,
    host_cell,
    mixed_cell,
    pages,
    pinned_cell,
    shared_cell,
    wanted,
)

PAGED = (pages(4, 10), pages(KIB_2M, 512))
CPUS = "cell 1 has 3 of 4 free pinned CPUs"


@pytest.mark.parametrize(
    ("cell", "says"),
    [
        (pinned_cell(4), f"{CPUS}; 4 KB pages: 10 of 262,144"),
        (
            pinned_cell(4, memory=2048, page_kib=KIB_2M),
            f"{CPUS}; 2 MB pages: 512 of 1,024",
        ),
        (
            pinned_cell(3, threads="require", page_kib=KIB_2M),
            "cell 1 has 2 of 3 free pinned CPUs with siblings",
        ),
        (
            pinned_cell(2, threads="isolate", page_kib=KIB_2M),
            "cell 1 has 1 of 2 free cores for isolated CPUs",
        ),
        (
            shared_cell(9, memory=3, page_kib=KIB_2M),
            "cell 1 has 2 MB pages that do not divide 3 MiB; 8 of 9 shared CPUs",
        ),
        (shared_cell(1, page_kib=16), "cell 1 has no 16 KB pages"),
        (mixed_cell(1, 4, memory=0), CPUS),
    ],
)
def test_the_lacks_of_a_cell(cell: InstanceCell, says: str) -> None:
    hosts = host(host_cell(1, pinned=0b11111 << 8, pages=PAGED))
    lack = fit(hosts, wanted(cell), {})
    assert isinstance(lack, FitLack)
    assert sentence(lack) == says


def test_the_emulators_cpu_and_memory() -> None:
    hosts = host(host_cell(0, cpus=4, memory=10))
    cell = pinned_cell(2, threads="isolate")
    lack = fit(hosts, wanted(cell, isolates_emulator=True), {})
    assert isinstance(lack, FitLack)
    assert sentence(lack) == (
        "cell 0 has 2 of 3 free pinned CPUs with the emulator's; 10 MiB of 1 GiB memory"
    )


def test_the_lacks_of_a_host() -> None:
    gpu = DeviceRequest("gpu", 2, ({"product_id": "1eb8"},), True)
    two = (pinned_cell(6, 0), pinned_cell(6, 1))
    cells = host(host_cell(0), host_cell(1, pinned=0b1111 << 8))
    said = [
        fit(host(), wanted(devices=(gpu,)), {}),
        fit(cells, wanted(*two, shared_cell(1)), {}),
        fit(cells, wanted(*two), {}),
        fit(
            host(
                host_cell(0),
                host_cell(1, pcpus=0, physical_networks=frozenset(("net",))),
            ),
            wanted(pinned_cell(1), physical_networks=frozenset(("net",))),
            {},
        ),
        FitLack("search", 5040, 1000, "placements"),
    ]
    assert [sentence(one) for one in said if isinstance(one, FitLack)] == [
        "the host has 0 of 2 devices product_id=1eb8",
        "the host has 2 of 3 NUMA cells that can carry the instance's",
        "the host has 1 of 2 NUMA cells that can carry the instance's; "
        "cell 1 has 4 of 6 free pinned CPUs",
        "no cells with room are near net; cell 1 has 0 of 1 free pinned CPUs",
        "the search ended after 1,000 steps (topology_steps); 5,040 placements of the "
        "cells are possible",
    ]


def test_a_closed_host_lacks_a_report_that_its_claims_fit() -> None:
    assert sentence(CLOSED) == "pending claims do not fit the last report of the host"
