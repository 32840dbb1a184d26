"""Relations as people write them: ``rack:1:hard,power:2:soft``.

They come in scheduler hints and extra specs, one for each kind of relation
(``gantt:spread``; ``;`` may stand for ``,``), and for a server group as one text
(``spread=rack:1 apart=…``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final

from gantt.errors import Invalid, shortened
from gantt.model.bounds import MAX_WHOLE
from gantt.model.facts import STARTS
from gantt.model.forms import scalars
from gantt.model.relations import (
    HOST,
    MOST_LABEL,
    Relation,
    RelationKind,
    is_label,
)

NAMES: Final[dict[str, RelationKind]] = {
    "gantt:spread": "spread",
    "gantt:distinct": "distinct",
    "gantt:apart": "apart",
}
"""Scheduler hint, or extra spec -> kind of relation."""
MOST_RELATIONS: Final = 8
_DIGITS: Final = 10
_RIGORS: Final = {"hard": True, "soft": False}
_FORMS: Final[dict[RelationKind, str]] = {
    "spread": "KEY[:MAX_SKEW][:hard|soft][:MIN_DOMAINS], such as rack:1:hard",
    "distinct": "KEY[:AT_MOST], such as rack:2",
    "apart": "KEY:GROUP, with the uuid of a server group",
}


@lru_cache(1024)
def read_relations(kind: RelationKind, text: str, where: str) -> tuple[Relation, ...]:
    """The relations in a value. ``where``: what it was given for. Raises Invalid."""
    return tuple(_read(kind, text, where))


def _read(kind: RelationKind, text: str, where: str) -> Iterator[Relation]:
    words = dict.fromkeys(text.replace(";", ",").split(","))
    if len(words) > MOST_RELATIONS:  # what is read is kept
        raise _too_many(len(words), where)
    for word in words:
        parts = [part.strip() for part in word.split(":")]
        if not is_label(parts[0]):
            raise _malformed(kind, where, word, "it has no topology key")
        reader = {"spread": _spread, "distinct": _distinct, "apart": _apart}[kind]
        yield reader(parts, where, word)


def read_all(text: str, where: str) -> tuple[Relation, ...]:
    """The relations of a server group: ``spread=rack:1 apart=rack:UUID``. Raises
    Invalid."""
    found: list[Relation] = []
    for word in text.split():
        name, _, value = word.partition("=")
        kind = NAMES.get(f"gantt:{name}")
        if kind is None:
            known = ", ".join(NAMES.values())
            raise Invalid(
                f"{where} has {shortened(word, 80)!r}: write KIND=RELATION, with one "
                f"of {known}, such as spread=rack:1:hard."
            )
        found += read_relations(kind, value, where)
    return check_count(found, where)


def check_count(found: list[Relation], where: str) -> tuple[Relation, ...]:
    """Each once. Raises Invalid where there are too many."""
    once = tuple(dict.fromkeys(found))
    if len(once) > MOST_RELATIONS:
        raise _too_many(len(once), where)
    return once


def _too_many(count: int, where: str) -> Invalid:
    return Invalid(
        f"{where} has {count} relations (spread, distinct, apart); the limit is "
        f"{MOST_RELATIONS}. Leave some out."
    )


def read_labels(labels: Mapping[str, str | None]) -> dict[str, str | None]:
    """Labels of a host, checked. Raises Invalid."""
    for key, value in labels.items():
        for word in (key, value):
            if word is not None and not (isinstance(word, str) and is_label(word)):
                raise Invalid(
                    f"The label {key!r}={value!r} cannot be used: keys and values are "
                    f"up to {MOST_LABEL} letters, digits and . _ - /, and begin with "
                    "a letter or digit."
                )
    starts = labels.get(STARTS)
    if starts is not None and not (starts.isdecimal() and len(starts) < _DIGITS):
        raise Invalid(
            f"The label {STARTS}={starts!r} cannot be used: it says how many bookings "
            f"of the host may be unconfirmed at once, {STARTS}=4 say, or {STARTS}=0 "
            "for any number."
        )
    if HOST in labels:
        raise Invalid(
            f"The label {HOST!r} cannot be given: each host is a domain of its own by "
            "that key. Give it another name."
        )
    return dict(labels)


def _spread(parts: list[str], where: str, word: str) -> Relation:
    numbers: list[int] = []
    rigor: bool | None = None
    for part in parts[1:]:
        if part in _RIGORS and rigor is None:
            rigor = _RIGORS[part]
        else:
            numbers.append(_number(part, "spread", where, word))
    if len(numbers) > 2:
        raise _malformed("spread", where, word, "it has too many numbers")
    most, least = (*numbers, *(1, 1)[len(numbers) :])
    if rigor is False and len(numbers) == 2:
        raise _malformed(
            "spread", where, word, "MIN_DOMAINS needs hard: soft refuses no host"
        )
    return Relation("spread", parts[0], most, least, rigor is not False)


def _distinct(parts: list[str], where: str, word: str) -> Relation:
    if len(parts) > 2:
        raise _malformed("distinct", where, word, "it has too many parts")
    most = _number(parts[1], "distinct", where, word) if len(parts) == 2 else 1
    return Relation("distinct", parts[0], most)


def _apart(parts: list[str], where: str, word: str) -> Relation:
    if len(parts) != 2:
        raise _malformed("apart", where, word, "it names no group")
    try:
        group = scalars.uuid("group", parts[1])
    except Invalid:
        raise _malformed("apart", where, word, "its group is no uuid") from None
    return Relation("apart", parts[0], group=group)


def _number(part: str, kind: RelationKind, where: str, word: str) -> int:
    is_number = part.isascii() and part.isdigit() and len(part) < 11
    if not is_number or not 1 <= int(part) <= MAX_WHOLE:
        trouble = f"{shortened(part, 40)!r} is no number from 1 on"
        raise _malformed(kind, where, word, trouble)
    return int(part)


def _malformed(kind: RelationKind, where: str, word: str, trouble: str) -> Invalid:
    return Invalid(
        f"{where} has {shortened(word, 80)!r}, which cannot be read as {kind}: "
        f"{trouble}. Write {_FORMS[kind]}."
    )
