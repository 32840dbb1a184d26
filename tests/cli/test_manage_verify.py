"""``gantt-manage verify --url``: a running service compares its own columns."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from click.testing import CliRunner

from gantt.cli.manage import manage
from tests.cli.called import called
from tests.live import served


def test_verify_of_a_service_finds_foreign_writes(tmp_path: Path) -> None:
    with served(tmp_path) as live:
        arguments = ["verify", "--url", live.url]
        good = CliRunner().invoke(manage, arguments)
        assert (good.exit_code, good.output[:11]) == (0, "No problems")
        path = live.database.removeprefix("sqlite:///")
        with sqlite3.connect(path) as foreign:
            foreign.execute(
                "INSERT INTO traits (name) VALUES ('CUSTOM_BEHIND_OUR_BACK')"
            )
        bad = called(manage, arguments, status=1)
        assert "CUSTOM_BEHIND_OUR_BACK" in bad.output
