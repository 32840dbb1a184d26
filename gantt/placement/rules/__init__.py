"""One rule per command: a State and a command in, Changes and an answer out.

``plan`` is all that the committer knows of them. A rule that refuses raises a
GanttError and leaves no trace, because nothing is applied before the plan is whole.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from gantt.model import commands as c
from gantt.model.answers import Answer
from gantt.model.changes import Change
from gantt.model.rows import Key
from gantt.placement.rules import (
    agent_reports,
    allocations,
    booked_names,
    cell_lists,
    claims,
    demands,
    fleet_rules,
    host_reports,
    inventories,
    labels,
    leases,
    plans,
    providers,
    repairs,
    switch_to_books,
    takeovers,
    vocabulary,
)
from gantt.placement.rules.draft import Draft
from gantt.state.state import State

Rule = Callable[[Draft, Any], Answer]

RULES: dict[type[c.Command[object]], Rule] = {
    c.CreateProvider: providers.create,
    c.UpdateProvider: providers.update,
    c.DeleteProvider: providers.delete,
    c.SetInventories: inventories.replace_all,
    c.AddInventory: inventories.add,
    c.SetInventory: inventories.replace_one,
    c.PutInventory: inventories.put_one,
    c.DeleteInventory: inventories.delete_one,
    c.DeleteInventories: inventories.delete_all,
    c.SetAggregates: labels.set_aggregates,
    c.SetTraits: labels.set_traits,
    c.DeleteTraits: labels.delete_traits,
    c.CreateTrait: vocabulary.create_trait,
    c.DeleteTrait: vocabulary.delete_trait,
    c.CreateResourceClass: vocabulary.create_class,
    c.RenameResourceClass: vocabulary.rename_class,
    c.DeleteResourceClass: vocabulary.delete_class,
    c.SyncNames: vocabulary.sync,
    c.SetAllocations: allocations.replace,
    c.DeleteAllocations: allocations.delete,
    c.Reshape: allocations.reshape,
    c.UpdateHost: host_reports.update,
    c.ReportHost: agent_reports.take_in,
    c.DeleteHost: host_reports.delete,
    c.SetHostAggregates: fleet_rules.set_aggregates,
    c.DeleteHostAggregate: fleet_rules.delete_aggregate,
    c.UpdateInstances: fleet_rules.update_instances,
    c.DeleteInstance: fleet_rules.delete_instance,
    c.SyncInstances: fleet_rules.sync_instances,
    c.SetMoves: cell_lists.set_moves,
    c.UpdateService: fleet_rules.update_service,
    c.DeleteService: fleet_rules.delete_service,
    c.LabelHost: fleet_rules.label_host,
    c.RelateGroup: fleet_rules.relate_group,
    c.SetArtifact: fleet_rules.set_artifact,
    c.SetServerGroup: fleet_rules.set_group,
    c.DeleteServerGroup: fleet_rules.delete_group,
    c.Claim: claims.claim,
    c.Book: plans.book,
    c.Unbook: plans.unbook,
    c.AwaitRoom: demands.join,
    c.EndDemand: demands.end,
    c.SweepDemands: demands.sweep,
    c.ConfirmClaim: leases.confirm,
    c.ReleaseClaim: leases.release,
    c.DropClaim: leases.drop,
    c.SettleClaims: leases.settle,
    c.ExpireClaims: leases.expire,
    c.TurnToBooks: switch_to_books.to_books,
    c.Repair: repairs.repair,
    c.AdoptHost: takeovers.adopt,
}


class CommandPlan(Struct, frozen=True):
    """What a command will change (nothing, perhaps) and what its caller hears.

    ``relied``: what it takes for granted beside that, as (table, key) (``Draft.rely``).
    """

    changes: tuple[Change, ...]
    answer: Answer
    relied: tuple[tuple[str, Key | str], ...] = ()


def plan(
    state: State, command: c.Command[object], now: int, clock: int | None = None
) -> CommandPlan:
    """Decide ``command`` against ``state`` at the time ``now`` (microseconds, UTC).

    ``now`` never falls, so that stamps are in the order of revisions. ``clock`` is what
    the clock shows, by which leases go (None: the same): one that was set back must not
    make them last until it has caught up.

    Raises the GanttError that refuses it; ``state`` is not touched either way.
    """
    draft = Draft(state, now, now if clock is None else clock)
    answer = RULES[type(command)](draft, command)
    if state.fleet.claims.booked:
        booked_names.settle(draft)
    return CommandPlan(draft.changes(), answer, tuple(draft.relied))
