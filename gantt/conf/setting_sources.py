"""From files, the environment and overrides to ``Settings``.

Nothing that Gantt reads is global: an entry point loads the settings and passes values
down. What other packages read is (``guests``).
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace
from oslo_config import cfg

from gantt.conf import (
    advice_settings,
    credentials,
    guests,
    rpc,
    scheduler_settings,
    stream,
)
from gantt.conf.option_table import values_of
from gantt.conf.options import IGNORED, PROBES, RETIRED, Options, list_opts
from gantt.conf.references import add_references
from gantt.conf.suspect_values import check_written
from gantt.conf.unknown_options import unknown_options
from gantt.conf.values import (
    SYSTEM_DIRECTORY,
    ApiOptions,
    AuthOptions,
    LogOptions,
    ServeOptions,
    Settings,
    TracingOptions,
)
from gantt.engine.options import EngineOptions, RecordOptions, ShadowOptions
from gantt.errors import Refused
from gantt.liveness.options import CoordinationOptions
from gantt.model.addresses import split_listen
from gantt.scheduler.options import SchedulerOptions
from gantt.store.interface import StoreOptions

MEMORY = "memory://"
_CONNECTION = ("placement_database", "connection")


class ConfigSource(Struct, frozen=True):
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
    doubtful = check_written(files, directories, known)
    probe = _parse(files, directories, list(PROBES.items()))
    keystone = _parse(files, directories, [(credentials.GROUP, credentials.OPTIONS)])
    if not (files or directories):
        ours.set_default("auth_strategy", default_auth, "api")
    try:
        for (group, name), value in overrides.items():
            ours.set_override(name, value, None if group == "DEFAULT" else group)
        places = tuple(files + directories)
        unknown = unknown_options(
            places, environ, known + list(PROBES.items()), RETIRED
        )
        named = None if _CONNECTION in overrides else _named(config_files)
        settings = _settings(ours, probe, places, (*unknown, *doubtful), named)
        found = replace(settings, identity=credentials.identity_options(keystone))
    except (cfg.Error, OSError, ValueError) as error:
        raise Refused(f"The configuration cannot be used: {error}") from error
    guests.lend(files, directories)
    return found


def engine_options(*config_files: str) -> EngineOptions:
    """The options of an engine and its scheduler that these files set, for a library
    user's ``connect``: a ``nova.conf`` as it is, or files of Gantt. Raises Refused."""
    return load(config_files).engine


def policy_options(config_files: tuple[str, ...]) -> SchedulerOptions:
    """The policy of these files, else the default. Raises Refused."""
    if not config_files:
        return SchedulerOptions()
    return ConfigSource(config_files).load().engine.scheduler


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
    files: list[str], directories: list[str], options: Options
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
    except cfg.Error as error:
        raise Refused(f"The configuration cannot be read: {error}") from error
    except UnicodeError as error:
        raise Refused(
            f"The configuration cannot be read: {_not_utf8(files, directories)} is not "
            f"UTF-8 ({error})."
        ) from error
    add_references(conf)
    return conf


def _not_utf8(files: list[str], directories: list[str]) -> str:
    """The file and line that oslo.config, which does not name it, stopped at."""
    inside = (sorted(Path(one).glob("*.conf")) for one in directories)
    for file in (*map(Path, files), *chain.from_iterable(inside)):
        with suppress(OSError):
            text = file.read_bytes()
            try:
                text.decode()
            except UnicodeDecodeError as error:
                line = text.count(b"\n", 0, error.start) + 1
                return f"{file}, line {line},"
    return "a file"


def _ignored() -> Options:
    return [
        (group, [cfg.StrOpt(name) for name in names])
        for group, names in IGNORED.items()
    ]


def _named(config_files: Sequence[str]) -> str:
    """The options that name these files to the programs; "": the default files."""
    return shlex.join(f"--config-file={name}" for name in config_files)


def _engine_options(ours: cfg.ConfigOpts, named: str | None) -> EngineOptions:
    database, own = ours.placement_database, ours.gantt
    return values_of(
        own,
        EngineOptions,
        # Half of the threads stay free for requests that do not wait.
        patient=min(own.patient, max(1, own.blocking_threads // 2)),
        # No other process can write to memory.
        poll_ms=0 if database.connection == MEMORY else own.poll_ms,
        heartbeats=not ours.coordination.backend_url,
        commit_attempts=max(1, ours.placement.allocation_conflict_retry_count),
        scheduler=scheduler_settings.scheduler_options(ours),
        advice=advice_settings.advice_options(own),
        shadow=values_of(own, ShadowOptions),
        recording=values_of(own, RecordOptions),
        store=values_of(
            own,
            StoreOptions,
            create=database.sync_on_startup,
            pool_size=database.max_pool_size or own.blocking_threads,
            list_connections=own.list_threads,
            named=named,
        ),
    )


def _settings(
    ours: cfg.ConfigOpts,
    probe: cfg.ConfigOpts,
    files: tuple[str, ...],
    unknown: tuple[str, ...],
    named: str | None,
) -> Settings:
    own = ours.gantt
    host, port = split_listen(own.listen)
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
        database_url=ours.placement_database.connection or "",
        api=values_of({**ours.placement, **own}, ApiOptions),
        auth=values_of(
            own,
            AuthOptions,
            strategy=ours.api.auth_strategy,
            advice_from=advice_settings.trusted(own, ours.api.auth_strategy),
        ),
        serve=values_of(own, ServeOptions, host=host, port=port),
        engine=_engine_options(ours, named),
        rpc=rpc.rpc_options(ours),
        coordination=values_of(ours.coordination, CoordinationOptions),
        stream=stream.stream_options(ours.stream),
        log=values_of(ours, LogOptions),
        tracing=values_of(ours.tracing, TracingOptions),
        allowed_origin=tuple(probe.cors.allowed_origin),
        proxy_headers=probe.oslo_middleware.enable_proxy_headers_parsing,
        enforce_scope=probe.oslo_policy.enforce_scope,
        enforce_new_defaults=probe.oslo_policy.enforce_new_defaults,
        policy_file=probe.oslo_policy.policy_file,
    )
