"""``gantt capacity``: how many more instances fit, where, and what limits them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click
import msgspec

from gantt.cli.decision import why_text
from gantt.cli.flavor import flavor
from gantt.cli.output import plain, print_document, print_rows, say, table
from gantt.cli.session import Session, books_command
from gantt.model.selection import Capacity, Why
from gantt.model.spec import RequestSpec

Found = list[tuple[str, Capacity]]


@click.command("capacity")
@click.argument("flavors", nargs=-1, required=True, metavar="FLAVOR...")
@books_command
def capacity(session: Session, *, flavors: tuple[str, ...]) -> None:
    """Count how many more instances of each flavor fit, independently of the others.

    gantt capacity vcpus=2,memory_mb=4096,disk_gb=20 vcpus=8,memory_mb=32768
    """
    found = [
        (words, session.books.capacity(RequestSpec(flavor(words)))) for words in flavors
    ]
    if session.output == "json":
        print_document(
            [{"flavor": words, **msgspec.structs.asdict(each)} for words, each in found]
        )
    elif session.output == "csv":
        print_rows("csv", ("flavor", "host", "more"), _by_host(found))
    else:
        say("\n\n".join(filter(None, _paragraphs(plain(found)))))


def _why(found: Capacity) -> Why:
    return Why(
        found.steps, found.nearest, found.change, is_truncated=found.is_truncated
    )


def _by_host(found: Found) -> Iterator[tuple[Any, ...]]:
    for words, each in found:
        for host, more in each.hosts.items():
            yield words, host, more


def _paragraphs(found: Found) -> Iterator[str]:
    sums = [(words, each.total, len(each.hosts)) for words, each in found]
    yield table(("flavor", "more", "hosts"), sums)
    for words, each in found:
        if len(found) > 1:
            yield f"{words}:"
        if each.hosts:
            yield table(("host", "more"), list(each.hosts.items()))
        if each.limits:
            limits = list(each.limits.items())
            yield "What blocks one more:\n" + table(("limit", "hosts"), limits)
        yield why_text(_why(each))
