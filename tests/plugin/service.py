"""A real `gantt serve` that the plug-in asks, configured as advise-nova.md shows."""

from __future__ import annotations

import json
import re
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from tests import live
from tests.api.native.fleet import STATS
from tests.tidy.source import ROOT

# The first is too small for anything, the third is the emptiest.
FREE_RAM_MB = {"node1": 1, "node2": 4096, "node3": 16_384}

DOCUMENT = (ROOT / "docs" / "how-to" / "advise-nova.md").read_text(encoding="utf-8")
(SHOWN,) = re.findall(r"```ini\n(\[gantt\]\nadvice_from = .*?)```", DOCUMENT, re.DOTALL)


def call(url: str, method: str, path: str, body: object) -> Any:
    """What Gantt answers."""
    connection = HTTPConnection(url.removeprefix("http://"), timeout=30)
    headers = {"X-Auth-Token": "admin", "Content-Type": "application/json"}
    connection.request(method, path, json.dumps(body), headers)
    answer = connection.getresponse()
    said = answer.read()
    connection.close()
    assert answer.status in {200, 201, 204}, said
    return json.loads(said or b"null")


def start(folder: Path) -> live.Live:
    """A service that knows three hosts, or knows them from before."""
    conf = folder / "gantt.conf"
    conf.write_text(f"{SHOWN}workers = 1\nadvice_hold_s = 0\n")
    service = live.start(
        f"sqlite:///{folder}/gantt.db",
        folder / "log",
        options=("--auth", "noauth2", "--config-file", str(conf)),
    )
    for host, free in FREE_RAM_MB.items():
        stats = {**STATS, "memory_mb": free, "free_ram_mb": free}
        call(service.url, "PUT", f"/gantt/hosts/{host}/{host}.node", stats)
    return service
