"""Options that the programs share (``serve``, ``scheduler``, ``feed``), and what they
set in place of a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

import click

from gantt.cli.option_kinds import preset, repeated, switch
from gantt.cli.output import FORMATS

F = TypeVar("F", bound=Callable[..., Any])
Override = tuple[str, str, Any]

metrics_listen_option: Final = click.option(
    "--metrics-listen",
    metavar="HOST:PORT",
    help="Answer /metrics, /livez and /readyz here; default: [gantt] metrics_listen.",
)
report_output_option: Final = preset(
    "-o --output",
    click.Choice(("table", "json", "yaml")),
    "table",
    "Format of the report.",
)
log_json_option: Final = switch("--log-json", "Log one JSON object per line.")


def output_options(function: F) -> F:
    """``-o`` and ``-c``, passed as ``output`` and ``columns``."""
    function = repeated(
        "-c --column columns",
        "COLUMN",
        "Print only this column, or field; may be repeated.",
    )(function)
    return preset("-o --output", click.Choice(FORMATS), "table", "Output format.")(
        function
    )


def config_file_option(text: str) -> Callable[[F], F]:
    """``--config-file``, which may be repeated."""
    return click.option(
        "--config-file",
        "config_files",
        multiple=True,
        metavar="FILE",
        type=click.Path(),  # only for shells, which complete it
        help=text,
    )


def overrides_of(given: Mapping[tuple[str, str], Any]) -> tuple[Override, ...]:
    """(group, name, value) of the options that were given."""
    return tuple(
        (group, name, value)
        for (group, name), value in given.items()
        if value is not None
    )
