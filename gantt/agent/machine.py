"""This machine: the collectors that describe it, its name and its uuid.

Separate from registering, so that a machine can be described without a database.
"""

from __future__ import annotations

import socket
import uuid
from collections.abc import Iterable
from pathlib import Path

from gantt.agent.collectors.contract import Collector, Part, merge
from gantt.agent.collectors.cpu import CpuCollector
from gantt.agent.collectors.disk import DiskCollector
from gantt.agent.collectors.memory import MemoryCollector
from gantt.agent.collectors.traits import TraitsCollector

NAMESPACE = uuid.UUID("6e1f8a44-6c0b-5d0f-9a53-0a7f3e5b2c11")


def default_collectors(disk_path: Path = Path("/")) -> tuple[Collector, ...]:
    """What describes any Linux machine; ``disk_path`` lies on the disk to offer."""
    return (
        CpuCollector(),
        MemoryCollector(),
        DiskCollector(disk_path),
        TraitsCollector(),
    )


def describe(collectors: Iterable[Collector]) -> Part:
    """Everything that ``collectors`` find, as one part. Raises OSError."""
    return merge([collector.collect() for collector in collectors])


def machine_name() -> str:
    """The host name: what a provider of this machine is called."""
    return socket.gethostname()


def machine_uuid(name: str, id_file: Path = Path("/etc/machine-id")) -> str:
    """The same uuid at every call on this machine.

    Made from the machine's id and its name, since containers of one image share the
    id; hashed, since the id must not be disclosed.
    """
    try:
        machine_id = id_file.read_text().strip()
    except OSError:
        machine_id = ""
    return str(uuid.uuid5(NAMESPACE, f"{machine_id}/{name}"))
