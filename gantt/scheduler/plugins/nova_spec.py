"""A request as filters and weighers written for Nova see it: like its RequestSpec.

It also answers like the dict of filter properties that filters got before there was
such an object. Lists and dicts in it are copies: what a plug-in does to them is lost.
"""

from __future__ import annotations

from typing import Any

from gantt.model.spec import (
    Destination,
    Image,
    InstanceGroup,
    RequestSpec,
    ResourceGroup,
)
from gantt.scheduler.plugins.nova_object import LegacyList, LegacyObject, unpacked

# Attributes that Nova's object reads from one of its parts.
_DERIVED = {
    "flavor": frozenset({"vcpus", "memory_mb", "root_gb", "ephemeral_gb", "swap"}),
    "request_level_params": frozenset(
        {"root_required", "root_forbidden", "same_subtree"}
    ),
}


class LegacySpec(LegacyObject):
    """Attributes are those of Nova's RequestSpec 1.15, and the values derived from the
    flavor; ``get`` and ``[…]`` give filter properties."""

    def __init__(self, spec: RequestSpec) -> None:
        hints = {name: list(values) for name, values in spec.scheduler_hints.items()}
        super().__init__(
            image=_image(spec.image),
            flavor=_flavor(spec),
            numa_topology=unpacked(spec.numa_topology),
            pci_requests=LegacyObject(
                instance_uuid=spec.instance_uuid,
                requests=[_request(one) for one in spec.pci_requests],
            ),
            project_id=spec.project_id,
            user_id=spec.user_id,
            availability_zone=spec.availability_zone,
            num_instances=spec.num_instances,
            ignore_hosts=list(spec.ignore_hosts),
            force_hosts=list(spec.force_hosts),
            force_nodes=list(spec.force_nodes),
            requested_destination=_destination(spec.requested_destination),
            retry=_retry(spec),
            limits=LegacyObject(
                numa_topology=None, vcpu=None, disk_gb=None, memory_mb=None
            ),
            instance_group=_group(spec.instance_group),
            scheduler_hints=hints,
            instance_uuid=spec.instance_uuid,
            security_groups=LegacyList(),
            network_metadata=LegacyObject(
                physnets=set(spec.network_metadata.physnets),
                tunneled=spec.network_metadata.tunneled,
            ),
            is_bfv=spec.is_bfv,
            requested_resources=[_resources(one) for one in spec.requested_resources],
            request_level_params=LegacyObject(
                root_required=set(spec.request_level_params.root_required),
                root_forbidden=set(spec.request_level_params.root_forbidden),
                same_subtree=[
                    sorted(one) for one in spec.request_level_params.same_subtree
                ],
            ),
            requested_networks=LegacyList(
                LegacyObject(
                    network_id=one.network_id, port_id=one.port_id, address=one.address
                )
                for one in spec.requested_networks
            ),
        )

    def __getattr__(self, name: str) -> Any:
        # Attributes that are there never come here.
        for part, names in _DERIVED.items():
            if name in names:
                return getattr(self.__dict__[part], name)
        raise AttributeError(f"a request has no {name}")

    def get_scheduler_hint(self, name: str, default: Any = None) -> Any:
        """The single value of a list of one, else the list."""
        value = self.scheduler_hints.get(name, default)
        is_single = isinstance(value, list) and len(value) == 1
        return value[0] if is_single else value

    def get(self, name: str, default: Any = None) -> Any:
        """A filter property, else an attribute."""
        found = self.to_legacy_filter_properties_dict()
        return found[name] if name in found else super().get(name, default)

    def __getitem__(self, name: str) -> Any:
        found = self.to_legacy_filter_properties_dict()
        return found[name] if name in found else super().__getitem__(name)

    def to_legacy_request_spec_dict(self) -> dict[str, Any]:
        """The request in the form that schedulers got before there were objects."""
        flavor = self.flavor
        return {
            "num_instances": self.num_instances,
            "image": self.image if self.image is not None else {},
            "instance_type": flavor,
            "instance_properties": {
                "uuid": self.instance_uuid,
                "project_id": self.project_id,
                "user_id": self.user_id,
                "availability_zone": self.availability_zone,
                "memory_mb": flavor.memory_mb,
                "vcpus": flavor.vcpus,
                "root_gb": flavor.root_gb,
                "ephemeral_gb": flavor.ephemeral_gb,
                "numa_topology": self.numa_topology,
                "pci_requests": self.pci_requests,
            },
        }

    def to_legacy_filter_properties_dict(self) -> dict[str, Any]:
        """What is asked, in the form that filters got before there were objects."""
        found: dict[str, Any] = {
            "request_spec": self.to_legacy_request_spec_dict(),
            "instance_type": self.flavor,
            "project_id": self.project_id,
            "scheduler_hints": {
                name: self.get_scheduler_hint(name) for name in self.scheduler_hints
            },
            "ignore_hosts": self.ignore_hosts,
            "force_hosts": self.force_hosts,
            "force_nodes": self.force_nodes,
            "limits": {},
        }
        if self.retry is not None:
            hosts = [[one.host, one.hypervisor_hostname] for one in self.retry.hosts]
            found["retry"] = {"num_attempts": self.retry.num_attempts, "hosts": hosts}
        group = self.instance_group
        if group is not None:
            found["group_updated"] = True
            found["group_hosts"] = set(group.hosts)
            found["group_policies"] = set(group.policies)
            found["group_members"] = set(group.members)
        return found


def _flavor(spec: RequestSpec) -> LegacyObject:
    flavor = spec.flavor
    return LegacyObject(
        id=flavor.id,
        name=flavor.name,
        memory_mb=flavor.memory_mb,
        vcpus=flavor.vcpus,
        root_gb=flavor.root_gb,
        ephemeral_gb=flavor.ephemeral_gb,
        flavorid=flavor.flavorid,
        swap=flavor.swap,
        rxtx_factor=1.0,
        vcpu_weight=0,
        disabled=False,
        is_public=True,
        extra_specs=dict(flavor.extra_specs),
        projects=[],
        description=None,
    )


def _image(image: Image | None) -> LegacyObject | None:
    if image is None:
        return None
    fields: dict[str, Any] = {"properties": LegacyObject(**image.properties)}
    # A server that boots from a volume has an image without these.
    if image.id is not None:
        fields["id"] = image.id
    if image.disk_format is not None:
        fields["disk_format"] = image.disk_format
    return LegacyObject(**fields)


def _destination(wanted: Destination | None) -> LegacyObject | None:
    if wanted is None:
        return None
    fields: dict[str, Any] = {
        "aggregates": [",".join(sorted(one)) for one in wanted.aggregates],
        "forbidden_aggregates": set(wanted.forbidden_aggregates),
        "allow_cross_cell_move": wanted.allow_cross_cell_move,
        "node": wanted.node,
        "cell": None,
    }
    if wanted.host is not None:
        fields["host"] = wanted.host
    if wanted.cell_uuid is not None:
        fields["cell"] = LegacyObject(uuid=wanted.cell_uuid)
    return LegacyObject(**fields)


def _retry(spec: RequestSpec) -> LegacyObject | None:
    if not spec.retry_hosts:
        return None
    tried = [
        LegacyObject(host=host, hypervisor_hostname=node)
        for host, node in spec.retry_hosts
    ]
    return LegacyObject(num_attempts=len(tried) + 1, hosts=LegacyList(tried))


def _group(group: InstanceGroup | None) -> LegacyObject | None:
    if group is None:
        return None
    return LegacyObject(
        uuid=group.uuid,
        policy=group.policy,
        policies=[] if group.policy is None else [group.policy],
        rules={"max_server_per_host": group.max_server_per_host},
        members=sorted(group.members),
        hosts=sorted(group.hosts),
    )


def _resources(group: ResourceGroup) -> LegacyObject:
    return LegacyObject(
        requester_id=group.requester_id,
        resources=dict(group.resources),
        required_traits=set(group.required_traits),
        forbidden_traits=set(group.forbidden_traits),
        aggregates=[sorted(one) for one in group.aggregates],
        forbidden_aggregates=set(group.forbidden_aggregates),
        in_tree=group.in_tree,
        use_same_provider=group.use_same_provider,
        provider_uuids=[],
    )


def _request(request: dict[str, Any]) -> LegacyObject:
    found = unpacked(request)
    return found if isinstance(found, LegacyObject) else LegacyObject(**found)
