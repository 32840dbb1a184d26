"""A short simulation on every store. GANTT_SIM_SEEDS makes it longer."""

from __future__ import annotations

import logging
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from gantt.errors import Refused
from tests.databases import SERVERS, Databases
from tests.kinds import KINDS as DATABASES
from tests.kinds import SERVER_KINDS
from tests.simulation import __main__ as program
from tests.simulation import servers
from tests.simulation.fault_schedule import CRASH, KINDS, FaultSchedule
from tests.simulation.history import Finding
from tests.simulation.run import GALERA, MEMORY, Plan, Run

SEEDS = int(os.environ.get("GANTT_SIM_SEEDS", "4"))
PINNED = ("claims on cells or devices", "that no longer fitted")
FIRST = int(os.environ.get("GANTT_SIM_SEED", "1"))


def try_seeds(store: str, record: Any, name: str) -> Counter[str]:
    """Raises AssertionError with the command that replays what failed."""
    struck: Counter[str] = Counter()
    told: Counter[str] = Counter()
    for seed in range(FIRST, FIRST + SEEDS):
        plan = Plan(seed, store, steps=100)
        result = Run(plan).go()
        replay = program.command(plan, name)
        if name in SERVERS:
            replay = servers.as_ours(replay.replace(f" --store {name}", ""), name)
        assert result.findings == [], f"{replay}: {result.findings[0]}"
        struck.update(result.struck)
        told.update(program.tally(result))
    faults = {"crashes": struck[CRASH], "faults in all": sum(struck.values())}
    record("told", (f"Simulated on {name}", {"seeds": SEEDS, **told, **faults}))
    assert all(told[one] for one in PINNED), "no CPU and no device was fought over"
    return struck


def must_storm(struck: Counter[str]) -> None:
    """A seed without faults would find nothing."""
    assert set(struck) <= set(KINDS)
    assert len(struck) > 5, "too few faults occurred to tell anything"


@pytest.mark.parametrize("store", [MEMORY, GALERA])
def test_run_in_memory(store: str, record_property: Any) -> None:
    must_storm(try_seeds(store, record_property, store))


@pytest.mark.parametrize("kind", DATABASES)
def test_run_on_databases(
    kind: str, tmp_path: Path, databases: Databases, record_property: Any
) -> None:
    if kind == "sqlite":
        must_storm(try_seeds(f"sqlite:///{tmp_path}/sim.db", record_property, kind))
        return
    server = databases.server(kind)
    server.execute("CREATE DATABASE gantt_sim")
    url = server.url("gantt_sim")
    try:
        must_storm(try_seeds(url, record_property, kind))
    finally:
        server.drop(url)


def test_seeds_cover_single_and_pipelined_statements() -> None:
    assert {FaultSchedule(seed).is_piecewise for seed in range(1, 5)} == {False, True}


@pytest.mark.parametrize("kind", SERVER_KINDS)
def test_server_seed_is_one_command(
    kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert servers.main(kind, "--seed", "1", "--steps", "20") == 0
    assert "0 laws broken" in capsys.readouterr().out
    told = program.command(Plan(7, "URL", 20), "URL").replace(" --store URL", "")
    assert servers.as_ours(told, kind).startswith(
        f"python -m tests.simulation.servers {kind} --seed 7 --steps 20"
    )


@pytest.mark.parametrize(("seed", "store"), [(20066, GALERA)])
def test_past_failures_stay_fixed(seed: int, store: str) -> None:
    assert Run(Plan(seed, store)).go().findings == []


def test_run_is_deterministic() -> None:
    def told(seed: int) -> list[str]:
        return [
            f"{e.tick} {e.who} {e.text}" for e in Run(Plan(seed, steps=60)).go().trace
        ]

    assert told(5) == told(5)
    assert told(5) != told(6)


def test_shorter_run_is_a_prefix() -> None:
    long, short = Run(Plan(4, steps=90)).go(), Run(Plan(4, steps=60)).go()
    assert len(short.history.ops) < len(long.history.ops)
    # Not the last ones: other clients had ended while those were asked.
    asked = [op.command for op in short.history.ops[:20]]
    assert asked == [op.command for op in long.history.ops[:20]]


def test_database_must_permit_erasure(tmp_path: Path) -> None:
    with pytest.raises(Refused, match='"sim"'):
        Run(Plan(1, f"sqlite:///{tmp_path}/books.db"))


def test_seed_replay_prints_a_trace(capsys: pytest.CaptureFixture[str]) -> None:
    assert program.main(["--seed", "3", "--steps", "40"]) == 0
    told = capsys.readouterr().out
    assert "op-0 asks" in told
    assert "seed 3:" in told
    assert "0 laws broken" in told


def test_what_other_parts_of_a_process_log_is_as_before() -> None:
    logger = logging.getLogger("gantt")
    before = list(logger.handlers), logger.propagate
    assert program.main(["--seed", "3", "--steps", "5"]) == 0
    assert (logger.handlers, logger.propagate) == before
    assert logger.propagate


def test_many_seeds_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    assert program.main(["--seeds", "2", "--steps", "30", "--store", "galera"]) == 0
    assert "galera: 2 seeds from 0, 0 broke a law" in capsys.readouterr().out


def test_failure_prints_its_replay_command(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(history: Any) -> list[Finding]:
        return [Finding("a law", "broken")] if len(history.ops) >= 5 else []

    monkeypatch.setattr("tests.simulation.run.check", broken)
    assert program.main(["--seed", "2", "--steps", "60"]) == 1
    told = capsys.readouterr().out
    assert "BROKEN a law: broken" in told
    steps = int(told.partition("--steps ")[2].split()[0])
    assert 5 <= steps < 60
