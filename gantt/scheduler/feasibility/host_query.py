"""The language of JsonFilter: ``["and", [">=", "$free_ram_mb", 1024], …]``.

Separate from the filter because it is a small language: parsed once, with every error
named, then evaluated over all hosts at once. A value is a code per host and the few
distinct values of the codes, so that each pair of values is compared once.
"""

from __future__ import annotations

import json
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from gantt import errors
from gantt.scheduler.feasibility import host_attributes
from gantt.scheduler.feasibility.host_attributes import HostAttribute
from gantt.scheduler.hosts import Hosts
from gantt.state.column import Bools, Int32s

ORDERS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
}
OPERATORS = (*ORDERS, "in", "not", "or", "and")
MOST_DEPTH = 50
# Each part is evaluated on all hosts while no other decision runs.
MOST_PARTS = 256
_LARGEST = 2**63
_SHOWN = 200


def parse(text: Any) -> list[Any]:
    """The query, with known operators throughout; [] is true for every host. Raises
    Invalid: what is wrong with it."""
    if not isinstance(text, str):
        raise errors.Invalid(
            f"The hint query must be one JSON text, but {len(text)} values were given."
        )
    try:
        query = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise errors.Invalid(
            f"The hint query is {_shown(text)}, which is not JSON: {error}."
        ) from None
    if not query:
        return []
    _check(query, text, 0)
    parts = _count(query)
    if parts > MOST_PARTS:
        raise errors.Invalid(
            f"The hint query has {parts} parts; it may have {MOST_PARTS}: ask for less "
            "at once."
        )
    return list(query)


def _shown(value: Any) -> str:
    found = repr(value)
    return found if len(found) <= _SHOWN else f"{found[:_SHOWN]}…"


def _count(query: list[Any]) -> int:
    return sum(1 + (_count(part) if isinstance(part, list) else 0) for part in query)


def _check(query: Any, text: str, depth: int) -> None:
    first = query[0] if isinstance(query, list) else query
    if not isinstance(query, list) or first not in OPERATORS:
        raise errors.Invalid(
            f"The hint query is {_shown(text)}, and {_shown(first)} is no operator: a "
            f"query is a list that starts with one of {', '.join(OPERATORS)}."
        )
    if depth > MOST_DEPTH:
        raise errors.Invalid(
            f"The hint query is nested more than {MOST_DEPTH} deep: make it flatter."
        )
    for part in query[1:]:
        if isinstance(part, list) and part:
            _check(part, text, depth + 1)
        elif isinstance(part, int) and not -_LARGEST <= part < _LARGEST:
            raise errors.Invalid(
                f"The hint query is {_shown(text)}, and has an integer that does not "
                "fit into 64 bits: give a smaller one, or a number with a fraction."
            )


class Value:
    """What an argument is on each host: ``numbers`` (one per host, or one for all), or
    ``things``, where None means that the argument is left out there."""

    def __init__(
        self, size: int, *, numbers: Any = None, things: HostAttribute | None = None
    ) -> None:
        self.size = size
        self.numbers = numbers
        self._things = things

    @property
    def things(self) -> HostAttribute:
        """The value as codes and distinct values."""
        if self._things is None:
            column = np.broadcast_to(self.numbers, self.size)
            self._things = host_attributes.of_array(column)
        return self._things

    def is_there(self) -> Bools:
        """bool[n]: which have something here."""
        if self.numbers is not None:
            return np.ones(self.size, np.bool_)
        return ~self.things.is_none()

    def truths(self) -> Bools:
        """bool[n]: for which it is true, in Python's sense."""
        if self.numbers is not None:
            return np.broadcast_to(np.asarray(self.numbers) != 0, self.size)
        verdicts = np.array([bool(value) for value in self.things.values], np.bool_)
        found: Bools = verdicts[self.things.codes]
        return found


class QueryEvaluation:
    """One query over the hosts of one request.

    ``is_lost``: bool[n], whose values cannot be compared (text with a number): these
    hosts fail, whatever else the query says.
    """

    def __init__(self, hosts: Hosts) -> None:
        self.hosts = hosts
        self.size = len(hosts)
        self.is_lost: Bools = np.zeros(self.size, np.bool_)

    def mask(self, query: list[Any]) -> Bools:
        """bool[n]: for which ``query``, as ``parse`` gave it, is true. A list is true
        here when anything in it is."""
        result = self._result(query)
        found = result.truths()
        if result.numbers is None:
            things = result.things
            verdicts = np.array([any(value) for value in things.values], np.bool_)
            found = verdicts[things.codes]
        return found & ~self.is_lost

    def _result(self, query: list[Any]) -> Value:
        if not query:
            return Value(self.size, numbers=True)
        name, parts = query[0], [self._value(part) for part in query[1:]]
        if name == "not":
            return self._denials(parts)
        if name in ORDERS or name == "in":
            return Value(self.size, numbers=self._compared(name, parts))
        return Value(self.size, numbers=self._joined(parts, is_and=name == "and"))

    def _value(self, part: Any) -> Value:
        if isinstance(part, list):
            return self._result(part)
        if isinstance(part, str) and part.startswith("$"):
            return self._attribute(tuple(part[1:].split(".")))
        if isinstance(part, int | float):
            return Value(self.size, numbers=part)
        codes = np.zeros(self.size, np.int32)
        return Value(
            self.size, things=HostAttribute(codes, [None if part == "" else part])
        )

    def _attribute(self, path: tuple[str, ...]) -> Value:
        if len(path) == 1:
            column = host_attributes.numbers(self.hosts, path[0])
            if column is not None:
                return Value(self.size, numbers=column)
        if path[0] != "stats" or len(path) == 1:
            things = host_attributes.attribute(self.hosts, path)
            return Value(self.size, things=things)
        # Nova keeps what is in stats as text, which has nothing within.
        codes, values = self.hosts.reported(*path[:2])
        is_within = len(path) > 2
        texts = [None if one is None or is_within else str(one) for one in values]
        return Value(self.size, things=HostAttribute(codes, texts))

    def _joined(self, parts: list[Value], *, is_and: bool) -> Bools:
        found = np.full(self.size, is_and)
        for part in parts:
            if is_and:
                found &= part.truths() | ~part.is_there()
            else:
                found |= part.truths()
        return found

    def _denials(self, parts: list[Value]) -> Value:
        """Per host a list: one denial for each argument that is there."""
        codes: Int32s = np.zeros(self.size, np.int32)
        lists: list[list[bool]] = [[]]
        for part in parts:
            # Three ways on from each list so far: as it is, with False, with True.
            step = np.where(part.is_there(), np.where(part.truths(), 1, 2), 0)
            found, places = np.unique(3 * codes + step, return_inverse=True)
            codes = places.astype(np.int32)
            ends: list[list[bool]] = [[], [False], [True]]
            lists = [lists[number // 3] + ends[number % 3] for number in found.tolist()]
        return Value(self.size, things=HostAttribute(codes, lists))

    def _compared(self, name: str, parts: list[Value]) -> Bools:
        """The first argument that is there, against all that come after it."""
        compare = operator.eq if name == "in" else ORDERS[name]
        found = np.full(self.size, name != "in")
        is_led, is_followed = (np.zeros(self.size, np.bool_) for _ in range(2))
        for place, first in enumerate(parts):
            leads = first.is_there() & ~is_led
            is_led |= leads
            if not leads.any():
                continue
            for other in parts[place + 1 :]:
                follows = leads & other.is_there()
                is_followed |= follows
                verdict, is_lost = self._pairs(first, other, compare)
                self.is_lost |= follows & is_lost
                if name == "in":
                    found |= follows & verdict
                else:
                    found &= verdict | ~follows
        return found & is_followed

    def _pairs(
        self, one: Value, other: Value, compare: Callable[[Any, Any], bool]
    ) -> tuple[Bools, Bools]:
        """Results, and where there can be none; each pair of values is compared
        once."""
        if one.numbers is not None and other.numbers is not None:
            verdict = np.broadcast_to(compare(one.numbers, other.numbers), self.size)
            return verdict, np.zeros(self.size, np.bool_)
        left, right = one.things, other.things
        width = len(right.values)
        pairs, codes = np.unique(
            left.codes.astype(np.int64) * width + right.codes, return_inverse=True
        )
        verdicts = np.zeros(len(pairs), np.bool_)
        is_lost = np.zeros(len(pairs), np.bool_)
        for place, pair in enumerate(pairs.tolist()):
            first, second = left.values[pair // width], right.values[pair % width]
            try:
                verdicts[place] = compare(first, second)
            except TypeError:
                is_lost[place] = first is not None and second is not None
        return verdicts[codes], is_lost[codes]
