"""Clients that claim and give back over HTTP, and remember what they were told."""

from __future__ import annotations

import http.client
import json
import random
import threading
import uuid
from dataclasses import dataclass, field

HEADERS = {
    "x-auth-token": "admin",
    "content-type": "application/json",
    "openstack-api-version": "placement 1.39",
}
RESOURCES = {"VCPU": 1, "MEMORY_MB": 3}


@dataclass
class History:
    """What was said by one client, and what it heard.

    A consumer is in ``acknowledged`` from the moment its claim was answered until it
    asks to give it back, in ``returned`` once that was answered, and in ``unknown``
    while (or when) an answer is missing.
    """

    acknowledged: set[str] = field(default_factory=set)
    returned: set[str] = field(default_factory=set)
    unknown: set[str] = field(default_factory=set)
    refused: list[str] = field(default_factory=list)


class Client(threading.Thread):
    """Works until the service is gone or ``stop`` is set; seeded."""

    def __init__(self, address: str, providers: list[str], seed: int) -> None:
        super().__init__()
        self.history = History()
        self.stop = threading.Event()
        self._address = address
        self._providers = providers
        self._rng = random.Random(seed)

    def run(self) -> None:
        connection = http.client.HTTPConnection(self._address, timeout=30)
        try:
            while not self.stop.is_set():
                self._step(connection)
        except (OSError, http.client.HTTPException):
            return  # killed: whatever was under way stays unknown
        finally:
            connection.close()

    def _step(self, connection: http.client.HTTPConnection) -> None:
        mine = self.history
        if mine.acknowledged and self._rng.random() < 0.3:
            consumer = self._rng.choice(sorted(mine.acknowledged))
            mine.acknowledged.discard(consumer)
            self._send(connection, "DELETE", consumer, None, mine.returned)
            return
        consumer = str(uuid.UUID(int=self._rng.getrandbits(128), version=4))
        two = self._rng.sample(self._providers, 2)
        body = {
            "allocations": {provider: {"resources": RESOURCES} for provider in two},
            "project_id": "project",
            "user_id": "user",
            "consumer_generation": None,
            "consumer_type": "INSTANCE",
        }
        self._send(connection, "PUT", consumer, json.dumps(body), mine.acknowledged)

    def _send(
        self,
        connection: http.client.HTTPConnection,
        method: str,
        consumer: str,
        body: str | None,
        then: set[str],
    ) -> None:
        self.history.unknown.add(consumer)
        headers = HEADERS if body else {"x-auth-token": "admin"}
        connection.request(method, f"/allocations/{consumer}", body, headers)
        answer = connection.getresponse()
        text = answer.read().decode()
        self.history.unknown.discard(consumer)
        if answer.status == 204:
            then.add(consumer)
        self.hear(method, consumer, answer.status, text)

    def hear(self, method: str, consumer: str, status: int, text: str) -> None:
        """What was answered; here nothing may be refused."""
        if status != 204:
            self.history.refused.append(f"{method} {consumer} {status} {text}")
