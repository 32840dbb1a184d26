"""A ``$`` or ``%`` in a password is refused where it cannot be meant, by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from gantt.cli.status import status
from gantt.conf import feed_options, load
from gantt.errors import Refused
from gantt.openstack.nova_notifications import read_conf
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


URL = "[placement_database] connection"


@pytest.mark.parametrize(
    ("section", "line", "is_told"),
    [
        ("placement_database", "connection = mysql://a:s3c$host@h/n", True),
        ("placement_database", "connection = mysql://a:s3c${host}ret@h/n", True),
        ("placement_database", "connection = mysql://a:$host@h/n", True),
        ("placement_database", "connection = mysql://a:s3c$$host@h/n", False),
        ("placement_database", "connection = mysql://a:s3c\\$host@h/n", False),
        ("placement_database", "connection = mysql://a:b@$host/n", False),
        ("DEFAULT", "transport_url = rabbit://a:s3c$host@h/n", True),
        ("neutron", "password = s3c$debug", True),
        ("neutron", "password = $host", False),
        ("DEFAULT", "state_path = /var/$host", False),
    ],
)
def test_a_password_with_the_name_of_an_option_is_told(
    file: Path, section: str, line: str, is_told: bool
) -> None:
    """Its value would stand in the password without a word."""
    file.write_text(f"[{section}]\n{line}\n[DEFAULT]\nhost = here\n")
    told = [one for one in load([str(file)], environ={}).unknown if "$$" in one]
    assert len(told) == is_told
    if told:
        assert told[0].startswith(
            f"{file}: [{section}] {line.partition(' ')[0]} has a $"
        )
        assert "s3c" not in told[0] and "$host" not in told[0]


def test_a_password_of_the_environment_is_told_alike(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text("")
    name = "OS_PLACEMENT_DATABASE__CONNECTION"
    monkeypatch.setenv(name, "mysql://a:s3c$host@h/n")
    (told,) = load([str(file)]).unknown
    assert told.startswith(f"{name}: {URL} has a $ in its password")


def test_a_status_check_and_the_readers_of_novas_files_tell_it(
    file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file.write_text("[placement_database]\nconnection = sqlite:///a:$host@none\n")
    told = Program(status, "").fail(
        "upgrade", "check", "--config-file", str(file), status=255
    )
    assert f"Warning: {file}: {URL} has a $ in its password" in " ".join(told.split())
    file.write_text(
        "[api_database]\nconnection = mysql://a:s3c$database.connection@h/n\n"
        "[database]\nconnection = b\n"
    )
    for read in (
        lambda: feed_options([str(file)], SchedulerOptions()),
        lambda: read_conf([str(file)]),
    ):
        caplog.clear()
        read()
        assert "[api_database] connection has a $ in its password" in caplog.text


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

    monkeypatch.setattr("gantt.store.adoption.old_rows.obstacles", fails)
    result = program.run("upgrade", "check", "--database", "sqlite:///x")
    assert result.exit_code == 255
    assert "ValueError: a bug" in result.stderr
