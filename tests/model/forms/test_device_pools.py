"""Pools of devices in every form become the same values, and impossible ones none."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import UNSET

from gantt.errors import Invalid
from gantt.model.bounds import MAX_DEVICES, MAX_POOLS, MAX_TAGS
from gantt.model.forms import values
from gantt.model.forms.device_pools import read_pools
from gantt.model.forms.stats import read_stats
from gantt.model.hosts import HostStats
from gantt.model.topology import Device, Pool
from tests.model.forms.objects import nova

NIC = {"vendor_id": "8086", "product_id": "154c", "numa_node": 1}
TAGS = {"dev_type": "type-VF", "physical_network": "physnet0"}
POOL = Pool(3, 1, {"vendor_id": "8086", "product_id": "154c", **TAGS})


def test_every_form_is_read() -> None:
    made = nova("PciDevicePool", "1.1", **NIC, count=3, tags=TAGS)
    for sent in (
        made,
        [made],
        nova("PciDevicePoolList", "1.1", objects=[made]),
        {**NIC, **TAGS, "count": 3},
        [{**NIC, **TAGS, "count": 3}],
        [{**NIC, "tags": TAGS, "count": 3}],
    ):
        for form in (sent, json.dumps(sent), json.dumps(json.dumps(sent))):
            assert read_pools("p", form) == (POOL,)
            stored = read_stats({"pci_stats": form}).pci_stats
            assert read_pools("p", stored) == (POOL,)


@pytest.mark.parametrize("column", ["pci_stats", "pci_device_pools"])
@pytest.mark.parametrize(
    ("version", "fields", "node"),
    [
        ("1.0", {}, None),
        ("1.1", {"numa_node": 1}, 1),
        ("1.1", {"numa_node": None}, None),
        ("1.1", {}, None),  # never set
        ("1.7", {"numa_node": 1, "tags": TAGS}, 1),
    ],
)
def test_objects_of_every_version_are_read(
    column: str, version: str, fields: dict[str, Any], node: int | None
) -> None:
    ids = {"vendor_id": "8086", "product_id": "154c"}
    tags = fields.get("tags", {})
    made = nova("PciDevicePool", version, **ids, count=3, **{"tags": tags, **fields})
    sent = nova("PciDevicePoolList", version, objects=[made])
    for form in (sent, json.dumps(sent)):
        stored = read_stats({column: form}).pci_stats
        assert read_pools("p", stored) == (Pool(3, node, {**ids, **tags}),)


def test_pools_of_a_newer_major_are_refused() -> None:
    sent = nova("PciDevicePoolList", "2.0", objects=[])
    with pytest.raises(Invalid, match=r"pci_stats .* has version 2.0"):
        read_stats({"pci_stats": sent})


def test_no_pools_and_none_known_differ() -> None:
    unknown: list[Any] = [None, "", "null", '"null"']
    empty = nova("PciDevicePoolList", "1.1", objects=[])
    known: list[Any] = [empty, json.dumps(empty), [], "[]"]
    for sent in (*unknown, *known):
        pools = None if sent in unknown else ()
        assert read_pools("p", sent) == pools
        assert read_pools("p", read_stats({"pci_stats": sent}).pci_stats) == pools
    assert read_stats({}).pci_stats is UNSET


def test_tags_are_texts_or_lists_of_them() -> None:
    tags = {"a": 1, "b": True, "c": None, "d": ["x", 2]}
    (pool,) = read_pools("p", [{"count": 1, "rp_uuid": "u", "tags": tags}]) or ()
    assert pool == Pool(1, None, {"a": "1", "b": "True", "d": ("x", "2")}, "u")


def test_pools_with_fewer_fields_come_first_and_keep_their_order() -> None:
    sent = [
        {"count": 1, "vendor_id": "1", "product_id": "1", "dev_type": "type-PF"},
        {"count": 2, "vendor_id": "2", "product_id": "1", "numa_node": None},
        {"count": 3, "vendor_id": "3", "product_id": "1"},
    ]
    found = read_pools("p", sent) or ()
    assert [pool.count for pool in found] == [2, 3, 1]


def test_devices_are_listed_with_their_parents() -> None:
    devices = [{"address": "a", "parent": "p"}, {"address": "b"}]
    (pool,) = read_pools("p", [{"count": 2, "devices": devices}]) or ()
    assert pool.devices == (Device("a", "p"), Device("b"))


def test_addresses_are_compared_whatever_their_case() -> None:
    """Else a PF and its VFs would be promised to two instances."""
    sent = [
        {"count": 1, "devices": [{"address": "0000:3b:00.0"}]},
        {
            "count": 1,
            "devices": [{"address": "0000:3B:00.1", "parent": "0000:3B:00.0"}],
        },
    ]
    pf, vf = read_pools("p", sent) or ()
    assert vf.devices == (Device("0000:3b:00.1", "0000:3b:00.0"),)
    assert pf.devices[0].address == vf.devices[0].parent


A = {"address": "0000:0A:00.0"}
B = {"address": "0000:0a:00.0"}
IMPOSSIBLE: list[tuple[Any, str]] = [
    ([{"count": -1}], r"0.count must be an integer from 0 to \d+, not -1"),
    ([{"vendor_id": "8086"}], r"0.count is missing"),
    ([{"count": 2, "devices": [A]}], r"0.devices lists 1 devices, .* count is 2"),
    ([{"count": 1, "devices": []}], r"0.devices lists 0 devices, .* count is 1"),
    ([{"count": 2, "devices": [A, A]}], r"0.devices lists '.*', which is listed"),
    (
        [{"count": 1, "devices": [A]}, {"count": 1, "devices": [B]}],
        r"1.devices lists '0000:0a:00.0', which is listed already",
    ),
    ([{"count": 1, "devices": [{}]}], r"0.devices.0.address is missing"),
    ([{"count": 1, "devices": [{**A, "x": 1}]}], r"unknown fields: 'x'"),
    ([{"count": 1, "numa_node": "0"}], r"0.numa_node must be an integer"),
    ([{"count": 1, "tag": {"a": 1}}], r"0.tag must be text, not an object"),
    ([{"count": 1, "tags": "x"}], r"0.tags must be an object"),
    ([{"count": 0}] * (MAX_POOLS + 1), r"has 4097 pools; the limit is 4096"),
    (
        [{"count": 1, **{f"tag{n}": "" for n in range(MAX_TAGS)}}],
        r"0 has 65 fields; the limit is 64",
    ),
]


@pytest.mark.parametrize(("pools", "named"), IMPOSSIBLE)
def test_impossible_pools_are_refused_by_name(pools: Any, named: str) -> None:
    with pytest.raises(Invalid, match=named) as refused:
        read_stats({"pci_device_pools": pools})
    assert refused.value.message.startswith("stats.pci_device_pools")
    with pytest.raises(Invalid, match=named):
        values.stats(HostStats(pci_stats=pools))


def test_too_many_devices_are_refused() -> None:
    devices = [{"address": f"{n}"} for n in range(MAX_DEVICES + 1)]
    with pytest.raises(Invalid, match="more than 65536 devices"):
        read_pools("p", [{"count": len(devices), "devices": devices}])
