"""Options that nobody reads are told, those of Placement and Nova are not."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from nova.conf import opts

from gantt.api.server import warn_of_unknown
from gantt.cli.manage import manage
from gantt.conf import list_opts, load
from gantt.conf.unknown import unknown_options
from tests.cli.conftest import Program
from tests.test_conf import UPSTREAM


def told(folder: Path, text: str) -> tuple[str, ...]:
    file = folder / "gantt.conf"
    file.write_text(text)
    lines = load([str(file)], environ={}).unknown
    assert all(line.startswith(f"{file}: ") for line in lines)
    return tuple(line.removeprefix(f"{file}: ") for line in lines)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            "[gantt]\nbatchsize = 3\n",
            "there is no option batchsize in [gantt]: batch_size is meant?",
        ),
        ("[gantt]\nzzz = 3\n", "there is no option zzz in [gantt]: it is not read."),
        (
            "[scheduler]\nmax_attemps = 3\n",
            "there is no option max_attemps in [scheduler]: max_attempts is meant?",
        ),
        (
            "[placement_database]\nconection = x\n",
            "there is no option conection in [placement_database]: connection is "
            "meant?",
        ),
        (
            "[DEFAULT]\nservice_downtime = 3\n",
            "there is no option service_downtime in [DEFAULT]: service_down_time is "
            "meant?",
        ),
        (
            "[api]\nauth_stratgy = token\n",
            "there is no option auth_stratgy in [api]: auth_strategy is meant?",
        ),
        (
            "[filter-scheduler]\nenabled_filters = a\n",
            "there is no section [filter-scheduler]: [filter_scheduler] is meant?",
        ),
    ],
)
def test_a_misspelt_name_is_told_with_the_nearest(
    tmp_path: Path, text: str, line: str
) -> None:
    assert told(tmp_path, text) == (line,)


def test_a_placement_conf_has_no_mistakes(tmp_path: Path) -> None:
    assert told(tmp_path, UPSTREAM) == ()


def test_every_option_of_nova_may_stand_in_a_file(tmp_path: Path) -> None:
    text = []
    for group, options in opts.list_opts():
        text.append(f"[{getattr(group, 'name', group)}]")
        text.extend(f"{option.dest} =" for option in options)
    assert len(text) > 500
    file = tmp_path / "nova.conf"
    file.write_text("\n".join(text))
    assert unknown_options([str(file)], (), list_opts()) == ()


def test_files_of_a_directory_and_the_environment_are_looked_at(
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
        f"{file}: there is no option worker in [gantt]: workers is meant?",
        "OS_GANTT__WORKRS: there is no option workrs in [gantt]: workers is meant?",
    )


def test_the_service_says_so_at_start(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "gantt.conf"
    file.write_text("[gantt]\nworker = 2\n")
    with caplog.at_level(logging.WARNING):
        warn_of_unknown(load([str(file)], environ={}))
    assert "workers is meant?" in caplog.text


def test_programs_say_so(tmp_path: Path) -> None:
    file = tmp_path / "gantt.conf"
    file.write_text("[placement_database]\nconection = sqlite:///g.db\n")
    said = Program(manage, "").fail("--config-file", str(file), "db", "version")
    assert "Warning" in said
    assert "connection is meant?" in said
