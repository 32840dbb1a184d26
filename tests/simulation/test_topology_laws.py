"""The laws of cells and devices: what they find in histories, and in wrong code."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from gantt.model import commands as c
from gantt.model import rows as t
from gantt.model.forms.shared_topology import read_host
from gantt.model.hosts import HostStats, Instance
from gantt.model.topology import Fit
from gantt.placement.rules import counted_claims, leases
from gantt.state.view import View
from gantt.topology import reported_claims as topology_counting
from gantt.topology.fit import fit
from gantt.topology.promised_topology import PromisedTopology, from_text, to_text
from tests.simulation import topology_laws as laws
from tests.simulation.history import Tables, empty_tables
from tests.simulation.machines import topology_of, wanted_of
from tests.simulation.run import Plan, Run

ONCE = "no CPU and no device is promised twice"
EARLY = "a claim on cells lasts until a later report counts it"
RISE = "a claim is counted by use that rose, and each rise once"
MOVED = "what an instance that moves uses is promised until a report counts it"
SECOND = 1_000_000
PROVIDER = "00000001-2222-4222-8222-222222222222"


def uuid_of(number: int) -> str:
    return f"{number:08x}-1111-4111-8111-111111111111"


def claim_row(key: int, *asked: int, found: Fit | None = None) -> t.BookingRow:
    text = to_text(PromisedTopology(wanted_of(*asked), fit=found))
    return t.BookingRow(
        id=key,
        claim=f"claim-{key}",
        instance_uuid=uuid_of(key),
        host_id=1,
        vcpus=1,
        memory_mb=64,
        disk_mb=0,
        group_uuid=None,
        leased_until=None,
        consumer_generation=None,
        remote=None,
        created_at=SECOND,
        updated_at=None,
        topology=text,
    )


def tables_of(*rows: t.BookingRow, host: str = "h1", **more: Any) -> Tables:
    """A host of two cells of two CPUs with two devices, and claims on it."""
    stats = {**topology_of(host, (), 2), **more}
    found = empty_tables()
    text = msgspec.json.encode(stats).decode()
    found[t.HOSTS] = {1: t.HostRow(1, host, host, PROVIDER, text, 1, None)}
    found[t.PROVIDERS] = {1: t.ProviderRow(1, PROVIDER, host, 0, 1, None, 1, None)}
    found[t.BOOKINGS] = {row.id: row for row in rows}
    return found


def claimed(*rows: t.BookingRow) -> c.Claim:
    """The last of ``rows`` is made, of one kind with the others."""
    instances = tuple(c.InstanceClaim(row.instance_uuid, ()) for row in rows)
    wanted = from_text(rows[-1].topology or "").wanted
    return c.Claim("x", instances, 1, 64, 0, "p", "u", wanted=wanted)


def broken_by(*rows: t.BookingRow, host: str = "h1") -> set[str]:
    found = laws.once(claimed(rows[-1]), tables_of(*rows, host=host))
    return {one.law for one in found}


def test_cpus_promised_twice_are_found() -> None:
    pairs = [claim_row(key, 2, 0) for key in (1, 2, 3)]
    assert broken_by(*pairs[:2]) == set()
    assert broken_by(*pairs) == {ONCE}
    # Three of four CPUs are enough, but not in one cell.
    ones = [claim_row(key, 1, 0) for key in (4, 5, 6)]
    assert broken_by(*ones, pairs[0]) == {ONCE}
    assert broken_by(*ones) == set()


def test_devices_promised_twice_are_found() -> None:
    nics = [claim_row(key, 0, 1) for key in (1, 2, 3)]
    assert broken_by(*nics[:2]) == set()
    assert broken_by(*nics) == {ONCE}
    # The host may have lost one: CPUs may be promised all the same.
    assert broken_by(*nics, claim_row(4, 1, 0)) == set()
    assert broken_by(*nics, claim_row(4, 1, 1)) == {ONCE}


@pytest.mark.parametrize("asked", [(2, 0), (0, 1)])
def test_what_is_named_twice_is_found(asked: tuple[int, int]) -> None:
    host = read_host(topology_of("h3", (), 2))
    found = fit(host, wanted_of(*asked), {})
    assert isinstance(found, Fit)
    first, second = (claim_row(key, *asked, found=found) for key in (1, 2))
    assert broken_by(first, host="h3") == set()
    assert broken_by(first, second, host="h3") == {ONCE}


def ended_by(row: t.BookingRow, command: c.Command[object], **more: Any) -> set[str]:
    before, after = tables_of(row, **more), tables_of(**more)
    found = [*laws.early(before, after, command)]
    if isinstance(command, c.SetAllocations):
        found += laws.moved(before, after, command)
    return {one.law for one in found}


def test_claims_that_end_early_are_found() -> None:
    row = claim_row(1, 1, 0)
    naming = c.UpdateInstances("h1", (Instance(row.instance_uuid),))
    assert ended_by(row, naming) == {EARLY}
    assert ended_by(row, naming, _saved_at=SECOND) == set()
    report = c.UpdateHost("h1", "h1", HostStats(vcpus=1), PROVIDER)
    assert ended_by(row, report) == {EARLY}
    assert ended_by(replace(row, counted_at=SECOND), report) == set()
    listing = HostStats(instances=(row.instance_uuid,))
    assert ended_by(row, replace(report, stats=listing)) == set()


def test_claims_that_are_counted_without_a_rise_are_found() -> None:
    row = claim_row(1, 1, 1)
    assert row.topology is not None
    counted = replace(
        row,
        topology=row.topology.replace('"is_counted":false', '"is_counted":true'),
    )
    report = c.UpdateHost("h1", "h1", HostStats(vcpus=1), PROVIDER)

    def broken(cpus: tuple[int, ...], nics: int) -> set[str]:
        new = tables_of(counted, **topology_of("h1", cpus, nics))
        return {one.law for one in laws.risen(tables_of(row), new, report)}

    assert broken((), 2) == broken((0,), 2) == broken((), 1) == {RISE}
    assert broken((0,), 1) == set()
    assert broken_by(counted, *(claim_row(key, 0, 1) for key in (2, 3))) == set()


def test_claims_that_end_with_a_move_are_found() -> None:
    row = claim_row(1, 1, 0)
    shares = {PROVIDER: {"VCPU": 1}}
    gone = c.ConsumerAllocations(row.instance_uuid, {}, "p", "u", 1)
    other = c.ConsumerAllocations(uuid_of(9), shares, "p", "u", None)
    assert ended_by(row, c.SetAllocations((gone, other))) == {MOVED}
    assert ended_by(row, c.SetAllocations((gone,))) == set()


# -- code that is wrong ----------------------------------------------------------------


def is_broken(law: str, most: int = 40) -> bool:
    """By any of so many runs. Wrong code may break other laws in an earlier one."""
    return any(
        law in {one.law for one in Run(Plan(seed, steps=100)).go().findings}
        for seed in range(most)
    )


def test_committer_that_does_not_fit_again_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fit_the_report(
        self: View, row: int, pending: PromisedTopology, claim_id: int | None = None
    ) -> Any:
        report = self.state.fleet.hosts.promises[row].report
        return fit(report, pending.wanted, pending.providers)

    monkeypatch.setattr(View, "fits", fit_the_report)
    assert is_broken(ONCE)


def test_claim_that_ends_when_it_is_named_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def end(draft: Any, row: t.BookingRow, host: str, saved_at: int | None) -> None:
        draft.delete(t.BOOKINGS, row)

    monkeypatch.setattr(counted_claims, "name", end)
    assert is_broken(EARLY)


def test_report_that_counts_every_claim_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def every(before: object, after: object, pendings: Any) -> list[int]:
        return [key for key, _ in pendings]

    monkeypatch.setattr(topology_counting, "counted", every)
    assert is_broken(RISE)


def test_claim_that_ends_with_a_move_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def end(draft: Any, row: t.BookingRow, held_by: str) -> None:
        draft.delete(t.BOOKINGS, row)

    monkeypatch.setattr(leases, "leave", end)
    assert is_broken(MOVED, 80)
