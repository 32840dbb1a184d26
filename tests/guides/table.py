"""Which test does what a guide shows.

Configuration (``ini``) of every guide is read by tests/guides/test_configuration.py,
but what OTHERS has. A block that no test can run says so in the guide, directly above
it: ``<!-- Not run by the tests: REASON. -->``

``python -m tests.guides.table`` names all tests that follow guides.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_HERE: Final = "tests/guides"
# Not on the fresh machine: a compiler takes longer to install than all the rest.
_IN_GO: Final = "tests/clients/test_go.py"
_PROGRAMS: Final = f"{_HERE}/test_programs.py"
# Followed from the first block to the last: commands, programs and files.
FOLLOWED: Final[Mapping[str, str]] = {
    "back-up": f"{_HERE}/test_operating.py",
    "batch": f"{_HERE}/test_guides.py",
    "from-go": _IN_GO,
    "locality": f"{_HERE}/test_guides.py",
    "no-valid-host": f"{_HERE}/test_guides.py",
    "own-database": f"{_HERE}/test_guides.py",
    "plain-machines": f"{_HERE}/test_guides.py",
    "reserve-before-you-create": f"{_HERE}/test_guides.py",
    "scale-out": f"{_HERE}/test_operating.py",
    "upgrade": f"{_HERE}/test_operating.py",
    "write-a-driver": f"{_HERE}/test_extending.py",
    "write-a-filter": f"{_HERE}/test_guides.py",
    "write-a-weigher": f"{_HERE}/test_extending.py",
}
# All commands typed, and files saved.
TYPED: Final = f"{_HERE}/test_commands.py"
# So many blocks of these languages are done by the test of the guide.
OWN: Final[Mapping[str, tuple[str, int, tuple[str, ...]]]] = {
    "advise-nova": ("tests/plugin/test_advise_document.py", 8, ("console",)),
    "agent": ("tests/agent/test_agent_document.py", 3, ("indented",)),
    "shadow-nova": ("tests/openstack/test_shadow_document.py", 5, ("console",)),
    "topology": (
        "tests/cli/test_topology_document.py",
        10,
        ("console", "json", "python"),
    ),
    "write-a-collector": ("tests/test_collector_guide.py", 8, ("toml", "python", "sh")),
    "replace-placement": ("tests/cli/test_adoption.py", 3, ("console",)),
    "feed": ("tests/openstack/feed/test_command.py", 2, ("indented",)),
    "streams": (f"{_HERE}/test_streams.py", 2, ("sh",)),
    "benchmark": (f"{_HERE}/test_measuring.py", 2, ("console",)),
    "kolla": ("tests/deploy/test_kolla.py", 2, ("yaml", "ini")),
    "replace-nova-scheduler": (
        "tests/openstack/test_replace_document.py",
        5,
        ("indented",),
    ),
}
# Other blocks, and some of these, by their first line -> the test.
OTHERS: Final[Mapping[str, Mapping[str, str]]] = {
    "advise-nova": {
        "# cinder.conf": "tests/plugin/test_advise_document.py",
        "# nova.conf of such a fork": "tests/api/native/test_advise.py",
    },
    "agent": {
        "class AddressCollector:": "tests/agent/test_agent_document.py",
        "from gantt.agent.workloads.contract import Workload": (
            "tests/agent/test_agent_document.py"
        ),
        "gantt agent --interval 10": _PROGRAMS,
        "3f0c-secret-of-host-1: {user: host-1, project: hosts, roles: [host]}": (
            "tests/agent/test_agent_document.py"
        ),
    },
    "back-up": {
        "mariadb-dump --single-transaction gantt > gantt.sql": (
            f"{_HERE}/test_operating.py"
        ),
    },
    "command-line": {
        "pip install dist/gantt_[as]*.whl "
        '"$(ls dist/gantt_scheduler-*.whl)[openstack]"': _PROGRAMS,
        ". ./openrc && gantt provider list": "tests/cli/test_clouds.py",
    },
    "feed": {
        "CREATE USER 'gantt'@'%' IDENTIFIED BY 'secret';": (
            "tests/openstack/feed/test_mariadb.py"
        ),
    },
    "installing": {
        'eval "$(gantt completion bash)"': "tests/cli/test_completion.py",
    },
    "launching": {
        "from uuid import uuid4": "tests/launch/test_launch_document.py",
        "import shlex": "tests/launch/test_launch_document.py",
    },
    "liveness": {
        'books.delete_service("host-1", "gantt-agent")': (
            "tests/liveness/test_liveness_document.py"
        ),
        "for view in books.list_hosts():": "tests/liveness/test_liveness_document.py",
        'pip install "$(ls dist/gantt_agent-*.whl)[coordination]"': _PROGRAMS,
    },
    "monitoring": {
        "scrape_configs:": "tests/deploy/test_monitoring.py",
        "pip install dist/gantt_[as]*.whl "
        '"$(ls dist/gantt_scheduler-*.whl)[tracing]"': _PROGRAMS,
    },
    "replay": {
        'pip install dist/gantt_[als]*.whl "$(ls dist/gantt_scheduler-*.whl)[lab]"': (
            _PROGRAMS
        ),
    },
    "plan-capacity": {
        "$ python -m bench fair": f"{_HERE}/test_measuring.py",
        "$ python -m bench forecast": f"{_HERE}/test_traces.py",
    },
    "plugins": {
        "from gantt.scheduler.contract import Cacheable, Filter, Request": (
            "tests/testing/test_documented.py"
        ),
    },
    "replace-nova-scheduler": {
        "CREATE USER 'gantt_writer'@'%' IDENTIFIED BY 'secret';": (
            "tests/openstack/test_presence.py"
        ),
        "pip install dist/gantt_[as]*.whl "
        '"$(ls dist/gantt_scheduler-*.whl)[rpc,openstack,mysql]"': _PROGRAMS,
    },
    "run-in-production": {"route:": "tests/deploy/test_monitoring.py"},
    "scale-out": {"upstream gantt {": _PROGRAMS},
    "serving": {
        "$ gunicorn --workers 2 --threads 8 gantt.wsgi:application"
        "            # 27.0.1": f"{_HERE}/test_wsgi_servers.py",
    },
    "spread": {
        '"""RackWeigher: racks without a member of the group first."""': (
            "tests/scheduler/test_group_members.py"
        ),
    },
    "streams": {
        'pip install "$(ls dist/gantt_agent-*.whl)[kafka]"': _PROGRAMS,
        'pip install dist/gantt_[as]*.whl "$(ls dist/gantt_scheduler-*.whl)[kafka]"': (
            _PROGRAMS
        ),
        "import json": "tests/stream/test_changes_document.py",
        "from gantt.stream.changes.copy import Copy": (
            "tests/stream/test_changes_document.py"
        ),
    },
    "upgrade": {
        "curl -fsS http://127.0.0.1:8778/readyz": f"{_HERE}/test_operating.py",
    },
}
# Blocks that change the machine are typed as root in a Debian root, by a module that
# `make deb` or `make fresh ARGS=--servers` runs: their first line -> the module.
_OWN: Final = "tests/deploy/own.py"
_PACKAGE: Final = "tests/deploy/installed.py"
IN_A_ROOT: Final[Mapping[str, Mapping[str, str]]] = {
    "installing": {
        "scripts/build": _OWN,
        "scripts/deb --build": _OWN,
        "systemctl enable --now gantt": _PACKAGE,
        "useradd --system --home-dir /var/lib/gantt gantt": _OWN,
    },
    "upgrade": {
        "scripts/build": _OWN,
        "apt-get install ./gantt_*_amd64.deb": _PACKAGE,
    },
}
# Guide -> digest of the blocks above, as they were when the tests were last compared
# with every line of them.
SEEN: Final[Mapping[str, str]] = {
    "advise-nova": "4a2db210f554",
    "agent": "304ad97f993d",
    "back-up": "126c778bb799",
    "benchmark": "c076ce1fcf99",
    "command-line": "93e4551ff89a",
    "feed": "355cb48d7ff7",
    "installing": "cd39ee9e33d3",
    "launching": "b4b915a8070b",
    "liveness": "b1dc7d21282c",
    "monitoring": "2f606ed59e19",
    "plan-capacity": "86deb401fe66",
    "plugins": "a56153c4ec8f",
    "replace-nova-scheduler": "ac6de2e85776",
    "kolla": "b23bc9fb0688",
    "replace-placement": "1f11677526b2",
    "replay": "2666cdc42594",
    "run-in-production": "633d9e0d33b2",
    "scale-out": "a857d7a381a2",
    "serving": "c55142c80618",
    "shadow-nova": "f81de94d65d0",
    "spread": "aa819fb85a3e",
    "streams": "ce4b843219aa",
    "topology": "2dc8d202f15b",
    "upgrade": "04e1ba7b544b",
    "write-a-collector": "bf4fa9d48dc6",
}


def files() -> list[str]:
    """All tests that do what a guide shows, but for the one in Go: files, and the
    folder of most."""
    named = {TYPED, *FOLLOWED.values()} - {_IN_GO}
    named |= {file for file, _, _ in OWN.values()}
    named |= {file for of in OTHERS.values() for file in of.values()}
    return [_HERE, *sorted(one for one in named if not one.startswith(f"{_HERE}/"))]


if __name__ == "__main__":
    print(*files(), sep="\n")
