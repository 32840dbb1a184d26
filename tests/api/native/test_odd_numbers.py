"""Numbers that are not finite, or too large, are refused and never cause a 500.

Each is sent to the service and given to the library; both refuse it or both accept it,
in the same words, and the next request is answered.
"""

from __future__ import annotations

import math
import random
import warnings
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest
from msgspec.structs import replace

from gantt.client import SchedulerClient
from gantt.connection import open_gantt
from gantt.engine.gantt import Gantt
from gantt.engine.options import EngineOptions
from gantt.errors import GanttError
from gantt.model.forms.spec import read_spec
from gantt.model.hosts import HostStats
from gantt.scheduler.options import SchedulerOptions
from tests.api.native.fleet import SPEC, STATS, client_of
from tests.api.wsgi_client import WsgiClient

FILTERS = (
    "ComputeFilter ComputeCapabilitiesFilter ImagePropertiesFilter JsonFilter "
    "SameHostFilter DifferentHostFilter SimpleCIDRAffinityFilter IoOpsFilter "
    "NumInstancesFilter ServerGroupAntiAffinityFilter "
    "ServerGroupAffinityFilter"
).split()
OPTIONS = SchedulerOptions(
    enabled_filters=tuple(FILTERS),
    metrics_weight_setting={"m": 1e200},
    metrics_required=False,
    multipliers={"num_instances_weight_multiplier": 1e200},
)
NUMBERS: Any = [0, -1, 2**31 - 1, 2**31, 2**53, 2**63, 2**64, -(2**63), 10**30, 0.5]
NUMBERS += [1e308, -1e308, 3.5e38, 1e-320, True, None, "1", "nan", [], {}, [[[1]]]]
# JSON has no words for these: they are handed over in Python alone.
NO_JSON: Any = [math.nan, math.inf, -math.inf]
HINTS: Any = [[[["x"]]], [{}], {"a": [1]}, [None], 2**64, 1e308, "[" * 200]
HINTS += ['["=", "$free_ram_mb", 1e400]', '["<", "$stats", 1]', '["not", []]']
HINTS += ['[">", "$vcpus", 99999999999999999999999]', '["and"]', "/999999999999", ""]


@pytest.fixture(params=["auto", "never"])
def books(request: pytest.FixtureRequest) -> Iterator[Gantt]:
    options = EngineOptions(scheduler=replace(OPTIONS, use_placement=request.param))
    with open_gantt("memory://", options) as books, warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        client = SchedulerClient(books)
        for host in ("h1", "h2", "h3"):
            client.update_resource_stats(None, (host, host), STATS)
        yield books


def told(client: WsgiClient, method: str, path: str, body: Any) -> str:
    """ "" or the words of the refusal."""
    answer = client(method, path, body=body)
    assert answer.status < 500, answer.text
    return "" if answer.status < 400 else str(answer.json["errors"][0]["detail"])


def words(ask: Any) -> str:
    try:
        ask()
    except GanttError as error:
        return error.message
    return ""


@pytest.mark.parametrize("field", HostStats.__struct_fields__)
def test_reports(books: Gantt, field: str) -> None:
    client, http = SchedulerClient(books), client_of(books)
    for number in [*NUMBERS, *NO_JSON]:
        stats = {**STATS, field: number}
        here = words(lambda s=stats: client.update_resource_stats(None, "h1", s))
        frozen = words(
            lambda n=number: books.update_host("h1", "h1", HostStats(**{field: n}))
        )
        assert bool(here) == bool(frozen) or field in ("stats", "metrics"), number
        if not any(number is one for one in NO_JSON):
            there = told(http, "PUT", "/gantt/hosts/h1/h1", stats)
            assert here in there
        client.select_destinations(None, {**SPEC, "num_instances": 2})
        books.capacity(read_spec(SPEC))


def test_requests(books: Gantt) -> None:
    client, http = SchedulerClient(books), client_of(books)
    rng = random.Random(5)
    flavor = list(SPEC["flavor"])
    for number, name in [(n, f) for n in NUMBERS for f in [*flavor, "num_instances"]]:
        spec = {**SPEC, "flavor": {**SPEC["flavor"]}}
        (spec if name == "num_instances" else spec["flavor"])[name] = number
        uuid = str(UUID(int=rng.getrandbits(128), version=4))
        body = {"request_spec": spec, "instance_uuids": [uuid]}
        here = words(lambda s=spec: client.select_destinations(None, s, dry_run=True))
        dry = {"request_spec": spec, "dry_run": True}
        there = told(http, "POST", "/gantt/select", dry)
        assert here in there
        told(http, "POST", "/gantt/select", body)
        told(http, "POST", "/gantt/capacity", {"request_spec": spec})


@pytest.mark.parametrize(
    "hint",
    ["query", "cidr", "build_near_host_ip", "same_host", "different_host", "group"],
)
def test_hints(books: Gantt, hint: str) -> None:
    client, http = SchedulerClient(books), client_of(books)
    for value in HINTS:
        spec = {**SPEC, "scheduler_hints": {"build_near_host_ip": "10.0.0.1"}}
        spec["scheduler_hints"][hint] = value
        here = words(lambda s=spec: client.select_destinations(None, s))
        there = told(http, "POST", "/gantt/select", {"request_spec": spec})
        # Error texts over HTTP lose whatever looks like a tag.
        assert here.partition("<")[0] in there
