"""Domains of libvirt: all that are defined, since one that is shut off is still here.

The uuid of a domain is that of its instance, as Nova has it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

from gantt.agent.collectors.memory import KB_PER_MB
from gantt.agent.files import Files
from gantt.agent.workloads.contract import Workload

URI: Final = "qemu:///system"
SOCKETS: Final = "/run/libvirt"
_MODULE: Final = "libvirt"


def is_installed() -> bool:
    """Whether the library can be imported."""
    return find_spec(_MODULE) is not None


class LibvirtWorkloads:
    """Asks the libvirt of this machine, read-only; a recorded tree has none.
    ``library``: the module; None: it is imported when it is asked."""

    def __init__(self, library: Any = None, uri: str = URI) -> None:
        self._library = library
        self._uri = uri

    def workloads(self, files: Files) -> Iterable[Workload]:
        """One for each domain."""
        if not files.is_live:
            return []
        try:
            library = self._library or import_module(_MODULE)
        except ImportError as error:
            files.problem("", f"libvirt cannot be asked what runs here: {error}")
            return []
        try:
            connection = library.openReadOnly(self._uri)
            try:
                return list(_domains(connection))
            finally:
                connection.close()
        except library.libvirtError as error:
            files.problem("", f"libvirt at {self._uri} does not say what runs: {error}")
            return []


class UnaskedLibvirt:
    """Stands where libvirt runs and its library is missing: what the other sources find
    would then be taken for all that is here."""

    def workloads(self, files: Files) -> Iterable[Workload]:
        """Nothing, and a problem where libvirt runs."""
        if files.names(SOCKETS):
            files.problem(
                SOCKETS,
                "libvirt runs here and its Python library is not installed, so that "
                "instances are not reported: install libvirt-python, or name the "
                "sources with --workloads",
            )
        return []


def _domains(connection: Any) -> Iterator[Workload]:
    for domain in connection.listAllDomains():
        _, _, memory_kb, vcpus, _ = domain.info()
        yield Workload(
            domain.UUIDString(),
            vcpus=vcpus,
            memory_mb=memory_kb // KB_PER_MB,
            cpus=_pinned(domain) if domain.isActive() else frozenset(),
        )


def _pinned(domain: Any) -> frozenset[int]:
    """The CPUs of all vCPUs that may not run on every CPU."""
    found: set[int] = set()
    for allowed in domain.vcpuPinInfo():
        if not all(allowed):
            found.update(number for number, may_run in enumerate(allowed) if may_run)
    return frozenset(found)
