"""Reports of agents: each applied once and in sequence, else ignored or refused."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest
from msgspec import UNSET
from msgspec.structs import replace

from gantt.errors import (
    BadReport,
    Invalid,
    NeedsChanged,
    ReportGap,
    UnknownIncarnation,
)
from gantt.model import commands as c
from gantt.model.hosts import HostStats
from gantt.model.reports import ReportOutcome
from gantt.placement.fleet_queries import PLACE
from gantt.placement.rules import agent_reports
from tests.placement.fleet_desk import FleetDesk, uuid_of
from tests.reported import report_of

FULL: dict[str, Any] = {
    "vcpus": 8,
    "memory_mb": 8192,
    "local_gb": 100,
    "free_ram_mb": 4096,
    "free_disk_gb": 100,
    "traits": ("HW_CPU_X86_AVX",),
    "cpu_info": {"arch": "x86_64"},
}
NEEDS = "now"


def command(
    sequence: int,
    fields: dict[str, Any] | None = None,
    *,
    full: bool = False,
    agent: str = "a",
    needs: str = NEEDS,
    at: int = 0,
    **more: Any,
) -> c.ReportHost:
    """The report ``sequence`` of ``agent`` for h1; ``full``: with all fields."""
    fields = {**(fields or {}), **more}
    stats = HostStats(**({**FULL, **fields} if full else fields))
    report = report_of(
        "h1",
        sequence,
        stats,
        node="n1",
        incarnation=agent,
        taken_at=at or 1_000_000 * sequence,
        full=full,
        needs=needs,
    )
    options = c.UpdateHost("", "", HostStats(), "", renewed_after_us=1_000_000)
    return agent_reports.command_of(
        report, options, NEEDS, new_provider_uuid=uuid_of(1)
    )


def outcome(desk: FleetDesk, command: c.ReportHost) -> str:
    found: ReportOutcome = desk.do(command)
    assert (found.host, found.node, found.needs) == ("h1", "n1", NEEDS)
    return found.outcome


@pytest.fixture
def desk() -> FleetDesk:
    desk = FleetDesk()
    assert outcome(desk, command(1, full=True)) == "applied"
    return desk


def test_a_delta_after_the_full_report_is_applied(desk: FleetDesk) -> None:
    assert outcome(desk, command(2, free_ram_mb=1024, running_vms=3)) == "applied"
    stats = desk.host().stats
    assert (stats["free_ram_mb"], stats["running_vms"], stats["vcpus"]) == (1024, 3, 8)
    assert desk.inventories()["VCPU"].total == 8
    assert not [name for name in stats if name.startswith("_")]


def test_a_repeated_report_changes_nothing(desk: FleetDesk) -> None:
    desk.do(command(2, running_vms=3), command(3, running_vms=4))
    for again in (command(3, running_vms=4), command(2, running_vms=3)):
        assert desk.changes(again) == 0
        assert outcome(desk, again) == "duplicate"
    assert outcome(desk, command(1, full=True, running_vms=1)) == "duplicate"
    assert desk.host().stats["running_vms"] == 4


def test_a_gap_is_refused_until_a_full_report_comes(desk: FleetDesk) -> None:
    text = desk.refusal(command(3, running_vms=3), ReportGap)
    assert "3" in text and "full report" in text
    assert outcome(desk, command(3, full=True, running_vms=9)) == "applied"
    assert outcome(desk, command(4, running_vms=10)) == "applied"


def test_nothing_new_is_no_write_and_still_shows_a_gap(desk: FleetDesk) -> None:
    assert desk.changes(command(1)) == 0
    assert outcome(desk, command(1)) == "unchanged"
    desk.refusal(command(2), ReportGap)
    desk.do(command(2, running_vms=3))
    assert outcome(desk, command(1)) == "duplicate"


def test_nothing_new_renews_a_report_that_is_old(desk: FleetDesk) -> None:
    desk.now += 2_000_000
    assert desk.changes(command(1)) == 1
    desk.do(command(1))
    assert desk.host().updated_at == desk.now


def test_an_agent_that_starts_sends_a_full_report_first(desk: FleetDesk) -> None:
    desk.refusal(command(2, agent="b", running_vms=1), UnknownIncarnation)
    later = command(1, agent="b", at=9_000_000, full=True)
    assert outcome(desk, later) == "applied"
    assert outcome(desk, command(2, agent="b", running_vms=1)) == "applied"
    assert FleetDesk().refusal(command(1, running_vms=1), UnknownIncarnation)


@pytest.mark.parametrize("full", [True, False])
def test_late_reports_of_an_agent_before_are_ignored(
    desk: FleetDesk, full: bool
) -> None:
    desk.do(command(1, agent="b", at=9_000_000, full=True, running_vms=5))
    # Even with a clock that is ahead of that of the later one.
    late = command(2, at=99_000_000, full=full, running_vms=1)
    found: ReportOutcome = desk.do(late)
    assert (found.outcome, found.taken_at) == ("superseded", 9_000_000)
    assert "agent b started later" in found.message
    assert desk.changes(late) == 0
    assert desk.host().stats["running_vms"] == 5


def test_the_full_report_of_an_agent_before_may_come_first_after_it(
    desk: FleetDesk,
) -> None:
    """It was never applied: only the clock tells."""
    assert outcome(desk, command(1, agent="b", at=1, full=True)) == "superseded"


def test_some_agents_before_are_remembered(desk: FleetDesk) -> None:
    for number in range(2, 9):
        agent = f"agent-{number}"
        desk.do(command(1, agent=agent, at=number * 1_000_000, full=True))
    for number in range(4, 8):
        assert outcome(desk, command(2, agent=f"agent-{number}")) == "superseded"
    place = agent_reports.place_of(desk.state, command(1).report)
    assert place is not None and len(place.past) == 4


def test_deltas_for_other_needs_are_refused(desk: FleetDesk) -> None:
    desk.refusal(command(2, needs="before", running_vms=3), NeedsChanged)
    desk.refusal(command(1, needs="before"), NeedsChanged)
    # A full report says what is true: the answer names the needs of now.
    assert outcome(desk, command(2, needs="before", full=True)) == "applied"


def test_a_report_of_everything_is_made_for_any_needs(desk: FleetDesk) -> None:
    assert outcome(desk, command(2, needs="", running_vms=3)) == "applied"


def test_what_a_full_report_no_longer_has_is_taken_back(desk: FleetDesk) -> None:
    desk.do(command(2, metrics=[{"name": "cpu.percent", "value": 0.5}]))
    desk.do(c.UpdateHost("h1", "n1", HostStats(host_ip="10.0.0.1"), ""))
    bare = report_of(
        "h1",
        3,
        HostStats(vcpus=8, memory_mb=8192),
        node="n1",
        taken_at=3_000_000,
        needs=NEEDS,
    )
    options = c.UpdateHost("", "", HostStats(), "")
    desk.do(agent_reports.command_of(bare, options, NEEDS))
    stats = desk.host().stats
    assert stats["metrics"] is None and stats["cpu_info"] is None
    assert stats["traits"] == []
    assert stats["host_ip"] == "10.0.0.1", "the agent never said it"
    assert stats["local_gb"] == 100, "an amount is never unknown"


def test_what_could_not_be_read_stays_until_it_is_known_to_be_gone(
    desk: FleetDesk,
) -> None:
    def full(sequence: int, *unread: str) -> c.ReportHost:
        known = command(sequence, full=True)
        fields = replace(known.report.fields, cpu_info=UNSET)
        report = replace(known.report, fields=fields, unread=unread)
        return replace(known, report=report)

    desk.do(full(2, "cpu_info"))
    assert desk.host().stats["cpu_info"] == FULL["cpu_info"]
    desk.do(full(3))
    assert desk.host().stats["cpu_info"] is None


def test_a_field_may_be_taken_back_by_a_delta(desk: FleetDesk) -> None:
    desk.do(command(2, cpu_info=None))
    assert desk.host().stats["cpu_info"] is None
    place = desk.state.fleet.hosts.stats[0][PLACE]
    assert "cpu_info" not in place["told"] and "vcpus" in place["told"]


@pytest.mark.parametrize(
    ("field", "facts"),
    [
        ("free_ram_mb", {"free_ram_mb": 8193}),
        ("free_ram_mb", {"memory_mb": 1024}),
        ("free_disk_gb", {"free_disk_gb": 101}),
        ("running_vms", {"running_vms": -1}),
        ("hypervisor_version", {"hypervisor_version": -1}),
        ("metrics.cpu.percent", {"metrics": [{"name": "cpu.percent", "value": 1.5}]}),
        ("metrics.cpu.percent", {"metrics": [{"name": "cpu.percent", "value": -0.1}]}),
    ],
)
def test_impossible_numbers_are_refused_by_field(
    desk: FleetDesk, field: str, facts: dict[str, Any]
) -> None:
    before = desk.host()
    text = desk.refusal(command(2, facts), BadReport)
    assert f"fields.{field} " in text
    assert desk.host() == before
    # The number was not used up: what is right comes with the same.
    assert outcome(desk, command(2, running_vms=1)) == "applied"


def test_what_update_host_refuses_is_refused(desk: FleetDesk) -> None:
    cell = {"id": 0, "cpus": "0-1", "memory": 64, "pinned_cpus": [7]}
    bad = command(2, numa_topology={"cells": [cell]})
    assert "pinned" in desk.refusal(bad, Invalid)


def test_as_known_agrees_with_the_rule(desk: FleetDesk) -> None:
    desk.do(command(2, running_vms=3))
    for sequence, agent, full in itertools.product((1, 2, 3), "ab", (True, False)):
        for fields in (None, {"running_vms": 7}):
            asked = command(sequence, fields, agent=agent, full=full)
            known = agent_reports.as_known(desk.state, asked, desk.now)
            if known is not None:
                assert desk.changes(asked) == 0
                assert known == desk.do(asked)


@pytest.mark.parametrize("seed", range(20))
def test_any_order_with_repeats_ends_in_the_last_state(seed: int) -> None:
    """Reports come late, twice or not at all; a refusal is answered with all that the
    host knows by then. What is known is never older than what was known before."""
    rng = random.Random(seed)
    desk = FleetDesk()
    facts = {"running_vms": 0, "current_workload": 0}
    sequence, seen = 1, -1
    sent = [command(1, facts, full=True)]
    for number in range(1, 30):
        sequence += 1
        facts["running_vms"] = number
        sent.append(command(sequence, running_vms=number))
        arrived = [one for one in rng.choices(sent, k=3) if rng.random() < 0.8]
        for one in arrived:
            try:
                desk.do(one)
            except (ReportGap, UnknownIncarnation):
                sequence += 1
                sent.append(command(sequence, facts, full=True))
                desk.do(sent[-1])
            known = desk.host().stats["running_vms"]
            assert known >= seen
            seen = known
    desk.do(command(sequence + 1, facts, full=True))
    assert desk.host().stats["running_vms"] == 29
