"""docs/how-to/topology.md, followed word for word: its configuration, its report, its
commands and what they print."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

import gantt
from gantt.cli.main import gantt as program
from gantt.model.spec import Flavor, RequestSpec, ScheduleRequest
from tests import inprocess
from tests.cli.conftest import Program
from tests.tidy.source import ROOT

DOCUMENT = (ROOT / "docs" / "how-to" / "topology.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
BLOCKS = BLOCK.findall(DOCUMENT)
MASKS = (
    (re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "UUID"),
    (re.compile(r"\d{4}-\d\d-\d\dT[\d:+]+"), "TIME"),
    (re.compile(r"(?<=UUID)\s+\d+\.\d\s+(?=cell)"), " AGE "),
)
NIC = {"vendor_id": "8086", "product_id": "154c"}


def blocks(language: str) -> list[str]:
    return [text for kind, text in BLOCKS if kind == language]


def lines_of(text: str) -> list[str]:
    """Without what differs each time, and without the width of columns."""
    for pattern, mask in MASKS:
        text = pattern.sub(mask, text)
    return [" ".join(line.split()) for line in text.splitlines()]


@pytest.fixture
def reader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Program, str]]:
    """Who has configured a Gantt as the document says."""
    (configured,) = blocks("ini")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    with inprocess.service(tmp_path, configured=configured) as url:
        yield Program(program, url), url


def follow(reader: Program) -> int:
    """How many commands printed what the document shows."""
    (report,) = blocks("json")
    Path("node1.json").write_text(report)
    compared = 0
    for text in blocks("console"):
        command, _, shown = text.removeprefix("$ ").partition("\n")
        name, *arguments = shlex.split(command)
        assert name == "gantt"
        result = reader.run(*arguments)
        assert result.exit_code == shown.startswith("Error: "), result.output
        if shown:
            printed = lines_of(result.stdout + result.stderr)
            assert printed == lines_of(shown), command
            compared += 1
    return compared


def test_commands_print_what_the_document_shows(reader: tuple[Program, str]) -> None:
    assert follow(reader[0]) == len(blocks("console")) - 2 >= 6


def test_a_launcher_reads_its_place(reader: tuple[Program, str]) -> None:
    follow(reader[0])
    spec = RequestSpec(
        Flavor(2, 64, extra_specs={"hw:cpu_policy": "dedicated"}),
        pci_requests=({"count": 1, "request_id": "nic", "spec": [NIC]},),
    )
    names: dict[str, Any] = {
        "gantt": gantt,
        "url": reader[1],
        "request": ScheduleRequest(spec, ("00000001-aaaa-4000-8000-000000000000",)),
    }
    (code,) = blocks("python")
    exec(compile(code, "docs/how-to/topology.md", "exec"), names)
    place = names["chosen"].place
    assert [one.host_cell for one in place.cells] == [1]
    assert names["devices"].addresses == ("0000:19:00.1",)


def test_mixed_instances_need_pcpu(reader: tuple[Program, str]) -> None:
    (report,) = blocks("json")
    Path("node1.json").write_text(report)
    reader[0].do("host", "update", "node1", "--stats", "node1.json")
    mixed = "vcpus=4,memory_mb=64,hw:cpu_policy=mixed,hw:cpu_dedicated_mask=0-1"
    assert "no PCPU" in reader[0].fail("select", "--flavor", mixed)
    (command,) = (one for one in blocks("console") if one.startswith("$ gantt inv"))
    reader[0].do(*shlex.split(command)[2:])
    assert "vCPUs 2-3 on any shared CPU" in reader[0].do("select", "--flavor", mixed)


def test_metrics_and_extra_specs_exist(reader: tuple[Program, str]) -> None:
    with urlopen(f"{reader[1]}/metrics") as answer:
        metrics = answer.read().decode()
    for name in re.findall(r"`(gantt_\w+)`", DOCUMENT):
        assert f"\n{name} " in metrics
    code = "".join(
        path.read_text() for path in ROOT.glob("gantt/scheduler/request/*.py")
    )
    keys = set(re.findall(r"`(hw:\w+|pci_passthrough:\w+)", DOCUMENT))
    assert len(keys) > 8
    for key in keys:
        assert f'"{key}"' in code
