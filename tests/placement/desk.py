"""A State that carries out commands at once, as the committer would."""

from __future__ import annotations

from typing import Any

import pytest

from gantt.errors import GanttError
from gantt.model import commands as c
from gantt.model.changes import Cursor
from gantt.model.rows import ROW_TYPES
from gantt.placement import queries
from gantt.placement.rules import plan
from gantt.state import check
from gantt.state.state import State

HOST = "11111111-1111-4111-8111-111111111111"
CHILD = "22222222-2222-4222-8222-222222222222"
LEAF = "33333333-3333-4333-8333-333333333333"
OTHER = "44444444-4444-4444-8444-444444444444"
ABSENT = "99999999-9999-4999-8999-999999999999"
ALICE = "aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa"
BOB = "bbbbbbbb-bbbb-4bbb-8bbb-bbbbbbbbbbbb"
CAROL = "cccccccc-cccc-4ccc-8ccc-cccccccccccc"

SHARES = "MISC_SHARES_VIA_AGGREGATE"


class Desk:
    """Does, or is refused; after either the columns are sound."""

    def __init__(self) -> None:
        self.state = State()
        self.now = 100

    def do(self, *commands: c.Command[object]) -> Any:
        """The answer of the last command."""
        answer = None
        for command in commands:
            self.now += 1
            planned = plan(self.state, command, self.now)
            if planned.changes:
                cursor = Cursor(self.state.revision + 1, "batch")
                self.state.apply(planned.changes, cursor)
            assert check.problems(self.state) == []
            answer = planned.answer
        return answer

    def changes(self, command: c.Command[object]) -> int:
        """How many rows ``command`` would change."""
        return len(plan(self.state, command, self.now).changes)

    def refusal(self, command: c.Command[object], kind: type[GanttError]) -> str:
        """What ``command`` is refused with; exactly of this kind, and no trace."""
        before = {table: list(self.state.rows(table)) for table in ROW_TYPES}
        with pytest.raises(kind) as refused:
            self.do(command)
        assert type(refused.value) is kind
        assert before == {table: list(self.state.rows(table)) for table in ROW_TYPES}
        return str(refused.value)

    def generation(self, uuid: str = HOST) -> int:
        found = queries.provider(self.state, uuid)
        assert found is not None
        return found.generation

    def consumer(self, uuid: str) -> Any:
        return queries.allocations(self.state, uuid)


def furnished() -> Desk:
    """HOST (8 VCPU, 1024 MEMORY_MB) over CHILD over LEAF; OTHER (4 VCPU) apart."""
    desk = Desk()
    desk.do(
        c.SyncNames(("VCPU", "MEMORY_MB", "DISK_GB"), ("HW_CPU_X86_AVX", SHARES)),
        c.CreateTrait("CUSTOM_GOLD"),
        c.CreateResourceClass("CUSTOM_FPGA"),
        c.CreateProvider(HOST, "host"),
        c.CreateProvider(CHILD, "child", HOST),
        c.CreateProvider(LEAF, "leaf", CHILD),
        c.CreateProvider(OTHER, "other"),
        c.SetInventories(
            HOST, {"VCPU": c.Inventory(8), "MEMORY_MB": c.Inventory(1024)}
        ),
        c.SetInventories(OTHER, {"VCPU": c.Inventory(4)}),
    )
    assert desk.generation() == desk.generation(OTHER) == 1
    return desk


def claim(
    consumer: str, allocations: dict[str, dict[str, int]], **more: Any
) -> c.ConsumerAllocations:
    wish = {"project_id": "project", "user_id": "user", **more}
    return c.ConsumerAllocations(consumer, allocations, **wish)


def put(consumer: str, allocations: dict[str, dict[str, int]], **more: Any) -> Any:
    """PUT /allocations/{consumer}."""
    return c.SetAllocations((claim(consumer, allocations, **more),))
