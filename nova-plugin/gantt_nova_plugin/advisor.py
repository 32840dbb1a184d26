"""Asks Gantt one question, and never fails: what goes wrong is counted, and the
scheduler goes on as if nothing had been asked.

One per process: breaker, counters and connections are shared by filter and weigher,
which some schedulers make anew for each request.
"""

from __future__ import annotations

import http.client
import os
import socket
import ssl
import threading
import time
import traceback
from collections.abc import Callable
from typing import NamedTuple, TypeVar

from gantt_nova_plugin import connection, wire
from gantt_nova_plugin.breaker import Breaker
from gantt_nova_plugin.connection import BadStatus, Connection, TooLong
from gantt_nova_plugin.deadline import Deadline, OutOfTime, Request, Requests
from gantt_nova_plugin.journal import Journal
from gantt_nova_plugin.resolver import Resolver
from gantt_nova_plugin.settings import InvalidSettings, Settings, check
from gantt_nova_plugin.wire import Answer, BadAnswer, Form, Question

Result = TypeVar("Result")

SHORTEST_CALL_S = 0.01


class Failure(NamedTuple):
    """Why there is no answer: a kind, which is counted, and what the log hears. One of
    the request tells nothing of Gantt, and leaves the breaker as it is: a project with
    odd requests must not end the advice for others.
    """

    kind: str
    what: str
    is_of_request: bool = False


class Links(threading.local):
    """The connection of each thread, and what it was made for."""

    def __init__(self) -> None:
        self.key: tuple[str, str | None] | None = None
        self.link: Connection | None = None


class Advisor:
    """Fails open in every case. Safe for threads, and after a fork."""

    def __init__(
        self,
        form: Form,
        read_settings: Callable[[], Settings],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._form = form
        self._read_settings = read_settings
        self._clock = clock
        self._begin()

    def _begin(self) -> None:
        """Everything that a child must not share with its parent: sockets, and locks
        that another thread may hold at the fork."""
        self._pid = os.getpid()
        self._requests = Requests()
        self._links = Links()
        self._resolver = Resolver(self._clock)
        self._breaker = Breaker(self._clock)
        self.journal = Journal(self._clock)

    def safely(self, work: Callable[[], Result], otherwise: Result) -> Result:
        """What ``work`` returns, or ``otherwise`` if it raises anything.

        In a scheduler, an exception of a filter or a weigher fails the build.
        """
        if self._pid != os.getpid():
            self._begin()
        try:
            return work()
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:
            place = _place(error)
        # Here, since oslo.log adds the text of an exception that is being handled,
        # which may hold what is not for a log.
        self.journal.failed("plugin", place)
        return otherwise

    def settings(self) -> Settings | None:
        """What is configured now; None if that is of no use, which the log hears."""
        try:
            settings = check(self._read_settings())
        except InvalidSettings as error:
            wrong = str(error)
        else:
            self.journal.settings(settings)
            return settings
        self.journal.invalid(wrong)
        return None

    def ask(
        self, settings: Settings, identity: object, question: Question
    ) -> Answer | None:
        """The answer to a question; None if there is none or it decides nothing. Use
        it in `safely`. ``identity``: the scheduler's object of the whole request.
        """
        began = self._clock()
        request = self._requests.of(identity)
        try:
            return self._ask(settings, request, question)
        finally:
            request.spent_s += self._clock() - began
            self.journal.tell_counters()

    def _ask(
        self, settings: Settings, request: Request, question: Question
    ) -> Answer | None:
        answer = request.known(question)
        if answer is not None:
            self.journal.count("reused")
        else:
            left = settings.request_delay_limit - request.spent_s
            if left < SHORTEST_CALL_S:
                self.journal.count("skipped_delay")
                return None
            deadline = Deadline(self._clock, min(settings.timeout, left))
            answer = self._guarded_call(settings, question, deadline)
            if answer is None:
                return None
            request.note(question, answer)
        return answer if answer.is_decided else None

    def _guarded_call(
        self, settings: Settings, question: Question, deadline: Deadline
    ) -> Answer | None:
        """The call, by leave of the breaker, which hears of its outcome."""
        if not self._breaker.allows():
            self.journal.count("skipped_breaker")
            return None
        self.journal.count("asked")
        try:
            outcome = self._call(settings, question, deadline)
        except BaseException:
            self._drop()
            self._breaker.released()
            raise
        if isinstance(outcome, Failure):
            self._drop()
            self._note_failure(settings, outcome)
            return None
        self.journal.answered(is_decided=outcome.is_decided)
        if self._breaker.succeeded():
            self.journal.closed()
        return outcome

    def _note_failure(self, settings: Settings, failure: Failure) -> None:
        self.journal.failed(failure.kind, failure.what)
        if failure.is_of_request:
            self._breaker.released()
        elif self._breaker.failed(settings.breaker_failures, settings.breaker_seconds):
            self.journal.opened(settings.breaker_seconds)

    def _call(
        self, settings: Settings, question: Question, deadline: Deadline
    ) -> Answer | Failure:
        """The answer, or why there is none. Raises what is no fault of Gantt's."""
        body = wire.encode(self._form, question)
        try:
            answer = self._exchange(settings, body, deadline)
            return wire.decode(self._form, answer, question.candidates)
        except (OutOfTime, socket.timeout, TimeoutError):
            return Failure("timeout", "no whole answer in time")
        except BadStatus as error:
            is_of_request = error.status == http.client.BAD_REQUEST
            return Failure("status", f"HTTP status {error.status}", is_of_request)
        except TooLong as error:
            return Failure("answer", f"the answer has more than {error} bytes")
        except BadAnswer as error:
            return Failure("answer", str(error))
        except (OSError, http.client.HTTPException) as error:
            return Failure("connection", _named(error))

    def _exchange(self, settings: Settings, body: bytes, deadline: Deadline) -> bytes:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if settings.token:
            headers["X-Auth-Token"] = settings.token
        link = self._link(settings)
        response = link.post(self._form.path, body, headers, deadline)
        return connection.read(response, settings.answer_size_limit)

    def _link(self, settings: Settings) -> Connection:
        """The connection of this thread."""
        key = (settings.url, settings.cafile)
        if self._links.link is None or self._links.key != key:
            self._drop()
            address = settings.address
            tls = None
            if address.is_tls:
                tls = ssl.create_default_context(cafile=settings.cafile)
            self._links.key = key
            self._links.link = Connection(address, self._resolver, tls)
        return self._links.link

    def _drop(self) -> None:
        if self._links.link is not None:
            self._links.link.close()


def _named(error: BaseException) -> str:
    said = getattr(error, "strerror", None)
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def _place(error: BaseException) -> str:
    """What failed and where; not its text, which may hold what is not for a log."""
    frames = traceback.extract_tb(error.__traceback__)
    at = f" at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    return type(error).__name__ + at
