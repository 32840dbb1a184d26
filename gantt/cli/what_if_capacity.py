"""``gantt capacity --what-if FILE``: each of its questions to both copies of the books,
and the difference.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from gantt.cli.capacity_prices import left_out_text
from gantt.cli.connection_options import BooksLocation, open_books
from gantt.cli.output import plain, say, table
from gantt.cli.time_text import shown_at
from gantt.cli.what_if_engines import WhatIfEngines, is_service
from gantt.errors import Invalid
from gantt.model.capacity import By, FairSplit, Forecast, Outlook, Prices, period_of
from gantt.model.protocol import GanttProtocol
from gantt.model.selection import Capacity
from gantt.model.spec import RequestSpec
from gantt.model.usage_history import MOST_RECORDS, SECONDS, UsageRecord

if TYPE_CHECKING:
    from gantt.cli.command_session import CommandSession

Answers: TypeAlias = tuple[str, Any, Any]
"""What a flavor is called, and the answers of both copies."""


def try_capacity(
    session: CommandSession,
    tried: WhatIfEngines,
    flavors: Sequence[tuple[str, RequestSpec]],
) -> None:
    """How many of each fit; ``flavors``: in words, and what they say."""
    specs = _specs(tried, [asked for _, asked in flavors])
    found: list[tuple[str, Capacity, Capacity]] = []
    for (words, _), one in zip(flavors, specs, strict=True):
        live = tried.live.capacity(one)
        with tried.changed_for([one]) as gantt:
            found.append((words, live, gantt.capacity(tried.asked(one))))
    sums = [
        (words, _sum(live), _sum(changed), f"{changed.total - live.total:+}")
        for words, live, changed in found
    ]
    columns = ("flavor", "live", "what if", "difference")
    _print(session, tried, _of_flavors(found), columns, sums)
    if not session.is_prose:
        return
    for words, live, changed in found:
        rows = list(_differing(live.hosts, changed.hosts))
        if rows:
            say("\n" + plain(f"{words}, hosts that differ:"))
            say(table(("host", "live", "what if", "difference"), plain(rows)))


def try_split(
    session: CommandSession,
    tried: WhatIfEngines,
    flavors: Sequence[RequestSpec],
    weights: list[float] | None,
    by: By,
) -> None:
    """How many fit together; parts that only one copy has count as 0 in the other."""
    specs = _specs(tried, flavors)
    live = tried.live.fair_split(specs, weights, by=by)
    others = [tried.asked(one) for one in specs]
    with tried.changed_for(specs) as gantt:
        changed = gantt.fair_split(others, weights, by=by)
    one, other = _shares(live), _shares(changed)
    rows = [
        (*names, *_compared(one.get(key, _NONE), other.get(key, _NONE)))
        for key, names in (_names(live) | _names(changed)).items()
    ]
    columns = ("by", "flavor", "live", "what if", "difference")
    _print(session, tried, {"live": live, "what_if": changed}, columns, rows)


def try_prices(
    session: CommandSession, tried: WhatIfEngines, flavors: Sequence[RequestSpec]
) -> None:
    """What each rule costs on both."""
    found: list[tuple[str, Prices, Prices]] = []
    for spec in _specs(tried, flavors):
        live = tried.live.rule_prices(spec)
        with tried.changed_for([spec]) as gantt:
            changed = gantt.rule_prices(tried.asked(spec))
        found.append((spec.flavor.name or "", live, changed))
    rows = [(name, *row) for name, *both in found for row in _costs(*both)]
    columns = ("flavor", "rule left out", "live", "what if", "difference")
    _print(session, tried, _of_flavors(found), columns, rows)
    if session.is_prose:
        for name, *both in found:
            for title, one in zip(("live", "what if"), both, strict=True):
                if one.left_out:
                    say(plain(f"{name}, {title}: {left_out_text(one.left_out)}"))


def try_forecast(
    session: CommandSession,
    tried: WhatIfEngines,
    flavors: Sequence[RequestSpec],
    by: By,
    days: int,
) -> None:
    """What is left and lasts until when, from the usage history of the live books."""
    tried.remember(usage_at(tried, period_of(days), zones=by == "zone"))
    specs = _specs(tried, flavors)
    live = tried.live.runs_out(specs, by=by, horizon_days=days)
    others = [tried.asked(one) for one in specs]
    with tried.changed_for(specs) as gantt:
        changed = gantt.runs_out(others, by=by, horizon_days=days)
    one, other = _outlooks(live), _outlooks(changed)
    rows = [
        (key[0], key[2], *_lasting(one.get(key), other.get(key)))
        for key in dict.fromkeys((*one, *other))
    ]
    columns = (
        "where",
        "name",
        "left",
        "90 % until",
        "what if left",
        "what if until",
        "difference",
    )
    _print(session, tried, {"live": live, "what_if": changed}, columns, rows)


def usage_at(tried: WhatIfEngines, period: str, *, zones: bool) -> list[UsageRecord]:
    """The usage history of the books that ``tried`` copied. Raises Invalid where they
    have none, Forbidden, StoreFailed, Unavailable."""
    where = tried.where
    if is_service(where):
        named = tried.snapshot.zones() if zones else ()
        return _usage_of_service(where, period, named)
    if "://" not in where.url:
        raise Invalid(
            f"The file {Path(where.url).name} has no usage history, which --runs-out "
            "needs: name a service or a database with --url."
        )
    from gantt.replay.snapshots import usage_of_database

    return usage_of_database(where.url, SECONDS[period], zones=zones)


def _usage_of_service(
    where: BooksLocation, period: str, zones: Iterable[str]
) -> list[UsageRecord]:
    with closing(open_books(where)) as books:
        return [
            one for zone in ("", *zones) for one in _usage_of_zone(books, period, zone)
        ]


def _usage_of_zone(
    books: GanttProtocol, period: str, zone: str
) -> Iterator[UsageRecord]:
    """Page by page, the latest first. A page may end within a period, which is asked
    for again."""
    seen: set[tuple[int, str]] = set()
    until: int | None = None
    while True:
        page = books.usage_history(
            period=period, until=until, limit=MOST_RECORDS, zone=zone
        )
        fresh = [one for one in page if (one.start, one.resource_class) not in seen]
        yield from fresh
        if len(page) < MOST_RECORDS or not fresh:
            return
        seen = {(one.start, one.resource_class) for one in page}
        until = min(one.start for one in page) + 1


def _specs(tried: WhatIfEngines, asked: Iterable[RequestSpec]) -> list[RequestSpec]:
    """The requests of the flavors that were asked about; says which flavors of the
    what-if are not among them. Raises Invalid."""
    specs = list(asked)
    tried.tell_unasked(specs)
    tried.check(specs)
    return specs


def _print(
    session: CommandSession,
    tried: WhatIfEngines,
    answers: dict[str, Any],
    columns: tuple[str, ...],
    rows: Sequence[Sequence[Any]],
) -> None:
    """Both answers in full, or what differs, in the format of the session."""
    if session.is_whole:
        session.print_document({"revision": tried.revision, **answers})
    elif not session.is_prose:
        session.print_rows(columns, rows)
    else:
        say(f"At revision {tried.revision:,}.\n\n{table(columns, plain(list(rows)))}")


def _of_flavors(found: Iterable[Answers]) -> dict[str, Any]:
    return {
        "flavors": [
            {"flavor": words, "live": live, "what_if": changed}
            for words, live, changed in found
        ]
    }


def _sum(found: Capacity) -> str:
    return f"{'at least ' * found.is_lower_bound}{found.total}"


def _more(live: int, changed: int) -> str:
    return f"{changed - live:+}"


def _differing(
    live: dict[str, int], changed: dict[str, int]
) -> Iterator[tuple[str, int, int, str]]:
    """Names whose numbers are not the same; 0 where one has none."""
    for name in dict.fromkeys((*live, *changed)):
        one, other = live.get(name, 0), changed.get(name, 0)
        if one != other:
            yield name, one, other, _more(one, other)


Number: TypeAlias = tuple[int, bool]
"""A count, and whether it is a lower bound."""
_NONE: Final = (0, False)


def _compared(
    live: Number | None, changed: Number | None, *, signed: bool = False
) -> tuple[str | None, str | None, str | None]:
    """Both, and the difference where both are there."""
    shown = [None if one is None else _bounded(one, signed) for one in (live, changed)]
    if live is None or changed is None:
        return shown[0], shown[1], None
    return shown[0], shown[1], _more(live[0], changed[0])


def _bounded(one: Number, signed: bool) -> str:
    count, is_lower_bound = one
    return f"{'at least ' * is_lower_bound}{count:{'+' * signed}}"


def _names(found: FairSplit) -> dict[tuple[str, int], tuple[str, str]]:
    """The part and the flavor; two flavors may have one name, so places tell them
    apart."""
    return {
        (split.name, at): (split.name, one.flavor)
        for split in found.splits
        for at, one in enumerate(split.shares)
    }


def _shares(found: FairSplit) -> dict[tuple[str, int], Number]:
    return {
        (split.name, at): (one.more, one.is_lower_bound)
        for split in found.splits
        for at, one in enumerate(split.shares)
    }


def _costs(
    live: Prices, changed: Prices
) -> Iterator[tuple[str, str | None, str | None, str | None]]:
    """All that fit, and how many more would without each rule; None: one copy did not
    try it."""
    whole = [(one.total, one.is_lower_bound) for one in (live, changed)]
    yield "(all that fit)", *_compared(*whole)
    one, other = (
        {
            (price.kind, price.text): (price.more, price.is_lower_bound)
            for price in prices
        }
        for prices in (live.prices, changed.prices)
    )
    for key in dict.fromkeys((*one, *other)):
        both = one.get(key), other.get(key)
        if any(number and number[0] for number in both):
            yield key[1], *_compared(*both, signed=True)


def _outlooks(found: Forecast) -> dict[tuple[str, str, str, int], Outlook]:
    """By where, kind and name; which of those with one name, in their order."""
    seen: dict[tuple[str, str, str], int] = {}
    by_key: dict[tuple[str, str, str, int], Outlook] = {}
    for one in found.outlooks:
        name = (one.where, one.kind, one.name)
        seen[name] = seen.get(name, -1) + 1
        by_key[(*name, seen[name])] = one
    return by_key


def _lasting(live: Outlook | None, changed: Outlook | None) -> tuple[object, ...]:
    """What is left and until when, of both, and the difference of what is left."""
    if live is None or changed is None:
        return (*_left(live), *_left(changed), None)
    return (*_left(live), *_left(changed), _more(live.left, changed.left))


def _left(one: Outlook | None) -> tuple[object, object]:
    """What is left, and until when; or why there is no date."""
    if one is None:
        return None, None
    if one.lasts_until is None:
        return one.left, one.state
    return one.left, shown_at(one.lasts_until)
