"""A host's NUMA cells, CPUs, pages and devices as a picture in the terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from gantt.cli.output import Box, Styled, print_picture, terminal_width, time_text
from gantt.model.cpu_sets import mask_of, text_of
from gantt.model.quantities import memory
from gantt.model.topology_view import (
    CellView,
    HostTopologyView,
    PagesView,
    PendingView,
    PoolView,
)
from gantt.topology.cells import size_text

# Mark of a CPU -> its meaning and its colour. ASCII: not every terminal has more.
MARKS: Final = {
    ".": ("free to be pinned", "green"),
    "#": ("pinned, says the host", "red"),
    "c": ("claimed to be pinned", "yellow"),
    "s": ("for shared instances", "blue"),
    "e": ("free to be pinned, or for shared instances", "green"),
}
BAR: Final = 16  # characters
NARROW: Final = 60  # columns; below that there are no bars
ADDRESSES: Final = 8  # of a pool
MANY: Final = 4  # cells; from here on an overview comes first
_Row: TypeAlias = tuple[str, Sequence[Styled]]


def draw(view: HostTopologyView) -> None:
    """Print the host, as wide as the terminal."""
    print_picture(_picture(view, has_bars=terminal_width() >= NARROW))


def _picture(view: HostTopologyView, *, has_bars: bool) -> Iterator[Styled | Box]:
    yield [(_heading(view), "")]
    pools = view.pools or ()
    if len(view.cells) >= MANY:
        rows = [(f"cell {cell.id}", _brief(cell, pools)) for cell in view.cells]
        yield Box("free in each cell", rows)
    for cell in view.cells:
        yield Box(_title(cell), list(_cell_rows(cell, pools, has_bars)))
    ids = {cell.id for cell in view.cells}
    elsewhere = [pool for pool in pools if pool.numa_node not in ids]
    if elsewhere:
        yield Box("devices near no cell", list(_device_rows(elsewhere)))
    if not view.cells:
        yield [("The host reports no NUMA cells.", "")]
    if view.pools is None:
        yield [("The host reports no devices.", "")]
    for name, why in view.unreadable.items():
        yield [(f"{name} cannot be read, and counts as unknown: {why}", "yellow")]
    if view.cells:
        yield Box("legend", list(_legend(view.cells, has_bars)))
    if view.pending:
        yield Box("pending claims", list(map(_pending_row, view.pending)))
    if view.is_closed:
        words = "What pending claims lack is promised to no other until they fit."
        yield [(words, "yellow")]


def _heading(view: HostTopologyView) -> str:
    parts = [view.host]
    if view.node != view.host:
        parts.append(f"node {view.node}")
    if view.updated_at is not None:
        parts.append(f"reported {time_text(view.updated_at, 'seconds')}")
    if view.obeys_claims:
        parts.append("obeys claims")
    elif view.cells or view.pools:
        parts.append("picks CPUs and devices itself")
    return ", ".join(parts)


def _title(cell: CellView) -> str:
    socket = "" if cell.socket is None else f", socket {cell.socket}"
    return f"cell {cell.id}{socket}"


def _brief(cell: CellView, pools: Iterable[PoolView]) -> Sequence[Styled]:
    free_mb = cell.memory_mb - cell.memory_used_mb - cell.memory_claimed_mb
    parts = [f"{len(cell.free_cpus):,} CPUs to pin"]
    parts += [f"{memory(max(0, free_mb))} memory"]
    parts += [
        f"{one.free:,} pages of {size_text(one.size_kib)}" for one in cell.pages[1:]
    ]
    devices = sum(pool.free for pool in pools if pool.numa_node == cell.id)
    if devices:
        parts.append(f"{devices:,} device{'s' * (devices > 1)}")
    return [[(", ".join(parts), "")]]


def _cell_rows(
    cell: CellView, pools: Iterable[PoolView], has_bars: bool
) -> Iterator[_Row]:
    def amount(
        label: str,
        taken: int,
        claimed: int,
        total: int,
        words: str,
        shown: Callable[[int], str] = "{:,}".format,
    ) -> _Row:
        bar = _bar(taken, claimed, total) if has_bars else []
        if claimed:
            words += f", {shown(claimed)} more claimed"
        return label, [[*bar, (f"{shown(taken)} of {shown(total)} {words}", "")]]

    yield "CPUs", _cores(cell)
    if cell.pinnable_cpus:
        pinned, claimed = len(cell.pinned_cpus), len(cell.claimed_cpus)
        words = f"CPUs, {len(cell.free_cpus):,} free"
        yield amount("pinned", pinned, claimed, len(cell.pinnable_cpus), words)
    if cell.shared_cpus:
        used, cpus = cell.shared_vcpus_used, len(cell.shared_cpus)
        yield "shared", [[(f"{used:,} vCPUs in use, on {cpus:,} CPUs", "")]]
    used, claimed = cell.memory_used_mb, cell.memory_claimed_mb
    yield amount("memory", used, claimed, cell.memory_mb, "used", memory)
    for pages in cell.pages:
        taken = pages.used + pages.reserved
        words = _page_words(pages)
        yield amount(
            size_text(pages.size_kib), taken, pages.claimed, pages.total, words
        )
    networks = [*cell.physical_networks, *["tunnels"] * cell.is_tunnelled]
    if networks:
        yield "networks", [[(", ".join(networks), "")]]
    yield from _device_rows(pool for pool in pools if pool.numa_node == cell.id)


def _pending_row(one: PendingView) -> _Row:
    parts = [f"cell {','.join(map(str, one.cells))}"] if one.cells else []
    if one.cpus:
        parts.append(f"CPUs {text_of(mask_of(one.cpus))}")
    if one.devices:
        count = f"{one.devices:,} device{'s' * (one.devices > 1)}"
        parts.append(" ".join([count, *one.addresses[:ADDRESSES]]))
    if one.lack:
        parts.append(f"does not fit: {one.lack}")
    elif not one.is_binding:
        parts.append("or what the host picks")
    said = f": {', '.join(parts)}" if parts else ""
    return "claim", [[(f"{one.claim} of instance {one.instance_uuid}{said}", "")]]


# -- CPUs -----------------------------------------------------------------------------


def _cores(cell: CellView) -> list[Styled]:
    """For each core its CPUs and their marks."""
    every = {*cell.shared_cpus, *cell.pinnable_cpus}
    alone = every.difference(*cell.cores)
    cores = sorted([*cell.cores, *((cpu,) for cpu in alone)])
    width = len(str(max(every, default=0)))
    marks = _marks(cell)
    return [_core(core, marks, width) for core in cores]


def _core(core: Sequence[int], marks: dict[int, str], width: int) -> Styled:
    shown = [("[", "")]
    for place, cpu in enumerate(core):
        mark = marks[cpu]
        shown.append((" " * (place > 0) + str(cpu).rjust(width), ""))
        shown.append((mark, MARKS[mark][1]))
    return [*shown, ("]", "")]


def _marks(cell: CellView) -> dict[int, str]:
    marks = dict.fromkeys(cell.shared_cpus, "s")
    for cpu in cell.free_cpus:
        marks[cpu] = "e" if cpu in marks else "."
    marks |= dict.fromkeys(cell.pinned_cpus, "#")
    return marks | dict.fromkeys(cell.claimed_cpus, "c")


def _legend(cells: Iterable[CellView], has_bars: bool) -> Iterator[_Row]:
    used = {mark for cell in cells for mark in _marks(cell).values()}
    marks = [
        [(mark, style), (f" {meaning}", "")]
        for mark, (meaning, style) in MARKS.items()
        if mark in used
    ]
    yield "CPUs", [[("[ ] a core", "")], *marks]
    if has_bars:
        yield (
            "bars",
            [
                [("#", "red"), (" taken", "")],
                [("c", "yellow"), (" claimed", "")],
                [(".", "green"), (" free", "")],
            ],
        )


# -- amounts and devices --------------------------------------------------------------


def _bar(taken: int, claimed: int, total: int) -> list[tuple[str, str]]:
    """Rounded up: what is taken is seen, however little it is."""
    whole = max(total, taken + claimed, 1)
    first = -(-BAR * taken // whole)
    second = -(-BAR * (taken + claimed) // whole) - first
    return [
        ("#" * first, "red"),
        ("c" * second, "yellow"),
        ("." * (BAR - first - second) + "  ", "green"),
    ]


def _page_words(pages: PagesView) -> str:
    reserved = f", {pages.reserved:,} of them reserved" if pages.reserved else ""
    return f"pages taken{reserved}"


def tag_texts(tags: Mapping[str, str | tuple[str, ...]]) -> list[str]:
    """``name=value``; of a list, its values with commas."""
    return [
        f"{name}={value if isinstance(value, str) else ','.join(value)}"
        for name, value in tags.items()
    ]


def _device_rows(pools: Iterable[PoolView]) -> Iterator[_Row]:
    for pool in pools:
        claimed = f", {pool.claimed:,} claimed" if pool.claimed else ""
        said = [f"{pool.free:,} free{claimed} ", *_kind(pool)]
        yield "devices", [[(" ".join(said), "")]]
        if pool.addresses:
            more = len(pool.addresses) - ADDRESSES
            rest = f" and {more:,} more" if more > 0 else ""
            shown = " ".join(pool.addresses[:ADDRESSES])
            yield "", [[(f"free: {shown}{rest}", "")]]


def _kind(pool: PoolView) -> Iterator[str]:
    """What they are first; then the tags that tell pools apart."""
    tags = {**pool.tags}
    if tags.get("address") in pool.addresses:
        del tags["address"]  # its own, listed below
    first = [tags.pop(name, None) for name in ("dev_type", "vendor_id", "product_id")]
    kind, vendor, product = first
    if isinstance(kind, str):
        yield kind
    if isinstance(vendor, str) and isinstance(product, str):
        yield f"{vendor}:{product}"
    elif isinstance(vendor or product, str):
        yield f"vendor_id={vendor}" if vendor else f"product_id={product}"
    yield from tag_texts(tags)
