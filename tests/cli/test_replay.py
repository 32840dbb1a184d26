"""``gantt replay`` as a user types it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from gantt.cli.main import gantt

MAPPING = """
[columns]
name = "vm"
at = "made"
vcpus = "cores"
"""


@pytest.fixture
def trace(tmp_path: Path) -> list[str]:
    (tmp_path / "map.toml").write_text(MAPPING)
    path = tmp_path / "trace.csv"
    path.write_text("vm,made,cores\na,0,2\nb,10,2\nc,20,9\nd,30,x\n")
    return [str(path), "--mapping", str(tmp_path / "map.toml"), "--fleet", "2xvcpus=2"]


def run(*words: str, code: int = 0) -> str:
    found = CliRunner().invoke(gantt, ["replay", *words])
    assert found.exit_code == code, found.output
    return found.output


def test_a_trace_is_replayed_and_reported(trace: list[str]) -> None:
    text = run(*trace)
    assert "trace.csv: 3 instances on 2 hosts" in text
    assert "Skipped trace.csv:5: cores" in text
    found = json.loads(run(*trace, "-o", "json").partition("\n")[2])
    assert (found["placed"], found["refused"]) == (2, {"VCPU": 1})
    assert found["skipped"] == 1


def test_two_policies_are_compared(trace: list[str], tmp_path: Path) -> None:
    conf = tmp_path / "nova.conf"
    conf.write_text("[filter_scheduler]\ncpu_weight_multiplier = -1\n")
    one, other = str(tmp_path / "a.gz"), str(tmp_path / "b.gz")
    run(*trace, "--out", one)
    run("run", *trace, "--out", other, "--config-file", str(conf))
    assert "All 3 decisions are the same." in run("compare", one, one)
    found = json.loads(run("compare", one, other, "-o", "json"))
    assert found["other"]["policy"] == {"cpu_weight_multiplier": -1.0}
    assert found["arrivals"] == 3


def test_what_is_missing_is_told(trace: list[str], tmp_path: Path) -> None:
    assert "give --fleet" in run(*trace[:3], code=1)
    assert "does not exist" in run(str(tmp_path / "no"), code=1)
    assert "give --mapping" in run(trace[0], code=1)
    assert "cannot be written" in run(*trace, "--out", "/nowhere/a.gz", code=1)


@pytest.mark.parametrize("option", ["--part=dev", "--together"])
def test_options_of_other_traces_are_refused(trace: list[str], option: str) -> None:
    said = run(*trace, option, code=1)
    assert f"is a CSV file, for which {option.split('=')[0]} does nothing" in said


def test_a_what_if_writes_no_decisions(trace: list[str], tmp_path: Path) -> None:
    (tmp_path / "more.toml").write_text("")
    out = tmp_path / "a.gz"
    words = ("--what-if", str(tmp_path / "more.toml"), "--out", str(out))
    said = run(*trace, *words, code=2)
    assert "--out: with --what-if, decisions on a trace are compared" in said
    assert not out.exists()


def test_what_is_replayed_is_not_overwritten(trace: list[str]) -> None:
    before = Path(trace[0]).read_text()
    said = run(*trace, "--out", trace[0], code=1)
    assert "is what is to be replayed: name another file" in said
    assert Path(trace[0]).read_text() == before


def test_what_a_replay_reads_is_not_overwritten(trace: list[str]) -> None:
    mapping = trace[trace.index("--mapping") + 1]
    before = Path(mapping).read_text()
    said = run(*trace, "--out", mapping, code=1)
    assert "is read for the replay: name another file" in said
    assert Path(mapping).read_text() == before
