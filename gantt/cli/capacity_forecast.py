"""``gantt capacity --runs-out``: until when resource classes and flavors last."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gantt.cli.command_session import CommandSession
from gantt.cli.output import plain, say, table
from gantt.cli.time_text import shown_at
from gantt.model.capacity import By, Forecast, Outlook
from gantt.model.spec import RequestSpec

_DAY_S = 86_400
_COLUMNS = tuple(
    (
        "where kind name left state lasts_until likely_until latest_until "
        "chance ends_by"
    ).split()
)


def show_forecast(
    session: CommandSession, specs: Sequence[RequestSpec], by: By, days: int
) -> None:
    """Ask for it and print it."""
    found = session.books.runs_out(specs, by=by, horizon_days=days)
    if session.is_prose:
        say("\n\n".join(_paragraphs(plain(found))))
        return
    rows = ((one.where, one.kind, *_row(one)) for one in found.outlooks)
    session.print_answer(found, _COLUMNS, rows)


def _row(one: Outlook) -> tuple[object, ...]:
    dates = (one.lasts_until, one.likely_until, one.latest_until)
    return (one.name, one.left, one.state, *map(_date, dates), one.chance, one.ends_by)


def _date(at: int | None) -> str | None:
    return None if at is None else shown_at(at)


def _paragraphs(found: Forecast) -> Iterator[str]:
    yield (
        f"From {found.history_s / _DAY_S:.1f} days of the usage history; dates reach "
        f"{found.horizon_s / _DAY_S:.1f} days ahead. There is room with a chance of:"
    )
    titles: tuple[str, ...] = (
        "name",
        "left",
        "state",
        "90 % until",
        "50 %",
        "10 %",
        "runs out",
        "ends by",
    )
    rows: list[tuple[object, ...]] = [_row(one) for one in found.outlooks]
    if found.by != "fleet":
        titles = (found.by, *titles)
        rows = [(one.where, *_row(one)) for one in found.outlooks]
    yield table(titles, rows)
    dated = [one for one in found.outlooks if one.chance is not None and one.left]
    own = list(dict.fromkeys(one.where for one in dated if one.is_own))
    if found.by == "zone" and dated:
        yield (
            f"From their own usage history: {', '.join(own) or 'none'}. Other zones "
            "are taken to grow by their part of all use."
        )
