"""Unknown and retired options are reported, those of Placement and Nova are not."""

from __future__ import annotations

import logging
import textwrap
from pathlib import Path

import pytest
from nova.conf import opts

from gantt.api.hosting.server import warn_of_unknown
from gantt.cli.manage import manage
from gantt.conf import list_opts, load
from gantt.conf.options import RETIRED
from gantt.conf.unknown_options import unknown_options
from tests.cli.conftest import Program
from tests.configured import settings_of
from tests.test_conf import UPSTREAM


def told(folder: Path, text: str) -> tuple[str, ...]:
    file = folder / "gantt.conf"
    lines = settings_of(folder, text).unknown
    assert all(line.startswith(f"{file}: ") for line in lines)
    return tuple(line.removeprefix(f"{file}: ") for line in lines)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            "[gantt]\nbatchsize = 3\n",
            "unknown option batchsize in [gantt]: did you mean batch_size?",
        ),
        ("[gantt]\nzzz = 3\n", "unknown option zzz in [gantt]: it is ignored."),
        (
            "[scheduler]\nmax_attemps = 3\n",
            "unknown option max_attemps in [scheduler]: did you mean max_attempts?",
        ),
        (
            "[placement_database]\nconection = x\n",
            "unknown option conection in [placement_database]: did you mean "
            "connection?",
        ),
        (
            "[DEFAULT]\nservice_downtime = 3\n",
            "unknown option service_downtime in [DEFAULT]: did you mean "
            "service_down_time?",
        ),
        (
            "[api]\nauth_stratgy = token\n",
            "unknown option auth_stratgy in [api]: did you mean auth_strategy?",
        ),
        (
            "[filter-scheduler]\nenabled_filters = a\n",
            "unknown section [filter-scheduler]: did you mean [filter_scheduler]?",
        ),
    ],
)
def test_misspelt_name_is_reported_with_a_suggestion(
    tmp_path: Path, text: str, line: str
) -> None:
    assert told(tmp_path, text) == (line,)


@pytest.mark.parametrize("retired", RETIRED, ids=".".join)
def test_retired_option_is_accepted_and_its_constant_named(
    tmp_path: Path, retired: tuple[str, str]
) -> None:
    group, name = retired
    (line,) = told(tmp_path, f"[{group}]\n{name} = 7\n")
    constant = RETIRED[retired]
    assert line == f"retired option {name} in [{group}] has no effect: {constant}."
    assert "=" in constant
    known = {
        option.dest for _, group_options in list_opts() for option in group_options
    }
    assert name not in known


def test_retired_constants_have_the_values_in_use() -> None:
    engine = load(environ={"OS_GANTT_CONFIG_DIR": "/nowhere"}).engine
    assert RETIRED["gantt", "wait_s"] == f"EngineOptions.wait_s = {engine.wait_s:g}"
    assert RETIRED["gantt", "idle_timeout_s"] == "StoreOptions.idle_timeout_s = 5"
    assert engine.store.idle_timeout_s == 5
    assert RETIRED["scheduler", "choices"] == "SchedulerOptions.choices = 16"


def test_limits_are_options_again(tmp_path: Path) -> None:
    text = """
        [gantt]
        patient = 9
        tail_limit = 1000
        [scheduler]
        claim_choices = 100
        explain_budget = 200
    """
    assert told(tmp_path, textwrap.dedent(text)) == ()
    engine = load([str(tmp_path / "gantt.conf")], environ={}).engine
    assert (engine.patient, engine.store.tail_limit) == (9, 1000)
    scheduler = engine.scheduler
    assert (scheduler.claim_choices, scheduler.explain_budget) == (100, 200)


def test_placement_conf_gives_no_warnings(tmp_path: Path) -> None:
    assert told(tmp_path, UPSTREAM) == ()


def test_nova_options_give_no_warnings(tmp_path: Path) -> None:
    text = []
    for group, options in opts.list_opts():
        text.append(f"[{getattr(group, 'name', group)}]")
        text.extend(f"{option.dest} =" for option in options)
    assert len(text) > 500
    file = tmp_path / "nova.conf"
    file.write_text("\n".join(text))
    assert unknown_options([str(file)], (), list_opts()) == ()


def test_directory_and_environment_are_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gantt.conf.d").mkdir()
    file = tmp_path / "gantt.conf.d" / "a.conf"
    file.write_text("[gantt]\nworker = 2\n")
    found = load(
        environ={
            "OS_GANTT_CONFIG_DIR": str(tmp_path),
            "OS_GANTT__WORKRS": "3",
            "OS_SERVICE__TOKEN": "not ours",
        }
    ).unknown
    assert found == (
        f"{file}: unknown option worker in [gantt]: did you mean workers?",
        "OS_GANTT__WORKRS: unknown option workrs in [gantt]: did you mean workers?",
    )


def test_service_logs_unknown_options_at_startup(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        warn_of_unknown(settings_of(tmp_path, "[gantt]\nworker = 2\n"))
    assert "did you mean workers?" in caplog.text


def test_programs_print_unknown_options(tmp_path: Path) -> None:
    file = tmp_path / "gantt.conf"
    file.write_text("[placement_database]\nconection = sqlite:///g.db\n")
    said = Program(manage, "").fail("--config-file", str(file), "db", "version")
    assert "Warning" in said
    assert "did you mean connection?" in said
