"""The database of an operator's program: from the option, else the configuration.

Shared by ``gantt-manage`` and ``gantt-status``, which have the same two options.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import click

from gantt.cli.output import say
from gantt.cli.program import config_file_option
from gantt.errors import Refused
from gantt.model.printable import printable

if TYPE_CHECKING:
    from gantt.conf import Settings

F = TypeVar("F", bound=Callable[..., object])


def database_options(function: F) -> F:
    """Add ``--database`` and ``--config-file``."""
    files = config_file_option(
        "Default: placement.conf and gantt.conf in their usual directories."
    )
    return click.option(
        "--database", metavar="URL", help="Default: [placement_database] connection."
    )(files(function))


def settings_for(database: str | None, config_files: tuple[str, ...]) -> Settings:
    """The settings, with the database to use. Raises Refused without one."""
    from gantt.conf import load

    overrides = {("placement_database", "connection"): database} if database else {}
    settings = load(config_files, overrides=overrides)
    for warning in settings.unknown:
        say(f"Warning: {printable(warning)}", err=True)
    if not settings.database_url:
        raise Refused(
            "No database is configured: give --database URL, or set "
            "[placement_database] connection."
        )
    return settings
