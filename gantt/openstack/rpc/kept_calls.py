"""Calls stay at the broker until they are answered, so that those of a process that
dies go to another at once.

The library acknowledges a call when it comes: its caller then waits for an answer until
its time-out, and the build fails. Here it is acknowledged once it is answered. Another
process may meet it a second time: the claim that was made is the answer while it is
there; where a host names the instance it is taken for a move, and claimed beside. The
broker drops what is older than its caller's time-out. A call that comes back is
acknowledged first: one that kills the process which answers it kills two and no more.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from oslo_messaging._drivers.amqpdriver import AMQPListener, RpcAMQPListener

LOG = logging.getLogger(__name__)


class KeepingListener(RpcAMQPListener):  # type: ignore[misc]
    """Leaves what comes for the first time unacknowledged."""

    def __call__(self, message: Any) -> None:
        if message._raw_message.delivery_info.get("redelivered"):
            super().__call__(message)
            return
        before = len(self.incoming)
        AMQPListener.__call__(self, message)
        if len(self.incoming) == before:
            # A caller sends again where its connection is lost: the first is answered.
            _try_to(message.acknowledge)

    def cleanup(self) -> None:
        """Every call was answered: tell the broker of the last ones, too."""
        handler = self._message_operations_handler
        handler.stop()
        if handler._shutdown_thread.is_alive():
            handler._shutdown_thread.join()
        handler.process()
        super().cleanup()


def keep_calls(server: Any) -> None:
    """Before ``server`` starts."""
    create, process = server._create_listener, server._process_incoming

    def created() -> Any:
        found = create()
        poller = getattr(found, "_poll_style_listener", None)
        if isinstance(poller, RpcAMQPListener):  # else no broker: a driver for tests
            poller.__class__ = KeepingListener
        return found

    def processed(incoming: list[Any]) -> None:
        try:
            process(incoming)
        finally:
            for message in incoming:
                _acknowledge(message)

    server._create_listener = created
    server._process_incoming = processed


def _acknowledge(incoming: Any) -> None:
    """In the thread that reads from the broker, which has the connection."""
    if not isinstance(getattr(incoming, "listener", None), KeepingListener):
        return
    message = incoming.message
    if message._raw_message.acknowledged:  # it had come back
        return

    def acknowledge() -> None:
        with incoming.listener.conn._connection_lock:
            message.acknowledge()

    incoming._message_operations_handler.do(lambda: _try_to(acknowledge))


def _try_to(acknowledge: Callable[[], None]) -> None:
    try:
        acknowledge()
    except Exception as error:
        # The connection was lost meanwhile: the broker delivers it again.
        LOG.info("A call that was answered could not be acknowledged: %s", error)
