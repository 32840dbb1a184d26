"""One operation of Gantt's own API: what its row in ``operations`` says."""

from __future__ import annotations

from types import UnionType
from typing import Any, Literal, TypeAlias, get_args

from msgspec import Struct

Work: TypeAlias = Literal["quick", "search", "count", "list"]
"""``quick``: looks one thing up, or writes; ``search``: searches for places, of which
there is one at a time; ``count``: counts or compares everything; ``list``: a page."""


class Operation(Struct, frozen=True):
    """``known_as``: its id in the OpenAPI document; ``at``: method and path; ``rule``
    "": no authorization; ``permissions``: further rules that it asks, for some of what
    is sent or shown; ``body``, ``query``: the types to decode, or None; ``answer``: the
    type of the answer, None: it has no body; ``event``: the type of the data of each
    event, where it can also be a stream of them; ``errors``: statuses beyond those of
    every operation; ``narrow``: with one of these parameters, not empty, a list is a
    look-up, or short; ``is_long``: the answer is compressed for clients that accept it;
    ``name``: the library's method, which takes what is in the path, and then each field
    of the query or the body, or, if ``is_whole``, one value that has them
    all; ``page``: the engine's method for a page of that list; ``is_preview``: its
    names may still change from one release to the next."""

    known_as: str
    at: str
    summary: str
    rule: str = ""
    body: Any = None
    query: Any = None
    answer: Any = None
    event: Any = None
    errors: tuple[int, ...] = ()
    work: Work = "quick"
    narrow: tuple[str, ...] = ()
    permissions: tuple[str, ...] = ()
    is_long: bool = False
    name: str = ""
    page: str = ""
    is_whole: bool = False
    is_preview: bool = False

    @property
    def method(self) -> str:
        """Such as GET."""
        return self.at.partition(" ")[0]

    @property
    def path(self) -> str:
        """With the names of its fields in braces."""
        return self.at.partition(" ")[2]

    @property
    def answers(self) -> tuple[object, ...]:
        """The types of the answer; empty: there is no body (204)."""
        if isinstance(self.answer, UnionType):
            return get_args(self.answer)
        return () if self.answer is None else (self.answer,)
