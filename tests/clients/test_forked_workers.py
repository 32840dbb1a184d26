"""Workers forked after ``GET /``, as nova-scheduler forks its own."""

from __future__ import annotations

import os
from uuid import uuid4

import pytest
from keystoneauth1.session import Session
from keystoneauth1.token_endpoint import Token

from tests.live import Live

WORKERS = 2
# Many times as many as it takes for answers to cross on a shared connection.
REQUESTS = 300
ANSWER_S = 5.0
HEADERS = {"openstack-api-version": "placement 1.39"}


def crossed(session: Session, root: str, uuid: str) -> bool:
    """Whether an answer about another provider, or none, came for ``uuid``."""
    path = f"{root}/resource_providers/{uuid}"
    try:
        return any(
            session.get(path, headers=HEADERS, timeout=ANSWER_S).json()["uuid"] != uuid
            for _ in range(REQUESTS)
        )
    except Exception:  # of any layer: halves of two answers were read
        return True


def forked(session: Session, root: str, uuid: str, start: int) -> int:
    """The pid of a worker that ends with status 1 if answers crossed. It begins when
    it can read a byte from ``start``."""
    pid = os.fork()
    if not pid:
        status = 2
        try:
            os.read(start, 1)
            status = int(crossed(session, root, uuid))
        finally:
            os._exit(status)
    return pid


def statuses(live: Live, first_path: str) -> list[int]:
    """Exit statuses of workers that share a session, which got ``first_path``."""
    auth = Token(live.url, "admin")
    session = Session(auth)
    uuids = []
    for _ in range(WORKERS):
        # A session of its own: this one keeps its connection.
        answer = Session(auth).post(
            f"{live.url}/resource_providers",
            json={"name": f"forked-{uuid4()}"},
            headers=HEADERS,
        )
        uuids.append(answer.json()["uuid"])
    assert session.get(live.url + first_path, headers=HEADERS).status_code == 200
    start, started = os.pipe()
    pids = [forked(session, live.url, uuid, start) for uuid in uuids]
    os.write(started, b"." * WORKERS)  # all at once, or one might end before the next
    os.close(started)
    os.close(start)
    return [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]


@pytest.mark.parametrize("path", ["/", "/placement", "/placement/"])
def test_workers_do_not_share_the_connection_of_the_version_document(
    live: Live, path: str
) -> None:
    assert statuses(live, path) == [0] * WORKERS


def test_workers_do_share_any_other_connection(live: Live) -> None:
    # By chance: urllib3 replaces a connection on which it sees another's answer.
    assert any(1 in statuses(live, "/resource_classes") for _ in range(20))
