"""``gantt select`` and ``gantt claim``: select and claim hosts for
instances, or ask what a selection would be."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any
from uuid import uuid4

import click
from msgspec.structs import replace

from gantt.cli.command_session import CommandSession, books_command
from gantt.cli.decision import print_decision
from gantt.cli.flavor import asked_of
from gantt.cli.option_kinds import repeated
from gantt.cli.output import plain, say, table
from gantt.cli.refusal import refused
from gantt.cli.topology_text import tag_texts
from gantt.cli.what_if_engines import WhatIfEngines, what_if_option
from gantt.errors import NoValidHost
from gantt.model.scheduling import Selections
from gantt.model.selection import CellPlace, Decision, DevicePlace, Place
from gantt.model.spec import ScheduleRequest
from gantt.topology.cells import size_text

_MOST = 100_000  # new instances

COLUMNS = tuple("instance choice host node availability_zone claim age_s".split())
# Only where a host that obeys claims was selected.
PLACE = "place"


@click.command("select")
@click.option(
    "--flavor",
    "size",
    metavar="vcpus=N,memory_mb=N,disk_gb=N",
    help="Flavor of the instances, which may have extra specs; or the name of one in "
    "the configuration of the service (usual_flavors).",
)
@click.option(
    "--spec",
    metavar="FILE",
    help="Request spec as JSON, in any supported form; - for standard input.",
)
@click.option(
    "--count", type=click.IntRange(min=1), help="Number of new instances to place."
)
@repeated(
    "--instance instances", "UUID", "Uuid of an instance to place; may be repeated."
)
@click.option("--zone", help="Availability zone to use.")
@click.option("--project", help="Project that the instances belong to.")
@click.option(
    "--lease",
    type=float,
    metavar="SECONDS",
    help="Claim expires after SECONDS unless confirmed.",
)
@click.option("--no-alternates", is_flag=True, help="Return no alternate hosts.")
@click.option("--dry-run", is_flag=True, help="Show the decision; claim nothing.")
@what_if_option
@books_command
def select(
    session: CommandSession,
    *,
    size: str | None,
    spec: str | None,
    count: int | None,
    instances: tuple[str, ...],
    zone: str | None,
    project: str | None,
    lease: float | None,
    no_alternates: bool,
    dry_run: bool,
) -> None:
    """Select hosts for instances and claim resources on them.

    Without --instance, instances get new uuids. A claim with a lease expires unless
    it is confirmed with 'gantt claim confirm'.

    \b
    Examples:
      gantt select --flavor vcpus=2,memory_mb=4096,disk_gb=20 --count 2
      gantt select --flavor vcpus=2,memory_mb=4096,disk_gb=20 --dry-run
    """
    if (size is None) == (spec is None):
        raise click.UsageError("Give exactly one of --flavor and --spec.")
    if instances and count is not None:
        raise click.UsageError("Give --count or --instance, not both.")
    asked = asked_of(session.named_flavors, size, spec or "")
    if zone is not None:
        asked = replace(asked, availability_zone=zone)
    if project is not None:
        asked = replace(asked, project_id=project)
    request = ScheduleRequest(
        asked,
        instances or _new(count or asked.num_instances),
        return_alternates=not no_alternates,
        dry_run=dry_run,
        lease_s=lease,
        request_id=f"req-{uuid4()}",
    )
    if session.tried is not None:
        try_select(session, session.tried, request)
        return
    if not dry_run:
        session.expect(*COLUMNS, PLACE)
    if dry_run:
        print_decision(session, session.books.decide(request))
        return
    try:
        found = session.books.schedule(request)
    except NoValidHost as refusal:
        raise refused(session.output, refusal) from refusal
    _print(session, request, found)


def _new(count: int) -> tuple[str, ...]:
    if count > _MOST:
        raise click.UsageError(
            f"{count} instances are too many for one request: the limit is {_MOST}."
        )
    return tuple(str(uuid4()) for _ in range(count))


def _print(
    session: CommandSession, request: ScheduleRequest, found: Selections
) -> None:
    named = zip(request.instance_uuids or (), found, strict=True)
    document = [{"instance": uuid, "selections": mine} for uuid, mine in named]
    rows, columns = list(_rows(request, found)), COLUMNS
    if any(row[-1] for row in rows) or PLACE in session.columns:
        columns = (*COLUMNS, PLACE)
    else:
        rows = [row[:-1] for row in rows]
    session.print_answer(document, columns, rows)


def _rows(request: ScheduleRequest, found: Selections) -> Iterator[tuple[Any, ...]]:
    for uuid, mine in zip(request.instance_uuids or (), found, strict=True):
        for number, one in enumerate(mine):
            yield (
                uuid,
                f"alternate {number}" if number else "chosen",
                one.service_host,
                one.nodename,
                one.availability_zone,
                one.claim,
                None if one.age_s is None else round(one.age_s, 1),
                "" if one.place is None else _place(one.place),
            )


def _place(place: Place) -> str:
    """Cells and devices in words."""
    return "; ".join([*map(_cell, place.cells), *map(_devices, place.devices)])


def _cell(one: CellPlace) -> str:
    parts = []
    if one.pinning:
        vcpus, cpus = zip(*one.pinning, strict=True)
        parts.append(f"vCPUs {_runs(vcpus)} on CPUs {_runs(cpus)}")
    if one.floating:
        parts.append(f"vCPUs {_runs(one.floating)} on any shared CPU")
    if one.emulator:
        parts.append(f"the emulator on CPUs {_runs(one.emulator)}")
    if one.page_kib is not None:
        parts.append(f"{size_text(one.page_kib)} pages")
    return f"cell {one.cell} on host cell {one.host_cell}: {', '.join(parts)}"


def _devices(one: DevicePlace) -> str:
    if one.addresses:
        return f"{_counted(len(one.addresses))} {' '.join(one.addresses)}"
    near = "" if one.numa_node is None else f" near host cell {one.numa_node}"
    return f"{_counted(one.count)}{near} {' '.join(tag_texts(one.tags))}"


def _counted(count: int) -> str:
    return "1 device" if count == 1 else f"{count} devices"


def _runs(numbers: Sequence[int]) -> str:
    """In this order; what ascends one by one as a range: 1-3,8."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ",".join(str(r[0]) if len(r) == 1 else f"{r[0]}-{r[-1]}" for r in runs)


@click.group("claim")
def claim() -> None:
    """Claims made by 'gantt select'."""


@claim.command("confirm")
@click.argument("claim")
@books_command
def confirm(session: CommandSession, *, claim: str) -> None:
    """Make a claim permanent: its lease no longer expires.

    \b
    Example:
      gantt claim confirm 3f0e9a52-6c1d-4b78-9d2e-51a7c84f0b36
    """
    session.books.confirm_claim(claim)


@claim.command("release")
@click.argument("claim")
@books_command
def release(session: CommandSession, *, claim: str) -> None:
    """Release a claim and its resources.

    \b
    Example:
      gantt claim release 3f0e9a52-6c1d-4b78-9d2e-51a7c84f0b36
    """
    session.books.release_claim(claim)


def try_select(
    session: CommandSession, tried: WhatIfEngines, request: ScheduleRequest
) -> None:
    """Both decisions, and where they differ."""
    request = replace(request, dry_run=True)
    tried.tell_unasked([request.spec])
    other = replace(request, spec=tried.asked(request.spec))
    tried.check([request.spec])
    live = tried.live.decide(request)
    with tried.changed_for([request.spec]) as gantt:
        changed = gantt.decide(other)
    if session.is_whole:
        session.print_document(
            {"revision": tried.revision, "live": live, "what_if": changed}
        )
        return
    rows = list(_instances(request, live, changed))
    columns = ("instance", "live", "what if", "same")
    if not session.is_prose:
        session.print_rows(columns, rows)
        return
    say(f"At revision {tried.revision:,}; nothing was claimed.\n")
    say(table(columns, plain(rows)))
    say("\n" + table(("hosts", "live", "what if"), plain(list(_steps(live, changed)))))
    for title, one in (("live", live), ("what if", changed)):
        if one.failure is not None:
            say("\n" + plain(f"{title}: {one.failure}"))


def _instances(
    request: ScheduleRequest, live: Decision, changed: Decision
) -> Iterator[tuple[str, str, str, str]]:
    for number, uuid in enumerate(request.instance_uuids or ()):
        one, other = _host(live, number), _host(changed, number)
        yield uuid, one, other, "yes" if one == other else "no"


def _host(decision: Decision, number: int) -> str:
    if decision.failure is not None or number >= len(decision.chosen):
        return "refused"
    return decision.chosen[number][0].service_host


def _steps(live: Decision, changed: Decision) -> Iterator[tuple[str, Any, Any]]:
    """How many hosts there are, and how many each filter left."""
    yield "all", live.hosts, changed.hosts
    one = {step.name: step.after for step in live.steps}
    other = {step.name: step.after for step in changed.steps}
    for name in dict.fromkeys((*one, *other)):
        yield f"after {name}", one.get(name, "-"), other.get(name, "-")
