"""What the agent finds at a real libvirt daemon, with real guests."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from gantt.agent.files import Files
from gantt.agent.workloads.collector import WorkloadCollector
from gantt.agent.workloads.contract import Workload
from gantt.agent.workloads.libvirt import LibvirtWorkloads
from tests.agent.libvirt_daemon import LibvirtDaemon

pytestmark = [pytest.mark.slow, pytest.mark.server("libvirt")]
RUNS, IS_OFF, GOES = (f"0000000{n}-bbbb-4000-8000-000000000000" for n in (1, 2, 3))


@pytest.fixture(scope="module")
def daemon() -> Iterator[LibvirtDaemon]:
    found = LibvirtDaemon()
    found.define(RUNS, vcpus=2, disk_gb=3, starts=True)
    found.define(IS_OFF, vcpus=4, mb=512, pin=0)
    yield found
    found.close()


def test_domains_count_as_they_are_defined_running_or_not(
    daemon: LibvirtDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LIBVIRT_DEFAULT_URI", daemon.url)
    files = Files()
    told = {one.instance_uuid: one for one in LibvirtWorkloads().workloads(files)}
    assert files.problems == []
    assert told[RUNS] == Workload(RUNS, vcpus=2, memory_mb=64, disk_gb=3)
    off = told[IS_OFF]
    assert (off.vcpus, off.memory_mb, off.cpus) == (4, 512, frozenset({0}))
    fields = WorkloadCollector([LibvirtWorkloads()]).collect(Files())
    assert fields["lists_instances"] and fields["instances"] == [RUNS, IS_OFF]
    assert (fields["vcpus_used"], fields["memory_mb_used"]) == (6, 576)


def test_domains_that_come_and_go_meanwhile_void_no_list(daemon: LibvirtDaemon) -> None:
    is_over = threading.Event()

    def churn() -> None:
        connection = daemon.library.open(daemon.url)
        while not is_over.is_set():
            daemon.define(GOES, vcpus=1)
            connection.lookupByUUIDString(GOES).undefine()
        connection.close()

    thread = threading.Thread(target=churn)
    thread.start()
    try:
        source, until, rounds = (
            LibvirtWorkloads(uri=daemon.url),
            time.monotonic() + 5,
            0,
        )
        while time.monotonic() < until or rounds < 50:
            files = Files()
            told = {one.instance_uuid for one in source.workloads(files)}
            assert files.problems == []
            assert {RUNS, IS_OFF} <= told <= {RUNS, IS_OFF, GOES}
            rounds += 1
    finally:
        is_over.set()
        thread.join()


def test_a_daemon_that_hangs_does_not_hang_the_agent(
    daemon: LibvirtDaemon, capfd: pytest.CaptureFixture[str]
) -> None:
    source = LibvirtWorkloads(uri=daemon.url, deadline_s=0.5)
    daemon.pause(is_on=True)
    try:
        for _ in range(2):
            files, began = Files(), time.monotonic()
            assert source.workloads(files) == []
            assert time.monotonic() - began < 5
            assert "no answer for 0.5 s" in files.problems[0].reason
    finally:
        daemon.pause(is_on=False)
    late = LibvirtWorkloads(uri=daemon.url)
    assert len(list(late.workloads(Files()))) == 2
    assert "libvirt" not in capfd.readouterr().err


def test_a_daemon_that_is_not_there_is_a_problem(
    daemon: LibvirtDaemon, capfd: pytest.CaptureFixture[str]
) -> None:
    files = Files()
    uri = daemon.url.replace("libvirt-sock", "nothing")
    assert LibvirtWorkloads(uri=uri).workloads(files) == []
    assert "does not say what runs: " in files.problems[0].reason
    assert capfd.readouterr().err == ""
