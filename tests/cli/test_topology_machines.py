"""``gantt host show --topology`` of each synthetic machine, at 80 columns."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from gantt.cli.topology_text import draw
from gantt.connection import open_gantt
from gantt.model.hosts import HostStats
from gantt.model.topology import HostTopology
from tests.topology import synthetic


def drawn(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    host: HostTopology,
    *,
    is_nova: bool = False,
) -> str:
    form = synthetic.nova_form if is_nova else synthetic.plain_form
    monkeypatch.setenv("COLUMNS", "80")
    with open_gantt("memory://") as engine:
        engine.update_host("a", "a", HostStats(**form(host)))
        draw(engine.host_topology("a", "a"))
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= 80
    return " ".join(text.replace("│", " ").split())


WORDS = [
    (synthetic.single_cell, ["[0e] [1e] [2e] [3e]", "2 vCPUs in use, on 4 CPUs"]),
    (
        synthetic.four_cells,
        [
            "cell 3 8 CPUs to pin, 61 GiB memory, 14,848 pages of 2 MB, 16 pages of 1 "
            "GB",
            "[24s 56s] [25# 57#] [26# 58#] [27# 59#] [28. 60.]",
            "6 of 14 CPUs, 8 free",
            "1,536 of 16,384 pages taken",
            "s for shared instances",
        ],
    ),
    (
        synthetic.network_cards,
        [
            "4 free type-VF 8086:154c address=0000:18:00.0 parent_ifname=ens0f0",
            "free: 0000:18:00.1 0000:18:00.2 0000:18:00.3 0000:18:00.4",
            "1 free type-PF 8086:1572 physical_network=physnet1",
        ],
    ),
    (
        synthetic.graphics_cards,
        [
            "1 free type-PCI 10de:20b5 free: 0000:3d:00.0",
            "devices near no cell",
            "1 free type-PCI 10de:20b5 free: 0000:3e:00.0",
        ],
    ),
    (
        synthetic.vdpa_card,
        [
            "2 free vdpa 15b3:101e address=0000:65:00.0 physical_network=physnet0",
            "1 free type-VF 15b3:101e",
            "remote_managed=true",
            "free: 0000:65:00.4",
        ],
    ),
]


@pytest.mark.parametrize(("make", "words"), WORDS)
def test_each_machine(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    make: Callable[[], HostTopology],
    words: list[str],
) -> None:
    text = drawn(capsys, monkeypatch, make())
    assert "obeys claims" in text
    for one in words:
        assert one in text
    reported = drawn(capsys, monkeypatch, make(), is_nova=True)
    assert "picks CPUs and devices itself" in reported
    assert "free: 0000" not in reported  # counts alone


def test_eight_cells_and_256_cpus(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (cell,) = synthetic.single_cell().cells
    cells = []
    for number in range(8):
        cores = synthetic.cores(16 * number, 16, 128)
        cpus = sum(cores)
        cells.append(
            replace(
                cell,
                id=number,
                cpus=0,
                pcpus=cpus,
                pinned=cores[0],
                siblings=cores,
                socket=number // 4,
            )
        )
    text = drawn(capsys, monkeypatch, HostTopology(tuple(cells)))
    assert "free in each cell" in text
    assert text.count("30 CPUs to pin, 7 GiB memory") == 8
    for number in range(128):
        mark = "#" if number % 16 == 0 else "."
        assert f" {number}{mark} {number + 128}{mark}]" in text.replace("[", " ")


def test_two_cells_need_no_overview(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "free in each" not in drawn(capsys, monkeypatch, synthetic.network_cards())
