"""Gantt decides where things run: the books of a fleet, and who gets what of it.

import gantt

books = gantt.connect("memory://")
host = books.create_provider("node-1")
books.set_inventories(host.uuid, {"VCPU": gantt.Inventory(total=16)})
"""

from typing import TYPE_CHECKING, Any

from gantt.connection import connect
from gantt.engine.gantt import Gantt
from gantt.engine.options import EngineOptions
from gantt.model.commands import ConsumerAllocations, Inventory, ReshapedProvider
from gantt.model.diagnosis import Diagnosis
from gantt.model.protocol import GanttProtocol
from gantt.model.requests import (
    CandidateRequest,
    Labels,
    ProviderQuery,
    RequestGroup,
    TraitQuery,
    UsageQuery,
)
from gantt.model.spec import Flavor, Image, RequestSpec

if TYPE_CHECKING:
    from gantt.client import SchedulerClient, selection_primitive
    from gantt.conf import engine_options

__version__ = "0.1.0"

__all__ = [
    "CandidateRequest",
    "ConsumerAllocations",
    "Diagnosis",
    "EngineOptions",
    "Flavor",
    "Gantt",
    "GanttProtocol",
    "Image",
    "Inventory",
    "Labels",
    "ProviderQuery",
    "RequestGroup",
    "RequestSpec",
    "ReshapedProvider",
    "SchedulerClient",
    "TraitQuery",
    "UsageQuery",
    "__version__",
    "connect",
    "engine_options",
    "selection_primitive",
]


def __getattr__(name: str) -> Any:
    # Floors of their own, loaded by those who use them.
    if name in {"SchedulerClient", "selection_primitive"}:
        from gantt import client

        return getattr(client, name)
    if name == "engine_options":
        from gantt.conf import engine_options

        return engine_options
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
