"""The configuration files of the cloud's services, as text.

Apart from the processes, so that all that Nova is told is read in one place. What is
not set has upstream's default.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.live import free_port

PASSWORD = "of-a-test"
REGION = "RegionOne"
SERVICE_USER = "nova"
SERVICE_PROJECT = "service"
FERNET_KEYS = "fernet-keys"

SHADOW_SETTLE_S = 10
FEED_S = 5
# Nova's default, and those that hints need.
FILTERS = (
    "ComputeFilter",
    "ComputeCapabilitiesFilter",
    "ImagePropertiesFilter",
    "ServerGroupAntiAffinityFilter",
    "ServerGroupAffinityFilter",
    "DifferentHostFilter",
    "SameHostFilter",
    "NUMATopologyFilter",
    "PciPassthroughFilter",
)
DEVICE = {"vendor_id": "8086", "product_id": "1572"}
ALIAS = {**DEVICE, "device_type": "type-PCI", "name": "fast"}

Groups = Mapping[str, Mapping[str, object]]


@dataclass(frozen=True)
class Ports:
    """Loopback ports that were free when the cloud was made."""

    keystone: int = field(default_factory=free_port)
    glance: int = field(default_factory=free_port)
    nova: int = field(default_factory=free_port)
    neutron: int = field(default_factory=free_port)
    placement: int = field(default_factory=free_port)
    adviser: int = field(default_factory=free_port)


@dataclass(frozen=True)
class Size:
    """What a host has for instances, of the 1,000 VCPUs, 800,000 MB and 600,000 GB of
    the fake driver."""

    vcpus: int
    memory_mb: int
    disk_gb: int
    has_devices: bool = False  # and dedicated CPUs: compute_with_devices.py

    @property
    def reserved(self) -> dict[str, object]:
        return {
            "reserved_host_cpus": 1000 - self.vcpus,
            "reserved_host_memory_mb": 800_000 - self.memory_mb,
            "reserved_host_disk_mb": (600_000 - self.disk_gb) * 1024,
        }


@dataclass(frozen=True)
class Settings:
    """Where everything is; each method is one service's options."""

    folder: Path
    transport_url: str
    databases: Mapping[str, str]
    authority: Path | None = None  # who signs for the message bus; None: no TLS
    ports: Ports = field(default_factory=Ports)

    @property
    def auth_url(self) -> str:
        return f"http://127.0.0.1:{self.ports.keystone}/v3"

    def endpoints(self) -> dict[str, tuple[str, str]]:
        """By service type: its name and URL."""
        at = "http://127.0.0.1:{}".format
        return {
            "image": ("glance", at(self.ports.glance)),
            "compute": ("nova", at(self.ports.nova) + "/v2.1"),
            "network": ("neutron", at(self.ports.neutron)),
            "placement": ("placement", at(self.ports.placement)),
        }

    def user(self, name: str = SERVICE_USER) -> dict[str, object]:
        """How a service proves who it is."""
        return {
            "auth_type": "password",
            "auth_url": self.auth_url,
            "username": name,
            "password": PASSWORD,
            "project_name": SERVICE_PROJECT,
            "user_domain_id": "default",
            "project_domain_id": "default",
            "region_name": REGION,
        }

    def bus(self, host: str) -> dict[str, object]:
        """How the services of ``host`` use the message bus: with TLS, as kolla-ansible
        sets it up. The names of queues are counted in shared memory, by this name."""
        if self.authority is None:
            return {}
        return {
            "ssl": "true",
            "ssl_ca_file": self.authority,
            "rabbit_quorum_queue": "true",
            "rabbit_transient_quorum_queue": "true",
            "use_queue_manager": "true",
            "hostname": f"{host}-{self.ports.nova}",
        }

    def _authtoken(self) -> dict[str, object]:
        return {
            **self.user(),
            "www_authenticate_uri": self.auth_url,
            "service_token_roles_required": "true",
            "service_token_roles": "service",
        }

    def keystone(self) -> Groups:
        keys = {"key_repository": self.folder / FERNET_KEYS}
        return {
            "DEFAULT": {"use_stderr": "true", "insecure_debug": "false"},
            "database": {"connection": self.databases["keystone"]},
            "token": {"provider": "fernet"},
            "fernet_tokens": keys,
            "fernet_receipts": keys,
            # The default takes a third of a second of a core for each password.
            "identity": {"password_hash_rounds": 4},
        }

    def glance(self) -> Groups:
        return {
            "DEFAULT": {"enabled_backends": "images:file", "use_stderr": "true"},
            "database": {"connection": self.databases["glance"]},
            "keystone_authtoken": self._authtoken(),
            "paste_deploy": {"flavor": "keystone"},
            "glance_store": {"default_backend": "images"},
            "images": {"filesystem_store_datadir": self.folder / "images"},
            "os_glance_tasks_store": {
                "filesystem_store_datadir": self.folder / "tasks"
            },
            "os_glance_staging_store": {
                "filesystem_store_datadir": self.folder / "staging"
            },
            "oslo_concurrency": {"lock_path": self.folder / "locks"},
        }

    def nova(self) -> Groups:
        url = {name: url for name, (_, url) in self.endpoints().items()}
        return {
            "DEFAULT": {
                "transport_url": self.transport_url,
                "state_path": self.folder / "state",
                "host": "controller",
                "my_ip": "127.0.0.1",
                "use_stderr": "true",
                "compute_driver": "fake.FakeDriverWithoutFakeNodes",
                "cpu_allocation_ratio": "1.0",
                "ram_allocation_ratio": "1.0",
                "disk_allocation_ratio": "1.0",
                # What is not tested here need not run either.
                "sync_power_state_interval": "-1",
                "heal_instance_info_cache_interval": "-1",
                "report_interval": "5",
                "service_down_time": "30",
                "long_rpc_timeout": "240",
                "rpc_response_timeout": "120",
                "graceful_shutdown_timeout": "30",
            },
            "api": {"auth_strategy": "keystone"},
            "database": {"connection": self.databases["nova_cell1"]},
            "api_database": {"connection": self.databases["nova_api"]},
            "keystone_authtoken": self._authtoken(),
            "service_user": {**self.user(), "send_service_user_token": "true"},
            "placement": {**self.user(), "endpoint_override": url["placement"]},
            "neutron": {**self.user(), "endpoint_override": url["network"]},
            "glance": {"endpoint_override": url["image"]},
            "pci": {"alias": json.dumps(ALIAS)},
            "conductor": {"workers": "1"},
            "scheduler": {"workers": "1"},
            "filter_scheduler": {
                "enabled_filters": ",".join(FILTERS),
                # More than what the largest host is ahead by in processors, memory and
                # disks: with 1.0 a soft group's members share it as soon as the I/O of
                # the last build is no longer in its row.
                "soft_anti_affinity_weight_multiplier": "10",
            },
            "quota": {"driver": "nova.quota.NoopQuotaDriver"},
            "vnc": {"enabled": "false"},
            "oslo_concurrency": {"lock_path": self.folder / "locks"},
            "notifications": {"notification_format": "versioned"},
            # As how-to/feed.md and how-to/replace-nova-scheduler.md have them.
            "nova": {
                "feed_interval": FEED_S,
                "feed_user": "gantt",
                "feed_password": "secret",
                "write_user": "gantt_writer",
                "write_password": "secret",
            },
            "oslo_messaging_notifications": {"driver": "messagingv2"},
            "oslo_messaging_rabbit": self.bus("controller"),
        }

    def compute(self, host: str, size: Size) -> Groups:
        """What one compute has beside ``nova``."""
        state = self.folder / host
        groups: dict[str, dict[str, object]] = {
            "DEFAULT": {"host": host, "state_path": state, **size.reserved},
            "oslo_concurrency": {"lock_path": state / "locks"},
            "oslo_messaging_rabbit": self.bus(host),
        }
        if size.has_devices:
            groups["DEFAULT"]["compute_driver"] = "fake.DriverWithDevices"
            groups["pci"] = {"device_spec": json.dumps(DEVICE)}
        return groups

    def gantt(self) -> Groups:
        """Gantt as Placement."""
        return {
            "placement_database": {"connection": self.databases["placement"]},
            "api": {"auth_strategy": "keystone"},
            "keystone_authtoken": self._authtoken(),
        }

    def adviser(self) -> Groups:
        """Gantt as what the plug-in asks; the computes write the books."""
        return {
            "placement_database": {"connection": self.databases["placement"]},
            "api": {"auth_strategy": "noauth2"},
            "gantt": {"shadow_settle_s": SHADOW_SETTLE_S},
            "scheduler": {"reports_write_books": "false", "requires_service": "true"},
        }

    def plugin(self, mode: str) -> Groups:
        """What nova-scheduler has beside ``nova`` to ask the adviser."""
        prefix = "gantt_nova_plugin.nova"
        return {
            "filter_scheduler": {
                "available_filters": (
                    "nova.scheduler.filters.all_filters",
                    f"{prefix}.GanttFilter",
                ),
                "enabled_filters": ",".join((*FILTERS, "GanttFilter")),
                "weight_classes": f"nova.scheduler.weights.all_weighers,"
                f"{prefix}.GanttWeigher",
            },
            "gantt": {
                "url": f"http://127.0.0.1:{self.ports.adviser}",
                "mode": mode,
                "timeout": "1",
            },
        }


def write(path: Path, groups: Groups) -> Path:
    """``groups`` as a file of oslo.config; where it is."""
    lines = []
    for group, options in groups.items():
        lines += [f"[{group}]", *(_option(*pair) for pair in options.items()), ""]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines))
    return path


def _option(name: str, value: object) -> str:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "\n".join(_option(name, one) for one in value)
    return f"{name} = {value}"
