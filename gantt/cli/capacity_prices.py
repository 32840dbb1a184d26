"""``gantt capacity --price``: how many more would fit without each rule."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from gantt.cli.command_session import CommandSession
from gantt.cli.output import plain, say, table
from gantt.model.capacity import Price, Prices
from gantt.model.spec import RequestSpec

_COLUMNS = ("flavor", "kind", "rule", "more")

Found = list[tuple[str, Prices]]


def show_prices(session: CommandSession, specs: Sequence[RequestSpec]) -> None:
    """Ask for those of each flavor and print them."""
    found = [(one.flavor.name or "", session.books.rule_prices(one)) for one in specs]
    if session.is_prose:
        say("\n\n".join(_paragraphs(plain(found))))
        return
    whole = [{"flavor": name, **msgspec.structs.asdict(one)} for name, one in found]
    session.print_answer(whole, _COLUMNS, _rows(found))


def _rows(found: Found) -> Iterator[tuple[object, ...]]:
    for name, prices in found:
        for one in prices.prices:
            yield name, one.kind, one.text, one.more


def _paragraphs(found: Found) -> Iterator[str]:
    for name, prices in found:
        at_least = "at least " * prices.is_lower_bound
        yield f"{name}: {at_least}{prices.total} fit. Without one rule:"
        dear = [(one.text, _more(one)) for one in prices.prices if one.more]
        if dear:
            yield table(("rule", "more"), dear)
        free = sum(not one.more for one in prices.prices)
        if free:
            yield f"{free} rules cost nothing."
        if prices.left_out:
            yield left_out_text(prices.left_out)


def left_out_text(count: int) -> str:
    """Why so many rules have no price."""
    return (
        f"{count} rules were not tried: beyond capacity_rules of [scheduler], or the "
        "request means nothing without them."
    )


def _more(one: Price) -> str:
    return f"{'at least ' * one.is_lower_bound}{one.more:+}"
