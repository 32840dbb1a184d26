"""An unreachable database is reported once and in plain words."""

from __future__ import annotations

import pytest

from gantt.cli.main import gantt
from tests.cli.conftest import Program
from tests.live import free_port


@pytest.mark.parametrize("dialect", ["postgresql+psycopg", "mysql+pymysql"])
@pytest.mark.parametrize("words", [("provider", "list"), ("trait", "list")])
def test_unreachable_database_is_reported_once(
    dialect: str, words: tuple[str, ...]
) -> None:
    url = f"{dialect}://user:canary@127.0.0.1:{free_port()}/books?password=canary"
    said = Program(gantt, url).fail(*words)
    assert said.count("is it running, and may this user use it?") == 1
    assert len(said.splitlines()) == 1
    assert "canary" not in said
