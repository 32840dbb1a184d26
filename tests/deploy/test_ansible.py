"""The Ansible role: its syntax, by Ansible; what its templates make, by Gantt."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import jinja2
import pytest
import yaml

from gantt.conf import load
from tests.deploy.units import units
from tests.programs import captured
from tests.tidy.source import ROOT

FOLDER = ROOT / "deploy" / "ansible"
ROLE = FOLDER / "roles" / "gantt"
TASKS = sorted((ROLE / "tasks").glob("*.yml"))
GIVEN = {
    "gantt_keystone_password": "secret",
    "gantt_database_password": "secret",
    "nova_database_password": "secret",
    "rabbit_password": "secret",
    "inventory_hostname": "controller-1.example",
}
WAYS = ("placement", "advise", "scheduler")


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def rendered(text: str, values: dict[str, Any]) -> str:
    """As Ansible: values may hold templates themselves."""
    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined, trim_blocks=True, keep_trailing_newline=True
    )
    while "{{" in text or "{%" in text:
        text = environment.from_string(text).render(values)
    return text


def values_of(way: str) -> dict[str, Any]:
    inventory = read(FOLDER / "inventory.example.yml")["all"]["vars"]
    given = {**GIVEN, **read(ROLE / "defaults" / "main.yml"), **inventory}

    def made(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: made(one) for name, one in value.items()}
        return rendered(value, given) if isinstance(value, str) else value

    return {**{name: made(value) for name, value in given.items()}, "gantt_way": way}


def test_ansible_accepts_every_file(tmp_path: Path) -> None:
    """Files that are included at run time are not looked at unless they are named."""
    every = tmp_path / "every.yml"
    tasks = [{"ansible.builtin.import_tasks": str(path)} for path in TASKS]
    handlers = [{"ansible.builtin.import_tasks": str(ROLE / "handlers" / "main.yml")}]
    play = {"hosts": "all", "tasks": tasks, "handlers": handlers}
    every.write_text(yaml.safe_dump([play]))
    for playbook in (FOLDER / "playbook.yml", every):
        ended = captured(
            [
                Path(sys.executable).with_name("ansible-playbook"),
                "--syntax-check",
                "-i",
                "inventory.example.yml",
                playbook,
            ],
            cwd=FOLDER,
            env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "LC_ALL": "C.UTF-8"},
        )
        assert ended.returncode == 0, ended.stdout + ended.stderr
        assert "WARNING" not in ended.stderr


@pytest.mark.parametrize("way", WAYS)
def test_gantt_reads_what_the_templates_make(way: str, tmp_path: Path) -> None:
    names = {
        "placement": ["gantt.conf"],
        "advise": ["gantt.conf", "feed.conf"],
        "scheduler": ["scheduler.conf"],
    }[way]
    for name in names:
        made = tmp_path / name
        template = (ROLE / "templates" / f"{name}.j2").read_text()
        made.write_text(rendered(template, values_of(way)))
        settings = load((str(made),), environ={})
        assert settings.unknown == (), name
        if name == "gantt.conf":
            assert settings.auth.strategy == "keystone"
            assert settings.serve.workers == 2
        if name != "feed.conf":
            assert "db.example/gantt" in settings.database_url


def test_nova_is_told_as_its_document_has_it() -> None:
    template = (ROLE / "templates" / "nova.conf.j2").read_text()
    made = rendered(template, values_of("advise"))
    document = (ROOT / "docs" / "how-to" / "advise-nova.md").read_text()
    blocks = re.findall(r"```ini\n(.*?)```", document, re.DOTALL)
    (shown,) = (
        one for one in blocks if one.startswith("[filter_scheduler]\navailable")
    )
    address = "http://gantt.example:8778"
    assert made.replace("http://controller-1.example:8778", address) == shown


def test_every_variable_is_specified() -> None:
    options = read(ROLE / "meta" / "argument_specs.yml")["argument_specs"]["main"]
    specified = options["options"]
    defaults = read(ROLE / "defaults" / "main.yml")
    required = {name for name, one in specified.items() if one.get("required")}
    assert set(defaults) | required == set(specified)
    files = [*TASKS, *(ROLE / "templates").iterdir(), ROLE / "handlers" / "main.yml"]
    text = "\n".join(path.read_text() for path in files)
    used = set(re.findall(r"\bgantt_\w+", text))
    registered = set(re.findall(r"register: (\w+)", text))
    assert used - registered - {"gantt_nova_plugin"} == set(specified)
    assert specified["gantt_way"]["choices"] == list(WAYS)


def test_every_way_has_its_tasks_and_its_units() -> None:
    assert {path.stem for path in TASKS} > set(WAYS)
    text = "\n".join(path.read_text() for path in TASKS)
    named = set(re.findall(r"name: (gantt(?:-\w+)?)$", text, re.MULTILINE))
    assert named <= {one.path.stem for one in units()}
    assert named == {"gantt", "gantt-feed", "gantt-scheduler"}


def test_what_is_notified_is_handled() -> None:
    handled = {one["name"] for one in read(ROLE / "handlers" / "main.yml")}
    notified: set[str] = set()
    for path in TASKS:
        for task in read(path):
            wanted = task.get("notify", [])
            for name in [wanted] if isinstance(wanted, str) else wanted:
                notified |= {rendered(name, {"gantt_way": way}) for way in WAYS}
    assert notified == handled


def test_no_handler_starts_what_its_task_keeps_from_a_host() -> None:
    """A restart also starts what is stopped."""
    module = "ansible.builtin.service"
    handlers = {
        one[module]["name"]: one for one in read(ROLE / "handlers" / "main.yml")
    }
    limited = {
        task[module]["name"]: task["when"]
        for path in TASKS
        for task in read(path)
        if module in task and "inventory_hostname" in task.get("when", "")
    }
    assert set(limited) == {"gantt-feed"}
    assert {name: handlers[name].get("when") for name in limited} == limited


def tasks_of(name: str, values: dict[str, Any]) -> list[Any]:
    """What runs on a host: with what is included, without what its ``when`` leaves."""
    found: list[Any] = []
    for task in read(ROLE / "tasks" / name):
        condition = task.get("when", "true")
        if rendered(f"{{{{ {condition} }}}}", values).lower() != "true":
            continue
        if included := task.get("ansible.builtin.include_tasks"):
            found += tasks_of(rendered(included, values), values)
        else:
            found.append(task)
    return found


@pytest.mark.parametrize(
    ("way", "state", "services"),
    [
        ("placement", "present", {"gantt": "started"}),
        ("placement", "absent", {"gantt": "stopped"}),
        ("advise", "present", {"gantt": "started", "gantt-feed": "started"}),
        ("advise", "absent", {"gantt-feed": "stopped", "gantt": "stopped"}),
        (
            "scheduler",
            "present",
            {"gantt-scheduler": "started", "nova-scheduler": "stopped"},
        ),
        (
            "scheduler",
            "absent",
            {"gantt-scheduler": "stopped", "nova-scheduler": "started"},
        ),
    ],
)
def test_what_runs_on_a_host_in_each_way(
    way: str, state: str, services: dict[str, str]
) -> None:
    first = GIVEN["inventory_hostname"]
    play = {"gantt_state": state, "ansible_play_hosts_all": [first, "another"]}
    values = {**values_of(way), **play}
    tasks = tasks_of("main.yml", values)
    said = [task["ansible.builtin.service"] for task in tasks if _is_service(task)]
    states = {
        rendered(one["name"], values): rendered(one["state"], values) for one in said
    }
    assert states == services
    starts_at_boot = {
        rendered(one["name"], values)
        for one in said
        if rendered(str(one["enabled"]), values).lower() == "true"
    }
    assert starts_at_boot == {
        name for name, state in services.items() if state == "started"
    }
    others = {**values, "inventory_hostname": "another"}
    on_others = [task for task in tasks_of("main.yml", others) if _is_service(task)]
    names = {one["ansible.builtin.service"]["name"] for one in on_others}
    assert "gantt-feed" not in names


def test_nova_asks_no_longer_when_the_service_stops() -> None:
    first = GIVEN["inventory_hostname"]
    play = {"gantt_state": "absent", "ansible_play_hosts_all": [first]}
    tasks = tasks_of("main.yml", {**values_of("advise"), **play})
    steps = [task.get("notify") or task.get("ansible.builtin.meta") for task in tasks]
    told, flushed = map(steps.index, ("Restart nova-scheduler", "flush_handlers"))
    assert told < flushed
    names = [task.get("ansible.builtin.service", {}).get("name") for task in tasks]
    assert flushed < names.index("gantt")


def _is_service(task: Any) -> bool:
    return "ansible.builtin.service" in task


def test_the_playbook_has_a_play_for_each_way() -> None:
    plays = read(FOLDER / "playbook.yml")
    ways = [role["vars"]["gantt_way"] for play in plays for role in play["roles"]]
    assert ways == list(WAYS)
    groups = read(FOLDER / "inventory.example.yml")["all"]["children"]
    assert {play["hosts"] for play in plays} == set(groups)
