"""``gantt serve``: run the service; ``--register-machine`` adds a first host.

Thin: ``gantt.conf`` handles configuration, ``gantt.api.hosting.server`` serves.
"""

from __future__ import annotations

import shlex
import shutil
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gantt.cli.connection_options import DEFAULT_URL
from gantt.cli.failure import refusals_reported
from gantt.cli.option_kinds import switch
from gantt.cli.output import bars, say
from gantt.cli.program import config_file_option, log_json_option, overrides_of
from gantt.errors import Refused
from gantt.model.printable import printable

if TYPE_CHECKING:
    from gantt.agent.register import Registration
    from gantt.conf import Settings
    from gantt.model.protocol import GanttProtocol


@click.command("serve")
@click.option("--database", metavar="URL", help="Database that holds the books.")
@click.option("--listen", metavar="HOST:PORT", help="Default: 127.0.0.1:8778.")
@click.option(
    "--auth",
    type=click.Choice(("noauth2", "token", "keystone")),
    help="Authentication strategy. Default: as configured; noauth2 without a "
    "configuration file.",
)
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    help="Number of worker processes; default: 1.",
)
@config_file_option(
    "Configuration file; may be repeated. Command-line options take precedence."
)
@switch("--insecure-bind", "Allow noauth2 on an address that other machines can reach.")
@log_json_option
@switch(
    "--register-machine",
    "Register this machine in the books as a provider and as a host.",
)
def serve(
    database: str | None,
    listen: str | None,
    auth: str | None,
    workers: int | None,
    config_files: tuple[str, ...],
    insecure_bind: bool,
    log_json: bool,
    register_machine: bool,
) -> None:
    """Serve the Placement API and Gantt's own until SIGTERM or SIGINT.

    SIGHUP reloads the options that may change at runtime: [DEFAULT] debug, freshness,
    the scheduler's options.

    \b
    Example:
      gantt serve --database sqlite:///gantt.db --auth noauth2
    """
    given: dict[tuple[str, str], Any] = {
        ("placement_database", "connection"): database,
        ("gantt", "listen"): listen,
        ("api", "auth_strategy"): auth,
        ("gantt", "workers"): workers,
        ("gantt", "allow_insecure_bind"): insecure_bind or None,
        ("DEFAULT", "use_json"): log_json or None,
    }
    with refusals_reported():
        from gantt.api.hosting import server
        from gantt.conf import ConfigSource

        source = ConfigSource(config_files, overrides_of(given), default_auth="noauth2")
        settings = source.load()
        server.check_bind(settings)
        server.check_database(settings)
        server.check_port(settings.serve)
        prepare(settings, register_machine=register_machine)
        server.serve(source)


def prepare(settings: Settings, *, register_machine: bool) -> None:
    """Open the books once before anything listens, so that errors are reported here
    and not by each worker. Raises Refused, StoreFailed."""
    from gantt.conf import placement_session
    from gantt.connection import open_gantt
    from gantt.store import schema

    if settings.database_url == "memory://":
        if register_machine:
            raise Refused(
                "memory:// starts empty in the serving process, so a machine cannot "
                "be registered in advance: give a database, such as "
                "--database sqlite:///gantt.db."
            )
        return
    if not register_machine:
        options = settings.engine.store
        if options.create:
            schema.sync(settings.database_url, options, spares_newer=True)
        # The worker loads the books; loading them here too would double the wait.
        schema.check(settings.database_url, options)
        return
    session = placement_session(settings)
    with bars(is_shown=True) as show:
        opened = open_gantt(
            settings.database_url,
            settings.engine,
            session=session,
            progress=partial(show, "rows loaded"),
        )
    with opened as books:
        registration, refusal = _register(books)
        say(welcome(settings, registration, refusal, _place(books.url)))


def _register(books: GanttProtocol) -> tuple[Registration, str]:
    """The provider of this machine, and why it is not a host, if it is not."""
    from gantt.agent.machine import (
        default_collectors,
        describe,
        machine_name,
        machine_uuid,
    )
    from gantt.agent.register import register
    from gantt.agent.report import report

    name = machine_name()
    part = describe(default_collectors())
    if part.problems:
        raise Refused(f"This machine cannot be described: {part.problems[0]}.")
    registration = register(books, part, name=name, uuid=machine_uuid(name))
    _, refusal = report(books, part, registration.provider)
    return registration, refusal


def welcome(
    settings: Settings, registration: Registration, refusal: str, place: str
) -> str:
    """Addresses and names, and a few commands to paste."""
    name = printable(registration.provider.name)
    provider = shlex.quote(name)
    program, options = _program(), _options(settings)
    state = "registered" if registration.has_written else "already registered"
    return "\n".join(
        (
            f"Database: {place}",
            f"Address:  {_address(settings)}",
            f"Token:    {_token(settings)}",
            f"Machine:  {name} ({registration.provider.uuid}), {state}",
            *([f"Not a host: {printable(refusal)}"] if refusal else ()),
            "",
            "Try this in another terminal, in the same folder:",
            "",
            f"  {program} candidates VCPU=1 MEMORY_MB=512{options}",
            f"  {program} allocation set new --provider {provider} "
            f"VCPU=1 MEMORY_MB=512{options}",
            f"  {program} usage show {provider}{options}",
            f"  {program} select --flavor vcpus=1,memory_mb=512,disk_gb=1{options}",
            "",
        )
    )


def _place(url: str) -> str:
    """The path of an SQLite file; other databases by their URL."""
    if not url.startswith("sqlite"):
        return url
    return str(Path(url.partition("///")[2].partition("?")[0]).absolute())


def _address(settings: Settings) -> str:
    host = settings.serve.host
    return f"http://{f'[{host}]' if ':' in host else host}:{settings.serve.port}"


def _token(settings: Settings) -> str:
    if settings.auth.strategy == "noauth2":
        return "admin (header X-Auth-Token; noauth2 does not verify it)"
    if settings.auth.strategy == "token":
        return f"any with the role admin in {settings.auth.tokens_file}"
    return "from Keystone: openstack token issue"


def _options(settings: Settings) -> str:
    """Options that the pasted commands need because they differ from the defaults."""
    address = _address(settings)
    options = "" if address == DEFAULT_URL else f" --url {address}"
    if settings.auth.strategy != "noauth2":
        options += " --token TOKEN"
    return options


def _program() -> str:
    """The path this program was run as, or its bare name if it is on PATH."""
    called = sys.argv[0]
    found = shutil.which("gantt")
    if found and Path(found).resolve() == Path(called).resolve():
        return "gantt"
    return shlex.quote(called) if called.endswith("gantt") else "gantt"
