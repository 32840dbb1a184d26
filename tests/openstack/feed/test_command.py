"""``gantt feed``: a service is fed over HTTP, by a program that stops when asked."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path

import pytest

import gantt
from gantt.conf import feed_options
from gantt.errors import Refused
from gantt.scheduler.options import SchedulerOptions
from tests import inprocess
from tests.guides.guide import shown
from tests.live import ending, free_port
from tests.logged import milestones
from tests.notified import manager
from tests.openstack.feed.conftest import Cloud
from tests.programs import captured
from tests.waiting import until

NOVA = """
[DEFAULT]
service_down_time = 45
[api_database]
connection = {api}
[database]
connection = mysql+pymysql://nova:secret@db/nova
[nova]
feed_interval = 0.2
feed_user = gantt
feed_password = pw
[filter_scheduler]
enabled_filters = ComputeFilter, TypeAffinityFilter
image_props_weight_multiplier = 1.0
"""


def written(folder: Path, api: str) -> str:
    path = folder / "nova.conf"
    path.write_text(NOVA.format(api=api))
    return str(path)


def program(*words: str) -> list[str]:
    return [sys.executable, "-m", "gantt", "feed", *words]


def documented(number: int, config: str, url: str) -> list[str]:
    """What the guide types, here."""
    typed = [one.commands[0] for one in shown("feed") if one.language == "indented"]
    here = typed[number].replace("/etc/nova/nova.conf", config)
    gantt_, feed, *words = here.replace("http://gantt.example:8778", url).split()
    assert (gantt_, feed) == ("gantt", "feed")
    return words


def asked(port: int, path: str) -> tuple[int, str]:
    """Status and text of the answer."""
    with closing(HTTPConnection("127.0.0.1", port, timeout=10)) as connection:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()


def test_a_service_is_fed_over_http(cloud: Cloud, tmp_path: Path) -> None:
    cell = cloud.cell("one")
    node = cell.host("h1")
    _, instance = cell.instance("h1")
    _, aggregate = cloud.api.aggregate("a", ["h1"])
    config, port = written(tmp_path, cloud.api.url), free_port()
    with inprocess.service(tmp_path) as url, closing(gantt.connect(url)) as books:
        *words, listen = documented(1, config, url)
        words.append(listen.replace("8779", str(port)))
        process = subprocess.Popen(program(*words), stderr=subprocess.PIPE)
        with ending(process) as running:
            whole = [((instance,), (aggregate,))]
            # A host may be seen before its instances are.
            until(
                lambda: (
                    whole == [(x.instances, x.aggregates) for x in books.list_hosts()]
                ),
                60,
            )
            assert books.list_providers() == ()
            until(lambda: asked(port, "/readyz") == (200, "OK"))
            assert "\ngantt_feed_hosts 1.0\n" in asked(port, "/metrics")[1]
            cell.soft_delete("compute_nodes", node)
            until(lambda: books.list_hosts() == ())
            running.send_signal(signal.SIGTERM)
            _, said = running.communicate(timeout=30)
        assert running.returncode == 0, said


def test_a_start_and_an_end_are_logged_field_by_field(
    cloud: Cloud, tmp_path: Path
) -> None:
    for name in ("one", "two"):
        cloud.cell(name).host(f"host-of-{name}")
    config = written(tmp_path, cloud.api.url)
    with inprocess.service(tmp_path) as url, manager(tmp_path) as listener:
        process = subprocess.Popen(
            program("--config-file", config, "--url", url, "--log-json"),
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **listener.environ},
        )
        with ending(process) as running:
            listener.until("READY=1")
            running.send_signal(signal.SIGTERM)
            _, said = running.communicate(timeout=30)
    start, end = milestones(said)
    assert (start["books"], start["hosts"], start["cells"]) == (url, 2, 2)
    assert start["seconds"] >= 0
    assert (end["signal"], end["delay"]) == ("SIGTERM", 0)


def test_a_missing_database_is_a_plain_refusal(tmp_path: Path) -> None:
    config = tmp_path / "nova.conf"
    config.write_text("[database]\nconnection = sqlite://\n")
    done = captured(program("--config-file", str(config), "--url", "memory://"))
    assert done.returncode == 1
    assert "[api_database]" in done.stderr
    assert "Traceback" not in done.stderr


def test_options_come_from_nova_conf(tmp_path: Path) -> None:
    config = written(tmp_path, "sqlite:////api.db")
    scheduler = gantt.engine_options(config).scheduler
    found = feed_options([config], scheduler)
    assert found.api_url == "sqlite:////api.db"
    assert found.database_url == "mysql+pymysql://nova:secret@db/nova"
    assert (found.feed_user, found.feed_password) == ("gantt", "pw")
    assert (found.feed_interval, found.service_down_time) == (0.2, 45.0)
    assert found.facts == {"flavorid", "image_properties"}
    assert feed_options([config], SchedulerOptions()).facts == frozenset()
    near = SchedulerOptions(image_locality=True)
    assert feed_options([config], near).facts == {"image_ref"}


@pytest.mark.parametrize("value", ["0", "nan"])
def test_options_out_of_range_are_refused(tmp_path: Path, value: str) -> None:
    config = tmp_path / "nova.conf"
    interval = f"[nova]\nfeed_interval = {value}\n"
    config.write_text(f"[api_database]\nconnection=x\n{interval}")
    with pytest.raises(Refused, match="feed_interval"):
        feed_options([str(config)], SchedulerOptions())


def test_the_document_names_each_option() -> None:
    from gantt.conf.feed_settings import NOVA as OPTIONS

    text = (Path(__file__).parents[3] / "docs" / "how-to" / "feed.md").read_text()
    missing = [opt.name for opt in OPTIONS if f"`{opt.name}`" not in text]
    assert missing == []


def test_the_feed_is_ready_when_all_has_been_read(cloud: Cloud, tmp_path: Path) -> None:
    cloud.cell("one").host("h1")
    config = written(tmp_path, cloud.api.url)
    with (
        inprocess.service(tmp_path) as url,
        closing(gantt.connect(url)) as books,
        manager(tmp_path) as listener,
    ):
        environ = {**os.environ, **listener.environ}
        words = documented(0, config, url)
        with ending(subprocess.Popen(program(*words), env=environ)) as running:
            listener.until("READY=1")
            assert len(books.list_hosts()) == 1
            running.send_signal(signal.SIGTERM)
            listener.until("STOPPING=1")
        assert running.returncode == 0
