"""Shared by all commands on the books: connection, authentication, output format.

Separate from the nouns so that each command has only its own logic.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

import click
from msgspec import Struct

from gantt.cli.failure import refusals_reported
from gantt.cli.output import FORMATS, print_document, print_record, print_rows
from gantt.errors import Invalid, NotFound
from gantt.model.answers import Provider
from gantt.model.names import canonical_uuid
from gantt.model.protocol import GanttProtocol
from gantt.model.requests import ProviderQuery

DEFAULT_URL = "http://127.0.0.1:8778"

P = ParamSpec("P")
F = TypeVar("F", bound=Callable[..., Any])


class Session(Struct, frozen=True):
    """The books that a command works on, and its output format."""

    books: GanttProtocol
    output: str

    def print_rows(self, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """Print a listing."""
        print_rows(self.output, columns, rows)

    def print_record(self, record: dict[str, Any]) -> None:
        """Print one record."""
        print_record(self.output, record)

    def print_answer(
        self, found: object, columns: Sequence[str], rows: Iterable[Sequence[Any]]
    ) -> None:
        """Print an answer: all of it in JSON, else as a listing."""
        if self.output == "json":
            print_document(found)
        else:
            print_rows(self.output, columns, rows)

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


def where_option(what: str) -> Callable[[F], F]:
    """``--url`` of the books."""
    return click.option(
        "--url",
        envvar="GANTT_URL",
        default=DEFAULT_URL,
        show_default=True,
        show_envvar=True,
        help=f"{what}: a service (http://…) or a database (sqlite:///…).",
    )


token_option: Final = click.option(
    "--token",
    envvar="GANTT_TOKEN",
    default="admin",
    show_envvar=True,
    help="Token for the service, sent as X-Auth-Token.",
)


def books_command(
    function: Callable[Concatenate[Session, P], None],
) -> Callable[P, None]:
    """Add ``--url``, ``--token`` and ``-o`` to a command, and pass it a Session."""

    @where_option("Books to use")
    @token_option
    @click.option(
        "-o",
        "--output",
        type=click.Choice(FORMATS),
        default="table",
        show_default=True,
        help="Output format.",
    )
    @functools.wraps(function)
    def command(*args: P.args, **kwargs: P.kwargs) -> None:
        url, token = str(kwargs.pop("url")), str(kwargs.pop("token"))
        output = str(kwargs.pop("output"))
        with refusals_reported():
            books = open_books(url, token)
            try:
                function(Session(books, output), *args, **kwargs)
            finally:
                books.close()

    return command
