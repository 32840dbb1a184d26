"""The options of an engine, as one frozen value.

Doors fill it from their configuration; the library's users pass it to ``connect``.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from gantt.scheduler.options import AdviceOptions, SchedulerOptions
from gantt.store.interface import StoreOptions


class RecordOptions(Struct, frozen=True):
    """``record``: the directory of the files; "": nothing is recorded.
    ``record_file_bytes``: packed bytes after which a file ends and the next begins;
    ``record_files``: that are kept in the directory, of all processes.
    ``record_backlog``: decisions and changed rows that may wait in a process to be
    written; beyond it decisions are dropped, and the files say how many."""

    record: str = ""
    record_file_bytes: int = 256 * 1024 * 1024
    record_files: int = 32
    record_backlog: int = 100_000


class ShadowOptions(Struct, frozen=True):
    """``shadow_settle_s``: how long a claim of Nova's is awaited. ``shadow_pending``:
    requests that await one, with ``shadow_pending_hosts`` hosts in all.
    ``shadow_hosts``: ranked hosts, and refused ones, that a record keeps;
    ``shadow_scored``: for so many of the best, differences are told by weigher.
    ``shadow_records``: kept by all processes of a database; ``shadow_backlog``: of a
    process, waiting to be written there."""

    shadow_settle_s: float = 30.0
    shadow_pending: int = 1_000
    shadow_pending_hosts: int = 2_000_000
    shadow_hosts: int = 10
    shadow_scored: int = 100
    shadow_records: int = 10_000
    shadow_backlog: int = 1_000


class EngineOptions(Struct, frozen=True):
    """Limits and behaviour of one engine.

    ``freshness``: "strict" asks the store for the end of the log before every read;
    "bounded" only when the last answer is more than ``bound_ms`` old.
    ``queue_length``: commands that may wait for the committer; one more is Busy.
    ``batch_size``: commands in one commit; ``planning_ms``: when planning a batch has
    taken so long, the rest of it waits for the next.
    ``commit_attempts``: how often a batch that the database aborted is tried in all.
    ``answer_timeout_s``: how long a caller waits for its answer. ``wait_s``: after
    so long only ``patient`` callers go on waiting for a stalled committer or database,
    so that the threads of the others are free for requests that need neither.
    ``search_budget``: steps that one search for candidates may take.
    ``search_slice_ms``: after so long a decision for many instances, or a search for
    the change that would help, lets other threads use the columns.
    ``log_length``: revisions that the log keeps; a process that is further behind than
    that loads all tables again.
    ``poll_ms``: how often columns are brought up to date without requests; 0: never.
    ``sweep_s``: how often a process looks for leader tasks: whether it leads, whether
    leases have ended. ``leader_silence_s``: a leader without a heartbeat for so long is
    taken to be gone.
    ``usage_sample_s``: how often the usage history takes a sample, in whole
    5 minutes; 0: never. ``usage_classes``: resource classes of one sample;
    ``usage_zones``: zones of which it tells these apart.
    ``heartbeats``: hosts are down without the reports of agents that send heartbeats
    with them; off where a group of agents tells (``[coordination] backend_url``).
    ``usage_5m_days``, ``usage_hour_days``, ``usage_day_days``: how many days its
    samples, hours and days are kept.
    """

    freshness: Literal["strict", "bounded"] = "strict"
    bound_ms: int = 50
    poll_ms: int = 0
    queue_length: int = 4096
    batch_size: int = 128
    planning_ms: int = 50
    commit_attempts: int = 10
    answer_timeout_s: float = 60.0
    wait_s: float = 2.0
    patient: int = 32
    search_budget: int = 100_000
    search_slice_ms: int = 20
    log_length: int = 1_000_000
    sweep_s: float = 1.0
    leader_silence_s: float = 4.0
    usage_sample_s: int = 300
    usage_classes: int = 100
    usage_zones: int = 20
    heartbeats: bool = True
    usage_5m_days: int = 2
    usage_hour_days: int = 60
    usage_day_days: int = 1095
    scheduler: SchedulerOptions = SchedulerOptions()
    advice: AdviceOptions = AdviceOptions()
    shadow: ShadowOptions = ShadowOptions()
    recording: RecordOptions = RecordOptions()
    store: StoreOptions = StoreOptions()
