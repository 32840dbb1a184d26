"""Random conflicting commands: nearly full providers, few names, stale generations.

Each is made from the last read of its client, which others may have changed meanwhile:
so generations are often right and sometimes wrong, and every refusal occurs.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from uuid import UUID

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from gantt.model import commands as c
from gantt.model import rows as t
from gantt.model.demand import Demand, Item
from gantt.model.hosts import HostStats, Instance, ServerGroup, Service
from gantt.model.relations import DomainTerm, Relation, RelationKind
from gantt.model.request_identity import Booked, RequestIdentity, read_answered
from gantt.model.spec import InstanceGroup
from tests.simulation.machines import topology_of, wanted_of
from tests.simulation.snapshot import Snapshot

CLASSES = ("VCPU", "MEMORY_MB", "DISK_GB", "CUSTOM_SLOT")
NAMES = ("a", "b", "c", "d", "e", "f")
HOSTS = ("h1", "h2", "h3")
TRAITS = ("CUSTOM_T", "CUSTOM_U")
GROUPS = (
    "00000001-3333-4333-8333-333333333333",
    "00000002-3333-4333-8333-333333333333",
)
AGGREGATES = tuple(f"{n:08x}-2222-4222-8222-222222222222" for n in (1, 2))
STANDARD = c.SyncNames(CLASSES[:3], ("HW_CPU_X86_AVX", "STORAGE_DISK_SSD"))


_POLICIES = ("anti-affinity", "affinity")
SECOND = 1_000_000


class _Books:
    """Random commands on the books."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng

    def _uuid(self) -> str:
        return str(UUID(int=self._rng.getrandbits(128), version=4))

    def _one(self, known: list[str]) -> str:
        """An existing item, nearly always."""
        if known and self._rng.random() < 0.95:
            return self._rng.choice(known)
        return self._uuid()

    def _generation(self, known: int | None) -> int | None:
        kind = self._rng.random()
        if kind < 0.6:
            return known
        return None if kind < 0.9 else (known or 0) + 1

    def _inventory(self) -> c.Inventory:
        rng = self._rng
        return c.Inventory(
            total=rng.choice((2, 4, 6, 8, 12)),
            reserved=rng.choice((0, 0, 0, 1)),
            max_unit=rng.choice((100, 100, 3)),
            step_size=rng.choice((1, 1, 1, 2)),
            allocation_ratio=rng.choice((1.0, 1.0, 1.5, 0.5)),
        )

    def _shares(self, snapshot: Snapshot) -> dict[str, dict[str, int]]:
        places = snapshot.places()
        found: dict[str, dict[str, int]] = {}
        for _ in range(self._rng.choice((1, 1, 2, 3)) if places else 0):
            uuid, name = self._rng.choice(places)
            found.setdefault(uuid, {})[name] = self._rng.choice((1, 1, 2, 3))
        return found

    # -- allocations --------------------------------------------------------------

    def _consumer(self, snapshot: Snapshot, uuid: str) -> c.ConsumerAllocations:
        known = snapshot.consumer_generation(uuid)
        generation: int | UnsetType | None = known
        if self._rng.random() < 0.2:
            generation = UNSET if self._rng.random() < 0.5 else 7
        kind = self._rng.choice((UNSET, "INSTANCE", "MIGRATION"))
        wanted = self._shares(snapshot)
        return c.ConsumerAllocations(
            uuid, wanted, self._rng.choice(("p", "q")), "u", generation, kind
        )

    def _claim_new(self, snapshot: Snapshot) -> c.Command[object] | None:
        if not snapshot.places():
            return None
        uuid = self._uuid()
        wanted = self._shares(snapshot)
        return c.SetAllocations(
            (c.ConsumerAllocations(uuid, wanted, "p", "u", None, "INSTANCE"),)
        )

    def _claim_again(self, snapshot: Snapshot) -> c.Command[object] | None:
        known = snapshot.consumers()
        if not known:
            return None
        return c.SetAllocations((self._consumer(snapshot, self._rng.choice(known)),))

    def _move(self, snapshot: Snapshot) -> c.Command[object] | None:
        known = snapshot.consumers()
        if len(known) < 2:
            return None
        two = self._rng.sample(known, 2)
        return c.SetAllocations(tuple(self._consumer(snapshot, one) for one in two))

    def _migrate(self, snapshot: Snapshot) -> c.Command[object] | None:
        """As a conductor does before it asks for another host: the instance's
        allocations become a migration's."""
        shares = {uuid: snapshot.shares(uuid) for uuid in snapshot.claimed()}
        known = [uuid for uuid, has in shares.items() if has]
        if not known:
            return None
        uuid = self._rng.choice(known)
        generation = snapshot.consumer_generation(uuid)
        new = c.ConsumerAllocations(
            self._uuid(), shares[uuid], "p", "u", None, "MIGRATION"
        )
        gone = c.ConsumerAllocations(uuid, {}, "p", "u", generation, "INSTANCE")
        return c.SetAllocations((new, gone))

    def _give_back(self, snapshot: Snapshot) -> c.Command[object] | None:
        known = snapshot.consumers()
        return c.DeleteAllocations(self._one(known)) if known else None

    # -- providers ----------------------------------------------------------------

    def _create_provider(self, snapshot: Snapshot) -> c.Command[object] | None:
        known = snapshot.providers()
        if len(known) > 8:
            return None
        parent = self._rng.choice(known) if known and self._rng.random() < 0.4 else None
        return c.CreateProvider(self._uuid(), self._rng.choice(NAMES), parent)

    def _rename(self, snapshot: Snapshot) -> c.Command[object] | None:
        known = snapshot.providers()
        return c.UpdateProvider(self._one(known), self._rng.choice(NAMES))

    def _delete_provider(self, snapshot: Snapshot) -> c.Command[object] | None:
        return c.DeleteProvider(self._one(snapshot.providers()))

    def _set_inventories(self, snapshot: Snapshot) -> c.Command[object] | None:
        uuid = self._one(snapshot.providers())
        names = self._rng.sample(CLASSES, self._rng.choice((1, 2, 3)))
        wanted = {name: self._inventory() for name in names}
        generation = self._generation(snapshot.generation(uuid))
        return c.SetInventories(uuid, wanted, generation)

    def _change_inventory(self, snapshot: Snapshot) -> c.Command[object] | None:
        places = snapshot.places()
        if not places:
            return None
        uuid, name = self._rng.choice(places)
        if self._rng.random() < 0.3:
            return c.DeleteInventory(uuid, name)
        if self._rng.random() < 0.3:
            return c.PutInventory(uuid, self._rng.choice(CLASSES), self._inventory())
        generation = self._generation(snapshot.generation(uuid))
        return c.SetInventory(uuid, name, self._inventory(), generation)

    def _label(self, snapshot: Snapshot) -> c.Command[object] | None:
        uuid = self._one(snapshot.providers())
        generation = self._generation(snapshot.generation(uuid))
        if self._rng.random() < 0.5:
            traits = self._rng.sample(TRAITS, self._rng.choice((0, 1, 2)))
            return c.SetTraits(uuid, tuple(traits), generation)
        some = self._rng.sample(AGGREGATES, self._rng.choice((0, 1, 2)))
        return c.SetAggregates(uuid, tuple(some), generation)

    def _names(self, snapshot: Snapshot) -> c.Command[object] | None:
        del snapshot
        trait, spare = self._rng.choice(TRAITS), "CUSTOM_SPARE"
        return self._rng.choice(
            (
                c.CreateTrait(trait),
                c.CreateTrait(trait),
                c.DeleteTrait(trait),
                c.CreateResourceClass(CLASSES[3]),
                c.CreateResourceClass(spare),
                c.RenameResourceClass(spare, "CUSTOM_OTHER"),
                c.DeleteResourceClass(self._rng.choice((spare, "CUSTOM_OTHER"))),
            )
        )

    def _reshape(self, snapshot: Snapshot) -> c.Command[object] | None:
        """Move all of one provider to another, with its consumers."""
        known = snapshot.providers()
        full = sorted({uuid for uuid, _ in snapshot.places()})
        if len(known) < 2 or not full:
            return None
        source = self._rng.choice(full)
        target = self._rng.choice([uuid for uuid in known if uuid != source])
        moved = {**snapshot.inventories(target), **snapshot.inventories(source)}
        owners = []
        for uuid in snapshot.consumers():
            shares = snapshot.shares(uuid)
            if source not in shares:
                continue
            wanted = {k: dict(v) for k, v in shares.items() if k != source}
            row = wanted.setdefault(target, {})
            for name, amount in shares[source].items():
                row[name] = row.get(name, 0) + amount
            generation = snapshot.consumer_generation(uuid)
            owners.append(c.ConsumerAllocations(uuid, wanted, "p", "u", generation))
        pair = (
            c.ReshapedProvider(source, snapshot.generation(source) or 0, {}),
            c.ReshapedProvider(target, snapshot.generation(target) or 0, moved),
        )
        return c.Reshape(pair, tuple(owners))


class Workload(_Books):
    """Random commands of one client, on the books and the fleet. ``pins``: mostly
    claims on CPUs and devices, and what ends them."""

    def __init__(self, rng: random.Random, *, pins: bool = False) -> None:
        super().__init__(rng)
        self._pins = pins
        self._makers: tuple[
            tuple[int, Callable[[Snapshot], c.Command[object] | None]], ...
        ] = (
            (14, self._claim_new),
            (8, self._claim_again),
            (5, self._move),
            (4, self._migrate),
            (6, self._give_back),
            (6, self._set_inventories),
            (3, self._change_inventory),
            (4, self._create_provider),
            (3, self._rename),
            (2, self._delete_provider),
            (4, self._label),
            (3, self._names),
            (4, self._reshape),
            (6, self._report),
            (2, self._service),
            (3, self._instances),
            (1, self._delete_host),
            (2, self._group),
            (3, self._label_host),
            (14, self._claim_hosts),
            (5, self._ask_again),
            (5, self._end_claim),
            (1, self._expire),
            (4, self._await_room),
            (5, self._book),
            (1, self._end_demand),
            (1, self._sweep_demands),
        )
        self._pinning = (
            (10, self._claim_hosts),
            (3, self._ask_again),
            (5, self._report),
            (5, self._instances),
            (2, self._migrate),
            (1, self._give_back),
            (2, self._end_claim),
        )

    def next(self, snapshot: Snapshot) -> c.Command[object]:
        """A command that fits the rows read last."""
        makers = [make for weight, make in self._makers for _ in range(weight)]
        if self._pins and self._rng.random() < 0.7:
            makers = [make for weight, make in self._pinning for _ in range(weight)]
        while True:
            command = self._rng.choice(makers)(snapshot)
            if command is not None:
                return command

    def _report(self, snapshot: Snapshot) -> c.Command[object] | None:
        host = self._rng.choice(HOSTS)
        stats = HostStats(
            vcpus=self._rng.choice((2, 4, 6)),
            memory_mb=self._rng.choice((512, 1024)),
            local_gb=10,
            cpu_allocation_ratio=1.0,
            ram_allocation_ratio=1.0,
            disk_allocation_ratio=1.0,
        )
        if self._rng.random() < (0.1 if self._pins else 0.2):
            on_it = tuple(snapshot.claimed_on(host))
            stats = HostStats(vcpus=4, memory_mb=1024, local_gb=10, instances=on_it)
        elif self._rng.random() < 0.8:
            pinned = self._rng.choice(((), (), (0,), (0, 1)))
            topology = topology_of(host, pinned, self._rng.choice((0, 1, 2, 2)))
            stats = replace(stats, **topology)
        saved_at = None
        counted = [row.counted_at for row in snapshot.claims_on(host)]
        if self._rng.random() < 0.5:
            latest = max((one for one in counted if one is not None), default=0)
            saved_at = latest + self._rng.choice((0, 1)) * SECOND
        return c.UpdateHost(host, host, stats, self._uuid(), saved_at=saved_at)

    def _service(self, snapshot: Snapshot) -> c.Command[object] | None:
        del snapshot
        is_off = self._rng.random() < 0.3
        return c.UpdateService(Service(self._rng.choice(HOSTS), disabled=is_off))

    def _instances(self, snapshot: Snapshot) -> c.Command[object] | None:
        host = self._rng.choice(HOSTS)
        claims, named = snapshot.claims_on(host), snapshot.instances_on(host)
        kind = self._rng.random()
        if kind < 0.4 and claims:
            row = self._rng.choice(claims)
            saved_at = (row.created_at or 0) + self._rng.choice((0, 1)) * SECOND
            told = self._rng.choice((None, saved_at))
            return c.UpdateInstances(host, (Instance(row.instance_uuid, {}, told),))
        if kind < 0.7 and named:
            return c.DeleteInstance(host, self._rng.choice(named))
        return c.SyncInstances(host, tuple(named))

    def _delete_host(self, snapshot: Snapshot) -> c.Command[object] | None:
        hosts = sorted(snapshot.hosts().values())
        return c.DeleteHost(hosts[-1], hosts[-1]) if len(hosts) == len(HOSTS) else None

    def _group(self, snapshot: Snapshot) -> c.Command[object] | None:
        del snapshot
        number = self._rng.choice((0, 1))
        return c.SetServerGroup(ServerGroup(GROUPS[number], policy=_POLICIES[number]))

    def _label_host(self, snapshot: Snapshot) -> c.Command[object] | None:
        del snapshot
        rack = self._rng.choice(("r1", "r2", "r2", "r3", None))
        labels: dict[str, str | None] = {"rack": rack}
        if self._rng.random() < 0.3:
            labels["starts"] = self._rng.choice(("2", "4", "0", None))
        return c.LabelHost(self._rng.choice(HOSTS), labels)

    def _domains(self) -> tuple[DomainTerm, ...]:
        """Mostly none; one relation, or two."""
        rng = self._rng
        found = []
        kinds: tuple[RelationKind, ...] = ("spread", "distinct")
        for kind in rng.sample(kinds, rng.choice((0, 0, 1, 1, 2))):
            least = rng.choice((1, 1, 2, 3)) if kind == "spread" else 1
            relation = Relation(kind, "rack", rng.choice((1, 1, 2)), least)
            found.append(
                DomainTerm(relation, rng.choice((frozenset(), frozenset({"r3"}))))
            )
        return tuple(found)

    def _claim_hosts(self, snapshot: Snapshot) -> c.Command[object] | None:
        hosts = snapshot.hosts()
        if not hosts:
            return None
        rng = self._rng
        group = None
        if rng.random() < 0.6:
            number = rng.choice((0, 1))
            group = InstanceGroup(GROUPS[number], _POLICIES[number])
        amounts = {"VCPU": 1, "MEMORY_MB": 64}
        by_books = rng.random() < (0.4 if self._pins else 0.8)
        wanted = None
        if self._pins or rng.random() < 0.5:
            wanted = wanted_of(*rng.choice(((1, 0), (2, 0), (1, 1), (0, 1))))
        choices = []
        for key in rng.sample(sorted(hosts), len(hosts)):
            provider = snapshot.provider_of(hosts[key])
            if provider is not None:
                choices.append(c.Choice(key, {provider: amounts} if by_books else {}))
        if not choices:
            return None
        pool = [self._uuid(), self._uuid(), self._uuid(), *snapshot.claimed()[:2]]
        chosen = rng.sample(pool, rng.choice((1, 1, 2, 3)))
        return c.Claim(
            claim=self._uuid(),
            instances=tuple(c.InstanceClaim(one, tuple(choices)) for one in chosen),
            vcpus=1,
            memory_mb=64,
            disk_mb=0,
            project_id="p",
            user_id="u",
            group=group,
            leased_for_us=rng.choice((None, 100_000, 5_000_000, 60_000_000)),
            wanted=wanted,
            identity=RequestIdentity(self._uuid(), replaces=rng.random() < 0.5),
            domains=self._domains(),
            max_starts=rng.choice((None, None, 0, 3)),
        )

    def _ask_again(self, snapshot: Snapshot) -> c.Command[object] | None:
        """The same request, as after a time-out; it would find other hosts first."""
        known = [
            row
            for row in snapshot.rows(t.BOOKINGS, t.BookingRow)
            if row.answered is not None and read_answered(row.answered).digest
        ]
        command = self._claim_hosts(snapshot)
        if not known or not isinstance(command, c.Claim):
            return None
        claim = self._rng.choice(known)
        kin = [row.instance_uuid for row in known if row.claim == claim.claim]
        digest = read_answered(claim.answered or "").digest
        choices = command.instances[0].choices
        return replace(
            command,
            instances=tuple(c.InstanceClaim(one, choices) for one in kin),
            group=None,
            identity=RequestIdentity(digest, replaces=self._rng.random() < 0.5),
        )

    def _end_claim(self, snapshot: Snapshot) -> c.Command[object] | None:
        claims = sorted({row.claim for row in snapshot.rows(t.BOOKINGS, t.BookingRow)})
        if not claims:
            return None
        claim = self._rng.choice(claims)
        if self._rng.random() < 0.5:
            return c.ReleaseClaim(claim)
        return c.ConfirmClaim(claim, self._rng.choice((None, None, 1_000_000)))

    def _expire(self, snapshot: Snapshot) -> c.Command[object] | None:
        del snapshot
        return c.ExpireClaims(grace_us=self._rng.choice((0, 1_000_000)))

    # -- demands that wait ------------------------------------------------------------

    def _await_room(self, snapshot: Snapshot) -> c.Command[object] | None:
        del snapshot
        rng = self._rng
        wait_s = rng.choice((0.1, 5.0, 60.0))
        demand = Demand((Item("i", cpu=1),), wait_s=wait_s, priority=rng.choice((0, 1)))
        return c.AwaitRoom(self._uuid(), demand, rng.choice("ab"), 5)

    def _book(self, snapshot: Snapshot) -> c.Command[object] | None:
        """A new demand, or one that waits or waited; in its turn or not."""
        claim = self._claim_hosts(snapshot)
        if not isinstance(claim, c.Claim):
            return None
        uuid, rng = self._uuid(), self._rng
        booked = Booked(uuid, "i", "", "", "")
        one = replace(claim.instances[0], instance_uuid=uuid, booked=booked)
        claim = replace(
            claim, instances=(one,), group=None, domains=(), identity=RequestIdentity()
        )
        known = sorted(snapshot.demands())
        if not known or rng.random() < 0.3:
            return c.Book((claim,), "", rng.choice(("a", "b", "")), rng.choice((0, 1)))
        row = rng.choice(known)
        entry = snapshot.demands()[row]
        return c.Book((claim,), row, entry.shape, entry.demand.priority)

    def _end_demand(self, snapshot: Snapshot) -> c.Command[object] | None:
        return c.EndDemand(self._one(sorted(snapshot.demands())), "cancelled")

    def _sweep_demands(self, snapshot: Snapshot) -> c.Command[object] | None:
        del snapshot
        return c.SweepDemands(self._rng.choice((0, 60_000_000)))
