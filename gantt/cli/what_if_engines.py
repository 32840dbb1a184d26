"""``--what-if FILE``: the same question to two copies of the books, one changed.

Both copies are of one snapshot, so that a difference is due to the change alone; the
live books are only read.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, Any, Final, TypeVar

import click
from msgspec.structs import replace

from gantt.cli.connection_options import BooksLocation, open_books
from gantt.cli.output import plain, say
from gantt.errors import Invalid
from gantt.model.spec import Flavor, RequestSpec

if TYPE_CHECKING:
    from gantt.engine.gantt import Gantt
    from gantt.model.usage_history import UsageRecord
    from gantt.replay.snapshots import LoadedSnapshot
    from gantt.replay.what_if import WhatIf

# Longer than the last line of a snapshot.
_TAIL: Final = 4_096
F = TypeVar("F", bound=Callable[..., Any])

what_if_option: Final[Callable[[F], F]] = click.option(
    "--what-if",
    "what_if",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="TOML file with other hosts, ratios, options or flavors: ask two copies of "
    "the books, one changed, and print the difference. Nothing is written. --url may "
    "also name a snapshot or a file of a record.",
)


class WhatIfEngines:
    """Two engines in memory, each made when it is first asked for: ``live``, a copy,
    and ``changed``. ``where``: what they are copies of. The rows are let go of once
    both have them."""

    def __init__(
        self, where: BooksLocation, snapshot: LoadedSnapshot, what_if: WhatIf
    ) -> None:
        from gantt.scheduler.options import SchedulerOptions

        self.where = where
        self.revision = snapshot.cursor.revision
        self.what_if = what_if
        self._options = snapshot.options or SchedulerOptions()
        self._snapshot: LoadedSnapshot | None = snapshot
        self._live: Gantt | None = None
        self._changed: Gantt | None = None

    @property
    def live(self) -> Gantt:
        """Raises Refused, Invalid."""
        if self._live is None:
            self._live = self.snapshot.engine(names_are_checked=True)
            self._let_go()
        return self._live

    @property
    def changed(self) -> Gantt:
        """Raises Invalid, and what commands refuse."""
        from gantt.replay.what_if_run import tried

        if self._changed is None:
            self._changed = tried(self.snapshot, self.what_if)
            self._let_go()
        return self._changed

    @property
    def snapshot(self) -> LoadedSnapshot:
        """Until both engines are made."""
        assert self._snapshot is not None, "nothing is asked of it afterwards"
        return self._snapshot

    def named_flavors(self) -> tuple[Flavor, ...]:
        """Those of the options that the snapshot has."""
        from gantt.scheduler.request.usual_flavors import named_flavors

        options = self.snapshot.options
        return () if options is None else named_flavors(options.usual_flavors)

    def remember(self, usage: Iterable[UsageRecord]) -> None:
        """Both engines, which are not made yet, are to have this usage history."""
        assert self._live is self._changed is None, "a copy has no history yet"
        self._snapshot = replace(self.snapshot, usage=tuple(usage))

    def asked(self, spec: RequestSpec) -> RequestSpec:
        """What is asked of ``changed`` instead."""
        return self.what_if.asked(spec)

    @contextmanager
    def changed_for(self, specs: Iterable[RequestSpec]) -> Iterator[Gantt]:
        """``changed``; what it refuses within names the file, and its flavors among
        these."""
        gantt = self.changed
        with self.what_if.asking(specs):
            yield gantt

    def tell_unasked(self, specs: Iterable[RequestSpec]) -> None:
        """Say which flavors of the what-if none of these asks for."""
        names = (one.flavor.name for one in specs)
        tell_unasked(self.what_if, self.what_if.unasked(names))

    def check(self, specs: Iterable[RequestSpec]) -> None:
        """Raises Invalid: a name that neither copy knows."""
        from gantt.replay.what_if_run import check_names_of
        from gantt.scheduler.request.spelling import check_spelling

        usual = self._options
        copies = (self.live, usual), (self.changed, self.what_if.policy(usual))
        for spec in specs:
            check_names_of(copies, spec)
            if not usual.names_are_checked:
                check_spelling(spec)
                with self.what_if.asking([spec]):
                    check_spelling(self.asked(spec))

    def close(self) -> None:
        """Forget both."""
        for one in (self._live, self._changed):
            if one is not None:
                one.close()

    def _let_go(self) -> None:
        if self._live is not None and self._changed is not None:
            self._snapshot = None


def tell_unasked(what_if: WhatIf, names: Sequence[str]) -> None:
    """Say on standard error which flavors of the file nothing asked for."""
    if names:
        known = ", ".join(map(repr, names))
        say(
            plain(
                f"{what_if.where}: [[flavors]] {known} changed nothing: no flavor of "
                "such a name is asked for. On a command line a flavor has the name "
                "that name= gives it."
            ),
            err=True,
        )


def open_tried(where: BooksLocation, path: Path) -> WhatIfEngines:
    """Raises Invalid, Refused, Forbidden, StoreFailed, Unavailable."""
    from gantt.replay.what_if_file import read_what_if

    what_if = read_what_if(path)
    return WhatIfEngines(where, snapshot_at(where), what_if)


def snapshot_at(where: BooksLocation) -> LoadedSnapshot:
    """The snapshot of a service, of a database, which is only read, or of a file.
    Raises Invalid, Refused, Forbidden, StoreFailed, Unavailable."""
    from gantt.replay import snapshots

    if is_service(where):
        return snapshots.of_lines(service_lines(where), where.url)
    if "://" not in where.url:
        return snapshots.of_file(Path(where.url))
    return snapshots.of_database(where.url)


def is_service(where: BooksLocation) -> bool:
    """Whether a service is asked, not a database or a file."""
    is_named = where.is_given or where.cloud is None
    return not is_named or where.url.startswith(("http://", "https://"))


def service_lines(where: BooksLocation) -> Iterator[bytes]:
    """What a service sends as a snapshot, once all of it has come: it may be larger
    than the rows in memory, and is kept in a temporary file. Raises as above."""
    from gantt.client.remote import RemoteGantt

    file = TemporaryFile()  # noqa: SIM115 - closed when its lines are read
    try:
        with closing(open_books(where)) as books:
            assert isinstance(books, RemoteGantt), "a service is asked"
            books.save_snapshot(file)
        if not _last_line(file).startswith(b'["closed"'):
            raise Invalid(
                f"The snapshot from {where.url} ended early, because the service "
                "stopped or after its watch_stream_s: ask again, or raise "
                "watch_stream_s of [gantt]."
            )
    except BaseException:
        file.close()
        raise
    return _lines_of(file)


def _last_line(file: IO[bytes]) -> bytes:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _TAIL))
    return file.read().rstrip(b"\n").rpartition(b"\n")[2]


def _lines_of(file: IO[bytes]) -> Iterator[bytes]:
    with file:
        file.seek(0)
        yield from file
