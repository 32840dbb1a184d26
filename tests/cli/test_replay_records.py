"""``gantt replay RECORD``: the report, and the exit status."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gantt.cli.main import gantt
from tests.cli.called import called
from tests.replay.recorded import add_hosts, ask, service


@pytest.fixture
def record(tmp_path: Path) -> Path:
    with service(tmp_path) as engine:
        add_hosts(engine, "h0", "h1", "h2")
        for number in range(8):
            ask(engine, number)
        ask(engine, 9, vcpus=99)
    return tmp_path / "record"


def replay(*words: str | Path, status: int = 0) -> str:
    return called(gantt, ["replay", *map(str, words)], status=status).output


def test_the_report_says_that_all_is_the_same(record: Path) -> None:
    found = replay(record)
    assert "9 of 9 decisions of 1 process made again" in found
    assert "the same, bit for bit" in found
    whole = json.loads(replay(record, "-o", "json"))
    assert (whole["same"], whole["placed"], whole["refused"]) == (9, 8, 1)


def test_another_policy_is_compared_decision_by_decision(
    record: Path, tmp_path: Path
) -> None:
    config = tmp_path / "stack.conf"
    config.write_text(
        "[filter_scheduler]\nram_weight_multiplier = -1\ncpu_weight_multiplier = -1\n"
        "io_ops_weight_multiplier = 0\n"
    )
    one, other = tmp_path / "one.gz", tmp_path / "other.gz"
    replay(record, "--out", one)
    found = replay(record, "--config-file", config, "--out", other)
    assert "not as recorded in" in found
    compared = json.loads(replay("compare", one, other, "-o", "json"))
    assert compared["arrivals"] == 9
    assert compared["moved"] > 0
    assert compared["only_one"] == compared["only_other"] == 0
    assert compared["other"]["policy"]["cpu_weight_multiplier"] == -1.0


def test_decisions_that_differ_give_another_exit_status(
    record: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gantt.replay.redecision.SeededDice", lambda _seed: None)
    monkeypatch.setattr("gantt.replay.redecision.BOOK_SOURCE", None)
    replay(record, status=1)


@pytest.mark.parametrize(
    "words", ["--fleet 2xvcpus=4", "--together", "--sample 60", "--seed 1"]
)
def test_options_of_traces_are_refused(record: Path, words: str) -> None:
    option, *rest = words.split()
    found = replay(record, option, *rest, status=2)
    assert f"{option}: only for traces" in found


def test_a_file_of_the_record_is_not_overwritten(record: Path) -> None:
    (file,) = record.iterdir()
    before = file.read_bytes()
    found = replay(record, "--out", file, status=1)
    assert "is what is to be replayed" in found
    assert file.read_bytes() == before


def test_a_trace_or_a_record_must_be_named() -> None:
    replay(status=2)


def test_a_record_without_decisions_shows_nothing(tmp_path: Path) -> None:
    with service(tmp_path) as engine:
        add_hosts(engine, "h0")
    found = replay(tmp_path / "record", status=1)
    assert "nothing was compared" in found
    assert "the same" not in found
