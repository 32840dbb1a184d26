"""Simulated hosts whose agents report as real ones do, without the machines.

The collectors read one recorded machine: 4 cells of 32 CPUs, huge pages of two sizes,
64 virtual functions and 4 GPUs. What differs from host to host is written over that:
identity, a few MB of memory, the instances and what they use, metrics. Reports, deltas
and their numbers are those of the agent's own ``Reporter``.
"""

from __future__ import annotations

import random
import tempfile
import time
import uuid
from pathlib import Path
from typing import Any, Final

import msgspec

from gantt.agent.collectors.contract import Part
from gantt.agent.collectors.pci import PciCollector, offer_of
from gantt.agent.machine import all_collectors, describe
from gantt.agent.reporter import Reporter
from gantt.model.needs import Needs
from gantt.model.reports import Report
from tests.agent.trees import Tree

CELLS: Final = 4
INSTANCES: Final = 12
PINNED: Final = 3
"""One host in so many pins its instances to CPUs and huge pages."""
_GIB: Final = 128
_HUGE: Final = 16_384
_INSTANCE_MB: Final = 4096
_INSTANCE_CPUS: Final = 4
_MINUTES_UP: Final = 30 * 24 * 60
_UP_NS: Final = CELLS * 32 * _MINUTES_UP * 60 * 10**9
_MOVE: Final = 0.03
"""How far a share of time moves in a minute: its standard deviation."""
_FLAGS: Final = (
    "fpu vme de pse tsc msr pae mce cx8 apic sep mtrr pge mca cmov pat pse36 clflush "
    "mmx fxsr sse sse2 ht syscall nx pdpe1gb rdtscp lm constant_tsc pni pclmulqdq vmx "
    "ssse3 fma cx16 pcid sse4_1 sse4_2 x2apic movbe popcnt aes xsave avx f16c rdrand "
    "hypervisor lahf_lm abm bmi1 avx2 bmi2 erms rdseed adx smap clflushopt clwb "
    "avx512f avx512bw avx512cd avx512dq avx512vl avx512_vnni sha_ni xsaveopt gfni vaes"
)


def machine() -> dict[str, Any]:
    """What the agent's collectors find on the recorded machine, as JSON has it."""
    with tempfile.TemporaryDirectory(prefix="gantt-machine-") as name:
        tree = Tree(Path(name), sockets=CELLS, cores=16, gib=_GIB, huge=(_HUGE, _HUGE))
        info = tree.root / "proc/cpuinfo"
        info.write_text(info.read_text().replace("fpu sse", f"{_FLAGS} sse"))
        for cell in range(CELLS):
            bus = f"{0x10 + 0x20 * cell:02x}"
            virtual = tuple(f"0000:{bus}:02.{n}" for n in range(8)) + tuple(
                f"0000:{bus}:03.{n}" for n in range(8)
            )
            tree.device(
                f"0000:{bus}:00.0",
                "8086",
                "1592",
                node=cell,
                driver="ice",
                vfs=virtual,
            )
            gpu = f"0000:{bus}:08.0"
            tree.device(gpu, "10de", "2330", node=cell, driver="vfio-pci")
        collectors = all_collectors(pci=PciCollector((offer_of("10de:2330"),)))
        part = describe(collectors, tree.root)
    found: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(part.fields))
    found["metrics"] = [one for one in found["metrics"] if "value" in one]
    return found


class SimulatedHost:
    """One host of the fleet. The same ``number`` gives the same host."""

    def __init__(self, number: int, fields: dict[str, Any]) -> None:
        self.name = f"compute-{number:05}.example.org"
        self._rng = random.Random(number)
        self._is_pinned = number % PINNED == 0
        self._fields = {
            **fields,
            "memory_mb": CELLS * _GIB * 1024 - self._rng.randrange(32),
            "local_gb": 3500,
        }
        self._instances = [self._uuid() for _ in range(INSTANCES)]
        self._metrics = {one["name"]: one["value"] for one in fields["metrics"]}
        for name in self._metrics:
            if name.endswith(".time"):
                self._metrics[name] = self._rng.randrange(_UP_NS)
        self._constants = {"hypervisor_hostname": self.name, "uuid": self._uuid()}
        self._cells = self._with_instances(fields["numa_topology"]["cells"])
        self.reporter = self._new_reporter()

    def restart(self) -> None:
        """The agent starts again: its next report is a full one."""
        needs, self.reporter = self.reporter.needs, self._new_reporter()
        self.reporter.needs = needs

    def report(self) -> Report:
        """What the agent says next."""
        return self.reporter.next(self.part(), time.time_ns() // 1000)

    def everything(self) -> Report:
        """What an agent would say that sends all that it knows, always."""
        return self._new_reporter().next(self.part(), time.time_ns() // 1000)

    def measure(self) -> None:
        """A minute later: most metrics moved by less than the agent's step."""
        rng = self._rng
        for name, value in self._metrics.items():
            if name.endswith(".time"):
                self._metrics[name] = value + rng.randrange(_UP_NS // _MINUTES_UP)
            elif name.endswith(".percent"):
                moved = value + rng.gauss(0, _MOVE)
                self._metrics[name] = round(min(1.0, max(0.0, moved)), 2)

    def exchange(self) -> None:
        """One instance went, and another came."""
        self._instances[self._rng.randrange(len(self._instances))] = self._uuid()
        self._cells = self._with_instances(self._fields["numa_topology"]["cells"])

    def part(self) -> Part:
        """What its collectors would find now."""
        count = len(self._instances)
        source = self._fields["metrics"][0]["source"]
        metrics = [
            {"name": name, "value": value, "source": source}
            for name, value in self._metrics.items()
        ]
        return Part(
            {
                **self._fields,
                "metrics": metrics,
                "instances": sorted(self._instances),
                "lists_instances": True,
                "running_vms": count,
                "vcpus_used": count * _INSTANCE_CPUS,
                "memory_mb_used": count * _INSTANCE_MB,
                "local_gb_used": 40 * count,
                "numa_topology": {"cells": self._cells},
            }
        )

    def _new_reporter(self) -> Reporter:
        return Reporter(
            self.name, self.name, str(uuid.uuid4()), constants=self._constants
        )

    def _with_instances(self, cells: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [self._taken(cell) for cell in cells] if self._is_pinned else cells

    def _taken(self, cell: dict[str, Any]) -> dict[str, Any]:
        """A cell with instances that are pinned there, on any of its cores."""
        count = self._rng.randrange(1, INSTANCES // CELLS + 1)
        cores = self._rng.sample(cell["siblings"], count * _INSTANCE_CPUS // 2)
        pages = [
            {**one, "used": count * _INSTANCE_MB // 2}
            if one["size_kb"] == 2048
            else one
            for one in cell["mempages"]
        ]
        pinned = sorted(cpu for core in cores for cpu in core)
        return {**cell, "mempages": pages, "pinned_cpus": pinned}

    def _uuid(self) -> str:
        return str(uuid.UUID(int=self._rng.getrandbits(128), version=4))


def fleet(count: int, needs: Needs | None = None) -> list[SimulatedHost]:
    """``count`` hosts that report what ``needs`` asks for; None: all that they know."""
    fields = machine()
    hosts = [SimulatedHost(number, fields) for number in range(count)]
    for host in hosts:
        host.reporter.needs = needs
    return hosts
