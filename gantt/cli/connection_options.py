"""Where the books are, and how to sign in there: options of all commands on them.

They may stand before or after the names of a command. Without ``--url`` and
``--token``, a cloud that ``OS_*`` variables or clouds.yaml name is signed in to, as
OpenStack's clients do.
"""

from __future__ import annotations

import functools
import logging
import math
import os
from collections.abc import Callable
from typing import Any, Final, TypeVar

import click
from click.core import ParameterSource
from msgspec import Struct

from gantt.cli.command_traces import Propagate
from gantt.errors import Invalid
from gantt.model.protocol import GanttProtocol
from gantt.model.record import SUFFIX

DEFAULT_URL: Final = "http://127.0.0.1:8778"
TIMEOUT_S: Final = 60.0
_HTTP: Final = ("http://", "https://")
_NAMES: Final = ("url", "token", "os_cloud", "http_timeout")

F = TypeVar("F", bound=Callable[..., Any])


class BooksLocation(Struct, frozen=True):
    """Books, and who asks. ``is_given``: ``url`` was named, and is not the default.
    ``cloud``: to sign in to; None: ``token`` is sent; "": the one of the variables.
    ``timeout_s``: for connecting, and for each wait for an answer."""

    url: str
    token: str
    is_given: bool
    cloud: str | None
    timeout_s: float


def open_books(where: BooksLocation, propagate: Propagate = dict) -> GanttProtocol:
    """The books there; ``propagate``: headers to send along. Raises Refused,
    SignInRefused, Unavailable, and what a database raises."""
    is_remote = where.url.startswith(_HTTP)
    is_cloud = where.cloud is not None and (is_remote or not where.is_given)
    if is_cloud or is_remote:
        from gantt.client.remote import RemoteGantt

        url, who = (
            _signed_in(where) if is_cloud else (where.url, {"token": where.token})
        )
        return RemoteGantt(url, **who, timeout=where.timeout_s, propagate=propagate)
    if "://" not in where.url and where.url.endswith(SUFFIX):
        raise Invalid(
            f"{where.url} is named as a file of a record or a snapshot, not a "
            "database: gantt select and gantt capacity read one with --what-if FILE; "
            "an empty FILE changes nothing."
        )
    # Loads numpy and SQLAlchemy, which a command over HTTP does not need.
    from gantt.connection import connect

    return connect(where.url)


def _signed_in(where: BooksLocation) -> tuple[str, dict[str, Any]]:
    """The service of the cloud, and the session to ask it in. Raises Refused,
    SignInRefused."""
    from gantt.client.clouds import sign_in

    # What it logs is in the message; without a handler Python would print it.
    logging.getLogger("keystoneauth").addHandler(logging.NullHandler())
    url = where.url if where.is_given else ""
    found = sign_in(where.cloud or "", os.environ, url=url, timeout_s=where.timeout_s)
    return found.url, {"session": found.session}


def where_options(what: str) -> Callable[[F], Callable[..., Any]]:
    """``--url``, ``--token``, ``--os-cloud`` and ``--http-timeout``, passed as
    ``where``. ``what`` the books are for."""

    def decorate(function: F) -> Callable[..., Any]:
        @functools.wraps(function)
        def command(*args: Any, **kwargs: Any) -> Any:
            given = {name: kwargs.pop(name) for name in _NAMES}
            return function(*args, where=_where(given), **kwargs)

        for option in reversed(_options(f"{what}: a service (http://…) or a database")):
            command = option(command)
        return command

    return decorate


def _options(what: str) -> list[Callable[[Callable[..., Any]], Callable[..., Any]]]:
    return [
        click.option(
            "--url",
            envvar="GANTT_URL",
            default=DEFAULT_URL,
            callback=_from_above,
            show_default=True,
            show_envvar=True,
            help=f"{what} (sqlite:///…). With a cloud: default of its catalogue.",
        ),
        click.option(
            "--token",
            envvar="GANTT_TOKEN",
            default="admin",
            callback=_from_above,
            show_envvar=True,
            help="Token for the service, sent as X-Auth-Token.",
        ),
        click.option(
            "--os-cloud",
            metavar="CLOUD",
            callback=_from_above,
            help="Sign in at the Keystone of this cloud of clouds.yaml. Default: as "
            "OS_CLOUD or OS_AUTH_URL and its like say, where no token is given.",
        ),
        click.option(
            "--http-timeout",
            type=_SECONDS,
            metavar="SECONDS",
            envvar="GANTT_HTTP_TIMEOUT",
            default=TIMEOUT_S,
            callback=_from_above,
            show_default=True,
            show_envvar=True,
            help="Seconds to wait for a silent service.",
        ),
    ]


class _Seconds(click.FloatRange):
    """Refuses nan as well, which compares as within every range."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        found = super().convert(value, param, ctx)
        if math.isnan(found):
            self.fail("nan is not a number of seconds.", param, ctx)
        return found


_SECONDS: Final = _Seconds(0.1, 86_400)


def _where(given: dict[str, Any]) -> BooksLocation:
    """Raises click.UsageError."""
    url, token, cloud, timeout_s = (given[name] for name in _NAMES)
    source = click.get_current_context().get_parameter_source
    typed, none = ParameterSource.COMMANDLINE, ParameterSource.DEFAULT
    if cloud is not None and source("token") is typed:
        raise click.UsageError("Give --token or --os-cloud, not both.")
    has_token = source("token") is not none
    is_named = bool(os.environ.get("OS_CLOUD") or os.environ.get("OS_AUTH_URL"))
    if cloud is None and not has_token and is_named:
        cloud = ""
    return BooksLocation(url, token, source("url") is not none, cloud, timeout_s)


def _from_above(context: click.Context, option: click.Parameter, given: Any) -> Any:
    """The value given to this command, or before its name to a group above it, which
    precedes environment and default."""
    name, typed = str(option.name), ParameterSource.COMMANDLINE
    above = given_above(context)
    if context.get_parameter_source(name) is typed or name not in above:
        return given
    context.set_parameter_source(name, typed)
    return above[name]


def given_above(context: click.Context) -> dict[str, Any]:
    """Options of the books that were given before the name of the command."""
    found: dict[str, Any] = context.meta.setdefault(__name__, {})
    return found


def _remember(context: click.Context, option: click.Parameter, given: Any) -> None:
    if given is not None:
        given_above(context)[str(option.name)] = given


def with_where_options(group: click.Group) -> None:
    """Let ``group`` and the groups in it take these options before the names of their
    commands."""
    takers = [one for one in group.commands.values() if takes_books(one)]
    if takers:
        group.params += [
            click.Option(
                [flag],
                callback=_remember,
                expose_value=False,
                type=_SECONDS if flag == "--http-timeout" else None,
                metavar=metavar,
                help=f"As {flag} of the commands.",
            )
            for flag, metavar in (
                ("--url", None),
                ("--token", None),
                ("--os-cloud", "CLOUD"),
                ("--http-timeout", "SECONDS"),
            )
        ]
    for one in takers:
        if isinstance(one, click.Group):
            with_where_options(one)


def takes_books(command: click.Command) -> bool:
    """Whether a command, or one in it, works on the books at ``--url``."""
    if isinstance(command, click.Group):
        return any(map(takes_books, command.commands.values()))
    return any(one.name == "url" for one in command.params)
