"""One process on the topic ``scheduler``: an engine, and the RPC server before it."""

from __future__ import annotations

import logging
from typing import Any, Final

import oslo_messaging as messaging
from oslo_config import cfg

from gantt.errors import Refused
from gantt.model.scheduling import SchedulerProtocol
from gantt.openstack.rpc.kept_calls import keep_calls
from gantt.openstack.rpc.late_replies import LateReplies
from gantt.openstack.rpc.message_bus import open_transport
from gantt.openstack.rpc.methods import FactSource, LifeSigns, SchedulerMethods
from gantt.openstack.rpc.scheduler_notifications import Notifications

LOG = logging.getLogger(__name__)

TOPIC: Final = "scheduler"
_DISCONNECTED: Final = "the message bus is not connected"


class RpcServer:
    """Answers for ``gantt`` under the name ``host``.

    ``source``, ``announce``: as for ``SchedulerMethods``. Raises Refused.
    """

    def __init__(
        self,
        gantt: SchedulerProtocol,
        conf: cfg.ConfigOpts,
        host: str,
        source: FactSource | None,
        announce: Notifications | None = None,
    ) -> None:
        self._transport = open_transport(conf)
        self.methods = SchedulerMethods(gantt, source, announce)
        target = messaging.Target(
            exchange=self._transport.conf.control_exchange, topic=TOPIC, server=host
        )
        endpoints: list[Any] = [self.methods, LifeSigns()]
        self._server = messaging.get_rpc_server(self._transport, target, endpoints)
        self.late = LateReplies()
        self.late.watch(self._server)
        keep_calls(self._server)

    def start(self) -> None:
        """Consume from now on; waits until the broker answers. Raises Refused."""
        try:
            self._server.start()
        except (messaging.MessagingException, cfg.Error, OSError) as error:
            raise Refused(f"The message bus cannot be used: {error}") from error

    def unready(self) -> str:
        """Why no call can come; "": the broker is connected."""
        poller = getattr(self._server.listener, "_poll_style_listener", None)
        connection = getattr(poller, "conn", None)
        if connection is None:  # not a broker: the driver for tests
            return ""
        # The library's connection, and in it that of the driver.
        bus = getattr(getattr(connection, "connection", None), "connection", None)
        return "" if getattr(bus, "connected", False) else _DISCONNECTED

    def drain(self) -> None:
        """Take no more calls, finish those that were taken, and close. What the broker
        still holds goes to other processes, or waits there."""
        _drain(self._server)
        self._transport.cleanup()


def _drain(server: Any) -> None:
    """Take no more calls from the broker, finish those that were taken, disconnect.

    The library stops to read but does not tell the broker, which goes on delivering.
    What is delivered until the connection is closed is acknowledged then, while its
    fanout queue is deleted, and never answered: its caller waits for the whole
    time-out. So consumers are cancelled here, and what came meanwhile is answered like
    any other call.
    """
    server.stop()
    try:
        for message in _cancelled(server.listener):
            server._on_incoming([message])
    except Exception:
        # Internals of the library, and a broker that may be gone.
        LOG.warning("Calls that come while this stops may be lost", exc_info=True)
    server.wait()


def _cancelled(listener: Any) -> list[Any]:
    """Cancel all consumers; the messages that came before that was confirmed."""
    poller = listener._poll_style_listener
    connection = getattr(poller, "conn", None)
    if connection is None:  # not a broker: the driver for tests
        return []
    # Not ``reset``, which would forget that the fanout queue must be deleted.
    with connection._connection_lock:
        for consumer, tag in connection._consumers.items():
            consumer.cancel(tag)
    found, poller.incoming = poller.incoming, []
    return list(found)
