"""``--what-if``: the difference between two copies of the books."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import Result

from gantt.cli.main import gantt
from gantt.client.remote import RemoteGantt
from gantt.model.spec import Flavor, RequestSpec
from tests.cli.called import called
from tests.replay.recorded import add_hosts, ask, service

ASKED = "vcpus=4,memory_mb=1024"


@pytest.fixture
def url(tmp_path: Path) -> str:
    with service(tmp_path) as engine:
        add_hosts(engine, "h0", "h1")
    (tmp_path / "what-if.toml").write_text('drain = ["h0"]\n[[add]]\nlike = "h1"\n')
    return f"sqlite:///{tmp_path}/gantt.db"


def run(*words: str | Path) -> Result:
    return called(gantt, list(map(str, words)))


def test_capacity_tells_what_changes(url: str, tmp_path: Path) -> None:
    asked = ("--url", url, "--what-if", tmp_path / "what-if.toml", ASKED)
    text = run("capacity", *asked).output
    assert "difference" in text
    assert [line.split()[0] for line in text.splitlines() if line.endswith("+4")] == [
        "what-if-1"
    ]
    (one,) = json.loads(run("capacity", *asked, "-o", "json").output)["flavors"]
    assert (one["live"]["total"], one["what_if"]["total"]) == (8, 8)
    assert set(one["what_if"]["hosts"]) == {"h1", "what-if-1"}


def test_select_decides_on_both_and_claims_nothing(url: str, tmp_path: Path) -> None:
    asked = ("--url", url, "--what-if", tmp_path / "what-if.toml", "--flavor")
    text = run("select", *asked, ASKED, "--count", "2").output
    assert "nothing was claimed" in text
    assert "after ComputeFilter" in text
    whole = json.loads(run("select", *asked, "vcpus=99", "-o", "json").output)
    assert whole["live"]["failure"]
    assert whole["what_if"]["failure"]
    left = json.loads(run("capacity", "--url", url, ASKED, "-o", "json").output)
    assert left[0]["total"] == 8


def test_a_snapshot_in_a_file_serves_as_well(url: str, tmp_path: Path) -> None:
    file = tmp_path / "now.record.gz"
    run("snapshot", file, "--url", url)
    what_if = tmp_path / "what-if.toml"
    found = run("capacity", "--url", file, "--what-if", what_if, ASKED, "-o", "json")
    assert json.loads(found.output)["flavors"][0]["what_if"]["total"] == 8
    again = called(gantt, ["snapshot", str(file), "--url", url], status=1)
    assert "exists" in again.output
    called(gantt, ["snapshot", str(what_if), "--url", url], status=2)


def test_a_trace_is_replayed_twice(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("vm,at,cores,mb\na,0,4,1024\nb,1,4,1024\n")
    (tmp_path / "m.toml").write_text(
        '[columns]\nname = "vm"\nat = { column = "at", unit = "s" }\n'
        'vcpus = "cores"\nmemory_mb = "mb"\n'
    )
    what_if = tmp_path / "what-if.toml"
    what_if.write_text('remove = ["host-1"]\n[[flavors]]\nname = "no"\n')
    asked = (tmp_path / "t.csv", "--mapping", tmp_path / "m.toml")
    fleet = ("--fleet", "2xvcpus=4,memory_mb=4096", "--what-if", what_if)
    text = run("replay", *asked, *fleet).output
    assert "placed live alone" in text
    found = run("replay", *asked, *fleet, "-o", "json")
    assert "[[flavors]] 'no' changed nothing" in found.stderr
    whole = json.loads(found.stdout)
    assert whole["unasked"] == ["no"]
    assert (whole["live"]["placed"], whole["what_if"]["placed"]) == (2, 1)
    assert whole["only_live"] == 1


def test_recorded_decisions_take_other_options_and_no_other_hosts(
    url: str, tmp_path: Path
) -> None:
    del url
    what_if = tmp_path / "what-if.toml"
    found = called(
        gantt, ["replay", str(tmp_path / "record"), "--what-if", str(what_if)], status=1
    )
    assert "what-if.toml: add, drain changes hosts" in found.output
    what_if.write_text("[options]\ncpu_weight_multiplier = -1.0\n")
    run("replay", tmp_path / "record", "--what-if", what_if)


def test_a_snapshot_that_a_service_broke_off_is_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RemoteGantt, "save_snapshot", lambda _, file: file.write(b"{}"))
    path = tmp_path / "a.record.gz"
    words = ["snapshot", "--url", "http://127.0.0.1:1", str(path)]
    found = called(gantt, words, status=1)
    assert "ended early" in found.output
    assert not path.exists()


@pytest.mark.parametrize(
    ("option", "why"),
    [
        ("max_attempts = 0", "options.max_attempts is 0"),
        ("host_subset_size = 0", "host_subset_size of [filter_scheduler]"),
        ("capacity_per_host = 0", "capacity_per_host of [scheduler]"),
        ("host_subset_size = [1]", "host_subset_size of [filter_scheduler]"),
        ("host_subset_size = inf", "host_subset_size of [filter_scheduler]"),
        ("cpu_weight_multiplier = { a = 1 }", "cpu_weight_multiplier of"),
        ("service_down_time = 59.5", "a whole number of at least 0"),
        ("cpu_allocation_ratio = nan", "a finite number of at least 0"),
        ("lease_skew_s = inf", "a finite number from 0"),
        ("choices = 0", "options.choices is 0: it must be a whole number"),
        ("packing = 'heap'", "one of spread, stack, room"),
    ],
)
def test_options_are_such_as_a_configuration_has(
    url: str, tmp_path: Path, option: str, why: str
) -> None:
    what_if = tmp_path / "wrong.toml"
    what_if.write_text(f"[options]\n{option}\n")
    for words in (
        ("capacity", "--url", url, ASKED),
        ("select", "--url", url, "--flavor", ASKED),
        ("replay", str(tmp_path / "record")),
    ):
        found = called(gantt, [*words, "--what-if", str(what_if)], status=1)
        assert why in " ".join(found.output.split())
        assert "wrong.toml: " in found.output


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('drain = ["h7"]', "drain: there is no host h7"),
        ('[[add]]\nfleet = "2xvcpu=1"', "'vcpu=1' is not known"),
        ('[options]\ndriver = "no"', "options: driver of [scheduler] is 'no'"),
        (
            '[[flavors]]\nname = "a"\nextra_specs = { "resources:NO" = "1" }',
            'flavors[0] "a": extra spec resources:NO asks for',
        ),
        ('[[ratios]]\nresource_class = "X"\nratio = 1.0', "no host has an inventory"),
        ("[options]\ncpu_weight = 1.0", "options has cpu_weight"),
        ('[options]\nenabled_filters = ["No"]', "No"),
        ('where = "x"', "where"),
    ],
)
def test_what_cannot_be_done_names_the_file(
    url: str, tmp_path: Path, text: str, why: str
) -> None:
    what_if = tmp_path / "wrong.toml"
    what_if.write_text(text)
    for words in (
        ("capacity", "--url", url, f"name=a,{ASKED}"),
        ("capacity", "--url", url, f"name=a,{ASKED}", "--fair"),
        ("capacity", "--url", url, f"name=a,{ASKED}", "--price"),
        ("select", "--url", url, "--flavor", f"name=a,{ASKED}"),
    ):
        found = called(gantt, [*words, "--what-if", str(what_if)], status=1)
        told = " ".join(found.output.split())
        assert told.count("wrong.toml: ") == 1
        assert why in told


def test_flavors_that_no_request_had_are_told(url: str, tmp_path: Path) -> None:
    with service(tmp_path, record=tmp_path / "asked") as engine:
        ask(engine, 1, spec=RequestSpec(Flavor(1, 1024, name="small")))
    what_if = tmp_path / "flavors.toml"
    what_if.write_text(
        '[[flavors]]\nname = "small"\nvcpus = 2\n[[flavors]]\nname = "no"\n'
    )
    for words in (
        ("replay", str(tmp_path / "asked")),
        ("select", "--url", url, "--flavor", f"name=small,{ASKED}"),
    ):
        found = called(gantt, [*words, "--what-if", str(what_if)])
        assert "flavors.toml: [[flavors]] 'no' changed nothing" in found.stderr
