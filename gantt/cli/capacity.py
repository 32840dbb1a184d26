"""``gantt capacity``: how many more instances fit, where, and what limits them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import click
import msgspec

from gantt.cli.capacity_forecast import show_forecast
from gantt.cli.capacity_prices import show_prices
from gantt.cli.capacity_split import show_split, weights_of
from gantt.cli.command_session import CommandSession, books_command
from gantt.cli.flavor import flavors_of
from gantt.cli.option_kinds import preset, repeated, switch
from gantt.cli.output import plain, say, table
from gantt.cli.refusal import why_text
from gantt.cli.typed_options import refuse
from gantt.cli.what_if_capacity import (
    try_capacity,
    try_forecast,
    try_prices,
    try_split,
)
from gantt.cli.what_if_engines import what_if_option
from gantt.model.capacity import BY, MOST_DAYS, By
from gantt.model.selection import Capacity, Why
from gantt.model.spec import RequestSpec

Found = list[tuple[str, Capacity]]
# Limits at which counting ends.
_ENDS: Final = {
    "topology_fits": "topology_fits of [scheduler], the most that one request is "
    "fitted into hosts (metric gantt_topology_fits_spent_total),",
    "search_budget": "search_budget of [gantt]",
    "capacity_per_host": "capacity_per_host of [scheduler]",
}


@click.command("capacity")
@click.argument("sizes", nargs=-1, metavar="FLAVOR...")
@repeated(
    "--flavor names",
    "NAME",
    "A flavor that the configuration of the service names (usual_flavors), like "
    "FLAVOR; may be repeated.",
)
@switch("--fair", "Count all flavors together: no host is counted twice.")
@click.option(
    "--mix",
    metavar="NAME=N,...",
    help="With --fair: so many of one flavor for so many of another.",
)
@preset(
    "--by",
    click.Choice(BY),
    "fleet",
    "With --fair and --runs-out: all hosts, or those of each zone or aggregate.",
)
@switch("--price", "Tell how many more would fit without each rule that applies.")
@switch("--runs-out", "Tell when resource classes, and the flavors, run out.")
@preset(
    "--days",
    click.IntRange(1, MOST_DAYS),
    30,
    "With --runs-out: how far to look ahead.",
)
@click.option(
    "--zone", help="Only the hosts of this availability zone; not with --runs-out."
)
@switch("--hosts shows_hosts", "List each host, too, and what left hosts out.")
@what_if_option
@books_command
def capacity(
    session: CommandSession,
    *,
    sizes: tuple[str, ...],
    names: tuple[str, ...],
    zone: str | None,
    shows_hosts: bool,
    fair: bool,
    price: bool,
    runs_out: bool,
    mix: str | None,
    by: By,
    days: int,
) -> None:
    """Count how many more instances of each flavor fit, independently of the others.

    \b
    Examples:
      gantt capacity vcpus=2,memory_mb=4096,disk_gb=20 vcpus=8,memory_mb=32768
      gantt capacity vcpus=2,memory_mb=4096 --zone north --hosts
      gantt capacity --fair name=a,vcpus=2,memory_mb=4096 name=b,vcpus=8 --mix a=3,b=1
      gantt capacity --price vcpus=2,memory_mb=4096,trait:CUSTOM_SSD=required
      gantt capacity --flavor large --flavor small
      gantt capacity --runs-out --by zone
    """
    flavors = (*sizes, *names)
    if fair + price + runs_out > 1:
        raise click.UsageError("Give one of --fair, --price and --runs-out.")
    if mix is not None and not fair:
        raise click.UsageError("--mix says how to split: add --fair.")
    if by != "fleet" and not (fair or runs_out):
        raise click.UsageError("--by goes with --fair and --runs-out: add one.")
    if zone is not None and runs_out:
        raise click.UsageError("--runs-out tells it of each zone with --by zone.")
    if shows_hosts and (fair or price or runs_out):
        raise click.UsageError("--hosts goes with the plain count alone.")
    if not runs_out:
        refuse(["--days"], "how far --runs-out looks ahead; add --runs-out.")
    if not (flavors or runs_out):
        raise click.UsageError("Name a flavor, such as vcpus=2,memory_mb=4096.")
    asked = [
        RequestSpec(one, availability_zone=zone)
        for one in flavors_of(session.named_flavors, flavors)
    ]
    named = list(zip(flavors, asked, strict=True))
    weights = weights_of(mix, asked)
    tried = session.tried
    if tried is not None:
        if fair:
            try_split(session, tried, asked, weights, by)
        elif price:
            try_prices(session, tried, asked)
        elif runs_out:
            try_forecast(session, tried, asked, by, days)
        else:
            try_capacity(session, tried, named)
    elif fair:
        show_split(session, asked, weights, by)
    elif price:
        show_prices(session, asked)
    elif runs_out:
        show_forecast(session, asked, by, days)
    else:
        _show(session, named, shows_hosts=shows_hosts)


def _show(
    session: CommandSession,
    flavors: Sequence[tuple[str, RequestSpec]],
    *,
    shows_hosts: bool,
) -> None:
    """Ask how many more of each fit, and print it."""
    found = [(words, session.books.capacity(asked)) for words, asked in flavors]
    if session.is_prose:
        paragraphs = _paragraphs(plain(found), shows_hosts=shows_hosts)
        say("\n\n".join(filter(None, paragraphs)))
        return
    whole = [{"flavor": words, **msgspec.structs.asdict(each)} for words, each in found]
    session.print_answer(whole, ("flavor", "host", "more"), _by_host(found))
    if session.is_whole:
        return
    for words, each in plain(found):
        if each.is_lower_bound:
            say(f"{words}: {_lower_bound(each)}", err=True)


def _why(found: Capacity) -> Why:
    return Why(
        found.steps, found.nearest, found.change, is_truncated=found.is_truncated
    )


def _by_host(found: Found) -> Iterator[tuple[Any, ...]]:
    for words, each in found:
        for host, more in each.hosts.items():
            yield words, host, more


def _lower_bound(found: Capacity) -> str:
    ended = ", ".join(
        f"at {words} on {found.limits[name]:,} host(s)"
        for name, words in _ENDS.items()
        if name in found.limits
    )
    return f"More may fit: counting ended {ended}."


def _paragraphs(found: Found, *, shows_hosts: bool) -> Iterator[str]:
    """A line for each flavor, and where none fits why; ``shows_hosts``: each host and
    all reasons."""
    sums = [
        (
            words,
            f"{'at least ' * each.is_lower_bound}{each.total}",
            len(each.hosts),
            ", ".join(f"{name} on {hosts}" for name, hosts in each.limits.items()),
        )
        for words, each in found
    ]
    yield table(("flavor", "more", "hosts", "what blocks one more"), sums)
    for words, each in found:
        parts = [_lower_bound(each)] if each.is_lower_bound else []
        if shows_hosts and each.hosts:
            parts.append(table(("host", "more"), list(each.hosts.items())))
        if shows_hosts or not each.total:
            parts.append(why_text(_why(each), is_refused=not each.total))
        if len(found) > 1 and any(parts):
            yield f"{words}:"
        yield from parts
