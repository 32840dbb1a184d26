"""What users and operators of the cloud do, through its own API.

Waits are generous: what is tested is the outcome, not how quick this machine is.
"""

from __future__ import annotations

import tempfile
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from openstack import exceptions
from openstack.connection import Connection

from tests.cloud.cloud import Cloud
from tests.cloud.processes import wait_until

SETTLE_S = 180.0
# The newest that the stand-in for Neutron serves.
MICROVERSION = "2.90"


@dataclass(frozen=True)
class Shape:
    """A flavor: VCPUs, MB of memory, GB of disk, and extra specs."""

    vcpus: int
    memory_mb: int
    disk_gb: int = 1
    extra: tuple[tuple[str, str], ...] = ()


SMALL = Shape(1, 1024)
MEDIUM = Shape(2, 2048)
# Fits only on the largest host, and only when that is empty.
LARGEST = Shape(16, 16_384)
IMPOSSIBLE = Shape(64, 1024)


class Tenant:
    """An administrator with servers; ``close`` deletes what is left of them."""

    def __init__(self, connection: Connection) -> None:
        self.compute: Any = connection.compute
        self.compute.default_microversion = MICROVERSION
        self._flavors: dict[Shape, str] = {}
        self._images = connection
        self.image = self.upload()

    def upload(self) -> str:
        """The id of a new image."""
        with tempfile.NamedTemporaryFile() as content:
            content.write(b"nothing that boots")
            content.flush()
            made: Any = self._images.create_image(
                f"image-{uuid.uuid4()}",
                filename=content.name,
                disk_format="raw",
                container_format="bare",
                wait=True,
            )
        return str(made.id)

    def flavor(self, shape: Shape) -> str:
        """The id of the flavor of ``shape``."""
        if shape not in self._flavors:
            made = self.compute.create_flavor(
                name=f"flavor-{uuid.uuid4()}",
                vcpus=shape.vcpus,
                ram=shape.memory_mb,
                disk=shape.disk_gb,
            )
            if shape.extra:
                self.compute.create_flavor_extra_specs(made, dict(shape.extra))
            self._flavors[shape] = made.id
        return self._flavors[shape]

    # -- boots --------------------------------------------------------------------

    def ask(self, shape: Shape = SMALL, **more: Any) -> str:
        """Ask for a server, without waiting for it; its id."""
        wanted = {
            "name": f"server-{uuid.uuid4()}",
            "flavor_id": self.flavor(shape),
            "image_id": self.image,
            "networks": "none",
        }
        return str(self.compute.create_server(**{**wanted, **more}).id)

    def boot(self, shape: Shape = SMALL, **more: Any) -> str:
        """A server that runs; its id."""
        (server,) = self.running([self.ask(shape, **more)])
        return server

    def try_to_boot(self, shape: Shape) -> str | None:
        """The host of a new server; None if there was none for it."""
        server = self.ask(shape)
        wait_until(
            lambda: self.server(server).status in {"ACTIVE", "ERROR"},
            f"the outcome of {server}",
            within_s=SETTLE_S,
        )
        host: str | None = self.server(server).compute_host
        return host

    def running(self, servers: Sequence[str]) -> Sequence[str]:
        """Wait until all of ``servers`` run. Raises AssertionError with the fault."""
        for server in servers:
            self.wait_for(server, "ACTIVE")
        return servers

    def together(self, count: int, shape: Shape = SMALL, **more: Any) -> list[str]:
        """``count`` servers of one request that run."""
        name = f"many-{uuid.uuid4()}"
        self.ask(shape, name=name, min_count=count, max_count=count, **more)
        found = [server.id for server in self.compute.servers(name=name)]
        assert len(found) == count
        return list(self.running(found))

    # -- what there is ------------------------------------------------------------

    def server(self, server: str) -> Any:
        """As the API shows it."""
        return self.compute.get_server(server)

    def host(self, server: str) -> str:
        """Where it runs."""
        return str(self.server(server).compute_host)

    def wait_for(self, server: str, status: str) -> Any:
        """Return it in ``status`` with nothing under way. Raises AssertionError with
        its fault when it fails instead."""
        found: Any = None

        def settled() -> bool:
            nonlocal found
            found = self.server(server)
            if found.status == "ERROR" and status != "ERROR":
                raise AssertionError(f"{server} failed: {found.fault}")
            return bool(found.status == status and found.task_state is None)

        wait_until(settled, f"{status} of {server}", within_s=SETTLE_S)
        return found

    def act(
        self, action: Callable[..., Any], server: str, status: str, **more: Any
    ) -> str:
        """Do something to a server and wait for ``status``; its host then."""
        action(server, **more)
        return str(self.wait_for(server, status).compute_host)

    def resize(self, server: str, shape: Shape, status: str) -> str:
        """Its host in ``status``."""
        self.compute.resize_server(server, self.flavor(shape))
        return str(self.wait_for(server, status).compute_host)

    def delete(self, *servers: str) -> None:
        """Delete servers, and wait until they are gone."""
        for server in servers:
            self.compute.delete_server(server)
        for server in servers:
            wait_until(
                lambda server=server: self._is_gone(server),  # type: ignore[misc]
                f"the end of {server}",
                within_s=SETTLE_S,
            )

    def _is_gone(self, server: str) -> bool:
        try:
            self.compute.get_server(server)
        except exceptions.NotFoundException:
            return True
        return False

    @contextmanager
    def disabled(self, host: str) -> Iterator[None]:
        """Its compute takes no new servers meanwhile."""
        (service,) = self.compute.services(binary="nova-compute", host=host)
        self.compute.disable_service(service)
        try:
            yield
        finally:
            self.compute.enable_service(service)

    @contextmanager
    def dead(self, cloud: Cloud, host: str) -> Iterator[None]:
        """Its compute is killed and said to be down meanwhile."""
        (service,) = self.compute.services(binary="nova-compute", host=host)
        compute = cloud.programs[host]
        compute.kill()
        self.compute.update_service_forced_down(service, forced=True)
        yield
        # It gives up what was taken from it; only then may it be said to be up.
        compute.start()
        wait_until(
            lambda: not self._evacuations(host),
            f"the end of evacuations at {host}",
            within_s=SETTLE_S,
        )
        self.compute.update_service_forced_down(service, forced=False)
        wait_until(
            lambda: self._state(host) == "up", f"{host} is up", within_s=SETTLE_S
        )

    def _evacuations(self, host: str) -> list[Any]:
        found = self.compute.migrations(migration_type="evacuation", host=host)
        return [one for one in found if one.status in {"accepted", "done"}]

    def _state(self, host: str) -> str:
        (service,) = self.compute.services(binary="nova-compute", host=host)
        return str(service.state)

    @contextmanager
    def zone(self, name: str, host: str) -> Iterator[None]:
        """An availability zone with one host, meanwhile."""
        made = self.compute.create_aggregate(name=name, availability_zone=name)
        self.compute.add_host_to_aggregate(made, host)
        try:
            yield
        finally:
            self.compute.remove_host_from_aggregate(made, host)
            self.compute.delete_aggregate(made)

    def clear(self) -> None:
        """Delete all servers and groups."""
        self.delete(*(server.id for server in self.compute.servers(details=False)))
        for group in self.compute.server_groups():
            self.compute.delete_server_group(group)

    def group(self, policy: str) -> dict[str, Any]:
        """A new server group, as an argument of ``ask``."""
        made = self.compute.create_server_group(
            name=f"group-{uuid.uuid4()}", policy=policy
        )
        return {"scheduler_hints": {"group": made.id}}
