"""What of Nova's rows cannot be read: it is left out and named, and costs nothing else.

Everything is checked here as Gantt's doors check it, so that nothing of what a feed
states is refused there together with what is good.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from gantt.errors import Invalid
from gantt.model.bounds import MAX_NAME
from gantt.model.forms import scalars

LOG = logging.getLogger(__name__)
MOST_LOGGED: Final = 20
MOST_SHOWN: Final = 3

Bad = dict[str, str]
"""What cannot be read, as text -> why."""


def named(what: str, value: Any, bad: Bad) -> str:
    """``value`` if it can be the name of a host or node; "" and noted in ``bad`` if
    not. One that is not given is no mistake."""
    if value is None or value == "":
        return ""
    try:
        return scalars.name("its name", value)
    except Invalid as refusal:
        bad[what] = refusal.message
        return ""


def is_uuid(what: str, value: Any, bad: Bad) -> bool:
    """Whether ``value`` is the uuid that names ``what``; if not, this is noted."""
    try:
        scalars.uuid("its uuid", value)
    except Invalid as refusal:
        bad[what] = f"{refusal.message} It is left out"
        return False
    return True


def names(
    what: str,
    values: Iterable[Any],
    bad: Bad,
    read: Callable[[str, Any], str] = scalars.name,
) -> frozenset[str]:
    """Those of ``values`` that can be read; if others are left out, this is noted."""
    good = set()
    for value in values:
        try:
            good.add(read("a member", value))
        except Invalid as refusal:
            bad[what] = f"{refusal.message} It is left out"
    return frozenset(good)


def mended(what: str, value: Any, bad: Bad, longest: int = MAX_NAME) -> str:
    """``value`` as text that can be kept: what cannot is taken out of it, and noted."""
    try:
        return scalars.text("its text", value, longest)
    except Invalid as refusal:
        bad[what] = refusal.message
        return scalars.cut(value, longest)


class Unreadable:
    """What of one database cannot be read now. ``where``: what its messages begin with;
    ``count``: how many were found so far, each once for as long as it stands."""

    def __init__(self, where: str) -> None:
        self._where = where
        self._now: Bad = {}
        self.count = 0

    def tell(self, now: Mapping[str, str]) -> None:
        """This is all that cannot be read now; what was not known is logged."""
        before, self._now = self._now, dict(now)
        new = [what for what in self._now if before.get(what) != self._now[what]]
        self.count += len(new)
        for what in new[:MOST_LOGGED]:
            LOG.warning("%s: cannot be read: %s", self._where, self._line(what))
        if len(new) > MOST_LOGGED:
            more = len(new) - MOST_LOGGED
            LOG.warning("%s: cannot be read: %d more", self._where, more)
        if before and not self._now:
            LOG.warning("%s: all rows can be read again", self._where)

    def notice(self) -> str:
        """For operators; "": everything can be read."""
        if not self._now:
            return ""
        shown = list(self._now)[:MOST_SHOWN]
        more = len(self._now) - len(shown)
        return (
            f"{self._where}: cannot be read: {'; '.join(map(self._line, shown))}"
            f"{f'; and {more} more, which the log names' if more else ''}"
        )

    def _line(self, what: str) -> str:
        return f"{what} ({self._now[what].rstrip('.')})"
