"""``select_destinations`` over RabbitMQ, as a conductor calls it: caller, broker and
``gantt scheduler`` on the same processors.

One process and SQLite with synchronous=FULL. The caller sends a request for one
instance as primitives, with alternates, so that what its own objects cost is left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from statistics import quantiles
from typing import Any
from uuid import uuid4

import oslo_messaging as messaging
from oslo_config import cfg

from bench.report import Row, at_most, per_second, say
from bench.timing import calls_per_s, seconds
from gantt.bench.figures import duration
from gantt.bench.workloads import CALLERS
from gantt.model.forms.primitive import spec_primitive
from gantt.model.spec import Flavor, Image, RequestSpec
from gantt.openstack.rpc.message_bus import open_transport
from tests.brokers import start_rabbitmq
from tests.openstack.processes import new_books, scheduler

HOSTS = 1_000
P50_S = 0.005
CALLS, WARM = 400, 40
SPEC = RequestSpec(
    flavor=Flavor(vcpus=1, memory_mb=512, root_gb=1, name="small", flavorid="1"),
    image=Image(),
    project_id="project",
    user_id="user",
)


def measure(folder: Path, scale: float) -> Iterator[Row]:
    """All rows of this suite; ``folder`` is for the database."""
    hosts = int(HOSTS * scale)
    with start_rabbitmq() as broker:
        books = new_books(folder, hosts)
        with scheduler(folder, broker.url, books):
            yield from _calls(Caller(broker.url), hosts)


class Caller:
    """A client of the topic ``scheduler``."""

    def __init__(self, url: str) -> None:
        conf = cfg.ConfigOpts()
        conf([], default_config_files=[], default_config_dirs=[])
        messaging.TransportURL.parse(conf)  # registers the option
        conf.set_override("transport_url", url)
        transport = open_transport(conf)
        target = messaging.Target(exchange="nova", topic="scheduler", version="4.0")
        self._client = messaging.get_rpc_client(transport, target).prepare(
            version="4.5", timeout=60, call_monitor_timeout=60
        )
        self._spec = spec_primitive(SPEC)

    def select(self) -> None:
        """One call."""
        spec = {**self._spec}
        arguments: dict[str, Any] = {
            "spec_obj": spec,
            "instance_uuids": [str(uuid4())],
            "return_objects": True,
            "return_alternates": True,
        }
        context = {"request_id": f"req-{uuid4()}"}
        self._client.call(context, "select_destinations", **arguments)


def _calls(caller: Caller, hosts: int) -> Iterator[Row]:
    say(f"rpc: {CALLS} calls, one after the other, {hosts:,} hosts")
    for _ in range(WARM):
        caller.select()
    cuts = quantiles([seconds(caller.select) for _ in range(CALLS)], n=100)
    work = f"select_destinations over RPC, {hosts:,} hosts"
    yield at_most(f"{work}, p50", P50_S, cuts[49])
    yield Row(f"{work}, p99", "", duration(cuts[98]))
    say(f"rpc: {CALLERS} callers")
    rate = calls_per_s(caller.select, 2 * CALLS // CALLERS)
    yield Row(f"{work}, {CALLERS} callers", "", per_second(rate))
