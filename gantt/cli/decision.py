"""``gantt explain``: how a decision was made, or why a request has no hosts."""

from __future__ import annotations

from collections.abc import Iterator
from operator import attrgetter
from typing import Any, Final, TypeVar

import click

from gantt.cli.command_session import CommandSession, books_command
from gantt.cli.instance_lookup import find_instance
from gantt.cli.output import plain, say, table, time_text
from gantt.cli.refusal import steps_text, why_text
from gantt.cli.text_columns import TextColumns
from gantt.errors import NotFound
from gantt.model.artifacts import HINTS, size_text
from gantt.model.diagnosis import some
from gantt.model.printable import counted
from gantt.model.quantities import memory
from gantt.model.selection import Decision, KeptRequest
from gantt.model.spec import RequestSpec

T = TypeVar("T")

MOST = 100
_RECORDS: Final = TextColumns(
    "at request_id instances hosts chosen attempts failure names",
    at=lambda one: time_text(one.at),
    instances=attrgetter("instance_uuids"),
    chosen=lambda one: [mine[0].service_host for mine in one.chosen],
)


@click.command("explain")
@click.argument("request_or_instance")
@books_command
def explain(session: CommandSession, *, request_or_instance: str) -> None:
    """Show how hosts were chosen for a request or instance, or why none was.

    An instance is meant by its uuid, its name, or a part of either. A service
    keeps the latest decisions of all its processes.

    \b
    Example:
      gantt explain 8b04f231-0817-4c78-8caa-8ce3ad8eaea1
    """
    name = request_or_instance
    found = session.books.decisions(request_id=name, limit=MOST)
    found = found or session.books.decisions(instance_uuid=name, limit=MOST)
    if not found and (uuid := _called(session, name)) is not None:
        found = session.books.decisions(instance_uuid=uuid, limit=MOST)
    if not found:
        raise NotFound(
            f"There is no record of a decision about {name!r}: only the latest "
            "decisions are kept ([scheduler] shared_records for all processes on a "
            "database; [scheduler] records with memory://)."
        )
    if session.is_prose:
        say("\n\n".join(decision_text(one) for one in found))
    else:
        session.print_answer(found, _RECORDS.names, _RECORDS.rows(found))


def _called(session: CommandSession, name: str) -> str | None:
    """The uuid of the instance that is meant by another name. Raises Invalid: several
    are."""
    try:
        return find_instance(session.books, name).uuid
    except NotFound:
        return None


def print_decision(session: CommandSession, found: Decision) -> None:
    """Print one decision: all of it as table, JSON or YAML, else only the scores."""
    if session.is_prose:
        say(decision_text(found))
    else:
        session.print_answer(found, *_scores(found))


def decision_text(found: Decision) -> str:
    """A decision in paragraphs: request, filters, scores, hosts, reasons."""
    return "\n\n".join(filter(None, _paragraphs(plain(found))))


def _paragraphs(found: Decision) -> Iterator[str]:
    dry = " (dry run: nothing is claimed)" if found.is_dry_run else ""
    took = "".join(f", {name} {s * 1000:.2f} ms" for name, s in found.timings.items())
    yield (
        f"{found.request_id or 'Request without an id'} at {time_text(found.at)}{dry}: "
        f"{counted(found.hosts, 'host')}, driver {found.driver}, "
        f"revision {found.revision}, "
        f"{counted(found.attempts, 'attempt')}{took}."
    )
    if found.request is not None:
        yield f"Asked: {_request_text(found.request, len(found.instance_uuids))}."
    if found.failure is not None:
        yield found.failure
    if found.takeover is not None:
        done = found.takeover
        yield (
            f"Host {done.new_host}, node {done.new_node} took over what host "
            f"{done.host}, node {done.node} had: provider {done.provider_uuid or '-'}, "
            f"{counted(len(done.allocations), 'instance')} with allocations, "
            f"{counted(len(done.claims), 'claim')}."
        )
    if found.repair is not None:
        undone = found.repair
        where = f" of host {undone.host}, node {undone.node}" if undone.host else ""
        yield f"Repaired ({undone.kind}{where}): {undone.repair}, as {undone.detail}."
        if undone.allocations:
            rows = [
                (uuid, name, amount)
                for uuid, amounts in undone.allocations.items()
                for name, amount in amounts.items()
            ]
            yield "What it removed:\n" + table(("provider", "class", "amount"), rows)
    if found.steps and found.why is None:
        yield steps_text(found.steps)
    if found.why is not None:
        yield why_text(found.why)
    if found.scores:
        yield table(*_scores(found))
        yield "\n".join(_near(found))
    if found.chosen:
        yield table(("instance", "host", "alternates"), list(_chosen(found)))


def _scores(found: Decision) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    """Columns and rows: the multiplied score of each weigher that contributes."""
    names = [
        name
        for name in (found.scores[0].parts if found.scores else ())
        if any(score.parts[name][1] for score in found.scores)
    ]
    rows = [
        (
            rank,
            one.host,
            one.node,
            round(one.weight, 4),
            *(round(one.parts[name][1], 4) for name in names),
        )
        for rank, one in enumerate(found.scores, start=1)
    ]
    return ("rank", "host", "node", "weight", *names), rows


def _near(found: Decision) -> Iterator[str]:
    """What of the artifacts that it names its hosts hold."""
    asked = found.request
    if asked is None:
        return
    spec, chosen = asked.request_spec, {mine[0].service_host for mine in found.chosen}
    named = [one for hint in HINTS for one in spec.scheduler_hints.get(hint, ())]
    if spec.image is not None and spec.image.id and not named:
        named = [f"image {spec.image.id}"]
    for score in found.scores:
        saved = score.parts.get("LocalityWeigher", (0.0, 0.0))[0]
        if score.host in chosen and saved > 0:
            less = f"{size_text(saved)} less to copy"
            yield f"{score.host} has {', '.join(some(named))}: {less}."


def _chosen(found: Decision) -> Iterator[tuple[Any, ...]]:
    for number, mine in enumerate(found.chosen):
        named = number < len(found.instance_uuids)
        name: object = number + 1
        if named:
            uuid = found.instance_uuids[number]
            name = " ".join(filter(None, (uuid, found.names.get(uuid))))
        yield name, mine[0].service_host, [one.service_host for one in mine[1:]]


# -- what was asked --------------------------------------------------------------------


def _request_text(asked: KeptRequest, instances: int) -> str:
    """For example: 2 instances of 1 VCPU, 2 GiB memory, 20 GB disk; zone north."""
    spec = asked.request_spec
    count = instances or spec.num_instances
    noun = "instance" if count == 1 else "instances"
    parts = [f"{count} {noun} of {_size(spec)}", *_conditions(spec)]
    if asked.filters_off:
        parts.append(f"without {', '.join(asked.filters_off)}")
    if asked.left_out:
        parts.append(f"and {', '.join(asked.left_out)}, which records do not keep")
    return "; ".join(parts)


def _size(spec: RequestSpec) -> str:
    flavor = spec.flavor
    disk = flavor.root_gb + flavor.ephemeral_gb
    # The command line names a flavor by its words.
    has_name = flavor.name and "=" not in flavor.name
    name = f"flavor {flavor.name}: " if has_name else ""
    size = f"{flavor.vcpus} VCPU, {memory(flavor.memory_mb)} memory, {disk} GB disk"
    swap = f", {memory(flavor.swap)} swap" if flavor.swap else ""
    return f"{name}{size}{swap}"


def _conditions(spec: RequestSpec) -> Iterator[str]:
    for key, value in _some_of(spec.flavor.extra_specs):
        yield f"{key}={value}"
    if spec.availability_zone:
        yield f"zone {spec.availability_zone}"
    if spec.image is not None and spec.image.properties:
        yield f"image with {', '.join(some(sorted(spec.image.properties)))}"
    if (group := spec.instance_group) is not None:
        yield f"group {group.uuid or 'without uuid'} ({group.policy or 'its policy'})"
    for name, values in _some_of(spec.scheduler_hints):
        yield f"hint {name}={','.join(some(values))}"
    aim = spec.requested_destination
    if aim is not None and aim.host:
        yield f"host {aim.host}"
    if aim is not None and (aim.aggregates or aim.forbidden_aggregates):
        yield "aggregates that are required or forbidden"
    for word, hosts in (("forced", spec.force_hosts), ("not", spec.ignore_hosts)):
        if hosts:
            yield f"{word} on {', '.join(some(hosts))}"
    for group_ in spec.requested_resources:
        amounts = (f"{n} {name}" for name, n in sorted(group_.resources.items()))
        yield f"group {group_.requester_id}: {', '.join(some(amounts))}"
    if spec.pci_requests:
        yield f"{len(spec.pci_requests)} PCI requests"


def _some_of(found: dict[str, T]) -> list[tuple[str, T]]:
    """The first few, by name."""
    return sorted(found.items())[:20]
