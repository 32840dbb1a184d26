"""Gantt in the containers of Kolla, configured by kolla-ansible's own templates."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import kolla
import pytest
import sqlalchemy as sa
import yaml

from gantt.connection import connect
from gantt.openstack.feed.nova_tables import API, CELL
from tests.brokers import Rabbitmq
from tests.databases import Databases
from tests.deploy.kolla import ROLES, written
from tests.live import free_port
from tests.openstack.feed.nova_databases import CELL0, ApiDatabase, CellDatabase
from tests.openstack.processes import Scheduler
from tests.tidy.source import ROOT

FOLDER = ROOT / "deploy" / "kolla"
OWN = FOLDER / "config" / "nova" / "nova-scheduler.conf"
HEALTH = Path(kolla.__file__).parent / "docker" / "base"
CONTAINERFILE = (FOLDER / "Containerfile").read_text()
WAIT_S = 60.0


def program(name: str, folder: Path, **paths: Path) -> Path:
    """A program of the image, with the paths of this machine: ``/opt`` is in
    ``folder``, and the files that ``paths`` name by the end of theirs are there."""
    opt = folder / "opt"
    opt.mkdir(exist_ok=True)
    for venv in ("gantt", "nova-scheduler"):
        (opt / venv).unlink(missing_ok=True)
        (opt / venv).symlink_to(sys.prefix)
    text = (FOLDER / name).read_text().replace("/opt/", f"{opt}/")
    for end, path in paths.items():
        text, count = re.subn(rf"/etc/\w+/{end}\.conf", str(path), text)
        assert count == 1
    made = folder / name
    made.write_text(text)
    made.chmod(0o755)
    return made


def database_of(url: str) -> dict[str, Any]:
    """Address, user and name, as kolla-ansible has them."""
    parts = sa.make_url(url)
    return {
        "address": f"{parts.host}:{parts.port}",
        "user": parts.username,
        "name": parts.database,
    }


@pytest.fixture
def said(databases: Databases, rabbitmq: Rabbitmq) -> Iterator[dict[str, Any]]:
    """globals.yml of a controller with these servers: Nova's two databases, in which
    one cell is mapped, and the books."""
    names = ("nova_api", "nova_cell0", "placement")
    with ExitStack() as stack:
        urls = [
            stack.enter_context(
                databases.database("mariadb", is_furnished=name == "placement")
            )
            for name in names
        ]
        api, cell = ApiDatabase(urls[0]), CellDatabase(urls[1])
        for database, tables in ((api, API), (cell, CELL)):
            stack.enter_context(closing(database))
            database.make_tables(tables.tables)
        api.map_cell("cell0", "none:///", uuid=CELL0)
        api.map_cell("cell1", cell.url)
        cell.host("compute1")
        # root has no password there; these are asked for one.
        server = databases.server("mariadb")
        server.execute(
            "CREATE USER IF NOT EXISTS 'kolla'@'127.0.0.1' IDENTIFIED BY 'pw'",
            "GRANT ALL ON *.* TO 'kolla'@'127.0.0.1'",
        )
        given: dict[str, Any] = {"rpc_transport_url": rabbitmq.url}
        for name, url in zip(names, urls, strict=True):
            for what, value in {**database_of(url), "user": "kolla"}.items():
                given[f"{name}_database_{what}"] = value
        given |= {
            "notify_transport_url": rabbitmq.url,
            "om_rpc_port": rabbitmq.port,
            "openstack_service_rpc_workers": 2,
        }
        yield given


ALL = (
    "enable_barbican",
    "enable_cells",
    "enable_ceilometer",
    "enable_cinder",
    "enable_designate",
    "enable_osprofiler",
)


@pytest.mark.server("mariadb")
@pytest.mark.server("rabbitmq")
@pytest.mark.parametrize(
    "more",
    [{}, {"enable_nova_fake": True}, dict.fromkeys(ALL, True)],
    ids=["as it comes", "fake computes", "with all that shows in nova.conf"],
)
def test_a_scheduler_starts_and_is_healthy(
    tmp_path: Path, said: dict[str, Any], more: dict[str, Any]
) -> None:
    files = written(tmp_path, "nova-scheduler", OWN, **said, **more)
    config = json.loads(files["config.json"])
    assert config["command"] == "nova-scheduler"
    assert [one["dest"] for one in config["config_files"]] == ["/etc/nova/nova.conf"]
    own = tmp_path / "own"
    own.mkdir()
    conf = own / "nova.conf"
    text = files["nova.conf"].replace("/var/log/kolla", str(own))
    text = text.replace("/var/lib/nova", str(own))
    conf.write_text(
        re.sub(r"(?<=metrics_listen = ).*", f"127.0.0.1:{free_port()}", text)
    )
    (own / "nova").mkdir()
    running = started([str(program("nova-scheduler", own, nova=conf))], own)
    log = own / "nova" / "gantt-scheduler.log"
    try:
        until(lambda: log.is_file() and log.read_text().count("Serving as") == 2, log)
        (url,) = re.findall(r"\[placement_database\]\s*connection = (.*)", text)
        with closing(connect(url)) as books:
            until(lambda: [one.host for one in books.list_hosts()] == ["compute1"], log)
        assert "Traceback" not in log.read_text()
        check = [str(HEALTH / "healthcheck_port"), "nova-scheduler"]
        ended = subprocess.run([*check, str(said["om_rpc_port"])], check=False)
        assert ended.returncode == 0
        assert running.stop() == 0
    finally:
        running.kill()


@pytest.mark.server("mariadb")
def test_a_placement_starts_and_is_healthy(
    tmp_path: Path, databases: Databases
) -> None:
    port = free_port()
    with databases.database("mariadb") as url:
        found = database_of(url)
        files = written(
            tmp_path,
            "placement-api",
            placement_api_listen_port=port,
            placement_database_address=found["address"],
            placement_database_name=found["name"],
            placement_database_user=found["user"],
            placement_database_password="",
        )
        command = json.loads(files["config.json"])["command"].split()
        assert command == ["uwsgi", "/etc/placement/placement-api-uwsgi.ini"]
        own = tmp_path / "own"
        (own / "placement").mkdir(parents=True)
        conf = own / "placement.conf"
        conf.write_text(files["placement.conf"].replace("/var/log/kolla", str(own)))
        uwsgi = program("uwsgi", own, placement=conf)
        running = started([str(uwsgi), str(tmp_path / "uwsgi.ini")], own)
        log = own / "placement" / "placement-api.log"
        check = [str(HEALTH / "healthcheck_curl"), f"http://127.0.0.1:{port}"]
        try:
            until(lambda: subprocess.run(check, check=False).returncode == 0, log)
            assert "Traceback" not in log.read_text()
            assert running.stop() == 0
        finally:
            running.kill()


def test_a_placement_with_tls_is_refused_with_what_to_set(tmp_path: Path) -> None:
    written(tmp_path, "placement-api", placement_enable_tls_backend=True)
    own = tmp_path / "own"
    own.mkdir()
    ended = subprocess.run(
        [program("uwsgi", own), tmp_path / "uwsgi.ini"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 1
    assert "set placement_enable_tls_backend: false" in ended.stderr


def test_the_image_has_what_is_started() -> None:
    """There is no engine here to build it."""
    copied = re.findall(r"^COPY (?:--chmod=0755 )?(.*)$", CONTAINERFILE, re.MULTILINE)
    wheel, programs = (one.split() for one in copied)
    assert wheel[0] == "constraints.txt"
    assert programs[-1] == "/var/lib/kolla/venv/bin/"
    for name in programs[:-1]:
        assert os.access(ROOT / name, os.X_OK)
    bases = re.findall(r"base=quay\.io/openstack\.kolla/([\w-]+):", CONTAINERFILE)
    assert bases == ["nova-scheduler", "placement-api"]


def test_the_guide_shows_the_snippets() -> None:
    text = (ROOT / "docs" / "how-to" / "kolla.md").read_text()
    shown = re.findall(r"```(?:yaml|ini)\n(.*?)```", text, re.DOTALL)
    files = (FOLDER / "globals.yml", OWN)
    for block, file in zip(shown, files, strict=True):
        assert block in re.sub(r"(?m)^#.*\n", "", file.read_text()).strip() + "\n"


def test_every_variable_of_the_snippets_is_one_of_the_roles() -> None:
    known = "".join(
        (ROLES / role / "defaults" / "main.yml").read_text()
        for role in ("nova", "placement")
    )
    for name in yaml.safe_load((FOLDER / "globals.yml").read_text()):
        assert re.search(rf"^{name}:", known, re.MULTILINE), name


def started(command: list[str], folder: Path) -> Scheduler:
    """In a session of its own, as a container's first process."""
    with (folder / "output").open("wb") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    return Scheduler(process, folder / "output")


def until(holds: Any, log: Path) -> None:
    """Wait for it, or show the log."""
    deadline = time.monotonic() + WAIT_S
    while not holds():
        seen = log.read_text() if log.is_file() else "no log"
        output = (log.parents[1] / "output").read_text()
        assert time.monotonic() < deadline, f"{seen}\n{output}"
        time.sleep(0.1)
