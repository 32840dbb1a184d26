"""Hosts counted by state, as filters would judge them."""

from __future__ import annotations

from gantt.model import commands as c
from gantt.model.hosts import Service
from gantt.placement.usages import host_states
from tests.placement.fleet_desk import FleetDesk, report

NOW = 1_000_000_000
LIMIT = 60_000_000


def test_every_host_is_in_one_state() -> None:
    desk = FleetDesk(7)
    desk.do(
        c.UpdateService(Service("h1", last_seen_up=NOW - LIMIT)),
        c.UpdateService(Service("h2", disabled=True, forced_down=True)),
        c.UpdateService(Service("h3", forced_down=True, last_seen_up=NOW)),
        c.UpdateService(Service("h4", last_seen_up=NOW - LIMIT - 1)),
        c.UpdateService(Service("h5", last_seen_up=NOW + LIMIT + 1)),
        report(6, free_disk_gb=None),
    )
    assert host_states(desk.state, NOW, LIMIT) == {
        "enabled": 2,
        "disabled": 1,
        "down": 3,
        "stale": 1,
    }


def test_a_fleet_without_hosts() -> None:
    assert sum(host_states(FleetDesk().state, NOW, LIMIT).values()) == 0
