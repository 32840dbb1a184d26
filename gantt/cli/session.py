"""Shared by all commands on the books: connection, authentication, output format.

Separate from the nouns so that each command has only its own logic.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Concatenate, Final, ParamSpec, TypeVar, cast

import click
from click.core import ParameterSource
from msgspec import Struct

from gantt.cli.failure import refusals_reported
from gantt.cli.output import (
    DOCUMENTS,
    places_of,
    print_document,
    print_record,
    print_rows,
)
from gantt.cli.program import output_options
from gantt.errors import Invalid, NotFound
from gantt.model.answers import Provider
from gantt.model.names import canonical_uuid
from gantt.model.protocol import GanttProtocol
from gantt.model.requests import ProviderQuery

DEFAULT_URL = "http://127.0.0.1:8778"

P = ParamSpec("P")
F = TypeVar("F", bound=Callable[..., Any])


class Session(Struct, frozen=True):
    """The books that a command works on, its output format, and the columns to
    print."""

    books: GanttProtocol
    output: str
    columns: tuple[str, ...] = ()

    @property
    def is_whole(self) -> bool:
        """Whether all of an answer is printed: JSON and YAML of no chosen columns."""
        return self.output in DOCUMENTS and not self.columns

    @property
    def is_prose(self) -> bool:
        """Whether an answer may be printed as text with tables in it."""
        return self.output == "table" and not self.columns

    def expect(self, *columns: str) -> None:
        """Refuse ``-c`` of other columns than these, before anything is changed.
        Raises click.UsageError."""
        places_of(self.columns, columns)

    def print_rows(self, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """Print a listing."""
        print_rows(self.output, columns, rows, self.columns)

    def print_record(self, record: dict[str, Any]) -> None:
        """Print one record."""
        print_record(self.output, record, self.columns)

    def print_document(self, document: object) -> None:
        """Print what has no columns, as YAML or JSON."""
        print_document(document, "yaml" if self.output == "yaml" else "json")

    def print_answer(
        self, found: object, columns: Sequence[str], rows: Iterable[Sequence[Any]]
    ) -> None:
        """Print an answer: all of it in JSON and YAML, else as a listing."""
        if self.is_whole:
            self.print_document(found)
        else:
            self.print_rows(columns, rows)

    def uuid_of(self, text: str) -> str:
        """As ``provider``, its uuid."""
        return self.provider(text).uuid

    def provider(self, text: str) -> Provider:
        """The provider with this uuid or name. Raises NotFound, Invalid."""
        by_name = self.books.list_providers(ProviderQuery(name=text)) if text else ()
        by_uuid = self._by_uuid(text)
        found = {provider.uuid: provider for provider in (*by_uuid, *by_name)}
        if not found:
            raise NotFound(
                f"There is no provider with the name or uuid {text!r}: "
                "'gantt provider list' shows all providers."
            )
        if len(found) > 1:
            raise Invalid(
                f"{text!r} is the uuid of one provider and the name of another "
                f"({', '.join(found)}): give the uuid of the one you mean."
            )
        return next(iter(found.values()))

    def _by_uuid(self, text: str) -> tuple[Provider, ...]:
        # As given first: paths and stored uuids are matched verbatim.
        for uuid in dict.fromkeys((text, canonical_uuid(text) or "")):
            if canonical_uuid(uuid) is None:
                continue
            try:
                return (self.books.get_provider(uuid),)
            except NotFound:
                continue
        return ()


def open_books(url: str, token: str) -> GanttProtocol:
    """The books at ``url``; the token is for a service, databases need none."""
    if url.startswith(("http://", "https://")):
        from gantt.client.remote import RemoteGantt

        return RemoteGantt(url, token=token)
    # Loads numpy and SQLAlchemy, which a command over HTTP does not need.
    from gantt.connection import connect

    return connect(url)


def repeated(flag: str, metavar: str, text: str) -> Callable[[F], F]:
    """An option that may be given several times."""
    return click.option(flag, multiple=True, metavar=metavar, help=text)


def _from_above(context: click.Context, option: click.Parameter, given: str) -> str:
    """The value given to this command, or before its name to a group above it, which
    precedes environment and default."""
    name, typed = str(option.name), ParameterSource.COMMANDLINE
    above = given_above(context)
    if context.get_parameter_source(name) is typed or name not in above:
        return given
    context.set_parameter_source(name, typed)
    return above[name]


def given_above(context: click.Context) -> dict[str, str]:
    """Options of the books that were given before the name of the command."""
    found: dict[str, str] = context.meta.setdefault(__name__, {})
    return found


def _remember(context: click.Context, option: click.Parameter, given: Any) -> None:
    if given is not None:
        given_above(context)[str(option.name)] = given


def with_books_options(group: click.Group) -> None:
    """Let ``group`` and the groups in it take ``--url`` and ``--token`` before the
    names of their commands."""
    takers = [one for one in group.commands.values() if takes_books(one)]
    if takers:
        group.params += [
            click.Option(
                [flag],
                callback=_remember,
                expose_value=False,
                help=f"As {flag} of the commands.",
            )
            for flag in ("--url", "--token")
        ]
    for one in takers:
        if isinstance(one, click.Group):
            with_books_options(one)


def takes_books(command: click.Command) -> bool:
    """Whether a command, or one in it, works on the books at ``--url``."""
    if isinstance(command, click.Group):
        return any(map(takes_books, command.commands.values()))
    return any(one.name == "url" for one in command.params)


def where_option(what: str) -> Callable[[F], F]:
    """``--url`` of the books."""
    return click.option(
        "--url",
        envvar="GANTT_URL",
        default=DEFAULT_URL,
        callback=_from_above,
        show_default=True,
        show_envvar=True,
        help=f"{what}: a service (http://…) or a database (sqlite:///…).",
    )


token_option: Final = click.option(
    "--token",
    envvar="GANTT_TOKEN",
    default="admin",
    callback=_from_above,
    show_envvar=True,
    help="Token for the service, sent as X-Auth-Token.",
)


def books_command(
    function: Callable[Concatenate[Session, P], None],
) -> Callable[P, None]:
    """Add ``--url``, ``--token``, ``-o`` and ``-c`` to a command, and pass it a
    Session."""

    @where_option("Books to use")
    @token_option
    @output_options
    @functools.wraps(function)
    def command(*args: P.args, **kwargs: P.kwargs) -> None:
        url, token = str(kwargs.pop("url")), str(kwargs.pop("token"))
        output, columns = str(kwargs.pop("output")), kwargs.pop("columns")
        with refusals_reported():
            books = open_books(url, token)
            try:
                session = Session(books, output, cast("tuple[str, ...]", columns))
                function(session, *args, **kwargs)
            finally:
                books.close()

    return command
