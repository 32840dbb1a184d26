"""Nova claims in another Placement, which a shadow asks."""

from __future__ import annotations

import time
import uuid as uuids
from collections.abc import Callable, Iterator

import pytest
from msgspec.structs import replace

from gantt.engine.gantt import Gantt
from gantt.engine.options import EngineOptions, ShadowOptions
from gantt.engine.shadow import settler, sightings
from gantt.errors import Unavailable
from gantt.model.answers import ConsumerView
from gantt.model.commands import ConsumerAllocations
from gantt.model.shadow import ShadowEvent, ShadowRecord
from gantt.model.spec import RequestSpec
from gantt.store import open_store
from tests.elsewhere import SMALL, Elsewhere, Shaky, elsewhere, options
from tests.waiting import until

AMOUNTS = {"VCPU": 1, "MEMORY_MB": 1024, "DISK_GB": 10}


class Silent(Shaky):
    """Fails as often as told when it is asked for a consumer."""

    failures = 0

    def consumer(self, uuid: str) -> ConsumerView | None:
        if self.failures:
            self.failures -= 1
            raise Unavailable("no answer")
        return super().consumer(uuid)


@pytest.fixture
def there(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Elsewhere]:
    with elsewhere("gantt", tmp_path_factory.mktemp("elsewhere")) as found:
        yield found


@pytest.fixture
def books(there: Elsewhere) -> Silent:
    return Silent(there.url)


@pytest.fixture
def engine(books: Silent, monkeypatch: pytest.MonkeyPatch) -> Iterator[Gantt]:
    monkeypatch.setattr(settler, "PERIOD_S", 0.01)
    monkeypatch.setattr(sightings, "_POLL_S", 0.02)
    given: EngineOptions = options(books.url)
    given = replace(given, shadow=ShadowOptions(shadow_settle_s=1.0))
    with Gantt(open_store("memory://"), given, remote=books) as found:
        yield found


@pytest.fixture
def boot(there: Elsewhere, engine: Gantt) -> Callable[[str], ShadowRecord]:
    there.fleet(engine, "h1", "h2")

    def placed(host: str) -> ShadowRecord:
        """What is recorded once Nova has claimed this host."""
        uuid = str(uuids.uuid4())
        spec = RequestSpec(SMALL, instance_uuid=uuid, project_id="p", user_id="u")
        engine.shadow_event(ShadowEvent(spec))
        found = {there.providers[host]: AMOUNTS}
        there.books.set_allocations(
            [ConsumerAllocations(uuid, found, "p", "u", generation=None)]
        )
        engine.shadow_event(ShadowEvent(spec, "end"))
        until(lambda: len(engine.shadow_records(instance_uuid=uuid)) == 1)
        return engine.shadow_records(instance_uuid=uuid)[0]

    return placed


def test_claim_is_learnt_by_asking(boot: Callable[[str], ShadowRecord]) -> None:
    found = [boot("h1"), boot("h2")]
    assert [one.host for one in found] == ["h1", "h2"]
    assert {one.learnt_from for one in found} == {"remote allocations"}
    assert {one.verdict for one in found} <= {"same", "ranked"}


def test_claim_that_was_there_before_the_decision_makes_it_late(
    boot: Callable[[str], ShadowRecord], there: Elsewhere, engine: Gantt
) -> None:
    assert not boot("h1").is_late
    uuid, at = str(uuids.uuid4()), int(time.time() * 1_000_000)
    spec = RequestSpec(SMALL, instance_uuid=uuid, project_id="p", user_id="u")
    found = {there.providers["h1"]: AMOUNTS}
    there.books.set_allocations(
        [ConsumerAllocations(uuid, found, "p", "u", generation=None)]
    )
    engine.shadow_event(ShadowEvent(spec, at=at - 5_000_000))
    engine.shadow_event(ShadowEvent(spec, "end", at=at - 4_000_000))
    until(lambda: len(engine.shadow_records(instance_uuid=uuid)) == 1)
    assert engine.shadow_records(instance_uuid=uuid)[0].is_late


def test_question_that_fails_is_asked_again(
    boot: Callable[[str], ShadowRecord], books: Silent, engine: Gantt
) -> None:
    books.failures = 2
    assert boot("h1").host == "h1"
    assert engine.counts()["shadow_poll_failures"] == 2
    assert engine.counts()["shadow_polls"] >= 3
