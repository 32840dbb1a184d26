"""`[gantt]`: from files and the environment, changed while Nova runs, and invalid."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from gantt_nova_plugin import options
from gantt_nova_plugin.advisor import Advisor
from gantt_nova_plugin.settings import (
    MODES,
    Address,
    InvalidSettings,
    Settings,
    check,
    parse_url,
)
from oslo_config import cfg

from gantt.conf import list_opts
from gantt.conf.unknown_options import UPSTREAMS
from tests.plugin.clouds import filtered, hosts, spec, weighed
from tests.plugin.fake_gantt import FakeGantt
from tests.programs import captured
from tests.tidy.source import ROOT

Configure = Callable[..., Advisor]

READ = """
import sys
import nova.conf
from gantt_nova_plugin import nova as plugin, options
nova.conf.CONF(["--config-file", sys.argv[1]], project="nova")
print(tuple(options.read()))
"""


def process_of_nova(path: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    """It reads this file."""
    environ = {**os.environ, "PYTHONPATH": str(ROOT / "nova-plugin"), **environ}
    return captured([sys.executable, "-c", READ, path], env=environ)


def read_by_nova(path: Path, **environ: str) -> str:
    """What a process of Nova reads from this file."""
    done = process_of_nova(path, **environ)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_file_and_environment_are_read(tmp_path: Path) -> None:
    path = tmp_path / "nova.conf"
    path.write_text("[gantt]\nurl = http://gantt:8778\nmode = advise\ntimeout = 0.2\n")
    expected = Settings("http://gantt:8778", mode="decide", token="t", timeout=0.2)
    found = read_by_nova(path, OS_GANTT__MODE="decide", OS_GANTT__TOKEN="t")
    assert found == str(tuple(expected))


def test_options_have_the_defaults_of_settings() -> None:
    assert {option.name for option in options.OPTIONS} == set(Settings._fields)
    for option in options.OPTIONS:
        assert option.help
        assert option.default == Settings._field_defaults.get(option.name)


def test_gantt_knows_them_in_a_nova_conf_that_it_reads() -> None:
    ours = {option.name for group, some in list_opts() for option in some}
    assert {option.name for option in options.OPTIONS} == UPSTREAMS["gantt"]
    assert not ours & (UPSTREAMS["gantt"] - {"weight_multiplier"})  # of [metrics]


def test_mode_is_changed_while_nova_runs(
    configure: Configure, gantt: FakeGantt
) -> None:
    configure(mode="observe")
    assert weighed(spec(), hosts()) == ["a", "b", "c"]
    cfg.CONF.set_override("mode", "advise", group="gantt")
    assert weighed(spec(), hosts()) == ["c", "b", "a"]


def test_options_may_change_without_a_restart(tmp_path: Path) -> None:
    conf = cfg.ConfigOpts()
    conf.register_opts(options.OPTIONS, group="gantt")
    path = tmp_path / "nova.conf"
    path.write_text("[gantt]\nmode = observe\n")
    conf(["--config-file", str(path)])
    assert conf.gantt.mode == "observe"
    path.write_text("[gantt]\nmode = decide\nurl = http://other\n")
    conf.mutate_config_files()
    assert (conf.gantt.mode, conf.gantt.url) == ("decide", "http://other")


def test_without_a_url_nothing_is_asked(
    configure: Configure, gantt: FakeGantt, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "gantt_nova_plugin")
    advisor = configure(url=None, mode="decide")
    for _ in range(3):
        assert filtered(spec(), hosts()) == ["a", "b", "c"]
        assert weighed(spec(), hosts()) == ["a", "b", "c"]
    assert set(advisor.journal.counters()) == {"failed_settings"}
    told = [r.getMessage() for r in caplog.records if r.name == "gantt_nova_plugin"]
    assert told == ["Gantt is not asked: [gantt] url is not set"]


def test_mode_that_does_not_exist_is_named(tmp_path: Path) -> None:
    path = tmp_path / "nova.conf"
    path.write_text("[gantt]\nurl = http://gantt\nmode = enforce\n")
    done = process_of_nova(path)
    assert done.returncode == 1
    assert "InvalidSettings" in done.stderr
    assert "enforce" in done.stderr
    assert all(mode in done.stderr for mode in MODES)


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("http://gantt", Address(False, "gantt", 80, "")),
        ("https://gantt", Address(True, "gantt", 443, "")),
        ("http://gantt:8778/", Address(False, "gantt", 8778, "")),
        ("https://api.cloud/placement/", Address(True, "api.cloud", 443, "/placement")),
        ("http://[::1]:8778", Address(False, "::1", 8778, "")),
    ],
)
def test_url_is_taken_apart(url: str, address: Address) -> None:
    assert parse_url(url) == address


@pytest.mark.parametrize(
    "url",
    [
        "",
        "gantt:8778",
        "ftp://gantt",
        "http://",
        "http://gantt:none",
        "http://gantt:99999",
        "http://user:secret@gantt",
        "http://gantt?a=b",
        "http://gantt#a",
        "http://gantt/a b",
        "http://gantt/\r\nX: y",
        "http://[::1",
    ],
)
def test_url_of_another_form_is_refused(url: str) -> None:
    with pytest.raises(InvalidSettings, match="url must have the form") as raised:
        check(Settings(url))
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize("token", ["a\r\nX-Role: admin", "a b", "ä"])
def test_token_that_is_no_header_is_refused_and_not_told(token: str) -> None:
    with pytest.raises(InvalidSettings) as raised:
        check(Settings("http://gantt", token=token))
    assert str(raised.value) == "token must be printable ASCII without spaces"


def test_path_of_the_url_comes_before_gantts(
    configure: Configure, gantt: FakeGantt
) -> None:
    configure(mode="advise", url=f"{gantt.url}/placement/")
    assert weighed(spec(), hosts()) == ["c", "b", "a"]
    assert [asked.path for asked in gantt.asked] == ["/placement/gantt/advise"]
