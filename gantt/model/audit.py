"""The audit of a fleet: where what is claimed and what hosts report disagree.

Values of their own because library, doors and rules share them: a finding is also what
a repair is asked with, and what its record says that it undid.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal, TypeAlias, get_args

from msgspec import Meta, Struct

from gantt.model.bounds import Name

Kind: TypeAlias = Literal[
    "no_workload", "no_claim", "inventory_drift", "host_gone", "claim_changed"
]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
Silence: TypeAlias = Literal["no_list", "old_list", "cell_unread"]
"""Why it is not known what runs on a host: it tells no whole list, its last one is too
old, or the database of its cell, which has what moves, is not read."""
SILENCES: Final[tuple[Silence, ...]] = get_args(Silence)
MOST_FINDINGS: Final = 10_000
GRACE_S: Final = 600.0
LONGEST_GRACE_S: Final = 31_536_000.0

Grace = Annotated[float, Meta(ge=0, le=LONGEST_GRACE_S)]
Findings = Annotated[int, Meta(ge=1, le=MOST_FINDINGS)]


FINDINGS_PAGE: Final = 1_000
"""Of one answer; they are short."""
FindingPlace = tuple[str, str, str, str]


class Finding(Struct, frozen=True, kw_only=True):
    """One disagreement.

    ``no_workload``: an instance has allocations or a claim on a host that does not list
    it. ``no_claim``: a host lists an instance that has neither there.
    ``inventory_drift``: a host reports another amount than the books have.
    ``host_gone``: an instance has allocations on a provider whose host is gone.
    ``claim_changed``: another writer changed what a claim allocated, so that neither
    the end of its lease nor its release frees that.

    ``host`` and ``node`` "": gone. ``provider_uuid``: the root of the host's providers.
    ``allocations``: provider uuid -> class -> amount, of the instance there; ``claim``:
    the claim's uuid, "": none. ``reported`` and ``booked``: totals of
    ``resource_class``. ``detail``: the same in words; ``repair``: what a repair does,
    "": none can be made here.
    """

    kind: Kind
    host: str = ""
    node: str = ""
    provider_uuid: Name | None = None
    instance_uuid: Name | None = None
    claim: str = ""
    allocations: dict[str, dict[str, int]] = {}
    resource_class: str = ""
    reported: int | None = None
    booked: int | None = None
    detail: str = ""
    repair: str = ""

    @property
    def place(self) -> FindingPlace:
        """Where it stands among others."""
        return self.kind, self.host, self.node, str(self.subject)

    @property
    def subject(self) -> tuple[object, ...]:
        """What it is about; the rest may change meanwhile."""
        return (
            self.kind,
            self.host,
            self.node,
            self.provider_uuid,
            self.instance_uuid,
            self.resource_class,
        )

    @property
    def facts(self) -> tuple[object, ...]:
        """What a repair would undo."""
        return self.claim, self.allocations, self.reported, self.booked


class Audit(Struct, frozen=True):
    """``findings``: by kind, host and instance, at most as many as were asked for;
    ``counts``: all, by kind. ``hosts``: how many were looked at; ``listing``: of how
    many it is known what runs there now; ``silent``: of how many it is not, by why;
    ``is_blind``: of none, so that what is booked could be compared with nothing that
    runs. ``at``: microseconds.
    ``next``: with ``is_truncated``, where to continue."""

    revision: int
    at: int
    hosts: int
    listing: int
    counts: dict[str, int]
    findings: tuple[Finding, ...]
    is_truncated: bool = False
    is_blind: bool = False
    next: str = ""
    silent: dict[Silence, int] = {}


class AuditTerms(Struct, frozen=True):
    """``fresh_us``: a list that was made longer ago says nothing of what runs.
    ``grace_us``: an allocation or claim that was that young when the list was made may
    not have had its workload yet. Microseconds. ``kinds``: only these, (): all;
    ``host``: only findings about it, "": all; ``after``: only those beyond it."""

    fresh_us: int
    grace_us: int
    limit: int = MOST_FINDINGS
    kinds: tuple[Kind, ...] = ()
    host: str = ""
    after: FindingPlace | None = None

    @property
    def compares_lists(self) -> bool:
        """Whether a kind is looked for that only a list of what runs can show."""
        return not self.kinds or not {"no_workload", "no_claim"}.isdisjoint(self.kinds)

    def wants(self, finding: Finding) -> bool:
        return (not self.kinds or finding.kind in self.kinds) and (
            self.host in ("", finding.host)
        )
