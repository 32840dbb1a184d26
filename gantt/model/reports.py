"""Reports of agents: what a host says of itself, in a sequence that shows losses.

Separate from ``hosts`` because ``update_host`` takes any statement as it comes: a
report also says which agent made it, what was said before, and when.

An agent sends one full report, then deltas. Its reports with fields are numbered 1, 2,
…; one without fields says that nothing changed and repeats the last number. So a delta
is applied exactly where everything before it was, a repeated one does no harm, and
reports that say nothing need no write.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Final, Literal, TypeAlias

from msgspec import UNSET, Meta, Struct

from gantt.model.bounds import MAX_NAME, Name
from gantt.model.hosts import HostStats

MAX_SEQUENCE: Final = 2**53 - 1
MAX_TIME: Final = 2**53 - 1
MAX_DIGEST: Final = 64

AMOUNTS: Final = (
    "vcpus",
    "memory_mb",
    "local_gb",
    "vcpus_used",
    "memory_mb_used",
    "local_gb_used",
)
HEARTBEAT: Final = "#heartbeat"
"""After the key of a report without fields."""
NOT_NULL: Final[dict[str, object]] = {
    **dict.fromkeys((*AMOUNTS, "instances"), UNSET),
    "traits": (),
    "holds": {},
    "obeys_claims": False,
    "lists_instances": False,
}
"""What stands for a field that is gone, where null cannot; UNSET: it stays."""

STATS: Final = "stats"
"""The field that has the columns of plug-ins, by key."""

Sequence = Annotated[int, Meta(ge=1, le=MAX_SEQUENCE)]
Time = Annotated[int, Meta(ge=0, le=MAX_TIME)]
"""Microseconds since 1970, UTC."""
Digest = Annotated[str, Meta(max_length=MAX_DIGEST)]


class Report(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the agent of one host reports.

    ``incarnation``: a uuid made when the agent started. ``sequence``: 1 for its first
    report, one more for each with fields. ``needs``: the digest of the ``Needs`` that
    it was made for; "": it says all that is known. ``full``: ``fields`` is all that the
    agent says of the host; else what changed since the report before, null where a
    value is gone.
    ``taken_at``: the host's clock when it was collected. ``unread``: fields, and
    columns of plug-ins (``stats.KEY``), of which the host could not find out what they
    are now: what is known of them stays.
    ``beats``: the agent goes on reporting, and its host is down when that stops, unless
    a group of agents tells.
    """

    host: Name
    node: Name
    incarnation: Name
    sequence: Sequence
    taken_at: Time
    full: bool = False
    needs: Digest = ""
    fields: HostStats = HostStats()
    unread: tuple[Name, ...] = ()
    beats: bool = False

    @property
    def key(self) -> str:
        """What it is filed under: nothing older of the same key is of use. One that
        says that nothing changed must not take the place of one that says what is."""
        host, node = _step(self.host), _step(self.node)
        place = host if node == host else f"{host}/{node}"
        return place if self.has_fields else place + HEARTBEAT

    @property
    def has_fields(self) -> bool:
        """Whether it says anything but that nothing changed."""
        stats = self.fields
        return any(
            getattr(stats, name) is not UNSET for name in stats.__struct_fields__
        )


def _step(name: str) -> str:
    """``name`` without what separates the parts of a key."""
    return name.replace("%", "%25").replace("/", "%2F").replace("#", "%23")


class Delivery(Struct, frozen=True):
    """A report that something else brought from its agent, or what should be one.

    ``key``: what it was filed under, which must be ``Report.key``. ``host``: the only
    one that it may be of; None: any. ``at``: when it was filed, microseconds since
    1970; it may have waited since. ``source``: where; deliveries of one come in order.
    """

    report: bytes
    key: str
    at: int
    host: str | None = None
    source: str = ""


Outcome: TypeAlias = Literal[
    "applied", "unchanged", "duplicate", "superseded", "refused"
]


class ReportOutcome(Struct, frozen=True):
    """What became of one report.

    ``applied``: it is durable. ``unchanged``: it says that nothing changed, and nothing
    was missed. ``duplicate``: it was applied before, or something later of the same
    agent. ``superseded``: an agent that started later reports this host. ``refused``:
    ``code`` and ``message`` say why, and the last good state stays; with ``wants_full``
    a full report is needed. ``needs``: the digest to make the next report for.
    ``taken_at``: that of the last report that was applied, where one was. ``beat_s``:
    seconds in which to report again so that the host stays up; None: as the agent
    likes.
    """

    host: str
    node: str
    outcome: Outcome
    code: str = ""
    message: str = ""
    wants_full: bool = False
    needs: str = ""
    taken_at: int | None = None
    beat_s: float | None = None


class ReportPlace(Struct, frozen=True):
    """The last report of a host that was applied, as it is stored with the host.

    ``told``: the fields that its agent gave a value, sorted; a full report without one
    of them takes it back. ``past``: incarnations before, the latest first. ``made``:
    how many traits came into being by the node's reports so far.
    """

    incarnation: Annotated[str, Meta(max_length=MAX_NAME)]
    sequence: int
    needs: str
    taken_at: int
    told: tuple[str, ...] = ()
    past: tuple[str, ...] = ()
    made: int = 0


def column_key(name: str) -> str:
    """KEY of ``stats.KEY``, a column of a plug-in; "": this is another field."""
    field, _, key = name.partition(".")
    return key if field == STATS else ""


def with_unread(stats: Any, known: Any, unread: Iterable[str]) -> Any:
    """``stats`` of a report with those columns that could not be read as they are
    ``known``; what it is (UNSET, None) where there are none."""
    if not isinstance(known, dict) or (stats and not isinstance(stats, dict)):
        return stats
    keys = {column_key(name) for name in unread} & known.keys()
    if not keys:
        return stats
    return {**{key: known[key] for key in keys}, **(stats or {})}
