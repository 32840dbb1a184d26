"""A trace by its name: which reader it needs, told from what lies there."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final, Protocol

from msgspec import Struct

from gantt.errors import Invalid
from gantt.model.printable import counted
from gantt.replay.events import Arrival, Skipped
from gantt.replay.machines import Machine
from gantt.replay.readers.azure import Azure
from gantt.replay.readers.csv_mapping import Mapped, read_mapping
from gantt.replay.readers.openb import Openb
from gantt.replay.readers.tianchi import Tianchi

_MARKS: Final = {
    "flav_map.txt": "azure",
    "openb_node_list_all_node.csv.xz": "openb",
    "app_interference.csv.xz": "tianchi",
}
_PARTS: Final = {"azure": "test", "openb": "default", "tianchi": "a"}


class TraceReader(Protocol):
    """``skipped``: places that could not be read so far."""

    @property
    def skipped(self) -> list[Skipped]: ...

    def arrivals(self) -> Iterator[Arrival]:
        """In the order of time, from 0 on."""


class Trace(Struct, frozen=True):
    """``machines``: its own fleet; none: one must be given."""

    name: str
    reader: TraceReader
    machines: tuple[Machine, ...] = ()

    def arrivals(self, limit: int | None = None) -> Iterator[Arrival]:
        """At most ``limit`` of them. Raises Invalid where there is none at all."""
        before, is_empty = len(self.reader.skipped), True
        for one in islice(self.reader.arrivals(), limit):
            is_empty = False
            yield one
        if is_empty:
            skipped = self.reader.skipped[before:]
            were = "was" if len(skipped) == 1 else "were"
            places = f"{counted(len(skipped), 'place')} {were} skipped"
            why = places if skipped else "it is empty"
            first = f", first {skipped[0]}" if skipped else ""
            raise Invalid(
                f"Nothing of the trace {self.name} could be read: {why}{first}. "
                "Correct the file, or the mapping of its columns."
            )


def open_trace(
    path: Path,
    *,
    part: str | None = None,
    mapping: Path | None = None,
    seed: int = 0,
    together: bool = False,
) -> Trace:
    """The trace in a folder (Azure, openb, Tianchi), or in a CSV file with a
    ``mapping``. ``part``: of a folder that has several: a split, a variant, a set.
    Raises Invalid."""
    if not path.exists():
        raise Invalid(f"{path} does not exist; name the folder or file of a trace.")
    if not path.is_dir():
        if mapping is None:
            raise Invalid(
                f"{path} is no folder of a known trace; for a CSV file, give --mapping "
                "with a file that names its columns."
            )
        _refuse(path, "a CSV file", part=part, together=together)
        return Trace(path.name, Mapped(path, read_mapping(mapping)))
    kind = next((kind for mark, kind in _MARKS.items() if (path / mark).exists()), None)
    if kind is None:
        raise Invalid(
            f"{path} has no trace that is known: one of {', '.join(_MARKS)} must be "
            "there. For a CSV file, name the file and give --mapping."
        )
    has_batches = kind == "azure"
    _refuse(path, f"a trace of {kind}", mapping=mapping)
    if not has_batches:
        _refuse(path, f"a trace of {kind}", together=together)
    part = _PARTS[kind] if part is None else part
    name = f"{kind} {part}"
    if has_batches:
        return Trace(name, Azure(path, part, seed, together=together))
    fleet = Openb(path, part) if kind == "openb" else Tianchi(path, part, seed)
    return Trace(name, fleet, fleet.machines())


def _refuse(path: Path, kind: str, **options: object) -> None:
    """Raises Invalid where options were given that do nothing for such a trace."""
    for name, given in options.items():
        if given:
            raise Invalid(
                f"{path} is {kind}, for which --{name} does nothing; leave it out."
            )
