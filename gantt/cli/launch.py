"""``gantt launch``: claim resources, start a process with them, release them."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import closing, contextmanager
from types import FrameType
from typing import TYPE_CHECKING
from uuid import uuid4

import click
from msgspec.structs import replace

from gantt.cli.command_traces import traced
from gantt.cli.connection_options import BooksLocation, open_books, where_options
from gantt.cli.failure import Failed, OneCommand, refusals_reported
from gantt.cli.flavor import asked_of
from gantt.cli.output import say
from gantt.cli.refusal import refused
from gantt.errors import NoValidHost
from gantt.launch.outcome import LaunchOptions
from gantt.model.bounds import MAX_LEASE_S
from gantt.model.printable import printable
from gantt.model.spec import Destination, RequestSpec, ScheduleRequest

if TYPE_CHECKING:
    from gantt.launch.launching import Launching
    from gantt.launch.outcome import Launch


@click.command("launch")
@click.option(
    "--flavor",
    "size",
    metavar="vcpus=N,memory_mb=N,disk_gb=N",
    help="What the process needs, which may have extra specs; or the name of a flavor "
    "in the configuration of the service (usual_flavors).",
)
@click.option(
    "--spec",
    metavar="FILE",
    help="Request spec as JSON, in any supported form; - for standard input.",
)
@click.option("--instance", metavar="UUID", help="Uuid of the instance; default: new.")
@click.option("--project", help="Project that the instance belongs to.")
@click.option(
    "--host",
    help="Host to launch on; default: this machine, or any host with another launcher.",
)
@click.option(
    "--launcher",
    "name",
    default="process",
    show_default=True,
    help="process, simulated, or an entry point of gantt.launchers.",
)
@click.option(
    "--max-attempts",
    type=click.IntRange(min=1),
    default=LaunchOptions().max_attempts,
    show_default=True,
    help="Number of hosts to try.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(0.1, MAX_LEASE_S / 2),
    default=LaunchOptions().timeout_s,
    show_default=True,
    metavar="SECONDS",
    help="Time for one launch; the claim expires after twice that if this command dies "
    "before the process runs.",
)
@click.option(
    "--metrics-listen",
    metavar="HOST:PORT",
    default="",
    help="Answer /metrics here while the command runs; default: nowhere.",
)
@where_options("Books to use")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def launch(
    *,
    size: str | None,
    spec: str | None,
    instance: str | None,
    project: str | None,
    host: str | None,
    name: str,
    max_attempts: int,
    timeout: float,
    metrics_listen: str,
    where: BooksLocation,
    command: tuple[str, ...],
) -> None:
    """Claim resources, start COMMAND with them, and release them when it ends.

    Exits with the status of COMMAND. SIGTERM and SIGINT stop it.

    \b
    Example:
      gantt launch --flavor vcpus=1,memory_mb=512 -- sleep 1
    """
    if (size is None) == (spec is None):
        raise click.UsageError("Give exactly one of --flavor and --spec.")
    with refusals_reported():
        from gantt.launch.launchers import launcher
        from gantt.launch.launching import Launching
        from gantt.observe.endpoint import answering
        from gantt.observe.launch_signs import LaunchSigns

        options = LaunchOptions(max_attempts, timeout)
        signs = LaunchSigns()
        with (
            _exiting_at_sigterm(),
            traced("gantt launch", os.environ) as propagate,
            closing(open_books(where, propagate)) as books,
            answering(metrics_listen, signs),
        ):
            asked = asked_of(books.named_flavors, size, spec or "")
            if project is not None:
                asked = replace(asked, project_id=project)
            request = ScheduleRequest(
                _towards(asked, host, name),
                (instance or str(uuid4()),),
                lease_s=2 * timeout,
                request_id=f"req-{uuid4()}",
            )
            launching = Launching(books, launcher(name), options, signs)
            try:
                found = books.schedule(request)
            except NoValidHost as refusal:
                raise refused("table", refusal) from refusal
            (one,) = launching.launch(request, found, command)
            raise SystemExit(_watch(launching, one))


def _towards(spec: RequestSpec, host: str | None, launcher: str) -> RequestSpec:
    """``spec`` for the host; processes can be started on this machine alone."""
    if host is None and launcher == "process":
        from gantt.agent.machine import machine_name

        host = machine_name()
    if host is None:
        return spec
    place = replace(spec.requested_destination or Destination(), host=host)
    return replace(spec, requested_destination=place)


def _watch(launching: Launching, one: Launch) -> int:
    """Wait for the end of what runs, and release its claim; its exit status."""
    if one.workload is None:
        head, _, attempts = one.story.partition("\n")
        raise Failed(head, attempts)
    selection, workload = one.running()
    try:
        host = printable(selection.service_host)
        say(f"Launched on {host}: instance {printable(one.instance_uuid)}.", err=True)
        status = workload.wait()
    finally:
        # Also when this command is told to stop.
        workload.stop()
        launching.release(one)
    say(f"Ended with status {status}; its claim is released.", err=True)
    return status if status >= 0 else 128 - status


@contextmanager
def _exiting_at_sigterm() -> Iterator[None]:
    """SIGTERM ends the command as SIGINT does: what it started is stopped first."""
    before = signal.signal(signal.SIGTERM, _exit)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _exit(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
    raise SystemExit(128 + number)


program = OneCommand("gantt-launch", launch)


def main() -> None:
    """The console script."""
    program(prog_name="gantt-launch")
