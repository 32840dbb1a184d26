"""A fleet of agents that report over HTTP: a burst of full reports, then steady state.

The server is ``gantt serve`` with one worker and books on disk; the agents are
simulated on the same machine (``simulated_hosts``), but for one, which is ``gantt
agent``. Processor time is that of the server's processes alone. Steady state is shown
over a shortened window at the rate of the whole fleet.
"""

from __future__ import annotations

import os
import re
import subprocess
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Final

import msgspec

from bench.connections import Connections, Sent, post
from bench.report import KB_PER_MB, Row, at_most, megabytes, say
from bench.simulated_hosts import SimulatedHost, fleet
from gantt.agent.loop import PACE
from gantt.bench.figures import duration
from gantt.bench.servers import Server, free_port, program, used_s
from gantt.connection import connect
from gantt.model.reports import Report, ReportOutcome
from tests.databases import Databases, Postgres

HOSTS: Final = 10_000
INTERVAL_S: Final = 60.0
CONNECTIONS: Final = 64
WINDOW_S: Final = 15.0
SLICE_S: Final = 0.5
EXCHANGED: Final = 20
"""Of so many reports one tells of an instance that came."""
BURST_S: Final = 5.0
SHARE: Final = 0.1
AGENT_MB: Final = 60.0
AGENT_SHARE: Final = 0.01
AGENT_REPORTS: Final = 20


class _Outcomes(msgspec.Struct):
    outcomes: list[ReportOutcome]


_decode: Final = msgspec.json.Decoder(_Outcomes).decode


def measure(folder: Path, scale: float) -> Iterator[Row]:
    """Books in a file of SQLite; and one agent as a process."""
    path = folder / "agents.db"
    url = f"sqlite:///{path}"
    connect(url, create=True).close()
    with Server.gantt(path) as server:
        yield from _reported(server, "SQLite", scale)
        yield from _one_agent(server)


def measure_postgresql(folder: Path, scale: float) -> Iterator[Row]:
    """Books in a private PostgreSQL with synced files."""
    with Databases(is_durable=True) as databases:
        url = databases.server(Postgres.name).new()
        connect(url, create=True).close()
        with Server.gantt_on(url, folder) as server:
            yield from _reported(server, "PostgreSQL", scale)


def _reported(server: Server, where: str, scale: float) -> Iterator[Row]:
    count = max(100, int(HOSTS * scale))
    say(f"agents: {count:,} hosts ...")
    with closing(connect(server.url)) as books:
        needs = books.needs()
    hosts = fleet(count, needs)
    with Connections(server.port, min(CONNECTIONS, count)) as connections:
        for which in ("new", "known"):
            yield _burst(server, connections, hosts, f"{which} hosts, {where}")
            for host in hosts:
                host.restart()
        _exchange(connections, hosts)
        yield from _steady(server, connections, hosts, where)


def _burst(
    server: Server, connections: Connections, hosts: Sequence[SimulatedHost], what: str
) -> Row:
    """Full reports of all hosts, each in a request, until the last one is durable."""
    say(f"agents: full reports of {what} ...")
    requests = [_request(host.report()) for host in hosts]
    before = used_s(server.pid)
    sent = connections.send(requests)
    used = used_s(server.pid) - before
    _settle(hosts, sent, {"applied"})
    later = f"; {sent.turned_away} were asked to come later" if sent.turned_away else ""
    return at_most(
        f"{len(hosts):,} full reports of {what}, {CONNECTIONS} connections",
        BURST_S * len(hosts) / HOSTS,
        sent.seconds,
        more=f"; {duration(used / len(hosts))} of the server each{later}",
    )


def _exchange(connections: Connections, hosts: Sequence[SimulatedHost]) -> Sent:
    """A report of each host, measured; no time is taken."""
    sent = connections.send([_request(host.report()) for host in hosts])
    _settle(hosts, sent, {"applied", "unchanged"})
    return sent


def _steady(
    server: Server, connections: Connections, hosts: Sequence[SimulatedHost], where: str
) -> Iterator[Row]:
    """The rate of the fleet over a window: each host reports what changed."""
    rate = len(hosts) / INTERVAL_S
    say(f"agents: {rate:.0f} reports/s for {WINDOW_S:g} s ...")
    outcomes: Counter[str] = Counter()
    out_bytes = in_bytes = full_bytes = 0
    turn = _in_turn(hosts)
    before, began = used_s(server.pid), time.perf_counter()
    for number in range(int(WINDOW_S / SLICE_S)):
        mine = list(islice(turn, max(1, round(rate * SLICE_S))))
        requests = [_request(host.report()) for host in mine]
        sent = connections.send(requests)
        outcomes += _settle(mine, sent, {"applied", "unchanged"})
        out_bytes += sum(map(len, requests))
        full_bytes += sum(len(_request(host.everything())) for host in mine)
        in_bytes += sent.in_bytes
        time.sleep(max(0.0, began + (number + 1) * SLICE_S - time.perf_counter()))
    took = time.perf_counter() - began
    share = (used_s(server.pid) - before) / took
    total, goal = outcomes.total(), SHARE * len(hosts) / HOSTS
    yield Row(
        f"{len(hosts):,} agents at {INTERVAL_S:g} s, {where} ({total / took:.0f}/s for "
        f"{took:.0f} s; {outcomes['unchanged'] / total:.0%} of reports without news)",
        f"≤ {goal:.1%} of a core",
        f"{share:.1%}; {duration(share * took / total)} each",
        is_met=share <= goal,
    )
    yield Row(
        f"bytes of a report with its request, needs and deltas; the answer has "
        f"{in_bytes / total:.0f}",
        "",
        f"{out_bytes / total:,.0f}",
        f"{full_bytes / total:,.0f} (all that is known, in full)",
        f"{full_bytes / out_bytes:.1f}×",
    )


def _in_turn(hosts: Sequence[SimulatedHost]) -> Iterator[SimulatedHost]:
    """One host after the other; time went by on each since its last report."""
    number = 0
    while True:
        for host in hosts:
            number += 1
            host.measure()
            if number % EXCHANGED == 0:
                host.exchange()
            yield host


def _request(report: Report) -> bytes:
    return post("/gantt/reports", b'{"reports":[' + msgspec.json.encode(report) + b"]}")


def _settle(
    hosts: Sequence[SimulatedHost], sent: Sent, expected: set[str]
) -> Counter[str]:
    """Give each agent its answer; how many there were of each outcome."""
    found: Counter[str] = Counter()
    for host, body in zip(hosts, sent.bodies, strict=True):
        (outcome,) = _decode(body).outcomes
        if outcome.outcome not in expected:
            raise RuntimeError(f"{outcome.host}: {outcome.outcome}: {outcome.message}")
        host.reporter.settle(outcome)
        found[outcome.outcome] += 1
    return found


def _one_agent(server: Server) -> Iterator[Row]:
    """``gantt agent`` on this machine, once a second, after its first reports."""
    say("agents: one agent ...")
    port = free_port()
    command = [
        program("gantt"),
        "agent",
        "--url",
        server.url,
        "--interval",
        "1",
        "--metrics-listen",
        f"127.0.0.1:{port}",
    ]
    environment = {**os.environ, "GANTT_TOKEN": "admin"}
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            first = _wait_for(port, 3)
            before = used_s(process.pid)
            last = _wait_for(port, first + AGENT_REPORTS)
            each = (used_s(process.pid) - before) / (last - first)
            status = Path(f"/proc/{process.pid}/status").read_text()
        finally:
            process.terminate()
    resident = re.search(r"VmRSS:\s+(\d+) kB", status)
    assert resident is not None
    resident_mb = int(resident[1]) / KB_PER_MB
    yield at_most("gantt agent, resident", AGENT_MB, resident_mb, megabytes)
    share = each / PACE.interval
    yield Row(
        f"gantt agent, processor time of a report; share at {PACE.interval:g} s",
        f"≤ {AGENT_SHARE:.0%}",
        f"{duration(each)}; {share:.2%}",
        is_met=share <= AGENT_SHARE,
    )


def _wait_for(port: int, reports: int) -> int:
    """How many reports the agent has sent, once these are there."""
    deadline = time.monotonic() + 60 + 3 * AGENT_REPORTS
    while time.monotonic() < deadline:
        sent = _sent(port)
        if sent >= reports:
            return sent
        time.sleep(0.05)
    raise RuntimeError(f"The agent has not sent {reports} reports.")


def _sent(port: int) -> int:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
            text = answer.read().decode()
    except OSError:
        return 0  # it does not listen yet
    found = re.search(r"^gantt_agent_reports_sent_total (\S+)$", text, re.MULTILINE)
    return int(float(found[1])) if found else 0
