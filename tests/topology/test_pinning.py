"""Packing over siblings: whole cores first, and policies that insist on them."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from gantt.model.cpu_sets import mask_of, numbers_of
from gantt.model.topology import FitLack, HostCell, ThreadPolicy
from gantt.topology.pinning import Packing, pack
from tests.topology.machines import host_cell, pinned_cell


def _cpus(packing: Packing | FitLack) -> list[int]:
    assert isinstance(packing, Packing), packing
    return [cpu for _, cpu in packing.pinning]


def test_a_mask_names_its_cpus_in_order() -> None:
    assert list(numbers_of(mask_of([9, 0, 70]))) == [0, 9, 70]


def test_whole_cores_are_taken_before_lone_threads() -> None:
    # Of the cores (0, 1), (2, 3), (4, 5), (6, 7), thread 0 is taken.
    cell = host_cell(pinned=mask_of([0]))
    assert _cpus(pack(cell, pinned_cell(4))) == [2, 3, 4, 5]
    assert _cpus(pack(cell, pinned_cell(3))) == [2, 3, 4]


def test_a_lone_thread_joins_once_whole_cores_do_not_suffice() -> None:
    cell = host_cell(pinned=mask_of([0]))
    # Three whole cores have six threads; one of each core with any has four.
    assert _cpus(pack(cell, pinned_cell(7))) == [1, 2, 3, 4, 5, 6, 7]
    spread = host_cell(pinned=mask_of([0, 2]))
    assert _cpus(pack(spread, pinned_cell(4))) == [4, 5, 6, 7]
    assert _cpus(pack(spread, pinned_cell(5))) == [1, 3, 4, 5, 6]


def test_vcpus_go_in_order_over_the_threads() -> None:
    packing = pack(host_cell(), pinned_cell(3, first=4))
    assert packing == Packing(((4, 0), (5, 1), (6, 2)))


def test_require_takes_siblings_or_nothing() -> None:
    cell = host_cell(pinned=mask_of([0, 2, 4]))
    assert _cpus(pack(cell, pinned_cell(2, threads="require"))) == [6, 7]
    lack = pack(cell, pinned_cell(3, threads="require"))
    assert lack == FitLack("siblings", 3, 2, "CPUs", 0, "require")


def test_require_of_a_host_without_siblings() -> None:
    cell = host_cell(threads=1)
    lack = pack(cell, pinned_cell(2, threads="require"))
    assert lack == FitLack("siblings", 2, 0, "CPUs", 0, "require")


def test_of_four_threads_a_core_the_most_that_fit_are_used() -> None:
    # Cores (0-3), (4-7): three threads of the one and four of the other are free.
    cell = host_cell(threads=4, pinned=mask_of([0]))
    assert _cpus(pack(cell, pinned_cell(4, threads="require"))) == [4, 5, 6, 7]
    assert _cpus(pack(cell, pinned_cell(6, threads="require"))) == [1, 2, 3, 4, 5, 6]
    lack = pack(cell, pinned_cell(7, threads="require"))
    assert lack == FitLack("siblings", 7, 6, "CPUs", 0, "require")
    assert _cpus(pack(cell, pinned_cell(7))) == [1, 2, 3, 4, 5, 6, 7]


def test_isolate_takes_one_thread_of_wholly_free_cores() -> None:
    cell = host_cell(pinned=mask_of([3]))
    assert _cpus(pack(cell, pinned_cell(3, threads="isolate"))) == [0, 4, 6]
    lack = pack(cell, pinned_cell(4, threads="isolate"))
    assert lack == FitLack("siblings", 4, 3, "free cores", 0, "isolate")


def test_isolate_needs_a_host_that_does_not_set_cpus_apart() -> None:
    # With CPUs of their own for pinned instances, idle siblings cannot be kept.
    apart = host_cell(cpus=8)
    apart = replace(apart, cpus=mask_of([0, 1]), pcpus=mask_of(range(2, 8)))
    lack = pack(apart, pinned_cell(1, threads="isolate"))
    assert lack == FitLack("siblings", 1, 0, "free cores", 0, "isolate")
    plain = replace(apart, siblings=())
    assert _cpus(pack(plain, pinned_cell(1, threads="isolate"))) == [2]


@pytest.mark.parametrize(
    ("threads", "pinned", "emulator"),
    [
        (None, [0, 1, 2], [3]),
        ("require", [0, 1, 2], [3]),
        ("isolate", [0, 2, 4], [6]),
    ],
)
def test_the_emulator_gets_the_first_thread_that_is_left(
    threads: ThreadPolicy | None, pinned: list[int], emulator: list[int]
) -> None:
    packing = pack(host_cell(), pinned_cell(3, threads=threads), reserved=1)
    assert _cpus(packing) == pinned
    assert isinstance(packing, Packing)
    assert list(numbers_of(packing.emulator)) == emulator


def test_isolated_vcpus_leave_no_core_for_the_emulator() -> None:
    cell: HostCell = host_cell(cpus=4)
    lack = pack(cell, pinned_cell(2, threads="isolate"), reserved=1)
    assert isinstance(lack, FitLack)
    assert (lack.what, lack.asked, lack.has) == ("siblings", 3, 2)


def test_beside_isolated_vcpus_the_emulator_gets_a_core_of_its_own() -> None:
    cell = host_cell(pinned=mask_of([3]))
    packing = pack(cell, pinned_cell(2, threads="isolate"), reserved=1)
    assert _cpus(packing) == [0, 4]
    assert isinstance(packing, Packing)
    assert list(numbers_of(packing.emulator)) == [6]
    lack = pack(cell, pinned_cell(3, threads="isolate"), reserved=1)
    assert isinstance(lack, FitLack)
    assert (lack.asked, lack.has) == (4, 3)
