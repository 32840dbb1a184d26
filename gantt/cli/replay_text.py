"""The reports of ``gantt replay`` for people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gantt.cli.output import table
from gantt.model.printable import counted
from gantt.replay.decision_differences import ReplayComparison
from gantt.replay.decision_files import Header
from gantt.replay.replay_report import ReplayReport
from gantt.replay.run import Decided
from gantt.replay.trace_trial import TraceTrial


def paragraphs(found: ReplayReport, took_s: float) -> Iterator[str]:
    """What a replay came to."""
    yield (
        f"{found.trace}: {counted(found.arrived, 'instance')} on "
        f"{counted(found.hosts, 'host')} in {took_s:.1f} s "
        f"({found.arrived / max(took_s, 1e-9):,.0f}/s)."
    )
    yield table(("figure", "value"), list(_figures(found)))
    if found.refused:
        yield table(("refused by", "instances"), list(found.refused.items()))
    rows = [
        (
            name,
            *map(_percent, (use.used_mean, use.used_peak)),
            *map(_percent, (use.stranded_mean, use.stranded_at_peak)),
        )
        for name, use in found.classes.items()
    ]
    yield table(
        ("class", "used mean", "used peak", "stranded mean", "stranded at peak"), rows
    )


def _figures(found: ReplayReport) -> Iterator[tuple[str, Any]]:
    yield "placed", found.placed
    yield "refused", sum(found.refused.values())
    yield "departed", found.departed
    yield "conflicts", found.conflicts
    yield "group violations", found.violations
    yield "skipped places", found.skipped
    yield "empty hosts, mean", round(found.empty_hosts_mean, 1)
    yield "empty hosts, least", found.empty_hosts_least
    yield "digest of arrivals", found.arrivals
    yield "digest of decisions", found.decisions


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def what_if_paragraphs(found: TraceTrial) -> Iterator[str]:
    """A trace as it is and with a what-if, and how they differ."""
    live, other = found.live, found.what_if
    yield (
        f"{live.trace}: {counted(live.arrived, 'instance')}, "
        f"{counted(found.arrivals, 'arrival')}."
    )
    figures = zip(_figures(live), _figures(other), strict=True)
    rows: list[tuple[Any, ...]] = [("hosts", live.hosts, other.hosts)]
    rows += [(name, one, two) for (name, one), (_, two) in figures]
    for name in dict.fromkeys((*live.classes, *other.classes)):
        uses = [one.classes.get(name) for one in (live, other)]
        peaks = ["-" if use is None else _percent(use.used_peak) for use in uses]
        rows.append((f"{name}, used at peak", *peaks))
    yield table(("figure", "live", "what if"), rows)
    reasons = dict.fromkeys((*live.refused, *other.refused))
    if reasons:
        yield table(
            ("refused by", "live", "what if"),
            [
                (why, live.refused.get(why, 0), other.refused.get(why, 0))
                for why in reasons
            ],
        )
    yield table(
        ("arrivals", "count"),
        [
            ("the same", found.same),
            ("on other hosts", found.moved),
            ("placed live alone", found.only_live),
            ("placed in the what-if alone", found.only_what_if),
        ],
    )


def comparison(one: Header, other: Header, found: ReplayComparison) -> Iterator[str]:
    """How far two replays agree."""
    if found.is_identical:
        yield f"All {found.arrivals:,} decisions are the same."
        return
    yield table(
        ("arrivals", "count"),
        [
            ("all", found.arrivals),
            ("the same", found.same),
            ("on other hosts", found.moved),
            ("placed by the first alone", found.only_one),
            ("placed by the second alone", found.only_other),
        ],
    )
    if found.reasons:
        sides = [(*why, n) for why, n in _most_first(found)]
        yield table(("refused by", "reason", "arrivals"), sides)
    options = sorted(one.policy.keys() | other.policy.keys())
    differing = [
        (name, one.policy.get(name, "default"), other.policy.get(name, "default"))
        for name in options
        if one.policy.get(name) != other.policy.get(name)
    ]
    seeds = ("seed", one.seed, other.seed)
    yield table(("option", "first", "second"), [seeds, *differing])
    yield table(
        ("number", "instance", "first", "second"),
        [
            (d.one.number, d.one.names[0], _went(d.one), _went(d.other))
            for d in found.examples
        ],
    )


def _most_first(found: ReplayComparison) -> list[tuple[tuple[str, str], int]]:
    return sorted(found.reasons.items(), key=lambda item: (-item[1], item[0]))


def _went(one: Decided) -> str:
    return ", ".join(one.hosts) or f"refused: {one.reason}"


def as_document(one: Header, other: Header, found: ReplayComparison) -> dict[str, Any]:
    """What a comparison found, as a document for programs."""
    return {
        "one": one,
        "other": other,
        "arrivals": found.arrivals,
        "same": found.same,
        "moved": found.moved,
        "only_one": found.only_one,
        "only_other": found.only_other,
        "refused": [
            {"side": side, "reason": why, "arrivals": n}
            for (side, why), n in _most_first(found)
        ],
        "examples": found.examples,
    }
