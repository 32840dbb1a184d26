"""Values that refer to options which Nova has and Gantt has not."""

from __future__ import annotations

from pathlib import Path

import oslo_messaging
import pytest
from oslo_concurrency import lockutils  # registers lock_path
from oslo_config import cfg

from gantt.conf import feed_options, guests, load
from gantt.errors import Refused
from gantt.openstack.nova_notifications import read_conf
from gantt.openstack.rpc.message_bus import open_transport
from gantt.scheduler.options import SchedulerOptions
from tests.configured import settings_of

NOVA = """
[DEFAULT]
my_ip = 192.0.2.7
state_path = /var/lib/nova
host = ${my_ip}
transport_url = rabbit://nova:secret@$my_ip:5672/
[api_database]
connection = mysql+pymysql://nova:secret@$my_block_storage_ip/nova_api
[keystone_authtoken]
auth_url = http://$my_ip:5000
[oslo_concurrency]
lock_path = $state_path/tmp
[oslo_messaging_rabbit]
use_queue_manager = true
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    found = tmp_path / "nova.conf"
    found.write_text(NOVA)
    return str(found)


def test_every_reader_of_a_nova_conf_finds_them(file: str) -> None:
    found = load([file], environ={})
    assert found.rpc.host == "192.0.2.7"
    assert found.identity.url == "http://192.0.2.7:5000"
    for conf in (found.oslo, read_conf([file])):
        bus = oslo_messaging.TransportURL.parse(conf)
        assert bus.hosts[0].hostname == "192.0.2.7"
    fed = feed_options([file], SchedulerOptions())
    assert fed.api_url == "mysql+pymysql://nova:secret@192.0.2.7/nova_api"


def test_the_bus_locks_below_the_path_that_is_referred_to(
    file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Libraries share one ConfigOpts, in which none of Nova's names may be."""
    shared = cfg.ConfigOpts()
    shared.register_opts(lockutils._opts, "oslo_concurrency")
    monkeypatch.setattr(cfg, "CONF", shared)
    conf = load([file], environ={}).oslo
    guests.lend([file], [])
    open_transport(conf).cleanup()
    assert shared.oslo_concurrency.lock_path == "/var/lib/nova/tmp"


def test_what_other_packages_read_may_refer_to_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = cfg.ConfigOpts()
    shared.register_opts([cfg.StrOpt("one"), cfg.StrOpt("other")], "theirs")
    monkeypatch.setattr(cfg, "CONF", shared)
    file = tmp_path / "nova.conf"
    text = "[DEFAULT]\nmy_ip = 192.0.2.7\n[theirs]\none = http://$my_ip/\n"
    file.write_text(text)
    guests.lend([str(file)], [])
    guests.check()
    assert shared.theirs.one == "http://192.0.2.7/"
    file.write_text(text + "other = $nobody_has_this\n")
    guests.lend([str(file)], [])
    with pytest.raises(Refused, match=r"\[theirs\] other, an option of another"):
        guests.check()


@pytest.mark.parametrize(
    ("line", "place"),
    [
        ("[oslo_messaging_notifications]\ntransport_url = $transport_url", "transport"),
        ("[DEFAULT]\nhost = a$host", "host"),
        ("[DEFAULT]\nhost = $my_ip\nmy_ip = $host", "host"),
    ],
)
def test_what_refers_to_itself_is_refused(
    tmp_path: Path, line: str, place: str
) -> None:
    """oslo.config looks in the section of the value first, and never ends."""
    with pytest.raises(Refused, match=rf"\] {place}.*, or it refers back here"):
        settings_of(tmp_path, f"[DEFAULT]\ntransport_url = rabbit://a:b@h/\n{line}\n")


def test_an_address_that_is_not_set_is_none(tmp_path: Path) -> None:
    with pytest.raises(Refused, match=r"transport_url refers to \$my_ip.*set my_ip"):
        settings_of(
            tmp_path, "[DEFAULT]\ntransport_url = rabbit://nova:secret@$my_ip:5672/\n"
        )


def test_plug_ins_that_are_loaded_later_may_bring_novas_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = cfg.ConfigOpts()
    shared.register_opt(cfg.StrOpt("one"), "theirs")
    monkeypatch.setattr(cfg, "CONF", shared)
    file = tmp_path / "nova.conf"
    file.write_text("[DEFAULT]\nmy_ip = 192.0.2.7\n[theirs]\none = http://$my_ip/\n")
    guests.lend([str(file)], [])
    guests.check()
    guests.lend([str(file)], [])  # as when options are read again
    shared.register_opts([cfg.StrOpt("my_ip"), cfg.StrOpt("tempdir", help="Nova's")])
    guests.check()
    assert shared.theirs.one == "http://192.0.2.7/"
