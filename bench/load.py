"""Load from wrk: requests as a small Lua script, results as numbers."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from msgspec import Struct

from bench.report import Row, per_second
from gantt.bench.servers import HEADERS, Server


class Load(Struct, frozen=True):
    """The outcome of one run."""

    per_s: float
    median_ms: float
    p99_ms: float
    failures: int


_UNITS = {"us": 0.001, "ms": 1.0, "s": 1000.0}

_LUA_HEADERS = "\n".join(f'wrk.headers["{k}"] = "{v}"' for k, v in HEADERS.items())

# Each thread of wrk has its own Lua state; its number makes consumers unique.
_CLAIMS = """
local threads = 0
function setup(thread) thread:set("number", threads); threads = threads + 1 end
local count = 0
local providers = { %(providers)s }
function request()
  count = count + 1
  local path = string.format(
    "/allocations/%%08x-%(run)04x-4000-8000-%%012x", number, count)
  local body = '{"allocations":{"' .. providers[count %% #providers + 1] ..
    '":{"resources":{"VCPU":1,"MEMORY_MB":512}}},"project_id":"bench",' ..
    '"user_id":"bench","consumer_generation":null,"consumer_type":"INSTANCE"}'
  return wrk.format("PUT", path, nil, body)
end
wrk.headers["content-type"] = "application/json"
"""

_READS = """
local count = 0
local providers = { %(providers)s }
function request()
  count = count + 1
  return wrk.format("GET",
    "/resource_providers/" .. providers[count %% #providers + 1] .. "/inventories")
end
"""

# Four searches, then a claim. wrk parses no response: that would take processor time #
# from the server.
_MIXED = """
local threads = 0
function setup(thread) thread:set("number", threads); threads = threads + 1 end
local count = 0
local offered = { %(providers)s }
function request()
  count = count + 1
  if count %% 5 > 0 then return wrk.format("GET", "%(path)s") end
  local path = string.format("/allocations/%%08x-0000-4000-8000-%%012x", number, count)
  local body = '{"allocations":{"' .. offered[count %% #offered + 1] ..
    '":{"resources":{%(claim)s}}},"project_id":"bench",' ..
    '"user_id":"bench","consumer_generation":null,"consumer_type":"INSTANCE"}'
  return wrk.format("PUT", path, nil, body)
end
wrk.headers["content-type"] = "application/json"
"""


def claims(
    server: Server, folder: Path, providers: list[str], *, connections: int, run: int
) -> Load:
    """New consumers claim on ``providers`` in turn; ``run`` makes uuids unique."""
    names = ", ".join(f'"{uuid}"' for uuid in providers)
    script = _CLAIMS % {"providers": names, "run": run}
    return _wrk(server, folder / "claims.lua", script, connections)


def reads(
    server: Server, folder: Path, providers: list[str], *, connections: int
) -> Load:
    """GET of the inventories of ``providers`` in turn."""
    names = ", ".join(f'"{uuid}"' for uuid in providers)
    return _wrk(
        server, folder / "reads.lua", _READS % {"providers": names}, connections
    )


def mixed(
    server: Server,
    folder: Path,
    path: str,
    amounts: dict[str, int],
    offered: list[str],
    *,
    connections: int,
) -> Load:
    """Four times in five the search ``path``, once a claim of ``amounts`` on one of
    those that it has ``offered``."""
    names = ", ".join(f'"{uuid}"' for uuid in offered)
    claim = ",".join(f'"{name}":{amount}' for name, amount in amounts.items())
    script = _MIXED % {"providers": names, "path": path, "claim": claim}
    return _wrk(server, folder / "mixed.lua", script, connections)


def _wrk(
    server: Server, path: Path, script: str, connections: int, seconds: int = 10
) -> Load:
    path.write_text(script + _LUA_HEADERS)
    answer = subprocess.run(
        [
            "wrk",
            "--latency",
            "-t1",
            f"-c{connections}",
            f"-d{seconds}s",
            "-s",
            str(path),
            server.url,
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    return _parse(answer.stdout)


def _parse(text: str) -> Load:
    def milliseconds(label: str) -> float:
        found = re.search(rf"^\s+{label}\s+([\d.]+)(us|ms|s)$", text, re.MULTILINE)
        return float(found[1]) * _UNITS[found[2]] if found else float("nan")

    rate = re.search(r"Requests/sec:\s+([\d.]+)", text)
    refused = re.search(r"Non-2xx or 3xx responses: (\d+)", text)
    lost = re.search(r"connect (\d+), read (\d+), write (\d+), timeout (\d+)", text)
    failures = int(refused[1]) if refused else 0
    failures += sum(map(int, lost.groups())) if lost else 0
    return Load(
        per_s=float(rate[1]) if rate else 0.0,
        median_ms=milliseconds("50%"),
        p99_ms=milliseconds("99%"),
        failures=failures,
    )


def summary(found: Load) -> str:
    """A run as text."""
    failed = f", {found.failures} FAILED" if found.failures else ""
    return (
        f"{found.per_s:,.0f}/s{failed}; "
        f"median {found.median_ms:.1f}, 99 % {found.p99_ms:.1f} ms"
    )


def row(work: str, found: Load, goal: float) -> Row:
    """A run against a rate; none of its requests may fail."""
    is_met = found.per_s >= goal and not found.failures
    return Row(work, f"≥ {per_second(goal)}", summary(found), is_met=is_met)
