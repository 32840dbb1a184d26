"""The Ansible role: its syntax, by Ansible; what its templates make, by Gantt."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import jinja2
import pytest
import yaml

from gantt.conf import load
from tests.deploy.units import units
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
        ended = subprocess.run(
            [
                Path(sys.executable).with_name("ansible-playbook"),
                *("--syntax-check", "-i", "inventory.example.yml", playbook),
            ],
            cwd=FOLDER,
            env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "LC_ALL": "C.UTF-8"},
            capture_output=True,
            text=True,
            check=False,
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
