"""Pages of long lists: how long one is, and from where the next goes on.

A place in a list is the key of the last thing on a page; to callers it is a text that
means nothing.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterable
from typing import Annotated, Any, Final, TypeVar

import msgspec
from msgspec import Meta

from gantt.errors import Invalid

PAGE: Final = 200
"""What one page has at most."""
PAGE_BYTES: Final = 2**21
"""Of what a page has, as its answer is written: a page of longer things has fewer, and
at least one."""

MOST_KEY: Final = 2**63 - 1
Key = Annotated[int, Meta(ge=0, le=MOST_KEY)]
After = Annotated[
    str,
    Meta(
        max_length=4_096,
        description="Continue after a page: its `next`. Omitted: from the beginning.",
    ),
]
T = TypeVar("T")
Place = TypeVar("Place", bound=tuple[str | int, ...])
Listed = tuple[tuple[T, ...], str]
"""What a page has, and its ``next``: where the following one begins, "" after the last
one."""
_encode = msgspec.json.Encoder().encode


def text_of(place: tuple[str | int, ...]) -> str:
    """The place as callers see it."""
    return urlsafe_b64encode(msgspec.json.encode(place)).decode().rstrip("=")


def read(text: str, kind: Any) -> Any:
    """The place, a tuple of the type ``kind``, that ``text_of`` made this of. Raises
    Invalid."""
    try:
        raw = urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4))
        return msgspec.json.decode(raw, type=kind)
    except (ValueError, msgspec.MsgspecError):
        raise Invalid(
            f"after is {text[:80]!r}, which is no place in this list: give the `next` "
            "of the page before, or omit it for the first page."
        ) from None


def length(limit: int) -> int:
    """How many things a page has at most if ``limit`` are asked for. Raises Invalid."""
    if limit < 1:
        raise Invalid(f"limit is {limit}; it must be 1 or more: a page has something.")
    return min(limit, PAGE)


def page_of(
    places: Iterable[Place], limit: int, show: Callable[[Place], T | None]
) -> Listed[T]:
    """The first things of a list, whose ``places`` are in order, at least one more than
    are to be shown; ``show``: what is at one, None: nothing that belongs here."""
    found: list[T] = []
    room = PAGE_BYTES
    last: tuple[str | int, ...] = ()
    for place in places:
        if len(found) == limit:
            return tuple(found), text_of(last)
        one = show(place)
        if one is None:
            continue
        room -= len(_encode(one))
        if found and room < 0:
            return tuple(found), text_of(last)
        found.append(one)
        last = place
    return tuple(found), ""


def followed(page: Callable[[str, int], Listed[T]], limit: int) -> tuple[T, ...]:
    """The first ``limit`` things of a list. ``page``: what follows a place ("": the
    beginning), at most so many and a page."""
    found: list[T] = []
    after = ""
    while len(found) < limit:
        more, after = page(after, limit - len(found))
        found += more
        if not after:
            break
    return tuple(found[:limit])
