"""What the options become: frozen values, handed to whoever needs them.

Apart from the reading so that who receives values need not load oslo.config.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from gantt.engine.options import EngineOptions

NO_CONSUMER_ID = "00000000-0000-0000-0000-000000000000"
AUTH_STRATEGIES = ("keystone", "token", "noauth2")
SYSTEM_DIRECTORY = Path("/etc/gantt")


class ApiOptions(Struct, frozen=True):
    """What the handlers of the HTTP API need to know.

    ``max_allocation_candidates`` -1: no limit. ``breadth_first``: candidates are
    taken from each root in turn. ``watch_heartbeat_s``: a stream of events says
    something so often; after ``watch_stream_s`` or ``watch_stream_bytes`` it ends, to
    be begun anew.
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

    @property
    def breadth_first(self) -> bool:
        return self.allocation_candidates_generation_strategy == "breadth-first"


class AuthOptions(Struct, frozen=True):
    """How callers are told apart; ``tokens_file`` is for the strategy ``token``."""

    strategy: str = "keystone"
    tokens_file: str = ""


class ServeOptions(Struct, frozen=True):
    """How the built-in server listens.

    ``drain_s``: how long a stop may take; ``drain_delay_s``: how long it is told
    before that this process is not ready any more. ``run_directory`` "": one of its
    own, under the system's directory for temporary files. ``waiting_requests``: how
    many may wait for a thread; ``body_timeout_s``: how long a body may take to arrive;
    ``bodies_bytes``: how much memory all of them may take.
    """

    host: str = "127.0.0.1"
    port: int = 8778
    workers: int = 1
    blocking_threads: int = 64
    allow_insecure_bind: bool = False
    drain_s: int = 30
    drain_delay_s: float = 0.0
    run_directory: str = ""
    waiting_requests: int = 4096
    body_timeout_s: float = 30.0
    bodies_bytes: int = 128 * 1024 * 1024

    @property
    def long_threads(self) -> int:
        """Beside the others: threads of requests that may take long."""
        return max(1, self.blocking_threads // 2)

    @property
    def watchers(self) -> int:
        """How many may watch at once: a quarter of the threads."""
        return max(1, self.blocking_threads // 4)


class LogOptions(Struct, frozen=True):
    """What is logged (``debug``: all of it), and whether as a JSON object a line."""

    debug: bool = False
    use_json: bool = False


class Mutable(Struct, frozen=True):
    """What may change while a process runs: how much it logs, and of ``engine`` how
    fresh reads are and by what is decided."""

    debug: bool
    engine: EngineOptions


class Settings(Struct, frozen=True):
    """Everything that was configured. ``oslo`` is for libraries of OpenStack alone,
    which register and read their own options in it. ``unknown``: sentences on what is
    in the files and nobody reads."""

    oslo: Any
    files: tuple[str, ...]
    database_url: str
    api: ApiOptions
    auth: AuthOptions
    serve: ServeOptions
    engine: EngineOptions
    log: LogOptions = LogOptions()
    allowed_origin: tuple[str, ...] = ()
    proxy_headers: bool = False
    enforce_scope: bool = True
    enforce_new_defaults: bool = True
    policy_file: str = "policy.yaml"
    unknown: tuple[str, ...] = ()

    @property
    def mutable(self) -> Mutable:
        """Its part of these; whose books are asked, and how, is no part of it."""
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
