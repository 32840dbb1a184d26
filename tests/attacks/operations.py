"""For every operation of /gantt, the dearest that a client may send to it.

Each is a request of one client after the other, over and over: ``attackers`` sends it,
``test_operations`` and ``measuring`` look at what callers beside it see.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from uuid import UUID

from msgspec import Struct

from gantt.bench.bench_fleets import NIC
from gantt.model.operations import OPERATIONS

HOSTS = 2_000
RECORDS = 10_000
PROJECT = "m"
GOOD = "200 201 204"
CHANGED = f"{GOOD} 404 409"
_NO_CLAIM = "00000000-0000-4000-8000-00000000c1a1"
_DEVICE = {
    "count": 1,
    "request_id": "00000000-0000-4000-a000-000000000001",
    "spec": [NIC],
}


class Dear(Struct, frozen=True):
    """``path``: with what the template leaves open; ``expected``: statuses without
    which this is no attack."""

    path: str
    body: object = None
    expected: str = GOOD
    query: str = ""


def instance(number: int) -> str:
    """The uuid of one that no host has."""
    return str(UUID(int=0xBEEF << 96 | 4 << 76 | 8 << 60 | number))


def flavor(**extra_specs: str) -> dict[str, Any]:
    """A small one."""
    found: dict[str, Any] = {"vcpus": 1, "memory_mb": 64, "root_gb": 0}
    return {**found, "extra_specs": extra_specs}


PINNED = {
    "flavor": flavor(**{"hw:cpu_policy": "dedicated"}),
    "pci_requests": [_DEVICE],
}
_CHOICES = " ".join(f"<or> model-{number}" for number in range(256))
LABELLED = {
    "flavor": flavor(**{f"capabilities:label{n}": _CHOICES for n in range(16)}),
}
_NAMES = [f"host{number}" for number in range(HOSTS)]
# As many as may be advised on.
_ADVISED = _NAMES[:1000]
_ADVICE_HOSTS = [{"host": name, "node": name} for name in _ADVISED]
_WEIGHTS = dict.fromkeys(_ADVISED, 1.0)
_STATS = {"vcpus": 64, "memory_mb": 262_144, "local_gb": 4_000}
_REPORTS = [
    {
        "host": f"agent{number}",
        "node": f"agent{number}",
        "incarnation": instance(1),
        "sequence": 1,
        "taken_at": 1,
        "full": True,
        "fields": _STATS,
    }
    for number in range(200)
]
_EXTERNAL = {"hosts": [{"host": name} for name in _ADVISED], "weights": _WEIGHTS}
_GROUP_UUID = instance(2)
_GROUP = {
    "uuid": _GROUP_UUID,
    "policy": "anti-affinity",
    "members": [instance(number) for number in range(1000)],
}
_AGGREGATE = {"uuid": instance(3), "name": "all", "hosts": _NAMES, "metadata": {}}
_FLEET = {"aggregates": [_AGGREGATE], "groups": [_GROUP]}
_FINDING = {"kind": "no_workload", "host": "host1", "node": "host1"}
_HOST = "/gantt/hosts/host1/host1"
# As many items as a demand may have, each of which is evaluated on all hosts.
_ITEMS = [
    {"name": f"i{n}", "count": 15, "cpu": 1, "memory": 64 + n, "not_with": ["i0"]}
    for n in range(1, 16)
] + [{"name": "i0", "cpu": 1}]

_DEARER: Mapping[str, Dear] = {
    "POST /gantt/select": Dear(
        "/gantt/select",
        {"request_spec": LABELLED, "dry_run": True},
        expected="200",
    ),
    "POST /gantt/place": Dear(
        "/gantt/place",
        {"items": _ITEMS, "dry_run": True},
        expected="200 409 503 429",
    ),
    "GET /gantt/placements": Dear("/gantt/placements", query="limit=10000"),
    "POST /gantt/placements/confirm": Dear(
        "/gantt/placements/confirm", {"plan": "none"}, expected=CHANGED
    ),
    "POST /gantt/placements/release": Dear(
        "/gantt/placements/release", {"plan": "none"}, expected=CHANGED
    ),
    "GET /gantt/demands": Dear("/gantt/demands", query="limit=10000"),
    "GET /gantt/demands/{uuid}": Dear(
        f"/gantt/demands/{_NO_CLAIM}", query="explain=true&wait_s=20", expected="404"
    ),
    "DELETE /gantt/demands/{uuid}": Dear(
        f"/gantt/demands/{_NO_CLAIM}", expected=CHANGED
    ),
    "POST /gantt/advise": Dear(
        "/gantt/advise",
        {"spec": PINNED, "hosts": _ADVICE_HOSTS, "weights": _WEIGHTS},
    ),
    "POST /scheduler/nova/external": Dear(
        "/scheduler/nova/external",
        {
            "spec": PINNED,
            "hosts": [{"host": name, "hypervisor_hostname": name} for name in _ADVISED],
            "weights": _WEIGHTS,
        },
    ),
    "POST /scheduler/cinder/external": Dear("/scheduler/cinder/external", _EXTERNAL),
    "POST /scheduler/manila/external": Dear("/scheduler/manila/external", _EXTERNAL),
    "POST /gantt/claims/{claim}/confirm": Dear(
        f"/gantt/claims/{_NO_CLAIM}/confirm", expected=CHANGED
    ),
    "DELETE /gantt/claims/{claim}": Dear(
        f"/gantt/claims/{_NO_CLAIM}", expected=CHANGED
    ),
    "GET /gantt/decisions": Dear("/gantt/decisions", query="limit=1000000"),
    "GET /gantt/recent": Dear("/gantt/recent", query="within_s=86400"),
    "POST /gantt/capacity": Dear("/gantt/capacity", {"request_spec": PINNED}),
    "POST /gantt/capacity/fair": Dear(
        "/gantt/capacity/fair",
        {"request_specs": [PINNED, {"flavor": flavor()}]},
        expected="200 503 429",
    ),
    "POST /gantt/capacity/prices": Dear(
        "/gantt/capacity/prices",
        {"request_spec": PINNED},
        expected="200 503 429",
    ),
    "POST /gantt/capacity/runs-out": Dear(
        "/gantt/capacity/runs-out",
        {"request_specs": [PINNED], "by": "zone"},
        expected="200 503 429",
    ),
    "GET /gantt/usage-history": Dear("/gantt/usage-history", query="limit=10000"),
    "GET /gantt/audit": Dear("/gantt/audit", query="limit=10000&grace_s=0"),
    "POST /gantt/audit/repairs": Dear(
        "/gantt/audit/repairs", {"finding": _FINDING}, expected="409"
    ),
    "POST /gantt/takeovers": Dear(
        "/gantt/takeovers",
        {"host": "host1", "new_host": "host2", "dry_run": True},
        expected=CHANGED,
    ),
    "POST /gantt/shadow/events": Dear("/gantt/shadow/events", {"request_spec": PINNED}),
    "GET /gantt/shadow/records": Dear("/gantt/shadow/records", query="limit=100000"),
    "GET /gantt/hosts/{host}/{node}": Dear(_HOST),
    "GET /gantt/hosts/{host}/{node}/topology": Dear(f"{_HOST}/topology"),
    "GET /gantt/host": Dear("/gantt/host", query="host=host1"),
    "PUT /gantt/hosts/{host}/{node}": Dear(
        "/gantt/hosts/another/another", {**_STATS, "host": "another"}
    ),
    "DELETE /gantt/hosts/{host}/{node}": Dear(
        "/gantt/hosts/another/another", expected=CHANGED
    ),
    "POST /gantt/reports": Dear("/gantt/reports", {"reports": _REPORTS}),
    "GET /gantt/aggregates": Dear("/gantt/aggregates", query="limit=10000"),
    "PUT /gantt/aggregates": Dear("/gantt/aggregates", {"aggregates": [_AGGREGATE]}),
    "DELETE /gantt/aggregates": Dear("/gantt/aggregates", query=f"uuid={instance(4)}"),
    "GET /gantt/aggregates/{uuid}": Dear(
        f"/gantt/aggregates/{instance(4)}", expected=CHANGED
    ),
    "PUT /gantt/aggregates/{uuid}": Dear(
        f"/gantt/aggregates/{instance(3)}", _AGGREGATE
    ),
    "DELETE /gantt/aggregates/{uuid}": Dear(f"/gantt/aggregates/{instance(4)}"),
    "GET /gantt/instances": Dear("/gantt/instances", query="limit=10000"),
    "POST /gantt/instances/{host}": Dear(
        "/gantt/instances/host3",
        {"instances": [{"uuid": instance(n)} for n in range(500)]},
    ),
    "POST /gantt/fleet/turn": Dear("/gantt/fleet/turn", {"holder": "f" * 64}),
    "PUT /gantt/instances/{host}": Dear(
        "/gantt/instances/host3",
        {"instance_uuids": [instance(n) for n in range(500)]},
    ),
    "DELETE /gantt/instances/{host}/{uuid}": Dear(
        f"/gantt/instances/host4/{instance(9_999)}"
    ),
    "GET /gantt/services": Dear("/gantt/services", query="limit=10000"),
    "PUT /gantt/services": Dear(
        "/gantt/services", {"host": "host1", "binary": "nova-compute", "version": 68}
    ),
    "DELETE /gantt/services/{host}/{binary}": Dear("/gantt/services/none/none"),
    "PUT /gantt/labels/{host}": Dear(
        "/gantt/labels/host1", {"labels": {f"key{n}": None for n in range(5_000)}}
    ),
    "GET /gantt/artifacts": Dear("/gantt/artifacts"),
    "PUT /gantt/artifacts/{name}": Dear("/gantt/artifacts/model", {"size": "1GiB"}),
    "DELETE /gantt/artifacts/{name}": Dear("/gantt/artifacts/none", expected=CHANGED),
    "GET /gantt/domains": Dear("/gantt/domains", query="key=host"),
    "PUT /gantt/relations/{uuid}": Dear(
        f"/gantt/relations/{_GROUP_UUID}", {"relations": "distinct=host:9 " * 8}
    ),
    "PUT /gantt/fleet": Dear("/gantt/fleet", _FLEET),
    "GET /gantt/server_groups": Dear("/gantt/server_groups", query="limit=10000"),
    "PUT /gantt/server_groups/{uuid}": Dear(
        f"/gantt/server_groups/{_GROUP_UUID}", _GROUP
    ),
    "DELETE /gantt/server_groups/{uuid}": Dear(f"/gantt/server_groups/{instance(5)}"),
    "GET /gantt/candidates/explain": Dear(
        "/gantt/candidates/explain",
        query="resources=VCPU:1000,MEMORY_MB:99999999,DISK_GB:1",
    ),
    "GET /gantt/watch": Dear(
        "/gantt/watch", query="since=1&wait=0", expected="200 410"
    ),
}
# Nothing makes these dearer than their bare path.
_BARE = {
    one.at: Dear(one.path)
    for one in OPERATIONS
    if one.method == "GET" and "{" not in one.path
}
DEAREST: Mapping[str, Dear] = {**_BARE, **_DEARER}


def of_routes(routes: Mapping[str, Mapping[str, object]]) -> Iterator[str]:
    """The operations of the native API among ``routes``, as ``DEAREST`` names them."""
    native = ("/gantt/", "/scheduler/")
    for path, methods in routes.items():
        if path.startswith(native):
            yield from (f"{method} {path}" for method in methods)
