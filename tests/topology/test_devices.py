"""Which pools serve which request, sieve by sieve."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from gantt.model.topology import Affinity, Device, DeviceRequest, FitLack, Pool
from gantt.topology.devices import select
from tests.topology.machines import named, pool

Tags = dict[str, str | tuple[str, ...] | None]


def request(*wanted: Tags, count: int = 1, **more: Any) -> DeviceRequest:
    intel: Tags = {"vendor_id": "8086"}
    return DeviceRequest("r", count, wanted or (intel,), **more)


def _taken(
    pools: tuple[Pool, ...],
    *requests: DeviceRequest,
    cells: tuple[int, ...] | None = None,
    sockets: Mapping[int, int | None] | None = None,
    providers: Mapping[str, tuple[str, ...]] | None = None,
) -> list[tuple[int, int]] | FitLack:
    """(place of the pool, count) of what was taken; pools that are left are checked."""
    found = select(
        pools, requests, cells=cells, sockets=sockets or {}, providers=providers or {}
    )
    if isinstance(found, FitLack):
        return found
    left, taken = found
    given = [
        (next(n for n, one in enumerate(pools) if one.tags is each.tags), each.count)
        for each in taken
    ]
    counts = [one.count for one in pools]
    for place, count in given:
        counts[place] -= count
    assert [one.count for one in left] == [count for count in counts if count]
    return given


def _lack(
    found: list[tuple[int, int]] | FitLack, asked: int, has: int, why: str = ""
) -> bool:
    assert isinstance(found, FitLack), found
    ends = found.detail.endswith(why)
    return ends and (found.what, found.asked, found.has) == ("devices", asked, has)


def test_pools_give_in_their_order() -> None:
    pools = (pool(1), pool(2), pool(4))
    assert _taken(pools, request(count=4)) == [(0, 1), (1, 2), (2, 1)]
    assert _lack(_taken(pools, request(count=8)), 8, 7, "vendor_id=8086")


def test_requests_share_what_is_there() -> None:
    pools = (pool(2), pool(2))
    assert _taken(pools, request(count=3), request()) == [(0, 2), (1, 1), (1, 1)]
    assert _lack(_taken(pools, request(count=3), request(count=2)), 2, 1)


def test_a_tag_of_none_asks_for_pools_without_it() -> None:
    tagged, plain = pool(1, physical_network="x"), pool(1)
    assert _taken((tagged, plain), request({"physical_network": None})) == [(1, 1)]
    assert _lack(_taken((tagged,), request({"physical_network": None})), 1, 0)


def test_texts_match_whatever_their_case() -> None:
    pools = (pool(1, trusted="true"), pool(1, trusted="True", product_id="15B3"))
    assert _taken(pools, request({"product_id": "15b3", "trusted": "TRUE"})) == [(1, 1)]
    assert _lack(_taken(pools, request({"physical_network": "x"})), 1, 0)


def test_a_tunnelled_network_needs_pools_of_no_physical_one() -> None:
    pools = (pool(1, physical_network="p1"), pool(1))
    assert _taken(pools, request({"physical_network": None})) == [(1, 1)]
    both = request({"physical_network": None}, count=2)
    assert _lack(_taken(pools, both), 2, 1, "physical_network=none")


def test_of_a_list_all_that_is_wanted_is_there() -> None:
    able = pool(1, capabilities=("rx", "tx", "rdma"))
    assert _taken((able,), request({"capabilities": ("tx", "rx")})) == [(0, 1)]
    assert _lack(_taken((able,), request({"capabilities": ("tx", "tso")})), 1, 0)
    assert _lack(_taken((able,), request({"capabilities": "tx"})), 1, 0)


def test_one_of_several_descriptions_suffices() -> None:
    pools = (pool(1, product_id="a"), pool(1, product_id="b"), pool(1, product_id="c"))
    either = request({"product_id": "c"}, {"product_id": "a"}, count=2)
    assert _taken(pools, either) == [(0, 1), (2, 1)]
    lack = _taken(pools, replace(either, count=3))
    assert _lack(lack, 3, 2, "product_id=c or product_id=a")


def test_what_is_meant_for_placement_is_not_compared() -> None:
    wanted: Tags = {"resource_class": "CUSTOM_GPU", "traits": "A", "rp_uuids": "p"}
    assert _taken((pool(1),), request(wanted)) == [(0, 1)]


NEAR_AND_FAR = (pool(1, 1), pool(2, None), pool(4, 0))


@pytest.mark.parametrize(
    ("affinity", "count", "taken"),
    [
        ("required", 4, [(2, 4)]),
        ("required", 5, 4),
        ("legacy", 4, [(2, 4)]),
        ("legacy", 5, [(1, 2), (2, 3)]),
        ("legacy", 7, 6),
        ("preferred", 4, [(2, 4)]),
        ("preferred", 5, [(1, 2), (2, 3)]),
        ("preferred", 7, [(1, 2), (2, 4), (0, 1)]),
    ],
)
def test_how_near_devices_are(
    affinity: Affinity, count: int, taken: list[tuple[int, int]] | int
) -> None:
    found = _taken(NEAR_AND_FAR, request(count=count, affinity=affinity), cells=(0,))
    if isinstance(taken, int):
        assert _lack(found, count, taken, f"affinity {affinity}")
    else:
        assert found == taken


def test_without_cells_affinity_does_not_count() -> None:
    asked = request(count=7, affinity="required")
    assert _taken(NEAR_AND_FAR, asked) == [(0, 1), (1, 2), (2, 4)]


@pytest.mark.parametrize(
    ("sockets", "count", "taken"),
    [
        ({0: 0, 1: 0, 2: 1}, 5, [(0, 1), (2, 4)]),
        ({0: 0, 1: 1, 2: 1}, 5, 4),
        ({0: 0, 1: 0, 2: None}, 5, 0),
        ({0: 0, 1: 0, 2: None}, 4, [(2, 4)]),
    ],
)
def test_devices_of_the_same_socket(
    sockets: dict[int, int | None], count: int, taken: list[tuple[int, int]] | int
) -> None:
    asked = request(count=count, affinity="socket")
    found = _taken(NEAR_AND_FAR, asked, cells=(0,), sockets=sockets)
    if isinstance(taken, int):
        assert _lack(found, count, taken, "affinity socket")
    else:
        assert found == taken


@pytest.mark.parametrize("kind", ["type-PF", "vdpa"])
def test_some_types_are_given_to_those_that_name_them(kind: str) -> None:
    pools = (pool(1, dev_type=kind),)
    assert _lack(_taken(pools, request()), 1, 0, "of the type asked for")
    assert _taken(pools, request({"dev_type": kind})) == [(0, 1)]


def test_remote_managed_devices_are_given_to_those_that_name_them() -> None:
    pools = (pool(1, remote_managed="true"), pool(1, remote_managed="false"), pool(1))
    assert _taken(pools, request(count=2)) == [(1, 1), (2, 1)]
    assert _taken(pools, request({"remote_managed": "True"})) == [(0, 1)]
    assert _lack(_taken(pools, request(count=3)), 3, 2, "of the type asked for")


@pytest.mark.parametrize(
    ("asked", "taken"), [("true", [(0, 1)]), ("false", [(1, 1)]), (None, [(0, 1)])]
)
def test_live_migratable_devices(
    asked: str | None, taken: list[tuple[int, int]]
) -> None:
    pools = (pool(1, live_migratable="true"), pool(1, live_migratable="false"))
    wanted: Tags = {"live_migratable": asked} if asked else {"vendor_id": "8086"}
    assert _taken(pools, request(wanted)) == taken


PROVIDED = tuple(
    replace(pool(count, serial=name), rp_uuid=name)
    for name, count in (("a", 1), ("b", 2), ("c", 4))
)


def test_providers_give_what_placement_allocated() -> None:
    asked = request(count=3, is_of_flavor=True)
    providers = {"r-0": ("c",), "r-1": ("b",), "r-2": ("c",), "other": ("a",)}
    assert _taken(PROVIDED, asked, providers=providers) == [(1, 1), (2, 2)]
    # Devices of ports are not in the books, nor those of hosts that keep them out.
    port = replace(asked, is_of_flavor=False)
    assert _taken(PROVIDED, port, providers=providers) == [(0, 1), (1, 2)]
    assert _taken(PROVIDED, asked, providers={"other": ("a",)}) == [(0, 1), (1, 2)]


def test_a_provider_with_too_few_free_devices() -> None:
    asked = request(count=2, is_of_flavor=True)
    providers = {"r-0": ("a",), "r-1": ("a",)}
    found = _taken(PROVIDED, asked, providers=providers)
    assert _lack(found, 2, 0, "of the providers allocated")


def test_a_provider_of_several_pools() -> None:
    """An allocation does not say which of them it means."""
    pools = (*PROVIDED, replace(PROVIDED[0], tags={**PROVIDED[0].tags, "serial": "d"}))
    asked = request(is_of_flavor=True)
    found = _taken(pools, asked, providers={"r-0": ("c",)})
    assert _lack(found, 1, 0, "while provider a has several pools")
    assert _taken(pools, asked) == [(0, 1)]


PF_AND_VFS = (
    named("type-PF", 0, ["pf"]),
    named("type-VF", 0, ["vf1", "vf2"], "pf"),
)


def test_a_device_that_went_with_another_serves_no_request() -> None:
    vf, pf = request({"dev_type": "type-VF"}), request({"dev_type": "type-PF"})
    assert _lack(_select(vf, pf), 1, 0)
    assert _lack(_select(pf, vf), 1, 0)
    assert _select(vf, vf) == [("vf1",), ("vf2",)]
    both = request({"dev_type": "type-PF"}, {"dev_type": "type-VF"}, count=2)
    assert _lack(_select(both), 2, 1, "and not linked to one another")


def _select(*requests: DeviceRequest) -> Any:
    found = select(PF_AND_VFS, requests, cells=None, sockets={}, providers={})
    if isinstance(found, FitLack):
        return found
    return [tuple(_address(one) for one in each.devices) for each in found[1]]


def _address(device: Device) -> str:
    return device.address
