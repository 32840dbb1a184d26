"""The options of the books and of the service: names, types, defaults, help.

Groups and names match OpenStack Placement's ``placement.conf``; options that only
Gantt has are in ``[gantt]``. Scheduler options are in ``scheduler_settings``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from msgspec import Struct
from oslo_config import cfg

from gantt.conf import advice_settings, feed_settings, rpc, scheduler_settings, stream
from gantt.conf.option_table import rows
from gantt.conf.references import PATHS
from gantt.conf.values import (
    AUTH_STRATEGIES,
    ApiOptions,
    AuthOptions,
    LogOptions,
    ServeOptions,
    TracingOptions,
)
from gantt.engine.options import EngineOptions, RecordOptions, ShadowOptions
from gantt.liveness.options import CoordinationOptions
from gantt.scheduler.options import SchedulerOptions
from gantt.store.interface import StoreOptions

Options: TypeAlias = list[tuple[str, Sequence[cfg.Opt]]]

API = [
    cfg.StrOpt(
        "auth_strategy",
        default="keystone",
        choices=AUTH_STRATEGIES,
        deprecated_group="DEFAULT",
        help="Authentication strategy: keystone validates tokens with Keystone, token "
        "looks them up in [gantt] tokens_file, noauth2 trusts the token as sent (tests "
        "only).",
    )
]

PLACEMENT = [
    *rows(
        ApiOptions(),
        {
            "randomize_allocation_candidates": "Return a random sample of the "
            "allocation candidates instead of the first ones.",
            "incomplete_consumer_project_id": "The project of consumers written before "
            "microversion 1.8.",
            "incomplete_consumer_user_id": "The user of consumers written before "
            "microversion 1.8.",
            "max_allocation_candidates -1": "Maximum number of candidates to generate; "
            "-1: no limit.",
        },
    ),
    cfg.IntOpt(
        "allocation_conflict_retry_count",
        default=EngineOptions().commit_attempts,
        help="Times that a batch of writes is retried when the database aborts it.",
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
        "has one more, and lists have list_threads more. 0: as many as "
        "blocking_threads; searches have additional threads, which wait for one of "
        "these connections.",
    ),
]

# Accepted for compatibility with existing files; they have no effect.
IGNORED = {
    "DEFAULT": ("log_options",),
    "placement_database": tuple(
        "connection_parameters slave_connection sqlite_synchronous mysql_sql_mode "
        "connection_recycle_time max_retries retry_interval max_overflow "
        "connection_debug connection_trace pool_timeout".split()
    ),
    "workarounds": ("optimize_for_wide_provider_trees",),
}

LOG = [
    cfg.BoolOpt(
        "debug",
        default=False,
        mutable=True,
        help="Log at DEBUG level. Reloaded on SIGHUP.",
    ),
    *rows(
        LogOptions(),
        {
            "use_json": "Log one JSON object per line (same as --log-json).",
            "logging_context_format_string": "Form of a line about a request, as in "
            "oslo.log. Where this or one of the three below is set, lines have "
            "oslo.log's form; else they have Gantt's own.",
            "logging_default_format_string": "Form of any other line.",
            "logging_user_identity_format": "What %(user_identity)s stands for.",
            "log_date_format": "What %(asctime)s stands for.",
        },
    ),
    cfg.StrOpt(
        "log_file",
        default="",
        deprecated_name="logfile",
        help="File to log to, in log_dir unless it is absolute; unset: that of the "
        "program in log_dir, such as gantt.log, or standard error without log_dir. One "
        "that was moved away is made anew.",
    ),
    cfg.StrOpt(
        "log_dir",
        default="",
        deprecated_name="logdir",
        help="Directory of log_file. Where it cannot be written, a warning says so and "
        "standard error is used.",
    ),
]

RECORDING = [
    *rows(
        RecordOptions(),
        {
            "record": "Directory in which each process records its decisions, with the "
            "books that they saw, for gantt replay; unset: nothing is recorded.",
            "record_file_bytes 65536": "Packed bytes after which a file of a record "
            "ends and the next begins, with a snapshot of the books.",
            "record_files 1..100000": "Files of records that are kept in the "
            "directory, of all processes; the oldest are removed, but none that was "
            "written to within ten minutes.",
            "record_backlog 100": "Decisions and changed rows that may wait in a "
            "process to be recorded; beyond that decisions are left out, and the "
            "record says how many.",
        },
    ),
]

SHADOW = [
    *rows(
        ShadowOptions(),
        {
            "shadow_settle_s 1..3600": "Seconds that a shadow waits for Nova's claim. "
            "When none has come, it concludes that Nova refused the request.",
            "shadow_pending 1..100000": "Maximum requests per worker that wait for "
            "Nova's claim; beyond it the oldest are dropped.",
            "shadow_pending_hosts 1": "Maximum hosts in the rankings that they keep "
            "per worker, all together; beyond it the oldest are dropped.",
            "shadow_hosts 1..10000": "Ranked hosts, and refused hosts, that a shadow "
            "record keeps.",
            "shadow_scored 2..10000": "Hosts for which differences are reported by "
            "weigher; a host that ranks lower differs by its weight alone.",
            "shadow_records 1..100000": "Shadow records that all processes on a "
            "database keep together.",
            "shadow_backlog 1..100000": "Shadow records that may wait in a process to "
            "be written to the database; beyond that, the oldest are dropped.",
        },
    ),
]

GANTT = [
    cfg.StrOpt(
        "listen",
        default="127.0.0.1:8778",
        help="HOST:PORT of the built-in server; put an IPv6 address in brackets.",
    ),
    *rows(
        ServeOptions(),
        {
            "workers 1..1024": "Number of worker processes of the built-in server.",
            "blocking_threads 1..4096": "Threads per worker; a write holds one until "
            "it is durable. Half as many again are reserved for searches for places "
            "(allocation candidates, select).",
            "list_threads 1..64": "Threads per worker for lists (decisions, hosts, "
            "records, ...), as many for counts of the whole fleet (capacity, audit, "
            "verify), and as many database connections for lists.",
            "unconfirmed_threads 1..1024": "Threads per worker for requests whose "
            "token Keystone has not confirmed yet, of which one address has half at "
            "the most.",
            "unconfirmed_per_address 1..100000": "Requests of one address that may "
            "wait for these threads in each worker; further ones are refused with 503.",
            "waiting_requests 1": "Requests that may wait for a thread in each worker, "
            "and as many again for a thread for searches, counts and lists each, and "
            "for Keystone to confirm their tokens; further requests are refused with "
            "503.",
            "body_timeout_s 0.1..3600": "Seconds to wait for a request body to arrive; "
            "then 408.",
            "bodies_bytes 1024": "Maximum total size of the bodies of all unanswered "
            "requests of a worker, at least max_body_bytes; bodies up to 8 KiB are not "
            "counted. Beyond it the oldest body that has not fully arrived is refused "
            "with 503.",
            "allow_insecure_bind": "Allow noauth2 on an address that other machines "
            "can reach.",
            "drain_s 1..86400": "Seconds that in-flight requests have to finish when "
            "the server stops.",
            "drain_delay_s 0..3600": "On SIGTERM, seconds to keep serving all requests "
            "while /readyz already answers 503: set it to the time a load balancer "
            "needs to notice.",
            "run_directory": "Directory for files that the workers of one server "
            "share: counters for /metrics, and messages from the server to its "
            "workers. Emptied at start. Unset: a new one in the RuntimeDirectory of "
            "systemd, or in /run, which cleaners leave alone; a user who may write "
            "neither gets one in the system's temporary directory.",
            "metrics_listen": "For gantt scheduler and gantt feed: HOST:PORT that "
            "answers /metrics, /livez and /readyz, without a token; unset: none. "
            "gantt serve answers them on its own address.",
            "dashboard": "Serve the dashboard at /gantt/ui. Its pages hold no data: "
            "they ask the API, with the token that is given to them.",
            "dashboard_sign_ins 0..1000": "How many may sign in at the dashboard with "
            "a password of Keystone at once, per process; further ones are refused "
            "with 503. 0: it takes tokens only.",
        },
    ),
    *rows(
        ApiOptions(),
        {
            "watch_stream_bytes 1024": "Bytes after which an event stream ends, and "
            "the client reconnects: the server buffers what a client does not read.",
            "max_body_bytes 1024": "Maximum size of a request body; longer ones are "
            "refused with 413. The default has room for allocations of 1,000 "
            "consumers, a reshape of 500 providers with as many, and for 1,000 "
            "instances of a host as Nova describes them; a request may take several "
            "times its body in memory.",
            "max_query_bytes 1024": "Maximum size of a query string; longer ones are "
            "refused with 414 (granian's own limit is 64 KiB).",
        },
    ),
    *rows(
        AuthOptions(),
        {
            "tokens_file": "YAML or JSON: token -> {user, project, roles}, for "
            "auth_strategy=token. At most 1 MiB.",
            "confirmed_tokens 0": "Maximum tokens per process that Keystone confirmed "
            "a moment ago and that are not validated again; 0: validate the token of "
            "every request.",
            "confirmed_tokens_s 0..300": "Seconds that such a token is not validated "
            "again; a revoked one is accepted for so long.",
        },
    ),
    *advice_settings.OPTIONS,
    *SHADOW,
    *RECORDING,
    *scheduler_settings.REPORTS,
    *rows(
        EngineOptions(),
        {
            "batch_size 1": "Maximum number of commands per commit.",
            "queue_length 1": "Commands that may wait for the committer; more are "
            "refused with 503.",
            "answer_timeout_s 0.1..86400": "Seconds that a request waits for the "
            "database; then 503.",
            "patient 1": "Callers that go on waiting for a stalled committer or "
            "database after two seconds, at most half of blocking_threads; others get "
            "503 and free their threads.",
            "search_budget 1": "Maximum steps of one candidate search; a step takes a "
            "few microseconds.",
            "log_length 1000": "Minimum number of revisions that gantt_log keeps; a "
            "process that is further behind reloads all tables.",
            "usage_sample_s 0..86400": "Seconds between samples of the usage history, "
            "a multiple of 5 minutes; 0: take no samples and keep the existing ones.",
            "usage_classes 1..1000": "Maximum resource classes per sample; others are "
            "left out.",
            "usage_zones 0..1000": "Maximum zones per sample, by name; others count "
            "in the fleet's totals only. 0: keep no history of zones.",
            "usage_5m_days 1..36500": "Days that the usage history keeps samples.",
            "usage_hour_days 1..36500": "Days that the usage history keeps hourly "
            "records.",
            "usage_day_days 1..36500": "Days that the usage history keeps daily "
            "records.",
            "freshness": "strict: reads see every write acknowledged by any process; "
            "bounded: reads may be up to bound_ms stale and run no SQL.",
            "bound_ms 0": "Maximum staleness of reads in milliseconds, for "
            "freshness=bounded.",
        },
    ),
    *rows(
        StoreOptions(),
        {
            "lock_timeout_s 0.01..3600": "Seconds that the committer waits for the "
            "database lock of another process before it retries (MariaDB: whole "
            "seconds, at least 1).",
            "tail_limit 1": "Revisions that a process reads from the log; one that is "
            "further behind reloads all tables, as does one beyond log_length.",
        },
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
]


COORDINATION = [
    *rows(
        CoordinationOptions(),
        {
            "backend_url secret": "Service in which agents are members of a group, as "
            "tooz writes it: redis://HOST:PORT, memcached://HOST:PORT, "
            "etcd3+http://HOST:PORT or zookeeper://HOST:PORT; a host that is not a "
            "member any more is down. Unset: liveness is not asked of such a service.",
            "group": "Name of that group.",
            "heartbeat_interval 2..3600": "Seconds in which an agent must show that it "
            "is there; a host is down at most two of them after its last heartbeat. "
            "The agents' --heartbeat must be the same.",
        },
    ),
]

TRACING = [
    *rows(
        TracingOptions(),
        {
            "enabled": "Export traces of requests, decisions and commits by "
            "OpenTelemetry's protocol; needs the extra tracing.",
            "endpoint": "URL of the receiver, such as http://127.0.0.1:4318/v1/traces; "
            "unset: as OTEL_EXPORTER_OTLP_ENDPOINT and its like say.",
            "service_name": "Name of the service in its traces; unset: gantt, or "
            "gantt-scheduler.",
            "sample_ratio 0..1": "Share of requests that are traced, of those that "
            "belong to no trace of their caller; others follow their caller.",
            "queue_length 1..1000000": "Spans that may wait to be exported in each "
            "process; more are dropped.",
            "delay_s 0.1..3600": "Seconds between two exports.",
            "export_timeout_s 0.1..600": "Seconds that one export may take.",
        },
    ),
]


def _constants() -> dict[tuple[str, str], str]:
    owners: tuple[tuple[str, Struct, str], ...] = (
        ("gantt", ApiOptions(), "watch_heartbeat_s watch_stream_s"),
        (
            "gantt",
            EngineOptions(),
            "leader_silence_s planning_ms search_slice_ms wait_s",
        ),
        ("gantt", StoreOptions(), "idle_timeout_s"),
        (
            "scheduler",
            SchedulerOptions(),
            "choices claim_attempts lease_skew_s placement_lease_s report_age_s",
        ),
    )
    return {
        (group, name): f"{type(owner).__name__}.{name} = {getattr(owner, name):g}"
        for group, owner, names in owners
        for name in names.split()
    }


RETIRED: Final[Mapping[tuple[str, str], str]] = _constants()
"""Options of earlier releases -> the constant that took their place, and its value.
They are accepted and have no effect."""

PROBES: dict[str, Sequence[cfg.Opt]] = {
    "cors": [cfg.ListOpt("allowed_origin", default=[])],
    "oslo_middleware": [cfg.BoolOpt("enable_proxy_headers_parsing", default=False)],
    "oslo_policy": [
        cfg.BoolOpt("enforce_scope", default=True),
        cfg.BoolOpt("enforce_new_defaults", default=True),
        cfg.StrOpt("policy_file", default="policy.yaml"),
    ],
}


def _joined(*tables: Mapping[str, Sequence[cfg.Opt]]) -> dict[str, list[cfg.Opt]]:
    """The options of each group in all of ``tables``."""
    found: dict[str, list[cfg.Opt]] = {}
    for table in tables:
        for group, opts in table.items():
            found.setdefault(group, []).extend(opts)
    return found


def list_opts() -> Options:
    """For oslo.config's sample generator."""
    return [
        ("DEFAULT", [*LOG, *PATHS, *scheduler_settings.DEFAULT, *rpc.DEFAULT]),
        ("api", API),
        ("placement", PLACEMENT),
        ("placement_database", DATABASE),
        ("gantt", GANTT),
        ("coordination", COORDINATION),
        ("stream", stream.OPTIONS),
        ("tracing", TRACING),
        *_joined(
            scheduler_settings.GROUPS, {"nova": feed_settings.NOVA}, rpc.GROUPS
        ).items(),
    ]
