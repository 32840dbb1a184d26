"""A machine: the collectors that describe it, its name and its uuid.

Separate from registering and reporting, so that a machine can be described without a
service.
"""

from __future__ import annotations

import logging
import socket
import uuid
from collections.abc import Iterable
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from gantt.agent.collectors.artifacts import ArtifactCollector
from gantt.agent.collectors.contract import Collector, Part, merge, provided
from gantt.agent.collectors.cpu import CpuCollector
from gantt.agent.collectors.disk import DiskCollector
from gantt.agent.collectors.memory import MemoryCollector
from gantt.agent.collectors.metrics import MetricsCollector
from gantt.agent.collectors.numa import NumaCollector
from gantt.agent.collectors.pci import PciCollector
from gantt.agent.collectors.traits import TraitsCollector
from gantt.agent.files import Files
from gantt.agent.workloads.collector import WorkloadCollector
from gantt.agent.workloads.sources import sources
from gantt.errors import Refused, shortened
from gantt.model.hosts import HostStats
from gantt.model.reports import column_key

LOG = logging.getLogger(__name__)
NAMESPACE = uuid.UUID("6e1f8a44-6c0b-5d0f-9a53-0a7f3e5b2c11")
ROOT: Final = Path("/")
PLUGINS: Final = "gantt.collectors"
_USED: Final = (
    ("vcpus", "vcpus_used", None),
    ("memory_mb", "memory_mb_used", "free_ram_mb"),
    ("local_gb", "local_gb_used", "free_disk_gb"),
)
_decode_stats: Final = msgspec.json.Decoder(HostStats).decode


def default_collectors(disk_path: Path = ROOT) -> tuple[Collector, ...]:
    """Amounts and traits of any Linux machine; ``disk_path`` lies on the disk to
    offer."""
    return (
        CpuCollector(),
        MemoryCollector(),
        DiskCollector(disk_path),
        TraitsCollector(),
    )


def all_collectors(
    disk_path: Path = ROOT,
    *,
    numa: NumaCollector | None = None,
    pci: PciCollector | None = None,
    workloads: WorkloadCollector | None = None,
    artifacts: ArtifactCollector | None = None,
) -> tuple[Collector, ...]:
    """All of ours, then those of other packages. Raises Refused where one of these
    cannot be loaded."""
    running = workloads or WorkloadCollector(sources())
    # After the instances: their cells name the CPUs that these are pinned to.
    cells = replace(numa or NumaCollector(), pinned=lambda: running.pinned)
    ours = (running, cells, pci or PciCollector(), MetricsCollector())
    held = artifacts or ArtifactCollector()
    return (*default_collectors(disk_path), *ours, held, *plugins())


def plugins() -> tuple[Collector, ...]:
    """Collectors of other packages, by the names of their entry points."""
    found = []
    for entry in sorted(entry_points(group=PLUGINS), key=lambda one: one.name):
        try:
            one: Any = entry.load()()
            fields = {name for name in one.provides if not column_key(name)}
            unknown = fields - set(HostStats.__struct_fields__)
            if unknown or not callable(one.collect):
                raise TypeError(f"no host reports {', '.join(sorted(unknown))}")
        except Exception as error:
            raise Refused(
                f"The entry point {entry.name!r} of {PLUGINS} ({entry.value}) cannot "
                f"be used: {type(error).__name__}: {error}. Repair or remove the "
                "package that installed it."
            ) from error
        found.append(one)
    return tuple(found)


def describe(collectors: Iterable[Collector], root: Path = ROOT) -> Part:
    """Everything that ``collectors`` find. What fails is a problem of the part, and
    keeps nothing else out."""
    return merge([_asked(collector, root) for collector in collectors])


def with_use(fields: dict[str, Any]) -> dict[str, Any]:
    """``fields`` with what is used and free of each amount: nothing is used, where no
    collector says otherwise; claims are taken off by the service."""
    found = dict(fields)
    for total, used, free in _USED:
        if total in found:
            found.setdefault(used, 0)
            if free is not None:
                found.setdefault(free, max(0, found[total] - found[used]))
    return found


def _asked(collector: Collector, root: Path) -> Part:
    files = Files(root)
    name = type(collector).__name__
    try:
        fields = dict(collector.collect(files))
        strange = provided(fields, collector.provides) - collector.provides
        if strange:
            raise TypeError(
                f"it found {', '.join(sorted(strange))}, which it does not provide"
            )
        _check(fields)
    except Exception as error:
        # Whatever a collector of another package does: the others go on.
        LOG.debug("collector %s failed", name, exc_info=error)
        files.problem("", shortened(f"{name}: {type(error).__name__}: {error}", 500))
        fields = {}
    found = provided(fields, collector.provides)
    missing = collector.provides - found if files.problems else frozenset()
    return Part(fields, tuple(files.problems), frozenset(missing))


def _check(fields: dict[str, Any]) -> None:
    """Raises what msgspec raises for a value that no report could have."""
    _decode_stats(msgspec.json.encode(fields))


def machine_name() -> str:
    """The host name: what a provider of this machine is called."""
    return socket.gethostname()


def machine_uuid(name: str, id_file: Path = Path("/etc/machine-id")) -> str:
    """The uuid of this machine: the same one at every call.

    Made from the machine's id and its name, since containers of one image share the
    id; hashed, since the id must not be disclosed.
    """
    try:
        machine_id = id_file.read_text(errors="replace").strip()
    except OSError:
        machine_id = ""
    return str(uuid.uuid5(NAMESPACE, f"{machine_id}/{name}"))
