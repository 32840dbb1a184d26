"""A ``$`` or ``%`` in a password is refused where it cannot be meant, by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from gantt.cli.status import status
from gantt.conf import feed_options, load
from gantt.errors import Refused
from gantt.openstack.notifications import read_conf
from gantt.scheduler.options import SchedulerOptions
from gantt.store.database.url import understood
from tests.cli.conftest import Program

NOT_UTF_8 = "has a % that is read as an escape of a URL"
REFERENCE = r"has a \$, and the configuration reads what follows as the name of"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "gantt.conf"


@pytest.mark.parametrize(
    ("section", "line", "told"),
    [
        ("placement_database", "connection = mysql://a:s3c$ret@h/n", REFERENCE),
        ("placement_database", "connection = mysql://a:s3c${ret}@h/n", REFERENCE),
        ("placement_database", "connection = mysql://a:s3c$ret.x@h/n", REFERENCE),
        ("placement_database", "connection = mysql://a:s3%ffcret@h/n", NOT_UTF_8),
        ("placement_database", "connection = mysql://a:s3%00cret@h/n", NOT_UTF_8),
        ("DEFAULT", "transport_url = rabbit://a:s3c$ret@h/n", REFERENCE),
        ("DEFAULT", "transport_url = rabbit://a:s3%ffcret@h/n", NOT_UTF_8),
        ("DEFAULT", "transport_url = rabbit://a:s3c#ret@h:1/n", "is not a URL such as"),
        ("DEFAULT", "transport_url = rabbit://a:s3c/ret@h:1/n", "is not a URL such as"),
        ("keystone_authtoken", "password = s3c$ret", REFERENCE),
        ("neutron", "password = s3c$ret", REFERENCE),
        ("gantt", "listen = 127.0.0.1:$port", REFERENCE),
    ],
)
def test_the_refusal_names_section_and_option_and_hides_the_value(
    file: Path, section: str, line: str, told: str
) -> None:
    file.write_text(f"[{section}]\n{line}\n")
    name = line.partition(" ")[0]
    with pytest.raises(Refused, match=told) as refused:
        load([str(file)], environ={})
    text = refused.value.message
    assert f"[{section}] {name} " in text
    assert "write" in text.lower()
    assert "$$" in text
    assert "s3" not in text
    assert "ret" not in text.replace("retu", "")


@pytest.mark.parametrize(
    "line",
    [
        "connection = mysql://a:a%25b@h/n",
        "connection = mysql://a:a%zz%@h/n",
        "connection = mysql://a:a$$b$@h/n",
    ],
)
def test_what_can_be_meant_passes(file: Path, line: str) -> None:
    hosts = "rabbit://a:b%25@h1:1,a:b@[::1]:2/n"
    file.write_text(
        f"[placement_database]\n{line}\n[DEFAULT]\ntransport_url = {hosts}\n"
        "[vmware]\nhost_password = a$b\n"
    )
    found = load([str(file)], environ={}).database_url
    assert understood(found).password in {"a%b", "a%zz%", "a$b$"}


def test_who_reads_the_files_of_nova_alone_refuses_alike(file: Path) -> None:
    file.write_text("[api_database]\nconnection = mysql://a:s3c$ret@h/n\n")
    with pytest.raises(Refused, match=r"\[api_database\] connection has a \$"):
        feed_options([str(file)], SchedulerOptions())
    with pytest.raises(Refused, match=r"\[api_database\] connection has a \$"):
        read_conf([str(file)])


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("mysql://a:%E2%82%AC@h/n", "beyond Latin-1"),
        ("postgresql://a:%ff@h/n", "write a % in it as %25"),
        ("postgresql://%00:b@h/n", "The user in the database URL"),
    ],
)
def test_a_url_of_any_origin(url: str, told: str) -> None:
    with pytest.raises(Refused) as refused:
        understood(url)
    assert told in refused.value.message


def test_the_status_of_checks_that_could_not_be_run(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = Program(status, "")
    file.write_text("[placement_database]\nconnection = mysql://a:%ff@h/n\n")
    said = program.fail("upgrade", "check", "--config-file", str(file), status=255)
    assert "[placement_database] connection" in said

    def fails(*_: object) -> None:
        raise ValueError("a bug")

    monkeypatch.setattr("gantt.store.adoption.legacy.obstacles", fails)
    result = program.run("upgrade", "check", "--database", "sqlite:///x")
    assert result.exit_code == 255
    assert "ValueError: a bug" in result.stderr
