"""Nova's side of the RPC interface: its own client, objects and serializer.

The global state that Nova keeps (its options, its transport) stays in here.
"""

from __future__ import annotations

import uuid as uuids
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import nova.conf
import oslo_messaging as messaging
from nova import baserpc, objects
from nova import context as nova_context
from nova import rpc as nova_rpc
from nova.scheduler.rpcapi import SchedulerAPI
from oslo_config import cfg

MEMORY = "kombu+memory://"
"""The driver for RabbitMQ, with its wire format, over queues in this process."""

objects.register_all()
nova_rpc.set_defaults(control_exchange="nova")
CONF = nova.conf.CONF
CONF([], project="nova", default_config_files=[])


def options(url: str, **others: Any) -> cfg.ConfigOpts:
    """What ``nova.conf`` would say to a server on the bus at ``url``."""
    conf = cfg.ConfigOpts()
    conf([], default_config_files=[], default_config_dirs=[])
    messaging.TransportURL.parse(conf)
    conf.set_override("transport_url", url)
    for name, value in others.items():
        conf.set_override(name, value)
    return conf


@contextmanager
def conductor(
    url: str = MEMORY,
    version: str | None = None,
    timeout_s: int = 30,
    trusts: Sequence[str] = (),
) -> Iterator[SchedulerAPI]:
    """Nova's client; ``version``: the newest that it may send; ``timeout_s``: when it
    gives up on a call; ``trusts``: modules whose exceptions it makes anew, beside
    Nova's own."""
    modules = [*nova_rpc.get_allowed_exmods(), *trusts]
    transport = messaging.get_rpc_transport(
        CONF, url=url, allowed_remote_exmods=modules
    )
    before, nova_rpc.TRANSPORT = nova_rpc.TRANSPORT, transport
    CONF.set_override("scheduler", version, "upgrade_levels")
    CONF.set_override("long_rpc_timeout", timeout_s)
    try:
        yield SchedulerAPI()
    finally:
        CONF.clear_override("long_rpc_timeout")
        CONF.clear_override("scheduler", "upgrade_levels")
        nova_rpc.TRANSPORT = before
        transport.cleanup()


def ping(argument: str) -> Any:
    """What a scheduler answers to the call that all of Nova's services know."""
    return baserpc.BaseAPI("scheduler").ping(context(), argument, timeout=10)


def raw(
    method: str,
    version: str = "4.5",
    of: dict[str, object] | None = None,
    topic: str = "scheduler",
    **arguments: Any,
) -> Any:
    """Call with exactly these arguments; ``of``: the request's context."""
    client = messaging.get_rpc_client(
        nova_rpc.TRANSPORT, messaging.Target(topic=topic, version="4.0")
    )
    prepared = client.prepare(version=version, timeout=10)
    return prepared.call(of or {}, method, **arguments)


def context(request_id: str | None = None) -> Any:
    """Of a tenant's request."""
    return nova_context.RequestContext("user", "project", request_id=request_id)


def spec(**fields: Any) -> Any:
    """A request for a small instance, as conductors make it."""
    flavor = {"vcpus": 1, "memory_mb": 512, "root_gb": 1, **fields.pop("flavor", {})}
    return objects.RequestSpec(
        **{
            "project_id": "project",
            "user_id": "user",
            "instance_uuid": str(uuids.uuid4()),
            "num_instances": 1,
            "flavor": objects.Flavor(
                ephemeral_gb=0,
                swap=0,
                name="small",
                flavorid="1",
                **{"extra_specs": {}, **flavor},
            ),
            "image": objects.ImageMeta(properties=objects.ImageMetaProps()),
            "limits": objects.SchedulerLimits.from_dict({}),
            "scheduler_hints": {},
            "security_groups": objects.SecurityGroupList(objects=[]),
            **dict.fromkeys(
                "ignore_hosts force_hosts force_nodes instance_group numa_topology "
                "pci_requests availability_zone retry".split()
            ),
            **fields,
        }
    )


def instances(count: int = 1) -> list[str]:
    """Uuids of new instances."""
    return [str(uuids.uuid4()) for _ in range(count)]
