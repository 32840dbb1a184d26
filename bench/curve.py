"""Time against the size of a flat fleet, drawn into the documentation."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from bench import fleet
from bench.candidates import FEW, GANTT_TIMES, MANY, ROUNDS, Runner, medians, plain
from bench.report import Row, say
from gantt.bench.chart import Line, draw
from gantt.bench.figures import duration
from gantt.bench.http_client import Client
from gantt.bench.servers import Server

SIZES = (1_000, 3_000, 10_000, 30_000, 100_000)
# Beyond these, one request to upstream takes longer than all others together.
UPSTREAM_SIZES = SIZES[:3]
UPSTREAM_ROUNDS = 3

GROWTH = 3.0
PICTURE = Path(__file__).resolve().parents[1] / "docs" / "candidates-curve.svg"

COLORS = {FEW: "#2a6fb0", MANY: "#c2571a"}


def measure(folder: Path, scale: float) -> Iterator[Row]:
    """Draw the picture; the row is how a short answer grows with the fleet."""
    with ExitStack() as servers:
        ours: dict[int, Client] = {}
        theirs: dict[int, Client] = {}
        for size, database in _fleets(folder, scale):
            ours[size] = Client(servers.enter_context(Server.gantt(database)))
            if size <= UPSTREAM_SIZES[-1] * scale:
                server = servers.enter_context(Server.upstream(database))
                theirs[size] = Client(server)
        say("curve: asking ...")
        lines = [line for limit in (FEW, MANY) for line in _lines(ours, theirs, limit)]
    if scale == 1:
        PICTURE.write_text(
            draw(
                lines,
                title="GET /allocation_candidates, 3 classes, flat fleet",
                across="providers",
                up="median time of one request",
            )
        )
        say(f"curve: drawn into {PICTURE}")
    few = dict(lines[0].points)
    small, large = (int(size * scale) for size in (SIZES[2], SIZES[-1]))
    growth = few[large] / few[small]
    yield Row(
        f"{large:,} flat, limit={FEW}, against {small:,}",
        f"≤ {GROWTH:g}×",
        f"{duration(few[large])} against {duration(few[small])}",
        ratio=f"{growth:.2f}×",
        is_met=growth <= GROWTH,
    )


def _fleets(folder: Path, scale: float) -> Iterator[tuple[int, Path]]:
    """The same database at each size: a copy, then it grows."""
    grown = folder / "grown.db"
    before = 0
    for size in (int(size * scale) for size in SIZES):
        say(f"curve: {size:,} flat providers ...")
        fleet.write(grown, fleet.flat(size, after=before))
        before = size
        yield size, Path(shutil.copy(grown, folder / f"flat-{size}.db"))


def _lines(
    ours: dict[int, Client], theirs: dict[int, Client], limit: int
) -> tuple[Line, Line]:
    """Gantt's and upstream's, measured in turn."""
    path = plain(limit)
    found = medians(
        [Runner(client, path, GANTT_TIMES, ROUNDS) for client in ours.values()]
        + [Runner(client, path, 1, UPSTREAM_ROUNDS) for client in theirs.values()]
    )
    mine, rest = found[: len(ours)], found[len(ours) :]
    return (
        Line(
            f"Gantt, limit={limit}",
            COLORS[limit],
            tuple(zip(ours, mine, strict=True)),
        ),
        Line(
            f"upstream, limit={limit}",
            COLORS[limit],
            tuple(zip(theirs, rest, strict=True)),
            is_dashed=True,
        ),
    )
