"""``gantt``: the command-line client; commands on one or a few nouns in each module.

Exit status: 0 done, 1 refused or failed (standard error says why), 2 wrong usage, 130
interrupted.
"""

from __future__ import annotations

from collections.abc import Mapping

import click

from gantt.cli.agent import agent
from gantt.cli.allocation import allocation
from gantt.cli.audit import audit
from gantt.cli.bench import bench
from gantt.cli.candidates import candidates
from gantt.cli.capacity import capacity
from gantt.cli.completion import completion
from gantt.cli.connection_options import given_above, takes_books, with_where_options
from gantt.cli.decision import explain
from gantt.cli.demand import demand
from gantt.cli.failure import Program
from gantt.cli.feed import feed
from gantt.cli.fleet import artifact, host_aggregate, server_group, service
from gantt.cli.host import host
from gantt.cli.instances import instance
from gantt.cli.inventory import inventory
from gantt.cli.labels import aggregate, resource_class, trait
from gantt.cli.launch import launch
from gantt.cli.place import place, placement
from gantt.cli.provider import provider
from gantt.cli.replay import replay
from gantt.cli.scheduler import scheduler
from gantt.cli.select import claim, select
from gantt.cli.serve import serve
from gantt.cli.shadow import shadow
from gantt.cli.snapshot import snapshot
from gantt.cli.top import top
from gantt.cli.usage import usage
from gantt.cli.watch import watch
from gantt.version import __version__

SECTIONS: Mapping[str, tuple[click.Command, ...]] = {
    "Start here": (
        serve,
        place,
        placement,
        demand,
        select,
        claim,
        launch,
        explain,
        top,
        completion,
    ),
    "Hosts": (
        host,
        instance,
        agent,
        service,
        host_aggregate,
        server_group,
        artifact,
        audit,
    ),
    "Books": (
        provider,
        inventory,
        allocation,
        usage,
        candidates,
        trait,
        aggregate,
        resource_class,
        watch,
        snapshot,
    ),
    "Plan": (capacity, replay, bench),
    "OpenStack": (scheduler, feed, shadow),
}


@click.group(cls=Program, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="gantt")
@click.pass_context
def gantt(context: click.Context) -> None:
    """Gantt tracks the resources of a fleet and selects hosts for instances.

    Every command except serve, scheduler and completion works on the books at --url
    (environment GANTT_URL).
    Exit status: 0 success, 1 refused or failed, 2 wrong usage, 3 `gantt audit` could
    compare nothing, 130 Ctrl-C.
    """
    name = context.invoked_subcommand or ""
    named = [f"--{key.replace('_', '-')}" for key in given_above(context)]
    if named and not takes_books(gantt.commands[name]):
        raise click.UsageError(
            f"{' and '.join(named)} before {name}: '{name}' has no such option; see "
            f"'gantt {name} --help'."
        )


for section in SECTIONS.values():
    for noun in section:
        gantt.add_command(noun)
gantt.sections = SECTIONS
with_where_options(gantt)


def main() -> None:
    """The console script."""
    gantt(prog_name="gantt")
