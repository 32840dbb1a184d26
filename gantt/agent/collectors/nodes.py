"""NUMA nodes whose memory is not the machine's: that of GPUs, which the kernel shows as
nodes without CPUs (POWER9 with NVLink, Grace with Hopper).

Separate because both the machine's memory and its cells go without them.
"""

from __future__ import annotations

import re
from typing import Final

from gantt.agent.collectors.architecture import machine_of
from gantt.agent.collectors.meminfo import meminfo
from gantt.agent.files import Files

NODES: Final = "/sys/devices/system/node"
_DRIVER: Final = "/proc/driver/nvidia/gpus"
_DEVICES: Final = "/sys/bus/pci/devices"
_STATUS: Final = re.compile(r"^Node:\s+(\d+)", re.MULTILINE)
_COHERENT: Final = frozenset({"aarch64", "ppc64le"})
_NVIDIA: Final = 0x10DE
_DISPLAY: Final = 0x03


def node_names(files: Files) -> list[str]:
    """node0, node1, …; empty: a kernel without NUMA."""
    found = files.names(NODES, "node")
    return [one for one in found if one.removeprefix("node").isdigit()]


def gpu_nodes(files: Files) -> dict[str, int]:
    """Nodes with the memory of GPUs, by name, and its kB. The driver names them; where
    it does not, on architectures whose GPUs have coherent memory, all without CPUs."""
    bare = [one for one in node_names(files) if not _has_cpus(files, one)]
    if not bare:
        return {}
    told = {
        f"node{number}"
        for gpu in files.names(_DRIVER)
        for number in _STATUS.findall(_text(files, f"{_DRIVER}/{gpu}/numa_status"))
    }
    if not told and machine_of(files) in _COHERENT and _has_gpu(files):
        told = set(bare)
    return {
        one: meminfo(_text(files, f"{NODES}/{one}/meminfo")).get("MemTotal", 0)
        for one in bare
        if one in told
    }


def _has_cpus(files: Files, node: str) -> bool:
    return bool(_text(files, f"{NODES}/{node}/cpulist"))


def _has_gpu(files: Files) -> bool:
    for address in files.names(_DEVICES):
        folder = f"{_DEVICES}/{address}"
        kind = files.number_if_there(f"{folder}/class") or 0
        vendor = files.number_if_there(f"{folder}/vendor")
        if kind >> 16 == _DISPLAY and vendor == _NVIDIA:
            return True
    return False


def _text(files: Files, path: str) -> str:
    return files.text_if_there(path) or ""
