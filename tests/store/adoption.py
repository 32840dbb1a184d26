"""Books that OpenStack Placement fills itself, and the questions asked of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from sqlalchemy import create_engine, text

from gantt.api.hosting.server import open_app
from gantt.conf import load
from tests.api.wsgi_client import Answer, WsgiClient
from tests.differential.compare import must_be_same

AGGREGATE = "aaaaaaaa-0000-4000-8000-000000000000"
CONFIGURATION = """
[placement_database]
connection = {url}
[api]
auth_strategy = noauth2
[oslo_policy]
enforce_new_defaults = false
"""


class Service(Protocol):
    """Placement, or Gantt's application."""

    def __call__(
        self, method: str, target: str, *, version: int = 39, body: object = None
    ) -> Answer: ...


def do(service: Service, method: str, target: str, body: object = None) -> Any:
    """The body of an answer that must be a success."""
    answer = service(method, target, version=39, body=body)
    assert answer.status < 300, f"{method} {target}: {answer.status} {answer.text}"
    return answer.json if answer.body else None


def provider(number: int) -> str:
    return f"00000000-0000-4000-8000-{number:012}"


def consumer(number: int) -> str:
    return f"cccccccc-0000-4000-8000-{number:012}"


def generation(service: Service, uuid: str) -> int:
    """A provider's, as ``service`` sees it."""
    return int(do(service, "GET", f"/resource_providers/{uuid}")["generation"])


def create(service: Service, number: int, parent: int | None = None) -> str:
    """A provider with 8 VCPU, 4096 MEMORY_MB and three custom things, below another
    one."""
    uuid = provider(number)
    above = None if parent is None else provider(parent)
    made = {"uuid": uuid, "name": f"host-{number}", "parent_provider_uuid": above}
    do(service, "POST", "/resource_providers", made)
    totals = {"VCPU": 8, "MEMORY_MB": 4096, "CUSTOM_SLOT": 3}
    stock = {
        "resource_provider_generation": 0,
        "inventories": {name: {"total": total} for name, total in totals.items()},
    }
    do(service, "PUT", f"/resource_providers/{uuid}/inventories", stock)
    return uuid


def claim(
    service: Service, number: int, where: dict[str, dict[str, int]], **more: Any
) -> Answer:
    """Allocate for a new consumer."""
    body = {
        "allocations": {uuid: {"resources": what} for uuid, what in where.items()},
        "project_id": f"project-{number % 3}",
        "user_id": f"user-{number % 2}",
        "consumer_generation": None,
        "consumer_type": "INSTANCE" if number % 2 else "MIGRATION",
        **more,
    }
    return service("PUT", f"/allocations/{consumer(number)}", version=39, body=body)


def fill(service: Service) -> None:
    """Two trees, a provider that shares, every kind of row."""
    do(service, "PUT", "/resource_classes/CUSTOM_SLOT")
    for name in ("CUSTOM_GOLD", "CUSTOM_SILVER"):
        do(service, "PUT", f"/traits/{name}")
    for number, parent in ((0, None), (1, 0), (2, 1), (3, None), (4, None)):
        create(service, number, parent)
    for number, traits in ((1, ["CUSTOM_GOLD", "HW_CPU_X86_AVX2"]), (3, [])):
        body = {"resource_provider_generation": 1, "traits": traits}
        do(service, "PUT", f"/resource_providers/{provider(number)}/traits", body)
    body = {
        "resource_provider_generation": 1,
        "traits": ["MISC_SHARES_VIA_AGGREGATE"],
    }
    do(service, "PUT", f"/resource_providers/{provider(4)}/traits", body)
    disk = {"resource_class": "DISK_GB", "total": 500, "reserved": 20, "step_size": 5}
    body = {"resource_provider_generation": 2, **disk, "allocation_ratio": 1.5}
    do(service, "POST", f"/resource_providers/{provider(4)}/inventories", body)
    for number in (0, 4):
        body = {
            "resource_provider_generation": generation(service, provider(number)),
            "aggregates": [AGGREGATE],
        }
        do(service, "PUT", f"/resource_providers/{provider(number)}/aggregates", body)
    for number in range(6):
        where = {provider(number % 4): {"VCPU": 1, "MEMORY_MB": 64}}
        where |= {provider(4): {"DISK_GB": 5}} if number % 2 else {}
        assert claim(service, number, where).status == 204
    # A consumer that is written twice has a generation of its own.
    again = {provider(3): {"VCPU": 2, "CUSTOM_SLOT": 1}}
    answer = claim(service, 3, again, consumer_generation=1, consumer_type="INSTANCE")
    assert answer.status == 204, answer.text


def write(service: Service, number: int) -> None:
    """Create, allocate, move and delete: every sequence is drawn from."""
    uuid = create(service, number, parent=3)
    do(service, "PUT", f"/resource_classes/CUSTOM_CLASS_{number}")
    do(service, "PUT", f"/traits/CUSTOM_TRAIT_{number}")
    body = {
        "resource_provider_generation": 1,
        "traits": [f"CUSTOM_TRAIT_{number}", "CUSTOM_SILVER"],
    }
    do(service, "PUT", f"/resource_providers/{uuid}/traits", body)
    aggregate = {
        "resource_provider_generation": 2,
        "aggregates": [f"aaaaaaaa-0000-4000-8000-{number:012}"],
    }
    do(service, "PUT", f"/resource_providers/{uuid}/aggregates", aggregate)
    claims = {
        number + 10: {uuid: {"VCPU": 2}},
        number + 100: {uuid: {"VCPU": 1}},
    }
    more = {"project_id": f"new-{number}", "user_id": f"new-{number}"}
    for each, where in claims.items():
        kind = f"KIND_{number}"
        answer = claim(service, each, where, consumer_type=kind, **more)
        assert answer.status == 204, answer.text
    do(service, "DELETE", f"/allocations/{consumer(number + 100)}")
    too_much = claim(service, number + 100, {uuid: {"VCPU": 7}})
    assert too_much.status == 409
    spare = create(service, number + 200)
    do(service, "DELETE", f"/resource_providers/{spare}")


def questions() -> Iterator[tuple[str, int]]:
    """Paths and microversions of all that can be read."""
    yield "/resource_providers", 39
    yield f"/resource_providers?member_of={AGGREGATE}", 39
    yield f"/resource_providers?in_tree={provider(2)}", 39
    yield "/resource_providers?required=CUSTOM_GOLD&resources=VCPU:2", 39
    yield "/resource_classes", 39
    yield "/traits", 39
    yield "/traits?associated=true", 39
    yield "/usages?project_id=project-0", 37
    yield "/usages?project_id=project-1&user_id=user-1", 9
    for number in range(8):
        path = f"/resource_providers/{provider(number)}"
        for what in ("", "/inventories", "/usages", "/aggregates", "/traits"):
            yield path + what, 39
        yield path + "/allocations", 39
        yield path + "/inventories/VCPU", 12
    for number in range(18):
        yield f"/allocations/{consumer(number)}", 39
        yield f"/allocations/{consumer(number)}", 12
    wanted = "resources=VCPU:2,MEMORY_MB:128"
    yield f"/allocation_candidates?{wanted}", 39
    yield f"/allocation_candidates?{wanted}", 16
    yield f"/allocation_candidates?{wanted},DISK_GB:5", 39
    yield "/allocation_candidates?resources1=CUSTOM_SLOT:1&resources2=VCPU:7", 39
    yield "/allocation_candidates?resources=VCPU:1&required=CUSTOM_GOLD", 39


def must_agree(ours: Service, theirs: Service) -> None:
    """Both answer everything alike."""
    for target, version in questions():
        answers = [one("GET", target, version=version) for one in (ours, theirs)]
        try:
            must_be_same(answers[0], answers[1], version)
        except AssertionError as difference:
            raise AssertionError(f"{target} @1.{version}\n{difference}") from None


def run(url: str, *statements: str) -> list[tuple[object, ...]]:
    """Send statements directly to the database; the rows of the last."""
    engine = create_engine(url)
    with engine.begin() as connection:
        for statement in statements:
            result = connection.execute(text(statement))
        rows = [tuple(row) for row in result] if result.returns_rows else []
    engine.dispose()
    return rows


@contextmanager
def gantt_on(url: str, folder: Path) -> Iterator[Service]:
    """Gantt's application in this process, over the database at ``url``."""
    file = folder / "gantt.conf"
    file.write_text(CONFIGURATION.format(url=url.replace("%", "%%")))
    app, books = open_app(load([str(file)]))
    try:
        yield WsgiClient(app)
    finally:
        books.close()
