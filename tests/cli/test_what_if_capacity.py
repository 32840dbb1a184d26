"""``gantt capacity --what-if``: every question, to both copies of the books."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from gantt.cli import what_if_capacity
from gantt.cli.main import gantt
from gantt.cli.time_text import shown_at
from gantt.cli.what_if_engines import WhatIfEngines
from gantt.engine.gantt import Gantt
from gantt.model.hosts import HostAggregate
from gantt.model.usage_history import MICROS, UsageRecord
from gantt.replay.machines import uuid_of
from gantt.replay.snapshots import LoadedSnapshot
from gantt.store import open_store
from tests import inprocess
from tests.cli.called import called
from tests.replay.recorded import add_hosts, service

HOUR = 3_600 * MICROS
HOURS = 200
NORTH = {"availability_zone": "north"}
A, B = "name=a,vcpus=4,memory_mb=1024", "name=b,vcpus=8,memory_mb=1024"


@pytest.fixture
def database(tmp_path: Path) -> str:
    """h0 in the zone north, h1 in none, 16 CPUs each, and a use that grows."""
    with service(tmp_path) as engine:
        add_hosts(engine, "h0", "h1")
        north = HostAggregate(uuid_of("n"), "n", None, frozenset(["h0"]), NORTH)
        engine.set_host_aggregates([north])
    url = f"sqlite:///{tmp_path}/gantt.db"
    store = open_store(url)
    end = time.time_ns() // 1000 // HOUR * HOUR
    with store.usage_rows() as rows:
        for number in range(HOURS):
            start, used = end - (HOURS - number) * HOUR, 0.25 * number
            growing = (12, 32.0, used, used, used)
            rows.replace(
                3_600,
                start,
                [
                    UsageRecord(start, 3_600, "VCPU", *growing),
                    UsageRecord(start, 3_600, "VCPU", *growing, "north"),
                ],
            )
    store.close()
    return url


@pytest.fixture(params=["a database", "a service"])
def url(request: pytest.FixtureRequest, database: str, tmp_path: Path) -> Iterator[str]:
    if request.param == "a database":
        yield database
        return
    with inprocess.service(tmp_path, database) as address:
        yield address


@pytest.fixture
def drained(tmp_path: Path) -> tuple[str, str]:
    """h0 takes nothing more."""
    path = tmp_path / "what-if.toml"
    path.write_text('drain = ["h0"]\n[[flavors]]\nname = "b"\nvcpus = 16\n')
    return "--what-if", str(path)


def run(*words: str, status: int = 0) -> str:
    found = called(gantt, ["capacity", *words], status=status)
    return found.output if status else found.stdout


def ask(*words: str) -> Any:
    return json.loads(run(*words, "-o", "json"))


def rows_of(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()[3:]]


def test_a_fair_split_of_both(url: str, drained: tuple[str, str]) -> None:
    asked = ("--url", url, *drained, "--fair", A, B)
    # 4 and 8 CPUs: one of each and two more of the small one on 16; then 4 and 16.
    found = ask(*asked)
    (live,), (changed,) = found["live"]["splits"], found["what_if"]["splits"]
    assert [one["more"] for one in live["shares"]] == [4, 2]
    alone = [one["alone"] for one in (*live["shares"], *changed["shares"])]
    assert alone == [8, 4, 4, 1]
    rows = rows_of(run(*asked))
    for row, one, other in zip(rows, live["shares"], changed["shares"], strict=True):
        assert row[-3:] == [
            str(one["more"]),
            str(other["more"]),
            f"{other['more'] - one['more']:+}",
        ]


def test_zones_that_one_copy_has(database: str, tmp_path: Path) -> None:
    path = tmp_path / "more.toml"
    path.write_text('[[add]]\nfleet = "1xvcpus=8,memory_mb=4096,zone=south"\n')
    asked = ("--url", database, "--what-if", str(path), "--fair", "--by", "zone", A)
    rows = {row[0]: row[1:] for row in rows_of(run(*asked))}
    assert rows == {
        "north": ["a", "4", "4", "+0"],
        "nova": ["a", "4", "4", "+0"],
        "south": ["a", "0", "2", "+2"],
    }


SOUTH = '[[add]]\nfleet = "2xvcpus=8,memory_mb=4096,zone=south"\n'


def test_a_zone_that_the_what_if_adds_is_empty_in_the_live_copy(
    url: str, tmp_path: Path
) -> None:
    path = tmp_path / "more.toml"
    path.write_text(SOUTH)
    asked = ("--url", url, "--what-if", str(path), "--zone", "south")
    assert rows_of(run(*asked, A))[0][-3:] == ["0", "4", "+4"]
    assert rows_of(run(*asked, "--fair", A)) == [["a", "0", "4", "+4"]]
    assert rows_of(run(*asked, "--price", A))[0][-3:] == ["0", "4", "+4"]
    told = run("--url", url, "--what-if", str(path), "--zone", "suoth", A, status=1)
    assert "availability zone 'suoth' is not known here" in told


@pytest.mark.parametrize("has_it", [False, True])
def test_a_hint_that_one_copy_reads(
    database: str, tmp_path: Path, has_it: bool
) -> None:
    """What the other does not read limits nothing there."""
    file, asked = tmp_path / "what-if.toml", tmp_path / "asked.json"
    name = "DifferentHostFilter" if has_it else "SameHostFilter"
    file.write_text(f'[options]\nenabled_filters = ["ComputeFilter", "{name}"]\n')
    hints = {"different_host": [uuid_of("other")]}
    flavor = {"vcpus": 4, "memory_mb": 1024}
    asked.write_text(json.dumps({"flavor": flavor, "scheduler_hints": hints}))
    words = ("--url", database, "--what-if", str(file), "--spec", str(asked))
    found = CliRunner().invoke(gantt, ["select", *words, "-o", "json"])
    assert found.exit_code == (0 if has_it else 1), found.output
    if not has_it:
        assert "DifferentHostFilter reads it" in found.output
        return
    both = json.loads(found.stdout)
    assert [len(both[one]["chosen"]) for one in ("live", "what_if")] == [1, 1]


def test_the_price_of_rules_on_both(url: str, drained: tuple[str, str]) -> None:
    asked = ("--url", url, *drained, "--price", A)
    (one,) = ask(*asked)["flavors"]
    assert (one["live"]["total"], one["what_if"]["total"]) == (8, 4)
    assert ["a", "(all", "that", "fit)", "8", "4", "-4"] in rows_of(run(*asked))


def test_a_rule_that_costs_something(database: str, drained: tuple[str, str]) -> None:
    words = f"{A},trait:HW_CPU_X86_AVX=required"
    text = run("--url", database, *drained, "--price", words)
    (row,) = [line.split() for line in text.splitlines() if "AVX" in line]
    assert row[-3:] == ["+8", "+4", "-4"]


def test_what_is_counted_in_part_only(database: str, tmp_path: Path) -> None:
    path = tmp_path / "less.toml"
    path.write_text("[options]\ncapacity_per_host = 1\ncapacity_rules = 1\n")
    asked = ("--url", database, "--what-if", str(path))
    assert rows_of(run(*asked, "--fair", A)) == [["a", "8", "at", "least", "8", "+0"]]
    text = run(*asked, "--price", f"{A},trait:HW_CPU_X86_AVX=required")
    assert "a, what if: " in text
    assert "rules were not tried" in text


def test_two_flavors_of_one_name_are_two(
    database: str, drained: tuple[str, str]
) -> None:
    other = A.replace("vcpus=4", "vcpus=8")
    for question in ("--fair", "--runs-out"):
        text = run("--url", database, *drained, question, A, other)
        assert sum(row[0] == "a" for row in rows_of(text)) == 2


@pytest.mark.parametrize("by", ["fleet", "zone"])
def test_when_both_run_out(url: str, drained: tuple[str, str], by: str) -> None:
    asked = ("--url", url, *drained, "--runs-out", "--days", "4", "--by", by)
    found = ask(*asked, A)
    live, changed = (
        {(one["where"], one["name"]): one for one in found[name]["outlooks"]}
        for name in ("live", "what_if")
    )
    where = "" if by == "fleet" else "north"
    assert found["live"]["history_s"] == (HOURS - 1) * 3_600
    assert live[where, "VCPU"]["state"] != "too little history"
    assert live[where, "VCPU"]["is_own"] == (by == "zone")
    left = 8 if by == "fleet" else 4
    assert (live[where, "a"]["left"], changed[where, "a"]["left"]) == (left, left - 4)
    # 24 CPUs more in four days: h0 and h1 have 32, h1 alone 16.
    if by == "fleet":
        assert live["", "a"]["state"] == "not within horizon"
        assert changed["", "a"]["state"] == "forecast"
        until = shown_at(changed["", "a"]["lasts_until"])
        assert ["a", "8", "not", "within", "horizon", "4", until, "-4"] in rows_of(
            run(*asked, A)
        )


def test_a_service_tells_its_history_page_by_page(
    database: str,
    drained: tuple[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    words = (*drained, "--runs-out", "--days", "4", "--by", "zone")
    whole = ask("--url", database, *words)["live"]
    monkeypatch.setattr(what_if_capacity, "MOST_RECORDS", 7)
    with inprocess.service(tmp_path, database) as address:
        paged = ask("--url", address, *words)["live"]
    assert paged["history_s"] == whole["history_s"]
    assert [one["name"] for one in paged["outlooks"]] == [
        one["name"] for one in whole["outlooks"]
    ]


@pytest.mark.parametrize("by", ["fleet", "zone"])
def test_no_more_copies_than_two_are_made(
    url: str,
    drained: tuple[str, str],
    by: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And the rows that they are made of are kept no longer."""
    made: list[Gantt] = []
    kept: list[WhatIfEngines] = []
    engine, init = LoadedSnapshot.engine, WhatIfEngines.__init__

    def counted(one: LoadedSnapshot, **changed: Any) -> Gantt:
        made.append(engine(one, **changed))
        return made[-1]

    def seen(one: WhatIfEngines, *words: Any) -> None:
        init(one, *words)
        kept.append(one)

    monkeypatch.setattr(LoadedSnapshot, "engine", counted)
    monkeypatch.setattr(WhatIfEngines, "__init__", seen)
    for words in ((), ("--fair",), ("--price",), ("--runs-out", "--by", by)):
        made.clear()
        run("--url", url, *drained, *words, A)
        assert len(made) == 2
        with pytest.raises(AssertionError):
            _ = kept[-1].snapshot


@pytest.mark.parametrize("question", [(), ("--fair",), ("--price",), ("--runs-out",)])
def test_flavors_that_nothing_asks_for_are_told(
    database: str, drained: tuple[str, str], question: tuple[str, ...]
) -> None:
    words = ["capacity", "--url", database, *drained, *question]
    found = CliRunner().invoke(gantt, [*words, A])
    assert "what-if.toml: [[flavors]] 'b' changed nothing" in found.stderr
    assert CliRunner().invoke(gantt, [*words, A, B]).stderr == ""


def test_a_snapshot_in_a_file_has_no_history(
    database: str, drained: tuple[str, str], tmp_path: Path
) -> None:
    file = str(tmp_path / "now.record.gz")
    called(gantt, ["snapshot", file, "--url", database])
    assert ask("--url", file, *drained, "--fair", A)["live"]["splits"]
    said = run("--url", file, *drained, "--runs-out", status=1)
    assert "has no usage history" in said
    assert "name a service or a database with --url" in said
