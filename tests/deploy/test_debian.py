"""The Debian package's own files; `make deb` builds it and uses it."""

from __future__ import annotations

import configparser
import re

import yaml

from gantt import __version__
from gantt.conf import load
from tests.deploy.units import units
from tests.tidy.source import ROOT
from tests.wheel.wheels import project_of

DEBIAN = ROOT / "debian"
RULES = (DEBIAN / "rules").read_text()
POSTINST = (DEBIAN / "gantt.postinst").read_text()
POSTRM = (DEBIAN / "gantt.postrm").read_text()


def test_it_has_the_version_and_the_programs_of_gantt() -> None:
    newest = (DEBIAN / "changelog").read_text().partition("\n")[0]
    assert newest.startswith(f"gantt-scheduler ({__version__}) ")
    (programs,) = re.findall(
        r"^programs = (.*) \$\(agent_programs\)$", RULES, re.MULTILINE
    )
    assert set(programs.split()) == set(scripts_of("gantt-scheduler"))
    (programs,) = re.findall(r"^agent_programs = (.*)$", RULES, re.MULTILINE)
    assert set(programs.split()) == set(scripts_of("gantt-agent"))


def scripts_of(wheel: str) -> dict[str, str]:
    return project_of(wheel)["project"]["scripts"]  # type: ignore[no-any-return]


def test_its_versions_are_pinned() -> None:
    """All of what pip fetches; what it then installs comes from that folder alone."""
    commands = re.findall(r"/pip (?:\\\n|[^\n])*", RULES)
    fetching = [one for one in commands if "--no-index" not in one]
    assert len(commands) == 3 and len(fetching) == 2
    assert all("-c constraints.txt" in one for one in fetching)


def test_its_configuration_is_read_and_explained() -> None:
    for name in ("gantt.conf", "scheduler.conf", "feed.conf"):
        path = DEBIAN / "etc" / name
        settings = load((str(path),), environ={})
        assert settings.unknown == (), name
        assert path.read_text().startswith("# ")
    settings = load((str(DEBIAN / "etc" / "gantt.conf"),), environ={})
    assert settings.database_url == "sqlite:////var/lib/gantt/gantt.db"
    assert settings.auth.strategy == "token"
    assert (settings.serve.host, settings.serve.port) == ("127.0.0.1", 8778)


def test_the_options_in_its_comments_exist() -> None:
    for name in ("gantt.conf", "scheduler.conf", "feed.conf"):
        text = (DEBIAN / "etc" / name).read_text()
        parser = configparser.ConfigParser(interpolation=None, default_section="")
        parser.read_string(re.sub(r"^#(\w+ = )", r"\1", text, flags=re.MULTILINE))
        overrides = {
            (section, option): value
            for section in ("gantt", "nova", "placement_database")
            if parser.has_section(section)
            for option, value in parser.items(section)
        }
        assert overrides
        load(environ={}, overrides=overrides)


def test_every_file_of_a_unit_is_installed() -> None:
    named = set()
    for one in units():
        for name in ("ExecStartPre", "ExecStart", "EnvironmentFile"):
            for value in one.all(name):
                named |= set(re.findall(r"(?<!-)/etc/gantt/([\w.]+)", value))
    assert named == {path.name for path in (DEBIAN / "etc").iterdir()}


def test_what_it_writes_a_purge_removes() -> None:
    assert "#DEBHELPER#" in POSTINST and "#DEBHELPER#" in POSTRM
    (token,) = re.findall(r'echo "(\$token: .*)"', POSTINST)
    ((entry),) = yaml.safe_load(token.replace("$token", "x")).values()
    assert entry == {"user": "admin", "project": "admin", "roles": ["admin"]}
    for path in ("/var/lib/gantt", "/var/log/gantt", "/etc/gantt/tokens.yaml"):
        assert path in POSTINST and path in POSTRM


def test_an_upgrade_restarts_what_runs_and_a_removal_stops_it() -> None:
    """`make deb` does both, where it may boot a root."""
    assert "dh_installsystemd --no-enable --no-start --restart-after-upgrade\n" in RULES
    prerm = (DEBIAN / "gantt.prerm").read_text()
    assert '[ "$1" = remove ]' in prerm and "#DEBHELPER#" in prerm
    stopped = set(re.findall(r"[\w-]+\.service", prerm))
    assert stopped == {one.path.name for one in units()}
    prerm = (DEBIAN / "gantt-agent.prerm").read_text()
    assert '[ "$1" = remove ]' in prerm and "#DEBHELPER#" in prerm
    assert set(re.findall(r"[\w-]+\.service", prerm)) == {"gantt-agent.service"}


def test_of_the_two_packages_one_is_installed() -> None:
    """The service's has the agent as well; a host that runs instances needs no more."""
    service, agent = (DEBIAN / "control").read_text().split("\nPackage: ")[1:]
    assert "\nProvides: gantt-agent (= ${binary:Version})\n" in service
    for text, other in ((service, "gantt-agent"), (agent, "gantt")):
        for word in ("Conflicts", "Replaces"):
            assert f"\n{word}: {other}\n" in text
