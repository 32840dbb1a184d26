"""``gantt host show --topology``: a picture for people, values for programs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from gantt.cli.main import gantt
from gantt.cli.topology_text import draw
from gantt.model.topology_view import (
    CellView,
    HostTopologyView,
    PagesView,
    PendingView,
    PoolView,
)
from tests import inprocess
from tests.cli.conftest import Program

HOSTILE = "\x1b[31mred\n[bold]"
NUMBERED = {"id": 1, "cpuset": [0, 4], "pcpuset": [1, 2, 3, 5, 6, 7]}
STATS = {
    "vcpus": 8,
    "numa_topology": {
        "cells": [
            {
                **NUMBERED,
                "memory": 4096,
                "memory_usage": 1,
                "pinned_cpus": [1, 5],
                "siblings": [[0, 4], [1, 5], [2, 6], [3, 7]],
                "cpu_usage": 3,
                "mempages": [{"size_kb": 2048, "total": 1024, "reserved": 512}],
                "network_metadata": {"physnets": ["physnet0"], "tunneled": True},
                "socket": 0,
            }
        ]
    },
    "pci_stats": [
        {"count": 2, "numa_node": 1, "vendor_id": "8086", "product_id": "154c"},
        {"count": 1, "numa_node": None, "vendor_id": "10de", "product_id": "20b5"},
    ],
}


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Program]:
    """The program against a service of its own with the host "one"."""
    with inprocess.service(tmp_path) as url:
        program = Program(gantt, url)
        file = tmp_path / "stats"
        file.write_text(json.dumps(STATS))
        program.do("host", "update", "one", "--stats", str(file))
        yield program


def test_cells_are_drawn_with_cores_pages_and_devices(host: Program) -> None:
    said = host.do("host", "show", "one", "--topology")
    lines = [line.strip("│ \n") for line in said.splitlines()]
    assert lines[0].startswith("one, reported 20")
    assert "cell 1, socket 0" in lines[1]
    assert lines[2].split(maxsplit=1) == ["CPUs", "[0s 4s] [1# 5#] [2. 6.] [3. 7.]"]
    assert lines[3].endswith("######..........  2 of 6 CPUs, 4 free")
    assert lines[4].endswith("3 vCPUs in use, on 2 CPUs")
    assert lines[5].endswith("#...............  1 MiB of 4 GiB used")
    assert lines[6].startswith("2 MB")
    assert lines[6].endswith("512 of 1,024 pages taken, 512 of them reserved")
    assert lines[7].endswith("physnet0, tunnels")
    assert lines[8].endswith("2 free  8086:154c")
    assert "devices near no cell" in lines[10]
    assert lines[11].endswith("1 free  10de:20b5")
    assert "legend" in lines[13]
    assert [line.split(maxsplit=1)[0] for line in lines[14:]].count("bars") == 1
    legend = " ".join(said[said.index("legend") :].split())
    for words in ("[ ] a core", ". free to be pinned", "# pinned, says the host"):
        assert words in legend
    assert "# taken c claimed . free" in legend
    assert "claimed to be pinned" not in legend  # there is no such CPU
    assert "\x1b" not in said


def test_programs_get_the_values(host: Program) -> None:
    found = host.ask("host", "show", "one", "--topology")
    (cell,) = found["cells"]
    assert cell["free_cpus"] == [2, 3, 6, 7]
    assert cell["cores"] == [[0, 4], [1, 5], [2, 6], [3, 7]]
    assert [pool["free"] for pool in found["pools"]] == [2, 1]
    said = host.fail("host", "show", "one", "--topology", "-o", "csv", status=2)
    assert "-o json" in said
    assert "There is no host 'two'" in host.fail("host", "show", "two", "--topology")


def test_a_host_without_cells_says_so(host: Program) -> None:
    host.do("host", "update", "bare", "vcpus=1")
    said = host.do("host", "show", "bare", "--topology")
    assert "reports no NUMA cells" in said
    assert "reports no devices" in said


def cell_of(cpus: int, claimed: int = 0) -> CellView:
    """With all of its CPUs both shared and free, but some claimed."""
    every = tuple(range(cpus))
    pages = (PagesView(1024**2, 8, 4, 0, 2, 2), PagesView(4, 0, 0, 0, 0, 0))
    return CellView(
        id=0,
        socket=None,
        shared_cpus=every,
        pinnable_cpus=every,
        pinned_cpus=(),
        claimed_cpus=every[:claimed],
        free_cpus=every[claimed:],
        cores=(),
        shared_vcpus_used=0,
        memory_mb=1024,
        memory_used_mb=0,
        memory_claimed_mb=8 * claimed,
        pages=pages,
        physical_networks=(HOSTILE,),
        is_tunnelled=False,
    )


def drawn(
    capsys: pytest.CaptureFixture[str], *pools: PoolView, cell: CellView
) -> list[str]:
    view = HostTopologyView(HOSTILE, HOSTILE, None, True, (cell,), pools)
    draw(view)
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("width", [32, 40, 80, 200])
def test_the_picture_is_as_wide_as_the_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    lines = drawn(
        capsys, PoolView(1, 0, 0, None, {"x" * 90: ("a", "b")}, ()), cell=cell_of(128)
    )
    assert max(map(len, lines)) <= width
    cpus = "".join(lines).count("e]")
    assert cpus == 128  # no core is cut off
    assert any(line.count("#") == 8 for line in lines) == (width >= 60)


def test_names_reach_the_terminal_escaped(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    addresses = tuple(f"{HOSTILE}{number}" for number in range(10))
    pool = PoolView(1, 0, 7, None, {HOSTILE: HOSTILE}, addresses)
    lines = drawn(capsys, pool, cell=cell_of(1))
    text = "\n".join(lines)
    assert "\x1b" not in text
    assert lines[0] == r"\x1b[31mred\n[bold], obeys claims"
    assert r"\x1b[31mred\n[bold]=\x1b[31mred\n[bold]" in text
    assert r"[bold]7 and 2 more" in text


def test_what_is_claimed_is_marked(capsys: pytest.CaptureFixture[str]) -> None:
    pool = PoolView(1, 3, 0, None, {"vendor_id": "8086"}, ())
    text = "\n".join(drawn(capsys, pool, cell=cell_of(4, claimed=2)))
    assert "[0c] [1c] [2e] [3e]" in text
    assert "cccccccc........  0 of 4 CPUs, 2 free, 2 more claimed" in text
    assert "########cccc....  4 of 8 pages taken, 2 more claimed" in text
    assert "1 free, 3 claimed  vendor_id=8086" in text
    assert "c claimed to be pinned" in text


def test_pending_claims_are_drawn_by_instance(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    pending = (
        PendingView("c1", "i1", True, (0, 1), (0, 1, 9), 2, ("0000:18:00.1",)),
        PendingView("c2", HOSTILE, False, (0,), (), 0, ()),
        PendingView("c3", "i3", False, (), (), 0, (), "cell 0 has 1 of 2 CPUs"),
    )
    draw(HostTopologyView("h", "h", None, True, (cell_of(4),), (), pending, True))
    text = capsys.readouterr().out
    assert "c1 of instance i1: cell 0,1, CPUs 0-1,9, 2 devices 0000:18:00.1 " in text
    assert r"c2 of instance \x1b[31mred\n[bold]: cell 0, or what the host" in text
    assert "c3 of instance i3: does not fit: cell 0 has 1 of 2 CPUs" in text
    assert "What pending claims lack is promised to no other" in text
