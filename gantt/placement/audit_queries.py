"""The audit: what is claimed and booked, against what hosts report. Pure.

Only a host that lists its instances, and whose list is fresh, says that one is not
there. Leased claims are not looked at: they end by themselves.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from gantt.errors import Invalid
from gantt.model.audit import Audit, AuditTerms, Finding, Silence
from gantt.model.names import canonical, spellings
from gantt.model.paging import text_of
from gantt.model.rows import NO_HOST, BookingRow, ConsumerRow
from gantt.placement import drift, host_moves, listings
from gantt.placement.fleet_queries import is_changed
from gantt.placement.listings import InstanceList
from gantt.placement.pause import Pause, never
from gantt.placement.queries import amounts_of, shares_on
from gantt.state.column import NO_ROW
from gantt.state.fleet_tables import COMPUTE
from gantt.state.state import State

_HOSTED: Final = ("VCPU", "PCPU", "MEMORY_MB")
"""A provider with none of these is no host's: it shares its disks, say."""
_INSTANCE: Final = "INSTANCE"

Allocations = dict[str, dict[str, int]]


def audit(state: State, now: int, terms: AuditTerms, rest: Pause = never) -> Audit:
    """All hosts, then what is on none. ``now``: microseconds; ``rest`` is called
    between hosts, and may let others write. Raises Invalid: no such host."""
    table = state.fleet.hosts
    if terms.host and terms.after is None and not table.rows_of(terms.host):
        raise Invalid(
            f"The host {terms.host!r} is not known here: 'gantt host list' lists those "
            "that are. Correct it, or leave it out."
        )
    ids = [int(table.id[row]) for row in table.live_rows()]
    page = _Page(terms)
    counts: Counter[str] = Counter()
    silent: Counter[Silence] = Counter()
    looked = 0

    def take(findings: Iterator[Finding]) -> None:
        for one in findings:
            if terms.wants(one):
                counts[one.kind] += 1
                page.add(one)
        rest()

    for host_id in ids:
        row = table.row_by_id.get(host_id)
        if row is not None and terms.host in ("", table.hosts[row]):
            looked += 1
            listing = listings.listing_at(state, row, now, terms.fresh_us)
            if not isinstance(listing, InstanceList):
                silent[listing] += 1
            take(of_host(state, row, now, terms))
    if not terms.host and (not terms.kinds or "host_gone" in terms.kinds):
        for root in roots_without_host(state, rest):
            take(of_lost_root(state, root, now, terms))
        for instance in sorted(state.fleet.claims.on(NO_HOST)):
            take(of_lost_claim(state, instance, now, terms))
    found, is_truncated = page.shown()
    listing_hosts = looked - silent.total()
    return Audit(
        state.revision,
        now,
        looked,
        listing_hosts,
        dict(sorted(counts.items())),
        found,
        is_truncated,
        is_blind=not listing_hosts and terms.compares_lists,
        next=text_of(found[-1].place) if is_truncated else "",
        silent=dict(sorted(silent.items())),
    )


class _Page:
    """The first findings beyond a place, of which no more are kept than are shown."""

    def __init__(self, terms: AuditTerms) -> None:
        self._limit, self._after = terms.limit, terms.after
        self._found: list[Finding] = []
        self._is_truncated = False

    def add(self, one: Finding) -> None:
        if self._after is None or one.place > self._after:
            self._found.append(one)
        if len(self._found) > 2 * self._limit:
            self._cut()

    def shown(self) -> tuple[tuple[Finding, ...], bool]:
        """Those, in order, and whether there are more."""
        self._cut()
        return tuple(self._found), self._is_truncated

    def _cut(self) -> None:
        self._found.sort(key=lambda one: one.place)
        self._is_truncated |= len(self._found) > self._limit
        del self._found[self._limit :]


def of_host(
    state: State,
    row: int,
    now: int,
    terms: AuditTerms,
) -> Iterator[Finding]:
    """The findings about the host at ``row``."""
    table = state.fleet.hosts
    provider = int(table.provider[row])
    root = None if provider == NO_ROW else int(state.providers.root[provider])
    uuid = None if root is None else state.providers.at(root).uuid
    place = Finding(
        kind="no_claim",
        host=table.hosts[row],
        node=table.nodes[row],
        provider_uuid=uuid,
    )
    if root is not None:
        yield from drift.found(state, root, table.stats[row], place)
    yield from _changed(state, int(table.id[row]), now - terms.grace_us, place)
    listing = listings.listing_at(state, row, now, terms.fresh_us)
    if isinstance(listing, InstanceList):
        yield from _of_list(state, row, place, listing, now, terms)


def _of_list(
    state: State,
    row: int,
    place: Finding,
    listing: InstanceList,
    now: int,
    terms: AuditTerms,
) -> Iterator[Finding]:
    """What the list of the host at ``row`` shows."""
    provider = int(state.fleet.hosts.provider[row])
    root = None if provider == NO_ROW else int(state.providers.root[provider])
    claims, host_id = state.fleet.claims, int(state.fleet.hosts.id[row])
    claimed = {
        claims.by_instance[instance].held_by or instance  # it ends with its holder's
        for instance in claims.on(host_id)
    }
    before = listing.at - terms.grace_us
    held = claimed if root is None else claimed | _consumers(state, root)
    named = _only_named(state, row, held, before)
    here = {one: canonical(one) for one in held}
    there = {**here, **{one: canonical(one) for one in named}}
    missing = sorted(one for one, key in there.items() if key not in listing.names)
    booked = {} if root is None or not missing else _allocations(state, root)
    for instance in missing:
        if instance in booked and _is_migration(state, row, instance):
            continue  # what it keeps may run here still
        if host_moves.ended_at(state, row, instance) > before:
            continue
        if _is_due(state, instance, before):
            since = listing.missing_since(there[instance])
            if _is_typeless(state, row, instance):
                since = max(since, host_moves.told_since(state, row))
            yield _no_workload(
                replace(place, instance_uuid=instance),
                _claim_here(state, host_id, instance),
                booked.get(instance, {}),
                listings.elsewhere(state, row, instance),
                is_new=since > before,
                is_settled=_is_settled(state, row, instance, now, terms),
                is_doubtful=_may_be_migration(state, row, instance),
            )
    unclaimed = listing.names.difference(here.values())
    for instance in sorted(unclaimed):
        if listings.is_new_at(state, row, instance, before, now - terms.grace_us):
            continue
        if _is_calm(state, instance, before):
            yield from _unclaimed(state, row, place, listing, instance)


def _unclaimed(
    state: State, row: int, place: Finding, listing: InstanceList, instance: str
) -> Iterator[Finding]:
    """The host at ``row`` lists the instance, which has nothing there."""
    table, claims = state.fleet.hosts, state.fleet.claims
    nodes = table.rows_of(table.hosts[row])
    is_known = state.consumers.find(instance) is not None
    if listing.is_of_cell and len(nodes) > 1:
        # On which node it runs is not told: found once, where nothing has it.
        if is_known or instance in claims.by_instance or row != min(nodes):
            return
        place = replace(place, node="")
    yield replace(
        place,
        instance_uuid=instance,
        detail="it runs here, and its allocations are on another provider"
        if is_known
        else "it runs here, and has neither allocations nor a claim",
    )


def roots_without_host(state: State, rest: Pause = never) -> list[int]:
    """Ids of the roots of trees like those of hosts that no host has."""
    found = []
    for key in sorted(state.providers.row_by_id):
        row = state.providers.row_by_id.get(key)
        if row is not None and _is_lost_root(state, row):
            found.append(key)
        rest()
    return found


def of_lost_root(
    state: State,
    root_id: int,
    now: int,
    terms: AuditTerms,
) -> Iterator[Finding]:
    """The instances on a tree without a host."""
    root = state.providers.row_by_id.get(root_id)
    if root is None:
        return
    provider = state.providers.at(root)
    for instance, allocations in sorted(_allocations(state, root).items()):
        claim = state.fleet.claims.by_instance.get(instance)
        if claim is not None and claim.host_id == NO_HOST:
            continue  # ``of_lost_claim`` has it
        if _is_due(state, instance, now - terms.grace_us):
            yield _host_gone(
                instance,
                f"no host has the provider {provider.name}",
                allocations,
                listings.elsewhere(state, None, instance),
                provider_uuid=provider.uuid,
            )


def of_lost_claim(
    state: State,
    instance: str,
    now: int,
    terms: AuditTerms,
) -> Iterator[Finding]:
    """The instance, if its host was deleted after its claim was confirmed. What it has
    on a tree that a host has is that host's to say."""
    claim = state.fleet.claims.by_instance.get(instance)
    if claim is None or claim.host_id != NO_HOST:
        return
    if claim.held_by is not None and amounts_of(state, claim.held_by):
        return  # it ends with these
    if not _is_due(state, instance, now - terms.grace_us):
        return
    allocations = amounts_of(state, instance)
    trees = [state.providers.row_of(uuid) for uuid in allocations]
    if any(row is not None and _has_host(state, row) for row in trees):
        return
    yield _host_gone(
        instance,
        "the host of its claim was deleted",
        allocations,
        listings.elsewhere(state, None, instance),
        claim=claim.claim,
    )


def still(
    state: State, finding: Finding, now: int, terms: AuditTerms
) -> Finding | None:
    """What holds now of a finding; None: nothing. Looks at one host or one tree, and
    whether another host lists the instance."""
    hosts, providers = state.fleet.hosts, state.providers
    found: Iterator[Finding] = iter(())
    if finding.kind != "host_gone":
        row = hosts.row_of(finding.host, finding.node)
        if row is not None:
            found = of_host(state, row, now, terms)
    elif finding.provider_uuid is None:
        found = of_lost_claim(state, finding.instance_uuid or "", now, terms)
    else:
        provider = providers.row_of(finding.provider_uuid)
        if provider is not None and _is_lost_root(state, provider):
            found = of_lost_root(state, int(providers.id[provider]), now, terms)
    return next((one for one in found if one.subject == finding.subject), None)


def _changed(
    state: State, host_id: int, before: int, place: Finding
) -> Iterator[Finding]:
    """Claims on the host that can give nothing back, and whose instances no host named:
    what runs is not to give anything back."""
    for instance in sorted(state.fleet.claims.on(host_id)):
        row = state.fleet.claims.by_instance[instance]
        if row.is_running or row.counted_at is not None:
            continue
        if host_moves.is_moving(state, instance):
            continue
        touched = max(row.created_at or 0, row.updated_at or 0)
        if row.leased_until is None and touched <= before and is_changed(state, row):
            yield replace(
                place,
                kind="claim_changed",
                instance_uuid=instance,
                claim=row.claim,
                allocations=amounts_of(state, instance),
                detail="its allocations were changed since it was claimed, so that "
                "neither the end of its lease nor its release frees them: if it does "
                "not run, delete them",
            )


def _has_host(state: State, row: int) -> bool:
    """Whether a host has a provider of the tree that ``row`` is in."""
    uuids = (state.providers.at(one).uuid for one in state.providers.tree(row))
    return any(state.fleet.hosts.row_of_uuid(uuid) is not None for uuid in uuids)


def _is_lost_root(state: State, row: int) -> bool:
    """Whether ``row`` is the root of a tree like those of hosts, and no host has it.
    Not while no host is known at all: these books have other readers."""
    providers = state.providers
    return (
        bool(state.fleet.hosts.row_by_id)
        and int(providers.root[row]) == row
        and any(drift.total_of(state, one, _HOSTED) for one in providers.tree(row))
        and not _has_host(state, row)
    )


def _is_due(state: State, instance: str, before: int) -> bool:
    """Whether it is an instance, and its workload should be there since ``before``."""
    claims = _claims_of(state, instance)
    if any(one.remote is not None for one in claims):
        return False
    consumer = state.consumers.find(instance)
    if consumer is not None and consumer.consumer_type_id is not None:
        name = state.consumer_types.name_of_id(consumer.consumer_type_id)
        if name.upper() != _INSTANCE:
            return False
    return _is_calm(state, instance, before)


def _is_calm(state: State, instance: str, before: int) -> bool:
    """Whether it does not move, and nothing was claimed or allocated for it since
    ``before``."""
    claims, consumer = _claims_of(state, instance), state.consumers.find(instance)
    if host_moves.is_moving(state, instance) or any(
        one.leased_until is not None for one in claims
    ):
        return False
    rows: list[BookingRow | ConsumerRow] = [*claims]
    if consumer is not None:
        rows.append(consumer)
    return all(max(one.created_at or 0, one.updated_at or 0) <= before for one in rows)


def _claims_of(state: State, instance: str) -> list[BookingRow]:
    """However its uuid is written."""
    known = state.fleet.claims.by_instance
    return [known[one] for one in spellings(instance) if one in known]


def _claim_here(state: State, host_id: int, instance: str) -> str:
    """The name of a claim of the instance on the host, or of one that it keeps there;
    "": there is none."""
    table = state.fleet.claims
    own = table.by_instance.get(instance)
    found = [*([] if own is None else [own]), *table.held_by(instance)]
    return next((one.claim for one in found if one.host_id == host_id), "")


def _is_migration(state: State, row: int, consumer: str) -> bool:
    """Whether the consumer, whose type may be unknown, keeps cells or devices of the
    host that another one left, and is no instance itself: it has no claim, and no host
    has named it. Where it is told what moves, that says more."""
    if host_moves.is_told(state, row):
        return False
    host_id = int(state.fleet.hosts.id[row])
    held = state.fleet.claims.held_by(consumer)
    return any(one.host_id == host_id for one in held) and _is_nameless(state, consumer)


def _may_be_migration(state: State, row: int, consumer: str) -> bool:
    """Whether the consumer may be a migration that has not ended, and nothing is told
    of those: then its instance may run here, or come back."""
    return _is_typeless(state, row, consumer) and not host_moves.is_told(state, row)


def _is_typeless(state: State, row: int, consumer: str) -> bool:
    """Whether the consumer may be a migration of Nova, which keeps what an instance has
    at the source until it ends, and has no type. One of an instance that Nova deleted
    looks the same."""
    host = state.fleet.hosts.hosts[row]
    known = state.consumers.find(consumer)
    return (
        (host, COMPUTE) in state.fleet.services.by_place
        and known is not None
        and known.consumer_type_id is None
        and _is_nameless(state, consumer)
    )


def _is_nameless(state: State, consumer: str) -> bool:
    """Whether no claim and no host has named it as an instance."""
    fleet = state.fleet
    return not any(
        one in fleet.claims.by_instance or one in fleet.instances.by_uuid
        for one in spellings(consumer)
    )


def _is_settled(
    state: State, row: int, instance: str, now: int, terms: AuditTerms
) -> bool:
    """Whether another host than that at ``row`` lists the instance and has allocations
    of it, as after an evacuation: what a move leaves behind is its migration's."""
    hosts, key = state.fleet.hosts, canonical(instance)
    others = set(hosts.listers.rows.get(key, ()))
    for uuid in (instance, key):
        named = state.fleet.instances.by_uuid.get(uuid)
        others.update(() if named is None else hosts.rows_of(named.host))
    places = [state.providers.row_of(one) for one in amounts_of(state, instance)]
    roots = {int(state.providers.root[one]) for one in places if one is not None}
    for other in others - {row}:
        provider = int(hosts.provider[other])
        listing = listings.listing_at(state, other, now, terms.fresh_us)
        if (
            provider != NO_ROW
            and int(state.providers.root[provider]) in roots
            and isinstance(listing, InstanceList)
            and key in listing.names
        ):
            return True
    return False


def _no_workload(
    place: Finding,
    claim: str,
    allocations: Allocations,
    other: str | None,
    *,
    is_new: bool,
    is_settled: bool,
    is_doubtful: bool,
) -> Finding:
    """``is_new``: its host has not gone on long enough without it; ``is_settled``: it
    has what it needs where it is; ``is_doubtful``: it may be no instance."""
    what = "allocations" if allocations else "a claim" if claim else "a name"
    may_repair = not (is_new or is_doubtful) and (other is None or is_settled)
    runs = "does not list it"
    if other is not None and not is_settled:
        runs = f"does not list it: {other} does, or did last"
    elif is_new:
        runs = "has not listed it for less than the grace: look again later"
    elif other is not None:
        runs = f"does not list it: {other} does, and it has allocations there"
    elif is_doubtful:
        runs = (
            "does not list it: unless it is a migration that has not ended, delete its "
            "allocations"
        )
    return replace(
        place,
        kind="no_workload",
        claim=claim,
        allocations=allocations,
        detail=f"it has {what} here, and the host {runs}",
        repair=f"remove its {what.removeprefix('a ')} here" if may_repair else "",
    )


def _host_gone(
    instance: str,
    detail: str,
    allocations: Allocations,
    other: str | None,
    *,
    provider_uuid: str | None = None,
    claim: str = "",
) -> Finding:
    return Finding(
        kind="host_gone",
        provider_uuid=provider_uuid,
        instance_uuid=instance,
        claim=claim,
        allocations=allocations,
        detail=detail if other is None else f"{detail}; {other} names or lists it",
        # What was deleted as a whole may lie on a host that still runs it.
        repair="" if other is not None else "remove its allocations",
    )


def _consumers(state: State, root: int) -> set[str]:
    """Consumers with allocations on the tree at ``root``."""
    table, uuids = state.allocations, state.consumers.uuids
    found: set[str] = set()
    for provider in state.providers.tree(root):
        rows = table.by_provider.rows_of(provider)
        found.update(uuids[one] for one in table.consumer[list(rows)].tolist())
    return found


def _only_named(state: State, row: int, held: set[str], before: int) -> set[str]:
    """Instances that the books name on the host at ``row``, and that have nothing
    there. Of a host with several nodes it is not known whose they are."""
    hosts = state.fleet.hosts
    host = hosts.hosts[row]
    if len(hosts.rows_of(host)) > 1:
        return set()
    return {
        uuid
        for uuid, one in state.fleet.instances.on(host).items()
        if uuid not in held and max(one.created_at or 0, one.updated_at or 0) <= before
    }


def _allocations(state: State, root: int) -> dict[str, Allocations]:
    """Instance -> provider uuid -> class -> amount, of the tree at ``root``."""
    found: dict[str, Allocations] = {}
    for provider in state.providers.tree(root):
        uuid = state.providers.uuids[provider]
        for consumer, amounts in shares_on(state, provider).items():
            found.setdefault(consumer, {})[uuid] = amounts
    return found
