"""``gantt candidates``: allocation candidates of a request."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import click
import msgspec

from gantt.cli.amounts import amounts, labels
from gantt.cli.diagnosis import print_diagnosis
from gantt.cli.output import print_document
from gantt.cli.session import Session, books_command
from gantt.model.answers import Candidates
from gantt.model.requests import CandidateRequest, RequestGroup

Words = tuple[str, ...]


@click.command("candidates")
@click.argument("resources", nargs=-1, metavar="[RC=N]...")
@click.option(
    "--group",
    "groups",
    multiple=True,
    nargs=2,
    metavar="SUFFIX RC=N[,RC=N]",
    help="Resources that a single provider must supply; '-' for none.",
)
@click.option(
    "--required", multiple=True, metavar="[SUFFIX:]TRAIT", help="Require TRAIT."
)
@click.option(
    "--forbidden", multiple=True, metavar="[SUFFIX:]TRAIT", help="Forbid TRAIT."
)
@click.option(
    "--member-of",
    multiple=True,
    metavar="[SUFFIX:]AGG",
    help="Require membership of aggregate AGG.",
)
@click.option(
    "--not-member-of",
    multiple=True,
    metavar="[SUFFIX:]AGG",
    help="Exclude members of aggregate AGG.",
)
@click.option(
    "--in-tree",
    multiple=True,
    metavar="[SUFFIX:]PROVIDER",
    help="Only providers in the tree of PROVIDER.",
)
@click.option(
    "--root-required",
    multiple=True,
    metavar="TRAIT",
    help="Require TRAIT on the root provider.",
)
@click.option(
    "--root-forbidden",
    multiple=True,
    metavar="TRAIT",
    help="Forbid TRAIT on the root provider.",
)
@click.option(
    "--same-subtree",
    multiple=True,
    metavar="SUFFIX,SUFFIX...",
    help="Place these groups in one subtree.",
)
@click.option("--isolate", is_flag=True, help="Place groups on different providers.")
@click.option(
    "--limit", type=click.IntRange(min=1), help="Maximum number of candidates."
)
@click.option(
    "--explain", is_flag=True, help="Show why there are few or no candidates."
)
@books_command
def candidates(
    session: Session,
    *,
    resources: Words,
    groups: tuple[tuple[str, str], ...],
    required: Words,
    forbidden: Words,
    member_of: Words,
    not_member_of: Words,
    in_tree: Words,
    root_required: Words,
    root_forbidden: Words,
    same_subtree: Words,
    isolate: bool,
    limit: int | None,
    explain: bool,
) -> None:
    """List allocation candidates for a request. A label in:A,B means any of them.

    gantt candidates VCPU=1 MEMORY_MB=512 --required HW_CPU_X86_AVX2

    With --explain: how many providers meet each part of the request, and the nearest
    misses.
    """
    given = {"": amounts(resources)} if resources else {}
    given |= {name: {} if words == "-" else amounts([words]) for name, words in groups}
    if not given:
        raise click.UsageError("No resources requested: give some, such as VCPU=1.")
    by_suffix = [
        _sorted_out(words, given)
        for words in (required, forbidden, member_of, not_member_of, in_tree)
    ]
    request = CandidateRequest(
        groups=tuple(
            _group(session, suffix, amount, [found[suffix] for found in by_suffix])
            for suffix, amount in given.items()
        ),
        limit=limit,
        isolate=isolate,
        root_traits=labels(root_required, root_forbidden),
        same_subtrees=tuple(frozenset(words.split(",")) for words in same_subtree),
    )
    if explain:
        print_diagnosis(session.output, session.books.explain_candidates(request))
    else:
        _print(session, session.books.find_candidates(request))


def _group(
    session: Session, suffix: str, resources: dict[str, int], words: list[list[str]]
) -> RequestGroup:
    required, forbidden, member_of, not_member_of, in_tree = words
    return RequestGroup(
        suffix=suffix,
        resources=resources,
        traits=labels(required, forbidden),
        member_of=labels(member_of, not_member_of),
        in_tree=session.provider(in_tree[-1]).uuid if in_tree else None,
    )


def _sorted_out(words: Iterable[str], suffixes: Iterable[str]) -> dict[str, list[str]]:
    """Words by their suffix; those without one belong to the unsuffixed group."""
    found: dict[str, list[str]] = {suffix: [] for suffix in suffixes}
    for word in words:
        suffix, colon, rest = word.partition(":")
        if colon and suffix in found and suffix:
            found[suffix].append(rest)
        elif "" in found:
            found[""].append(word)
        else:
            raise click.UsageError(
                f"{word!r} belongs to no group: prefix it with a suffix and a colon."
            )
    return found


def _print(session: Session, found: Candidates) -> None:
    if session.output == "json":
        print_document(msgspec.to_builtins(found))
        return
    session.print_rows(
        ("candidate", "provider", "resources", "used/capacity"), _rows(found)
    )


def _rows(found: Candidates) -> Iterable[Sequence[object]]:
    for number, each in enumerate(found.candidates, start=1):
        for uuid, resources in each.allocations.items():
            summary = found.summaries[uuid]
            room = {
                name: f"{state.used}/{state.capacity}"
                for name, state in summary.resources.items()
            }
            yield number, uuid, resources, room
