"""Which functions are which stage of a path. They are wrapped while paths are profiled;
none of them knows of it, so that deciders stay pure.

The time of a function is its own: what it calls of other stages counts for them.
"""

from __future__ import annotations

from typing import Final

WAIT: Final = "wait"
HAND_OVER: Final = "hand-over"
OTHER: Final = "other"
ORDER: Final[tuple[str, ...]] = (
    "authorize",
    "decode",
    "checks",
    "freshness",
    "pre-filters",
    "candidates",
    "masks",
    "weights",
    "pick",
    "shape cache",
    "look-up",
    "claim planning",
    HAND_OVER,
    "batch",
    "lock",
    "rules",
    "columns",
    "SQL write",
    "commit",
    "record",
    "encode",
    OTHER,
)
"""All stages, in the order in which a request meets them. Hand-over: the committer
wakes up, and so does the caller; batch: its steps between the others; lock: that of the
database; rules: the committer plans; other: everything without a name here."""

_ENGINE: Final = "gantt.engine."
_SCHEDULING: Final = "gantt.engine.scheduling_cycle"
_RECORD: Final = "gantt.engine.scheduling."
SEAMS: Final = (
    ("gantt.api.app", "identify", "authorize"),
    ("gantt.api.call", "Call.authorize", "authorize"),
    ("gantt.api.wire.bodies", "set_allocations", "decode"),
    ("gantt.api.handlers.candidates", "candidate_request", "decode"),
    ("gantt.api.call", "Call.reply", "encode"),
    ("gantt.api.handlers.allocations", "encoded", "encode"),
    ("gantt.api.wire.candidate_answer", "find", "candidates"),
    ("gantt.api.wire.candidate_answer", "Encoder.__call__", "encode"),
    (f"{_RECORD}argument_checks", "Checks.request", "checks"),
    (f"{_RECORD}argument_checks", "Checks.words", "checks"),
    (f"{_ENGINE}reading.log_tailer", "LogTailer.freshen", "freshness"),
    (f"{_ENGINE}reading.log_tailer", "LogTailer.is_fresh", "freshness"),
    (f"{_ENGINE}reading.log_tailer", "LogTailer.apply_tail", "freshness"),
    (f"{_ENGINE}reading.reader", "Reader.read", "look-up"),
    (f"{_ENGINE}reading.reader", "Reader.read_touched", "look-up"),
    (
        "gantt.scheduler.feasibility.candidate_sources",
        "BookSource.prepare",
        "pre-filters",
    ),
    (
        "gantt.scheduler.feasibility.candidate_sources",
        "BookSource.candidates",
        "candidates",
    ),
    (
        "gantt.scheduler.selection.remaining_candidates",
        "RemainingCandidates.find_each",
        "candidates",
    ),
    ("gantt.scheduler.evaluation.driver", "Driver.feasible_hosts", "shape cache"),
    ("gantt.scheduler.evaluation.evaluation", "_masks", "masks"),
    ("gantt.scheduler.evaluation.evaluation", "_late", "weights"),
    ("gantt.scheduler.evaluation.evaluation", "Evaluation._judge", "masks"),
    ("gantt.scheduler.evaluation.evaluation", "Evaluation._score", "weights"),
    ("gantt.scheduler.evaluation.evaluation", "Evaluation._settle", "weights"),
    ("gantt.scheduler.evaluation.evaluation", "total", "weights"),
    ("gantt.scheduler.selection.picks", "select", "pick"),
    ("gantt.scheduler.selection.picks", "RemainingHosts", "pick"),
    (_SCHEDULING, "claim_of", "claim planning"),
    (f"{_RECORD}plugin_threads", "selections", "encode"),
    (f"{_RECORD}decision_record", "decided", "record"),
    (_SCHEDULING, "Scoreboard", "record"),
    (f"{_RECORD}records", "Records.add", "record"),
    (f"{_RECORD}records", "Records.kept", "record"),
    (f"{_ENGINE}commit.pending_writes", "PendingWrite.is_settled", WAIT),
    (f"{_ENGINE}commit.committer", "Committer._carry_out", "batch"),
    (f"{_ENGINE}commit.group_commit", "plan", "rules"),
    (f"{_ENGINE}reading.replica", "Replica.assume", "columns"),
    ("gantt.store.sql_store", "SqlStore.begin", "lock"),
    ("gantt.store.sql_store", "SqlTransaction.tail", "freshness"),
    ("gantt.store.sql_store", "SqlTransaction.write", "SQL write"),
    ("gantt.store.sql_store", "SqlTransaction.commit", "commit"),
    ("gantt.store.sql_store", "SqlTransaction.rollback", "commit"),
    ("gantt.store.memory_store", "MemoryStore.begin", "lock"),
    ("gantt.store.memory_store", "MemoryTransaction.write", "SQL write"),
    ("gantt.store.memory_store", "MemoryTransaction.commit", "commit"),
)
"""Module, what in it is wrapped (a function, or a method of a class), and its stage. A
function is wrapped where it is used: the module is that of its caller."""
