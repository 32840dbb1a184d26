"""Laws that hold whatever is asked, in whatever order.

GANTT_LAWS_EXAMPLES and GANTT_LAWS_STEPS make the walks more and longer than a quick
run affords.
"""

from __future__ import annotations

import copy
import os
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)
from msgspec import UNSET

from gantt.errors import GanttError
from gantt.model import commands as c
from gantt.model.answers import Provider, ProviderInventories
from gantt.model.changes import Change, Cursor
from gantt.placement import queries
from gantt.placement.rules import plan
from gantt.state import check
from gantt.state.state import State
from gantt.store.changelog.codec import decode, encode
from tests.laws import wishes
from tests.laws.books import dump, told_by_queries, told_by_reference
from tests.simulation.reference import Reference

EXAMPLES = int(os.environ.get("GANTT_LAWS_EXAMPLES", "25"))
STEPS = int(os.environ.get("GANTT_LAWS_STEPS", "40"))
data = st.data()


def refusal_of(action: Any, *args: Any) -> tuple[Any, type[GanttError] | None]:
    try:
        return action(*args), None
    except GanttError as error:
        return None, type(error)


class Laws(RuleBasedStateMachine):
    """A State, the reference model beside it, and a log tailer that reads the log."""

    def __init__(self) -> None:
        super().__init__()
        self.start(str)

    def start(self, fold: Any) -> None:
        self.fold = fold
        self.state = State(fold)
        self.log_tailer = State(fold)
        self.model = Reference(fold)
        self.log: list[bytes] = []
        self.now = 0
        # (changes, cursor before, model before) per revision: what an abort undoes.
        self.history: list[tuple[tuple[Change, ...], Cursor, Reference]] = []

    @initialize(fold=st.sampled_from((str, str.casefold)))
    def begin(self, fold: Any) -> None:
        self.start(fold)
        self.carry_out(c.SyncNames(wishes.STANDARD_CLASSES, wishes.STANDARD_TRAITS))
        self.carry_out(c.CreateResourceClass("CUSTOM_A"))
        stock = {"VCPU": c.Inventory(8), "CUSTOM_A": c.Inventory(20)}
        for uuid, name in zip(wishes.PROVIDERS[:3], ("x", "y", "z"), strict=True):
            self.carry_out(c.CreateProvider(uuid, name))
            self.carry_out(c.SetInventories(uuid, stock))
        for uuid, kind in zip(wishes.CONSUMERS, wishes.TYPES, strict=False):
            shares = {wishes.PROVIDERS[0]: {"VCPU": 3, "CUSTOM_A": 5}}
            one = c.ConsumerAllocations(uuid, shares, "p1", "u1", None, kind)
            self.carry_out(c.SetAllocations((one,)))

    # -- one command through both -------------------------------------------------

    def carry_out(self, command: c.Command[object]) -> None:
        self.now += 1
        before, model_before = dump(self.state), copy.deepcopy(self.model)
        seen = self.views()
        planned, refusal = refusal_of(plan, self.state, command, self.now)
        _, expected = refusal_of(self.model.execute, command)
        assert refusal is expected, f"{command}: {refusal}, the model says {expected}"
        assert dump(self.state) == before, "planning touched the state"
        if planned is None or not planned.changes:
            return
        cursor_before = self.state.cursor
        cursor = Cursor(cursor_before.revision + 1, f"batch-{self.now}")
        assert planned == plan(self.state, command, self.now), "not deterministic"
        self.state.apply(planned.changes, cursor)
        after = dump(self.state)
        self.take_back(planned.changes, cursor_before, before)
        self.state.apply(planned.changes, cursor)
        assert dump(self.state) == after
        self.remember(planned.changes, cursor_before, model_before)
        self.check_touched(seen)
        self.check_answer(command, planned.answer)

    def take_back(
        self, changes: tuple[Change, ...], cursor: Cursor, before: dict[str, Any]
    ) -> None:
        """Apply, then inverse, is nothing at all."""
        inverses = [change.inverse() for change in reversed(changes)]
        self.state.apply(inverses, cursor)
        assert dump(self.state) == before
        assert self.state.cursor == cursor
        assert check.problems(self.state) == []

    def remember(
        self, changes: tuple[Change, ...], before: Cursor, model: Reference
    ) -> None:
        self.history.append((changes, before, model))
        self.log.append(encode(changes))
        self.log_tailer.apply(decode(self.log[-1]), self.state.cursor)

    def views(self) -> dict[str, Any]:
        """Everything that is said of each provider."""
        found = {}
        for row in self.state.providers.rows():
            found[row.uuid] = (
                queries.provider(self.state, row.uuid),
                queries.inventories(self.state, row.uuid),
                queries.usages(self.state, row.uuid),
                queries.traits(self.state, row.uuid),
                queries.aggregates(self.state, row.uuid),
                queries.provider_allocations(self.state, row.uuid),
            )
        return found

    def check_touched(self, seen: dict[str, Any]) -> None:
        for uuid, view in self.views().items():
            row = self.state.providers.row_of(uuid)
            assert row is not None
            if seen.get(uuid) != view:
                assert self.state.providers.touched[row] == self.state.applied, uuid

    def check_answer(self, command: c.Command[object], answer: Any) -> None:
        if isinstance(answer, Provider):
            assert answer == queries.provider(self.state, answer.uuid)
        elif isinstance(answer, ProviderInventories):
            found = queries.inventories(self.state, command.provider_uuid)  # type: ignore[attr-defined]
            assert found is not None
            assert answer.generation == found.generation
            assert answer.inventories.items() <= found.inventories.items()

    # -- the commands -------------------------------------------------------------

    @rule(data=data, name=st.sampled_from(wishes.NAMES))
    def create_provider(self, data: Any, name: str) -> None:
        uuid = data.draw(wishes.providers)
        parent = data.draw(st.none() | wishes.providers)
        self.carry_out(c.CreateProvider(uuid, name, parent))

    @rule(data=data, name=st.sampled_from(wishes.NAMES), may_move=st.booleans())
    def rename_or_move(self, data: Any, name: str, may_move: bool) -> None:
        uuid = wishes.provider(data.draw, self.model)
        name = data.draw(st.sampled_from((self.model.names.get(uuid, name), name)))
        parent = data.draw(st.none() | wishes.providers | st.just(UNSET))
        self.carry_out(c.UpdateProvider(uuid, name, parent, may_move))

    @rule(data=data)
    def delete_provider(self, data: Any) -> None:
        uuid = wishes.provider(data.draw, self.model)
        self.carry_out(c.DeleteProvider(uuid))

    @rule(data=data, full=st.booleans())
    def set_inventories(self, data: Any, full: bool) -> None:
        uuid = wishes.provider(data.draw, self.model)
        wanted = wishes.inventory_set(data.draw, self.model)
        given = wishes.generation(data.draw, self.model, uuid)
        self.carry_out(c.SetInventories(uuid, wanted, given, full))

    @rule(data=data, inventory=wishes.inventories, full=st.booleans())
    def write_one_inventory(
        self, data: Any, inventory: c.Inventory, full: bool
    ) -> None:
        uuid = wishes.provider(data.draw, self.model)
        rc = wishes.resource_class(data.draw, self.model)
        given = wishes.generation(data.draw, self.model, uuid)
        self.carry_out(
            data.draw(
                st.sampled_from(
                    (
                        c.AddInventory(uuid, rc, inventory, full),
                        c.SetInventory(uuid, rc, inventory, given, full),
                        c.PutInventory(uuid, rc, inventory, full),
                    )
                )
            )
        )

    @rule(data=data, all_of_them=st.booleans())
    def delete_inventory(self, data: Any, all_of_them: bool) -> None:
        uuid = wishes.provider(data.draw, self.model)
        rc = wishes.resource_class(data.draw, self.model)
        self.carry_out(
            c.DeleteInventories(uuid) if all_of_them else c.DeleteInventory(uuid, rc)
        )

    @rule(
        data=data,
        wanted=st.lists(st.sampled_from(wishes.AGGREGATES), max_size=3),
        bump=st.booleans(),
    )
    def set_aggregates(self, data: Any, wanted: list[str], bump: bool) -> None:
        uuid = wishes.provider(data.draw, self.model)
        given = wishes.generation(data.draw, self.model, uuid)
        self.carry_out(c.SetAggregates(uuid, tuple(wanted), given, bump))

    @rule(data=data, wanted=st.lists(wishes.traits, max_size=3), clear=st.booleans())
    def set_traits(self, data: Any, wanted: list[str], clear: bool) -> None:
        uuid = wishes.provider(data.draw, self.model)
        given = wishes.generation(data.draw, self.model, uuid)
        self.carry_out(
            c.DeleteTraits(uuid) if clear else c.SetTraits(uuid, tuple(wanted), given)
        )

    @rule(name=wishes.trait_names, create=st.booleans())
    def trait(self, name: str, create: bool) -> None:
        self.carry_out(c.CreateTrait(name) if create else c.DeleteTrait(name))

    @rule(name=wishes.names, new_name=wishes.names, what=st.integers(0, 3))
    def resource_class(self, name: str, new_name: str, what: int) -> None:
        self.carry_out(
            (
                c.CreateResourceClass(name),
                c.CreateResourceClass(name, must_be_new=True),
                c.RenameResourceClass(name, new_name),
                c.DeleteResourceClass(name),
            )[what]
        )

    @rule(names=st.permutations(wishes.CUSTOM_CLASSES))
    def rename_class(self, names: list[str]) -> None:
        self.carry_out(c.RenameResourceClass(*names))

    @rule(more=st.integers(0, 2))
    def sync_names(self, more: int) -> None:
        classes = (*wishes.STANDARD_CLASSES, "PCPU", "VGPU")
        traits = (*wishes.STANDARD_TRAITS, "HW_NEW", "HW_NEWER")
        self.carry_out(c.SyncNames(classes[: 3 + more], traits[: 2 + more]))

    @rule(data=data)
    def allocate_for_one(self, data: Any) -> None:
        uuid = data.draw(wishes.consumers)
        one = wishes.consumer(data.draw, self.model, uuid)
        self.carry_out(c.SetAllocations((one,)))

    @rule(data=data)
    def allocate(self, data: Any) -> None:
        wanted = wishes.consumer_list(data.draw, self.model, 1)
        self.carry_out(c.SetAllocations(wanted))

    @rule(data=data)
    def allocate_again(self, data: Any) -> None:
        """The same consumer gets as much or less of what it has (T22)."""
        if not self.model.consumers:
            return
        uuid = data.draw(st.sampled_from(sorted(self.model.consumers)))
        less = data.draw(st.integers(-1, 2))
        project, user, given, _ = self.model.consumers[uuid]
        kind = wishes.consumer_type(data.draw)
        wanted = {
            place: {rc: max(1, amount - less) for rc, amount in resources.items()}
            for place, resources in self.model.shares(uuid).items()
        }
        one = c.ConsumerAllocations(uuid, wanted, project, user, given, kind)
        self.carry_out(c.SetAllocations((one,)))

    @rule(data=data, total=st.integers(1, 9))
    def shrink(self, data: Any, total: int) -> None:
        """Below what is used, perhaps."""
        if self.model.allocations:
            _, uuid, rc = data.draw(st.sampled_from(sorted(self.model.allocations)))
            self.carry_out(c.SetInventory(uuid, rc, c.Inventory(total)))

    @rule(data=data)
    def hand_over(self, data: Any) -> None:
        """One consumer gets what another had, in one breath (T27)."""
        if not self.model.consumers:
            return
        old = data.draw(st.sampled_from(sorted(self.model.consumers)))
        new = data.draw(wishes.consumers)
        project, user, given, _ = self.model.consumers[old]
        rival = self.model.consumer_generation(new)
        shares = self.model.shares(old)
        pair = (
            c.ConsumerAllocations(new, shares, project, user, rival),
            c.ConsumerAllocations(old, {}, project, user, given),
        )
        self.carry_out(
            c.SetAllocations(pair if data.draw(st.booleans()) else pair[::-1])
        )

    @rule(data=data)
    def delete_allocations(self, data: Any) -> None:
        known = sorted(self.model.consumers)
        uuid = wishes.one_of_most(data.draw, wishes.CONSUMERS, known)
        self.carry_out(c.DeleteAllocations(uuid))

    @rule(data=data)
    def reshape(self, data: Any) -> None:
        self.carry_out(wishes.reshape(data.draw, self.model))

    @rule(data=data)
    def reshape_sensibly(self, data: Any) -> None:
        command = wishes.move_everything(data.draw, self.model)
        if command is not None:
            self.carry_out(command)

    # -- what the committer does with many of them -------------------------------------

    @precondition(lambda self: self.history)
    @rule(data=data)
    def abort_a_batch(self, data: Any) -> None:
        """The last revisions are taken back together, the newest first."""
        size = data.draw(st.integers(1, min(5, len(self.history))))
        undone = self.history[-size:]
        del self.history[-size:], self.log[-size:]
        changes = [change for entry in undone for change in entry[0]]
        inverses = [change.inverse() for change in reversed(changes)]
        self.state.apply(inverses, undone[0][1])
        self.model = undone[0][2]
        self.log_tailer = State(self.fold)
        for number, line in enumerate(self.log, 1):
            self.log_tailer.apply(decode(line), Cursor(number, "replayed"))

    # -- what must hold after each step -------------------------------------------

    @invariant()
    def no_invariant_is_broken(self) -> None:
        assert check.problems(self.state) == []

    @invariant()
    def the_books_are_the_models(self) -> None:
        ours = told_by_queries(self.state, wishes.PROJECTS)
        assert ours == told_by_reference(self.model, wishes.PROJECTS)

    @invariant()
    def the_follower_has_the_same(self) -> None:
        assert check.differences(self.state, self.log_tailer) == []

    def teardown(self) -> None:
        """A replay from the beginning, and a load of the rows, give the same State."""
        replayed, loaded = State(self.fold), State(self.fold)
        for number, line in enumerate(self.log, 1):
            replayed.apply(decode(line), Cursor(number, "replayed"))
        for table, rows in dump(self.state).items():
            loaded.load(table, rows)
        for other in (replayed, loaded):
            assert dump(other) == dump(self.state)
            assert check.problems(other) == []


TestLaws = pytest.mark.filterwarnings("ignore::UserWarning")(Laws.TestCase)
TestLaws.settings = settings(
    max_examples=EXAMPLES,
    stateful_step_count=STEPS,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
