"""/proc and /sys of machines that never were, written as files."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

FLAGS = "fpu sse sse2 ssse3 sse4_1 sse4_2 avx avx2 vmx ht"
PF, NIC, GPU, DISK = "0000:3b:00.0", "0000:01:00.0", "0000:af:00.0", "0000:02:00.0"
VFS = tuple(f"0000:3b:02.{number}" for number in range(4))
KIB_PER_GIB = 1024 * 1024


class Tree:
    """A machine with ``sockets``, ``cores`` in each and ``threads`` of each; CPUs are
    numbered as Linux does: first one thread of every core. ``gib`` of memory and
    ``huge`` pages of 2 MiB (and how many of them are free) per socket."""

    def __init__(
        self,
        root: Path,
        *,
        sockets: int = 2,
        cores: int = 4,
        threads: int = 2,
        gib: int = 32,
        huge: tuple[int, int] = (1024, 1000),
    ) -> None:
        self.root = root
        self.sockets, self.cores, self.threads = sockets, cores, threads
        self.gib = gib
        every = sockets * cores * threads
        self.write("sys/devices/system/cpu/online", f"0-{every - 1}\n")
        self.write("proc/cpuinfo", self._cpuinfo(every))
        self.write("proc/meminfo", f"MemTotal: {sockets * gib * KIB_PER_GIB} kB\n")
        self.write("proc/1/environ", "HOME=/\0")
        self.write("proc/1/status", "Name:\tinit\n")
        self.write("proc/stat", "cpu  100 0 50 800 50 0 0 0 0 0\ncpu0 1 2 3 4 5\n")
        for number in range(every):
            self._cpu(number)
        for socket in range(sockets):
            self._node(socket, huge)
        self.write("sys/block/sda/size", str(2 * 1024**3))  # 1 TiB in sectors
        self.write("sys/block/sda/removable", "0")
        self.write("sys/block/sr0/size", "99999999")
        self.write("sys/block/loop0/size", "99999999")

    def cpus(self, socket: int) -> list[int]:
        """The CPUs of a socket."""
        first = range(socket * self.cores, (socket + 1) * self.cores)
        step = self.sockets * self.cores
        return sorted(one + step * t for one in first for t in range(self.threads))

    def write(self, path: str, text: str) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def device(
        self,
        address: str,
        vendor: str,
        product: str,
        *,
        node: int = 0,
        driver: str | None = None,
        vfs: Iterable[str] = (),
    ) -> None:
        """A PCI device; with ``vfs`` it is their PF."""
        folder = f"sys/bus/pci/devices/{address}"
        self.write(f"{folder}/vendor", f"0x{vendor}\n")
        self.write(f"{folder}/device", f"0x{product}\n")
        self.write(f"{folder}/numa_node", f"{node}\n")
        if driver is not None:
            self._link(f"{folder}/driver", f"../../../bus/pci/drivers/{driver}")
        functions = tuple(vfs)
        for one in functions:
            self.device(one, vendor, "154c", node=node)
            self._link(f"sys/bus/pci/devices/{one}/physfn", f"../{address}")
        if functions:
            self.write(f"{folder}/sriov_totalvfs", f"{len(functions)}\n")

    def furnish(self) -> Tree:
        """A NIC and a disk of its own, a PF with four VFs, and a GPU to be passed
        through."""
        self.device(NIC, "8086", "1521", driver="igb")
        self.device(DISK, "144d", "a808", driver="nvme", node=-1)
        self.device(PF, "8086", "1572", driver="i40e", vfs=VFS)
        self.device(GPU, "10de", "1eb8", driver="vfio-pci", node=1)
        return self

    def _link(self, path: str, target: str) -> None:
        link = self.root / path
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(target)

    def _cpuinfo(self, every: int) -> str:
        siblings = self.cores * self.threads
        return "\n".join(
            f"processor\t: {number}\nvendor_id\t: GenuineIntel\n"
            f"model name\t: Imaginary 9000\nsiblings\t: {siblings}\n"
            f"cpu cores\t: {self.cores}\nflags\t\t: {FLAGS}\n"
            "address sizes\t: 46 bits physical, 48 bits virtual\n"
            for number in range(every)
        )

    def _cpu(self, number: int) -> None:
        step = self.sockets * self.cores
        core = number % step
        threads = ",".join(str(core + step * t) for t in range(self.threads))
        folder = f"sys/devices/system/cpu/cpu{number}/topology"
        self.write(f"{folder}/thread_siblings_list", f"{threads}\n")
        self.write(f"{folder}/physical_package_id", f"{core // self.cores}\n")

    def _node(self, socket: int, huge: tuple[int, int]) -> None:
        folder = f"sys/devices/system/node/node{socket}"
        cpus = ",".join(map(str, self.cpus(socket)))
        self.write(f"{folder}/cpulist", f"{cpus}\n")
        total = self.gib * KIB_PER_GIB
        self.write(f"{folder}/meminfo", f"Node {socket} MemTotal:  {total} kB\n")
        count, free = huge
        pages = f"{folder}/hugepages/hugepages-2048kB"
        self.write(f"{pages}/nr_hugepages", f"{count}\n")
        self.write(f"{pages}/free_hugepages", f"{free}\n")
