"""The values that options become, frozen and passed to the code that needs them.

Separate from the reading so that code that receives values need not load oslo.config.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from gantt.engine.options import EngineOptions
from gantt.liveness.options import CoordinationOptions
from gantt.stream.options import StreamOptions

NO_CONSUMER_ID = "00000000-0000-0000-0000-000000000000"
AUTH_STRATEGIES = ("keystone", "token", "noauth2")
SYSTEM_DIRECTORY = Path("/etc/gantt")


class ApiOptions(Struct, frozen=True):
    """Options of the HTTP API's handlers.

    ``max_allocation_candidates`` -1: no limit. ``breadth_first``: candidates are
    taken from each root in turn. ``watch_heartbeat_s``: interval of the heartbeats of
    an event stream; after ``watch_stream_s`` or ``watch_stream_bytes`` it ends, and the
    client reconnects. ``advice_shortens``: refused hosts may be left out of what
    external schedulers answer.
    """

    incomplete_consumer_project_id: str = NO_CONSUMER_ID
    incomplete_consumer_user_id: str = NO_CONSUMER_ID
    max_allocation_candidates: int = -1
    allocation_candidates_generation_strategy: str = "depth-first"
    randomize_allocation_candidates: bool = False
    max_body_bytes: int = 4 * 1024 * 1024
    max_query_bytes: int = 32 * 1024
    watch_heartbeat_s: float = 5.0
    watch_stream_s: float = 3600.0
    watch_stream_bytes: int = 16 * 1024 * 1024
    advice_shortens: bool = False

    @property
    def breadth_first(self) -> bool:
        return self.allocation_candidates_generation_strategy == "breadth-first"


class AuthOptions(Struct, frozen=True):
    """Authentication strategy; ``tokens_file`` is for the strategy ``token``;
    ``advice_from``: networks whose requests for advice need no token.
    ``confirmed_tokens``: tokens that Keystone confirmed and that are not validated
    again for ``confirmed_tokens_s`` seconds."""

    strategy: str = "keystone"
    tokens_file: str = ""
    advice_from: tuple[str, ...] = ()
    confirmed_tokens: int = 4096
    confirmed_tokens_s: float = 1.0


class IdentityOptions(Struct, frozen=True):
    """Where Keystone is, "": not known; ``cafile`` "": the system's; ``insecure``: its
    certificate is not verified."""

    url: str = ""
    cafile: str = ""
    insecure: bool = False


class ServeOptions(Struct, frozen=True):
    """How the built-in server listens.

    ``drain_s``: how long a stop may take; ``drain_delay_s``: how long /readyz reports
    not ready before it. ``run_directory`` "": a new one, as ``observe.run_folder``
    says. ``list_threads``: for lists, and as many for counts of the whole fleet;
    ``unconfirmed_threads``: for requests whose token Keystone has not confirmed, for
    which ``unconfirmed_per_address`` of each address may wait.
    ``waiting_requests``: how many may wait for a thread;
    ``body_timeout_s``: how long a body may take to arrive; ``bodies_bytes``: maximum
    total size of all bodies. ``metrics_listen``: HOST:PORT of the metrics of programs
    other than the server; "": none. ``dashboard``: whether /gantt/ui is served;
    ``dashboard_sign_ins``: how many may sign in there with a password at once.
    """

    host: str = "127.0.0.1"
    port: int = 8778
    workers: int = 1
    blocking_threads: int = 64
    allow_insecure_bind: bool = False
    drain_s: int = 30
    drain_delay_s: float = 0.0
    run_directory: str = ""
    list_threads: int = 2
    unconfirmed_threads: int = 8
    unconfirmed_per_address: int = 32
    waiting_requests: int = 4096
    body_timeout_s: float = 30.0
    bodies_bytes: int = 128 * 1024 * 1024
    metrics_listen: str = ""
    dashboard: bool = True
    dashboard_sign_ins: int = 4

    @property
    def search_threads(self) -> int:
        """Additional threads, for requests that search for places."""
        return max(1, self.blocking_threads // 2)

    @property
    def watchers(self) -> int:
        """Maximum concurrent watchers: a quarter of the threads."""
        return max(1, self.blocking_threads // 4)


class RpcOptions(Struct, frozen=True):
    """How ``gantt scheduler`` appears in a cloud.

    ``host`` "": not known, as without ``conf``. ``report_interval``: seconds between
    heartbeats. ``discover_hosts_in_cells_interval``: seconds; -1: never.
    ``write_user``, ``write_password``: in place of the user in the URLs of Nova's
    databases, for heartbeats and for mapping hosts; "": neither is done.
    ``neutron_timeout_s``: for all that one request asks of Neutron;
    ``neutron_answers``: of it that are used again, for ``neutron_answers_s`` seconds;
    ``neutron_answer_size_limit``: bytes of one answer; ``http_retries``: further
    attempts where Neutron gives none.
    """

    host: str = ""
    workers: int = 1
    report_interval: int = 10
    discover_hosts_in_cells_interval: int = -1
    notification_format: str = "unversioned"
    versioned_notifications_topics: tuple[str, ...] = ("versioned_notifications",)
    write_user: str = ""
    write_password: str = ""
    neutron_timeout_s: float = 10.0
    neutron_answers: int = 1024
    neutron_answers_s: float = 10.0
    neutron_answer_size_limit: int = 4 * 1024 * 1024
    http_retries: int = 3


class LogOptions(Struct, frozen=True):
    """How to log: at DEBUG level or not, as one JSON object per line or not.
    ``log_file`` is in ``log_dir`` unless it is absolute; without it, it is that of the
    program there. Both "": standard error. The others are oslo.log's forms of a line,
    "": Gantt's own."""

    debug: bool = False
    use_json: bool = False
    log_file: str = ""
    log_dir: str = ""
    logging_context_format_string: str = ""
    logging_default_format_string: str = ""
    logging_user_identity_format: str = ""
    log_date_format: str = ""


class TracingOptions(Struct, frozen=True):
    """Whether and where spans are exported. ``endpoint`` "": as OpenTelemetry's
    variables say; ``sample_ratio``: of the requests whose callers do not trace them."""

    enabled: bool = False
    endpoint: str = ""
    service_name: str = ""
    sample_ratio: float = 1.0
    queue_length: int = 2048
    delay_s: float = 5.0
    export_timeout_s: float = 10.0


class Mutable(Struct, frozen=True):
    """What may change while a process runs: the log level, and in ``engine`` the
    freshness of reads and the scheduler's options."""

    debug: bool
    engine: EngineOptions


class Settings(Struct, frozen=True):
    """All settings. ``oslo`` is only for OpenStack libraries, which register and read
    their own options in it. ``unknown``: warnings about unknown options in the
    files."""

    oslo: Any
    files: tuple[str, ...]
    database_url: str
    api: ApiOptions
    auth: AuthOptions
    serve: ServeOptions
    engine: EngineOptions
    rpc: RpcOptions = RpcOptions()
    coordination: CoordinationOptions = CoordinationOptions()
    stream: StreamOptions = StreamOptions()
    log: LogOptions = LogOptions()
    tracing: TracingOptions = TracingOptions()
    identity: IdentityOptions = IdentityOptions()
    allowed_origin: tuple[str, ...] = ()
    proxy_headers: bool = False
    enforce_scope: bool = True
    enforce_new_defaults: bool = True
    policy_file: str = "policy.yaml"
    unknown: tuple[str, ...] = ()

    @property
    def mutable(self) -> Mutable:
        """The part that may change; the remote Placement and its token may not."""
        engine = self.engine
        scheduler = replace(engine.scheduler, placement_token="")
        return Mutable(
            self.log.debug,
            EngineOptions(
                freshness=engine.freshness,
                bound_ms=engine.bound_ms,
                scheduler=scheduler,
            ),
        )
