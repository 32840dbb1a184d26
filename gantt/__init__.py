"""Gantt decides where things run: the books of a fleet, and who gets what of it.

import gantt

books = gantt.connect("memory://")
host = books.create_provider("node-1")
books.set_inventories(host.uuid, {"VCPU": gantt.Inventory(total=16)})
"""

from __future__ import annotations

import importlib

from gantt.version import __version__

# As in ``typing``, which takes longer to load than the rest of a program's first step,
# during which Ctrl-C is not silent (``gantt.cli.start``).
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

    from gantt.client import AsyncSchedulerClient, SchedulerClient, selection_primitive
    from gantt.conf import engine_options
    from gantt.connection import connect
    from gantt.engine.gantt import Gantt
    from gantt.engine.options import EngineOptions
    from gantt.model.commands import ConsumerAllocations, Inventory, ReshapedProvider
    from gantt.model.demand import Item
    from gantt.model.demand_relations import apart, distinct, near, spread
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

__all__ = [
    "AsyncSchedulerClient",
    "CandidateRequest",
    "ConsumerAllocations",
    "Diagnosis",
    "EngineOptions",
    "Flavor",
    "Gantt",
    "GanttProtocol",
    "Image",
    "Inventory",
    "Item",
    "Labels",
    "ProviderQuery",
    "RequestGroup",
    "RequestSpec",
    "ReshapedProvider",
    "SchedulerClient",
    "TraitQuery",
    "UsageQuery",
    "__version__",
    "apart",
    "connect",
    "distinct",
    "engine_options",
    "near",
    "selection_primitive",
    "spread",
]


_HOMES: Final = {
    "gantt.client": (
        "AsyncSchedulerClient",
        "SchedulerClient",
        "selection_primitive",
    ),
    "gantt.conf": ("engine_options",),
    "gantt.connection": ("connect",),
    "gantt.engine.gantt": ("Gantt",),
    "gantt.engine.options": ("EngineOptions",),
    "gantt.model.commands": ("ConsumerAllocations", "Inventory", "ReshapedProvider"),
    "gantt.model.demand": ("Item",),
    "gantt.model.demand_relations": ("apart", "distinct", "near", "spread"),
    "gantt.model.diagnosis": ("Diagnosis",),
    "gantt.model.protocol": ("GanttProtocol",),
    "gantt.model.requests": (
        "CandidateRequest",
        "Labels",
        "ProviderQuery",
        "RequestGroup",
        "TraitQuery",
        "UsageQuery",
    ),
    "gantt.model.spec": ("Flavor", "Image", "RequestSpec"),
}


def __getattr__(name: str) -> Any:
    # Loaded by those who use them: an agent or a command over HTTP needs no engine.
    for module, names in _HOMES.items():
        if name in names:
            try:
                found = getattr(importlib.import_module(module), name)
            except ModuleNotFoundError as error:
                if not str(error.name).startswith("gantt."):
                    raise
                raise ImportError(f"gantt.{name} is in gantt-scheduler.") from None
            globals()[name] = found
            return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
