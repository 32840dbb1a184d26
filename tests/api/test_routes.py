"""The table of routes: methods, microversions, and unknown paths."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from gantt.api.call import Call
from gantt.api.routes import ROUTES, Route
from tests.api.door import client_for
from tests.api.wsgi_client import WsgiClient

U = "11111111-2222-3333-4444-555555555555"

# path of the contract -> (methods in the order of ``allow``, since)
CONTRACT: list[tuple[str, str, int]] = [
    ("/", "GET", 0),
    ("", "GET", 0),
    ("/resource_classes", "GET, POST", 2),
    ("/resource_classes/X", "GET, PUT, DELETE", 2),
    ("/resource_providers", "GET, POST", 0),
    (f"/resource_providers/{U}", "GET, DELETE, PUT", 0),
    (f"/resource_providers/{U}/inventories", "GET, POST, PUT, DELETE", 0),
    (f"/resource_providers/{U}/inventories/X", "GET, PUT, DELETE", 0),
    (f"/resource_providers/{U}/usages", "GET", 0),
    (f"/resource_providers/{U}/aggregates", "GET, PUT", 1),
    (f"/resource_providers/{U}/allocations", "GET", 0),
    ("/allocations", "POST", 13),
    (f"/allocations/{U}", "GET, PUT, DELETE", 0),
    ("/allocation_candidates", "GET", 10),
    ("/traits", "GET", 6),
    ("/traits/X", "GET, PUT, DELETE", 6),
    (f"/resource_providers/{U}/traits", "GET, PUT, DELETE", 6),
    ("/usages", "GET", 9),
    ("/reshaper", "POST", 30),
]


def echo(call: Call, *_raw: bytes, **fields: Any) -> None:
    call.reply(fields)


@pytest.fixture(scope="module")
def client() -> WsgiClient:
    """The real table with handlers that echo their fields."""
    table = {
        path: {
            method: replace(route, handler=echo, rule="")
            for method, route in methods.items()
        }
        for path, methods in ROUTES.items()
    }
    return client_for(echo, routes=table)


@pytest.mark.parametrize(("path", "methods", "since"), CONTRACT)
def test_methods_and_first_versions(
    client: WsgiClient, path: str, methods: str, since: int
) -> None:
    headers = {"content-type": "application/json"}
    for method in methods.split(", "):
        first = 5 if (method, path[-12:]) == ("DELETE", "/inventories") else since
        answer = client(method, path, version=first, headers=headers)
        assert answer.status == 200, (method, path, first)
        if first:
            before = client(method, path, version=first - 1, headers=headers)
            assert before.status == (405 if first == 5 else 404)
            assert before.headers["vary"] == "openstack-api-version"


@pytest.mark.parametrize(("path", "methods", "since"), CONTRACT)
def test_other_methods_are_405_at_every_version(
    client: WsgiClient, path: str, methods: str, since: int
) -> None:
    for method in {"PATCH", "OPTIONS", "HEAD", "TRACE", "FOO"}:
        for version in (0, since, 39):
            answer = client(method, path, version=version)
            assert answer.status == 405
            assert answer.headers["allow"] == methods
            assert answer.headers["vary"] == "openstack-api-version"
            if method != "HEAD":
                assert answer.detail == (
                    f"The method {method} is not allowed for this resource. \n\n "
                    "The method specified is not allowed for this resource."
                )


def test_deleting_inventories_before_1_5_is_405_without_allow(
    client: WsgiClient,
) -> None:
    answer = client("DELETE", f"/resource_providers/{U}/inventories", version=4)
    assert answer.status == 405
    assert "allow" not in answer.headers
    assert answer.detail == (
        "The method DELETE is not allowed for this resource. \n\n "
    )


@pytest.mark.parametrize(
    "path",
    [
        "/foo",
        "//",
        "/resource_providers/",
        f"/resource_providers/{U}/",
        f"/resource_providers/{U}/inventories/",
        "/resource_providers//inventories",
        f"/resource_providers/{U}/foo",
        "/Resource_providers",
        f"/allocations/{U}/x",
        "/placement",
    ],
)
def test_unknown_paths_are_404_without_vary(client: WsgiClient, path: str) -> None:
    if path == "/placement":  # where the service is mounted again
        assert client("GET", path).status == 200
        return
    answer = client("GET", path)
    assert answer.status == 404
    assert answer.detail == "The resource could not be found.\n\n   "
    assert answer.headers["openstack-api-version"] == "placement 1.0"
    assert "vary" not in answer.headers


def test_fields_of_a_path_are_passed_unchanged(client: WsgiClient) -> None:
    answer = client("GET", "/resource_providers/A%20%C3%BC/inventories/x%25")
    assert answer.json == {"uuid": "A ü", "resource_class": "x%"}


def test_path_left_as_text_is_decoded(client: WsgiClient) -> None:
    environ = {"PATH_INFO": "/traits/\N{SNOWMAN}"}
    answer = client("GET", "/", version=39, environ=environ)
    assert answer.json == {"name": "\N{SNOWMAN}"}


def test_content_type_of_aggregates_precedes_the_version(client: WsgiClient) -> None:
    path = f"/resource_providers/{U}/aggregates"
    headers = {"content-type": "text/plain", "accept": "text/plain"}
    assert client("PUT", path, version=0, headers=headers).status == 415
    assert client("GET", path, version=0, headers=headers).status == 406
    other = f"/resource_providers/{U}/traits"
    assert client("PUT", other, version=0, headers=headers).status == 404


def test_route_can_be_a_prefix_of_another() -> None:
    table = {"/a/{b}": {"GET": Route(echo)}, "/a/{b}/c/{d}": {"GET": Route(echo)}}
    client = client_for(echo, routes=table)
    assert client("GET", "/a/1").json == {"b": "1"}
    assert client("GET", "/a/1/c/2").json == {"b": "1", "d": "2"}
    assert client("GET", "/a/1/c").status == 404
