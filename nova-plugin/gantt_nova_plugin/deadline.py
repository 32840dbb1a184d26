"""How much time is left, of one call and of one request of the scheduler."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence

from gantt_nova_plugin.wire import Answer, Candidate, Question


class OutOfTime(OSError):
    """The time of a call is used up."""


class Deadline:
    """The end of one call."""

    def __init__(self, clock: Callable[[], float], seconds: float) -> None:
        self._clock = clock
        self._end = clock() + seconds

    def left(self) -> float:
        """Seconds left; `OutOfTime` instead of zero, which sockets take for none."""
        left = self._end - self._clock()
        if left <= 0:
            raise OutOfTime
        return left


class Request:
    """One request of the scheduler: how long it was held up, and what was answered."""

    def __init__(self, identity: object) -> None:
        self._refers = _reference(identity)
        self.spent_s = 0.0
        self._last: dict[str, tuple[str, Answer]] = {}

    def is_of(self, identity: object) -> bool:
        """Whether the request is known by this very object."""
        return self._refers() is identity

    def note(self, question: Question, answer: Answer) -> None:
        """Keep an answer for `known`; of each stage the last one."""
        if question.instance_uuid is not None:
            self._last[question.stage] = question.instance_uuid, answer

    def known(self, question: Question) -> Answer | None:
        """The last answer to this stage, if it is of this instance, cut to the hosts
        that are left.

        Nova asks once more about the last of several instances, to find alternates.
        """
        uuid, answer = self._last.get(question.stage, (None, None))
        if answer is None or uuid != question.instance_uuid:
            return None
        if not set(answer.order).issuperset(question.candidates):
            return None
        return answer._replace(order=_only(answer.order, question.candidates))


class Requests(threading.local):
    """The request that each thread works on: a scheduler stays in one thread for all
    stages and instances of a request, and hands all of them the same object.
    """

    def __init__(self) -> None:
        self._current: Request | None = None

    def of(self, identity: object) -> Request:
        """The request that is known by ``identity``."""
        if self._current is None or not self._current.is_of(identity):
            self._current = Request(identity)
        return self._current


def _reference(thing: object) -> Callable[[], object]:
    """A weak one, if there is such a thing: requests are not kept for their name."""
    try:
        return weakref.ref(thing)
    except TypeError:
        return lambda: thing


def _only(
    order: Sequence[Candidate], left: Sequence[Candidate]
) -> tuple[Candidate, ...]:
    wanted = set(left)
    return tuple(candidate for candidate in order if candidate in wanted)
