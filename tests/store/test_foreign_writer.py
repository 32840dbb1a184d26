"""OpenStack Placement keeps writing beside Gantt, to one database.

It must not, but nothing prevents it: whatever it did is detected when Gantt first
writes to the same rows, reported to the operator, and never overwritten.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from gantt.store.adoption.adopt import adopt
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
        assert all("another program writes to this" in one.message for one in told)
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


def test_foreign_writes_are_detected_and_kept(beside: Beside) -> None:
    for touch in (
        _a_generation_moved_on,
        _a_name_was_changed,
        _a_parent_was_given,
        _room_is_gone,
        _a_consumer_is_there,
        _a_consumer_is_gone,
        _a_consumer_is_there_that_is_to_be_emptied,
        _a_consumer_without_allocations_is_there,
        _a_consumer_has_another_owner,
        _a_consumer_came_again,
        _a_name_is_taken,
        _an_id_is_taken,
        _a_provider_is_gone,
        _another_provider_has_the_name,
        _an_aggregate_was_joined,
        _an_aggregate_was_joined_by_one_to_be_deleted,
        _an_aggregate_was_left,
        _a_member_to_be_is_gone,
        _a_parent_to_be_was_moved,
        _a_child_came_below_one_to_be_moved,
        _a_child_came_below_one_to_be_deleted,
        _a_class_was_renamed_before_its_inventory,
        _a_class_was_renamed_before_it_is_renamed,
        _a_class_was_renamed_before_it_is_deleted,
        _a_class_came_into_use,
        _a_class_is_gone,
        _another_class_has_the_id,
        _a_class_has_the_name,
        _a_trait_is_gone,
        _another_trait_has_the_id,
        _a_trait_came_into_use,
        _a_trait_has_the_name,
        _an_inventory_came,
    ):
        assert beside.alarms() == 0, touch
        touch(beside.ours, beside.theirs)
        assert beside.alarms() == 1, touch
    must_agree(beside.ours, beside.theirs)
    _both_claim_at_once_and_nothing_acknowledged_is_lost(beside)


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


def _a_consumer_is_there_that_is_to_be_emptied(ours: Service, theirs: Service) -> None:
    """Nothing would be written for one that is not known."""
    where = {provider(0): {"VCPU": 1}}
    assert claim(theirs, 17, where).status == 204
    _must_conflict(claim(ours, 17, {}), "generation")
    found = do(theirs, "GET", f"/allocations/{consumer(17)}")["allocations"]
    assert set(found) == {provider(0)}


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


def _another_provider_has_the_name(ours: Service, theirs: Service) -> None:
    """SQLite gives it the same id."""
    path = f"/resource_providers/{provider(32)}"
    do(ours, "POST", "/resource_providers", {"name": "again", "uuid": provider(32)})
    do(theirs, "DELETE", path)
    do(theirs, "POST", "/resource_providers", {"name": "again", "uuid": provider(33)})
    body = _inventory(0, 1)
    assert ours("PUT", path + "/inventories", version=39, body=body).status == 404
    path = f"/resource_providers/{provider(33)}/inventories"
    assert do(theirs, "GET", path)["inventories"] == {}


def _empty(service: Service, **more: Any) -> None:
    """A consumer without allocations: no generation moves with its owner."""
    body = {"allocations": {}, "user_id": "user-0", "consumer_type": "MIGRATION"}
    do(service, "PUT", f"/allocations/{consumer(13)}", {**body, **more})


def _a_consumer_without_allocations_is_there(ours: Service, theirs: Service) -> None:
    _empty(theirs, project_id="project-0", consumer_generation=None)
    answer = claim(ours, 13, {provider(3): {"VCPU": 1}})
    _must_conflict(answer, "expected 0")


def _a_consumer_has_another_owner(ours: Service, theirs: Service) -> None:
    _empty(theirs, project_id="project-1", consumer_generation=0)
    answer = claim(ours, 13, {provider(3): {"VCPU": 1}}, consumer_generation=0)
    assert answer.status == 204


def _a_consumer_came_again(ours: Service, theirs: Service) -> None:
    """Another one may have its id, and its allocation that of the other's."""
    assert claim(ours, 14, {provider(3): {"VCPU": 1}}).status == 204
    do(theirs, "DELETE", f"/allocations/{consumer(14)}")
    assert claim(theirs, 15, {provider(3): {"VCPU": 1}}).status == 204
    answer = ours("DELETE", f"/allocations/{consumer(14)}", version=39)
    assert answer.status == 404
    found = do(theirs, "GET", f"/allocations/{consumer(15)}")["allocations"]
    assert found[provider(3)]["resources"] == {"VCPU": 1}


def _join(service: Service, number: int, *aggregates: int) -> Answer:
    """As a client does that knows no generation of it yet."""
    path = f"/resource_providers/{provider(number)}/aggregates"
    body = [f"aaaaaaaa-0000-4000-8000-{one:012}" for one in aggregates]
    return service("PUT", path, version=18, body=body)


def _aggregates(service: Service, number: int) -> list[str]:
    path = f"/resource_providers/{provider(number)}/aggregates"
    return sorted(one[-1] for one in do(service, "GET", path)["aggregates"])


def _an_aggregate_was_joined(ours: Service, theirs: Service) -> None:
    """What is asked of Gantt changes nothing, as far as it knows."""
    assert _join(ours, 3, 1).status == 200
    assert _join(theirs, 3, 1, 2).status == 200
    assert _join(ours, 3, 1).status == 200
    assert _aggregates(theirs, 3) == ["1"]


def _an_aggregate_was_joined_by_one_to_be_deleted(
    ours: Service, theirs: Service
) -> None:
    create(ours, 34)
    assert _join(theirs, 34, 3).status == 200
    do(ours, "DELETE", f"/resource_providers/{provider(34)}")


def _an_aggregate_was_left(ours: Service, theirs: Service) -> None:
    assert _join(theirs, 3).status == 200
    assert _join(ours, 3, 1, 2).status == 200
    assert _aggregates(theirs, 3) == ["1", "2"]


def _a_member_to_be_is_gone(ours: Service, theirs: Service) -> None:
    create(ours, 35)
    do(theirs, "DELETE", f"/resource_providers/{provider(35)}")
    assert _join(ours, 35, 1).status == 404


def _move(service: Service, number: int, parent: int | None) -> None:
    above = None if parent is None else provider(parent)
    body = {"name": f"host-{number}", "parent_provider_uuid": above}
    do(service, "PUT", f"/resource_providers/{provider(number)}", body)


def _root(service: Service, number: int) -> str:
    found = do(service, "GET", f"/resource_providers/{provider(number)}")
    return str(found["root_provider_uuid"])


def _a_parent_to_be_was_moved(ours: Service, theirs: Service) -> None:
    create(ours, 40)
    create(ours, 41)
    _move(theirs, 41, 40)
    create(ours, 42, parent=41)
    assert _root(theirs, 42) == provider(40)


def _a_child_came_below_one_to_be_moved(ours: Service, theirs: Service) -> None:
    create(ours, 43)
    create(theirs, 44, parent=43)
    _move(ours, 43, 40)
    assert _root(theirs, 44) == provider(40)


def _a_child_came_below_one_to_be_deleted(ours: Service, theirs: Service) -> None:
    create(ours, 45)
    create(theirs, 46, parent=45)
    path = f"/resource_providers/{provider(45)}"
    _must_conflict(ours("DELETE", path, version=39), "child resource providers")


def _rename(service: Service, name: str, new: str) -> Answer:
    path = f"/resource_classes/CUSTOM_{name}"
    return service("PUT", path, version=6, body={"name": f"CUSTOM_{new}"})


def _stock(service: Service, number: int, name: str) -> Answer:
    body = {
        "resource_class": f"CUSTOM_{name}",
        "total": 1,
        "resource_provider_generation": generation(service, provider(number)),
    }
    path = f"/resource_providers/{provider(number)}/inventories"
    return service("POST", path, version=39, body=body)


def _a_class_was_renamed_before_its_inventory(ours: Service, theirs: Service) -> None:
    do(ours, "PUT", "/resource_classes/CUSTOM_A")
    assert _rename(theirs, "A", "B").status == 200
    assert _stock(ours, 40, "A").status == 400
    assert _stock(ours, 40, "B").status == 201


def _a_class_was_renamed_before_it_is_renamed(ours: Service, theirs: Service) -> None:
    assert _rename(theirs, "B", "C").status == 200
    assert _rename(ours, "B", "D").status == 404


def _a_class_was_renamed_before_it_is_deleted(ours: Service, theirs: Service) -> None:
    do(ours, "PUT", "/resource_classes/CUSTOM_E")
    assert _rename(theirs, "E", "F").status == 200
    assert ours("DELETE", "/resource_classes/CUSTOM_E", version=39).status == 404


def _a_class_came_into_use(ours: Service, theirs: Service) -> None:
    assert _stock(theirs, 41, "F").status == 201
    answer = ours("DELETE", "/resource_classes/CUSTOM_F", version=39)
    _must_conflict(answer, "in use in inventory")


def _a_class_is_gone(ours: Service, theirs: Service) -> None:
    do(ours, "PUT", "/resource_classes/CUSTOM_G")
    do(theirs, "DELETE", "/resource_classes/CUSTOM_G")
    assert _stock(ours, 40, "G").status == 400


def _another_class_has_the_id(ours: Service, theirs: Service) -> None:
    """Placement gives the next after the highest that there is."""
    do(ours, "PUT", "/resource_classes/CUSTOM_H")
    do(theirs, "DELETE", "/resource_classes/CUSTOM_H")
    do(theirs, "PUT", "/resource_classes/CUSTOM_I")
    # It is there, Gantt would say.
    answer = ours("PUT", "/resource_classes/CUSTOM_H", version=39)
    assert answer.status == 201


def _a_class_has_the_name(ours: Service, theirs: Service) -> None:
    do(theirs, "PUT", "/resource_classes/CUSTOM_J")
    assert _rename(ours, "H", "J").status == 409


def _a_trait_is_gone(ours: Service, theirs: Service) -> None:
    do(ours, "PUT", "/traits/CUSTOM_K")
    do(theirs, "DELETE", "/traits/CUSTOM_K")
    assert ours("PUT", "/traits/CUSTOM_K", version=39).status == 201


def _bear(service: Service, number: int, name: str) -> Answer:
    body = {
        "resource_provider_generation": generation(service, provider(number)),
        "traits": [name],
    }
    path = f"/resource_providers/{provider(number)}/traits"
    return service("PUT", path, version=39, body=body)


def _another_trait_has_the_id(ours: Service, theirs: Service) -> None:
    """On SQLite; elsewhere it is of none."""
    do(theirs, "DELETE", "/traits/CUSTOM_K")
    do(theirs, "PUT", "/traits/CUSTOM_L")
    assert _bear(ours, 40, "CUSTOM_K").status == 400


def _a_trait_came_into_use(ours: Service, theirs: Service) -> None:
    assert _bear(theirs, 41, "CUSTOM_L").status == 200
    _must_conflict(ours("DELETE", "/traits/CUSTOM_L", version=39), "in use")


def _a_trait_has_the_name(ours: Service, theirs: Service) -> None:
    do(theirs, "PUT", "/traits/CUSTOM_M")
    assert ours("PUT", "/traits/CUSTOM_M", version=39).status == 204


def _an_inventory_came(ours: Service, theirs: Service) -> None:
    assert _stock(theirs, 43, "J").status == 201
    path = f"/resource_providers/{provider(43)}/inventories"
    do(ours, "DELETE", path)
    assert do(theirs, "GET", path)["inventories"] == {}


def _both_claim_at_once_and_nothing_acknowledged_is_lost(beside: Beside) -> None:
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
            time.sleep(0.005)  # SQLite is not fair
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
