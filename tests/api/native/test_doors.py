"""Every operation by its row: who may not use it, and in process as over HTTP."""

from __future__ import annotations

import re
from inspect import signature
from typing import Any

import pytest

from gantt.engine.gantt import Gantt
from gantt.model.hosts import HostAggregate, Instance, ServerGroup, Service
from gantt.model.operation import Operation
from gantt.model.operations import NAMED, OPERATIONS, Library
from tests import inprocess
from tests.api.native.fleet import SPEC, A, B, C
from tests.api.wsgi_client import WsgiClient

AT_ITS_DOOR = pytest.mark.parametrize(
    "one", [one for one in OPERATIONS if one.rule], ids=lambda one: one.at
)


def asked(client: WsgiClient, one: Operation, headers: dict[str, str | None]) -> Any:
    return client(one.method, re.sub(r"\{\w+\}", A, one.path), headers=headers)


@AT_ITS_DOOR
def test_those_without_the_role_are_refused(client: WsgiClient, one: Operation) -> None:
    answer = asked(client, one, {"x-auth-token": "bob:blue", "x-roles": "member"})
    assert answer.status == 403
    assert one.rule in answer.detail


@AT_ITS_DOOR
def test_those_without_a_token_are_refused(client: WsgiClient, one: Operation) -> None:
    assert asked(client, one, {"x-auth-token": None}).status == 401


def reads() -> list[str]:
    """The methods that can be called as they are, and change nothing."""
    found = []
    for name in NAMED.keys() & vars(Library).keys():
        _, *others = signature(getattr(Library, name)).parameters.values()
        is_open = all(one.default is not one.empty for one in others)
        if is_open and NAMED[name].method == "GET":
            found.append(name)
    return sorted(found)


@pytest.mark.parametrize("name", reads())
def test_what_is_read_over_http_is_the_same(
    client: WsgiClient, books: Gantt, name: str
) -> None:
    books.update_service(Service("one", disabled=True, last_seen_up=None))
    books.update_instances("one", [Instance(B, {"flavorid": "x"})])
    books.set_server_group(ServerGroup(C, "apart", "anti-affinity", 1, frozenset({A})))
    books.set_host_aggregates([HostAggregate(C, "rack", 7, frozenset({"two"}))])
    body = {"request_spec": SPEC, "instance_uuids": [A]}
    assert client("POST", "/gantt/select", body=body).status == 200
    with inprocess.doors(books) as far:
        assert getattr(far, name)() == getattr(books, name)()
