"""0 done, 1 refused or failed with a message, 2 wrong usage; never a traceback."""

from __future__ import annotations

from pathlib import Path

from gantt.cli.main import gantt
from gantt.store import schema
from tests.cli.conftest import Program
from tests.live import free_port, program
from tests.programs import printed


def test_help_lists_nouns_and_exit_statuses(cli: Program) -> None:
    text = cli.do("--help")
    for noun in (
        "serve",
        "provider",
        "inventory",
        "trait",
        "aggregate",
        "resource-class",
        "allocation",
        "usage",
        "candidates",
    ):
        assert f"\n  {noun} " in text
    assert "1 refused or failed" in text


def test_usage_errors_exit_with_2(cli: Program) -> None:
    assert "No such command" in cli.fail("nothing", status=2)
    assert "--output" in cli.fail("provider", "list", "-o", "xml", status=2)
    assert "Nothing to change" in cli.fail("provider", "set", "x", status=2)
    both = ("provider", "set", "x", "--parent", "y", "--no-parent")
    assert "not both" in cli.fail(*both, status=2)


def test_unreachable_service_exits_with_1_and_advice() -> None:
    url = f"http://127.0.0.1:{free_port()}"
    said = Program(gantt, url).fail("provider", "list")
    assert url in said
    assert "gantt serve" in said


def test_unknown_token_exits_with_1(service: str) -> None:
    said = Program(gantt, service).fail("provider", "list", "--token", "nobody")
    assert "placement:resource_providers:list" in said


def test_invalid_address_is_refused(cli: Program) -> None:
    for url in (
        "http://",
        "http://host:port",
        "nonsense",
        "ftp://x/y",
        "http://[::1",
        "http://h\u00f6st/",
        "http://host/\u00f6",
    ):
        assert cli.fail("provider", "list", "--url", url)


def test_name_must_be_utf_8(cli: Program) -> None:
    assert "UTF-8" in cli.fail("provider", "show", "\udcff")


def test_url_may_be_a_database(tmp_path: Path) -> None:
    cli = Program(gantt, f"sqlite:///{tmp_path / 'books.db'}")
    schema.sync(cli.url)
    made = cli.ask("provider", "create", "host")
    assert cli.ask("provider", "list") == [made | {"parent": None}]


def test_module_runs_as_the_program() -> None:
    ended = printed(program("--version"))
    assert ended.startswith("gantt, version ")
