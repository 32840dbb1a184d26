"""Hosts and requests for tests of the native API, as a client sends them."""

from __future__ import annotations

from typing import Any

from gantt.api.app import build_app
from gantt.conf import load
from gantt.engine.gantt import Gantt
from tests.api.wsgi_client import WsgiClient

A, B, C = (f"0000000{n}-aaaa-4000-8000-000000000000" for n in (1, 2, 3))
STATS: dict[str, Any] = {
    "vcpus": 8,
    "memory_mb": 16_384,
    "local_gb": 100,
    "vcpus_used": 0,
    "memory_mb_used": 0,
    "local_gb_used": 0,
    "free_ram_mb": 16_384,
    "free_disk_gb": 100,
    "hypervisor_type": "QEMU",
    "hypervisor_version": 8_002_000,
    "cpu_info": '{"arch": "x86_64"}',
    "supported_instances": [["x86_64", "kvm", "hvm"]],
    "cpu_allocation_ratio": 1.0,
    "ram_allocation_ratio": 1.0,
    "disk_allocation_ratio": 1.0,
}
SPEC: dict[str, Any] = {
    "flavor": {"vcpus": 2, "memory_mb": 4096, "root_gb": 20},
    "project_id": "blue",
    "user_id": "ann",
}
TOO_MUCH = {**SPEC, "flavor": {"vcpus": 2, "memory_mb": 999_999, "root_gb": 20}}


def client_of(books: Gantt) -> WsgiClient:
    """The whole service over ``books``, believing every token."""
    return WsgiClient(build_app(books, load(environ={}, default_auth="noauth2")))


def report(client: WsgiClient, *hosts: str) -> None:
    """Each host reports ``STATS``."""
    for host in hosts:
        answer = client("PUT", f"/gantt/hosts/{host}/{host}", body=STATS)
        assert answer.status == 200, answer.text
