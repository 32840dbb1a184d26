"""Shared by all commands on the books: an open session, and the output format.

Separate from the nouns so that each command has only its own logic.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

import click
from msgspec import Struct

from gantt.cli.command_traces import traced
from gantt.cli.connection_options import BooksLocation, open_books, where_options
from gantt.cli.failure import refusals_reported
from gantt.cli.output import (
    DOCUMENTS,
    places_of,
    print_document,
    print_record,
    print_rows,
)
from gantt.cli.program import output_options
from gantt.cli.text_columns import TextColumns
from gantt.cli.what_if_engines import WhatIfEngines, open_tried
from gantt.errors import Invalid, NotFound
from gantt.model.answers import Provider
from gantt.model.names import canonical_uuid, spellings
from gantt.model.protocol import GanttProtocol
from gantt.model.requests import ProviderQuery
from gantt.model.spec import Flavor

P = ParamSpec("P")
F = TypeVar("F", bound=Callable[..., Any])


class CommandSession(Struct, frozen=True):
    """What a command works on, its output format, and the columns to print.
    ``opened``: the books, or copies of them, one changed (``--what-if``)."""

    opened: GanttProtocol | WhatIfEngines
    output: str
    columns: tuple[str, ...] = ()

    @property
    def books(self) -> GanttProtocol:
        """Those that are asked."""
        return (
            self.opened.live if isinstance(self.opened, WhatIfEngines) else self.opened
        )

    @property
    def tried(self) -> WhatIfEngines | None:
        """Two copies instead, if it is so."""
        return self.opened if isinstance(self.opened, WhatIfEngines) else None

    def named_flavors(self) -> tuple[Flavor, ...]:
        """Those that the configuration names; no copy is made for that."""
        tried = self.tried
        return self.books.named_flavors() if tried is None else tried.named_flavors()

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

    def print_each(self, columns: TextColumns, found: Iterable[object]) -> None:
        """Print a line for each thing."""
        self.print_rows(columns.names, columns.rows(found))

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
        """The uuid of the provider that ``text`` names, by its name or uuid."""
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
        for uuid in spellings(text) if canonical_uuid(text) is not None else ():
            try:
                return (self.books.get_provider(uuid),)
            except NotFound:
                continue
        return ()


def books_command(
    function: Callable[Concatenate[CommandSession, P], None],
) -> Callable[P, None]:
    """Add the options that say where the books are, ``-o`` and ``-c`` to a command, and
    pass it a CommandSession."""

    @where_options("Books to use")
    @output_options
    @functools.wraps(function)
    def command(*args: P.args, **kwargs: P.kwargs) -> None:
        where = cast("BooksLocation", kwargs.pop("where"))
        output, columns = str(kwargs.pop("output")), kwargs.pop("columns")
        what_if = kwargs.pop("what_if", None)
        path = click.get_current_context().command_path
        with refusals_reported(), traced(path, os.environ) as propagate:
            opened: GanttProtocol | WhatIfEngines
            if isinstance(what_if, Path):
                opened = open_tried(where, what_if)
            else:
                opened = open_books(where, propagate)
            try:
                session = CommandSession(
                    opened, output, cast("tuple[str, ...]", columns)
                )
                function(session, *args, **kwargs)
            finally:
                opened.close()

    return command
