"""Host reports over HTTP."""

from __future__ import annotations

from typing import Any

import pytest

from tests.api.native.fleet import STATS
from tests.api.wsgi_client import WsgiClient

ONE = "/gantt/hosts/one/one"


def test_hosts_are_listed_by_name(client: WsgiClient) -> None:
    hosts = client("GET", "/gantt/hosts").json["hosts"]
    assert [one["host"] for one in hosts] == ["one", "two"]
    assert hosts[0]["stats"]["vcpus"] == 8
    assert hosts[0]["stats"]["cpu_info"] == {"arch": "x86_64"}
    found = client("GET", "/gantt/hosts?host=two").json["hosts"]
    assert [one["node"] for one in found] == ["two"]
    assert client("GET", "/gantt/hosts?node=three").json["hosts"] == []


def test_reports_may_be_partial(client: WsgiClient) -> None:
    answer = client("PUT", ONE, body={"running_vms": 3})
    assert answer.status == 200
    assert answer.json["stats"]["running_vms"] == 3
    assert answer.json["stats"]["vcpus"] == STATS["vcpus"]
    assert client("GET", ONE).json == answer.json


def test_the_topology_of_a_host_is_shown(client: WsgiClient) -> None:
    cell = {"id": 0, "cpus": "0-1", "memory": 64, "pinned_cpus": [1]}
    client("PUT", ONE, body={"numa_topology": {"cells": [cell]}})
    answer = client("GET", f"{ONE}/topology")
    assert answer.status == 200
    (found,) = answer.json["cells"]
    assert (found["pinned_cpus"], found["free_cpus"]) == ([1], [0])
    assert client("GET", "/gantt/hosts/one/two/topology").status == 404


def test_hosts_are_deleted(client: WsgiClient) -> None:
    assert client("DELETE", ONE).status == 204
    assert client("GET", ONE).status == 404
    assert client("DELETE", ONE).status == 404


@pytest.mark.parametrize(
    ("stats", "named"),
    [
        ({"colour": "red"}, "colour"),
        ({"vcpus": "8"}, "stats.vcpus"),
        ({"vcpus": None}, "stats.vcpus"),
        ({"host": "two"}, "stats.host"),
        ({"metrics": "{"}, "stats.metrics"),
        ([], "object"),
    ],
)
def test_bad_reports_are_refused_by_field(
    client: WsgiClient, stats: Any, named: str
) -> None:
    answer = client("PUT", ONE, body=stats)
    assert answer.status == 400
    assert named in answer.detail


def test_unknown_parameters_are_refused_by_name(client: WsgiClient) -> None:
    answer = client("GET", "/gantt/hosts?colour=red")
    assert answer.status == 400
    assert "colour" in answer.detail
