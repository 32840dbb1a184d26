"""``gantt replay packing``: how well each policy fills a fleet, on one trace."""

from __future__ import annotations

import sys
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import click

from gantt.cli.failure import refusals_reported
from gantt.cli.option_kinds import preset
from gantt.cli.output import bars, plain, print_document, say, table
from gantt.cli.program import config_file_option, report_output_option
from gantt.errors import Invalid
from gantt.model.printable import counted
from gantt.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable

    from gantt.replay.events import Arrival
    from gantt.replay.machines import Machine
    from gantt.replay.packing.packing_result import PackingResult
    from gantt.replay.traces import Trace
    from gantt.scheduler.options import SchedulerOptions

_PATH = click.Path(path_type=Path)
_SECOND = 1_000_000


@click.command("packing")
@click.argument("trace", type=_PATH)
@click.option("--fleet", multiple=True, metavar="FLEET", help="As for gantt replay.")
@config_file_option("Configuration file with what all policies share.")
@click.option("--part", help="Part of a trace that has several: dev, gpuspec33, e.")
@click.option("--mapping", type=_PATH, help="TOML file that names a CSV's columns.")
@click.option(
    "--policy",
    "policies",
    multiple=True,
    help="spread, stack, room, first-fit, best-fit, dot-product, random; may be "
    "repeated. Default: all.",
)
@click.option(
    "--fill",
    type=click.FloatRange(0.01, 100),
    help="Without departures, in random order, until this part of the scarcest class "
    "was asked for: 1.3 is 130 %. Default: the trace as it is.",
)
@preset(
    "--one-in one_in",
    click.IntRange(min=1),
    1,
    "Take one of so many arrivals, drawn by seed.",
)
@click.option("--limit", type=click.IntRange(min=1), help="Read so many arrivals.")
@preset(
    "--seeds", click.IntRange(1, 1000), 1, "So many drawings, with the seeds 0, 1, …."
)
@preset(
    "--sample sample_s",
    click.IntRange(min=1),
    3600,
    "Seconds of the trace between two samples of use.",
)
@report_output_option
def packing(
    trace: Path,
    *,
    fleet: tuple[str, ...],
    config_files: tuple[str, ...],
    part: str | None,
    mapping: Path | None,
    policies: tuple[str, ...],
    fill: float | None,
    one_in: int,
    limit: int | None,
    seeds: int,
    sample_s: int,
    output: str,
) -> None:
    """Compare how policies fill a fleet.

    spread, stack and room are values of the option packing of [gantt]; room is told
    the most frequent flavors of the trace. The others are plain ways to compare with.

    \b
    Example:
      gantt replay packing trace.csv --mapping mapping.toml --fleet machines.json
    """
    with refusals_reported():
        from gantt.conf import policy_options
        from gantt.replay.traces import open_trace

        _check(policies)
        options = policy_options(config_files)
        found = open_trace(trace, part=part, mapping=mapping)
        machines = _machines(found, fleet)
        whole = list(found.arrivals(limit))
        drawn = _drawings(whole, machines, fill, one_in)
        results = _compared(
            policies,
            options,
            machines,
            whole,
            drawn,
            seeds,
            sample_s * _SECOND,
        )
        if output == "table":
            say("\n\n".join(_paragraphs(found.name, machines, results)))
        else:
            print_document(_document(found.name, machines, results), output)


def _check(policies: tuple[str, ...]) -> None:
    """Raises Invalid where there is no such policy."""
    from gantt.replay.packing.policies import POLICIES

    if unknown := sorted(set(policies) - set(POLICIES)):
        raise Invalid(f"{unknown[0]!r} is no policy; there is {', '.join(POLICIES)}.")


def _machines(found: Trace, fleet: tuple[str, ...]) -> tuple[Machine, ...]:
    from gantt.replay.fleet_files import fleet_of

    machines = fleet_of(fleet) if fleet else found.machines
    if not machines:
        raise Invalid("The trace has no machines of its own: give --fleet.")
    return machines


def _drawings(
    whole: list[Arrival],
    machines: tuple[Machine, ...],
    fill: float | None,
    one_in: int,
) -> Callable[[int], list[Arrival]]:
    from gantt.replay.packing import arrivals

    def drawn(seed: int) -> list[Arrival]:
        thinned = list(arrivals.one_in(whole, one_in, seed))
        if fill is None:
            return thinned
        scarce = arrivals.scarce_of(thinned, machines)
        return arrivals.filling(thinned, scarce, fill, seed)

    return drawn


def _compared(
    policies: tuple[str, ...],
    options: SchedulerOptions,
    machines: tuple[Machine, ...],
    whole: list[Arrival],
    drawn: Callable[[int], list[Arrival]],
    seeds: int,
    sample_us: int,
) -> list[PackingResult]:
    from msgspec.structs import replace

    from gantt.replay.packing import packing_result
    from gantt.replay.packing.arrivals import scarce_of
    from gantt.replay.packing.policies import POLICIES, Case, usual_of
    from gantt.replay.run import ReplaySettings

    # In a replay no claim is lost: one choice for each is all that is used.
    case = Case(replace(options, choices=1), machines, usual_of(whole))
    scarce, results = scarce_of(whole, machines), []
    with bars(is_shown=True) as show:
        for seed in range(seeds):
            arrivals = drawn(seed)
            settings = ReplaySettings(case.options, seed, sample_us)
            for name in policies or POLICIES:
                counter = _Counter(show, f"{name}, seed {seed}", len(arrivals))
                found = packing_result.run(
                    name, case, arrivals, scarce, settings, counter.add
                )
                results.append(found)
                say(_line(found), err=True)
    return results


class _Counter:
    def __init__(
        self, show: Callable[[str, int, int], None], what: str, total: int
    ) -> None:
        self._show, self._what, self._total = show, what, total
        self._done = 0

    def add(self, count: int) -> None:
        self._done += count
        if not self._done % 50 or self._done == self._total:
            self._show(self._what, self._done, self._total)


def _line(found: PackingResult) -> str:
    return (
        f"{found.policy}, seed {found.seed}: {found.placed:,} placed, "
        f"{found.refused:,} refused, {found.cpu_s:.0f} s of processor time."
    )


def _by_policy(results: list[PackingResult]) -> dict[str, list[PackingResult]]:
    found: dict[str, list[PackingResult]] = {}
    for one in results:
        found.setdefault(one.policy, []).append(one)
    return found


def _paragraphs(
    name: str, machines: tuple[Machine, ...], results: list[PackingResult]
) -> list[str]:
    first = results[0]
    points = sorted({point for one in results for point in one.placed_at})
    classes = list(first.used_mean)
    head = (
        "policy",
        "refused",
        "empty hosts, mean",
        "empty hosts, least",
        *(f"stranded {one}" for one in classes),
        *(f"placed at {point} %" for point in points),
    )
    rows = [
        (
            policy,
            f"{median(one.refused for one in each):,.0f}",
            f"{median(one.empty_hosts_mean for one in each):,.1f}",
            f"{median(one.empty_hosts_least for one in each):,.0f}",
            *(
                f"{100 * median(one.stranded_mean[kind] for one in each):.1f} %"
                for kind in classes
            ),
            *(
                f"{median(one.placed_at.get(point, 0.0) for one in each):.2f} %"
                for point in points
            ),
        )
        for policy, each in _by_policy(results).items()
    ]
    drawings = len({one.seed for one in results})
    return [
        plain(
            f"{name}: {counted(first.placed + first.refused, 'instance')} on "
            f"{counted(len(machines), 'host')}; {first.scarce} is the scarcest. "
            f"Medians of {counted(drawings, 'drawing')}."
        ),
        table(head, rows),
    ]


def _document(
    name: str, machines: tuple[Machine, ...], results: list[PackingResult]
) -> dict[str, Any]:
    from gantt.replay.decision_files import fleet_digest

    return {
        "command": " ".join(["gantt", *sys.argv[1:]]),
        "version": __version__,
        "trace": name,
        "hosts": len(machines),
        "fleet": fleet_digest(machines),
        "results": results,
    }
