"""``gantt candidates``: allocation candidates of a request, and why there are none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import click

from gantt.cli.amount_text import amounts, labels
from gantt.cli.command_session import CommandSession, books_command
from gantt.cli.option_kinds import repeated, switch
from gantt.cli.output import plain, say
from gantt.model.answers import Candidates
from gantt.model.diagnosis import Count, Diagnosis, document
from gantt.model.printable import counted
from gantt.model.requests import CandidateRequest, RequestGroup

Words = tuple[str, ...]

_BY_GROUP = ("required", "forbidden", "member_of", "not_member_of", "in_tree")
_COUNTS = ("group", "what", "passed", "trees", "removed_alone", "trees_alone")
_ADVICE = ("part", *_COUNTS)


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
@repeated("--required", "[SUFFIX:]TRAIT", "Require TRAIT.")
@repeated("--forbidden", "[SUFFIX:]TRAIT", "Forbid TRAIT.")
@repeated("--member-of", "[SUFFIX:]AGG", "Require membership of aggregate AGG.")
@repeated("--not-member-of", "[SUFFIX:]AGG", "Exclude members of aggregate AGG.")
@repeated("--in-tree", "[SUFFIX:]PROVIDER", "Only providers in the tree of PROVIDER.")
@repeated("--root-required", "TRAIT", "Require TRAIT on the root provider.")
@repeated("--root-forbidden", "TRAIT", "Forbid TRAIT on the root provider.")
@repeated("--same-subtree", "SUFFIX,SUFFIX...", "Place these groups in one subtree.")
@click.option("--isolate", is_flag=True, help="Place groups on different providers.")
@click.option(
    "--limit", type=click.IntRange(min=1), help="Maximum number of candidates."
)
@switch("--explain", "Show why there are few or no candidates.")
@books_command
def candidates(
    session: CommandSession,
    /,
    *,
    resources: Words,
    groups: tuple[tuple[str, str], ...],
    isolate: bool,
    limit: int | None,
    explain: bool,
    **words: Words,
) -> None:
    """List allocation candidates for a request. A label in:A,B means any of them.

    gantt candidates VCPU=1 MEMORY_MB=512 --required HW_CPU_X86_AVX2

    With --explain: how many providers meet each part of the request, and the nearest
    misses.

    \b
    Example:
      gantt candidates VCPU=2 MEMORY_MB=4096 --required HW_CPU_X86_AVX2
    """
    given = {"": amounts(resources)} if resources else {}
    given |= {name: {} if each == "-" else amounts([each]) for name, each in groups}
    if not given:
        raise click.UsageError("No resources requested: give some, such as VCPU=1.")
    by_suffix = {name: _sorted_out(words[name], given) for name in _BY_GROUP}
    request = CandidateRequest(
        groups=tuple(
            _group(
                session,
                suffix,
                amount,
                {name: found[suffix] for name, found in by_suffix.items()},
            )
            for suffix, amount in given.items()
        ),
        limit=limit,
        isolate=isolate,
        root_traits=labels(words["root_required"], words["root_forbidden"]),
        same_subtrees=tuple(
            frozenset(each.split(",")) for each in words["same_subtree"]
        ),
    )
    if explain:
        _print_diagnosis(session, session.books.explain_candidates(request))
    else:
        found = session.books.find_candidates(request)
        columns = ("candidate", "provider", "resources", "used/capacity", "name")
        session.print_answer(found, columns, _rows(session, found))


def _group(
    session: CommandSession,
    suffix: str,
    resources: dict[str, int],
    words: dict[str, list[str]],
) -> RequestGroup:
    in_tree = words["in_tree"]
    return RequestGroup(
        suffix=suffix,
        resources=resources,
        traits=labels(words["required"], words["forbidden"]),
        member_of=labels(words["member_of"], words["not_member_of"]),
        in_tree=session.uuid_of(in_tree[-1]) if in_tree else None,
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


def _rows(session: CommandSession, found: Candidates) -> Iterable[Sequence[object]]:
    known = session.books.list_providers() if found.candidates else ()
    names = {each.uuid: each.name for each in known}
    for number, each in enumerate(found.candidates, start=1):
        for uuid, resources in each.allocations.items():
            summary = found.summaries[uuid]
            room = {
                name: f"{state.used}/{state.capacity}"
                for name, state in summary.resources.items()
            }
            yield number, uuid, resources, room, names.get(uuid)


# -- with --explain -------------------------------------------------------------------


def _print_diagnosis(session: CommandSession, found: Diagnosis) -> None:
    """Print ``found`` in one of the formats."""
    if session.is_prose:
        session.print_rows(_COUNTS, _counts(found))
        _print(plain(found))
    else:
        counts = [("constraint", *row) for row in _counts(found)]
        advice = [
            (part, where, text, *[None] * 4) for part, where, text in _advice(found)
        ]
        session.print_answer(document(found), _ADVICE, [*counts, *advice])


def _counts(found: Diagnosis) -> Iterator[tuple[Any, ...]]:
    """Each group's constraints and their total, then those of the whole request."""
    for group in found.groups:
        name = group.suffix or "-"
        for one in group.constraints:
            text = one.text + (" (unknown)" if one.unknown else "")
            yield (name, text, *_cells(one.passed, one.removed_alone))
        yield (name, "all of these", *_cells(group.passed, group.removed_alone))
    for one in found.whole:
        yield ("*", one.text, *_cells(one.passed, one.removed_alone))


def _cells(passed: Count, alone: Count) -> tuple[Any, ...]:
    return passed.providers, passed.trees, alone.providers, alone.trees


def _advice(found: Diagnosis) -> Iterator[tuple[str, str, str]]:
    for miss in found.misses:
        for lack in miss.lacks:
            where = "*" if lack.suffix is None else lack.suffix or "-"
            yield "miss", where, lack.text
    helps = found.relaxation
    if helps is not None:
        where = "*" if helps.suffix is None else helps.suffix or "-"
        yield "relaxation", where, helps.text


def _print(found: Diagnosis) -> None:
    say(
        f"\nOf {counted(found.trees, 'tree')} "
        f"({counted(found.providers, 'provider')}), {found.viable} "
        f"{'meets' if found.viable == 1 else 'meet'} each group on its own."
    )
    if found.walked < found.viable:
        say(f"Combinations of groups were tried on {found.walked} of these.")
    if found.has_candidates:
        say("There are candidates.")
    elif found.misses:
        say("\nNearest:")
    for miss in found.misses:
        say("  " + "; ".join(lack.text for lack in miss.lacks))
    if found.relaxation is not None:
        say(f"\nThis change would give candidates: {found.relaxation.text}.")
    elif not found.has_candidates and not found.is_truncated:
        say("\nNo single change to the request would give candidates.")
    if found.is_truncated:
        say("\nNot every possible change was tried: the search reached its limit.")
