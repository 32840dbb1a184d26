"""Which options were typed: those that would do nothing are refused, not ignored."""

from __future__ import annotations

from collections.abc import Iterable

import click
from click.core import ParameterSource


def given_options() -> frozenset[str]:
    """Those that were typed, by their long names, such as ``--out``."""
    context, typed = click.get_current_context(), ParameterSource.COMMANDLINE
    return frozenset(
        max(one.opts, key=len)
        for one in context.command.params
        if isinstance(one, click.Option)
        and context.get_parameter_source(str(one.name)) is typed
    )


def refuse(options: Iterable[str], reason: str) -> None:
    """Raises click.UsageError where any of ``options`` were typed: ``reason`` goes on
    after their names."""
    found = sorted(given_options().intersection(options))
    if found:
        raise click.UsageError(f"{' and '.join(found)}: {reason}")
