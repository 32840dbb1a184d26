"""``--url`` and ``--token`` before or after the names of a command."""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

import pytest

from gantt.cli.main import gantt
from gantt.connection import connect
from tests.cli.conftest import Program


@pytest.fixture
def url(tmp_path: Path) -> str:
    """Books with one provider, 'here'."""
    found = f"sqlite:///{tmp_path / 'books.db'}"
    books = connect(found, create=True)
    books.create_provider("here", uuid=str(uuid4()))
    books.close()
    return found


@pytest.mark.parametrize(
    "words",
    [
        ("--url", "URL", "provider", "list"),
        ("provider", "--url", "URL", "list"),
        ("provider", "list", "--url", "URL"),
        ("--url", "sqlite:////nowhere/x.db", "provider", "--url", "URL", "list"),
        ("--url", "sqlite:////nowhere/x.db", "provider", "list", "--url", "URL"),
    ],
    ids=" ".join,
)
def test_the_nearest_url_precedes_the_environment(
    words: tuple[str, ...], url: str
) -> None:
    program = Program(gantt, "sqlite:////nowhere/environment.db")
    placed = [url if word == "URL" else word for word in words]
    assert program.do(*placed, "-o", "value", "-c", "name") == "here\n"


def test_a_token_before_the_noun_is_sent(cli: Program) -> None:
    said = cli.fail("--token", "wrong:not-admin", "provider", "list")
    assert "Policy does not allow" in said
    told = " ".join(said.split())
    assert "The caller is user wrong of project not-admin with no roles." in told
    assert "It asks for role:admin or role:service." in told
    assert "by --token (environment GANTT_TOKEN)" in told
    cli.do("--token", "admin", "provider", "list")


@pytest.mark.parametrize("name", ["serve", "completion"])
def test_a_command_without_books_refuses_a_url(name: str) -> None:
    said = Program(gantt, "").fail("--url", "sqlite://", name, status=2)
    assert f"--url before {name}: '{name}' has no such option" in said
