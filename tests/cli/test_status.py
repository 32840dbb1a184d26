"""``gantt-status upgrade check``: its three checks and four exit statuses."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from gantt.cli.status import status
from gantt.store import schema
from tests.cli.conftest import Program

CHECKS = [
    "Missing Root Provider IDs",
    "Incomplete Consumers",
    "Policy File JSON to YAML Migration",
    "Policy File Rules",
]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    found = tmp_path / "gantt.db"
    schema.sync(f"sqlite:///{found}")
    return found


def check(file: Path, *options: str, exit_code: int) -> list[dict[str, str]]:
    """The findings about a database, in the order of CHECKS."""
    result = Program(status, "").run(
        "upgrade",
        "check",
        "--database",
        f"sqlite:///{file}",
        "-o",
        "json",
        *options,
    )
    assert result.exit_code == exit_code, result.output
    findings: list[dict[str, str]] = json.loads(result.stdout)
    assert [each["check"] for each in findings] == CHECKS
    return findings


def test_upgrade_check_succeeds(file: Path) -> None:
    findings = check(file, exit_code=0)
    assert {each["result"] for each in findings} == {"Success"}


def test_missing_root_is_a_failure(file: Path) -> None:
    with sqlite3.connect(file) as connection:
        connection.execute(
            "INSERT INTO resource_providers (uuid, name, generation) "
            "VALUES ('u', 'old', 0)"
        )
    findings = check(file, exit_code=2)
    assert findings[0]["result"] == "Failure"
    assert findings[0]["details"].startswith("1 resource provider")


def test_missing_consumer_records_are_a_warning(file: Path) -> None:
    with sqlite3.connect(file) as connection:
        connection.executemany(
            "INSERT INTO allocations (resource_provider_id, consumer_id, "
            "resource_class_id, used) VALUES (1, ?, ?, 1)",
            [("a", 0), ("a", 1), ("b", 0)],
        )
    findings = check(file, exit_code=1)
    assert findings[1]["result"] == "Warning"
    assert findings[1]["details"].startswith("2 consumers")


def test_json_policy_file_is_a_warning(file: Path, tmp_path: Path) -> None:
    (tmp_path / "placement.conf").write_text("[oslo_policy]\npolicy_file = rules\n")
    (tmp_path / "rules").write_text('{"placement:usages": "role:reader"}')
    option = ("--config-file", str(tmp_path / "placement.conf"))
    findings = check(file, *option, exit_code=1)
    assert findings[2]["result"] == "Warning"
    assert str(tmp_path / "rules") in findings[2]["details"]
    (tmp_path / "rules").write_text('"placement:usages": "role:reader"\n')
    assert check(file, *option, exit_code=0)[2]["result"] == "Success"


def test_unusable_policy_file_is_a_failure(file: Path, tmp_path: Path) -> None:
    (tmp_path / "placement.conf").write_text("")
    option = ("--config-file", str(tmp_path / "placement.conf"))
    policy = tmp_path / "policy.yaml"
    policy.write_text('"placement:usage": "role:reader"\n')
    found = check(file, *option, exit_code=1)[3]
    assert found["result"] == "Warning"
    assert "did you mean 'placement:usages'" in found["details"]
    policy.write_text('"placement:usages": [canary\n')
    found = check(file, *option, exit_code=2)[3]
    assert found["result"] == "Failure"
    assert f"{policy}, line 2" in found["details"]


def test_impossible_check_exits_with_255(tmp_path: Path) -> None:
    program = Program(status, "")
    url = f"sqlite:///{tmp_path / 'nowhere.db'}"
    said = program.fail("upgrade", "check", "--database", url, status=255)
    assert "nowhere.db" in said
    empty = tmp_path / "empty.db"
    sqlite3.connect(empty).close()
    empty.touch()
    said = program.fail(
        "upgrade", "check", "--database", f"sqlite:///{empty}", status=255
    )
    assert "has no books" in said
