"""What a valid request must not import."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

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
    found = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(config)],
        check=True,
        capture_output=True,
        text=True,
    )
    assert found.stdout.split() == []
