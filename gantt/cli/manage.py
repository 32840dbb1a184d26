"""``gantt-manage``: maintains the database, with direct access to it.

Exit status: 0 done, 1 refused, failed or (verify) problems found, 2 wrong usage.
``db online_data_migrations`` exits as Placement's does: 127 for a bad count.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import closing

import click
from msgspec.structs import replace

from gantt.cli.adoption import adopt, imports, release
from gantt.cli.database import database_options, settings_for
from gantt.cli.failure import Failed, Program, refusals_reported
from gantt.cli.output import bars, print_rows, say, waiting
from gantt.conf import placement_session
from gantt.connection import connect, open_gantt
from gantt.model.answers import Report
from gantt.model.printable import printable
from gantt.model.protocol import GanttProtocol
from gantt.store.interface import StoreOptions
from gantt.version import __version__

BAD_COUNT = 127


@click.group(cls=Program, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="gantt-manage")
@database_options
@click.pass_context
def manage(
    context: click.Context, database: str | None, config_files: tuple[str, ...]
) -> None:
    """Maintain the database of Gantt."""
    context.obj = (database, config_files)


def _place() -> tuple[str, StoreOptions]:
    """The database given by the program's options. Raises Refused."""
    settings = settings_for(*click.get_current_context().obj)
    return settings.database_url, replace(settings.engine.store, create=False)


@manage.group()
def db() -> None:
    """Tables and their revision."""


@db.command()
def sync() -> None:
    """Create or upgrade the tables.

    \b
    Example:
      gantt-manage --database sqlite:///gantt.db db sync
    """
    from gantt.store import schema

    with refusals_reported():
        say(schema.sync(*_place()))


@db.command()
def version() -> None:
    """Print the revision of the tables.

    \b
    Example:
      gantt-manage --database sqlite:///gantt.db db version
    """
    from gantt.store import schema

    with refusals_reported():
        place = _place()
        found = schema.version(*place)
        if found is None:
            raise Failed(
                f"Gantt has no tables in this database: run {schema.to_sync(*place)}."
            )
        say(found)


@db.command()
@click.argument("revision")
def stamp(revision: str) -> None:
    """Record that the tables are at REVISION ('head': the newest), without changes.

    \b
    Example:
      gantt-manage db stamp head
    """
    from gantt.store import schema

    with refusals_reported():
        url, options = _place()
        schema.stamp(url, revision, options)


@db.command("online_data_migrations")
@click.option("--max-count", type=int, help="Maximum number of rows to migrate.")
def online_data_migrations(max_count: int | None) -> None:
    """Migrate data while serving. This release has nothing to migrate.

    \b
    Example:
      gantt-manage db online_data_migrations --max-count 1000
    """
    if max_count is not None and max_count < 1:
        say(f"--max-count must be at least 1, not {max_count}.", err=True)
        sys.exit(BAD_COUNT)
    print_rows("table", ("Migration", "Total Found", "Completed"), ())


@manage.command()
@click.option(
    "--url", metavar="URL", help="Have a running service check its in-memory columns."
)
@click.option("--token", envvar="GANTT_TOKEN", help="Token for --url; default: admin.")
def verify(url: str | None, token: str | None) -> None:
    """Compare the books with the tables, and check every invariant.

    Without --url this command builds the books from the tables, which checks the
    tables. With --url the running service compares the columns that it answers from;
    the process that serves the call does no writes meanwhile.

    \b
    Examples:
      gantt-manage verify
      gantt-manage verify --url http://127.0.0.1:8778
    """
    with refusals_reported():
        report = _verified() if url is None else _verified_by(url, token)
    for problem in report.problems:
        say(printable(problem), err=True)
    counts = ", ".join(f"{count} {name}" for name, count in report.counts.items())
    if report.problems:
        raise Failed(
            f"{len(report.problems)} problem(s) at revision {report.revision} "
            f"({counts}). Stop all other writers of the database, or restore a backup."
        )
    say(f"No problems at revision {report.revision} ({counts}).")


manage.sections = {
    "Tables": (db, verify),
    "OpenStack Placement": (adopt, release, imports),
}
for _command in (adopt, release, imports):
    manage.add_command(_command)


def _verified() -> Report:
    """Build the books from the tables, and compare both: two passes over all rows."""
    with bars(is_shown=True) as show, closing(_books(show)) as books:
        return books.verify()


def _verified_by(url: str, token: str | None) -> Report:
    with (
        waiting("The service compares its columns with the tables"),
        closing(connect(url, token=token)) as books,
    ):
        return books.verify()


def _books(show: Callable[[str, int, int], None]) -> GanttProtocol:
    settings = settings_for(*click.get_current_context().obj)
    # Do not create it: a mistyped path must not become an empty database.
    store = replace(settings.engine.store, create=False)
    options = replace(settings.engine, poll_ms=0, store=store)
    if settings.database_url.startswith(("http://", "https://")):
        return connect(settings.database_url)
    session = placement_session(settings)
    passes = iter(("rows read", "rows compared"))
    what = ""

    def progress(done: int, total: int) -> None:
        nonlocal what
        if not done:
            what = next(passes, what)
        show(what, done, total)

    return open_gantt(
        settings.database_url, options, session=session, progress=progress
    )


def main() -> None:
    """The console script."""
    manage(prog_name="gantt-manage")
