"""Options of other packages: what stands in the files reaches filters written for Nova,
or the start refuses. In processes of their own: oslo.config has one ConfigOpts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.programs import captured

FILTER = '''
"""As Blazar's filter reads its options."""
from oslo_config import cfg

FILTER_OPTS = [
    cfg.StrOpt("aggregate_freepool_name", default="freepool"),
    cfg.IntOpt("most", default=1),
]
cfg.CONF.register_opts(FILTER_OPTS, "blazar:physical:host")


class ReservedFilter:
    def host_passes(self, host_state, spec_obj):
        print("read", cfg.CONF["blazar:physical:host"].aggregate_freepool_name)
        return True
'''
PROGRAM = """
import sys
import gantt
from gantt.conf import engine_options
from gantt.model.hosts import HostStats
from gantt.model.spec import Flavor, RequestSpec, ScheduleRequest

{before}
options = engine_options(sys.argv[1])
with gantt.connect("memory://", options=options) as books:
    books.update_host("h", "h", HostStats(vcpus=8, memory_mb=8192, local_gb=10))
    spec = RequestSpec(flavor=Flavor(vcpus=1, memory_mb=64))
    books.schedule(ScheduleRequest(spec, dry_run=True))
"""
CONF = """
[filter_scheduler]
available_filters = reserved.ReservedFilter
enabled_filters = ReservedFilter
[blazar:physical:host]
{option}
"""


def run(folder: Path, option: str, *command: str) -> subprocess.CompletedProcess[str]:
    (folder / "reserved.py").write_text(FILTER)
    (folder / "nova.conf").write_text(CONF.format(option=option))
    return captured(
        [sys.executable, *command],
        cwd=folder,
        env={"PYTHONPATH": f"{folder}:{Path(__file__).parents[1]}"},
        timeout=120,
    )


def test_a_filter_reads_its_options(tmp_path: Path) -> None:
    program = PROGRAM.format(before="")
    done = run(tmp_path, "aggregate_freepool_name = pool", "-c", program, "nova.conf")
    assert (done.returncode, {*done.stdout.split("\n")}) == (0, {"read pool", ""}), (
        done.stderr
    )


def test_options_of_an_application_stay(tmp_path: Path) -> None:
    """One that has read files of its own, as Nova's services do."""
    own = "from oslo_config import cfg; cfg.CONF([], project='nova', prog='own', "
    program = PROGRAM.format(before=own + "default_config_files=[])")
    done = run(tmp_path, "aggregate_freepool_name = pool", "-c", program, "nova.conf")
    assert {*done.stdout.split("\n")} == {"read freepool", ""}, done.stderr


@pytest.mark.parametrize(
    "command", [("serve", "--listen", "127.0.0.1:0"), ("scheduler",)]
)
def test_a_value_that_cannot_be_read_is_refused_at_the_start(
    tmp_path: Path, command: tuple[str, ...]
) -> None:
    program = "from gantt.cli.start import gantt; gantt()"
    done = run(
        tmp_path,
        "most = many",
        "-c",
        program,
        *command,
        "--config-file",
        "nova.conf",
        "--database",
        "memory://",
    )
    assert done.returncode not in (0, None)
    assert "[blazar:physical:host] most" in done.stderr
    assert "many" in done.stderr
    assert "Traceback" not in done.stderr


RELOADED = """
import sys
from pathlib import Path
from oslo_config import cfg
from gantt.conf import load

cfg.CONF.register_opts([cfg.StrOpt("name", default="none")], "theirs")
file = Path(sys.argv[1])
for text in ("[theirs]\\nname = one\\n", "[theirs]\\nname = two\\n", ""):
    file.write_text(text)
    load([str(file)])
    print(cfg.CONF.theirs.name)
"""


def test_a_reload_reaches_them(tmp_path: Path) -> None:
    done = run(tmp_path, "", "-c", RELOADED, "other.conf")
    assert done.stdout.split() == ["one", "two", "none"], done.stderr
