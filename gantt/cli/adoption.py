"""``gantt-manage adopt``, ``release`` and ``import``: move books to and from Gantt.

Separate from the other commands of ``gantt-manage`` because these run once in the life
of a database, and an operator wants to see first what they would do.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

import click

from gantt.cli.database import settings_for
from gantt.cli.failure import refusals_reported
from gantt.cli.option_kinds import switch
from gantt.cli.output import bars, print_rows, say
from gantt.model.printable import counted

if TYPE_CHECKING:
    from gantt.conf import Settings
    from gantt.store.adoption.importer import Copied
    from gantt.store.adoption.old_rows import Legacy, Owner

_DATABASE = click.option(
    "--database", metavar="URL", help="Default: the --database of gantt-manage."
)
_DRY_RUN = switch("--dry-run", "Show what would be done without changing anything.")


@click.command()
@_DATABASE
@_DRY_RUN
def adopt(database: str | None, *, dry_run: bool) -> None:
    """Take over a database of OpenStack Placement, in place.

    Stop Placement first. Its tables are kept; only data that Placement itself would
    repair is repaired, and Gantt's own tables are added. Running it again has no
    effect.

    \b
    Example:
      gantt-manage adopt --database mysql+pymysql://placement@db/placement --dry-run
    """
    from gantt.store.adoption import adopt as taking

    with refusals_reported():
        settings = _settings(database)
        with bars(is_shown=True) as show:
            done = taking.adopt(
                settings.database_url,
                owner=_owner(settings),
                is_dry=dry_run,
                progress=partial(show, "rows checked"),
            )
    say(f"{done.url} holds {_listed(done.counts)}.")
    if done.was == taking.OURS:
        say("It already belongs to Gantt: nothing to do.")
        return
    _say_mended(done.mended, is_dry=dry_run)
    if dry_run:
        say("It can be adopted; nothing was changed.")
        return
    say(
        f"Adopted; its log begins at revision {done.revision}. Check it with "
        "'gantt-manage verify', then start 'gantt serve'."
    )


@click.command()
@_DATABASE
@_DRY_RUN
@switch(
    "--drop-tables",
    "Also drop Gantt's own tables: host reports and claims on hosts are lost.",
)
def release(database: str | None, *, dry_run: bool, drop_tables: bool) -> None:
    """Hand the database back to OpenStack Placement.

    Gantt's own tables are kept for a later 'adopt'. Gantt processes that are still
    running stop reading and writing on their own.

    \b
    Example:
      gantt-manage release --dry-run
    """
    from gantt.store.adoption import adopt as taking

    with refusals_reported():
        url = _settings(database).database_url
        done = taking.release(url, drop=drop_tables, is_dry=dry_run)
    say(f"{done.url} holds {_listed(done.counts)}.")
    if done.leased:
        say(
            f"{counted(done.leased, 'claim')} neither confirmed nor expired: nothing "
            "of this expires until Gantt runs again."
        )
    if done.dropped:
        would = "Would drop" if dry_run else "Dropped"
        say(f"{would} {', '.join(done.dropped)}.")
    if done.was == taking.RELEASED:
        say("It had already been handed back.")
    elif dry_run:
        say("It can be handed back; nothing was changed.")
    else:
        say("Handed back: you can start Placement on it.")


@click.group("import")
def imports() -> None:
    """Copy books from another database."""


@imports.command()
@click.option(
    "--from", "source", metavar="URL", required=True, help="Database to copy from."
)
@_DATABASE
@_DRY_RUN
@switch("--replace", "Overwrite the existing books of the target.")
def placement(
    source: str, database: str | None, *, dry_run: bool, replace: bool
) -> None:
    """Copy a database of Placement, or of Gantt, into another one.

    The dialects may differ. Everything is copied in one transaction and compared
    before the commit. Stop every program that writes to the source first.

    \b
    Example:
      gantt-manage import placement --dry-run --from mysql+pymysql://placement@db/placement
    """
    from gantt.store.adoption.importer import import_books

    with refusals_reported(), bars(is_shown=not dry_run) as progress:
        settings = _settings(database)
        done = import_books(
            source,
            settings.database_url,
            owner=_owner(settings),
            replace=replace,
            is_dry=dry_run,
            progress=progress,
        )
    _say_copied(done, is_dry=dry_run)


def _say_copied(done: Copied, *, is_dry: bool) -> None:
    if done.replaced:
        gone = "would be lost" if is_dry else "were replaced"
        say(f"Of {done.target} {gone}: {_listed(done.replaced)}.")
    _say_mended(done.mended, is_dry=is_dry)
    if is_dry:
        counts = _listed(done.counts)
        say(f"Would copy {counts} from {done.source} to {done.target}.")
        return
    rows = [
        (
            name,
            old.rows,
            new.rows,
            old.columns.get("generation"),
            new.columns.get("generation"),
            "same" if old.agrees_with(new) else "differ",
        )
        for name, (old, new) in done.compared.items()
    ]
    print_rows(
        "table",
        ("table", "read", "written", "generations", "written", "all sums"),
        rows,
    )
    say(
        f"Copied {done.source} to {done.target}; its log begins at revision "
        f"{done.revision}. Check it with 'gantt-manage verify'."
    )


def _say_mended(mended: Legacy, *, is_dry: bool) -> None:
    if mended.total:
        would = "Would fill in" if is_dry else "Filled in"
        say(
            f"{would} data missing from old releases: {mended.no_generation} "
            f"generations and {mended.no_root} roots of providers, {mended.no_record} "
            "records of consumers."
        )


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{n} {name}" for name, n in counts.items()) or "no rows"


def _settings(database: str | None) -> Settings:
    """The program's settings, with ``database`` if given. Raises Refused."""
    given, config_files = click.get_current_context().find_root().obj
    return settings_for(database or given, config_files)


def _owner(settings: Settings) -> Owner:
    from gantt.store.adoption.old_rows import Owner

    api = settings.api
    return Owner(api.incomplete_consumer_project_id, api.incomplete_consumer_user_id)
