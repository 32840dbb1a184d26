"""Domains of libvirt: all that are defined, since one that is shut off is still here.

The uuid of a domain is that of its instance, as Nova has it. Amounts are those of its
definition. A daemon that hangs must not hang the agent, so that it is asked in a thread
of its own.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

from gantt.agent.collectors.meminfo import KB_PER_MB
from gantt.agent.files import Files
from gantt.agent.workloads.contract import Workload

URI: Final = "qemu:///system"
SOCKETS: Final = "/run/libvirt"
DEADLINE_S: Final = 10.0
"""For so long the daemon may think; less than hosts are waited for."""
_MODULE: Final = "libvirt"
_BYTES_PER_GB: Final = 1024**3


def is_installed() -> bool:
    """Whether the library can be imported."""
    return find_spec(_MODULE) is not None


class LibvirtWorkloads:
    """Asks the libvirt of this machine, read-only; a recorded tree has none.
    ``library``: the module; None: it is imported when it is asked. ``uri`` "": what
    LIBVIRT_DEFAULT_URI says, else the system's QEMU."""

    def __init__(
        self, library: Any = None, uri: str = "", deadline_s: float = DEADLINE_S
    ) -> None:
        self._library = library
        self._uri = uri or os.environ.get("LIBVIRT_DEFAULT_URI") or URI
        self._deadline_s = deadline_s
        self._asking: _Asking | None = None

    def workloads(self, files: Files) -> Iterable[Workload]:
        """One for each domain."""
        if not files.is_live:
            return []
        try:
            library = self._library or import_module(_MODULE)
        except ImportError as error:
            files.problem("", f"libvirt cannot be asked what runs here: {error}")
            return []
        if self._asking is None or not self._asking.is_alive():
            self._asking = _Asking(library, self._uri)
            self._asking.start()
        self._asking.join(self._deadline_s)
        if self._asking.is_alive():
            return self._failed(files, f"no answer for {self._deadline_s:g} s")
        if self._asking.failure is not None:
            return self._failed(files, str(self._asking.failure))
        return self._asking.found

    def _failed(self, files: Files, why: str) -> list[Workload]:
        files.problem("", f"libvirt at {self._uri} does not say what runs: {why}")
        return []


class _Asking(threading.Thread):
    """One question to the daemon; ``failure``: why it was not answered."""

    def __init__(self, library: Any, uri: str) -> None:
        super().__init__(name="gantt-libvirt", daemon=True)
        self._library = library
        self._uri = uri
        self.found: list[Workload] = []
        self.failure: Exception | None = None

    def run(self) -> None:
        """Every failure is kept for the caller, who may not wait any more."""
        try:
            self.found = _asked(self._library, self._uri)
        except Exception as error:
            self.failure = error


class UnaskedLibvirt:
    """Stands where libvirt runs and its library is missing: what the other sources find
    would then be taken for all that is here."""

    def workloads(self, files: Files) -> Iterable[Workload]:
        """Nothing, and a problem where libvirt runs."""
        if files.names(SOCKETS):
            files.problem(
                SOCKETS,
                "libvirt runs here and its Python library is not installed, so that "
                "not all instances are reported: install libvirt-python, or name the "
                "sources with --workloads",
            )
        return []


def _asked(library: Any, uri: str) -> list[Workload]:
    """Raises libvirtError."""
    # It prints every error by itself, else.
    library.registerErrorHandler(lambda *_: None, None)
    connection = library.openReadOnly(uri)
    try:
        return list(_domains(library, connection))
    finally:
        connection.close()


def _domains(library: Any, connection: Any) -> Iterator[Workload]:
    """What is asked of all domains at once leaves out those that go meanwhile."""
    wanted = (
        library.VIR_DOMAIN_STATS_VCPU
        | library.VIR_DOMAIN_STATS_BALLOON
        | library.VIR_DOMAIN_STATS_BLOCK
    )
    for domain, stats in connection.getAllDomainStats(wanted):
        yield Workload(
            domain.UUIDString(),
            vcpus=stats.get("vcpu.maximum"),
            memory_mb=stats.get("balloon.maximum", 0) // KB_PER_MB,
            disk_gb=_disk_gb(stats),
            cpus=_pinned(library, domain),
        )


def _disk_gb(stats: dict[str, Any]) -> int | None:
    """What its disks hold at most, in whole GiB; None: that is not known, as of a
    domain that is shut off."""
    count = stats.get("block.count", 0)
    known = [stats.get(f"block.{number}.capacity") for number in range(count)]
    if None in known:
        return None
    return -(-sum(size or 0 for size in known) // _BYTES_PER_GB)


def _pinned(library: Any, domain: Any) -> frozenset[int]:
    """The CPUs of all vCPUs that may not run on every CPU, running or not."""
    try:
        pins = domain.vcpuPinInfo()
    except library.libvirtError as error:
        gone = library.VIR_ERR_NO_DOMAIN, library.VIR_ERR_OPERATION_INVALID
        if error.get_error_code() in gone:
            return frozenset()  # it went meanwhile
        raise
    found: set[int] = set()
    for allowed in pins:
        if not all(allowed):
            found.update(number for number, may_run in enumerate(allowed) if may_run)
    return frozenset(found)
