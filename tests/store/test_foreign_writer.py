"""OpenStack Placement goes on writing beside Gantt, on one database.

It must not, and nothing keeps it from it: whatever it did is noticed when Gantt first
writes to the same thing, told to the operator, and never written over.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from gantt.store.adopt import adopt
from tests.api.wsgi_client import Answer
from tests.databases import Databases
from tests.foreign import Placement, placement_on
from tests.kinds import KINDS
from tests.store.adoption import (
    Service,
    claim,
    consumer,
    create,
    do,
    fill,
    gantt_on,
    generation,
    must_agree,
    provider,
)

THEIR_CLAIMS = 12
OUR_CLAIMS = 900

pytestmark = pytest.mark.slow


class Beside:
    """Gantt and Placement on one database, and what the operator was told."""

    def __init__(
        self, ours: Service, theirs: Placement, caplog: pytest.LogCaptureFixture
    ) -> None:
        self.ours = ours
        self.theirs = theirs
        self._caplog = caplog

    def alarms(self) -> int:
        """How often since the last question; each names the reason."""
        told = [one for one in self._caplog.records if one.levelname == "CRITICAL"]
        assert all("somebody else writes to this" in one.message for one in told)
        self._caplog.clear()
        return len(told)


@pytest.fixture(params=KINDS)
def beside(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    databases: Databases,
    caplog: pytest.LogCaptureFixture,
) -> Iterator[Beside]:
    if request.param == "sqlite":
        yield from _beside(f"sqlite:///{tmp_path / 'books.db'}", tmp_path, caplog)
        return
    with databases.database(request.param, is_furnished=False) as url:
        yield from _beside(url, tmp_path, caplog)


def _beside(
    url: str, folder: Path, caplog: pytest.LogCaptureFixture
) -> Iterator[Beside]:
    with placement_on(url) as theirs:
        fill(theirs)
        adopt(url)
        with gantt_on(url, folder) as ours:
            yield Beside(ours, theirs, caplog)


def test_what_another_wrote_is_noticed_and_kept(beside: Beside) -> None:
    for touch in (
        _a_generation_moved_on,
        _a_name_was_changed,
        _a_parent_was_given,
        _room_is_gone,
        _a_consumer_is_there,
        _a_consumer_is_gone,
        _a_name_is_taken,
        _an_id_is_taken,
        _a_provider_is_gone,
    ):
        assert beside.alarms() == 0, touch
        touch(beside.ours, beside.theirs)
        assert beside.alarms() == 1, touch
    must_agree(beside.ours, beside.theirs)


def _inventory(known: int, total: int) -> dict[str, Any]:
    totals = {"VCPU": total, "MEMORY_MB": 4096, "CUSTOM_SLOT": 3}
    stock = {name: {"total": each} for name, each in totals.items()}
    return {"resource_provider_generation": known, "inventories": stock}


def _must_conflict(answer: Answer, said: str = "") -> None:
    assert answer.status == 409, answer.text
    assert said in answer.text


def _a_generation_moved_on(ours: Service, theirs: Service) -> None:
    path = f"/resource_providers/{provider(2)}"
    known = generation(ours, provider(2))
    body = {"resource_provider_generation": known, "traits": ["CUSTOM_SILVER"]}
    do(theirs, "PUT", path + "/traits", body)
    answer = ours("PUT", path + "/inventories", version=39, body=_inventory(known, 9))
    _must_conflict(answer, "concurrent_update")


def _a_name_was_changed(ours: Service, theirs: Service) -> None:
    """Placement moves no generation with it."""
    path = f"/resource_providers/{provider(2)}"
    do(theirs, "PUT", path, {"name": "theirs"})
    known = generation(ours, provider(2))
    do(ours, "PUT", path + "/inventories", _inventory(known, 9))
    assert do(ours, "GET", path)["name"] == "theirs"


def _a_parent_was_given(ours: Service, theirs: Service) -> None:
    create(ours, 30)
    create(ours, 31)
    path = f"/resource_providers/{provider(31)}"
    body = {"name": do(ours, "GET", path)["name"]}
    do(theirs, "PUT", path, {**body, "parent_provider_uuid": provider(30)})
    known = generation(ours, provider(31))
    do(ours, "PUT", path + "/inventories", _inventory(known, 1))
    assert do(ours, "GET", path)["root_provider_uuid"] == provider(30)


def _room_is_gone(ours: Service, theirs: Service) -> None:
    assert claim(theirs, 10, {provider(1): {"VCPU": 5}}).status == 204
    _must_conflict(claim(ours, 11, {provider(1): {"VCPU": 4}}), "capacity")


def _a_consumer_is_there(ours: Service, theirs: Service) -> None:
    # On different providers, so that only the consumer gives it away.
    assert claim(theirs, 12, {provider(0): {"VCPU": 1}}).status == 204
    _must_conflict(claim(ours, 12, {provider(3): {"VCPU": 1}}), "generation")


def _a_consumer_is_gone(ours: Service, theirs: Service) -> None:
    do(theirs, "DELETE", f"/allocations/{consumer(12)}")
    where = {provider(3): {"VCPU": 1}}
    kind = {"consumer_generation": 1, "consumer_type": "MIGRATION"}
    _must_conflict(claim(ours, 12, where, **kind), "generation")


def _a_name_is_taken(ours: Service, theirs: Service) -> None:
    body = {"name": "the-same", "uuid": provider(20)}
    do(theirs, "POST", "/resource_providers", body)
    other = {"name": "the-same", "uuid": provider(21)}
    answer = ours("POST", "/resource_providers", version=39, body=other)
    _must_conflict(answer, "Conflicting resource provider name: the-same")


def _an_id_is_taken(ours: Service, theirs: Service) -> None:
    body = {"name": "of-placement", "uuid": provider(22)}
    do(theirs, "POST", "/resource_providers", body)
    do(ours, "POST", "/resource_providers", {"name": "of-gantt", "uuid": provider(23)})
    for uuid, name in ((22, "of-placement"), (23, "of-gantt")):
        found = do(theirs, "GET", f"/resource_providers/{provider(uuid)}")
        assert found["name"] == name


def _a_provider_is_gone(ours: Service, theirs: Service) -> None:
    do(theirs, "DELETE", f"/resource_providers/{provider(22)}")
    path = f"/resource_providers/{provider(22)}/inventories"
    assert ours("PUT", path, version=39, body=_inventory(0, 1)).status == 404


def test_both_claim_at_once_and_nothing_acknowledged_is_lost(beside: Beside) -> None:
    """Each from a thread of its own, on one provider with room for all."""
    create(beside.ours, 6)
    body = _inventory(1, 1000)
    do(beside.ours, "PUT", f"/resource_providers/{provider(6)}/inventories", body)

    where = {provider(6): {"VCPU": 1}}
    theirs: list[int] = []

    def run() -> None:
        for number in range(2000, 2000 + THEIR_CLAIMS):
            if claim(beside.theirs, number, where).status == 204:
                theirs.append(number)

    kept: list[int] = []
    with ThreadPoolExecutor(1) as thread:
        others = thread.submit(run)
        for number in range(1000, 1000 + OUR_CLAIMS):
            if claim(beside.ours, number, where).status == 204:
                kept.append(number)
            if others.done():
                break
            time.sleep(0.005)  # SQLite lets whoever is quicker in, again and again
        others.result()
    assert kept
    assert theirs
    assert beside.alarms() > 0
    # One more write of ours brings in what came last.
    assert claim(beside.ours, 999, where).status == 204
    path = f"/resource_providers/{provider(6)}/allocations"
    for service in (beside.ours, beside.theirs):
        found = do(service, "GET", path)["allocations"]
        assert set(found) >= {consumer(n) for n in (*kept, *theirs)}
