"""``gantt-status upgrade check``: can this release take over the database?

Exit status, as for OpenStack's own checks: 0 success, 1 warnings, 2 failures,
255 the checks could not be run.
"""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Iterator
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec import Struct

from gantt.cli.database import database_options, settings_for
from gantt.cli.failure import Program
from gantt.cli.output import print_rows, say
from gantt.cli.program import output_options
from gantt.errors import GanttError
from gantt.model.printable import printable
from gantt.version import __version__

if TYPE_CHECKING:
    from gantt.conf import Settings

IMPOSSIBLE = 255


class CheckVerdict(IntEnum):
    """Result of a check; the worst one is the exit status."""

    SUCCESS = 0
    WARNING = 1
    FAILURE = 2


class CheckResult(Struct, frozen=True):
    """Result of one check, and what to do about it."""

    check: str
    verdict: CheckVerdict
    details: str = ""


def check_rows(name: str, found: int, verdict: CheckVerdict, lack: str) -> CheckResult:
    """``found`` rows should have what they ``lack``."""
    if not found:
        return CheckResult(name, CheckVerdict.SUCCESS)
    return CheckResult(
        name,
        verdict,
        f"{found} {lack}, as does 'placement-manage db online_data_migrations' of a "
        "release with that migration.",
    )


def check_policy(settings: Settings) -> CheckResult:
    """A policy file must be YAML."""
    name = "Policy File JSON to YAML Migration"
    for path in _policy_files(settings):
        if _is_json(path):
            return CheckResult(
                name,
                CheckVerdict.WARNING,
                f"{path} is JSON. Convert it with 'oslopolicy-convert-json-to-yaml' "
                "and name the new file in [oslo_policy] policy_file.",
            )
    return CheckResult(name, CheckVerdict.SUCCESS)


def check_policy_rules(settings: Settings) -> CheckResult:
    """The service must be able to load the policy file."""
    name = "Policy File Rules"
    from gantt.api.access.policy_engine import build_policy, warnings

    try:
        build_policy(settings)
    except GanttError as error:
        return CheckResult(name, CheckVerdict.FAILURE, error.message)
    found = " ".join(warnings(settings))
    return CheckResult(
        name, CheckVerdict.WARNING if found else CheckVerdict.SUCCESS, found
    )


def _policy_files(settings: Settings) -> Iterator[Path]:
    """Existing policy files; relative names are relative to configuration files."""
    configured = Path(settings.policy_file)
    folders = [Path(file).parent for file in settings.files] or [Path("/etc/gantt")]
    for name in dict.fromkeys((configured, Path("policy.json"))):
        for folder in folders:
            if (folder / name).is_file():
                yield folder / name


def _is_json(path: Path) -> bool:
    try:
        json.loads(path.read_text())
    except ValueError:
        return False
    return True


@click.group(cls=Program, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="gantt-status")
def status() -> None:
    """Show the status of an installation."""


@status.group()
def upgrade() -> None:
    """Checks before an upgrade."""


@upgrade.command()
@database_options
@output_options
def check(
    database: str | None,
    config_files: tuple[str, ...],
    output: str,
    columns: tuple[str, ...],
) -> None:
    """Check whether this release can take over the database.

    Exit status: 0 success, 1 warnings, 2 failures, 255 the checks could not be run.

    \b
    Example:
      gantt-status upgrade check --database sqlite:///gantt.db
    """
    from gantt.store.adoption.old_rows import obstacles

    try:
        settings = settings_for(database, config_files)
        found = obstacles(settings.database_url, settings.engine.store)
        policy = check_policy(settings)
        rules = check_policy_rules(settings)
    except (GanttError, OSError) as error:
        say(f"Error: {printable(str(error))}", err=True)
        sys.exit(IMPOSSIBLE)
    except Exception:
        # Python's own exit status after a traceback means "warnings" here.
        traceback.print_exc()
        sys.exit(IMPOSSIBLE)
    findings = (
        check_rows(
            "Missing Root Provider IDs",
            found.no_root,
            CheckVerdict.FAILURE,
            "resource providers have no root_provider_id. 'gantt-manage adopt' fills "
            "it in",
        ),
        check_rows(
            "Incomplete Consumers",
            found.no_record,
            CheckVerdict.WARNING,
            "consumers have allocations but no record of project and user. "
            "'gantt-manage adopt' creates it",
        ),
        policy,
        rules,
    )
    print_rows(
        output,
        ("check", "result", "details"),
        ((each.check, each.verdict.name.title(), each.details) for each in findings),
        columns,
    )
    sys.exit(max(each.verdict for each in findings))


def main() -> None:
    """The console script."""
    status(prog_name="gantt-status")
