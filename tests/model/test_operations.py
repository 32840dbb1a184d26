"""The table of operations: each is served, and each method has one row and one part."""

from __future__ import annotations

import inspect
from operator import attrgetter

import pytest

from gantt.api.native.operation_table import HANDLERS
from gantt.api.routes import ROUTES
from gantt.client.remote import RemoteGantt
from gantt.connection import open_gantt
from gantt.engine.gantt import PARTS
from gantt.model.operations import NAMED, OPERATIONS, Library
from gantt.model.protocol import GanttProtocol

# ``place`` only makes one value of its arguments, for ``place_demand``.
COMPOSED = ("place", "await_plan")
METHODS = [name for name in vars(Library) if name[0] != "_" and name not in COMPOSED]


def test_no_operation_is_there_twice() -> None:
    for of in ("known_as", "at"):
        told = [getattr(one, of) for one in OPERATIONS]
        assert sorted(set(told)) == sorted(told)


def test_each_operation_is_served_by_its_method_or_a_handler() -> None:
    known = {one.known_as for one in OPERATIONS}
    assert HANDLERS.keys() <= known
    left = [one for one in OPERATIONS if not one.name and one.known_as not in HANDLERS]
    own = {"diagnosis_explain", "watch_watch", "snapshot_snapshot"}
    assert {one.known_as for one in left} == own
    assert all(one.method in ROUTES[one.path] for one in OPERATIONS)


@pytest.mark.parametrize("name", METHODS)
def test_a_method_that_is_sent_by_its_row_says_where_each_argument_goes(
    name: str,
) -> None:
    """In the path, then in the query or the body, which names them in this order."""
    one = NAMED[name]
    promised = inspect.signature(getattr(GanttProtocol, name))
    assert inspect.signature(getattr(RemoteGantt, name)) == promised
    _, *arguments = promised.parameters
    rest = arguments[one.path.count("{") :]
    if one.is_whole:
        assert len(arguments) == 1
    elif one.body is not None:
        fields = one.body.__struct_fields__
        assert len(rest) <= len(fields)
        same = [a for a, b in zip(rest, fields, strict=False) if a == b]
        assert same == [a for a in rest if a not in ("spec", "specs")]
    elif rest:
        assert set(rest) <= set(one.query.__struct_fields__)


def test_each_method_is_of_one_part_of_the_engine() -> None:
    with open_gantt("memory://") as books:
        for name in METHODS:
            if name in vars(type(books)):
                continue  # as the engine has it: with more, or under another name
            having = [part for part, kind in PARTS.items() if hasattr(kind, name)]
            assert len(having) == 1, name
            assert callable(attrgetter(f"{having[0]}.{name}")(books))
