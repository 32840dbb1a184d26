"""Every door refuses the name of an instance that is no uuid."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from gantt.client import SchedulerClient
from gantt.connection import open_gantt
from gantt.engine.gantt import Gantt
from gantt.errors import Invalid
from gantt.model.fleet_lists import InstanceQuery
from gantt.model.hosts import Instance
from gantt.model.spec import Flavor, RequestSpec, ScheduleRequest
from tests.api.native.fleet import SPEC, client_of
from tests.engine.test_scheduling import report

NAME = "job-2"
ASKED = RequestSpec(flavor=Flavor(vcpus=1, memory_mb=512, root_gb=1))
CALLS: list[Callable[[Gantt], Any]] = [
    lambda books: books.schedule(ScheduleRequest(ASKED, (NAME,))),
    lambda books: books.decide(ScheduleRequest(ASKED, (NAME,))),
    lambda books: SchedulerClient(books).select_destinations(
        None, ASKED, instance_uuids=[NAME]
    ),
    lambda books: books.update_instances("one", [Instance(NAME)]),
    lambda books: books.sync_instances("one", [NAME]),
    lambda books: books.delete_instance("one", NAME),
]
REQUESTS: list[tuple[str, str, Any]] = [
    ("POST", "/gantt/select", {"request_spec": SPEC, "instance_uuids": [NAME]}),
    ("POST", "/gantt/instances/one", {"instances": [{"uuid": NAME}]}),
    ("PUT", "/gantt/instances/one", {"instance_uuids": [NAME]}),
    ("DELETE", f"/gantt/instances/one/{NAME}", None),
    ("PUT", "/gantt/hosts/one/one", {"instances": [NAME]}),
]


@pytest.fixture
def books() -> Iterator[Gantt]:
    with open_gantt("memory://") as books:
        report(books, "one")
        yield books


@pytest.mark.parametrize("call", CALLS)
def test_of_the_library(books: Gantt, call: Callable[[Gantt], Any]) -> None:
    with pytest.raises(Invalid, match="must be a UUID, not 'job-2'"):
        call(books)
    assert books.list_instances(InstanceQuery()) == ()


@pytest.mark.parametrize(("method", "path", "body"), REQUESTS)
def test_over_http(books: Gantt, method: str, path: str, body: Any) -> None:
    answer = client_of(books)(method, path, body=body)
    assert answer.status == 400, answer.text
    assert "must be a UUID, not 'job-2'" in answer.json["errors"][0]["detail"]
    assert books.list_instances(InstanceQuery()) == ()
