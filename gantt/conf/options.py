"""The options of the books and of the service: names, types, defaults, help.

Groups and names match OpenStack Placement's ``placement.conf``; options that only
Gantt has are in ``[gantt]``. Scheduler options are in ``scheduling``.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

from oslo_config import cfg

from gantt.conf import scheduling
from gantt.conf.values import AUTH_STRATEGIES, NO_CONSUMER_ID
from gantt.store.interface import StoreOptions

Options: TypeAlias = list[tuple[str, Sequence[cfg.Opt]]]

API = [
    cfg.StrOpt(
        "auth_strategy",
        default="keystone",
        choices=AUTH_STRATEGIES,
        help="Authentication strategy: keystone validates tokens with Keystone, token "
        "looks them up in [gantt] tokens_file, noauth2 trusts the token as sent (tests "
        "only).",
    ),
]

PLACEMENT = [
    cfg.BoolOpt(
        "randomize_allocation_candidates",
        default=False,
        help="Return a random sample of the allocation candidates instead of the "
        "first ones.",
    ),
    cfg.StrOpt(
        "incomplete_consumer_project_id",
        default=NO_CONSUMER_ID,
        help="The project of consumers written before microversion 1.8.",
    ),
    cfg.StrOpt(
        "incomplete_consumer_user_id",
        default=NO_CONSUMER_ID,
        help="The user of consumers written before microversion 1.8.",
    ),
    cfg.IntOpt(
        "allocation_conflict_retry_count",
        default=10,
        help="Times that a batch of writes is retried when the database aborts it.",
    ),
    cfg.IntOpt(
        "max_allocation_candidates",
        default=-1,
        min=-1,
        help="Maximum number of candidates to generate; -1: no limit.",
    ),
    cfg.StrOpt(
        "allocation_candidates_generation_strategy",
        default="depth-first",
        choices=("depth-first", "breadth-first"),
        help="depth-first: all candidates of one root provider before the next; "
        "breadth-first: one of each root provider in turn.",
    ),
]

DATABASE = [
    cfg.StrOpt(
        "connection",
        secret=True,
        help="SQLAlchemy URL of the database, such as sqlite:////var/lib/gantt/g.db.",
    ),
    cfg.BoolOpt(
        "sync_on_startup",
        default=False,
        help="Create or upgrade the tables before serving.",
    ),
    cfg.IntOpt(
        "max_pool_size",
        default=StoreOptions().pool_size,
        min=0,
        max=4096,
        help="Database connections that each process keeps for reads; the committer "
        "has one more. 0: as many as blocking_threads; searches and lists have "
        "additional threads, which wait for one of these connections.",
    ),
]

# Accepted for compatibility with existing files; they have no effect.
IGNORED = {
    "DEFAULT": ("log_options",),
    "placement_database": (
        "connection_parameters",
        "slave_connection",
        "sqlite_synchronous",
        "mysql_sql_mode",
        "connection_recycle_time",
        "max_retries",
        "retry_interval",
        "max_overflow",
        "connection_debug",
        "connection_trace",
        "pool_timeout",
    ),
    "workarounds": ("optimize_for_wide_provider_trees",),
}

PATHS = [
    cfg.StrOpt("tempdir", help="For substitution in other options."),
    cfg.StrOpt(
        "pybasedir",
        default=str(Path(__file__).resolve().parent.parent.parent),
        help="Directory that Gantt is installed in; for substitution in other options.",
    ),
    cfg.StrOpt(
        "state_path",
        default="$pybasedir",
        help="Directory for state; for substitution in other options.",
    ),
]

LOG = [
    cfg.BoolOpt(
        "debug",
        default=False,
        mutable=True,
        help="Log at DEBUG level. Reloaded on SIGHUP.",
    ),
    cfg.BoolOpt(
        "use_json",
        default=False,
        help="Log one JSON object per line (same as --log-json).",
    ),
]

GANTT = [
    cfg.StrOpt(
        "listen",
        default="127.0.0.1:8778",
        help="HOST:PORT of the built-in server; put an IPv6 address in brackets.",
    ),
    cfg.IntOpt(
        "workers",
        default=1,
        min=1,
        max=1024,
        help="Number of worker processes of the built-in server.",
    ),
    cfg.IntOpt(
        "blocking_threads",
        default=64,
        min=1,
        max=4096,
        help="Threads per worker; a write holds one until it is durable. Half as many "
        "again are reserved for searches and lists, which may take long.",
    ),
    cfg.IntOpt(
        "waiting_requests",
        default=4096,
        min=1,
        help="Requests that may wait for a thread in each worker, and as many again "
        "for a search or list thread; further requests are refused with 503.",
    ),
    cfg.FloatOpt(
        "body_timeout_s",
        default=30.0,
        min=0.1,
        max=3600,
        help="Seconds to wait for a request body to arrive; then 408.",
    ),
    cfg.IntOpt(
        "bodies_bytes",
        default=128 * 1024 * 1024,
        min=1024,
        help="Maximum total size of the bodies of all unanswered requests of a worker, "
        "at least max_body_bytes; bodies up to 8 KiB are not counted. Beyond it the "
        "oldest body that has not fully arrived is refused with 503.",
    ),
    cfg.BoolOpt(
        "allow_insecure_bind",
        default=False,
        help="Allow noauth2 on an address that other machines can reach.",
    ),
    cfg.IntOpt(
        "drain_s",
        default=30,
        min=1,
        max=86400,
        help="Seconds that in-flight requests have to finish when the server stops.",
    ),
    cfg.FloatOpt(
        "drain_delay_s",
        default=0.0,
        min=0,
        max=3600,
        help="On SIGTERM, seconds to keep serving all requests while /readyz already "
        "answers 503: set it to the time a load balancer needs to notice.",
    ),
    cfg.StrOpt(
        "run_directory",
        default="",
        help="Directory for files that the workers of one server share: counters for "
        "/metrics, and messages from the server to its workers. Emptied at start; "
        "unset: a new directory under the system's temporary directory.",
    ),
    cfg.FloatOpt(
        "watch_heartbeat_s",
        default=5.0,
        min=0.1,
        max=3600,
        help="Seconds of silence after which an event stream sends a heartbeat; "
        "a disconnected client is noticed then.",
    ),
    cfg.FloatOpt(
        "watch_stream_s",
        default=3600.0,
        min=1,
        max=86400,
        help="Seconds after which an event stream ends; the client reconnects, "
        "authenticates again, and misses nothing.",
    ),
    cfg.IntOpt(
        "watch_stream_bytes",
        default=16 * 1024 * 1024,
        min=1024,
        help="Bytes after which an event stream ends as well: the server buffers what "
        "a client does not read.",
    ),
    cfg.StrOpt(
        "tokens_file",
        default="",
        help="YAML or JSON: token -> {user, project, roles}, for auth_strategy=token. "
        "At most 1 MiB.",
    ),
    cfg.IntOpt(
        "max_body_bytes",
        default=4 * 1024 * 1024,
        min=1024,
        help="Maximum size of a request body; longer ones are refused with 413. The "
        "default has room for allocations of 1,000 consumers, a reshape of 500 "
        "providers with as many, and for 1,000 instances of a host as Nova describes "
        "them; a request may take several times its body in memory.",
    ),
    cfg.IntOpt(
        "max_query_bytes",
        default=32 * 1024,
        min=1024,
        help="Maximum size of a query string; longer ones are refused with 414 "
        "(granian's own limit is 64 KiB).",
    ),
    cfg.IntOpt(
        "batch_size", default=128, min=1, help="Maximum number of commands per commit."
    ),
    cfg.IntOpt(
        "queue_length",
        default=4096,
        min=1,
        help="Commands that may wait for the committer; more are refused with 503.",
    ),
    cfg.IntOpt(
        "planning_ms",
        default=50,
        min=1,
        help="Milliseconds to plan one batch; the remaining commands wait for the next "
        "batch.",
    ),
    cfg.FloatOpt(
        "answer_timeout_s",
        default=60.0,
        min=0.1,
        max=86400,
        help="Seconds that a request waits for the database; then 503.",
    ),
    cfg.FloatOpt(
        "wait_s",
        default=2.0,
        min=0.01,
        max=86400,
        help="Seconds that a request waits before the database is considered stalled.",
    ),
    cfg.IntOpt(
        "patient",
        default=32,
        min=1,
        help="Requests that keep waiting for a stalled database, at most half of "
        "blocking_threads; others get 503 and free their threads.",
    ),
    cfg.IntOpt(
        "search_budget",
        default=100_000,
        min=1,
        help="Maximum steps of one candidate search; a step takes a few microseconds.",
    ),
    cfg.IntOpt(
        "search_slice_ms",
        default=20,
        min=0,
        max=60_000,
        help="After so long a decision for many instances, or the search for a change "
        "of a refused request that would help, lets small requests and writes go "
        "first. 0: between any two instances or changes.",
    ),
    cfg.IntOpt(
        "log_length",
        default=1_000_000,
        min=1_000,
        help="Minimum number of revisions that gantt_log keeps; a process that is "
        "further behind reloads all tables.",
    ),
    cfg.IntOpt(
        "tail_limit",
        default=StoreOptions().tail_limit,
        min=1,
        help="A process that is more revisions behind than this reloads all tables "
        "instead of replaying the log.",
    ),
    cfg.IntOpt(
        "poll_ms",
        default=20,
        min=0,
        max=3_600_000,
        help="Milliseconds between polls for other processes' writes while no request "
        "triggers one; ten times as long after fifty polls that found nothing. 0: "
        "poll only on request. memory:// never polls.",
    ),
    cfg.FloatOpt(
        "lock_timeout_s",
        default=StoreOptions().lock_timeout_s,
        min=0.01,
        max=3600,
        help="Seconds that the committer waits for the database lock of another "
        "process before it retries (MariaDB: whole seconds, at least 1).",
    ),
    cfg.FloatOpt(
        "idle_timeout_s",
        default=StoreOptions().idle_timeout_s,
        min=1,
        max=3600,
        help="Seconds after which PostgreSQL and MariaDB revoke the lock of a "
        "committer that stalls in the middle of a batch.",
    ),
    cfg.FloatOpt(
        "leader_silence_s",
        default=4.0,
        min=0.5,
        max=3600,
        help="Seconds without a heartbeat of the process that runs the leader tasks "
        "(compaction, lease expiry, usage history) before another takes over.",
    ),
    cfg.IntOpt(
        "usage_sample_s",
        default=300,
        min=0,
        max=86400,
        help="Seconds between samples of the usage history, a multiple of 5 minutes; "
        "0: take no samples and keep the existing ones.",
    ),
    cfg.IntOpt(
        "usage_classes",
        default=100,
        min=1,
        max=1000,
        help="Maximum resource classes per sample; others are left out.",
    ),
    *(
        cfg.IntOpt(
            f"usage_{period}_days",
            default=days,
            min=1,
            max=36500,
            help=f"Days that the usage history keeps {what}.",
        )
        for period, days, what in (
            ("5m", 2, "samples"),
            ("hour", 60, "hourly records"),
            ("day", 1095, "daily records"),
        )
    ),
    cfg.StrOpt(
        "freshness",
        default="strict",
        choices=("strict", "bounded"),
        help="strict: reads see every write acknowledged by any process; bounded: "
        "reads may be up to bound_ms stale and run no SQL.",
    ),
    cfg.IntOpt(
        "bound_ms",
        default=50,
        min=0,
        help="Maximum staleness of reads in milliseconds, for freshness=bounded.",
    ),
]

PROBES: dict[str, Sequence[cfg.Opt]] = {
    "cors": [cfg.ListOpt("allowed_origin", default=[])],
    "oslo_middleware": [cfg.BoolOpt("enable_proxy_headers_parsing", default=False)],
    "oslo_policy": [
        cfg.BoolOpt("enforce_scope", default=True),
        cfg.BoolOpt("enforce_new_defaults", default=True),
        cfg.StrOpt("policy_file", default="policy.yaml"),
    ],
}


def list_opts() -> Options:
    """For oslo.config's sample generator."""
    return [
        ("DEFAULT", [*LOG, *PATHS, *scheduling.DEFAULT]),
        ("api", API),
        ("placement", PLACEMENT),
        ("placement_database", DATABASE),
        ("gantt", GANTT),
        *scheduling.GROUPS.items(),
    ]
