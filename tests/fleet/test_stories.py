"""What operators of a small cluster see, from the agents to the audit, with two hosts.

Each test is a story with processes of its own: the service, an agent for each host, the
program that launches, what is launched, and where it needs one, a real Redis.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path
from uuid import uuid4

import pytest

from tests.coordinators import coordinator
from tests.fleet.fleet import HEARTBEAT, HOSTS, Fleet, fleet, pids_of

pytestmark = pytest.mark.slow
NOW = ("--grace", "0")
DOWN_S = 6
COORDINATION = """\
[coordination]
backend_url = {url}
heartbeat_interval = {interval}
"""


def test_an_instance_is_claimed_launched_seen_and_released(tmp_path: Path) -> None:
    with fleet(tmp_path) as two:
        launched = two.launch()
        host, instance = launched.host, launched.instance
        two.reaches(lambda: pids_of(instance), tell="not started")
        (pid,) = pids_of(instance)
        assert two.used_mb(host) == 64
        two.reaches(lambda: two.is_seen(launched), tell="not seen")
        assert two.findings(*NOW) == []
        (other,) = set(HOSTS) - {host}
        assert two.host(other).instances == () and two.used_mb(other) == 0

        assert launched.end() == 128 + signal.SIGTERM
        assert pids_of(instance) == [] and not Path(f"/proc/{pid}").exists()
        assert two.used_mb(host) == 0
        two.reaches(lambda: two.findings(*NOW) == [], tell="the agent still lists it")


@pytest.mark.server("redis")
def test_an_agent_that_leaves_its_group_is_noticed(tmp_path: Path) -> None:
    with coordinator("redis") as server:
        url = server.url(server.port)
        settings = COORDINATION.format(url=url, interval=HEARTBEAT)
        with fleet(tmp_path, settings, coordination=url) as two:
            a_killed_agent_is_noticed(two, 2 * HEARTBEAT)


def test_an_agent_that_falls_silent_is_noticed(tmp_path: Path) -> None:
    """Without a service for coordination."""
    with fleet(tmp_path, f"[DEFAULT]\nservice_down_time = {DOWN_S}\n") as two:
        # A service that has just started waits for twice that time first.
        a_killed_agent_is_noticed(two, 3 * DOWN_S)


def a_killed_agent_is_noticed(two: Fleet, within: float) -> None:
    """Its host gets nothing new, keeps what runs there, and comes back with it."""
    two.reaches(
        lambda: all("agent" in two.host(host).service for host in HOSTS),
        tell="no agent was noticed",
    )
    launched = two.launch()
    down = launched.host
    (up,) = set(HOSTS) - {down}
    two.reaches(lambda: two.is_seen(launched), tell="not seen")

    two.agents[down].kill()
    two.reaches(lambda: two.state(down) == "agent down", within, "not noticed")
    assert two.state(up) != "agent down"
    other = two.launch()
    assert other.host == up
    assert pids_of(launched.instance) and two.used_mb(down) == 64
    assert two.findings(*NOW) == []

    two.start_agent(down)
    two.reaches(lambda: two.state(down) != "agent down", within, "not back")
    assert two.is_seen(launched)
    for one in (launched, other):
        one.end()
    two.reaches(lambda: two.findings(*NOW) == [], tell="something is left")


def test_orphans_are_found_and_healed(tmp_path: Path) -> None:
    with fleet(tmp_path) as two:
        launched = two.launch()
        host, instance = launched.host, launched.instance
        two.reaches(lambda: two.is_seen(launched), tell="not seen")

        # The program that launched it dies, then the instance: a claim is left.
        launched.process.kill()
        for pid in pids_of(instance):
            os.kill(pid, signal.SIGKILL)
        gone = [("no_workload", host, instance)]
        two.reaches(lambda: two.findings(*NOW) == gone, tell="no finding")
        assert two.findings() == [], (
            "it may be about to start: the grace is ten minutes"
        )
        heal = ("audit", *NOW, "--heal")
        assert "Dry run: 1 of 1" in two.do(*heal, status=1)
        assert two.used_mb(host) == 64
        healed = two.do(*heal, "--yes")
        assert "1 of 1 finding repaired" in healed
        assert two.used_mb(host) == 0 and two.findings(*NOW) == []
        assert "no_workload" in two.do("explain", instance)

        # A process that nothing claimed: it is told, and only its end mends it.
        stray = str(uuid4())
        two.start_stray(host, stray)
        told = [("no_claim", host, stray)]
        two.reaches(lambda: two.findings(*NOW) == told, tell="no finding")
        assert two.findings() == [], "it may be about to end"
        said = two.do(*heal, "--yes", status=1)
        assert "0 of 1 finding repaired" in said
        for pid in pids_of(stray):
            os.kill(pid, signal.SIGKILL)
        two.reaches(lambda: two.findings(*NOW) == [], tell="still a finding")
