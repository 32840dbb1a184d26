"""Names that differ in case only, within one command and within one batch.

To MariaDB they are equal: what may be shared is shared, what must be distinct is
refused, and the committer never takes its own names for those of another program.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from gantt.api.hosting.server import open_app
from gantt.conf import load
from gantt.errors import Invalid, UnknownProvider
from gantt.model.commands import (
    ConsumerAllocations,
    Inventory,
    Reshape,
    ReshapedProvider,
)
from gantt.store import schema
from tests.api.wsgi_client import Answer, WsgiClient

TYPE = "INSTANCE"


def uuid(number: int) -> str:
    return f"{number:08x}-aaaa-4aaa-8aaa-aaaaaaaaaaaa"


class Service:
    """The application over one database, with a provider of 100 VCPU."""

    def __init__(self, url: str) -> None:
        given = {
            ("placement_database", "connection"): url,
            ("api", "auth_strategy"): "noauth2",
        }
        app, self.books = open_app(load(environ={}, overrides=given))
        self._send = WsgiClient(app)
        self.generation = 0
        self.host = uuid(0xAB)
        self.ask("POST", "/resource_providers", {"name": "Base", "uuid": self.host})
        stock = {"VCPU": {"total": 100}}
        body = {"resource_provider_generation": 0, "inventories": stock}
        assert self.ask("PUT", self.place("inventories"), body).status == 200

    def place(self, what: str) -> str:
        return f"/resource_providers/{self.host}/{what}"

    def ask(self, method: str, path: str, body: Any = None) -> Answer:
        return self._send(method, path, body=body, version=39)

    def claim(self, project: str = "p", user: str = "u", **more: Any) -> dict[str, Any]:
        return {
            "allocations": {self.host: {"resources": {"VCPU": 1}}},
            "project_id": project,
            "user_id": user,
            "consumer_generation": None,
            "consumer_type": TYPE,
            **more,
        }


@pytest.fixture
def service(url: str) -> Iterator[Service]:
    schema.sync(url)
    service = Service(url)
    yield service
    books = service.books
    try:
        # No own write was taken for a foreign one, and nothing is incomplete.
        assert books.counts()["foreign_writes"] == 0
        assert books.counts()["reloads"] == 0
        assert books.verify().problems == ()
        assert service.ask("PUT", "/traits/CUSTOM_LAST").status == 201
    finally:
        books.close()


def test_equal_projects_and_users_in_one_request(service: Service, kind: str) -> None:
    body = {
        uuid(1): service.claim("Proj", "User"),
        uuid(2): service.claim("proj", "user"),
        uuid(3): service.claim("PROJ ", "USER"),
    }
    assert service.ask("POST", "/allocations", body).status == 204
    used = service.ask("GET", "/usages?project_id=proj").json["usages"]
    assert used[TYPE]["VCPU"] == (3 if kind == "mariadb" else 1)


def test_equal_consumers_in_one_request(service: Service, kind: str) -> None:
    both = {uuid(0xC).upper(): service.claim(), uuid(0xC): service.claim()}
    found = service.ask("POST", "/allocations", both)
    assert found.status == (400 if kind == "mariadb" else 204)
    assert service.ask("POST", "/allocations", {uuid(9): service.claim()}).status == 204


def test_equal_providers_in_one_request(service: Service) -> None:
    one, two = {"resources": {"VCPU": 1}}, {"resources": {"VCPU": 2}}
    twice = {service.host: one, service.host.upper(): two}
    body = service.claim(allocations=twice)
    # Elsewhere there is no provider of that uuid.
    assert service.ask("PUT", f"/allocations/{uuid(1)}", body).status == 400
    assert service.ask("GET", service.place("usages")).json["usages"] == {"VCPU": 0}


def test_equal_aggregates_in_one_request(service: Service, kind: str) -> None:
    both = [uuid(0xFEED), uuid(0xFEED).upper()]
    body = {"aggregates": both, "resource_provider_generation": 1}
    assert service.ask("PUT", service.place("aggregates"), body).status == 200
    kept = service.ask("GET", service.place("aggregates")).json["aggregates"]
    assert len(kept) == (1 if kind == "mariadb" else 2)
    body = {"aggregates": both[1:], "resource_provider_generation": 2}
    assert service.ask("PUT", service.place("aggregates"), body).status == 200


def test_equal_providers_in_one_batch(service: Service, kind: str) -> None:
    def create(number: int) -> int:
        name = ("Host", "host", "HOST ", "h\u00f6st")[number % 4] + str(number // 4)
        body = {"name": name, "uuid": uuid(1000 + number)}
        return service.ask("POST", "/resource_providers", body).status

    with ThreadPoolExecutor(8) as pool:
        told = Counter(pool.map(create, range(40)))
    # "HOST 0" is another name than "host0", with its blank in the middle.
    expected = {200: 20, 409: 20} if kind == "mariadb" else {200: 40}
    assert told == expected
    renamed = service.ask("PUT", service.place("")[:-1], {"name": "BASE"})
    assert renamed.status == 200
    taken = service.ask("PUT", service.place("")[:-1], {"name": "HOST0"})
    assert taken.status == (409 if kind == "mariadb" else 200)


def test_equal_names_in_a_reshape(service: Service) -> None:
    def reshape(*uuids: str) -> None:
        stock = {"VCPU": Inventory(100)}
        providers = tuple(ReshapedProvider(one, 1, stock) for one in uuids)
        share = {service.host: {"VCPU": 1}}
        consumers = tuple(
            ConsumerAllocations(uuid(number), share, project, user, None)
            for number, (project, user) in enumerate((("P", "U"), ("p", "u")))
        )
        service.books.submit(Reshape(providers, consumers))

    with pytest.raises((Invalid, UnknownProvider)):
        reshape(service.host, service.host.upper())
    reshape(service.host)
    assert service.ask("GET", service.place("usages")).json["usages"] == {"VCPU": 2}
