"""All options: where they are read, what they are called, and the values they become.

Groups and names are those of OpenStack Placement's own ``placement.conf``, which can
be used as it is; what is only ours lives in ``[gantt]``. Nothing here is global: a
``Settings`` is loaded by an entry point, and everybody below gets frozen values.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from msgspec import Struct
from oslo_config import cfg

from gantt.engine.options import EngineOptions
from gantt.errors import Refused
from gantt.store.contract import StoreOptions

NO_CONSUMER_ID = "00000000-0000-0000-0000-000000000000"
AUTH_STRATEGIES = ("keystone", "token", "noauth2")
SYSTEM_DIRECTORY = Path("/etc/gantt")


class ApiOptions(Struct, frozen=True):
    """What the handlers of the HTTP API need to know.

    ``max_allocation_candidates`` -1: no limit. ``breadth_first``: candidates are
    taken from each root in turn.
    """

    incomplete_consumer_project_id: str = NO_CONSUMER_ID
    incomplete_consumer_user_id: str = NO_CONSUMER_ID
    max_allocation_candidates: int = -1
    allocation_candidates_generation_strategy: str = "depth-first"
    randomize_allocation_candidates: bool = False
    max_body_bytes: int = 32 * 1024 * 1024
    max_query_bytes: int = 32 * 1024

    @property
    def breadth_first(self) -> bool:
        return self.allocation_candidates_generation_strategy == "breadth-first"


class AuthOptions(Struct, frozen=True):
    """How callers are told apart; ``tokens_file`` is for the strategy ``token``."""

    strategy: str = "keystone"
    tokens_file: str = ""


class ServeOptions(Struct, frozen=True):
    """How the built-in server listens; ``drain_s``: how long a stop may take."""

    host: str = "127.0.0.1"
    port: int = 8778
    workers: int = 1
    blocking_threads: int = 64
    allow_insecure_bind: bool = False
    drain_s: int = 30


class Source(Struct, frozen=True):
    """Where settings come from: small enough to hand to another process."""

    config_files: tuple[str, ...] = ()
    overrides: tuple[tuple[str, str, Any], ...] = ()
    default_auth: str = "keystone"

    def load(self) -> Settings:
        """Read it all. Raises Refused."""
        return load(
            self.config_files,
            overrides={(group, name): value for group, name, value in self.overrides},
            default_auth=self.default_auth,
        )


class Settings(Struct, frozen=True):
    """Everything that was configured. ``oslo`` is for libraries of OpenStack alone,
    which register and read their own options in it."""

    oslo: Any
    files: tuple[str, ...]
    database_url: str
    api: ApiOptions
    auth: AuthOptions
    serve: ServeOptions
    engine: EngineOptions
    allowed_origin: tuple[str, ...] = ()
    proxy_headers: bool = False
    enforce_scope: bool = True
    enforce_new_defaults: bool = True
    policy_file: str = "policy.yaml"


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
        "max_pool_size",
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
        default=str(Path(__file__).resolve().parent.parent),
        help="Where Gantt is installed; for use in other options.",
    ),
    cfg.StrOpt(
        "state_path",
        default="$pybasedir",
        help="Where state is kept; for use in other options.",
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
        help="Threads per worker; a write occupies one until it is durable.",
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
    cfg.StrOpt(
        "tokens_file",
        default="",
        help="YAML or JSON: token -> {user, project, roles}, for auth_strategy=token.",
    ),
    cfg.IntOpt(
        "max_body_bytes",
        default=32 * 1024 * 1024,
        min=1024,
        help="Longer request bodies are refused with 413.",
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
        help="When a write has waited so long, the gate is taken to stand still.",
    ),
    cfg.IntOpt(
        "patient",
        default=32,
        min=1,
        help="Writes that go on waiting then; others get 503 and free their threads.",
    ),
    cfg.IntOpt(
        "search_budget",
        default=100_000,
        min=1,
        help="Steps of one search for candidates; one takes a few microseconds.",
    ),
    cfg.IntOpt(
        "log_length",
        default=1_000_000,
        min=1_000,
        help="Revisions that gantt_log keeps at least; who is further behind loads "
        "all tables again.",
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


Options: TypeAlias = list[tuple[str, Sequence[cfg.Opt]]]


def list_opts() -> Options:
    """For oslo.config's sample generator."""
    return [
        ("DEFAULT", PATHS),
        ("api", API),
        ("placement", PLACEMENT),
        ("placement_database", DATABASE),
        ("gantt", GANTT),
    ]


def load(
    config_files: Sequence[str] = (),
    *,
    overrides: Mapping[tuple[str, str], Any] | None = None,
    environ: Mapping[str, str] | None = None,
    default_auth: str = "keystone",
) -> Settings:
    """Read files and environment; ``overrides`` (group, name) -> value, of options
    listed here, win over both.

    Without ``config_files``: ``$OS_PLACEMENT_CONFIG_DIR/placement.conf``, then
    gantt.conf and gantt.conf.d of ``$OS_GANTT_CONFIG_DIR`` or /etc/gantt; what is
    read later wins. ``default_auth`` holds only where no file is read at all: a file
    that does not speak of it means keystone, as it does upstream. Raises Refused.
    """
    environ = os.environ if environ is None else environ
    files, directories = _find(config_files, environ)
    ours = _parse(files, directories, list_opts() + _ignored())
    probe = _parse(files, directories, list(PROBES.items()))
    if not (files or directories):
        ours.set_default("auth_strategy", default_auth, "api")
    try:
        for (group, name), value in (overrides or {}).items():
            ours.set_override(name, value, group)
        return _settings(ours, probe, tuple(files + directories))
    except (cfg.Error, ValueError) as error:
        raise Refused(f"The configuration cannot be used: {error}") from error


def split_listen(listen: str) -> tuple[str, int]:
    """``HOST:PORT`` or ``[V6]:PORT``. Raises Refused."""
    host, colon, port = listen.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not (colon and host and port.isdigit() and int(port) < 65536):
        raise Refused(f"Cannot listen on {listen!r}: it must look like 127.0.0.1:8778.")
    return host, int(port)


def _find(
    given: Sequence[str], environ: Mapping[str, str]
) -> tuple[list[str], list[str]]:
    """Files and directories to read, the strongest last."""
    if given:
        for name in given:
            if not Path(name).is_file():
                raise Refused(f"There is no configuration file {name}.")
        return [str(name) for name in given], []
    files = []
    if upstream := environ.get("OS_PLACEMENT_CONFIG_DIR"):
        files.append(Path(upstream) / "placement.conf")
    home = Path(environ.get("OS_GANTT_CONFIG_DIR") or SYSTEM_DIRECTORY)
    files.append(home / "gantt.conf")
    directory = home / "gantt.conf.d"
    return (
        [str(file) for file in files if file.is_file()],
        [str(directory)] if directory.is_dir() else [],
    )


def _parse(
    files: list[str],
    directories: list[str],
    options: Options,
) -> cfg.ConfigOpts:
    """The same files once more, with only these options registered."""
    conf = cfg.ConfigOpts()
    for group, opts in options:
        conf.register_opts(opts, None if group == "DEFAULT" else group)
    try:
        conf(
            args=[],
            project="gantt",
            default_config_files=files,
            default_config_dirs=directories,
        )
    except (cfg.Error, UnicodeError) as error:
        raise Refused(f"The configuration cannot be read: {error}") from error
    return conf


def _ignored() -> Options:
    return [
        (group, [cfg.StrOpt(name) for name in names])
        for group, names in IGNORED.items()
    ]


def _settings(
    ours: cfg.ConfigOpts, probe: cfg.ConfigOpts, files: tuple[str, ...]
) -> Settings:
    placement, own = ours.placement, ours.gantt
    host, port = split_listen(own.listen)
    if math.isnan(own.answer_timeout_s):  # which is neither below nor above a limit
        raise Refused("answer_timeout_s of [gantt] must be a number, not nan.")
    return Settings(
        # Libraries define the options that we probe in their own words, and two
        # definitions of one name clash: they get a ConfigOpts of their own.
        oslo=_parse(
            [name for name in files if Path(name).is_file()],
            [name for name in files if Path(name).is_dir()],
            [],
        ),
        files=files,
        database_url=ours.placement_database.connection or "",
        api=ApiOptions(
            placement.incomplete_consumer_project_id,
            placement.incomplete_consumer_user_id,
            placement.max_allocation_candidates,
            placement.allocation_candidates_generation_strategy,
            placement.randomize_allocation_candidates,
            own.max_body_bytes,
            own.max_query_bytes,
        ),
        auth=AuthOptions(ours.api.auth_strategy, own.tokens_file),
        serve=ServeOptions(
            host,
            port,
            own.workers,
            own.blocking_threads,
            own.allow_insecure_bind,
            own.drain_s,
        ),
        engine=EngineOptions(
            freshness=own.freshness,
            bound_ms=own.bound_ms,
            batch_size=own.batch_size,
            queue_length=own.queue_length,
            planning_ms=own.planning_ms,
            answer_timeout_s=own.answer_timeout_s,
            patience_s=own.patience_s,
            patient=own.patient,
            search_budget=own.search_budget,
            log_length=own.log_length,
            commit_attempts=max(1, placement.allocation_conflict_retry_count),
            # A mistyped path must not become new, empty books.
            create=ours.placement_database.sync_on_startup,
            store=StoreOptions(create=ours.placement_database.sync_on_startup),
        ),
        allowed_origin=tuple(probe.cors.allowed_origin),
        proxy_headers=probe.oslo_middleware.enable_proxy_headers_parsing,
        enforce_scope=probe.oslo_policy.enforce_scope,
        enforce_new_defaults=probe.oslo_policy.enforce_new_defaults,
        policy_file=probe.oslo_policy.policy_file,
    )
