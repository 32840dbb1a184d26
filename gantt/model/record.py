"""Records of a service, line by line: what it was asked, and what it knew then.

The first line is a Head, an object that every release can read; the others are arrays
that begin with their kind. Lines come in the order in which things happened in one
process, so that applying ``Applied`` from the snapshot on gives each decision the very
State that it saw. Here because a service writes records, and a replay reads them.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from msgspec import Raw, Struct

from gantt.model.rows import Key
from gantt.model.spec import ScheduleRequest

KIND: Final = "gantt record"
FORMAT: Final = 2
SNAPSHOT_FORMAT: Final = 1
"""Of a file without decisions: older releases read it as well."""
SUFFIX: Final = ".record.gz"
FORMS: Final = 1024
"""Numbers of forms in a file: from 0 below this."""
BOOKS, REPORTS, REMOTE = "books", "reports", "remote"


class Head(Struct, frozen=True, kw_only=True):
    """``process``: a name that no other process ever has; ``number``: of the file,
    from 1 on. ``at``: microseconds since the epoch. ``version``: the Gantt that wrote
    it. ``began``: why this file was begun. ``follows``: it goes on exactly where
    the file before ends, so that its snapshot is of use only without that file."""

    kind: str = ""
    format: int = FORMAT
    version: str = ""
    process: str = ""
    number: int = 1
    at: int = 0
    began: str = ""
    follows: bool = False


class Rows(Struct, frozen=True, array_like=True, tag="rows"):
    """Some rows of the snapshot, an array of the rows of ``table``."""

    table: str
    rows: Raw


class Started(Struct, frozen=True, array_like=True, tag="started"):
    """The snapshot is complete, and is of this revision."""

    revision: int
    batch: str


class RecordedPolicy(Struct, frozen=True, array_like=True, tag="policy"):
    """The options of SchedulerOptions that decide from here on."""

    options: dict[str, Any]
    search_budget: int


Policy = RecordedPolicy
"""The former name, for programs that import it."""


class Applied(Struct, frozen=True, array_like=True, gc=False, tag="applied"):
    """Rows changed; ``changes``: (table, key, row or null)."""

    revision: int
    batch: str
    changes: tuple[tuple[str, Key, Raw], ...]


class HeldLine(Struct, frozen=True, array_like=True):
    """What was held of a host for others: the fields of ``scheduler.held_host``."""

    host_id: int
    taken: tuple[int, ...]
    count: int
    amounts: tuple[tuple[str, str, int], ...]
    groups: tuple[str, ...]
    pendings: tuple[dict[str, Any], ...]
    is_firm: bool = False


class Form(Struct, frozen=True, array_like=True, tag="form"):
    """What requests have in common that are alike but for their instances; the number
    means this from here on, in this file. ``left_out``: names of what they had besides
    and no filter reads."""

    number: int
    request: ScheduleRequest
    left_out: tuple[str, ...] = ()


class Began(Struct, frozen=True, array_like=True, gc=False, tag="began"):
    """A decision begins. ``now``: its time. ``source``: where amounts are: the books,
    reports, or a remote Placement. ``form``: the number of its Form, a line before it;
    ``instance_uuids``, ``request_id``: of its request; ``instance_uuid``: of its spec.
    ``held``: hosts that others were advised."""

    number: int
    now: int
    seed: int
    source: str
    form: int
    instance_uuids: tuple[str, ...] | None = None
    request_id: str = ""
    instance_uuid: str | None = None
    held: tuple[HeldLine, ...] = ()


class Paused(Struct, frozen=True, array_like=True, gc=False, tag="paused"):
    """What was applied since the decision began, or since its last such line, came in
    while it rested for the ``call``-th time."""

    number: int
    call: int


class Marks(Struct, frozen=True, array_like=True, gc=False):
    """A decision, so that another can be compared with it bit for bit.

    ``firsts``: for each instance the first host to try, (id, bits of its float64
    weight). ``choices``: a digest of all hosts to try, in order, with their weights,
    and of what is claimed on the first. ``feasible``: hosts that passed all filters.
    ``failure``: why there is none; then the others are empty.
    """

    firsts: tuple[tuple[int, int], ...] = ()
    choices: str = ""
    feasible: int = 0
    failure: str | None = None


class Ended(Struct, frozen=True, array_like=True, gc=False, tag="ended"):
    """What was decided; ``is_left``: nothing, because it was begun again or a plug-in
    failed."""

    number: int
    marks: Marks
    is_left: bool = False


class Settled(Struct, frozen=True, array_like=True, gc=False, tag="settled"):
    """What became of the claim: the host of each instance. ``attempts``: decisions made
    for this request, the earlier ones lost to concurrent claims."""

    number: int
    hosts: tuple[str, ...]
    attempts: int


class Dropped(Struct, frozen=True, array_like=True, tag="dropped"):
    """So many decisions are missing here; ``reason``: why."""

    decisions: int
    reason: str


class Closed(Struct, frozen=True, array_like=True, tag="closed"):
    """The process ended, or goes on in the next file."""

    goes_on: bool = False


Line: TypeAlias = (
    Rows
    | Started
    | RecordedPolicy
    | Applied
    | Form
    | Began
    | Paused
    | Ended
    | Settled
    | Dropped
    | Closed
)
