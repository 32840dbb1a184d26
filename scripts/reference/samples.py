"""Requests to the Placement part with their answers, as a service really gives them.

A story in which every operation has its turn, told to an application of this process
whose books are in memory. A question is asked again at every microversion, to show
where its answer changes.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

from gantt.api.wire.microversion import MAX_MINOR
from gantt.bench.paths import Wsgi
from gantt.connection import connect
from gantt.engine.gantt import Gantt

HOST: Final = "4e8e5957-649f-477b-9e5b-f1f75b21c03c"
DISK: Final = "d2bf3d3c-0f4a-4a3d-8f5e-7a2f6f1f0b11"
SERVER: Final = "5d2b7d1b-8c3a-4b61-9d38-0d1f0c2a6f01"
OTHER: Final = "a0b9c5c6-2f7b-4a52-8d0e-0d1f0c2a6f02"
RACK: Final = "42896e0d-205d-4fe3-bd1e-100924931787"
OWNER: Final = {"project_id": "blue", "user_id": "sam"}


class Step(NamedTuple):
    """``versions``: the microversions at which a request is shown; a question is shown
    at each at which its answer differs."""

    method: str
    url: str
    body: Any = None
    versions: tuple[int, ...] = (MAX_MINOR,)


class Sample(NamedTuple):
    """One request and its answer, which is the same from ``first`` to ``last``.
    ``path``: as the table of routes has it."""

    method: str
    path: str
    url: str
    body: Any
    first: int
    last: int
    status: str
    answer: Any


def _of(resources: dict[str, int]) -> dict[str, Any]:
    return {"allocations": {HOST: {"resources": resources}}, **OWNER}


def _now(resources: dict[str, int], generation: int | None = None) -> dict[str, Any]:
    told = {"consumer_generation": generation, "consumer_type": "INSTANCE"}
    return {**_of(resources), **told}


def _inventory(total: int, **more: Any) -> dict[str, Any]:
    return {"total": total, **more}


_AT = f"/resource_providers/{HOST}"
_LISTED: Final = {
    "allocations": [
        {
            "resource_provider": {"uuid": HOST},
            "resources": {"VCPU": 1, "MEMORY_MB": 512},
        }
    ]
}

STORY: Final = (
    Step("GET", "/"),
    Step("POST", "/resource_providers", {"name": "host-1", "uuid": HOST}, (0, 20)),
    Step(
        "POST",
        "/resource_providers",
        {"name": "host-1-disk", "uuid": DISK, "parent_provider_uuid": HOST},
    ),
    Step(
        "PUT",
        f"/resource_providers/{DISK}",
        {"name": "host-1-ssd", "parent_provider_uuid": HOST},
    ),
    Step(
        "PUT",
        f"{_AT}/inventories",
        {
            "resource_provider_generation": 0,
            "inventories": {"VCPU": _inventory(16, allocation_ratio=4.0)},
        },
    ),
    Step("POST", f"{_AT}/inventories", {"resource_class": "MEMORY_MB", "total": 65536}),
    Step(
        "PUT",
        f"{_AT}/inventories/MEMORY_MB",
        {"resource_provider_generation": 2, "total": 65536, "reserved": 512},
    ),
    Step("GET", f"{_AT}/inventories"),
    Step("GET", f"{_AT}/inventories/VCPU"),
    Step("PUT", "/traits/CUSTOM_FAST"),
    Step("GET", "/traits/CUSTOM_FAST"),
    Step(
        "PUT",
        f"{_AT}/traits",
        {"resource_provider_generation": 3, "traits": ["CUSTOM_FAST"]},
    ),
    Step("GET", "/traits?name=startswith:CUSTOM"),
    Step("GET", f"{_AT}/traits"),
    Step("PUT", f"{_AT}/aggregates", [RACK], (1,)),
    Step(
        "PUT",
        f"{_AT}/aggregates",
        {"resource_provider_generation": 4, "aggregates": [RACK]},
    ),
    Step("GET", f"{_AT}/aggregates"),
    Step("GET", "/resource_providers?name=host-1"),
    Step("GET", _AT),
    Step("POST", "/resource_classes", {"name": "CUSTOM_LICENSE"}),
    Step("PUT", "/resource_classes/CUSTOM_LICENSE", {"name": "CUSTOM_SEAT"}, (2,)),
    Step("PUT", "/resource_classes/CUSTOM_LICENSE"),
    Step("GET", "/resource_classes/CUSTOM_LICENSE"),
    Step("GET", "/resource_classes"),
    Step("GET", "/allocation_candidates?resources=VCPU:1,MEMORY_MB:512"),
    Step("PUT", f"/allocations/{SERVER}", _LISTED, (0,)),
    Step("PUT", f"/allocations/{SERVER}", {**_LISTED, **OWNER}, (8,)),
    Step("PUT", f"/allocations/{SERVER}", _of({"VCPU": 1, "MEMORY_MB": 512}), (12,)),
    Step(
        "PUT",
        f"/allocations/{OTHER}",
        {**_of({"VCPU": 1}), "consumer_generation": None},
        (28,),
    ),
    Step("PUT", f"/allocations/{OTHER}", _now({"VCPU": 2}, 1)),
    Step("GET", f"/allocations/{OTHER}"),
    Step("GET", f"{_AT}/allocations"),
    Step("GET", f"{_AT}/usages"),
    Step("GET", "/usages?project_id=blue"),
    Step("POST", "/allocations", {OTHER: _now({"VCPU": 4}, 2)}),
    Step(
        "POST",
        "/reshaper",
        {
            "inventories": {
                DISK: {
                    "resource_provider_generation": 0,
                    "inventories": {"DISK_GB": _inventory(2000)},
                }
            },
            "allocations": {OTHER: _now({"VCPU": 4}, 3)},
        },
    ),
    Step("DELETE", f"/allocations/{SERVER}"),
    Step("DELETE", f"/allocations/{OTHER}"),
    Step("DELETE", f"{_AT}/traits"),
    Step("DELETE", "/traits/CUSTOM_FAST"),
    Step("DELETE", "/resource_classes/CUSTOM_LICENSE"),
    Step("DELETE", f"{_AT}/inventories/VCPU"),
    Step("DELETE", f"{_AT}/inventories"),
    Step("DELETE", f"/resource_providers/{DISK}"),
)


@contextmanager
def _service() -> Iterator[Wsgi]:
    logging.disable(logging.INFO)
    try:
        with connect("memory://") as books:
            assert isinstance(books, Gantt)
            yield Wsgi(books)
    finally:
        logging.disable(logging.NOTSET)


def samples(since: dict[tuple[str, str], int]) -> list[Sample]:
    """All samples of the story, in its order. ``since``: the first microversion of each
    operation, by method and path."""
    found: list[Sample] = []
    with _service() as service:
        for step in STORY:
            path = _path_of(step, since)
            if step.method == "GET":
                found += _compared(service, step, path, since[step.method, path])
            else:
                for version in step.versions:
                    found.append(_asked(service, step, path, version))
                    if version != step.versions[-1] and step.method == "POST":
                        # It is shown again at a later version.
                        service.ask("DELETE", _AT)
    return found


def _path_of(step: Step, known: Iterable[tuple[str, str]]) -> str:
    asked, _, _ = step.url.partition("?")
    return next(
        path
        for method, path in known
        if method == step.method
        and re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", path), asked)
    )


def _asked(service: Wsgi, step: Step, path: str, version: int) -> Sample:
    raw = b"" if step.body is None else json.dumps(step.body).encode()
    said = service.ask(step.method, step.url, raw, version)
    answer = json.loads(said) if said else None
    asked = step.method, path, step.url, step.body
    return Sample(*asked, version, version, service.status, answer)


def _compared(service: Wsgi, step: Step, path: str, since: int) -> Iterator[Sample]:
    """The same question at every microversion, told once while the answer stays."""
    last = _asked(service, step, path, since)
    for version in range(since + 1, MAX_MINOR + 1):
        now = _asked(service, step, path, version)
        if (last.status, last.answer) == (now.status, now.answer):
            last = last._replace(last=version)
        else:
            yield last
            last = now
    yield last
