"""The checker itself: a sound history passes, and each planted violation is found."""

from __future__ import annotations

import copy
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from gantt.model import commands as c
from gantt.model import rows as t
from gantt.model.changes import Change, Cursor, LogEntry
from gantt.model.rows import Row
from gantt.model.spec import InstanceGroup
from tests.simulation.checker import check
from tests.simulation.history import History, Op
from tests.simulation.run import Plan, Run

ONCE = "acknowledged writes are there exactly once, others not or once"
Plant = Callable[[History], None]


@pytest.fixture(scope="module")
def calm() -> History:
    """A run without faults."""
    everything = frozenset(Run(Plan(1)).faults.rates)
    result = Run(Plan(1, steps=80, without=everything)).go()
    assert result.findings == []
    assert result.struck == {}
    return result.history


def laws_broken(history: History) -> set[str]:
    return {finding.law for finding in check(history)}


def entry_of(history: History, kind: str) -> LogEntry:
    return next(one for one in history.log if one.kind == kind)


def op_of(history: History, entry: LogEntry) -> Op:
    return next(op for op in history.ops if op.request_id == entry.request_id)


def forge(history: History, entry: LogEntry, *changes: Change) -> None:
    """Make ``entry`` have done something else, and all that follows with it."""
    place = history.log.index(entry)
    history.log[place:] = [replace(entry, changes=changes)]
    history.reads = [r for r in history.reads if r.cursor.revision < entry.revision]
    kept = {one.request_id for one in history.log}
    history.ops = [op for op in history.ops if op.request_id in kept]
    history.tables = {}


def changed(entry: LogEntry, table: str, **values: object) -> list[Change]:
    """The changes of ``entry``, the first row of ``table`` with other values."""
    changes = list(entry.changes)
    place = next(n for n, one in enumerate(changes) if one.table == table and one.new)
    new: Row | None = changes[place].new
    assert new is not None
    changes[place] = replace(changes[place], new=replace(new, **values))
    return changes


def lose(history: History) -> None:
    entry = history.log[-1]
    op_of(history, entry).outcome = "ok"
    history.log.remove(entry)
    history.tables = {}
    last = history.log[-1].revision
    history.reads = [r for r in history.reads if r.cursor.revision <= last]
    op = op_of(history, entry)
    op.command = c.CreateProvider("00000009-9999-4999-8999-999999999999", "lost")


def do_twice(history: History) -> None:
    last = history.log[-1]
    history.log.append(replace(last, revision=last.revision + 1))


def keep_refused(history: History) -> None:
    op_of(history, history.log[-1]).outcome = "refused"


def come_from_nowhere(history: History) -> None:
    history.log[-1] = replace(history.log[-1], request_id="op-999999")


def halve(history: History) -> None:
    entry = entry_of(history, "SetAllocations")
    kept = [one for one in entry.changes if one.table != t.ALLOCATIONS]
    forge(history, entry, *kept)


def halve_unknown(history: History) -> None:
    op_of(history, entry_of(history, "SetAllocations")).outcome = "unknown"
    halve(history)


def do_unknown_twice(history: History) -> None:
    op_of(history, history.log[-1]).outcome = "unknown"
    do_twice(history)


def overfill(history: History) -> None:
    entry = entry_of(history, "SetAllocations")
    forge(history, entry, *changed(entry, t.ALLOCATIONS, used=1_000_000))


def fall_back(history: History) -> None:
    entry = entry_of(history, "SetAllocations")
    forge(history, entry, *changed(entry, t.PROVIDERS, generation=-1))


def skip(history: History) -> None:
    history.log[-1] = replace(history.log[-1], revision=history.log[-1].revision + 1)


def stamp_earlier(history: History) -> None:
    last = history.log[-1]
    history.log[-1] = replace(last, at=history.log[-2].at - 1)


def swap_in_time(history: History) -> None:
    op_of(history, history.log[0 if history.log[0].request_id else 1]).invoked = 10**9


def refuse_untruly(history: History) -> None:
    op = next(one for one in history.ops if one.outcome == "refused")
    op.command, op.error = c.CreateTrait("CUSTOM_T"), "ConcurrentUpdate"


def show_what_is_lost(history: History) -> None:
    read = history.reads[-1]
    history.reads[-1] = replace(read, cursor=Cursor(read.cursor.revision, "gone"))


def show_otherwise(history: History) -> None:
    read = next(one for one in history.reads if one.tables[t.PROVIDERS])
    row = next(iter(read.tables[t.PROVIDERS].values()))
    assert isinstance(row, t.ProviderRow)
    read.tables[t.PROVIDERS] = {row.id: replace(row, name="another")}


def read_stale(history: History) -> None:
    first = next(one for one in history.reads if one.is_strict)
    last = max(op.ended or 0 for op in history.ops)
    again = replace(first, invoked=last + 1, ended=last + 2, process="z9")
    history.reads.append(again)


def read_back(history: History) -> None:
    first, last = history.reads[0], history.reads[-1]
    stale = replace(first, invoked=last.ended + 1, ended=last.ended + 2)
    history.reads.append(replace(stale, process=last.process, is_strict=False))


def end_otherwise(history: History) -> None:
    history.tables[t.TRAITS].clear()


def find_a_problem(history: History) -> None:
    history.problems.append("verify of a1: a row is missing")


def raise_of_another_tree(history: History) -> None:
    history.ops[-1].outcome = "broken"


@pytest.mark.parametrize(
    ("plant", "law"),
    [
        (lose, "answers are true at some moment"),
        (do_twice, ONCE),
        (
            keep_refused,
            "acknowledged writes are there exactly once, others not or once",
        ),
        (come_from_nowhere, ONCE),
        (do_unknown_twice, ONCE),
        (halve, "every revision is its command, whole"),
        (halve_unknown, "every revision is its command, whole"),
        (overfill, "no write raises use above capacity"),
        (fall_back, "generations never fall"),
        (skip, "revisions follow each other"),
        (stamp_earlier, "stamps never fall"),
        (swap_in_time, "writes are in the order in which they were seen"),
        (refuse_untruly, "answers are true at some moment"),
        (show_what_is_lost, "reads show only what lasts"),
        (show_otherwise, "reads show only what lasts"),
        (read_stale, "strict reads see all that was acknowledged"),
        (read_back, "reads of one process never go back"),
        (end_otherwise, "tables and log agree at the end"),
        (find_a_problem, "all is well at the end"),
        (raise_of_another_tree, "errors are of our tree"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_planted_violation_is_found(calm: History, plant: Plant, law: str) -> None:
    history = copy.deepcopy(calm)
    plant(history)
    assert law in laws_broken(history)


@pytest.mark.parametrize("is_there", [True, False])
def test_unknown_outcome_is_atomic(calm: History, is_there: bool) -> None:
    history = copy.deepcopy(calm)
    last = history.log[-1].request_id
    if not is_there:
        lose(history)
    (op,) = [one for one in history.ops if one.request_id == last]
    op.outcome, op.error = "unknown", "StoreFailed"
    assert laws_broken(history) == set()


# -- the fleet, by hand -------------------------------------------------------------

HOSTS = [
    t.HostRow(number, f"h{number}", f"h{number}", None, "{}", 1, None)
    for number in (1, 2)
]
INSTANCES = [f"{n:08x}-1111-4111-8111-111111111111" for n in (1, 2)]
LEASED_UNTIL = 50


def claim_row(key: int, host: int, claim: str = "claim") -> t.BookingRow:
    return t.BookingRow(
        id=key,
        claim=claim,
        instance_uuid=INSTANCES[key - 1],
        host_id=host,
        vcpus=1,
        memory_mb=1,
        disk_mb=0,
        group_uuid="group",
        leased_until=LEASED_UNTIL,
        consumer_generation=None,
        remote=None,
        created_at=1,
        updated_at=None,
    )


def fleet(
    policy: str, *claims: t.BookingRow, then: tuple[LogEntry, ...] = ()
) -> History:
    """Two hosts, and a claim for two instances that came out as ``claims``."""
    made = tuple(Change(t.HOSTS, host.id, None, host) for host in HOSTS)
    choices = tuple(c.Choice(host.id, {}) for host in HOSTS)
    command = c.Claim(
        claim="claim",
        instances=tuple(c.InstanceClaim(one, choices) for one in INSTANCES),
        vcpus=1,
        memory_mb=1,
        disk_mb=0,
        project_id="p",
        user_id="u",
        group=InstanceGroup("group", policy),
    )
    changes = tuple(Change(t.BOOKINGS, row.id, None, row) for row in claims)
    log = [
        LogEntry(1, "x", 1, "SyncNames", "", made),
        LogEntry(2, "y", 2, "Claim", "op-0", changes),
        *then,
    ]
    return History([Op(0, "a1", command, 1)], [], log)


def expiry(at: int) -> LogEntry:
    gone = Change(t.BOOKINGS, 1, None, None)
    return LogEntry(3, "z", at, "ExpireClaims", "", (gone,))


def test_group_policies_are_checked() -> None:
    apart = (claim_row(1, 1), claim_row(2, 2))
    together = (claim_row(1, 1), claim_row(2, 1))
    law = {"no claim breaks its group's rule"}
    assert laws_broken(fleet("anti-affinity", *apart)) == set()
    assert laws_broken(fleet("anti-affinity", *together)) == law
    assert laws_broken(fleet("affinity", *together)) == set()
    assert laws_broken(fleet("affinity", *apart)) == law


def test_partial_claim_is_found() -> None:
    found = laws_broken(fleet("soft-affinity", claim_row(1, 1)))
    assert found == {"a claim is there whole"}


def test_early_lease_end_is_found() -> None:
    both = (claim_row(1, 1), claim_row(2, 2))
    in_time = fleet("anti-affinity", *both, then=(expiry(LEASED_UNTIL),))
    early = fleet("anti-affinity", *both, then=(expiry(LEASED_UNTIL - 1),))
    assert laws_broken(in_time) == set()
    assert laws_broken(early) == {
        "a lease ends at its time and not after it was confirmed"
    }


def test_empty_history_is_valid() -> None:
    assert check(History()) == []
