"""How a record of a decision is kept where other processes find it.

    msgpack: [1, the scores by columns or null, a field of Decision, the next, …]

It stands apart because rows outlive programs: steps, scores and selections are arrays
of their fields too, so that fields are only added last; a change by which older
programs would misread it needs another number in front, and who does not know that
passes the row over.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec
from msgspec import Struct, msgpack
from msgspec.structs import astuple

from gantt.model.selection import Decision, Score, Scoring, Selection, Step

FORM: Final = 1
_ENCODER: Final = msgpack.Encoder()
_FIELDS: Final = Decision.__struct_fields__
_STEPS, _SCORES, _CHOSEN = map(_FIELDS.index, ("steps", "scores", "chosen"))


def encode(record: Decision, scoring: Scoring | None) -> bytes:
    """``scoring``: what the record does not say itself of scores."""
    fields: list[Any] = list(astuple(record))
    fields[_STEPS] = [astuple(one) for one in record.steps]
    fields[_SCORES] = [astuple(one) for one in record.scores]
    fields[_CHOSEN] = [[astuple(one) for one in mine] for mine in record.chosen]
    columns = None if scoring is None else astuple(scoring)
    return _ENCODER.encode((FORM, columns, *fields))


def decode(data: bytes) -> Decision | None:
    """None: it is in a form that this program does not know."""
    try:
        form, columns, *fields = msgpack.decode(data)
        if form != FORM:
            return None
        fields[_STEPS] = [_named(Step, one) for one in fields[_STEPS]]
        fields[_SCORES] = [_named(Score, one) for one in fields[_SCORES]]
        fields[_CHOSEN] = [
            [_named(Selection, one) for one in mine] for mine in fields[_CHOSEN]
        ]
        if columns is not None:
            scoring = msgspec.convert(_named(Scoring, columns), Scoring)
            fields[_SCORES] = scoring.scores()
        return msgspec.convert(_named(Decision, fields), Decision)
    except (msgspec.MsgspecError, TypeError, ValueError, LookupError):
        return None


def _named(kind: type[Struct], values: Iterable[Any]) -> dict[str, Any]:
    """By the names of ``kind``; what came later, or has come since, is left out."""
    return dict(zip(kind.__struct_fields__, values, strict=False))
