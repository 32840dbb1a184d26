"""The rule for claims: hosts for all instances of a request, or for none.

What was found while hosts were picked is judged again here, on the newest columns and
by the same functions: the view (amounts, cells and devices), ``group_rules`` (server
groups), ``domain_rules`` (spread), ``reported`` (hosts without inventory). Per instance
the first choice that holds is taken.

What is asked for an instance that has a claim is judged by ``request_kind``. A repeat
is answered with that claim; further instances of its request join it. In a move the
instance keeps its allocations beside the new ones; where it has some on a provider of
the choice, those stay as they are. They are not judged again, and are marked by
``updated_at``, which tells a release what was there before.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import compress
from typing import Final

from msgspec import UNSET, Struct
from msgspec.structs import asdict, replace

from gantt.errors import ClaimLost, Conflict, Invalid
from gantt.model import rows as t
from gantt.model.answers import Claimed, Repeat
from gantt.model.booking import Booking
from gantt.model.commands import Choice, Claim, ConsumerAllocations, InstanceClaim
from gantt.model.holding import Held, holding
from gantt.model.request_identity import Answered, Booked
from gantt.model.rows import AllocationRow, BookingRow, ConsumerRow, ProviderRow
from gantt.model.topology import Fit, FitLack, Wanted
from gantt.placement import group_rules, start_caps
from gantt.placement.domain_rules import DomainsOfClaim
from gantt.placement.ownership import check_groups, check_owner
from gantt.placement.reported_room import has_room
from gantt.placement.rules import allocations, counted_claims, leases
from gantt.placement.rules.booked_names import NAMELESS
from gantt.placement.rules.draft import Draft
from gantt.placement.rules.request_kind import RequestKind, again, standing
from gantt.state.host_table import HostTable
from gantt.state.name_table import is_each_once
from gantt.state.slot_amounts import Slot
from gantt.state.state import State
from gantt.state.view import View, pending_on
from gantt.topology.promised_topology import CLOSED, PromisedTopology, to_text

_GONE: Final = "the host no longer exists"
_OFF: Final = "the host is disabled or forced down"
_UNKNOWN: Final = "a provider or a resource class no longer exists"
_FULL: Final = "the amounts no longer fit"
_GROUP: Final = "the server group no longer allows the host"
_DOMAIN: Final = "its domain may have no more instances now"
_TOPOLOGY: Final = "the topology no longer fits"
_STARTING: Final = "the host starts as many at once as it may"
_APART: Final = "the host has what it must not be with"
_HARD: Final = (group_rules.AFFINITY, group_rules.ANTI_AFFINITY)
_MOST: Final = 2**53


class _Asked(Struct, frozen=True):
    """What is new of one choice, thrice: as ``new`` has it, as rows (provider, class
    id, amount) and as amounts by slot."""

    new: dict[str, dict[str, int]]
    rows: list[tuple[ProviderRow, int, int]]
    amounts: list[tuple[Slot, int]]


class _Holder(Struct, frozen=True):
    """What an instance has before it is placed: ``kept`` stays, ``dropped`` goes with
    the lease that the new claim replaces; ``held``: as in InstanceClaim. ``stays``: its
    claim does not make way, because no report counts its cells and devices yet."""

    uuid: str
    held: Held | None
    claim: BookingRow | None = None
    consumer: ConsumerRow | None = None
    kept: list[AllocationRow] = []
    dropped: list[AllocationRow] = []
    stays: bool = False

    @property
    def claim_id(self) -> int | None:
        """The id of the claim that the new one replaces."""
        return None if self.claim is None or self.stays else self.claim.id


def claim(draft: Draft, command: Claim) -> Claimed:
    """Raises ClaimLost (an instance has no choice left), Invalid, Conflict (the claim
    exists), Forbidden (an instance or the group is of another project),
    AlreadyClaimed."""
    uuids = [one.instance_uuid for one in command.instances]
    _check(draft, command, uuids)
    if command.only_project is not None:
        _check_own(draft.state, command, command.only_project)
    leased_for = command.leased_for_us
    leased_until = None if leased_for is None else draft.clock + leased_for
    standings = [RequestKind.FIRST] * len(uuids)
    if not draft.state.fleet.claims.by_instance.keys().isdisjoint(uuids):
        standings = [standing(draft.state, command.identity, uuid) for uuid in uuids]
        name = _name(draft.state, command, standings)
        command = replace(command, claim=name)
    plan = _ClaimPlan(draft, command, leased_until)
    if command.domains:
        is_new = [its is not RequestKind.REPEAT for its in standings]
        plan.domains = _domains(draft.view, command, [*compress(uuids, is_new)])
    taken = []
    for instance, its in zip(command.instances, standings, strict=True):
        taken.append(plan.place(instance, its))
    if plan.domains is not None and (key := plan.domains.broken):
        raise ClaimLost(
            f"The instances can no longer be spread by {key} as was asked. Nothing was "
            "claimed. Pick hosts again."
        )
    return Claimed(
        command.claim,
        tuple(taken),
        leased_until,
        tuple(plan.generations),
        tuple(plan.fits) if any(plan.fits) or command.wanted is not None else (),
        tuple(plan.repeats) if any(plan.repeats) else (),
    )


def _domains(view: View, command: Claim, placing: list[str]) -> DomainsOfClaim:
    has_others = any(term.others for term in command.domains)
    return DomainsOfClaim(
        view.state,
        command.domains,
        command.group,
        placing,
        asks_service=command.asks_service,
        placed=placed_rows(view) if has_others else {},
    )


def placed_rows(view: View) -> dict[str, list[int]]:
    """Consumer -> rows of the hosts on which it was put just now."""
    found: dict[str, list[int]] = {}
    row_by_id = view.state.fleet.hosts.row_by_id
    for bookings in view.placed.values():
        for one in bookings:
            found.setdefault(one.consumer, []).append(row_by_id[one.host_id])
    return found


def _name(state: State, command: Claim, standings: list[RequestKind]) -> str:
    """The name of the claim: that of an earlier one, where an instance has it. Raises
    Conflict: a request can be answered by one claim alone."""
    if RequestKind.REPEAT not in standings:
        return command.claim
    claims = state.fleet.claims.by_instance
    names = {
        claims[one.instance_uuid].claim
        for one, its in zip(command.instances, standings, strict=True)
        if its is RequestKind.REPEAT
    }
    is_part = command.is_remote and {*standings} != {RequestKind.REPEAT}
    if len(names) > 1 or is_part:
        raise Conflict(
            "Some of the instances were claimed by this request before (claim "
            f"{', '.join(sorted(names))}), and others are not in that claim any more. "
            "Nothing was claimed. Release it first, or leave those instances out."
        )
    return names.pop()


def _check(draft: Draft, command: Claim, instances: list[str]) -> None:
    if draft.state.fleet.claims.has(command.claim):
        raise Conflict(
            f"Claim {command.claim} already exists. Use a new name for each claim."
        )
    if command.is_remote and command.leased_for_us is None:
        raise Invalid(
            "A claim with a remote Placement must start with a lease; give one."
        )
    if len(instances) > 1 and not is_each_once(draft.state.fold, instances):
        raise Invalid("An instance is named twice; name each instance once.")
    for name in ("vcpus", "memory_mb", "disk_mb", "leased_for_us"):
        amount = getattr(command, name)
        if amount is not None and not 0 <= amount <= _MOST:
            raise Invalid(f"{name} must be from 0 to {_MOST}; got {amount}.")


def _check_own(state: State, command: Claim, project: str) -> None:
    """Judged here as well as before the claim is planned: others may write between the
    two. Raises Forbidden."""
    placed = [one.instance_uuid for one in command.instances]
    check_owner(state, placed, project, also_running=not command.is_remote)
    if command.group is not None:
        check_owner(state, command.group.members, project, also_running=True)
        check_groups(state, [command.group.uuid], project)


class _Apart:
    """Consumers that must not be on the hosts of a claim."""

    def __init__(self, view: View, consumers: frozenset[str]) -> None:
        self._placed, self._consumers = view.placed, consumers
        self._hosts = set[str]().union(*map(view.state.fleet.hosts_of, consumers))

    def allows(self, host: str) -> bool:
        """Whether none of them is there, nor was put there just now."""
        placed = self._placed.get(host, ())
        is_near = any(one.consumer in self._consumers for one in placed)
        return host not in self._hosts and not is_near


class _ClaimPlan:
    """One command while it is planned: all of its instances are judged together."""

    def __init__(self, draft: Draft, command: Claim, leased_until: int | None) -> None:
        self._draft = draft
        self._command = command
        self._leased_until = leased_until
        self._view = draft.view
        self._amounts = command.vcpus, command.memory_mb, command.disk_mb
        self._group = None
        if command.group is not None and command.group.policy in _HARD:
            self._group = group_rules.Members(
                draft.state.fleet, command.group, self._view.placed, self._view.left
            )
        self._apart = _Apart(self._view, command.not_with) if command.not_with else None
        self.domains: DomainsOfClaim | None = None
        self._providers: dict[str, ProviderRow | None] = {}
        self.generations: list[int | None] = []
        self.fits: list[Fit | None] = []
        self.repeats: list[Repeat | None] = []

    def place(self, instance: InstanceClaim, its: RequestKind) -> int:
        """The place of the first choice that holds; 0 for a repeat. Raises
        ClaimLost."""
        if its is RequestKind.REPEAT:
            found = again(self._draft, instance.instance_uuid, self._leased_until)
            self.repeats.append(found.answer)
            self.generations.append(found.generation)
            self.fits.append(found.fit)
            return 0
        holder = self._holder(instance, its)
        misses: dict[str, list[int]] = {}
        for number, choice in enumerate(instance.choices):
            miss = self._try(choice, holder, instance.booked)
            if miss is None:
                self.repeats.append(None)
                return number
            misses.setdefault(miss, []).append(number)
        hosts = self._draft.state.fleet.hosts
        raise ClaimLost(_words(hosts, instance, misses))

    def _holder(self, instance: InstanceClaim, its: RequestKind) -> _Holder:
        """What the instance has; what it gives up is given back."""
        state, uuid = self._draft.state, instance.instance_uuid
        old = state.fleet.claims.by_instance.get(uuid)
        if old is None and state.consumers.row_by_uuid.get(uuid) is None:
            return _Holder(uuid, instance.held)
        if old is not None and old.remote is not None and old.leased_until is not None:
            raise ClaimLost(
                f"Instance {uuid} has the claim {old.claim}, which is not "
                "confirmed and may hold allocations in a remote Placement. "
                "Release it, or try again once it has been cleaned up."
            )
        consumer = state.consumers.find(uuid)
        kept = leases.allocations_of(state, uuid)
        dropped: list[AllocationRow] = []
        stays = False
        if old is not None:
            if leases.holds(old, consumer, is_over=its is RequestKind.REPLACE):
                dropped = [row for row in kept if row.updated_at is None]
                kept = [row for row in kept if row.updated_at is not None]
            host = state.fleet.hosts.row_by_id.get(old.host_id)
            is_there = host is not None or (
                consumer is not None and leases.lost(old) is not None
            )
            is_move = its is not RequestKind.REPLACE
            stays = is_move and is_there and _is_uncounted(old)
            self._view.take(uuid, dropped if stays else [*dropped, old])
            if host is not None and not stays:
                for key, pending in counted_claims.promised_again(self._draft, old):
                    self._view.withdraw(host, key)
                    self._view.promise(host, key, pending)
        return _Holder(uuid, instance.held, old, consumer, kept, dropped, stays)

    def _try(
        self, choice: Choice, holder: _Holder, booked: Booked | None
    ) -> str | None:
        """Take ``choice``, or tell why not and leave no trace."""
        hosts = self._draft.state.fleet.hosts
        host = hosts.row_by_id.get(choice.host_id)
        if host is None:
            return _GONE
        is_off = hosts.is_disabled[host] or hosts.is_forced_down[host]
        if is_off and self._command.asks_service:
            return _OFF
        name, command = hosts.hosts[host], self._command
        if self._group is not None and not self._group.allows(name, holder.uuid):
            return _GROUP
        if self._apart is not None and not self._apart.allows(name):
            return _APART
        if self.domains is not None and not self.domains.allows(host):
            return _DOMAIN
        if command.max_starts or self._view.state.fleet.facts.starts:
            old = None if holder.stays else holder.claim
            if not start_caps.may_start(self._view, host, command.max_starts, old):
                return _STARTING
        pending = None
        if command.wanted is not None:
            fitted = self._pending(host, choice, holder, command.wanted)
            if not isinstance(fitted, FitLack):
                pending = fitted
            elif command.must_fit:
                return _TOPOLOGY
        asked, generation = _Asked({}, [], []), None
        if not command.is_remote:
            if not choice.allocations:
                if not has_room(self._view, host, self._amounts):
                    return _FULL
                self._drop_lease(holder)
            else:
                found = self._asked(choice.allocations, holder)
                if found is None:
                    return _UNKNOWN
                if self._view.refused(found.amounts) is not None:
                    return _FULL
                asked, generation = found, self._write_allocations(found, holder)
        key = self._write_claim(choice, holder, generation, pending, booked)
        booking = Booking(
            holder.uuid,
            choice.host_id,
            asked.new,
            *self._amounts,
            None if command.group is None else command.group.uuid,
            None if pending is None else command.wanted,
            choice.providers,
            command.packs,
            None if pending is None else pending.fit,
        )
        self._view.put(booking, key, asked.amounts)
        if self.domains is not None:
            self.domains.put(host)
        self.fits.append(booking.fit)
        self.generations.append(generation)
        return None

    def _pending(
        self, host: int, choice: Choice, holder: _Holder, wanted: Wanted
    ) -> PromisedTopology | FitLack:
        """What the instance is promised of the host's cells and devices."""
        command, hosts = self._command, self._draft.state.fleet.hosts
        pending = pending_on(hosts, host, wanted, choice.providers, packs=command.packs)
        found = self._view.fits(host, pending, holder.claim_id)
        if isinstance(found, FitLack):
            # What an instance on a forced host takes may be unknown, not nothing.
            is_unknown = found == CLOSED or found.is_of_search
            return pending if is_unknown and not command.must_fit else found
        return replace(pending, fit=found) if hosts.obeys(host) else pending

    def _asked(
        self, wanted: Mapping[str, dict[str, int]], holder: _Holder
    ) -> _Asked | None:
        """What is new of a choice; None where something of it is gone."""
        state, has = self._draft.state, set()
        for row in holder.kept:
            has.add(row.resource_provider_id)
        found = _Asked({}, [], [])
        for uuid, amounts in wanted.items():
            if uuid not in self._providers:
                self._providers[uuid] = state.providers.find(uuid)
            provider = self._providers[uuid]
            if provider is None:
                return None
            if provider.id in has:
                continue
            found.new[uuid] = amounts
            number = state.providers.row_by_id[provider.id]
            for name, amount in amounts.items():
                numbers = state.classes.numbers_of(name)
                if numbers is None:
                    return None
                key, index = numbers
                found.rows.append((provider, key, amount))
                found.amounts.append(((number, index), amount))
        return found

    def _write_allocations(self, asked: _Asked, holder: _Holder) -> int:
        """Writes allocations as PUT would; answers with the consumer's generation
        afterwards."""
        draft, command = self._draft, self._command
        for row in holder.kept:
            provider = draft.state.providers.get(row.resource_provider_id)
            assert provider is not None
            asked.rows.append((provider, row.resource_class_id, row.used))
        consumer = ConsumerAllocations(
            holder.uuid, {}, command.project_id, command.user_id
        )
        old = [*holder.kept, *holder.dropped]
        change = allocations.ConsumerChange(consumer, holder.consumer, old, asked.rows)
        allocations.write(draft, change)
        for row in holder.kept:
            draft.change(t.ALLOCATIONS, row, replace(row, updated_at=draft.now))
        return 1 if holder.consumer is None else holder.consumer.generation + 1

    def _drop_lease(self, holder: _Holder) -> None:
        """A claim without allocations ends those of the lease that it replaces."""
        if holder.claim is not None and holder.dropped:
            leases.give_back(self._draft, holder.claim)

    def _write_claim(
        self,
        choice: Choice,
        holder: _Holder,
        generation: int | None,
        pending: PromisedTopology | None,
        booked: Booked | None,
    ) -> int:
        """The id of its row."""
        draft, command = self._draft, self._command
        group, near = command.group, command.artifacts or UNSET
        old = holder.claim
        called = {} if old is None else {one: getattr(old, one) for one in NAMELESS}
        if booked is not None:
            called = asdict(booked)
        if old is not None and holder.stays:
            leases.leave(draft, old, old.instance_uuid)
            old = None
        digest, answered = command.identity.digest, None
        if digest or near:  # else no request is equal to this one
            answered = Answered(digest, choice.allocations, choice.mappings, near).text
        row = BookingRow(
            draft.new_id(t.BOOKINGS) if old is None else old.id,
            command.claim,
            holder.uuid,
            choice.host_id,
            command.vcpus,
            command.memory_mb,
            command.disk_mb,
            None if group is None else group.uuid or None,
            self._leased_until,
            generation,
            self._remote(choice, holder) if command.is_remote else None,
            draft.now,
            None,
            None if pending is None else to_text(pending),
            None,
            answered,
            **called,
        )
        draft.change(t.BOOKINGS, old, row)
        return row.id

    def _remote(self, choice: Choice, holder: _Holder) -> str:
        """What a remote Placement is to hold, remembered before it is asked."""
        command = self._command
        wanted = holding(
            choice.allocations,
            holder.held,
            project_id=command.project_id,
            user_id=command.user_id,
        )
        return wanted.text


def _words(
    hosts: HostTable, instance: InstanceClaim, misses: dict[str, list[int]]
) -> str:
    parts = []
    for miss, numbers in misses.items():
        key = instance.choices[numbers[0]].host_id
        row = hosts.row_by_id.get(key)
        name = f"host number {key}" if row is None else f"host {hosts.hosts[row]}"
        parts.append(f"{miss} ({len(numbers)}, first {name})")
    return (
        f"Instance {instance.instance_uuid} cannot be placed: "
        f"{len(instance.choices)} choices were tried, and none is "
        f"possible now: {'; '.join(parts) or 'there was none'}. "
        "Nothing was claimed. Pick hosts again."
    )


def _is_uncounted(row: BookingRow) -> bool:
    """Whether the instance uses cells or devices that only the claim stands for: it was
    launched there, and is to be moved or resized before a report counts it."""
    return row.topology is not None and row.leased_until is None
