"""A cloud of OpenStack's released services on this machine, with fake hypervisors.

Keystone, Glance, Nova and Gantt as Placement, beside a MariaDB and a RabbitMQ of its
own, all on free loopback ports. What schedules is started apart (``schedulers.py``):
set-ups share one cloud.
"""

from __future__ import annotations

import base64
import os
import shutil
import sys
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import openstack
from openstack.connection import Connection

from tests.brokers import Rabbitmq
from tests.cloud import settings
from tests.cloud.processes import ENVIRONMENT, ROOT, Program, program, run, wait_until
from tests.cloud.settings import PASSWORD, REGION, Settings, Size, write
from tests.cloud.tables import CloudDatabases

# Different sizes, so that hosts fill at different times.
SIZES = {
    "host1": Size(8, 16_384, 200),
    "host2": Size(8, 16_384, 200, has_devices=True),
    "host3": Size(12, 24_576, 300),
    "host4": Size(16, 32_768, 400),
}
NODES = f"""
SELECT COUNT(*), COALESCE(SUM(pci_stats LIKE '%%{settings.DEVICE["product_id"]}%%'), 0)
FROM compute_nodes
"""
WITH_DEVICES = ROOT / "tests" / "cloud" / "compute_with_devices.py"
APPLICATIONS = {
    "keystone": "keystone.wsgi.api:application",
    "glance": "glance.wsgi.api:application",
    "nova": "nova.wsgi.osapi_compute:application",
}
# Nova asks for the ports of 100 servers in one line.
GUNICORN = """\
wsgi_app = {application!r}
bind = "127.0.0.1:{port}"
worker_class = "gthread"
threads = 8
timeout = 300
limit_request_line = 0
control_socket_disable = True
"""


class Cloud:
    """Running services. ``connection`` is an administrator's client; ``took`` says
    how long each part of the start was, in seconds."""

    connection: Connection

    def __init__(
        self,
        folder: Path,
        sizes: Mapping[str, Size] = SIZES,
        *,
        has_tls: bool = True,
    ) -> None:
        """Start everything but what schedules; return when hosts are mapped.
        ``has_tls``: the message bus is set up as deployment tools do it."""
        self.folder, self.sizes, self.has_tls = folder, sizes, has_tls
        self.programs: dict[str, Program] = {}
        self.took: dict[str, float] = {}
        self._since = time.monotonic()
        self._stops: list[CloudDatabases | Rabbitmq] = []
        try:
            self._start()
        except BaseException:
            self.close()
            raise

    def _start(self) -> None:
        with ThreadPoolExecutor(1) as pool:
            broker = pool.submit(Rabbitmq, has_tls=self.has_tls)
            self.database = CloudDatabases()
            self._stops.append(self.database)
            self.broker = broker.result()
            self._stops.append(self.broker)
        self._note("database and broker")
        authority = self.broker.authority if self.has_tls else None
        urls = self.database.urls()
        self.settings = Settings(self.folder, self.broker.url, urls, authority)
        self._write()
        self.database.furnish(*(self.files[name] for name in APPLICATIONS))
        for name in ("feed", "replace-nova-scheduler"):
            self.database.grant(ROOT / "docs" / "how-to" / f"{name}.md")
        self._note("tables")
        self._start_keystone()
        self._note("keystone")
        self._map_cells()
        self._start_services()
        self._note("services")

    def _note(self, part: str) -> None:
        now = time.monotonic()
        self.took[part], self._since = now - self._since, now

    def _write(self) -> None:
        """Every file of settings, by the service's name."""
        ours, etc = self.settings, self.folder / "etc"
        for name in ("images", "tasks", "staging", "locks", "state", *self.sizes):
            (self.folder / name).mkdir()
        self.files = {
            "keystone": write(etc / "keystone" / "keystone.conf", ours.keystone()),
            "glance": write(etc / "glance" / "glance-api.conf", ours.glance()),
            "nova": write(etc / "nova" / "nova.conf", ours.nova()),
            "gantt": write(etc / "gantt" / "gantt.conf", ours.gantt()),
        }
        for host, size in self.sizes.items():
            self.files[host] = write(etc / f"{host}.conf", ours.compute(host, size))
        for name in ("nova/api-paste.ini", "glance/glance-api-paste.ini"):
            shutil.copy(ENVIRONMENT / "etc" / name, etc / name)

    # -- its services -------------------------------------------------------------

    def run(self, name: str, *command: str, **environ: str) -> Program:
        """Start a program under ``name``; not waited for."""
        found = Program(name, command, self.folder, environ)
        self.programs[name] = found
        found.start()
        return found

    def run_gantt(self, name: str, *arguments: str) -> Program:
        """Start ``gantt`` of this repository."""
        return self.run(
            name, sys.executable, "-m", "gantt", *arguments, PYTHONPATH=str(ROOT)
        )

    def run_nova(self, name: str, binary: str, *more: Path) -> Program:
        """Start a service of Nova with nova.conf and further files."""
        return self.run(name, program(binary), *self._nova_files(*more))

    def _nova_files(self, *more: Path) -> list[str]:
        return [part for one in (self.files["nova"], *more) for part in _file(one)]

    def _run_compute(self, host: str) -> None:
        if not self.sizes[host].has_devices:
            self.run_nova(host, "nova-compute", self.files[host])
            return
        # -P: nothing of this folder is imported.
        command = (program("python"), "-P", str(WITH_DEVICES))
        self.run(host, *command, *self._nova_files(self.files[host]))

    def nova_manage(self, *arguments: str, passes: bool = True) -> str:
        """What ``nova-manage`` says."""
        files = _file(self.files["nova"])
        return run(program("nova-manage"), *files, *arguments, passes=passes)

    def _run_wsgi(self, name: str) -> Program:
        """Keystone reads the command line: what gunicorn is told is in a file."""
        etc, port = self.files[name].parent, getattr(self.settings.ports, name)
        told = self.folder / f"gunicorn_{name}.py"
        told.write_text(GUNICORN.format(application=APPLICATIONS[name], port=port))
        return self.run(
            name,
            program("gunicorn"),
            GUNICORN_CMD_ARGS=f"--config {told}",
            **{f"OS_{name.upper()}_CONFIG_DIR": str(etc)},
        )

    def _start_keystone(self) -> None:
        """With the catalogue and the services' user."""
        manage = (program("keystone-manage"), *_file(self.files["keystone"]))
        keys = self.folder / settings.FERNET_KEYS
        keys.mkdir(mode=0o700)
        for name in ("0", "1"):  # the next key and the one in use
            (keys / name).write_bytes(base64.urlsafe_b64encode(os.urandom(32)))
        run(
            *manage,
            "bootstrap",
            "--bootstrap-password",
            PASSWORD,
            "--bootstrap-region-id",
            REGION,
            "--bootstrap-public-url",
            self.settings.auth_url,
            "--bootstrap-internal-url",
            self.settings.auth_url,
        )
        keystone = self._run_wsgi("keystone")
        keystone.wait_for_http(self.settings.ports.keystone, "/v3")
        identity: Any = openstack.connect(**self.credentials()).identity
        project = identity.create_project(
            name=settings.SERVICE_PROJECT, domain_id="default"
        )
        user = identity.create_user(
            name=settings.SERVICE_USER,
            password=PASSWORD,
            domain_id="default",
        )
        for role in identity.roles():
            if role.name in {"admin", "service"}:
                identity.assign_project_role_to_user(project, user, role)
        for kind, (name, url) in self.settings.endpoints().items():
            service = identity.create_service(name=name, type=kind)
            identity.create_endpoint(
                service_id=service.id, interface="public", url=url, region_id=REGION
            )
        # A token brings the catalogue as it was when it was issued.
        self.connection = openstack.connect(**self.credentials())

    def credentials(self) -> dict[str, Any]:
        """An administrator's, as arguments of ``openstack.connect``."""
        return {
            "auth_url": self.settings.auth_url,
            "username": "admin",
            "password": PASSWORD,
            "project_name": "admin",
            "user_domain_id": "default",
            "project_domain_id": "default",
            "region_name": REGION,
        }

    def _map_cells(self) -> None:
        cell0 = self.settings.databases["nova_cell0"]
        self.nova_manage("cell_v2", "map_cell0", "--database_connection", cell0)
        self.nova_manage("cell_v2", "create_cell", "--name", "cell1")

    def _start_services(self) -> None:
        """All but Keystone, at once; return when each answers and hosts are mapped."""
        ports = self.settings.ports
        self.run(
            "neutron",
            sys.executable,
            "-m",
            "tests.cloud.neutron",
            str(ports.neutron),
            PYTHONPATH=str(ROOT),
        )
        self.run_gantt(
            "placement",
            "serve",
            *_file(self.files["gantt"]),
            "--listen",
            f"127.0.0.1:{ports.placement}",
        )
        self.run_nova("conductor", "nova-conductor")
        for host in self.sizes:
            self._run_compute(host)
        for name in ("glance", "nova"):
            self._run_wsgi(name)
        for name in ("neutron", "placement", "glance", "nova"):
            self.programs[name].wait_for_http(getattr(ports, name))
        wait_until(self._has_nodes, "a node of each host")
        self.nova_manage("cell_v2", "discover_hosts")

    def _has_nodes(self) -> bool:
        """Of the device's kind, too: a row is made before it says what it has."""
        self.check()
        url = self.settings.databases["nova_cell1"]
        (found,) = self.database.execute(NODES, url=url)
        wanted = sum(size.has_devices for size in self.sizes.values())
        return tuple(found) == (len(self.sizes), wanted)

    # -- its end ------------------------------------------------------------------

    def check(self) -> None:
        """Raises AssertionError with the log of a program that ended by itself."""
        for one in self.programs.values():
            one.check()

    def stop(self, name: str) -> None:
        """End one program, and forget it."""
        self.programs.pop(name).stop()

    def close(self) -> None:
        """End all, whatever state it is in."""
        for one in self.programs.values():
            one.kill()
        for server in reversed(self._stops):
            server.close()
        if self.programs:
            # What counted the names of their queues.
            names = f"*-{self.settings.ports.nova}_*_qmanager"
            for file in Path("/dev/shm").glob(names):
                file.unlink()


def _file(path: Path) -> tuple[str, str]:
    return ("--config-file", str(path))
