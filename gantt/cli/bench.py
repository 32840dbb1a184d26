"""``gantt bench``: Gantt beside upstream Placement, Nova's filters and plain Python."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gantt.cli.failure import refusals_reported
from gantt.cli.option_kinds import preset, switch
from gantt.cli.output import bars, plain, print_document, say
from gantt.cli.stop_signals import unwound
from gantt.cli.typed_options import given_options, refuse
from gantt.errors import Invalid

if TYPE_CHECKING:
    from gantt.bench.bench_report import BenchReport
    from gantt.bench.comparison import Comparison

_PATH = click.Path(path_type=Path)
_SHAPES = ("flat", "nested", "shared")
_WORKLOADS = ("stream", "burst", "multi-create", "anti-affinity", "pinned", "churn")
_PLANS = ("--full", "--hosts", "--short")
_ROOM = 100  # hosts on which all requests of a profile find room
_OF_HOSTS = ("--fleet", "--mixed", "--workload")


@click.command("bench")
@switch("--short", "The plan of some minutes, as without options.")
@click.option("--full", is_flag=True, help="All shapes, to 100,000 hosts: an hour.")
@click.option(
    "--hosts",
    "sizes",
    multiple=True,
    type=click.IntRange(1, 1_000_000),
    help="In place of the short plan: fleets of this size; may be repeated.",
)
@preset(
    "--fleet shape",
    click.Choice(_SHAPES),
    "flat",
    "With --hosts: the shape of the fleets.",
)
@click.option("--mixed", is_flag=True, help="With --hosts: unequal hosts, partly used.")
@click.option(
    "--workload",
    "workloads",
    multiple=True,
    type=click.Choice(_WORKLOADS),
    help="With --hosts: what is asked; may be repeated. Default: stream.",
)
@switch(
    "--profile",
    "Where the time of each path goes; with --short, --full or --hosts, that too.",
)
@preset(
    "--profile-hosts",
    click.IntRange(_ROOM, 1_000_000),
    10_000,
    "Hosts that paths are profiled on.",
)
@click.option("--folder", type=_PATH, help="Where databases are made for the time.")
@click.option("--out", type=_PATH, help="Write the report as JSON.")
@click.option("--html", type=_PATH, help="Write the report as a page with plots.")
@click.option("--show", type=_PATH, help="Measure nothing: show a report of --out.")
@preset(
    "-o --output", click.Choice(("table", "json")), "table", "Format of the report."
)
def bench(
    *,
    short: bool,
    full: bool,
    sizes: tuple[int, ...],
    shape: str,
    mixed: bool,
    workloads: tuple[str, ...],
    profile: bool,
    profile_hosts: int,
    folder: Path | None,
    out: Path | None,
    html: Path | None,
    show: Path | None,
    output: str,
) -> None:
    """Measure Gantt beside others, in one run on the same fleets and requests.

    Others are upstream Placement and Nova's own filters where they are installed, and
    a loop in plain Python. Without options a short plan runs, of a few minutes.

    \b
    Example:
      gantt bench --show report.json
    """
    with refusals_reported():
        from gantt.bench import bench_report as reports
        from gantt.bench.page import page
        from gantt.cli.bench_text import paragraphs

        _refuse_idle()
        _check_files(out, html, show)
        if show is not None:
            found = reports.read(show)
        else:
            comparisons = _plan(
                sizes,
                workloads,
                shape,
                is_full=full,
                is_mixed=mixed,
                is_alone=profile and not short,
            )
            found = _measured(comparisons, folder, profile_hosts if profile else 0)
        if out is not None:
            reports.write(found, out)
        if html is not None:
            reports.write_text(html, page(found))
        if output == "table":
            say("\n\n".join(paragraphs(plain(found))))
        else:
            print_document(found, output)


def _refuse_idle() -> None:
    """Refuse options that would do nothing. Raises click.UsageError."""
    given = given_options()
    if "--show" in given:
        what = (*_PLANS, *_OF_HOSTS, "--profile", "--profile-hosts")
        refuse(what, "--show measures nothing; leave out one or the other.")
    if len(given.intersection(_PLANS)) > 1:
        refuse(_PLANS, "each is a plan of its own; give one of them.")
    if "--hosts" not in given:
        refuse(_OF_HOSTS, "only for plans of --hosts; add --hosts 1000.")
    if "--profile" not in given:
        refuse(["--profile-hosts"], "only for --profile; add it.")


def _check_files(out: Path | None, html: Path | None, show: Path | None) -> None:
    """What is written at the end can be, and into files of their own. Raises
    Invalid."""
    from gantt.bench.bench_report import check_writable

    for option, path in (("--out", out), ("--html", html)):
        if path is not None:
            check_writable(option, path)
    for option, path in (("--out", out), ("--show", show)):
        if path is not None and html is not None and path.resolve() == html.resolve():
            raise Invalid(f"{option} and --html are both {html}: name two files.")


def _plan(
    sizes: tuple[int, ...],
    workloads: tuple[str, ...],
    shape: str,
    *,
    is_full: bool,
    is_mixed: bool,
    is_alone: bool,
) -> tuple[Comparison, ...]:
    from gantt.bench import plan

    if is_full:
        return plan.full()
    if sizes:
        return tuple(
            one
            for size in sizes
            for workload in workloads or ("stream",)
            for one in plan.both(shape, size, workload, is_mixed=is_mixed)
        )
    return () if is_alone else plan.short()


def _measured(
    comparisons: tuple[Comparison, ...],
    folder: Path | None,
    profiled_hosts: int,
) -> BenchReport:
    from gantt.bench.runner import measure

    with (
        unwound(),
        tempfile.TemporaryDirectory(prefix="gantt-bench-", dir=folder) as name,
        bars(is_shown=True) as progress,
    ):
        return measure(
            comparisons,
            Path(name),
            progress,
            command=_command(),
            profiled_hosts=profiled_hosts,
        )


def _command() -> str:
    import shlex
    import sys

    return shlex.join(["gantt", *sys.argv[1:]])
