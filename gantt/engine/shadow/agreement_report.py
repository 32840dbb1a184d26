"""The report: computed from the records alone. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from msgspec.structs import replace

from gantt.model.shadow import (
    WITH_HOST,
    Agreement,
    Disagreement,
    ShadowRecord,
    ShadowReport,
    Spread,
    SwitchEffect,
    Usage,
)

LATE: Final = "claims that no report had"
"""The reason where Gantt did not know how full its own host was by then."""
_BY_LOAD: Final = ("ranked", "refused_by_nova")
"""The verdicts that follow from how full hosts are."""
_FEW: Final = 100
"""With fewer, a share says little: ten more could change it by tenths."""


class Slimmed:
    """``records`` without what the report does not use of them: a hundred thousand
    must not take the memory of whole ones. The first of each kind is shown as an
    example, and stays as it is."""

    def __init__(self) -> None:
        self.records: list[ShadowRecord] = []
        self._shown: set[tuple[str, str]] = set()

    def add(self, records: Iterable[ShadowRecord]) -> None:
        """The latest first, as ``report_on`` takes them."""
        for one in records:
            kind = one.verdict, reason_of(one)
            self.records.append(slim(one) if kind in self._shown else one)
            self._shown.add(kind)


def slim(record: ShadowRecord) -> ShadowRecord:
    """``record`` with what ``report_on`` reads of it, and no more."""
    reason = max(
        record.differences, key=lambda name: record.differences[name], default=None
    )
    return replace(
        record,
        ranked=record.ranked[:1],
        refused={},
        refused_hosts=(),
        differences={} if reason is None else {reason: record.differences[reason]},
    )


def report_on(records: Sequence[ShadowRecord]) -> ShadowReport:
    """``records``: the latest first. Of one claim, which processes saw at
    different stages, the latest record counts."""
    records = _distinct(records)
    counts = Counter(one.verdict for one in records)
    times = [one.asked_at for one in records]
    return ShadowReport(
        len(records),
        min(times, default=None),
        max(times, default=None),
        dict(counts.most_common()),
        _agreement(records),
        _disagreements(records),
        _spread(one.gantt_s for one in records),
        _spread(one.nova_s for one in records),
        _spread(one.lag_s for one in records),
        _effect(records),
        tuple(_notes(records)),
        _spread(one.facts_s for one in records),
    )


def _distinct(records: Sequence[ShadowRecord]) -> list[ShadowRecord]:
    claims: dict[object, ShadowRecord] = {}
    for one in records:
        has_claim = one.instance_uuid is not None and one.claimed_at is not None
        key = (one.instance_uuid, one.claimed_at, one.host) if has_claim else one.id
        claims.setdefault(key, one)
    return list(claims.values())


def _agreement(records: Sequence[ShadowRecord]) -> Agreement:
    seen = [one for one in records if one.verdict in WITH_HOST]
    ranks = [_rank(one) for one in seen]
    passing = [rank for rank in ranks if rank is not None]

    def share(most: int) -> float | None:
        within = sum(rank <= most for rank in passing)
        return within / len(seen) if seen else None

    same = sum(one.verdict == "same" for one in seen)
    return Agreement(
        len(seen),
        same / len(seen) if seen else None,
        share(3),
        share(5),
        share(10),
        sum(passing) / len(passing) if passing else None,
    )


def _rank(one: ShadowRecord) -> int | None:
    """Gantt's own choice is the first, also where an earlier instance of the same
    request took what ranked before it."""
    return 1 if one.verdict == "same" else one.rank


def _disagreements(records: Sequence[ShadowRecord]) -> tuple[Disagreement, ...]:
    examples: dict[tuple[str, str], ShadowRecord] = {}
    counts: Counter[tuple[str, str]] = Counter()
    unseen = _Unseen(records)
    for one in records:
        if one.verdict not in ("same", "both_refused"):
            key = one.verdict, LATE if unseen.by(one) else reason_of(one)
            examples.setdefault(key, one)
            counts[key] += 1
    return tuple(
        Disagreement(examples[key].verdict, key[1], count, examples[key])
        for key, count in counts.most_common()
    )


class _Unseen:
    """Nova's claims that Gantt learnt of from reports alone, by host: when they were
    made."""

    def __init__(self, records: Sequence[ShadowRecord]) -> None:
        self._at: dict[str, list[int]] = {}
        for one in records:
            is_told = one.learnt_from not in (None, "allocations")
            if is_told and one.host is not None and one.claimed_at is not None:
                self._at.setdefault(one.host, []).append(one.claimed_at)

    def by(self, record: ShadowRecord) -> bool:
        """Whether Nova claimed Gantt's host after the report that Gantt went by, for
        another instance, before it decided on this one."""
        if record.facts_s is None or record.verdict not in _BY_LOAD:
            return False
        until = record.decided_at
        since = until - round(record.facts_s * 1_000_000)
        times = self._at.get(record.gantt_host or "", ())
        own = record.claimed_at if record.host == record.gantt_host else None
        return any(since <= at <= until and at != own for at in times)


def reason_of(record: ShadowRecord) -> str:
    """A filter, a weigher, or what is known."""
    if record.refused_by is not None:
        return record.refused_by
    if record.differences:
        return max(record.differences, key=lambda name: record.differences[name])
    if record.verdict == "ranked":
        is_equal = record.ranked and record.weight == record.ranked[0].weight
        return "equal weight" if is_equal else "weight"
    if record.verdict == "undetermined":
        return record.note
    return ""


def _spread(values: Iterable[float | None]) -> Spread:
    known = sorted(value for value in values if value is not None)
    if not known:
        return Spread(0, None, None)
    last = len(known) - 1
    return Spread(len(known), known[last // 2], known[round(last * 0.99)])


def _effect(records: Sequence[ShadowRecord]) -> SwitchEffect:
    unseen = _Unseen(records)
    both = [r for r in records if r.host is not None and r.gantt_host is not None]
    return SwitchEffect(
        sum(one.verdict == "refused_by_nova" and not unseen.by(one) for one in records),
        sum(one.host is not None and one.gantt_host is None for one in records),
        _usage(str(one.gantt_host) for one in both),
        _usage(str(one.host) for one in both),
    )


def _usage(hosts: Iterable[str]) -> Usage:
    counts = Counter(hosts)
    return Usage(counts.total(), len(counts), max(counts.values(), default=0))


def _notes(records: Sequence[ShadowRecord]) -> Iterable[str]:
    if len(records) < _FEW:
        yield f"Few records ({len(records)}): shares may change much with more."
    inferred = sum(one.is_inferred for one in records)
    if inferred:
        yield (
            "Refusals of Nova that are inferred, as no claim came within "
            f"shadow_settle_s: {inferred}."
        )
    unknown = sum(one.verdict == "undetermined" for one in records)
    if unknown:
        yield f"Undetermined records, which count for neither side: {unknown}."
    late = sum(one.is_late for one in records)
    if late:
        yield f"Decisions that saw Nova's own claim, which lowers its host: {late}."
    if any(one.verdict in WITH_HOST for one in records):
        yield (
            "Gantt chose beside what Nova had placed before, as far as it knew: the "
            "spread of a cloud that Gantt schedules may differ."
        )
    facts = _spread(one.facts_s for one in records)
    if facts.count:
        yield (
            f"The last report of Gantt's host was {facts.p50_s:.1f} s old (median; "
            f"99th percentile {facts.p99_s:.1f} s). Instances that Nova placed since "
            "count where Gantt is Placement; else their hosts seemed to be emptier."
        )
