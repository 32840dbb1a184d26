"""Answers to calls whose reply queue is not there: after a conductor died, or while it
connects again.

The library tries each of them for a minute in a thread that answers calls; a few dozen
of them, and no call is answered. Here each is tried once, and then in one thread of its
own, as long as the library would.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from functools import partial
from typing import Any, Final

from msgspec import Struct
from oslo_messaging import MessageUndeliverable
from oslo_messaging._drivers.amqp import AMQPDestinationNotFound
from oslo_messaging._drivers.common import PURPOSE_SEND

LOG = logging.getLogger(__name__)

MOST: Final = 1_000
"""Answers that wait at a time; the oldest are given up."""
_AGAIN_S: Final = 0.25
_MISSING: Final = (MessageUndeliverable, AMQPDestinationNotFound)


class _Late(Struct, frozen=True):
    message: Any
    result: Any
    failure: Any
    until: float


class LateReplies:
    """``watch`` the messages of a server; ``counts`` is for metrics."""

    def __init__(self) -> None:
        self._waiting: deque[_Late] = deque()
        self._is_new = threading.Condition()
        self._thread: threading.Thread | None = None
        self._given_up = 0

    def watch(self, server: Any) -> None:
        """Answer its calls so from now on."""
        process = server._process_incoming

        def processed(incoming: list[Any]) -> None:
            for message in incoming:
                if hasattr(message, "_send_reply"):  # a broker's
                    message.reply = partial(self._reply, message)
            process(incoming)

        server._process_incoming = processed

    def counts(self) -> dict[str, float]:
        """Answers that wait for their queue, and that were given up."""
        return {
            "replies_waiting": len(self._waiting),
            "replies_given_up": self._given_up,
        }

    def _reply(self, message: Any, reply: Any = None, failure: Any = None) -> None:
        if not message.orig_msg_id:  # a cast
            return
        limit_s = message.listener.driver.missing_destination_retry_timeout
        late = _Late(message, reply, failure, time.monotonic() + limit_s)
        if not _is_sent(late):
            self._wait(late)

    def _wait(self, late: _Late) -> None:
        with self._is_new:
            if len(self._waiting) >= MOST:
                self._give_up(self._waiting.popleft())
            self._waiting.append(late)
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name="gantt-late-replies", daemon=True
                )
                self._thread.start()
            self._is_new.notify()

    def _run(self) -> None:
        while True:
            with self._is_new:
                self._is_new.wait_for(lambda: self._waiting)
            try:
                self._round()
            except Exception:
                LOG.exception("Answers that wait for their queue could not be sent")
            time.sleep(_AGAIN_S)

    def _round(self) -> None:
        """Each that waits, once; of a queue that is missing, only the first."""
        missing: set[str] = set()
        for _ in range(len(self._waiting)):
            try:
                late = self._waiting.popleft()
            except IndexError:  # given up meanwhile
                return
            queue = late.message.reply_q
            if queue not in missing and _is_sent(late):
                continue
            missing.add(queue)
            if time.monotonic() < late.until:
                self._waiting.append(late)
            else:
                self._give_up(late)

    def _give_up(self, late: _Late) -> None:
        self._given_up += 1
        LOG.warning(
            "The answer %s was given up: its reply queue %s is not there. Its caller "
            "ended, or has lost its connection to the message bus.",
            late.message.msg_id,
            late.message.reply_q,
        )


def _is_sent(late: _Late) -> bool:
    """False: its reply queue, or the exchange, is not there."""
    try:
        with late.message.listener.driver._get_connection(PURPOSE_SEND) as connection:
            late.message._send_reply(connection, late.result, late.failure)
    except _MISSING:
        return False
    return True
