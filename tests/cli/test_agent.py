"""``gantt agent``: what it prints, what it reports, how it ends, what it costs."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gantt.cli.main import gantt
from tests import inprocess
from tests.agent.trees import GPU, Tree
from tests.cli.conftest import Program
from tests.live import ending
from tests.loaded import heavy, modules_after
from tests.programs import captured

NOWHERE = "http://127.0.0.1:1"
MOST_RESIDENT_KB = 40 * 1024


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Program]:
    (tmp_path / "service").mkdir()
    with inprocess.service(tmp_path / "service") as url:
        yield Program(gantt, url)


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path / "tree").furnish()


def agent(tree: Tree, *more: str) -> tuple[str, ...]:
    return ("agent", "--root", str(tree.root), "--host", "far", *more)


def test_show_prints_what_would_be_reported(program: Program, tree: Tree) -> None:
    (tree.root / "proc/stat").unlink()
    more = ("--device", "8086:1521", "--dedicated-cpus", "2-7", "--picks-itself")
    found = json.loads(program.do(*agent(tree, "--once", "--show", *more)))
    assert found["problems"] == ["/proc/stat: No such file or directory"]
    report = found["report"]
    assert (report["host"], report["node"], report["full"]) == ("far", "far", True)
    assert report["unread"] == ["metrics"] and report["needs"]
    fields = report["fields"]
    assert (fields["vcpus"], fields["obeys_claims"]) == (16, False)
    assert fields["numa_topology"]["cells"][0]["pcpuset"] == [2, 3]
    assert len(fields["pci_stats"]) == 3
    assert "uuid" not in fields, "that is of this machine"
    assert program.ask("host", "list") == []


def test_show_without_a_service_prints_everything(tree: Tree) -> None:
    result = Program(gantt, NOWHERE).run(*agent(tree, "--show"))
    assert result.exit_code == 0
    assert "this is everything" in result.stderr
    fields = json.loads(result.stdout)["report"]["fields"]
    assert GPU in str(fields["pci_stats"]) and fields["metrics"]


def test_once_reports_and_ends(program: Program, tree: Tree) -> None:
    program.do(*agent(tree, "--once", "--node", "n"))
    (host,) = program.ask("host", "list")
    assert (host["host"], host["node"], host["vcpus"]) == ("far", "n", "0/16")
    program.fail(*agent(tree, "--once", "--url", NOWHERE))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--device", "gpu"), "VENDOR:PRODUCT"),
        (("--dedicated-cpus", "3-1"), "--dedicated-cpus"),
    ],
)
def test_odd_words_are_refused(
    program: Program, tree: Tree, words: tuple[str, ...], said: str
) -> None:
    assert said in program.fail(*agent(tree, "--once", *words))


def running(url: str, tree: Tree, *more: str) -> subprocess.Popen[str]:
    words = [sys.executable, "-m", "gantt", "agent", "--url", url]
    words += ["--root", str(tree.root), "--host", "far", *more]
    return subprocess.Popen(words, stderr=subprocess.PIPE, text=True)


def until(program: Program, wanted: Any) -> None:
    """Wait until the hosts are as wanted."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if wanted(program.ask("host", "list")):
            return
        time.sleep(0.05)
    raise AssertionError("the host was not reported")


def test_it_reports_what_changes_until_it_is_told_to_end(
    program: Program, tree: Tree
) -> None:
    process = running(program.url, tree, "--interval", "0.1")
    try:
        until(program, lambda hosts: [one["vcpus"] for one in hosts] == ["0/16"])
        tree.write("sys/devices/system/cpu/online", "0-7\n")
        until(program, lambda hosts: hosts[0]["vcpus"] == "0/8")
        status = Path(f"/proc/{process.pid}/status").read_text()
        (peak,) = (line.split()[1] for line in status.splitlines() if "VmHWM" in line)
        assert int(peak) <= MOST_RESIDENT_KB
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)
    assert process.returncode == 0


def test_it_ends_while_the_service_is_away(tree: Tree) -> None:
    with ending(running(NOWHERE, tree, "--interval", "60")) as process:
        assert process.stderr is not None
        line = process.stderr.readline()
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)
    assert "the service is away" in line
    assert process.returncode == 0


SHOWS = """
import sys
from gantt.cli.main import gantt

gantt(["agent", "--workloads", "none", *sys.argv[1:]], standalone_mode=False)
"""
REPORTS = """
import sys
from gantt.cli.main import gantt

try:
    gantt(["agent", "--once", *sys.argv[1:]], standalone_mode=False)
except SystemExit as ended:
    assert ended.code == 0
else:
    raise AssertionError("it has not reported")
"""


@pytest.mark.parametrize(
    ("code", "words"), [(SHOWS, ["--once", "--show"]), (REPORTS, [])]
)
def test_an_agent_loads_no_engine(
    program: Program, tree: Tree, code: str, words: list[str]
) -> None:
    """Neither columns nor SQL, nor a scheduler: they would be most of its memory."""
    words = ["--url", program.url, "--root", str(tree.root), "--host", "far", *words]
    found = modules_after(code, *words)
    assert "gantt.agent.loop" in found
    assert heavy(found) == []
    assert not found & {"oslo_config", "tooz", "confluent_kafka"}


@pytest.mark.parametrize(
    ("library", "words"),
    [
        ("tooz", ["--coordination", "etcd3+http://127.0.0.1:1"]),
        ("confluent_kafka", ["--stream", "127.0.0.1:1"]),
    ],
)
def test_what_an_option_needs_is_named_where_it_is_missing(
    tree: Tree, library: str, words: list[str]
) -> None:
    code = (
        f"import sys\nsys.modules[{library!r}] = None\n"
        "from gantt.cli.main import gantt\n"
        "gantt(['agent', *sys.argv[1:]])"
    )
    ended = captured([sys.executable, "-c", code, *agent(tree, *words)[1:]], timeout=60)
    assert ended.returncode == 1
    assert f"is set, but {library} is not installed: pip install" in ended.stderr
