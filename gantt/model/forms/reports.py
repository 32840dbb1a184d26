"""Reports of agents from outside: JSON texts and values become checked Reports.

Separate from the forms of ``update_host`` because a report is Gantt's own: it has no
other forms, and each of a list is refused by itself.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec
from msgspec import Raw, Struct

from gantt.errors import BadReport, FullReportWanted, GanttError
from gantt.model.bounds import MAX_TEXT
from gantt.model.forms import scalars, values
from gantt.model.hosts import HostStats
from gantt.model.reports import (
    MAX_DIGEST,
    MAX_SEQUENCE,
    MAX_TIME,
    Report,
    ReportOutcome,
)


class _Fields(HostStats, frozen=True, forbid_unknown_fields=True):
    """HostStats as JSON: what is misspelt must not be taken for what is missing."""


class _Document(Report, frozen=True, kw_only=True):
    fields: _Fields = _Fields()


class _Plain(Report, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A report whose types alone say nearly all that is checked."""

    fields: values.PlainStats = values.PlainStats()


class _Named(Struct):
    """What a report that cannot be read is about, as far as it says so."""

    host: Any = ""
    node: Any = ""


_decode: Final = msgspec.json.Decoder(_Document).decode
_decode_plain: Final = msgspec.json.Decoder(_Plain).decode
_decode_names: Final = msgspec.json.Decoder(_Named).decode


def report(value: Report | bytes, longest: int) -> Report:
    """``value``, a Report or its JSON text of at most ``longest`` bytes, as it may go
    on. Raises Invalid, which names the field."""
    plain = _plain(value, longest) if isinstance(value, bytes) else None
    if plain is not None:
        return plain
    found = value if isinstance(value, Report) else read_report(value, longest)
    return Report(
        host=scalars.name("host", found.host),
        node=scalars.name("node", found.node),
        incarnation=scalars.name("incarnation", found.incarnation),
        sequence=scalars.whole("sequence", found.sequence, 1, MAX_SEQUENCE),
        taken_at=scalars.whole("taken_at", found.taken_at, 0, MAX_TIME),
        full=scalars.flag("full", found.full),
        needs=scalars.text("needs", found.needs, MAX_DIGEST),
        fields=values.stats(found.fields),
        unread=values.names("unread", found.unread),
        beats=scalars.flag("beats", found.beats),
    )


def _plain(raw: bytes, longest: int) -> Report | None:
    """A report that has nothing unusual, from one pass over its text; None: all others,
    and those that are wrong. Raises Invalid."""
    if len(raw) > min(longest, MAX_TEXT):
        return None
    try:
        found = _decode_plain(raw)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    if not values.are_sound(found.fields):
        return None
    return Report(
        host=found.host,
        node=found.node,
        incarnation=found.incarnation,
        sequence=found.sequence,
        taken_at=found.taken_at,
        full=found.full,
        needs=found.needs,
        fields=values.as_stats(found.fields),
        unread=found.unread,
        beats=found.beats,
    )


def read_report(raw: bytes, longest: int) -> Report:
    """Raises BadReport, which names the field."""
    if len(raw) > longest:
        raise BadReport(
            f"The report has {len(raw)} bytes, and {longest} is the limit "
            "(max_report_bytes of [scheduler]): raise it, or report less."
        )
    try:
        return _decode(raw)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise BadReport(f"The report was not applied: {error}.") from None


def embeddable(value: Report | bytes) -> Report | Raw:
    """``value`` as a part of a larger JSON text, which it must not break. Raises
    BadReport."""
    if isinstance(value, Report):
        return value
    try:
        msgspec.json.decode(value)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise BadReport(f"The report was not applied: {error}.") from None
    return Raw(value)


def refused(value: Report | bytes, refusal: GanttError, needs: str) -> ReportOutcome:
    """``value`` was refused; it may not even be a report."""
    host, node = names_of(value)
    return ReportOutcome(
        host,
        node,
        "refused",
        code=refusal.code,
        message=refusal.public,
        wants_full=isinstance(refusal, FullReportWanted),
        needs=needs,
    )


def names_of(value: Report | bytes) -> tuple[str, str]:
    """The host and the node that a report names; "": it names none."""
    named: Any = value
    if isinstance(value, bytes):
        try:
            named = _decode_names(value)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            named = _Named()
    found = (getattr(named, "host", ""), getattr(named, "node", ""))
    host, node = (one if isinstance(one, str) else "" for one in found)
    return host, node
