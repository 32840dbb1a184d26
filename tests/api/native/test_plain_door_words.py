"""The plain door is for people without OpenStack: none of its documents, messages and
helps has a word of Nova's."""

from __future__ import annotations

import ast
import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import gantt
from gantt.api.native.openapi import document
from gantt.engine import place_methods, waiting_methods
from gantt.model import (
    demand,
    demand_queue,
    demand_relations,
    place_operations,
    placements,
    quantities,
)
from gantt.model.scheduling import SchedulerProtocol
from gantt.placement import demand_queries, named_placements
from gantt.placement.rules import demands, plans
from gantt.scheduler.explain import plain_words
from gantt.scheduler.joint import joint_search
from gantt.scheduler.request import plain_item, plain_relations

ROOT = Path(gantt.__file__).parents[1]
NOVAS = re.compile(
    r"nova\b|openstack|flavor|hypervisor|tenant|\binstance|\bimages?\b|server group|"
    r"extra spec|scheduler hint|request spec|select_destinations|\bVM\b",
    re.IGNORECASE,
)
PATHS = ("/gantt/place", "/gantt/placements", "/gantt/demands")
GUIDES = ("reserve-before-you-create", "from-go")
METHODS = (
    "place list_placements confirm_placement release_placement await_plan list_demands "
    "show_demand cancel_demand"
)


def _openapi() -> Iterator[str]:
    """What the document says of each operation, and of the types that it names."""
    whole: dict[str, Any] = document()
    types = whole["components"]["schemas"]
    waiting = [one for path, one in whole["paths"].items() if path.startswith(PATHS)]
    seen: set[str] = set()
    while waiting:
        text = json.dumps(waiting.pop())
        yield text
        for name in set(re.findall(r"#/components/schemas/(\w+)", text)) - seen:
            seen.add(name)
            if name not in ("Error", "Errors"):
                waiting.append(types[name])
    assert {"Item", "PlaceBody", "Plan", "Placement", "PlacedView"} <= seen


def _helps() -> Iterator[str]:
    page = (ROOT / "docs/reference/commands.md").read_text()
    sections = re.split(r"^#+ ", page, flags=re.MULTILINE)
    found = [one for one in sections if re.match(r"`?gantt (place|demand)", one)]
    assert len(found) > 8
    yield from found


def _messages() -> Iterator[str]:
    """The sentences in the code that answers, but for docstrings."""
    for module in (
        demand,
        demand_queue,
        demand_relations,
        placements,
        place_operations,
        quantities,
        demand_queries,
        named_placements,
        demands,
        plans,
        place_methods,
        waiting_methods,
        plain_item,
        plain_relations,
        plain_words,
        joint_search,
    ):
        tree = ast.parse(inspect.getsource(module))
        said = {
            id(node.value)
            for node in ast.walk(tree)
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        }
        for node in ast.walk(tree):
            text = node.value if isinstance(node, ast.Constant) else None
            if isinstance(text, str) and " " in text and id(node) not in said:
                yield text


def _library() -> Iterator[str]:
    yield from (inspect.getdoc(one) or "" for one in (gantt.Item, demand.Demand))
    for module in (demand_relations, demand_queue, placements):
        for one in vars(module).values():
            if getattr(one, "__module__", "") == module.__name__:
                yield inspect.getdoc(one) or ""
    for name in METHODS.split():
        yield inspect.getdoc(getattr(SchedulerProtocol, name)) or ""


SAID = {
    "guide": lambda: [(ROOT / f"docs/how-to/{one}.md").read_text() for one in GUIDES],
    "http": _openapi,
    "commands": _helps,
    "messages": _messages,
    "library": _library,
}


@pytest.mark.parametrize("where", SAID)
def test_no_word_is_novas(where: str) -> None:
    texts = list(SAID[where]())
    assert texts
    found = {text for text in texts if NOVAS.search(text)}
    assert not found, {NOVAS.findall(text)[0]: text[:200] for text in found}


def test_a_word_of_novas_is_found() -> None:
    assert NOVAS.findall("No flavor of Nova's fits the instance") == [
        "flavor",
        "Nova",
        "instance",
    ]
