"""From files, the environment and overrides to ``Settings``.

Nothing here is global: an entry point loads the settings and passes values down.
"""

from __future__ import annotations

import math
import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct
from oslo_config import cfg

from gantt.conf import scheduling
from gantt.conf.options import GANTT, IGNORED, PROBES, Options, list_opts
from gantt.conf.unknown import unknown_options
from gantt.conf.values import (
    SYSTEM_DIRECTORY,
    ApiOptions,
    AuthOptions,
    LogOptions,
    ServeOptions,
    Settings,
)
from gantt.engine.options import EngineOptions
from gantt.errors import Refused
from gantt.store.interface import StoreOptions

MEMORY = "memory://"
_CONNECTION = ("placement_database", "connection")


class Source(Struct, frozen=True):
    """Where settings come from: small enough to pass to another process."""

    config_files: tuple[str, ...] = ()
    overrides: tuple[tuple[str, str, Any], ...] = ()
    default_auth: str = "keystone"

    def load(self) -> Settings:
        """Read all settings. Raises Refused."""
        return load(
            self.config_files,
            overrides={(group, name): value for group, name, value in self.overrides},
            default_auth=self.default_auth,
        )


def load(
    config_files: Sequence[str] = (),
    *,
    overrides: Mapping[tuple[str, str], Any] | None = None,
    environ: Mapping[str, str] | None = None,
    default_auth: str = "keystone",
) -> Settings:
    """Read files and environment; ``overrides`` (group, name) -> value, for options
    defined here, take precedence over both.

    Without ``config_files``: ``$OS_PLACEMENT_CONFIG_DIR/placement.conf``, then
    gantt.conf and gantt.conf.d of ``$OS_GANTT_CONFIG_DIR`` or /etc/gantt; later files
    win. ``default_auth`` applies only if no file is read: a file without
    auth_strategy means keystone, as it does upstream. Raises Refused.
    """
    environ = os.environ if environ is None else environ
    files, directories = _find(config_files, environ)
    known = list_opts() + _ignored()
    overrides = overrides or {}
    ours = _parse(files, directories, known)
    probe = _parse(files, directories, list(PROBES.items()))
    if not (files or directories):
        ours.set_default("auth_strategy", default_auth, "api")
    try:
        for (group, name), value in overrides.items():
            ours.set_override(name, value, None if group == "DEFAULT" else group)
        places = tuple(files + directories)
        unknown = unknown_options(places, environ, known + list(PROBES.items()))
        named = None if _CONNECTION in overrides else _named(config_files)
        return _settings(ours, probe, places, unknown, named)
    except (cfg.Error, OSError, ValueError) as error:
        raise Refused(f"The configuration cannot be used: {error}") from error


def split_listen(listen: str) -> tuple[str, int]:
    """Parse ``HOST:PORT`` or ``[V6]:PORT``. Raises Refused."""
    host, colon, port = listen.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not (colon and host and port.isdigit() and int(port) < 65536):
        raise Refused(f"Cannot listen on {listen!r}: it must look like 127.0.0.1:8778.")
    return host, int(port)


def _find(
    given: Sequence[str], environ: Mapping[str, str]
) -> tuple[list[str], list[str]]:
    """Files and directories to read, in increasing order of precedence."""
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
    """Parse the files with only these options registered."""
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


def _serve_options(own: Any) -> ServeOptions:
    host, port = split_listen(own.listen)
    return ServeOptions(
        host,
        port,
        own.workers,
        own.blocking_threads,
        own.allow_insecure_bind,
        own.drain_s,
        own.drain_delay_s,
        own.run_directory,
        own.waiting_requests,
        own.body_timeout_s,
        own.bodies_bytes,
    )


def _named(config_files: Sequence[str]) -> str:
    """The options that name these files to the programs; "": the default files."""
    return shlex.join(f"--config-file={name}" for name in config_files)


def _engine_options(ours: cfg.ConfigOpts, named: str | None) -> EngineOptions:
    placement, database, own = ours.placement, ours.placement_database, ours.gantt
    return EngineOptions(
        freshness=own.freshness,
        bound_ms=own.bound_ms,
        batch_size=own.batch_size,
        queue_length=own.queue_length,
        planning_ms=own.planning_ms,
        answer_timeout_s=own.answer_timeout_s,
        wait_s=own.wait_s,
        # Half of the threads stay free for requests that do not wait.
        patient=min(own.patient, max(1, own.blocking_threads // 2)),
        search_budget=own.search_budget,
        search_slice_ms=own.search_slice_ms,
        log_length=own.log_length,
        leader_silence_s=own.leader_silence_s,
        usage_sample_s=own.usage_sample_s,
        usage_classes=own.usage_classes,
        usage_5m_days=own.usage_5m_days,
        usage_hour_days=own.usage_hour_days,
        usage_day_days=own.usage_day_days,
        # No other process can write to memory.
        poll_ms=0 if database.connection == MEMORY else own.poll_ms,
        commit_attempts=max(1, placement.allocation_conflict_retry_count),
        scheduler=scheduling.scheduler_options(ours),
        store=_store_options(database, own, named),
    )


def _store_options(database: Any, own: Any, named: str | None) -> StoreOptions:
    return StoreOptions(
        create=database.sync_on_startup,
        lock_timeout_s=own.lock_timeout_s,
        idle_timeout_s=own.idle_timeout_s,
        pool_size=database.max_pool_size or own.blocking_threads,
        tail_limit=own.tail_limit,
        named=named,
    )


def _check_numbers(own: Any) -> None:
    """Raises Refused for nan, which compares as within every limit."""
    for option in GANTT:
        value = own[option.dest]
        if isinstance(value, float) and math.isnan(value):
            raise Refused(f"{option.name} of [gantt] must be a number, not nan.")


def _settings(
    ours: cfg.ConfigOpts,
    probe: cfg.ConfigOpts,
    files: tuple[str, ...],
    unknown: tuple[str, ...],
    named: str | None,
) -> Settings:
    placement, database, own = ours.placement, ours.placement_database, ours.gantt
    _check_numbers(own)
    return Settings(
        # Libraries define the options that we probe themselves, and two definitions
        # of one name clash: they get a ConfigOpts of their own.
        oslo=_parse(
            [name for name in files if Path(name).is_file()],
            [name for name in files if Path(name).is_dir()],
            [],
        ),
        files=files,
        unknown=unknown,
        database_url=database.connection or "",
        api=ApiOptions(
            placement.incomplete_consumer_project_id,
            placement.incomplete_consumer_user_id,
            placement.max_allocation_candidates,
            placement.allocation_candidates_generation_strategy,
            placement.randomize_allocation_candidates,
            own.max_body_bytes,
            own.max_query_bytes,
            own.watch_heartbeat_s,
            own.watch_stream_s,
            own.watch_stream_bytes,
        ),
        auth=AuthOptions(ours.api.auth_strategy, own.tokens_file),
        serve=_serve_options(own),
        engine=_engine_options(ours, named),
        log=LogOptions(ours.debug, ours.use_json),
        allowed_origin=tuple(probe.cors.allowed_origin),
        proxy_headers=probe.oslo_middleware.enable_proxy_headers_parsing,
        enforce_scope=probe.oslo_policy.enforce_scope,
        enforce_new_defaults=probe.oslo_policy.enforce_new_defaults,
        policy_file=probe.oslo_policy.policy_file,
    )
