"""``gantt audit``: where claims, inventories and what runs disagree, and its repair."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import click

from gantt.cli.command_session import CommandSession, books_command
from gantt.cli.option_kinds import preset, switch
from gantt.cli.output import say
from gantt.errors import Conflict
from gantt.model.audit import (
    GRACE_S,
    KINDS,
    LONGEST_GRACE_S,
    MOST_FINDINGS,
    Audit,
    Finding,
    Kind,
    Silence,
)
from gantt.model.printable import counted

COLUMNS: Final = ("kind", "host", "node", "subject", "detail", "repair")
_DIFFERS: Final = 1
_BLIND: Final = 3
_WHY_BLIND: Final = (
    "Nothing that is booked could be compared with what runs: no host that was looked "
    "at has told of its instances in the last ten minutes. Its agent tells them, where "
    "its workloads are known, or gantt feed reads them from Nova's databases: see that "
    "one of them runs."
)

_WHY_SILENT: Final[dict[Silence, str]] = {
    "no_list": "neither an agent nor a cell tells all that runs there",
    "old_list": "the last list is too old",
    "cell_unread": "the database of the cell is not read",
}


@click.command("audit")
@preset(
    "--grace grace_s",
    click.FloatRange(0, LONGEST_GRACE_S),
    GRACE_S,
    "Seconds that a claim may be old without anything that runs.",
)
@preset("--limit", click.IntRange(1, MOST_FINDINGS), 1000, "Findings at most.")
@click.option(
    "--kind",
    "kinds",
    type=click.Choice(KINDS),
    multiple=True,
    help="Only findings of this kind. May be repeated. Repairs of host_gone are made "
    "only where this names it.",
)
@click.option("--host", "only_host", help="Only findings about this host.")
@switch("--heal", "Show what would be repaired; with --yes, repair it.")
@click.option("--yes", is_flag=True, help="With --heal: repair what is shown.")
@books_command
def audit(
    session: CommandSession,
    *,
    grace_s: float,
    limit: int,
    kinds: tuple[Kind, ...],
    only_host: str | None,
    heal: bool,
    yes: bool,
) -> None:
    """Compare what is claimed and booked with what hosts report.

    Exit status: 0 if nothing disagrees, or all of it was repaired; 3 if nothing was
    found, but no host says what runs on it; else 1.

    \b
    Example:
      gantt audit --host gen-01
    """
    if yes and not heal:
        raise click.UsageError("--yes confirms repairs: give it with --heal.")
    session.expect(*COLUMNS)
    found = session.books.audit(
        grace_s=grace_s, limit=limit, kinds=kinds, host=only_host or ""
    )
    chosen = list(found.findings)
    if not heal:
        _print(session, found, chosen)
        raise SystemExit(_status(found))
    curable = [one for one in chosen if one.repair and _may_repair(one, kinds)]
    unnamed = [one for one in chosen if one.repair and not _may_repair(one, kinds)]
    if unnamed:
        say(
            f"{counted(len(unnamed), 'finding')} of host_gone left: such a host may "
            "only be silent. See that it is gone, then name --kind host_gone.",
            err=True,
        )
    if not yes:
        _print(session, found, curable)
        say(
            f"Dry run: {len(curable)} of {counted(len(chosen), 'finding')} can be "
            "repaired. Nothing was changed; --yes repairs them.",
            err=True,
        )
        raise SystemExit(_status(found))
    done: list[Finding] = []
    refused: list[str] = []
    try:
        _heal(session, curable, (grace_s, kinds), done, refused)
    finally:  # also where the service is away in the midst of it
        _print(session, found, done)
        for message in refused:
            say(message, err=True)
        say(f"{len(done)} of {counted(len(chosen), 'finding')} repaired.", err=True)
    is_whole = len(done) == len(chosen) and not found.is_truncated
    raise SystemExit((_BLIND if found.is_blind else 0) if is_whole else _DIFFERS)


def _status(found: Audit) -> int:
    if found.findings or found.is_truncated:
        return _DIFFERS
    return _BLIND if found.is_blind else 0


def _may_repair(finding: Finding, kinds: tuple[Kind, ...]) -> bool:
    """A host that does not report looks as if it were gone: only who runs the cloud
    knows."""
    return finding.kind != "host_gone" or "host_gone" in kinds


def _heal(
    session: CommandSession,
    findings: Iterable[Finding],
    terms: tuple[float, tuple[Kind, ...]],
    done: list[Finding],
    refused: list[str],
) -> None:
    """Adds to ``done`` what was repaired, and to ``refused`` why another was not."""
    grace_s, kinds = terms
    for one in findings:
        try:
            done.append(session.books.repair(one, grace_s=grace_s, kinds=kinds))
        except Conflict as refusal:
            refused.append(refusal.message)


def _print(session: CommandSession, found: Audit, findings: list[Finding]) -> None:
    if session.is_whole:
        session.print_document({"audit": found, "findings": findings})
        return
    session.print_rows(COLUMNS, [_row(one) for one in findings])
    if session.output == "table":
        cut = "; there are more than --limit" if found.is_truncated else ""
        say(
            f"What runs is known of {found.listing} of {counted(found.hosts, 'host')}"
            f"{_silent(found)}{cut}.",
            err=True,
        )
    if found.is_blind:
        say(_WHY_BLIND, err=True)


def _silent(found: Audit) -> str:
    """A sentence that says of how many it is not known, and why."""
    whys = [f"{count} ({_WHY_SILENT[why]})" for why, count in found.silent.items()]
    return f"; not of {', '.join(whys)}" if whys else ""


def _row(one: Finding) -> tuple[Any, ...]:
    subject = one.instance_uuid or one.resource_class
    return one.kind, one.host, one.node, subject, one.detail, one.repair
