"""The options of the books and of the service: names, types, defaults, help.

Groups and names are those of OpenStack Placement's own ``placement.conf``; what is only
ours lives in ``[gantt]``. Those of the scheduler are in ``scheduling``.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

from oslo_config import cfg

from gantt.conf import scheduling
from gantt.conf.values import AUTH_STRATEGIES, NO_CONSUMER_ID
from gantt.store.contract import StoreOptions

Options: TypeAlias = list[tuple[str, Sequence[cfg.Opt]]]

API = [
    cfg.StrOpt(
        "auth_strategy",
        default="keystone",
        choices=AUTH_STRATEGIES,
        help="How callers are told apart: keystone asks Keystone, token looks into "
        "[gantt] tokens_file, noauth2 believes what it is told (tests only).",
    ),
]

PLACEMENT = [
    cfg.BoolOpt(
        "randomize_allocation_candidates",
        default=False,
        help="Answer a random sample of the allocation candidates instead of the "
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
        help="How often a batch of writes is tried again when the database aborts it.",
    ),
    cfg.IntOpt(
        "max_allocation_candidates",
        default=-1,
        min=-1,
        help="Stop generating candidates after so many; -1 never stops.",
    ),
    cfg.StrOpt(
        "allocation_candidates_generation_strategy",
        default="depth-first",
        choices=("depth-first", "breadth-first"),
        help="Take all candidates of one root provider first, or one of each in turn.",
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
        help="Make the tables, or bring them up to date, before serving.",
    ),
    cfg.IntOpt(
        "max_pool_size",
        default=StoreOptions().pool_size,
        min=0,
        max=4096,
        help="Connections that each process keeps for readers; beside them the gate "
        "has one. 0: as many as blocking_threads; searches and lists have further "
        "threads, and wait for one of these connections.",
    ),
]

# Accepted for the sake of existing files; Gantt has one way to do what they tune.
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
    cfg.StrOpt("tempdir", help="For use in other options."),
    cfg.StrOpt(
        "pybasedir",
        default=str(Path(__file__).resolve().parent.parent.parent),
        help="Where Gantt is installed; for use in other options.",
    ),
    cfg.StrOpt(
        "state_path",
        default="$pybasedir",
        help="Where state is kept; for use in other options.",
    ),
]

LOG = [
    cfg.BoolOpt(
        "debug",
        default=False,
        mutable=True,
        help="Log more. Read again on SIGHUP.",
    ),
    cfg.BoolOpt(
        "use_json",
        default=False,
        help="Log a JSON object per line (also --log-json).",
    ),
]

GANTT = [
    cfg.StrOpt(
        "listen",
        default="127.0.0.1:8778",
        help="HOST:PORT of the built-in server; brackets around an IPv6 address.",
    ),
    cfg.IntOpt(
        "workers",
        default=1,
        min=1,
        max=1024,
        help="Processes of the built-in server.",
    ),
    cfg.IntOpt(
        "blocking_threads",
        default=64,
        min=1,
        max=4096,
        help="Threads per worker; a write occupies one until it is durable. Half as "
        "many again are for searches and lists, which may take long.",
    ),
    cfg.IntOpt(
        "waiting_requests",
        default=4096,
        min=1,
        help="Requests that may wait for a thread in each worker, and as many that "
        "wait for one of searches and lists; others are refused with 503.",
    ),
    cfg.FloatOpt(
        "body_timeout_s",
        default=30.0,
        min=0.1,
        max=3600,
        help="Seconds that the body of a request may take to arrive; then 408.",
    ),
    cfg.IntOpt(
        "bodies_bytes",
        default=128 * 1024 * 1024,
        min=1024,
        help="Bytes that the bodies of all unanswered requests of a worker may have "
        "together, at least max_body_bytes; those up to 8 KiB are not counted. Beyond "
        "it the oldest body that has not arrived whole is refused with 503.",
    ),
    cfg.BoolOpt(
        "allow_insecure_bind",
        default=False,
        help="Let noauth2 listen on an address that others can reach.",
    ),
    cfg.IntOpt(
        "drain_s",
        default=30,
        min=1,
        max=86400,
        help="Seconds that requests under way are given when the server stops.",
    ),
    cfg.FloatOpt(
        "drain_delay_s",
        default=0.0,
        min=0,
        max=3600,
        help="On SIGTERM, seconds to answer all requests as before while /readyz says "
        "503 already: as long as a load balancer takes to notice.",
    ),
    cfg.StrOpt(
        "run_directory",
        default="",
        help="Where the workers of one server keep what they share: counters for "
        "/metrics, and what the server tells them. Emptied at start; unset: a new one "
        "under the directory for temporary files.",
    ),
    cfg.FloatOpt(
        "watch_heartbeat_s",
        default=5.0,
        min=0.1,
        max=3600,
        help="A stream of events that has nothing to tell says so after so long; "
        "a client that is gone is noticed then.",
    ),
    cfg.FloatOpt(
        "watch_stream_s",
        default=3600.0,
        min=1,
        max=86400,
        help="A stream of events ends after so long; its client comes back, signs in "
        "anew, and misses nothing.",
    ),
    cfg.IntOpt(
        "watch_stream_bytes",
        default=16 * 1024 * 1024,
        min=1024,
        help="It also ends when it has told so much: what a client does not read, the "
        "server holds.",
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
        help="Longer request bodies are refused with 413. The default has room for "
        "allocations of 1,000 consumers, a reshape of 500 providers with as many, and "
        "for 1,000 instances of a host as Nova describes them; a request may take "
        "several times its body in memory.",
    ),
    cfg.IntOpt(
        "max_query_bytes",
        default=32 * 1024,
        min=1024,
        help="Longer query strings are refused with 414 (granian ends at 64 KiB).",
    ),
    cfg.IntOpt(
        "batch_size", default=128, min=1, help="Commands per commit at the most."
    ),
    cfg.IntOpt(
        "queue_length",
        default=4096,
        min=1,
        help="Commands that may wait for the gate; further ones are refused with 503.",
    ),
    cfg.IntOpt(
        "planning_ms",
        default=50,
        min=1,
        help="When planning a batch has taken so long, its rest waits for the next.",
    ),
    cfg.FloatOpt(
        "answer_timeout_s",
        default=60.0,
        min=0.1,
        max=86400,
        help="Seconds that a request waits for the database, then it gets 503.",
    ),
    cfg.FloatOpt(
        "patience_s",
        default=2.0,
        min=0.01,
        max=86400,
        help="When a request has waited so long, the database is taken to stand still.",
    ),
    cfg.IntOpt(
        "patient",
        default=32,
        min=1,
        help="Requests that go on waiting then, at most half of blocking_threads; "
        "others get 503 and free their threads.",
    ),
    cfg.IntOpt(
        "search_budget",
        default=100_000,
        min=1,
        help="Steps of one search for candidates; one takes a few microseconds.",
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
        help="Revisions that gantt_log keeps at least; who is further behind loads "
        "all tables again.",
    ),
    cfg.IntOpt(
        "tail_limit",
        default=StoreOptions().tail_limit,
        min=1,
        help="A process that is more revisions behind loads all tables again rather "
        "than read them one by one.",
    ),
    cfg.IntOpt(
        "poll_ms",
        default=20,
        min=0,
        max=3_600_000,
        help="How often a process looks for what others wrote while nobody asks it; "
        "ten times as rarely after fifty looks that found nothing. 0: only when it is "
        "asked. memory:// never looks.",
    ),
    cfg.FloatOpt(
        "lock_timeout_s",
        default=StoreOptions().lock_timeout_s,
        min=0.01,
        max=3600,
        help="Seconds that the gate waits for other processes' gates before it tries "
        "again (MariaDB: whole ones, at least 1).",
    ),
    cfg.FloatOpt(
        "idle_timeout_s",
        default=StoreOptions().idle_timeout_s,
        min=1,
        max=3600,
        help="Seconds after which PostgreSQL and MariaDB take the lock from a gate "
        "that stands still in the middle of a batch.",
    ),
    cfg.FloatOpt(
        "leader_silence_s",
        default=4.0,
        min=0.5,
        max=3600,
        help="When the process that does the chores (compaction, the end of leases, "
        "the usage history) gave no sign for so long, another takes over.",
    ),
    cfg.IntOpt(
        "usage_sample_s",
        default=300,
        min=0,
        max=86400,
        help="How often the usage history takes a sample, in whole 5 minutes; 0: "
        "never, and what there is of it stays.",
    ),
    cfg.IntOpt(
        "usage_classes",
        default=100,
        min=1,
        max=1000,
        help="Resource classes of one sample; others are left out.",
    ),
    *(
        cfg.IntOpt(
            f"usage_{period}_days",
            default=days,
            min=1,
            max=36500,
            help=f"Days for which the usage history keeps {what}.",
        )
        for period, days, what in (
            ("5m", 2, "samples"),
            ("hour", 60, "hours"),
            ("day", 1095, "days"),
        )
    ),
    cfg.StrOpt(
        "freshness",
        default="strict",
        choices=("strict", "bounded"),
        help="strict: reads see every write acknowledged by any process; bounded: "
        "reads may be bound_ms old and cost no SQL.",
    ),
    cfg.IntOpt("bound_ms", default=50, min=0, help="For freshness=bounded."),
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
