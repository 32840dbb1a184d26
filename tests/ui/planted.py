"""Ten hosts with five troubles of the last two hours: a full class, a host that is down
by hand, a silent agent, a wave of refusals for one trait, and an orphan. One more host
is disabled by an operator."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import UNSET
from msgspec.structs import replace

from gantt.engine.factory import standard_names
from gantt.engine.gantt import Gantt
from gantt.errors import NoValidHost
from gantt.model.commands import ConsumerAllocations, Inventory
from gantt.model.fleet import OPERATOR
from gantt.model.hosts import Service
from gantt.model.spec import Flavor, RequestSpec, ScheduleRequest
from gantt.store import open_store
from gantt.store.interface import StoreOptions
from scripts.demo_fleet import PastClock
from tests.idle_host import idle
from tests.live import Live
from tests.reported import report_of
from tests.ui import fleets
from tests.ui.looking_glass import served

HOUR = 3_600_000_000
HOSTS = [f"rack-{number:02}" for number in range(10)]
FULL, DOWN, SILENT, ORPHANED, OFF = HOSTS[0], HOSTS[5], HOSTS[7], HOSTS[3], HOSTS[8]
ORPHAN = fleets.uuid(8, 77)
TRAIT = "CUSTOM_FPGA"
LICENCE = "CUSTOM_LICENCE"


class Planted:
    """Ten hosts, with an instance each, of the last two hours."""

    def __init__(self, books: Gantt, clock: PastClock) -> None:
        self._books, self._clock = books, clock

    def report(self, sequence: int, hosts: list[str]) -> None:
        for host in hosts:
            names = (fleets.uuid(7, HOSTS.index(host)),)
            said = idle(8, 16_384, instances=names, lists_instances=True)
            one = report_of(host, sequence, said, taken_at=self._clock.at)
            (outcome,) = self._books.report_hosts([one])
            assert outcome.outcome == "applied", outcome

    def claim(self, host: str, consumer: str, name: str, amount: int) -> None:
        (view,) = self._books.list_hosts(host=host)
        given = {view.provider_uuid or "": {name: amount}}
        one = ConsumerAllocations(consumer, given, "p", "u", UNSET, "INSTANCE")
        self._books.set_allocations([one])

    def plant(self) -> None:
        books, clock = self._books, self._clock
        self.report(1, HOSTS)
        (view,) = books.list_hosts(host=FULL)
        books.create_resource_class(LICENCE)
        books.set_inventory(view.provider_uuid or "", LICENCE, Inventory(total=8))
        for number, host in enumerate(HOSTS):
            name, amount = (LICENCE, 8) if host == FULL else ("VCPU", 1)
            self.claim(host, fleets.uuid(7, number), name, amount)
        self.claim(ORPHANED, ORPHAN, "VCPU", 1)
        clock.at += 80 * HOUR // 60
        books.update_service(Service(DOWN, forced_down=True))
        word = Service(OFF, OPERATOR, disabled=True, disabled_reason="fan")
        books.update_service(word)
        books.create_trait(TRAIT)
        clock.at += 30 * HOUR // 60
        needs = {f"trait:{TRAIT}": "required"}
        gpu = Flavor(1, 64, 1, name="fpga", extra_specs=needs)
        for number, flavor in enumerate([gpu] * 6 + [replace(gpu, extra_specs={})]):
            request = ScheduleRequest(
                RequestSpec(flavor, project_id="p"), request_id=f"req-{number}"
            )
            with suppress(NoValidHost):
                books.schedule(request)
        clock.at += 10 * HOUR // 60
        self.report(2, [one for one in HOSTS if one != SILENT])


@contextmanager
def planted(folder: Path) -> Iterator[Live]:
    """A service with all of them."""
    file = folder / "gantt.db"
    clock = PastClock(time.time_ns() // 1000 - 2 * HOUR)
    store = open_store(f"sqlite:///{file}", StoreOptions(create=True))
    with Gantt(store, clock=clock, standard_names=standard_names()) as books:
        Planted(books, clock).plant()
    with served(file) as live:
        yield live
