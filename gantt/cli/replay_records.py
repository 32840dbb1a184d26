"""``gantt replay RECORD…``: decisions of a service, made again on what each saw."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gantt.cli.output import plain, print_document, say, table
from gantt.cli.what_if_engines import tell_unasked
from gantt.errors import Invalid
from gantt.model.printable import counted
from gantt.version import __version__

if TYPE_CHECKING:
    from gantt.replay.record_report import Differing, RecordReport
    from gantt.replay.what_if import WhatIf
    from gantt.scheduler.options import SchedulerOptions


def replay_records(
    paths: tuple[Path, ...],
    policy: SchedulerOptions | None,
    changed: Path | None,
    out: Path | None,
    output: str,
) -> bool:
    """Make all decisions again and print what came of it; whether all are as recorded,
    which only decisions by the same policy are expected to be. ``changed``: a file with
    a what-if."""
    from gantt.replay.what_if import WhatIf
    from gantt.replay.what_if_file import read_what_if

    what_if = WhatIf() if changed is None else read_what_if(changed)
    if what_if.has_hosts:
        raise Invalid(
            f"{changed}: {', '.join(what_if.host_keys)} changes hosts, but recorded "
            "decisions are made on the hosts that they saw. Take a trace, or a "
            "snapshot of the books with gantt select or gantt capacity; for a record, "
            "change options and flavors alone."
        )
    is_other = policy is not None or changed is not None
    began = time.monotonic()
    names: set[str | None] = set()
    found = _report(paths, policy, what_if, out, names)
    took_s = time.monotonic() - began
    tell_unasked(what_if, what_if.unasked(names))
    if output == "table":
        say("\n\n".join(_paragraphs(plain(found), took_s, is_other=is_other)))
    else:
        print_document(found, output)
    return found.is_same


def _report(
    paths: tuple[Path, ...],
    policy: SchedulerOptions | None,
    what_if: WhatIf,
    out: Path | None,
    names: set[str | None],
) -> RecordReport:
    """``names``: takes those of the flavors that were asked for."""
    from gantt.replay import decision_files
    from gantt.replay.process_records import open_records
    from gantt.replay.record_report import RecordTally
    from gantt.replay.redecision import play
    from gantt.replay.redecision_results import Played
    from gantt.replay.what_if import noted

    played = Played()
    processes = open_records(paths, played.early)
    tally = RecordTally(len(processes), played)
    decided = play(processes, played, policy, what_if)
    asked = decision_files.Counted(
        noted(decided, lambda one: one.request.spec, names),
        lambda one: (one.now, one.request),
    )
    remade = tally.decided(asked)
    if out is None:
        deque(remade, maxlen=0)
    else:
        heads = decision_files.Digest()
        for file in (file for one in processes for file in one.files):
            heads.add((file.head.process, file.head.number))
        header = decision_files.Header(
            version=__version__,
            trace="record",
            fleet=str(heads),
            policy=({} if policy is None else decision_files.options_of(policy))
            | what_if.options,
        )
        decision_files.write(out, header, remade, asked)
    return tally.report()


def _paragraphs(found: RecordReport, took_s: float, *, is_other: bool) -> Iterator[str]:
    yield (
        f"{found.again:,} of {counted(found.decisions, 'decision')} of "
        f"{found.processes} process{'es' * (found.processes != 1)} made again in "
        f"{took_s:.1f} s, at revisions {found.first_revision:,} to "
        f"{found.last_revision:,}: {_verdict(found)}."
    )
    yield table(("figure", "value"), list(_figures(found)))
    for title, counts in (
        ("not as recorded in", found.differing),
        ("not made again, because", found.unrepeated),
        ("not in the record, because", found.dropped),
    ):
        if counts:
            yield table((title, "decisions"), list(counts.items()))
    if found.early:
        yield "Files that end early: " + ", ".join(found.early)
    if found.missing:
        yield "Files that are not there: " + "; ".join(found.missing)
    if found.examples:
        yield table(
            ("process", "number", "revision", "differs in", "recorded", "now"),
            list(map(_example, found.examples)),
        )
        if not is_other:
            yield (
                "The same policy, driver and release decide the same; look for another "
                "release, plug-ins that draw or read a clock, or names that the record "
                "leaves out."
            )


def _verdict(found: RecordReport) -> str:
    if not found.again:
        return "nothing was compared"
    if found.is_same:
        return "all hosts, scores and claims on first hosts are the same, bit for bit"
    return f"{found.same:,} are the same, bit for bit"


def _figures(found: RecordReport) -> Iterator[tuple[str, Any]]:
    yield "placed", found.placed
    yield "refused", found.refused
    yield "instances claimed by the service", found.claims
    yield "decisions lost to concurrent claims", found.lost
    yield "changed rows", found.changes
    yield "files", found.files


def _example(one: Differing) -> tuple[Any, ...]:
    left_out = f" (left out: {', '.join(one.left_out)})" if one.left_out else ""
    return (
        one.process,
        one.number,
        one.revision,
        ", ".join(one.differs_in) + left_out,
        _went(one.recorded, one.recorded_failure),
        _went(one.again, one.failure),
    )


def _went(hosts: tuple[str, ...], failure: str | None) -> str:
    return ", ".join(hosts) if failure is None else f"refused: {failure}"
