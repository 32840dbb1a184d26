"""What a report contains by its own numbers: each rise once, and never more than rose.

Hosts start instances one after another, as Nova's computes and as hosts that obey; what
is counted is compared with what was started.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gantt.model.topology import (
    CpuPolicy,
    Device,
    DeviceRequest,
    Fit,
    FittedCell,
    HostCell,
    HostTopology,
    InstanceCell,
    Pages,
    Pool,
    Wanted,
)
from gantt.topology.fit import fit
from gantt.topology.host_remainder import take
from gantt.topology.promised_topology import PromisedTopology, fitted, remaining
from gantt.topology.promised_topology import Remaining as Left
from gantt.topology.reported_claims import Numbered, counted, given_back, risen

pytestmark = pytest.mark.hypothesis

NIC: dict[str, Any] = {"vendor_id": "8086", "product_id": "154c", "dev_type": "type-VF"}
CARD: dict[str, Any] = {
    "vendor_id": "10de",
    "product_id": "20b5",
    "dev_type": "type-PCI",
}
SIZE = 2048


def empty(*, obeys: bool) -> HostTopology:
    """Two cells of eight CPUs, of which two are shared; two kinds of devices."""
    cells = tuple(
        HostCell(
            number,
            0b11 << 8 * number,
            0b11111100 << 8 * number,
            8192,
            pages=(Pages(4, 1_048_576), Pages(SIZE, 2048)),
        )
        for number in range(2)
    )

    def pool(tags: dict[str, Any], node: int, first: int) -> Pool:
        names = tuple(Device(f"0000:8{node}:00.{first + n}") for n in range(3))
        return Pool(3, node, tags, None, names if obeys else ())

    pools = (pool(NIC, 0, 0), pool(NIC, 1, 0), pool(CARD, 0, 4), pool(CARD, 1, 4))
    return HostTopology(cells, pools, obeys)


def wanted(pinned: int, shared: int, memory: int, nics: int, cards: int) -> Wanted:
    cells: tuple[InstanceCell, ...] = ()
    if pinned or shared:
        policy: CpuPolicy = "shared"
        if pinned:
            policy = "mixed" if shared else "dedicated"
        low = (1 << shared) - 1
        mask = ((1 << pinned) - 1) << shared
        page = SIZE if memory > 512 else None
        cells = (InstanceCell(0, low, mask, memory, page, policy=policy),)
    asked = [("nic", nics, NIC), ("card", cards, CARD)]
    devices = tuple(DeviceRequest(name, n, (tags,)) for name, n, tags in asked if n)
    return Wanted(cells, devices=devices, cpu_ratio=4.0, ram_ratio=1.5)


SIZES = st.builds(
    wanted,
    st.integers(0, 3),
    st.integers(0, 2),
    st.sampled_from((64, 512, 1024)),
    st.integers(0, 2),
    st.integers(0, 1),
).filter(lambda one: bool(one.cells or one.devices))


@st.composite
def stories(draw: st.DrawFn) -> tuple[HostTopology, list[Numbered], set[int]]:
    """A host, what it was promised, and which of that it starts before it reports."""
    host = empty(obeys=draw(st.booleans()))
    left = Left(host)
    pendings: list[Numbered] = []
    for wish in draw(st.lists(SIZES, min_size=1, max_size=5)):
        found = fit(left.host, wish, {})
        if isinstance(found, Fit):
            pending = PromisedTopology(wish, fit=found if host.obeys else None)
            pendings.append((len(pendings) + 1, pending))
            left = Left(take(left.host, found))
    keys = [key for key, _ in pendings]
    started = draw(st.sets(st.sampled_from(keys))) if keys else set()
    return host, pendings, started


def start(host: HostTopology, pendings: list[Numbered], keys: set[int]) -> HostTopology:
    """The host with these instances, one after another."""
    for key, pending in pendings:
        if key in keys:
            found = fitted(Left(host), pending)
            assert isinstance(found, Fit), found
            host = take(host, found)
    return host


def amounts(wants: list[Wanted]) -> tuple[int, ...]:
    """Pinned CPUs, shared ones, devices of two kinds."""
    cells = [cell for one in wants for cell in one.cells]
    asked = [each for one in wants for each in one.devices]
    return (
        sum(cell.pcpus.bit_count() for cell in cells),
        sum(cell.cpus.bit_count() for cell in cells),
        sum(one.count for one in asked if one.wanted == (NIC,)),
        sum(one.count for one in asked if one.wanted == (CARD,)),
    )


def wants(pendings: list[Numbered], keys: set[int]) -> list[Wanted]:
    return [pending.wanted for key, pending in pendings if key in keys]


@given(stories())
def test_no_more_is_counted_than_was_started(
    story: tuple[HostTopology, list[Numbered], set[int]],
) -> None:
    host, pendings, started = story
    after = start(host, pendings, started)
    found = set(counted(host, after, pendings))
    sums = amounts(wants(pendings, found)), amounts(wants(pendings, started))
    assert all(part <= whole for part, whole in zip(*sums, strict=True))
    if host.obeys:
        exact = {key for key, pending in pendings if pending.wanted.devices}
        exact |= {
            key
            for key, pending in pendings
            if any(cell.pcpus for cell in pending.wanted.cells)
        }
        assert found & exact <= started, "what is named tells whose it is"


@given(stories())
def test_one_that_starts_alone_is_counted(
    story: tuple[HostTopology, list[Numbered], set[int]],
) -> None:
    host, pendings, _ = story
    for key, pending in pendings:
        after = start(host, pendings, {key})
        assert counted(host, after, [(key, pending)]) == [key]


@given(stories())
def test_all_that_start_alike_are_counted_and_the_oldest_first(
    story: tuple[HostTopology, list[Numbered], set[int]],
) -> None:
    host, pendings, started = story
    kind = pendings[0][1].wanted if pendings else None
    alike = [(key, one) for key, one in pendings if one.wanted == kind]
    mine = started & {key for key, _ in alike}
    after = start(host, pendings, mine)
    found = counted(host, after, alike)
    if host.obeys and kind is not None and (kind.devices or kind.cells[0].pcpus):
        assert found == sorted(mine)
    elif not kind or not kind.cells or not kind.devices:
        assert found == [key for key, _ in alike][: len(mine)]


@given(stories(), st.data())
def test_each_rise_is_used_once(
    story: tuple[HostTopology, list[Numbered], set[int]], data: st.DataObject
) -> None:
    """Two reports on the way count no more than one, and the same again nothing."""
    host, pendings, started = story
    first = data.draw(st.sets(st.sampled_from(sorted(started)))) if started else set()
    middle = start(host, pendings, first)
    after = start(middle, pendings, started - first)
    one = set(counted(host, middle, pendings))
    rest = [(key, pending) for key, pending in pendings if key not in one]
    both = one | set(counted(middle, after, rest))
    sums = amounts(wants(pendings, both)), amounts(wants(pendings, started))
    assert all(part <= whole for part, whole in zip(*sums, strict=True))
    assert counted(after, after, pendings) == []


@given(stories())
def test_more_that_start_count_no_less(
    story: tuple[HostTopology, list[Numbered], set[int]],
) -> None:
    """Where an order of starts leaves the cells as they would be without the rest."""
    host, pendings, started = story
    ordered = sorted(started)
    for size in range(len(ordered)):
        fewer, more = set(ordered[:size]), set(ordered[: size + 1])
        if all(pending.wanted == pendings[0][1].wanted for _, pending in pendings):
            less = counted(host, start(host, pendings, fewer), pendings)
            assert len(counted(host, start(host, pendings, more), pendings)) >= len(
                less
            )


@given(stories(), st.data())
def test_what_ends_meanwhile_leaves_promises(
    story: tuple[HostTopology, list[Numbered], set[int]], data: st.DataObject
) -> None:
    host, pendings, started = story
    runs = data.draw(st.sets(st.sampled_from(sorted(started)))) if started else set()
    before = start(host, pendings, runs)
    ends = data.draw(st.sets(st.sampled_from(sorted(runs)))) if runs else set()
    after = start(host, pendings, started - ends)
    asked = [(key, one) for key, one in pendings if key not in runs]
    found = set(counted(before, after, asked))
    new = started - runs
    if not host.obeys:
        sums = amounts(wants(asked, found)), amounts(wants(asked, new))
        assert all(part <= whole for part, whole in zip(*sums, strict=True))


@given(stories())
def test_what_is_counted_leaves_room_for_what_is_not(
    story: tuple[HostTopology, list[Numbered], set[int]],
) -> None:
    """Of a host that obeys: what is left beside the claims that are not counted is what
    would be left had all started."""
    host, pendings, started = story
    if not host.obeys:
        return
    after = start(host, pendings, started)
    found = set(counted(host, after, pendings))
    marked = [replace(one, is_counted=key in found) for key, one in pendings]
    left = remaining(after, marked)
    everything = start(after, pendings, {key for key, _ in pendings} - started)
    if found == started:
        assert left.host == everything


def test_a_rise_has_only_what_rose_free() -> None:
    host = empty(obeys=False)
    wish = wanted(2, 1, 1024, 1, 0)
    after = start(host, [(1, PromisedTopology(wish))], {1})
    rise = risen(host, after)
    assert [cell.memory - cell.memory_usage for cell in rise.cells] == [1024, 8192]
    assert [(cell.pcpus & ~cell.pinned).bit_count() for cell in rise.cells] == [2, 0]
    assert [cell.cpus.bit_count() - cell.cpu_usage for cell in rise.cells] == [1, 0]
    assert [cell.pages[1].free for cell in rise.cells] == [512, 2048]
    assert [(pool.count, pool.numa_node) for pool in rise.pools or ()] == [(1, 0)]


def test_a_host_that_was_not_known_says_nothing() -> None:
    host = empty(obeys=False)
    wish = (1, PromisedTopology(wanted(2, 0, 64, 1, 0)))
    full = start(host, [wish], {1})
    assert counted(HostTopology(), full, [wish]) == []
    assert counted(full, HostTopology(), [wish]) == []


def test_cpus_that_are_removed_are_not_used() -> None:
    host = empty(obeys=False)
    wish = (1, PromisedTopology(wanted(2, 0, 64, 0, 0)))
    fewer = tuple(replace(cell, pcpus=cell.pcpus & 0xF0F0) for cell in host.cells)
    assert counted(host, replace(host, cells=fewer), [wish]) == []


def test_of_those_that_differ_all_are_given_back() -> None:
    small, large = (
        PromisedTopology(wanted(1, 0, 64, 0, 0)),
        PromisedTopology(wanted(3, 0, 64, 0, 0)),
    )
    assert given_back(small, {4: small, 6: small}, obeys=False) == [4]
    assert given_back(small, {4: small, 6: large}, obeys=False) == [4, 6]
    assert given_back(small, {}, obeys=False) == []


def test_what_pins_other_cpus_is_not_given_back_by_a_host_that_obeys() -> None:
    """It was counted by its own CPUs, whatever else ends."""
    ended, other = (
        PromisedTopology(wanted(1, 0, 64, 0, 0), fit=Fit(cells=(on_cpu(cpu),)))
        for cpu in (2, 0)
    )
    shares = PromisedTopology(wanted(1, 0, 64, 0, 0))
    assert given_back(ended, {4: other}, obeys=True) == []
    assert given_back(ended, {4: other}, obeys=False) == [4]
    assert given_back(ended, {4: other, 6: shares}, obeys=True) == [6]
    assert given_back(ended, {4: ended}, obeys=True) == [4]


def on_cpu(cpu: int) -> FittedCell:
    return FittedCell(InstanceCell(0, 0, 1, 64), 0, pinning=((0, cpu),))
