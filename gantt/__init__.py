"""Gantt decides where things run: the books of a fleet, and who gets what of it.

import gantt

books = gantt.connect("memory://")
host = books.create_provider("node-1")
books.set_inventories(host.uuid, {"VCPU": gantt.Inventory(total=16)})
"""

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

__version__ = "0.1.0"

__all__ = [
    "CandidateRequest",
    "ConsumerAllocations",
    "Diagnosis",
    "EngineOptions",
    "Gantt",
    "GanttProtocol",
    "Inventory",
    "Labels",
    "ProviderQuery",
    "RequestGroup",
    "ReshapedProvider",
    "TraitQuery",
    "UsageQuery",
    "__version__",
    "connect",
]
