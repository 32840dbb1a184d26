"""What a valid request costs: modules and calls, not seconds."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, cast

from gantt.api.app import build_app
from gantt.conf import load
from gantt.model.answers import ProviderInventories
from tests.api.door import Books
from tests.programs import printed

UUID = "11111111-2222-3333-4444-555555555555"
# Without an access log; the line at INFO takes a few more.
MOST_CALLS = 54

PROGRAM = """
import sys
from gantt.api.hosting.server import open_app
from gantt.conf import load
from tests.api.wsgi_client import WsgiClient

app, books = open_app(load([sys.argv[1]]))
send = WsgiClient(app)
U = "11111111-2222-3333-4444-555555555555"
inventories = {
    "resource_provider_generation": 0, "inventories": {"VCPU": {"total": 8}},
}
claim = {
    "allocations": {U: {"resources": {"VCPU": 1}}},
    "project_id": "p", "user_id": "u", "consumer_generation": None,
    "consumer_type": "INSTANCE",
}
one = f"/resource_providers/{U}"
steps = [
    ("POST", "/resource_providers", {"name": "a", "uuid": U}, 200),
    ("PUT", f"{one}/inventories", inventories, 200),
    ("GET", f"{one}/inventories", None, 200),
    ("PUT", f"/allocations/{U}", claim, 204),
    ("GET", f"/allocations/{U}", None, 200),
]
for method, path, body, status in steps:
    answer = send(method, path, version=39, body=body)
    assert answer.status == status, (method, path, answer)
heavy = {"jsonschema", "webob", "keystonemiddleware", "oslo_middleware", "granian"}
print(*sorted(heavy & set(sys.modules)))
books.close()
"""


def test_valid_requests_import_neither_jsonschema_nor_frameworks(
    tmp_path: Path,
) -> None:
    config = tmp_path / "gantt.conf"
    config.write_text(
        "[api]\nauth_strategy = noauth2\n[placement_database]\nconnection = memory://\n"
    )
    found = printed([sys.executable, "-c", PROGRAM, str(config)])
    assert found.split() == []


class Engine(Books):
    """An engine whose writes cost one call."""

    def submit(self, command: Any, request_id: str) -> ProviderInventories:
        return ProviderInventories(1, {}, None)


def python_calls(action: Callable[[], object]) -> int:
    """Calls of Python functions that ``action`` makes, without its own."""
    count = -1

    def note(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(note)
    try:
        action()
    finally:
        sys.setprofile(None)
    return count


def test_put_inventories_makes_few_calls_around_submit() -> None:
    app = build_app(cast(Any, Engine()), load(environ={}, default_auth="noauth2"))
    record = {"total": 8}
    inventories = {"VCPU": record, "MEMORY_MB": record, "DISK_GB": record}
    body = json.dumps(
        {"resource_provider_generation": 0, "inventories": inventories}
    ).encode()
    statuses: list[str] = []

    def put() -> None:
        environ = {
            "REQUEST_METHOD": "PUT",
            "PATH_INFO": f"/resource_providers/{UUID}/inventories",
            "CONTENT_TYPE": "application/json",
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_ACCEPT": "application/json",
            "HTTP_OPENSTACK_API_VERSION": "placement 1.39",
            "HTTP_X_AUTH_TOKEN": "admin",
            "wsgi.input": io.BytesIO(body),
        }
        app(environ, lambda status, _headers, _info=None: statuses.append(status))

    put()  # fills caches
    assert min(python_calls(put) for _ in range(4)) <= MOST_CALLS
    assert set(statuses) == {"200 OK"}
