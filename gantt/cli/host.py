"""``gantt host``: the hosts that instances run on, as reported."""

from __future__ import annotations

from functools import partial
from typing import Any

import click
import msgspec

from gantt.cli.command_session import CommandSession, books_command
from gantt.cli.flavor import document
from gantt.cli.option_kinds import switch
from gantt.cli.output import say, time_text
from gantt.cli.page_options import cut, page_of
from gantt.cli.text_columns import TextColumns
from gantt.cli.topology_text import draw
from gantt.errors import Invalid, NotFound
from gantt.model.artifacts import size_text
from gantt.model.fleet import OPERATOR
from gantt.model.forms.stats import read_stats
from gantt.model.hosts import HostView, Service
from gantt.model.needs import Needs
from gantt.model.takeover import Takeover
from gantt.model.topology_view import HostTopologyView

_AMOUNTS = {"vcpus": "VCPU", "memory_mb": "MEMORY_MB", "local_gb": "DISK_GB"}


@click.group("host")
def host() -> None:
    """Hosts that instances run on, as reported."""


@host.command("list")
@cut
@books_command
def list_hosts(
    session: CommandSession, *, limit: int | None, marker: str | None
) -> None:
    """List hosts with their used and total resources.

    '3/4 x 16': 3 of 4 are used, and each of the 4 may be given 16 times. 'no service':
    neither an agent nor nova-compute speaks for the host; it is chosen all the same.

    \b
    Examples:
      gantt host list
      gantt host list -c host -c state -o csv
    """
    found = page_of(session.books.list_hosts(), limit, marker, _node_of)
    session.print_each(_LISTED, found)


def _node_of(view: HostView) -> str:
    return f"{view.host}/{view.node}"


@host.command("show")
@click.argument("host")
@click.argument("node", required=False)
@switch(
    "--topology is_topology", "Draw its NUMA cells, CPUs, pages and devices instead."
)
@books_command
def show(
    session: CommandSession, *, host: str, node: str | None, is_topology: bool
) -> None:
    """Show everything that is known about a host.

    \b
    Examples:
      gantt host show gen-01
      gantt host show net-43 --topology
    """
    view = _one(session, host, node)
    if is_topology:
        _draw(session, session.books.host_topology(view.host, view.node))
    else:
        _print(session, view)


@host.command("update")
@click.argument("host")
@click.argument("words", nargs=-1, metavar="[FIELD=VALUE]...")
@click.option("--node", help="Default: the host's only node, or its own name.")
@click.option(
    "--stats", metavar="FILE", help="A JSON object of fields; - for standard input."
)
@books_command
def update(
    session: CommandSession,
    *,
    host: str,
    words: tuple[str, ...],
    node: str | None,
    stats: str | None,
) -> None:
    """Report the state of a host; fields that are not given keep their values.

    Fields are those of Nova's compute nodes; a value is JSON, or text.

    \b
    Example:
      gantt host update gen-01 vcpus=16 memory_mb=65536 local_gb=500
    """
    reported = (name for name in session.columns if name.startswith("stats."))
    session.expect(*_SHOWN.names, *reported)
    given = document(stats) if stats is not None else {}
    given |= dict(_field(word) for word in words)
    if not given:
        raise click.UsageError("Nothing to report: give FIELD=VALUE or --stats FILE.")
    if node is None:
        nodes = [view.node for view in session.books.list_hosts(host=host)]
        node = nodes[0] if len(nodes) == 1 else host
    view = session.books.update_host(host, node, read_stats(given, host=host))
    _print(session, view)


@host.command("needs")
@books_command
def needs(session: CommandSession) -> None:
    """List what agents are to report, and which plug-in reads it.

    'everything': a filter or weigher does not say what it reads, so that agents send
    all that they know.

    \b
    Example:
      gantt host needs
    """
    found = session.books.needs()
    rows = [(column, _readers(found, column)) for column in found.columns]
    if found.everything:
        silent = [name for name, needed in found.readers.items() if needed is None]
        rows.insert(0, ("everything", silent))
    session.print_answer(found, ("field", "read by"), rows)


@host.command("delete")
@click.argument("host")
@click.argument("node", required=False)
@books_command
def delete(session: CommandSession, *, host: str, node: str | None) -> None:
    """Delete a host, but keep its provider.

    Its inventory and traits go, unless an API client wrote them; where some of it is in
    use, nothing of it is free. Reported again, the host has what it then reports.

    \b
    Example:
      gantt host delete gen-17
    """
    view = _one(session, host, node)
    session.books.delete_host(view.host, view.node)


@host.command("disable")
@click.argument("hosts", nargs=-1, required=True, metavar="HOST...")
@click.option("--reason", required=True, help="Why; shown with the host.")
@books_command
def disable(session: CommandSession, *, hosts: tuple[str, ...], reason: str) -> None:
    """Choose these hosts no more, whatever their services and agents say.

    Instances and claims stay. 'gantt host enable' ends it.

    \b
    Example:
      gantt host disable gen-01 gen-02 --reason "memory is replaced"
    """
    session.expect(*_WORD.names)
    _check_known(session, hosts)
    for name in hosts:
        word = Service(name, OPERATOR, disabled=True, disabled_reason=reason)
        session.books.update_service(word)
    _print_words(session, hosts)


@host.command("enable")
@click.argument("hosts", nargs=-1, required=True, metavar="HOST...")
@books_command
def enable(session: CommandSession, *, hosts: tuple[str, ...]) -> None:
    """Let these hosts be chosen again; one that is not disabled is no error.

    \b
    Example:
      gantt host enable gen-01 gen-02
    """
    session.expect(*_WORD.names)
    _check_known(session, hosts)
    for name in hosts:
        session.books.delete_service(name, OPERATOR)
    _print_words(session, hosts)


@host.command("label")
@click.argument("words", nargs=-1, required=True, metavar="HOST... [KEY=VALUE|KEY-]...")
@books_command
def label(session: CommandSession, *, words: tuple[str, ...]) -> None:
    """Show the labels of hosts, such as their racks, or give and take some.

    'rack=r7' gives a label, 'power-' takes one away. Requests can be spread over their
    values: 'gantt host domains' lists them.

    \b
    Example:
      gantt host label gen-01 gen-02 rack=r7 power-
    """
    session.expect(*_LABELS.names)
    labels: dict[str, str | None] = {}
    hosts = []
    for word in words:
        key, separator, value = word.partition("=")
        if separator:
            labels[key] = value
        elif word.endswith("-") and not session.books.list_hosts(host=word):
            labels[word[:-1]] = None
        else:
            hosts.append(word)
    if not hosts:
        raise click.UsageError("Name a host: gantt host label host1 rack=r7.")
    _check_known(session, tuple(hosts))
    found = [session.books.label_host(name, labels) for name in hosts]
    session.print_each(_LABELS, found)


@host.command("domains")
@click.argument("key", required=False)
@books_command
def domains(session: CommandSession, *, key: str | None) -> None:
    """List topology keys, such as rack, and how many hosts are in each domain.

    \b
    Example:
      gantt host domains rack
    """
    session.print_each(_DOMAINS, list(session.books.list_domains(key=key)))


def _check_known(session: CommandSession, hosts: tuple[str, ...]) -> None:
    """All of them, before the first is changed. Raises NotFound."""
    for name in hosts:
        if not session.books.list_hosts(host=name):
            raise NotFound(f"There is no host {name}: 'gantt host list' shows all.")


def _print_words(session: CommandSession, hosts: tuple[str, ...]) -> None:
    found = [session.books.list_hosts(host=name) for name in hosts]
    session.print_each(_WORD, [views[0] for views in found if views])


def _reason(view: HostView) -> str | None:
    """Why it is disabled, as an operator said, else Nova."""
    word = view.service.get("operator")
    if word and word["disabled"]:
        return str(word["reason"]) if word["reason"] else None
    return view.service.get("disabled_reason")


@host.command("adopt")
@click.argument("host")
@click.argument("new_host", required=False, default="")
@click.option("--node", default="", help="Node of HOST; default: its only one.")
@click.option(
    "--new-node",
    default="",
    help="Node of NEW_HOST; default: of the same name, or as it was called.",
)
@click.option("--uuid", help="The uuid that it reports for its provider now.")
@click.option("--yes", is_flag=True, help="Do it; without, only show what would move.")
@books_command
def adopt(
    session: CommandSession,
    *,
    host: str,
    new_host: str,
    node: str,
    new_node: str,
    uuid: str | None,
    yes: bool,
) -> None:
    """Let a host that came back as NEW_HOST, or with another uuid, take over what HOST
    had.

    Inventories, allocations, traits, aggregates, claims and the state of its services
    move in one commit. HOST must be down.

    \b
    Example:
      gantt host adopt gen-17 gen-51
    """
    session.expect(*Takeover.__struct_fields__)
    found = session.books.adopt_host(
        host, new_host, node=node, new_node=new_node, uuid=uuid, dry_run=not yes
    )
    session.print_record(msgspec.structs.asdict(found))
    if not yes:
        say("Nothing was changed; --yes lets it take this over.", err=True)


def _readers(needs: Needs, column: str) -> list[str]:
    """The plug-ins that read a column, or a part of it."""
    return [
        name
        for name, needed in needs.readers.items()
        if any(one == column or one.startswith(f"{column}.") for one in needed or ())
    ]


def _field(word: str) -> tuple[str, Any]:
    name, separator, value = word.partition("=")
    if not (name and separator):
        raise click.UsageError(f"{word!r} is not FIELD=VALUE: write it as vcpus=16.")
    try:
        return name, msgspec.json.decode(value)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return name, value


def _one(session: CommandSession, host: str, node: str | None) -> HostView:
    found = session.books.list_hosts(host=host, node=node)
    if not found:
        where = "" if node is None else f" with node {node!r}"
        raise NotFound(
            f"There is no host {host!r}{where}: 'gantt host list' shows all hosts."
        )
    if len(found) > 1:
        nodes = ", ".join(view.node for view in found)
        raise Invalid(f"Host {host!r} has several nodes; name one of them: {nodes}.")
    return found[0]


def _print(session: CommandSession, view: HostView) -> None:
    if session.is_whole:
        session.print_document(view)
        return
    reported = {f"stats.{name}": value for name, value in view.stats.items()}
    held = view.stats.get("holds")
    if held:
        sizes = {name: size_text(size) for name, size in held.items()}
        reported["stats.holds"] = sizes
    session.print_record(_SHOWN.record(view) | reported)


def _draw(session: CommandSession, view: HostTopologyView) -> None:
    if session.is_whole:
        session.print_document(view)
    elif session.is_prose:
        draw(view)
    else:
        raise click.UsageError(
            "--topology draws a picture, which has no columns: leave out -c and "
            f"-o {session.output}, or give -o json or -o yaml for the values."
        )


def _used(field: str, view: HostView) -> str:
    """What is used of what there is, and how often that is given."""
    kind = _AMOUNTS[field]
    ratio = view.ratios.get(kind, 1.0)
    text = f"{_shown(view.stats.get(f'{field}_used'))}/{_shown(view.stats.get(field))}"
    return text if ratio == 1.0 else f"{text} x {ratio:g}"


def _shown(amount: Any) -> str:
    return "-" if amount is None else str(amount)


def _state(view: HostView) -> str:
    """State of its service; whether its heartbeats go on is checked when hosts are
    selected."""
    service = view.service
    if service.get("operator", {}).get("disabled"):
        return "disabled"
    agent = service.get("agent")
    if agent is None:
        return _service_state(service)
    state = _service_state(service) if agent["is_member"] else "agent down"
    return f"{state}, last known" if agent["is_frozen"] else state


def _service_state(service: dict[str, Any]) -> str:
    if "binary" not in service:
        return "enabled" if "agent" in service else "no service"
    if service.get("forced_down"):
        return "forced down"
    if service.get("disabled"):
        return "disabled"
    return "cell unreadable" if service.get("cell_unreadable") else "enabled"


_LABELS = TextColumns("host labels")
_DOMAINS = TextColumns("key domains without torn")
_WORD = TextColumns("host state reason", state=_state, reason=_reason)
# Of one host; what it reports is added as stats.NAME.
_SHOWN = TextColumns(
    "host node provider_uuid state reason updated_at ratios claimed instances "
    "aggregates",
    state=_state,
    reason=_reason,
    updated_at=lambda view: time_text(view.updated_at, "seconds"),
)
_LISTED = TextColumns(
    f"host node state {' '.join(_AMOUNTS)} claimed instances updated_at",
    state=_state,
    **{name: partial(_used, name) for name in _AMOUNTS},
    claimed=lambda view: {name: n for name, n in view.claimed.items() if n},
    instances=lambda view: len(view.instances),
    updated_at=lambda view: time_text(view.updated_at, "seconds"),
)
