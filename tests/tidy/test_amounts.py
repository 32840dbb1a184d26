"""What is used is read through the State and its views, and written by the State alone.

By names: amounts are the columns ``used`` and ``capacity``, a State is called ``state``
or ``fleet`` on the way to what it has. And by arrays that cannot be written while
``Desk`` plans and decides.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

import pytest

from tests.scheduler.desk import Desk, unwritten
from tests.tidy.source import Source, sources

COLUMNS = frozenset({"used", "capacity"})
OF_ARRAYS = frozenset("astype copy item max min sum tolist".split())
WAYS = frozenset({"state", "_state", "fleet", "_fleet"})
WRITERS = frozenset(
    "add add_used apply assign date discard give_back load put put_host remove "
    "provider_moved provider_touched serve set take take_block take_report".split()
)


Nodes = Iterable[ast.AST]
Found = Iterator[tuple[int, str]]
"""Line, and what is wrong there."""


def _amounts_read(nodes: Nodes) -> Found:
    for node in nodes:
        column: ast.AST = node
        if isinstance(node, ast.Subscript) or (
            isinstance(node, ast.Attribute) and node.attr in OF_ARRAYS
        ):
            column = node.value
        elif not _is_of_table(node):
            continue
        if isinstance(column, ast.Attribute) and column.attr in COLUMNS:
            yield column.lineno, f"reads {column.attr}"


def _is_of_table(node: ast.AST) -> bool:
    """Whether it is an attribute of what is called a table."""
    owner = node.value if isinstance(node, ast.Attribute) else None
    return isinstance(owner, ast.Name) and owner.id.endswith("table")


def _way(node: ast.expr) -> list[str]:
    """The names from the first one on: of ``a.b[c].d``, a, b and d."""
    if isinstance(node, ast.Attribute):
        return [*_way(node.value), node.attr]
    if isinstance(node, ast.Subscript):
        return [*_way(node.value), "[]"]
    return [node.id] if isinstance(node, ast.Name) else [""]


def _writes(nodes: Nodes) -> Found:
    for node in nodes:
        targets: list[ast.expr] = []
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, ast.AugAssign | ast.AnnAssign):
            targets = [node.target]
        elif isinstance(node, ast.Delete):
            targets = node.targets
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            targets = [node.func] if node.func.attr in WRITERS else []
        for target in targets:
            if not WAYS.isdisjoint(_way(target)[:-1]):
                yield target.lineno, f"writes {'.'.join(_way(target))}"


def _told(source: Source, found: Found) -> list[str]:
    return [f"{source.at(line)}: {what}" for line, what in found]


def test_amounts_are_read_through_the_state_and_its_views() -> None:
    wrong = []
    for source in sources():
        if source.floor != "state":
            wrong += _told(source, _amounts_read(source.nodes))
    assert wrong == []


def test_deciders_rules_and_views_write_no_state() -> None:
    wrong = []
    for source in sources():
        is_view = source.parts in {("state", "view"), ("state", "slot_amounts")}
        if source.floor in ("placement", "scheduler") or is_view:
            wrong += _told(source, _writes(source.nodes))
    assert wrong == []


def test_no_column_is_written_while_a_desk_plans_or_decides() -> None:
    desk = Desk(1)
    desk.add_hosts(2)
    used = desk.state.fleet.hosts.vcpus_used
    with unwritten(desk.state), pytest.raises(ValueError, match="read-only"):
        used[0] = 1
    used[0] = 1


@pytest.mark.parametrize(
    "line",
    [
        "table.used[1]",
        "f(table.used)",
        "self._table.capacity[slots]",
        "x.used.item(3)",
        "state.apply(changes, cursor)",
        "self._state.fleet.hosts.used_ram[2] = 1",
        "draft.state.inventories.add_used(1, 2, 3)",
        "del state.fleet.claims.by_id[1]",
    ],
)
def test_what_is_forbidden_is_seen(line: str) -> None:
    nodes = list(ast.walk(ast.parse(line)))
    assert [*_amounts_read(nodes), *_writes(nodes)]


@pytest.mark.parametrize(
    "line",
    ["row.used", "self.state = state", "view.add(slot, 1)", "history.used.get(1)"],
)
def test_what_is_allowed_is_not(line: str) -> None:
    nodes = list(ast.walk(ast.parse(line)))
    assert not [*_amounts_read(nodes), *_writes(nodes)]
