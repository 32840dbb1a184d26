"""``gantt replay`` as a user types it."""

from __future__ import annotations

import json
from codecs import BOM_UTF8
from pathlib import Path

import pytest

from gantt.cli.main import gantt
from tests.cli.called import called

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
    return called(gantt, ["replay", *words], status=code).output


def test_a_trace_is_replayed_and_reported(trace: list[str]) -> None:
    text = run(*trace)
    assert "trace.csv: 3 instances on 2 hosts" in text
    assert "Skipped trace.csv:5: cores" in text
    found = json.loads(run(*trace, "-o", "json").partition("\n")[2])
    assert (found["placed"], found["refused"]) == (2, {"VCPU": 1})
    assert found["skipped"] == 1


def test_a_byte_order_mark_is_no_part_of_a_name(
    trace: list[str], tmp_path: Path
) -> None:
    """Spreadsheets write one."""
    for name in ("trace.csv", "map.toml"):
        path = tmp_path / name
        path.write_bytes(BOM_UTF8 + path.read_bytes())
    fleet = tmp_path / "fleet.json"
    fleet.write_bytes(BOM_UTF8 + b'[{"name": "m", "inventories": {"VCPU": 4}}]')
    what_if = tmp_path / "what-if.toml"
    what_if.write_bytes(BOM_UTF8 + b'[[add]]\nfleet = "1xvcpus=2"\n')
    words = (*trace[:3], "--fleet", str(fleet), "--what-if", str(what_if))
    assert "3 instances" in run(*trace)
    found = json.loads(run(*words, "-o", "json").partition("\n")[2].partition("\n")[2])
    assert found["live"]["placed"] == 2


@pytest.mark.parametrize("more", [[], ["--what-if"]])
@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("vm,made,cores\na,x,2\nb,y,2\n", "2 places were skipped, first trace.csv:2"),
        ("vm,made,cores\n", "it is empty"),
        ("", "it is empty"),
    ],
)
def test_a_trace_of_which_nothing_could_be_read_is_refused(
    trace: list[str], tmp_path: Path, text: str, why: str, more: list[str]
) -> None:
    (tmp_path / "trace.csv").write_text(text)
    (tmp_path / "more.toml").write_text("")
    more = [*more, str(tmp_path / "more.toml")] if more else []
    said = run(*trace, *more, code=1)
    assert "Nothing of the trace trace.csv could be read: " in said and why in said
    if not more:
        out = tmp_path / "out"
        out.write_text("of an earlier replay")
        assert why in run(*trace, "--out", str(out), code=1)
        assert out.read_text() == "of an earlier replay"


def test_the_last_departures_are_counted(tmp_path: Path, trace: list[str]) -> None:
    (tmp_path / "map.toml").write_text(MAPPING + 'until = "gone"\n')
    (tmp_path / "trace.csv").write_text("vm,made,cores,gone\na,0,2,5\nb,9,2,99\n")
    found = json.loads(run(*trace, "-o", "json"))
    assert (found["placed"], found["departed"]) == (2, 2)


def test_one_is_no_several(trace: list[str], tmp_path: Path) -> None:
    (tmp_path / "trace.csv").write_text("vm,made,cores\na,0,2\n")
    (tmp_path / "more.toml").write_text("")
    one = [*trace[:3], "--fleet", "1xvcpus=16,memory_mb=65536"]
    assert "1 instance on 1 host in" in run(*one)
    assert "1 instance, 1 arrival." in run(
        *one, "--what-if", str(tmp_path / "more.toml")
    )
    (tmp_path / "trace.csv").write_text("vm,made,cores\na,x,2\n")
    assert "1 place was skipped" in run(*trace, code=1)


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
