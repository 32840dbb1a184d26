"""Claims at a remote Placement: written, recognised and released.

Separate from scheduling because all failures in between are handled here: a write that
lost a race, one whose response was lost, and one of a process that crashed. They are
recognised by the consumer's generation: allocations with the generation that our write
gave them, and exactly our amounts, are those that we wrote.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Iterable, Mapping
from typing import Final

from msgspec import Struct

from gantt.engine.clock import Clock
from gantt.engine.reading.outage import Outage
from gantt.engine.scheduling.remote_books import RemoteBooks
from gantt.engine.threads import Threads
from gantt.errors import (
    ConcurrentUpdate,
    Conflict,
    ConsumerMoved,
    GanttError,
    NoValidHost,
    OutcomeUnknown,
    Unavailable,
    UnknownName,
    UnknownProvider,
)
from gantt.model.answers import ConsumerView
from gantt.model.commands import ConsumerAllocations
from gantt.model.holding import Amounts, Held, Holding
from gantt.model.requests import CandidateRequest
from gantt.placement.candidates.listing import CandidateListing
from gantt.placement.ownership import not_of

LOG = logging.getLogger(__name__)
_TRIES: Final = 4
_PAUSE_S: Final = 2.0


class RemoteWrite(Struct, frozen=True):
    """``is_done``: it is written. Else nothing is, because of ``reason``: ``lost`` are
    the providers that cannot supply the request; ``held`` is what instances have there
    already; neither: no retry will help."""

    is_done: bool = False
    lost: frozenset[str] = frozenset()
    held: dict[str, Held] | None = None
    reason: GanttError | None = None


class RemoteClaims:
    """Safe for many threads. No request is sent under a lock."""

    def __init__(
        self, books: RemoteBooks, clock: Clock, dice: random.Random, threads: Threads
    ) -> None:
        self.books = books
        self._outage = Outage(f"the Placement at {books.url}", clock, threads)
        self._clock = clock
        self._dice = dice

    def ask(
        self, questions: Iterable[CandidateRequest], request_id: str
    ) -> CandidateListing:
        """The candidates of all ``questions``; none when the books do not answer: see
        the listing's ``trouble``. Raises UnknownName."""
        answers = []
        trouble = ""
        try:
            for question in questions:
                answers.append(self.books.candidates(question, request_id=request_id))
        except UnknownName:
            raise
        except GanttError as error:
            why = self._noted(error)
            trouble = f"The remote Placement returned no candidates: {why}"
        else:
            self._outage.succeeded("read")
        return CandidateListing(answers, trouble=trouble)

    def aggregates(self, provider_uuids: Iterable[str]) -> dict[str, frozenset[str]]:
        """Those of each provider. Raises NoValidHost: the books do not tell them."""
        found = {}
        try:
            for uuid in provider_uuids:
                found[uuid] = self.books.aggregates(uuid)
        except GanttError as error:
            raise NoValidHost(
                "No valid host was found. The remote Placement did not tell the "
                f"aggregates of network segments: {self._noted(error)}"
            ) from error
        if found:
            self._outage.succeeded("read")
        return found

    def _noted(self, error: GanttError) -> str:
        """Log that a question was not answered: why, for responses and records."""
        if isinstance(error, Unavailable):
            self._outage.failed("read", error)
            return "No answer."
        LOG.warning("cannot read from %s: %s", self.books.url, error)
        return error.public

    def write(
        self,
        wanted: Mapping[str, Holding],
        only_project: str | None = None,
        *,
        request_id: str,
        deadline: float,
    ) -> RemoteWrite:
        """Write ``wanted`` (by instance), all of it or nothing.

        A write whose answer is lost is repeated: the generation that it names lets
        only one of them in. What has something of another project than
        ``only_project`` stays as it is (None: of any). ``deadline``: by
        ``clock.monotonic``, none begins after. Raises Unavailable: it is
        not known whether it was written.
        """
        consumers = tuple(
            ConsumerAllocations(
                uuid, one.allocations, one.project_id, one.user_id, one.generation
            )
            for uuid, one in wanted.items()
        )
        is_known = True
        last: GanttError = Unavailable("There was not enough time left to write it.")
        for number in range(_TRIES):
            self._clock.sleep(self._dice.uniform(0.0, _PAUSE_S * number))
            if self._clock.monotonic() >= deadline:
                break
            try:
                self.books.write(consumers, request_id=request_id)
                return RemoteWrite(is_done=True)
            except ConsumerMoved as error:
                last = error
                outcome = self._look(wanted, error, only_project)
                if outcome is not None:
                    return outcome
                is_known = False
            except ConcurrentUpdate as error:
                last = error
            except Unavailable as error:
                last, is_known = error, False
            except GanttError as error:
                return _refused(wanted, error)
        if not is_known:
            raise OutcomeUnknown(
                f"It is unknown whether {self.books.url} wrote the "
                f"allocations of {', '.join(wanted)}: {last} They are "
                "released when the lease of their claim expires."
            )
        return RemoteWrite(lost=_providers(wanted.values()), reason=last)

    def has(self, instance_uuid: str, wanted: Amounts) -> bool:
        """Whether the instance has allocations on each provider of ``wanted``. Raises
        Unavailable."""
        view = self.books.consumer(instance_uuid)
        return wanted.keys() <= (set() if view is None else view.allocations.keys())

    def left(self, instance_uuid: str, made: Holding) -> Amounts:
        """What ``give_back`` would leave where ``made`` added something, because
        another writer changed it. Raises Unavailable."""
        view = self.books.consumer(instance_uuid)
        return {} if view is None or _is_of(view, made) else _others(view, made)

    def give_back(self, instance_uuid: str, made: Holding) -> Amounts:
        """Remove what ``made`` added, also where it was written again as it was, and
        nothing that another writer changed: answers what of that stays where ``made``
        was written. Raises Unavailable, and whatever refuses it."""
        for number in range(_TRIES):
            view = self.books.consumer(instance_uuid)
            if view is None:
                return {}
            if not _is_of(view, made):
                is_later = (view.generation or 0) >= made.made_generation
                return _others(view, made) if is_later else {}
            before = ConsumerAllocations(
                instance_uuid,
                made.kept,
                view.project_id,
                view.user_id,
                view.generation,
            )
            try:
                self.books.write((before,))
                return {}
            except ConcurrentUpdate:
                self._clock.sleep(self._dice.uniform(0.0, _PAUSE_S * number))
        raise Unavailable(
            f"The allocations of instance {instance_uuid} in "
            f"{self.books.url} could not be removed: concurrent writes "
            "won each time."
        )

    def _look(
        self,
        wanted: Mapping[str, Holding],
        error: ConsumerMoved,
        only_project: str | None,
    ) -> RemoteWrite | None:
        """What the instances have; None: it is not known now."""
        try:
            views = {uuid: self.books.consumer(uuid) for uuid in wanted}
        except Unavailable:
            return None
        for uuid, view in views.items():
            if only_project and view is not None and view.project_id != only_project:
                return RemoteWrite(reason=not_of(only_project, uuid))
        if all(_is_ours(views[uuid], one) for uuid, one in wanted.items()):
            return RemoteWrite(is_done=True)
        held = {
            uuid: Held(view.generation, _amounts(view))
            for uuid, view in views.items()
            if view is not None
        }
        return RemoteWrite(held=held, reason=error)


def _is_ours(view: ConsumerView | None, made: Holding) -> bool:
    return (
        view is not None
        and view.generation == made.made_generation
        and _amounts(view) == made.allocations
    )


def _is_of(view: ConsumerView, made: Holding) -> bool:
    return (
        view.generation is not None
        and view.generation >= made.made_generation
        and _amounts(view) == made.allocations
    )


def _others(view: ConsumerView, made: Holding) -> Amounts:
    """What there is where ``made`` added something."""
    added = made.allocations.keys() - made.kept.keys()
    return {uuid: one for uuid, one in _amounts(view).items() if uuid in added}


def _amounts(view: ConsumerView) -> Amounts:
    return {uuid: share.resources for uuid, share in view.allocations.items()}


def _refused(wanted: Mapping[str, Holding], error: GanttError) -> RemoteWrite:
    """Providers that cannot give it: those that the refusal names, else all asked."""
    if not isinstance(error, Conflict | UnknownProvider):
        return RemoteWrite(reason=error)
    asked = _providers(wanted.values())
    named = asked & error.named
    return RemoteWrite(lost=named or asked, reason=error)


def _providers(wanted: Iterable[Holding]) -> frozenset[str]:
    """Providers of which something new is requested."""
    return frozenset(
        uuid for one in wanted for uuid in one.allocations if uuid not in one.kept
    )
