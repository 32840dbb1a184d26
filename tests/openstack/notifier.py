"""Nova's notifications about its scheduler, made and sent by Nova's own code.

As a program it is nova-scheduler's part of that: it reads ``nova.conf``, and for each
line on stdin (an object: phase, uuid, request_id) sends what a start or an end would.
"""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from typing import Any
from unittest import mock

import nova.conf
from nova import context, objects
from nova import rpc as nova_rpc
from nova.compute import utils
from nova.notifications.objects.request_spec import RequestSpecPayload
from nova.objects import fields

objects.register_all()
IMAGE = "c6a0e4ae-5b0b-4c0a-9a5e-0a3f6a1f3c11"


def spec(uuid: str, **given: Any) -> Any:
    """A RequestSpec for a small instance, with all fields that the API sets."""
    flavor = objects.Flavor(
        id=1,
        name="small",
        flavorid="1",
        memory_mb=1024,
        vcpus=1,
        root_gb=10,
        ephemeral_gb=0,
        swap=0,
        rxtx_factor=1.0,
        vcpu_weight=0,
        disabled=False,
        is_public=True,
        extra_specs={},
        projects=[],
        description=None,
    )
    known: dict[str, Any] = {
        "flavor": flavor,
        "image": objects.ImageMeta(id=IMAGE, properties=objects.ImageMetaProps()),
        **dict.fromkeys(("numa_topology", "availability_zone", "ignore_hosts")),
        **dict.fromkeys(("force_hosts", "force_nodes", "scheduler_hints", "limits")),
        **dict.fromkeys(("retry", "instance_group", "requested_destination")),
        "pci_requests": None,
        "project_id": "p",
        "user_id": "u",
        "num_instances": 1,
        "security_groups": objects.SecurityGroupList(objects=[]),
        "instance_uuid": uuid,
    }
    return objects.RequestSpec(**{**known, **given})


def payload(wanted: Any) -> dict[str, Any]:
    """The payload about ``wanted``, as it is on the bus."""
    conf = nova.conf.CONF
    with suppress(AttributeError):
        conf([], project="nova", default_config_files=[])
    conf.set_override("notification_format", "versioned", "notifications")
    try:
        with mock.patch.object(nova_rpc, "NOTIFIER"):
            primitive = RequestSpecPayload(wanted).obj_to_primitive()
    finally:
        conf.clear_override("notification_format", "notifications")
    found: dict[str, Any] = json.loads(json.dumps(primitive, default=list))
    return found


def main(conf_file: str) -> None:
    """Send until stdin ends."""
    nova.conf.CONF([], project="nova", default_config_files=[conf_file])
    nova_rpc.set_defaults(control_exchange="nova")
    nova_rpc.init(nova.conf.CONF)
    for line in sys.stdin:
        order = json.loads(line)
        about = context.RequestContext("u", "p", request_id=order["request_id"])
        phase = fields.NotificationPhase.START
        if order["phase"] == "end":
            phase = fields.NotificationPhase.END
        utils.notify_about_scheduler_action(
            context=about,
            request_spec=spec(order["uuid"]),
            action=fields.NotificationAction.SELECT_DESTINATIONS,
            phase=phase,
        )
        print("sent", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
