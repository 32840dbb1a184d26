"""Requests to the Placement part with their answers, as a service really gives them.

A story in which every operation has its turn, told to an application of this process
whose books are in memory. A question is asked again at every microversion, to show
where its answer changes.
"""

from __future__ import annotations

import io
import json
import logging
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple
from wsgiref.util import setup_testing_defaults

from gantt.api.hosting.server import open_app
from gantt.api.wire.microversion import MAX_MINOR
from gantt.conf import load

HOST: Final = "4e8e5957-649f-477b-9e5b-f1f75b21c03c"
DISK: Final = "d2bf3d3c-0f4a-4a3d-8f5e-7a2f6f1f0b11"
SERVER: Final = "5d2b7d1b-8c3a-4b61-9d38-0d1f0c2a6f01"
OTHER: Final = "a0b9c5c6-2f7b-4a52-8d0e-0d1f0c2a6f02"
RACK: Final = "42896e0d-205d-4fe3-bd1e-100924931787"
OWNER: Final = {"project_id": "blue", "user_id": "sam"}
_PROVIDER: Final = "/resource_providers/{uuid}"
_CONFIGURATION: Final = """
[placement_database]
connection = memory://
[api]
auth_strategy = noauth2
[oslo_policy]
enforce_new_defaults = false
"""


class Step(NamedTuple):
    """``path`` as the table of routes has it, ``url`` as it is asked; ``versions``: at
    which microversions a request is shown, (): at each at which its answer differs."""

    method: str
    path: str
    url: str
    body: Any = None
    versions: tuple[int, ...] = ()


class Sample(NamedTuple):
    """One request and its answer, which is the same from ``first`` to ``last``."""

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
_NEW: Final = MAX_MINOR
_INVENTORIES: Final = f"{_PROVIDER}/inventories"
_CLASS: Final = f"{_INVENTORIES}/{{resource_class}}"
_CONSUMER: Final = "/allocations/{consumer_uuid}"

STORY: Final = (
    Step("GET", "/", "/"),
    Step(
        "POST",
        "/resource_providers",
        "/resource_providers",
        {"name": "host-1", "uuid": HOST},
        (0, 20),
    ),
    Step(
        "POST",
        "/resource_providers",
        "/resource_providers",
        {"name": "host-1-disk", "uuid": DISK, "parent_provider_uuid": HOST},
        (_NEW,),
    ),
    Step(
        "PUT",
        _PROVIDER,
        f"/resource_providers/{DISK}",
        {"name": "host-1-ssd", "parent_provider_uuid": HOST},
        (_NEW,),
    ),
    Step(
        "PUT",
        _INVENTORIES,
        f"{_AT}/inventories",
        {
            "resource_provider_generation": 0,
            "inventories": {"VCPU": _inventory(16, allocation_ratio=4.0)},
        },
        (_NEW,),
    ),
    Step(
        "POST",
        _INVENTORIES,
        f"{_AT}/inventories",
        {"resource_class": "MEMORY_MB", "total": 65536},
        (_NEW,),
    ),
    Step(
        "PUT",
        _CLASS,
        f"{_AT}/inventories/MEMORY_MB",
        {"resource_provider_generation": 2, "total": 65536, "reserved": 512},
        (_NEW,),
    ),
    Step("GET", _INVENTORIES, f"{_AT}/inventories"),
    Step("GET", _CLASS, f"{_AT}/inventories/VCPU"),
    Step("PUT", "/traits/{name}", "/traits/CUSTOM_FAST", None, (_NEW,)),
    Step("GET", "/traits/{name}", "/traits/CUSTOM_FAST"),
    Step(
        "PUT",
        f"{_PROVIDER}/traits",
        f"{_AT}/traits",
        {"resource_provider_generation": 3, "traits": ["CUSTOM_FAST"]},
        (_NEW,),
    ),
    Step("GET", "/traits", "/traits?name=startswith:CUSTOM"),
    Step("GET", f"{_PROVIDER}/traits", f"{_AT}/traits"),
    Step("PUT", f"{_PROVIDER}/aggregates", f"{_AT}/aggregates", [RACK], (1,)),
    Step(
        "PUT",
        f"{_PROVIDER}/aggregates",
        f"{_AT}/aggregates",
        {"resource_provider_generation": 4, "aggregates": [RACK]},
        (_NEW,),
    ),
    Step("GET", f"{_PROVIDER}/aggregates", f"{_AT}/aggregates"),
    Step("GET", "/resource_providers", "/resource_providers?name=host-1"),
    Step("GET", _PROVIDER, _AT),
    Step(
        "POST",
        "/resource_classes",
        "/resource_classes",
        {"name": "CUSTOM_LICENSE"},
        (_NEW,),
    ),
    Step(
        "PUT",
        "/resource_classes/{name}",
        "/resource_classes/CUSTOM_LICENSE",
        {"name": "CUSTOM_SEAT"},
        (2,),
    ),
    Step(
        "PUT",
        "/resource_classes/{name}",
        "/resource_classes/CUSTOM_LICENSE",
        None,
        (_NEW,),
    ),
    Step("GET", "/resource_classes/{name}", "/resource_classes/CUSTOM_LICENSE"),
    Step("GET", "/resource_classes", "/resource_classes"),
    Step(
        "GET",
        "/allocation_candidates",
        "/allocation_candidates?resources=VCPU:1,MEMORY_MB:512",
    ),
    Step("PUT", _CONSUMER, f"/allocations/{SERVER}", _LISTED, (0,)),
    Step("PUT", _CONSUMER, f"/allocations/{SERVER}", {**_LISTED, **OWNER}, (8,)),
    Step(
        "PUT",
        _CONSUMER,
        f"/allocations/{SERVER}",
        _of({"VCPU": 1, "MEMORY_MB": 512}),
        (12,),
    ),
    Step(
        "PUT",
        _CONSUMER,
        f"/allocations/{OTHER}",
        {**_of({"VCPU": 1}), "consumer_generation": None},
        (28,),
    ),
    Step("PUT", _CONSUMER, f"/allocations/{OTHER}", _now({"VCPU": 2}, 1), (_NEW,)),
    Step("GET", _CONSUMER, f"/allocations/{OTHER}"),
    Step("GET", f"{_PROVIDER}/allocations", f"{_AT}/allocations"),
    Step("GET", f"{_PROVIDER}/usages", f"{_AT}/usages"),
    Step("GET", "/usages", "/usages?project_id=blue"),
    Step(
        "POST", "/allocations", "/allocations", {OTHER: _now({"VCPU": 4}, 2)}, (_NEW,)
    ),
    Step(
        "POST",
        "/reshaper",
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
        (_NEW,),
    ),
    Step("DELETE", _CONSUMER, f"/allocations/{SERVER}", None, (_NEW,)),
    Step("DELETE", _CONSUMER, f"/allocations/{OTHER}", None, (_NEW,)),
    Step("DELETE", f"{_PROVIDER}/traits", f"{_AT}/traits", None, (_NEW,)),
    Step("DELETE", "/traits/{name}", "/traits/CUSTOM_FAST", None, (_NEW,)),
    Step(
        "DELETE",
        "/resource_classes/{name}",
        "/resource_classes/CUSTOM_LICENSE",
        None,
        (_NEW,),
    ),
    Step("DELETE", _CLASS, f"{_AT}/inventories/VCPU", None, (_NEW,)),
    Step("DELETE", _INVENTORIES, f"{_AT}/inventories", None, (_NEW,)),
    Step("DELETE", _PROVIDER, f"/resource_providers/{DISK}", None, (_NEW,)),
)


class _Asker:
    """Asks one application, without a network."""

    def __init__(self, app: Any) -> None:
        self._app = app

    def ask(self, step: Step, version: int) -> tuple[str, Any]:
        """The status line and what the body holds; None: nothing."""
        path, _, query = step.url.partition("?")
        environ: dict[str, Any] = {}
        setup_testing_defaults(environ)
        raw = b"" if step.body is None else json.dumps(step.body).encode()
        environ.update(
            REQUEST_METHOD=step.method,
            PATH_INFO=path,
            QUERY_STRING=query,
            CONTENT_LENGTH=str(len(raw)),
            HTTP_X_AUTH_TOKEN="admin",
            HTTP_ACCEPT="application/json",
            HTTP_OPENSTACK_API_VERSION=f"placement 1.{version}",
        )
        environ["wsgi.input"] = io.BytesIO(raw)
        if raw:
            environ["CONTENT_TYPE"] = "application/json"
        said: list[str] = []

        def start_response(status: str, *_: object) -> None:
            said.append(status)

        text = b"".join(self._app(environ, start_response))
        return said[0], json.loads(text) if text else None


@contextmanager
def _service() -> Iterator[_Asker]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "gantt.conf"
        file.write_text(_CONFIGURATION)
        logging.disable(logging.INFO)
        try:
            app, books = open_app(load([str(file)]))
            try:
                yield _Asker(app)
            finally:
                books.close()
        finally:
            logging.disable(logging.NOTSET)


def samples(since: dict[tuple[str, str], int]) -> list[Sample]:
    """All samples of the story, in its order. ``since``: the first microversion of each
    operation, by method and path."""
    found: list[Sample] = []
    with _service() as asker:
        for step in STORY:
            if step.method == "GET":
                found += _compared(asker, step, since[step.method, step.path])
            else:
                for version in step.versions:
                    found.append(_one(asker, step, version))
    return found


def _one(asker: _Asker, step: Step, version: int) -> Sample:
    status, answer = asker.ask(step, version)
    if step.versions[-1] != version and step.method == "POST":
        # It is shown again at a later version.
        asker.ask(Step("DELETE", _PROVIDER, _AT), version)
    return Sample(*step[:4], version, version, status, answer)


def _compared(asker: _Asker, step: Step, since: int) -> Iterator[Sample]:
    """The same question at every microversion, told once while the answer stays."""
    last: Sample | None = None
    for version in range(since, MAX_MINOR + 1):
        status, answer = asker.ask(step, version)
        now = Sample(*step[:4], version, version, status, answer)
        if last is not None and _alike(last, now):
            last = last._replace(last=version)
            continue
        if last is not None:
            yield last
        last = now
    assert last is not None
    yield last


def _alike(one: Sample, two: Sample) -> bool:
    return (one.status, one.answer) == (two.status, two.answer)
