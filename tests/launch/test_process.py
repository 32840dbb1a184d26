"""The process launcher: pinned, told its place, stopped with its children."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

import gantt
from gantt.client.remote import RemoteGantt
from gantt.errors import LaunchFailed
from gantt.launch.contract import Work
from gantt.launch.launching import Launching
from gantt.launch.process import ProcessLauncher, pinned_cpus
from gantt.model.cpu_sets import mask_of
from gantt.model.forms.stats import read_stats
from gantt.model.selection import CellPlace, Place, Selection
from gantt.model.spec import Flavor, RequestSpec, ScheduleRequest
from gantt.model.topology import HostCell, HostTopology
from tests import inprocess
from tests.launch.fleet import SPEC, add_hosts, in_use, pending
from tests.topology import synthetic

HERE = socket.gethostname()
UUID = "11111111-1111-4111-8111-111111111111"
LAUNCH_AND_DIE = """
import os, signal, sys
import gantt
from gantt.launch.launching import Launching
from gantt.launch.outcome import LaunchOptions
from tests.launch.fleet import asked

class Deadly:
    def launch(self, selection, work):
        os.kill(os.getpid(), signal.SIGKILL)

books = gantt.connect(sys.argv[1])
request = asked(lease_s=1.0)
found = books.schedule(request)
Launching(books, Deadly(), LaunchOptions(timeout_s=0.9)).launch(request, found)
"""


def here(place: Place | None = None) -> Selection:
    return Selection(None, HERE, HERE, claim="c-1", place=place)


def work(*command: str) -> Work:
    return Work(UUID, SPEC, command)


def shell(text: str, folder: Path) -> Work:
    """What it prints is in the file "told"."""
    return work("sh", "-c", f"exec > {folder}/told; {text}")


def pinned_to(*cpus: int, floating: tuple[int, ...] = ()) -> Place:
    pinning = tuple(enumerate(cpus))
    return Place((CellPlace(0, 0, 64, pinning=pinning, floating=floating),))


def allowed(folder: Path) -> str:
    """The line of a process about its CPUs."""
    return (folder / "told").read_text().split()[-1]


def test_a_process_is_told_what_it_is(tmp_path: Path) -> None:
    text = "echo $GANTT_INSTANCE $GANTT_HOST $GANTT_CLAIM ${GANTT_PLACE-none}; exit 7"
    process = ProcessLauncher().launch(here(), shell(text, tmp_path))
    assert process.wait() == 7
    assert (tmp_path / "told").read_text().split() == [UUID, HERE, "c-1", "none"]


def test_a_process_stays_on_the_cpus_that_its_claim_names(tmp_path: Path) -> None:
    cpu = max(os.sched_getaffinity(0))
    before = os.sched_getaffinity(0)
    text = "echo $GANTT_PLACE; grep Cpus_allowed_list /proc/self/status"
    launcher = ProcessLauncher()
    assert launcher.launch(here(pinned_to(cpu)), shell(text, tmp_path)).wait() == 0
    place, *_ = (tmp_path / "told").read_text().splitlines()
    assert json.loads(place)["cells"][0]["pinning"] == [[0, cpu]]
    assert allowed(tmp_path) == str(cpu)
    assert os.sched_getaffinity(0) == before


def test_cpus_that_are_not_there_fail_the_launch() -> None:
    before = os.sched_getaffinity(0)
    for cpus in ((8_000,), (min(before), 8_000)):
        with pytest.raises(LaunchFailed, match="may not use 8000"):
            ProcessLauncher().launch(here(pinned_to(*cpus)), work("true"))
        assert os.sched_getaffinity(0) == before


def test_pinned_cpus_include_the_emulator_and_are_none_where_vcpus_float() -> None:
    cell = CellPlace(0, 0, 64, pinning=((0, 3), (1, 5)), emulator=(7,))
    other = CellPlace(1, 1, 64, pinning=((2, 9),))
    assert pinned_cpus(Place((cell, other))) == {3, 5, 7, 9}
    assert pinned_cpus(pinned_to(1, floating=(1,))) == frozenset()
    assert pinned_cpus(None) == frozenset()


def test_what_cannot_be_started_is_told() -> None:
    launcher = ProcessLauncher()
    with pytest.raises(LaunchFailed, match="nosuch-command cannot be started: No such"):
        launcher.launch(here(), work("nosuch-command"))
    with pytest.raises(LaunchFailed, match="no command"):
        launcher.launch(here(), work())
    with pytest.raises(LaunchFailed, match=f"this machine \\({HERE}\\)"):
        launcher.launch(Selection(None, "host-9", "host-9"), work("true"))


def test_stop_ends_the_process_and_its_children() -> None:
    process = ProcessLauncher().launch(here(), work("sh", "-c", "sleep 600 & wait"))
    assert os.getpgid(process.pid) == process.pid
    process.stop()
    assert process.wait() == -signal.SIGTERM
    _await_end(process.pid)
    process.stop()


def test_stop_ends_children_that_outlive_the_process() -> None:
    process = ProcessLauncher().launch(here(), work("sh", "-c", "sleep 600 & exit 3"))
    assert process.wait() == 3
    assert _has_group(process.pid)
    process.stop()
    _await_end(process.pid)


def test_stop_kills_children_that_ignore_sigterm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gantt.launch.process.STOP_S", 0.5)
    deaf = f"(trap '' TERM; touch {tmp_path}/deaf; sleep 600; sleep 600) & wait"
    process = ProcessLauncher().launch(here(), work("sh", "-c", deaf))
    until = time.monotonic() + 10
    while not (tmp_path / "deaf").exists():
        assert time.monotonic() < until, "the child has not started"
        time.sleep(0.01)
    process.stop()
    assert process.wait() == -signal.SIGTERM
    _await_end(process.pid)


def test_a_process_does_not_get_the_credentials_of_its_launcher(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = ("GANTT_TOKEN", "GANTT_URL", "GANTT_COORDINATION_URL")
    for name in (*kept, "COLOUR"):
        monkeypatch.setenv(name, "told")
    assert ProcessLauncher().launch(here(), shell("env", tmp_path)).wait() == 0
    lines = (tmp_path / "told").read_text().splitlines()
    names = {line.partition("=")[0] for line in lines}
    assert names.isdisjoint(kept)
    assert names >= {"GANTT_INSTANCE", "GANTT_HOST", "GANTT_CLAIM", "COLOUR"}


def _await_end(group: int) -> None:
    """Also until its ended members are reaped, which is up to the machine."""
    until = time.monotonic() + 10
    while _has_group(group):
        assert time.monotonic() < until, "a child is left"
        time.sleep(0.01)


def _has_group(number: int) -> bool:
    try:
        os.killpg(number, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_pinned_instance_runs_on_the_cpu_of_its_claim(tmp_path: Path) -> None:
    """From the report of this machine to the process: nothing is made up between."""
    cpus = mask_of(os.sched_getaffinity(0))
    count = len(os.sched_getaffinity(0))
    siblings = tuple(mask_of({cpu}) for cpu in sorted(os.sched_getaffinity(0)))
    cell = HostCell(
        0, cpus, cpus, 8_192, siblings=siblings, pages=synthetic.pages(8_192)[:1]
    )
    form = synthetic.plain_form(HostTopology((cell,)))
    filters = "[filter_scheduler]\nenabled_filters = ComputeFilter,NUMATopologyFilter\n"
    with inprocess.service(tmp_path, configured=filters) as url:
        books = RemoteGantt(url, token="admin")
        facts = {"vcpus": count, "memory_mb": 8_192, "free_ram_mb": 8_192}
        books.update_host(HERE, HERE, read_stats({**facts, **form}))
        flavor = Flavor(
            vcpus=1, memory_mb=64, extra_specs={"hw:cpu_policy": "dedicated"}
        )
        request = ScheduleRequest(RequestSpec(flavor), (UUID,), lease_s=120.0)
        found = books.schedule(request)
        place = found[0][0].place
        assert place is not None
        launching = Launching(books, ProcessLauncher())
        say = f"grep Cpus_allowed_list /proc/self/status > {tmp_path}/told"
        (one,) = launching.launch(request, found, ("sh", "-c", say))
        assert one.running()[1].wait() == 0
        assert {int(allowed(tmp_path))} == pinned_cpus(place)
        launching.release(one)
        assert pending(books) == 0


def test_a_crash_between_claim_and_launch_leaves_a_lease_that_ends(
    tmp_path: Path,
) -> None:
    url = f"sqlite:///{tmp_path}/gantt.db"
    books = gantt.connect(url, create=True)
    add_hosts(books)
    died = subprocess.run([sys.executable, "-c", LAUNCH_AND_DIE, url], check=False)
    assert died.returncode == -signal.SIGKILL
    assert in_use(books) == {"host-3": 1} and pending(books) == 1
    until = time.monotonic() + 60
    while in_use(books):
        assert time.monotonic() < until, "the lease did not end"
        time.sleep(0.1)
    assert pending(books) == 0
    books.close()
