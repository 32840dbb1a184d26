"""One instance cell on one host cell: memory, pages, shared CPUs; which is tried
first."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from gantt.model.topology import (
    ANY_PAGES,
    LARGE_PAGES,
    SMALL_PAGES,
    FitLack,
    FittedCell,
    HostCell,
    InstanceCell,
)
from gantt.topology.cells import fit_cell, in_order
from tests.topology.machines import (
    KIB_1G,
    KIB_2M,
    host_cell,
    mixed_cell,
    pages,
    pinned_cell,
    pool,
    shared_cell,
)

PAGED = (pages(4, 1 << 20), pages(KIB_2M, 1024), pages(KIB_1G, 2))


def _page(host: HostCell, cell: InstanceCell) -> int | None:
    found = fit_cell(host, cell)
    assert isinstance(found, FittedCell), found
    return found.page_kib


@pytest.mark.parametrize(
    ("asked", "memory", "size"),
    [
        (SMALL_PAGES, 1024, 4),
        (LARGE_PAGES, 1024, KIB_1G),
        (LARGE_PAGES, 1026, KIB_2M),
        (ANY_PAGES, 2048, KIB_1G),
        (ANY_PAGES, 1025, 4),
        (KIB_2M, 1024, KIB_2M),
        (None, 1024, None),
    ],
)
def test_the_size_of_pages(asked: int | None, memory: int, size: int | None) -> None:
    cell = shared_cell(1, memory=memory, page_kib=asked)
    assert _page(host_cell(pages=PAGED), cell) == size


def test_used_and_reserved_pages_are_not_free() -> None:
    cell = host_cell(pages=(pages(4, 10), pages(KIB_2M, 1024, used=300, reserved=212)))
    assert _page(cell, shared_cell(1, page_kib=KIB_2M)) == KIB_2M
    lack = fit_cell(cell, shared_cell(1, memory=1026, page_kib=KIB_2M))
    assert lack == FitLack("pages", 513, 512, "pages", 0, "2 MB")


def test_pages_that_the_host_cell_does_not_have() -> None:
    small = host_cell(pages=PAGED[:1])
    lack = fit_cell(small, shared_cell(1, page_kib=KIB_2M))
    assert lack == FitLack("page_size", 1, 0, "page sizes", 0, "2 MB")
    lack = fit_cell(small, shared_cell(1, page_kib=LARGE_PAGES))
    assert lack == FitLack("page_size", 1, 0, "page sizes", 0, "large pages")


def test_memory_that_no_number_of_pages_makes_up() -> None:
    lack = fit_cell(host_cell(pages=PAGED), shared_cell(1, memory=3, page_kib=KIB_2M))
    assert lack == FitLack("page_size", 3, 0, "MB", 0, "2 MB")


def test_shared_memory_may_be_overcommitted_but_not_against_itself() -> None:
    used = host_cell(pages=(pages(4, 1 << 18, used=1 << 18),))
    assert isinstance(fit_cell(used, shared_cell(1)), FittedCell)
    lack = fit_cell(used, shared_cell(1, memory=1025))
    assert lack == FitLack("pages", 256 * 1025, 1 << 18, "pages", 0, "4 KB")


def test_memory_of_pinned_instances_is_free() -> None:
    used = host_cell(pages=(pages(4, 1 << 18, used=1 << 18),))
    lack = fit_cell(used, pinned_cell(1))
    assert lack == FitLack("pages", 1 << 18, 0, "pages", 0, "4 KB")


def test_memory_of_a_cell_that_reports_no_pages() -> None:
    used = host_cell(memory=2048, memory_usage=1500)
    assert isinstance(fit_cell(used, shared_cell(1, memory=2048)), FittedCell)
    lack = fit_cell(used, pinned_cell(1))
    assert lack == FitLack("memory", 1024, 548, "MB", 0)


def test_shared_cpus_may_not_meet_themselves() -> None:
    assert isinstance(fit_cell(host_cell(), shared_cell(8)), FittedCell)
    lack = fit_cell(host_cell(), shared_cell(9))
    assert lack == FitLack("shared_cpus", 9, 8, "CPUs", 0)


def test_ratios_limit_what_is_shared() -> None:
    busy = host_cell(cpu_usage=10, memory_usage=4096)
    assert isinstance(fit_cell(busy, shared_cell(6), cpu_ratio=2.0), FittedCell)
    lack = fit_cell(busy, shared_cell(7), cpu_ratio=2.0)
    assert lack == FitLack("shared_cpus", 7, 6, "CPUs", 0, "with overcommit")
    lack = fit_cell(busy, shared_cell(1, memory=2049), ram_ratio=1.5)
    assert lack == FitLack("memory", 2049, 2048, "MB", 0, "with overcommit")


def test_mixed_cells_pin_some_and_share_some() -> None:
    apart = replace(host_cell(siblings=()), cpus=0b11, pcpus=0b111100)
    fitted = fit_cell(apart, mixed_cell(2, 4))
    assert isinstance(fitted, FittedCell)
    assert fitted.pinning == ((2, 2), (3, 3), (4, 4), (5, 5))
    lack = fit_cell(apart, mixed_cell(3, 5))
    assert lack == FitLack(
        "cpus",
        5,
        4,
        "pinned CPUs",
        0,
        more=(FitLack("shared_cpus", 3, 2, "CPUs", 0),),
    )


def test_a_mixed_cell_without_pinned_cpus_pins_none() -> None:
    fitted = fit_cell(host_cell(), mixed_cell(2, 0))
    assert isinstance(fitted, FittedCell)
    assert fitted.pinning == ()


def test_all_that_a_cell_lacks_is_told() -> None:
    scarce = host_cell(1, pinned=0b11111 << 8, pages=(pages(4, 10), pages(KIB_2M, 512)))
    cell = pinned_cell(4, memory=2048, page_kib=KIB_2M)
    assert fit_cell(scarce, cell) == FitLack(
        "cpus",
        4,
        3,
        "pinned CPUs",
        1,
        more=(FitLack("pages", 1024, 512, "pages", 1, "2 MB"),),
    )


HOSTS = (
    host_cell(0, memory_usage=100, cpu_usage=2),
    host_cell(1, memory_usage=0, cpu_usage=2),
    host_cell(2, memory_usage=50, cpu_usage=1),
)


@pytest.mark.parametrize(("packs", "ids"), [(False, [2, 1, 0]), (True, [0, 1, 2])])
def test_the_emptiest_cell_comes_first_or_the_fullest(
    packs: bool, ids: list[int]
) -> None:
    cells = (shared_cell(1),)
    ordered = in_order(HOSTS, cells, None, wants_devices=False, packs=packs)
    assert [cell.id for cell in ordered] == ids


@pytest.mark.parametrize(("packs", "ids"), [(False, [1, 2, 0]), (True, [0, 2, 1])])
def test_pinned_instances_look_at_free_cpus_then_memory(
    packs: bool, ids: list[int]
) -> None:
    hosts = (replace(HOSTS[0], pinned=1), *HOSTS[1:])
    cells = (pinned_cell(1),)
    ordered = in_order(hosts, cells, None, wants_devices=False, packs=packs)
    assert [cell.id for cell in ordered] == ids


@pytest.mark.parametrize(
    ("wants_devices", "ids"), [(True, [1, 0, 2]), (False, [2, 0, 1])]
)
def test_devices_decide_before_all_else(wants_devices: bool, ids: list[int]) -> None:
    pools = (pool(1, 0), pool(1, 1), pool(1, 1), pool(9))
    ordered = in_order(
        HOSTS, (shared_cell(1),), pools, wants_devices=wants_devices, packs=False
    )
    assert [cell.id for cell in ordered] == ids


def test_as_many_cells_as_the_host_has_stay_in_order() -> None:
    cells = tuple(shared_cell(1, number) for number in range(3))
    ordered = in_order(HOSTS, cells, None, wants_devices=False, packs=False)
    assert ordered == HOSTS
