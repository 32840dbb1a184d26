"""A request that is sent again, where a remote Placement has the amounts."""

from __future__ import annotations

import threading
import time
from typing import NoReturn

import pytest
from msgspec.structs import replace

from gantt.engine.gantt import Gantt
from gantt.engine.scheduling.remote_claims import RemoteClaims
from gantt.engine.scheduling.remote_placement import RemoteRequest
from gantt.errors import Conflict, NoValidHost, Unavailable
from gantt.model.commands import ConsumerAllocations
from gantt.model.hosts import Instance
from gantt.model.selection import Selection
from gantt.model.spec import Flavor
from gantt.store import open_store
from tests.elsewhere import (
    Elsewhere,
    Shaky,
    Wall,
    ask,
    claims,
    engine_on,
    only,
)


class Awake(Wall):
    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


MIGRATION = "99999999-5555-4555-8555-000000000001"


@pytest.mark.parametrize("lease_s", [None, 60.0])
def test_a_repeat_is_answered_with_what_it_has(
    there: Elsewhere, books: Shaky, engine: Gantt, lease_s: float | None
) -> None:
    there.fleet(engine, "h1", "h2")
    request = ask(2, lease_s=lease_s)
    first = engine.schedule(request)
    again = engine.schedule(request)
    assert [one[0].service_host for one in again] == [
        one[0].service_host for one in first
    ]
    assert [one[0].claim for one in again] == [one[0].claim for one in first]
    assert (there.used(), books.writes, len(claims(engine))) == (2, 1, 2)


@pytest.mark.parametrize("back", ["moved", "deleted"])
def test_what_nova_took_back_there_is_asked_for_anew(
    there: Elsewhere, engine: Gantt, back: str
) -> None:
    """A migration that failed is tried again: its claim holds nothing any more."""
    there.fleet(engine, "h1", "h2")
    request = ask()
    uuid = only(request)
    ((mine, *_),) = engine.schedule(request)
    engine.update_instances(mine.service_host, [Instance(uuid)])
    before = there.of(uuid)
    assert before is not None
    shares = {one: share.resources for one, share in before.allocations.items()}
    there.books.set_allocations(
        [
            ConsumerAllocations(MIGRATION, shares, "project", "user", None),
            ConsumerAllocations(uuid, {}, "project", "user", before.generation),
        ]
    )
    away = replace(
        request,
        spec=replace(request.spec, ignore_hosts=(mine.service_host,)),
        replaces=True,
    )
    ((there_now, *_),) = engine.schedule(away)
    assert (there.used(there_now.service_host), there.used()) == (1, 2)
    after = there.of(uuid)
    assert after is not None
    if back == "moved":
        there.books.set_allocations(
            [
                ConsumerAllocations(MIGRATION, {}, "project", "user", 1),
                ConsumerAllocations(uuid, shares, "project", "user", after.generation),
            ]
        )
    else:
        there.books.delete_allocations(uuid)
    ((again, *_),) = engine.schedule(away)
    assert again.service_host == there_now.service_host
    assert there.used(again.service_host) == 1


def test_no_claim_that_holds_nothing_there_is_the_answer_where_no_host_is_left(
    there: Elsewhere, engine: Gantt, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor where it cannot be told."""
    there.fleet(engine, "h1")
    request = ask()
    ((mine, *_),) = engine.schedule(request)

    def no_answer(*_: object) -> NoReturn:
        raise Unavailable("No answer.")

    def nothing(_: RemoteRequest) -> NoReturn:
        raise NoValidHost("No valid host was found. No answer.")

    monkeypatch.setattr(RemoteRequest, "_fetch", nothing)
    ((again, *_),) = engine.schedule(request)
    assert again.claim == mine.claim
    with monkeypatch.context() as patch:
        patch.setattr(RemoteClaims, "has", no_answer)
        with pytest.raises(NoValidHost, match="No answer"):
            engine.schedule(request)
    assert len(claims(engine)) == 1
    there.books.delete_allocations(only(request))
    with pytest.raises(NoValidHost, match="No answer"):
        engine.schedule(request)
    assert claims(engine) == []


def test_one_instance_makes_way_and_no_other(there: Elsewhere, engine: Gantt) -> None:
    there.fleet(engine, "h1", "h2")
    request = ask(2)
    engine.schedule(request)
    one, other = request.instance_uuids or ()
    spec = replace(request.spec, flavor=Flavor(vcpus=2, memory_mb=64, root_gb=1))
    engine.schedule(replace(request, spec=spec, instance_uuids=(one,), replaces=True))
    assert there.of(other) is not None
    assert there.used() == 3


def test_a_release_says_what_it_would_leave_there(
    there: Elsewhere, engine: Gantt
) -> None:
    there.fleet(engine, "h1")
    request = ask()
    uuid = only(request)
    ((mine, *_),) = engine.schedule(request)
    provider = there.providers["h1"]
    changed = {provider: {"VCPU": 3}}
    there.books.set_allocations(
        [ConsumerAllocations(uuid, changed, "project", "user", 1)]
    )
    with pytest.raises(Conflict, match=f"{uuid} has 3 VCPU on provider {provider}"):
        engine.release_claim(mine.claim or "")
    assert (there.used(), len(claims(engine))) == (3, 1)
    there.books.delete_allocations(uuid)
    engine.release_claim(mine.claim or "")
    assert (there.used(), claims(engine)) == (0, [])


def test_many_callers_of_one_request_get_one_host(there: Elsewhere, here: str) -> None:
    """Of two processes."""
    wall = Awake()
    first = engine_on(Shaky(there.url), wall=wall, store=open_store(here))
    there.fleet(first, "h1", "h2")
    second = engine_on(Shaky(there.url), wall=wall, store=open_store(here))
    request, found = ask(1), list[Selection]()
    failed: list[Exception] = []
    begin = threading.Barrier(4)

    def call(engine: Gantt) -> None:
        begin.wait()
        try:
            found.append(engine.schedule(request)[0][0])
        except Exception as error:
            failed.append(error)

    threads = [
        threading.Thread(target=call, args=(engine,))
        for engine in (first, second, first, second)
    ]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    first.close()
    second.close()
    assert (failed, there.used()) == ([], 1)
    assert len({(one.service_host, one.claim) for one in found}) == 1
