"""What runs on a host, by processes, units and libvirt: all of it, or no list."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gantt.agent.collectors.contract import Part
from gantt.agent.files import Files
from gantt.agent.machine import all_collectors, describe
from gantt.agent.workloads.collector import WorkloadCollector
from gantt.agent.workloads.contract import Workload
from gantt.agent.workloads.libvirt import LibvirtWorkloads, UnaskedLibvirt
from gantt.agent.workloads.processes import ProcessWorkloads
from gantt.agent.workloads.sources import sources
from gantt.agent.workloads.systemd import SystemdWorkloads
from gantt.errors import Invalid
from tests.agent.trees import Tree

A, B, C = (f"0000000{n}-aaaa-4000-8000-000000000000" for n in (1, 2, 3))


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


def process(
    tree: Tree, pid: int, *environ: str, cpus: str = "0-15", kb: int = 0
) -> None:
    tree.write(f"proc/{pid}/environ", "".join(f"{one}\0" for one in environ))
    status = f"Name:\tit\nVmRSS:\t   {kb} kB\nCpus_allowed_list:\t{cpus}\n"
    tree.write(f"proc/{pid}/status", status)


def found(tree: Tree, *named: Any) -> Part:
    running = WorkloadCollector(named or sources(["systemd", "processes"]))
    return describe(all_collectors(workloads=running), tree.root)


def test_processes_carry_their_instance_in_the_environment(tree: Tree) -> None:
    process(tree, 1, "HOME=/")
    process(tree, 20, "HOME=/", f"GANTT_INSTANCE={B}", kb=2048)
    process(tree, 21, f"GANTT_INSTANCE={B.upper()}", kb=1025)
    told = ("GANTT_VCPUS=4", "GANTT_MEMORY_MB=512", "GANTT_DISK_GB=7")
    process(tree, 30, f"GANTT_INSTANCE={A}", *told, kb=9_000_000)
    process(tree, 40, "GANTT_INSTANCE=mine", f"NOT_GANTT_INSTANCE={C}")
    fields = found(tree).fields
    assert fields["instances"] == [A, B]
    assert (fields["vcpus_used"], fields["running_vms"]) == (4 + 1, 2)
    assert fields["memory_mb_used"] == 512 + 4
    assert fields["local_gb_used"] == 7


def test_pinned_processes_take_their_cpus(tree: Tree) -> None:
    process(tree, 20, f"GANTT_INSTANCE={A}", cpus="0-1,4")
    fields = found(tree).fields
    assert fields["vcpus_used"] == 3
    cells = fields["numa_topology"]["cells"]
    assert [one.get("pinned_cpus") for one in cells] == [[0, 1], [4]]


def test_units_are_named_after_their_instance(tree: Tree) -> None:
    top = "sys/fs/cgroup/system.slice"
    tree.write(f"{top}/gantt-{A}.service/memory.current", str(3 * 1024**2 - 5))
    tree.write(f"{top}/gantt-{A}.service/cpuset.cpus", "2-3\n")
    tree.write(f"{top}/system-gantt.slice/gantt@{B}.scope/cgroup.procs", "")
    tree.write(f"{top}/other-{C}.service/cgroup.procs", "")
    process(tree, 20, f"GANTT_INSTANCE={A}", "GANTT_VCPUS=1", kb=1024)
    fields = found(tree).fields
    assert fields["instances"] == [A, B]
    assert (fields["vcpus_used"], fields["memory_mb_used"]) == (2 + 1, 3)
    assert fields["numa_topology"]["cells"][0]["pinned_cpus"] == [2, 3]


def test_nothing_runs_here_is_told(tree: Tree) -> None:
    fields = found(tree).fields
    assert (fields["instances"], fields["vcpus_used"]) == ([], 0)


class Halved:
    """Finds one instance, and cannot see the others."""

    def workloads(self, files: Files) -> list[Workload]:
        files.problem("/x", "hidden")
        return [Workload(A)]


def test_what_is_seen_is_named_where_the_list_is_not_whole(tree: Tree) -> None:
    part = found(tree, Halved(), ProcessWorkloads())
    assert part.fields["instances"] == [A]
    assert part.fields["lists_instances"] is False
    assert "vcpus_used" not in part.fields and "vcpus_used" in part.unread
    assert [str(one) for one in part.problems] == ["/x: hidden"]


def test_hidden_processes_are_one_problem(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    process(tree, 20, f"GANTT_INSTANCE={A}")
    process(tree, 21)
    process(tree, 22)
    read = Files.read

    def refuse(files: Files, path: str) -> str:
        if path in ("/proc/21/environ", "/proc/22/environ"):
            raise PermissionError(13, "Permission denied")
        return read(files, path)

    monkeypatch.setattr(Files, "read", refuse)
    files = Files(tree.root)
    assert [one.instance_uuid for one in ProcessWorkloads().workloads(files)] == [A]
    part = found(tree)
    assert part.fields["instances"] == [A]
    assert part.fields["lists_instances"] is False
    (problem,) = files.problems
    assert "of 2 processes the environment is not readable" in problem.reason
    assert "CAP_SYS_PTRACE" in problem.reason


def test_processes_that_are_not_visible_are_a_problem(tree: Tree) -> None:
    """hidepid=2 and PID namespaces leave no trace of what they hide."""
    process(tree, 20, f"GANTT_INSTANCE={A}")
    assert found(tree).fields["lists_instances"] is True
    (tree.root / "proc/self/ns").mkdir(parents=True)
    namespace = tree.root / "proc/self/ns/pid"
    namespace.symlink_to("pid:[4026531836]")
    assert found(tree).fields["lists_instances"] is True
    namespace.unlink()
    namespace.symlink_to("pid:[4026532000]")
    inside = found(tree)
    assert inside.fields.get("lists_instances") is not True
    assert "PID namespace of its own" in inside.problems[0].reason
    namespace.unlink()
    shutil.rmtree(tree.root / "proc/1")
    hidden = found(tree)
    assert hidden.fields.get("lists_instances") is not True
    assert hidden.fields["instances"] == [A]
    assert "process 1 is not visible" in hidden.problems[0].reason


def test_all_sources_are_asked_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    """A unit or a process may run where libvirt does."""
    where = "gantt.agent.workloads.sources.is_installed"
    for has_library, first in ((True, LibvirtWorkloads), (False, UnaskedLibvirt)):
        monkeypatch.setattr(where, lambda known=has_library: known)
        kinds = [type(one) for one in sources()][:3]
        assert kinds == [first, SystemdWorkloads, ProcessWorkloads]


def test_a_process_that_ends_meanwhile_is_passed_over(tree: Tree) -> None:
    process(tree, 20, f"GANTT_INSTANCE={A}")
    (tree.root / "proc/20/status").unlink()
    files = Files(tree.root)
    assert list(ProcessWorkloads().workloads(files)) == [] and not files.problems


class Refusal(Exception):
    pass


def domain(uuid: str, pins: list[tuple[bool, ...]], *, active: bool = True) -> Any:
    return SimpleNamespace(UUIDString=lambda: uuid, vcpuPinInfo=lambda: pins), {
        "vcpu.maximum": 2,
        "balloon.maximum": 4096,
        "block.count": 1,
        **({"block.0.capacity": 3 * 1024**3 + 1} if active else {}),
    }


def library(*domains: Any, fails: bool = False) -> Any:
    def connect(_uri: str) -> Any:
        if fails:
            raise Refusal("no socket")
        return SimpleNamespace(
            getAllDomainStats=lambda _wanted: domains, close=lambda: None
        )

    return SimpleNamespace(
        openReadOnly=connect,
        libvirtError=Refusal,
        registerErrorHandler=lambda *_: None,
        VIR_DOMAIN_STATS_VCPU=8,
        VIR_DOMAIN_STATS_BALLOON=4,
        VIR_DOMAIN_STATS_BLOCK=32,
    )


def test_domains_of_libvirt_running_or_not() -> None:
    running = domain(A, [(False, True, False), (True, True, True)])
    source = LibvirtWorkloads(
        library(running, domain(B, [(True, False)], active=False))
    )
    assert list(source.workloads(Files())) == [
        Workload(A, vcpus=2, memory_mb=4, disk_gb=4, cpus=frozenset({1})),
        Workload(B, vcpus=2, memory_mb=4, cpus=frozenset({0})),
    ]


def test_a_libvirt_that_does_not_answer_is_a_problem(tree: Tree) -> None:
    files = Files()
    assert list(LibvirtWorkloads(library(fails=True)).workloads(files)) == []
    assert "no socket" in files.problems[0].reason
    recorded = Files(tree.root)
    assert list(LibvirtWorkloads(library(fails=True)).workloads(recorded)) == []
    assert not recorded.problems, "a recorded machine has no libvirt to ask"


def test_a_libvirt_that_cannot_be_asked_is_a_problem(tree: Tree) -> None:
    assert "instances" in found(tree, UnaskedLibvirt()).fields
    tree.write("run/libvirt/libvirt-sock-ro", "")
    part = found(tree, UnaskedLibvirt(), ProcessWorkloads())
    assert "instances" in part.unread
    assert "--workloads" in part.problems[0].reason


def test_sources_by_name() -> None:
    assert [type(one) for one in sources(["processes", "systemd"])] == [
        ProcessWorkloads,
        SystemdWorkloads,
    ]
    assert sources(["none"]) == ()
    none = WorkloadCollector(())
    part = describe([none])
    assert part.fields == {"lists_instances": False}, "a list of before is old"
    assert part.problems == ()
    with pytest.raises(Invalid, match="no source docker; there are libvirt, none,"):
        sources(["docker"])


def test_plugins_are_found_by_their_entry_points(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    entry = SimpleNamespace(name="mine", value="it:Halved", load=lambda: Halved)
    where = "gantt.agent.workloads.sources.entry_points"
    monkeypatch.setattr(where, lambda group: [entry])
    assert isinstance(sources(["mine"])[0], Halved)
    assert isinstance(sources()[-1], Halved)
