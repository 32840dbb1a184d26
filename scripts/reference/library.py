"""The public library, from its docstrings and signatures: a heading for each thing."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import Any, Final

from msgspec import Struct

import gantt
from scripts.reference.markdown import escaped, fenced
from scripts.reference.signatures import lines_of_call, lines_of_struct

# Name of a part of docs/reference/library.md -> what it describes: things, and modules
# with all that is defined in them.
PARTS: Final[dict[str, tuple[str, ...]]] = {
    "library-opening": (
        "gantt.connect",
        "gantt.engine_options",
        "gantt.EngineOptions",
    ),
    "library-methods": (
        "gantt.GanttProtocol",
        "gantt.model.scheduling.ReportService",
        "gantt.model.scheduling.SchedulerProtocol",
        "gantt.model.demand_queue.WaitingProtocol",
        "gantt.model.artifacts.ArtifactRegister",
    ),
    "library-places": (
        "gantt.Item",
        "gantt.spread",
        "gantt.distinct",
        "gantt.near",
        "gantt.apart",
        "gantt.model.demand_relations.ItemRelation",
        "gantt.model.demand.Demand",
        "gantt.model.placements",
        "gantt.model.demand_queue.DemandView",
        "gantt.model.demand_queue.DemandsQuery",
        "gantt.model.artifacts.Artifact",
    ),
    "library-client": (
        "gantt.SchedulerClient",
        "gantt.AsyncSchedulerClient",
        "gantt.selection_primitive",
    ),
    "library-books": (
        "gantt.model.requests",
        "gantt.Inventory",
        "gantt.ConsumerAllocations",
        "gantt.ReshapedProvider",
        "gantt.model.answers",
    ),
    "library-requests": ("gantt.model.spec",),
    "library-decisions": ("gantt.model.selection", "gantt.model.diagnosis"),
    "library-hosts": ("gantt.model.hosts",),
    "library-errors": ("gantt.errors",),
    "library-plugins": ("gantt.scheduler.contract",),
}


def page(part: str) -> str:
    """What one part says."""
    return "\n".join(line for name in PARTS[part] for line in _described(name))


def _described(name: str) -> Iterator[str]:
    thing = _found(name)
    if isinstance(thing, ModuleType):
        yield from _paragraphs(thing)
        for member in _members(thing):
            yield from _one(_public(member), member)
    else:
        yield from _one(name, thing)


def _public(thing: Any) -> str:
    """The shortest name that it can be imported by."""
    name = thing.__name__
    module = "gantt" if getattr(gantt, name, None) is thing else thing.__module__
    return f"{module}.{name}"


def _found(name: str) -> Any:
    """A module, or what one has."""
    module, _, last = name.rpartition(".")
    owner = import_module(module)
    return getattr(owner, last, None) or import_module(name)


def _members(module: ModuleType) -> list[Any]:
    """Described classes and functions of its own, as they stand there."""
    return [
        one
        for name, one in vars(module).items()
        if getattr(one, "__module__", "") == module.__name__
        and not name.startswith("_")
        and (inspect.isclass(one) or inspect.isfunction(one))
        and one.__doc__
    ]


def _one(name: str, thing: Any) -> Iterator[str]:
    yield from (f"### {escaped(name)}", "")
    if not inspect.isclass(thing):
        yield from fenced(lines_of_call(name.rpartition(".")[2], thing), "python")
    elif issubclass(thing, Struct):
        yield from fenced(lines_of_struct(thing), "python")
    elif issubclass(thing, Exception):
        yield from (f"An error of the kind `{thing.__bases__[0].__name__}`.", "")
    yield from _paragraphs(thing)
    if not inspect.isclass(thing):
        return
    for method, function in vars(thing).items():
        # Those of another class that it passes on are described there.
        is_own = getattr(function, "__module__", "") == thing.__module__
        if is_own and not method.startswith("_") and inspect.isfunction(function):
            yield from (f"#### {escaped(method)}", "")
            yield from fenced(lines_of_call(method, function), "python")
            yield from _paragraphs(getattr(thing, method))


def _paragraphs(thing: Any) -> Iterator[str]:
    """Its docstring; what is indented keeps its lines."""
    for block in (inspect.getdoc(thing) or "").split("\n\n"):
        if block.startswith("    "):
            yield from fenced(inspect.cleandoc(block), "text")
        elif block:
            yield from (escaped(" ".join(block.split())), "")


PAGES: Final = {part: partial(page, part) for part in PARTS}
