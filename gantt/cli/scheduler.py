"""``gantt scheduler``: serve Nova's conductors in place of nova-scheduler.

Thin: ``gantt.conf`` handles configuration, ``gantt.openstack.rpc`` serves.
"""

from __future__ import annotations

from typing import Any

import click

from gantt.cli.failure import refusals_reported
from gantt.cli.program import (
    config_file_option,
    log_json_option,
    metrics_listen_option,
    overrides_of,
)


@click.command("scheduler")
@config_file_option(
    "Configuration file, such as /etc/nova/nova.conf; may be repeated. "
    "Command-line options take precedence."
)
@click.option("--database", metavar="URL", help="Database that holds Gantt's books.")
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    help="Number of worker processes; default: [scheduler] workers, or 1.",
)
@metrics_listen_option
@log_json_option
def scheduler(
    config_files: tuple[str, ...],
    database: str | None,
    workers: int | None,
    metrics_listen: str | None,
    log_json: bool,
) -> None:
    """Serve the RPC interface of nova-scheduler until SIGTERM or SIGINT.

    These finish calls in progress first; SIGHUP reloads the options that may change at
    runtime.

    \b
    Example:
      gantt scheduler --config-file /etc/nova/nova.conf --workers 2
    """
    given: dict[tuple[str, str], Any] = {
        ("placement_database", "connection"): database,
        ("scheduler", "workers"): workers,
        ("gantt", "metrics_listen"): metrics_listen,
        ("DEFAULT", "use_json"): log_json or None,
    }
    with refusals_reported():
        _check_installed()
        from gantt.conf import ConfigSource
        from gantt.openstack.rpc import workers as processes

        processes.serve(ConfigSource(config_files, overrides_of(given)))


def _check_installed() -> None:
    from importlib.util import find_spec

    from gantt.errors import Refused, how_to_install

    if find_spec("oslo_messaging") is None:
        raise Refused(
            "gantt scheduler needs oslo.messaging, which is not installed: "
            f"{how_to_install('rpc')}."
        )
