"""``gantt agent``: report the machine that it runs on."""

from __future__ import annotations

import os
import threading
import time
import uuid
from collections.abc import Callable
from contextlib import ExitStack, closing
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from gantt.cli.connection_options import BooksLocation, open_books, where_options
from gantt.cli.failure import OneCommand, refusals_reported
from gantt.cli.option_kinds import preset, repeated, switch
from gantt.cli.output import print_document, say
from gantt.cli.program import config_file_option, log_json_option
from gantt.cli.stop_signals import stop_signals
from gantt.errors import Invalid, Unavailable, needed_extra, needed_wheel

if TYPE_CHECKING:
    from gantt.agent.collectors.contract import Collector
    from gantt.agent.loop import Agent
    from gantt.model.protocol import GanttProtocol
    from gantt.stream.options import StreamOptions

_LONGEST_S = 86_400.0
_STREAM = "OS_STREAM__"  # how variables begin that set options of [stream]
Counts: TypeAlias = "Callable[[], dict[str, float]]"


@click.command("agent")
@where_options("Books to report to")
@preset(
    "--interval", click.FloatRange(0.1, _LONGEST_S), 10.0, "Seconds between reports."
)
@click.option("--once", is_flag=True, help="Report once, then end.")
@switch(
    "--show", "Print what would be reported, and what cannot be read; report nothing."
)
@click.option("--host", help="Name of the host; default: of this machine.")
@click.option("--node", help="Name of its node; default: that of the host.")
@click.option(
    "--root",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=Path("/"),
    help="Read /proc and /sys below this directory, recorded on another machine.",
)
@click.option(
    "--disk",
    type=click.Path(path_type=Path),
    default=Path("/"),
    help="A path on the disk that holds instances; default: /.",
)
@click.option(
    "--image-cache",
    type=click.Path(path_type=Path),
    help="Nova's image cache, such as /var/lib/nova/instances/_base: images there are "
    "reported as held. Default: none.",
)
@click.option(
    "--artifacts",
    type=click.Path(path_type=Path),
    help="A directory of artifacts (images, model weights), each a file that has the "
    "artifact's name: they are reported as held. Default: none.",
)
@repeated(
    "--device devices",
    "VENDOR:PRODUCT|ADDRESS",
    "A PCI device that instances may be given, beside virtual functions and those "
    "bound to vfio-pci; PRODUCT may be *. May be repeated.",
)
@click.option(
    "--dedicated-cpus",
    metavar="LIST",
    help="CPUs for pinned instances alone, such as 2-15; default: all CPUs are for "
    "pinned and for other instances.",
)
@click.option(
    "--obeys-claims/--picks-itself",
    default=True,
    show_default=True,
    help="Whether instances start here on the CPUs, pages and devices that their "
    "claims name.",
)
@repeated(
    "--workloads",
    "SOURCE",
    "How to find the instances that run here: libvirt, systemd, processes, "
    "own-processes, a plug-in's name, or none. May be repeated. Default: libvirt if "
    "its library is installed, systemd, processes and all plug-ins.",
)
@click.option(
    "--coordination",
    metavar="URL",
    envvar="GANTT_COORDINATION_URL",
    default="",
    show_envvar=True,
    help="Keep this host a member of the group of agents there: backend_url of "
    "[coordination] of the scheduler. Default: in no group.",
)
@click.option(
    "--group",
    metavar="NAME",
    default="gantt-hosts",
    show_default=True,
    help="Name of that group, as in [coordination].",
)
@preset(
    "--heartbeat",
    click.IntRange(2, 3600),
    10,
    "Seconds in which the group must hear of this host: heartbeat_interval of "
    "[coordination].",
)
@click.option(
    "--stream",
    metavar="HOST:PORT,...",
    envvar="GANTT_STREAM_SERVERS",
    default="",
    show_envvar=True,
    help="Report to Kafka at these brokers: bootstrap_servers of [stream]. With --url, "
    "reports go there while Kafka does not answer, and only what that service needs "
    "is reported. Default: to --url alone.",
)
@config_file_option("Has [stream]; may be repeated. Default: none.")
@click.option(
    "--metrics-listen",
    metavar="HOST:PORT",
    help="Answer /metrics, /livez and /readyz here; default: nowhere.",
)
@log_json_option
@click.option("--debug", is_flag=True, help="Log at DEBUG level.")
def agent(
    where: BooksLocation,
    *,
    interval: float,
    once: bool,
    show: bool,
    coordination: str,
    group: str,
    heartbeat: int,
    stream: str,
    config_files: tuple[str, ...],
    metrics_listen: str | None,
    log_json: bool,
    debug: bool,
    **machine: Any,
) -> None:
    """Report this machine as a host until SIGTERM or SIGINT.

    It reports all of it first, then what changes, and no more than the scheduler's
    filters and weighers read. What cannot be read is logged, with its file, and keeps
    nothing else out.

    \b
    Examples:
      gantt agent --interval 10
      gantt agent --show
    """
    with refusals_reported():
        from gantt.agent.machine import machine_name
        from gantt.observe.logs import configure_logging
        from gantt.observe.supervisor import Supervisor

        configure_logging(debug=debug, use_json=log_json)
        ended = threading.Event()
        supervisor = Supervisor.of_process()

        def sleep(seconds: float) -> bool:
            # After the first attempt: a host boots without the service as well.
            supervisor.ready("reporting")
            is_over = ended.wait(seconds)
            if is_over:
                supervisor.stopping()
            return is_over

        with ExitStack() as stack:
            if not (show or once):
                ended = stack.enter_context(stop_signals())
            streams = _stream_options(stream, config_files)
            service = None
            if not streams.is_on or where.is_given:
                service = stack.enter_context(closing(open_books(where)))
            # What ends, or is a member of a group, is not judged by its reports.
            machine["beats"] = not (once or show or coordination)
            running, counts = _agent(service, streams, stack, sleep, interval, machine)
            if show:
                _show(running)
            elif once:
                raise SystemExit(0 if running.report() else 1)
            else:
                if coordination:
                    named = machine["host"] or machine_name()
                    _join(stack, coordination, group, heartbeat, named)
                _run(running, counts, metrics_listen or "")


def _stream_options(servers: str, config_files: tuple[str, ...]) -> StreamOptions:
    """Raises Refused."""
    from gantt.stream.options import StreamOptions

    if not servers and not config_files:
        return StreamOptions()
    others = [*config_files, *(one for one in os.environ if one.startswith(_STREAM))]
    if not others and find_spec("gantt.conf") is None:
        return StreamOptions(tuple(servers.split(",")))
    with needed_wheel(
        "gantt-scheduler", by=f"Reading [stream] from {', '.join(others)}"
    ):
        from gantt.conf import load
    given = {("stream", "bootstrap_servers"): servers.split(",")} if servers else {}
    return load(config_files, overrides=given).stream


def _join(stack: ExitStack, url: str, group: str, heartbeat: int, host: str) -> None:
    """Keep ``host`` a member of the group of agents until ``stack`` ends. Raises
    Refused."""
    from gantt.liveness.options import CoordinationOptions

    with needed_extra("coordination", by="--coordination"):
        from gantt.liveness.membership import Membership
    membership = Membership(CoordinationOptions(url, group, heartbeat), host)
    membership.start()
    stack.callback(membership.close)


def _agent(
    service: GanttProtocol | None,
    streams: StreamOptions,
    stack: ExitStack,
    sleep: Callable[[float], bool],
    interval: float,
    machine: dict[str, Any],
) -> tuple[Agent, Counts]:
    """An agent, and what to tell monitoring. ``service``: None where reports go to
    ``streams`` alone. Raises Refused."""
    from gantt.agent.loop import Agent, Pace
    from gantt.agent.machine import ROOT, machine_name, machine_uuid
    from gantt.agent.reporter import Reporter

    root: Path = machine["root"]
    beats: bool = machine["beats"]
    host = machine["host"] or machine_name()
    node = machine["node"] or host
    constants = {"hypervisor_hostname": node}
    if root == ROOT:
        constants["uuid"] = machine_uuid(node)
    named = (host, node, str(uuid.uuid4()))
    rest: dict[str, Any] = {
        "collectors": _collectors(machine),
        "root": root,
        "now": lambda: time.time_ns() // 1000,
        "sleep": sleep,
    }
    if not streams.is_on:
        assert service is not None, "there is somewhere to report to"
        told = Reporter(*named, constants=constants, beats=beats)
        running = Agent(service, told, pace=Pace(interval), **rest)
        return running, running.counts
    with needed_extra("kafka", by="bootstrap_servers of [stream]"):
        from gantt.stream.report_producer import ReportStream
    stream = stack.enter_context(closing(ReportStream(streams, service)))
    whole = Reporter(
        *named, renewal_s=streams.renewal_s, constants=constants, beats=beats
    )
    # Kafka's client waits longer and longer by itself; looking costs only this host.
    pace = Pace(interval) if service is not None else Pace(interval, interval)
    running = Agent(stream, whole, pace=pace, **rest)
    return running, lambda: {**running.counts(), **stream.counts()}


def _collectors(machine: dict[str, Any]) -> tuple[Collector, ...]:
    from gantt.agent.collectors.artifacts import ArtifactCollector
    from gantt.agent.collectors.numa import NumaCollector
    from gantt.agent.collectors.pci import PciCollector, offer_of
    from gantt.agent.files import cpus_of
    from gantt.agent.machine import all_collectors
    from gantt.agent.workloads.collector import WorkloadCollector
    from gantt.agent.workloads.sources import sources

    dedicated = machine["dedicated_cpus"]
    try:
        cpus = None if dedicated is None else frozenset(cpus_of(dedicated))
    except ValueError as error:
        raise Invalid(f"--dedicated-cpus: {error}; write it as 2-15,18.") from None
    offers = tuple(offer_of(one) for one in machine["devices"])
    return all_collectors(
        machine["disk"],
        numa=NumaCollector(dedicated=cpus, obeys_claims=machine["obeys_claims"]),
        pci=PciCollector(offers),
        workloads=WorkloadCollector(sources(machine["workloads"])),
        artifacts=ArtifactCollector(machine["image_cache"], machine["artifacts"]),
    )


def _show(running: Agent) -> None:
    try:
        running.learn_needs()
    except Unavailable as error:
        say(f"What is needed is not known, so this is everything: {error}", err=True)
    report, problems = running.draft()
    print_document({"report": report, "problems": [str(one) for one in problems]})


def _run(running: Agent, counts: Counts, listen: str) -> None:
    if not listen:
        running.run()
        return
    from gantt.observe.agent_signs import AgentSigns
    from gantt.observe.endpoint import answering

    with answering(listen, AgentSigns(counts)):
        running.run()


program = OneCommand("gantt-agent", agent)


def main() -> None:
    """The console script."""
    program(prog_name="gantt-agent")
