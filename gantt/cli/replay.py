"""``gantt replay``: what a fleet and a policy would have done with a trace."""

from __future__ import annotations

import time
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gantt.cli.failure import refusals_reported
from gantt.cli.option_kinds import preset, repeated, switch
from gantt.cli.output import plain, print_document, say
from gantt.cli.program import config_file_option, report_output_option
from gantt.cli.typed_options import refuse
from gantt.cli.what_if_engines import tell_unasked
from gantt.errors import Invalid, needed_wheel
from gantt.version import __version__

if TYPE_CHECKING:
    from gantt.replay.decision_files import Header
    from gantt.replay.machines import Machine
    from gantt.replay.replay_report import ReplayReport
    from gantt.replay.run import ReplaySettings
    from gantt.replay.traces import Trace

_MOST_SKIPPED = 10
_PACKING = "gantt.cli.replay_packing"
_OF_TRACES = (
    "--fleet",
    "--limit",
    "--mapping",
    "--part",
    "--sample",
    "--seed",
    "--together",
)
_PATH = click.Path(path_type=Path)


class _Replaying(click.Group):
    """Without the name of a command, the first word is a trace."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in ("--help", "-h"):
            args = ["run", *args]
        return super().parse_args(context, args)


@click.group("replay", cls=_Replaying)
def replay() -> None:
    """Decide a trace of arrivals and departures again, on a fleet in memory.

    gantt replay TRACE [OPTIONS] is gantt replay run TRACE [OPTIONS].
    """


@replay.command("run")
@click.argument("traces", metavar="TRACE|RECORD...", type=_PATH, nargs=-1)
@repeated(
    "--fleet fleet",
    "FLEET",
    "Machines: 5000xvcpus=64,memory_mb=262144, or a JSON file; may be repeated. "
    "Default: those of the trace.",
)
@config_file_option(
    "Configuration file with the policy, such as /etc/nova/nova.conf; may be repeated."
)
@click.option("--seed", default=0, show_default=True, help="For all that is drawn.")
@click.option("--part", help="Part of a trace that has several: dev, gpuspec33, e.")
@click.option("--mapping", type=_PATH, help="TOML file that names a CSV's columns.")
@switch("--together", "Place equal instances of a batch as one request.")
@preset(
    "--sample sample_s",
    click.IntRange(min=1),
    3600,
    "Seconds of the trace between two samples of use.",
)
@click.option(
    "--limit", type=click.IntRange(min=1), help="Stop after so many arrivals."
)
@click.option(
    "--what-if",
    "what_if",
    type=_PATH,
    metavar="FILE",
    help="TOML file with other hosts, ratios, options or flavors: replay the trace "
    "as it is and with these, and print the difference.",
)
@click.option("--out", type=_PATH, help="Write each decision (.gz and .xz are packed).")
@report_output_option
def run(
    traces: tuple[Path, ...],
    *,
    fleet: tuple[str, ...],
    config_files: tuple[str, ...],
    seed: int,
    part: str | None,
    mapping: Path | None,
    together: bool,
    sample_s: int,
    limit: int | None,
    what_if: Path | None,
    out: Path | None,
    output: str,
) -> None:
    """Replay a trace, and tell what was placed, refused and left.

    TRACE is a folder with the Azure, openb or Tianchi trace, or a CSV file with
    --mapping. The same trace, fleet, policy and seed give the same decisions.

    RECORDs are files or directories that services wrote ([gantt] record): each of their
    decisions is made again on the books that it saw. Without --config-file all must
    come out the same, else the exit status is 1.

    \b
    Example:
      gantt replay trace.csv --mapping mapping.toml --fleet 2xvcpus=16,memory_mb=65536
    """
    if not traces:
        raise click.UsageError("Name a trace, or records.")
    with refusals_reported():
        from gantt.conf import policy_options
        from gantt.replay.process_records import is_record

        given = (mapping, what_if, *map(Path, (*fleet, *config_files)))
        _refuse_overwriting(out, traces, given)
        if any(map(is_record, traces)):
            from gantt.cli.replay_records import replay_records

            refuse(
                _OF_TRACES,
                "only for traces; a record has its own fleet and times. Leave it out.",
            )
            policy = policy_options(config_files) if config_files else None
            is_same = replay_records(traces, policy, what_if, out, output)
            if not is_same and policy is None and what_if is None:
                raise SystemExit(1)
            return
        if len(traces) > 1:
            raise click.UsageError("Only records are replayed together.")
        (trace,) = traces
        if what_if is not None:
            refuse(
                ["--out"],
                "with --what-if, decisions on a trace are compared, not written; leave "
                "out one or the other.",
            )
        from gantt.replay.run import ReplaySettings

        with needed_wheel("gantt-lab", by=f"The trace {trace}"):
            from gantt.replay.traces import open_trace
        found = open_trace(
            trace, part=part, mapping=mapping, seed=seed, together=together
        )
        settings = ReplaySettings(
            policy_options(config_files), seed, sample_s * 1_000_000
        )
        if what_if is not None:
            _try(found, fleet, settings, limit, what_if, output)
            return
        _replay(found, fleet, settings, limit, out, output)


@replay.command("compare")
@click.argument("one", type=_PATH)
@click.argument("other", type=_PATH)
@report_output_option
def compare(one: Path, other: Path, *, output: str) -> None:
    """Compare two files that were written with --out, decision by decision.

    \b
    Example:
      gantt replay compare spread.gz stack.gz
    """
    with refusals_reported():
        from gantt.cli.replay_text import as_document, comparison
        from gantt.replay.decision_differences import compare as compared
        from gantt.replay.decision_files import Decisions

        left, right = Decisions(one), Decisions(other)
        found = compared(left, right)
        if output == "table":
            say("\n\n".join(comparison(left.header, right.header, plain(found))))
        else:
            print_document(as_document(left.header, right.header, found), output)


def _refuse_overwriting(
    out: Path | None, traces: tuple[Path, ...], given: tuple[Path | None, ...]
) -> None:
    """``given``: other files that are read. Raises Invalid."""
    from gantt.replay.process_records import is_record

    if out is None:
        return
    place, replayed = out.resolve(), [one.resolve() for one in traces]
    is_in_one = place.parent in replayed and out.is_file() and is_record(out)
    if is_in_one or place in replayed:
        raise Invalid(f"--out {out} is what is to be replayed: name another file.")
    if place in [one.resolve() for one in given if one is not None]:
        raise Invalid(f"--out {out} is read for the replay: name another file.")


def _replay(
    trace: Trace,
    fleet: tuple[str, ...],
    settings: ReplaySettings,
    limit: int | None,
    out: Path | None,
    output: str,
) -> None:
    """The trace once, and tell what came of it."""
    from gantt.cli.replay_text import paragraphs

    began = time.monotonic()
    report = _run(trace, fleet, settings, limit, out)
    took_s = time.monotonic() - began
    _tell_skipped(trace)
    if output == "table":
        say("\n\n".join(paragraphs(plain(report), took_s)))
    else:
        print_document(report, output)


def _run(
    trace: Trace,
    fleet: tuple[str, ...],
    settings: ReplaySettings,
    limit: int | None,
    out: Path | None,
) -> ReplayReport:
    from gantt.replay import decision_files
    from gantt.replay.replay_report import report_of
    from gantt.replay.run import Replay

    machines = _machines(trace, fleet)
    replaying = Replay(machines, settings)
    asked = decision_files.Counted(trace.arrivals(limit))
    decided = replaying.run(asked)
    if out is None:
        footer = decision_files.count(decided, asked)
    else:
        header = _header(trace, machines, settings)
        footer = decision_files.write(out, header, decided, asked)
    skipped = len(trace.reader.skipped)
    return report_of(
        trace.name, replaying.outcome, skipped, footer.arrivals, footer.decisions
    )


def _machines(trace: Trace, fleet: tuple[str, ...]) -> tuple[Machine, ...]:
    from gantt.replay.fleet_files import fleet_of

    machines = fleet_of(fleet) if fleet else trace.machines
    if not machines:
        raise Invalid(
            "The trace has no machines of its own: give --fleet, such as "
            "1000xvcpus=64,memory_mb=262144."
        )
    return machines


def _try(
    trace: Trace,
    fleet: tuple[str, ...],
    settings: ReplaySettings,
    limit: int | None,
    path: Path,
    output: str,
) -> None:
    """The trace twice, as it is and with the what-if; both see the same arrivals."""
    from gantt.cli.replay_text import what_if_paragraphs
    from gantt.replay.trace_trial import try_trace
    from gantt.replay.what_if_file import read_what_if

    changes = read_what_if(path)
    found = try_trace(trace, _machines(trace, fleet), settings, changes, limit)
    _tell_skipped(trace)
    tell_unasked(changes, found.unasked)
    if output == "table":
        say("\n\n".join(what_if_paragraphs(plain(found))))
    else:
        print_document(found, output)


def _header(
    trace: Trace, machines: tuple[Machine, ...], settings: ReplaySettings
) -> Header:
    from gantt.replay.decision_files import Header, fleet_digest, policy_of

    return Header(
        version=__version__,
        trace=trace.name,
        fleet=fleet_digest(machines),
        seed=settings.seed,
        policy=policy_of(settings),
    )


def _tell_skipped(trace: Trace) -> None:
    skipped = trace.reader.skipped
    for one in skipped[:_MOST_SKIPPED]:
        say(plain(f"Skipped {one}"), err=True)
    if len(skipped) > _MOST_SKIPPED:
        say(f"Skipped {len(skipped) - _MOST_SKIPPED:,} more places.", err=True)


@click.command(
    "packing",
    hidden=True,
    add_help_option=False,
    context_settings={"ignore_unknown_options": True},
)
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
def _without_lab(words: tuple[str, ...]) -> None:  # noqa: ARG001
    """Say where the command is."""
    with refusals_reported(), needed_wheel("gantt-lab", by="gantt replay packing"):
        import_module(_PACKING)


def _packing() -> click.Command:
    """The command where its wheel is installed."""
    try:
        return import_module(_PACKING).packing  # type: ignore[no-any-return]
    except ModuleNotFoundError as error:
        if error.name != _PACKING:
            raise
        return _without_lab


replay.add_command(_packing())
