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
    from gantt.client import SchedulerClient

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
]


def __getattr__(name: str) -> Any:
    # The client is a floor of its own, loaded by those who use it.
    if name == "SchedulerClient":
        from gantt.client import SchedulerClient

        return SchedulerClient
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
