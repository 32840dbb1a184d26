"""What kolla-ansible writes for a controller: its own templates, by Ansible."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

SHARE = Path(sys.prefix) / "share" / "kolla-ansible"
ROLES = SHARE / "ansible" / "roles"
# Groups that templates look up, all on one machine.
GROUPS = ("memcached", "rabbitmq", "glance-api", "nova-api", "nova-scheduler")
# Of the machine, and what else an operator says in globals.yml.
GLOBALS = {
    "ansible_python_interpreter": sys.executable,
    "network_interface": "lo",
    "kolla_internal_vip_address": "127.0.0.1",
    # By a filter of a collection that is not on the package index.
    "kolla_same_external_internal_vip": True,
    "kolla_base_distro": "debian",
}
# As the role placement includes the role of uWSGI.
UWSGI = {
    "service_uwsgi_config_http_port": "{{ placement_api_listen_port }}",
    "service_uwsgi_config_log_dir": "placement",
    "service_uwsgi_config_module": "placement.wsgi.api:application",
    "service_uwsgi_config_tls_backend": "{{ placement_enable_tls_backend | bool }}",
    "service_uwsgi_config_tls_cert": "/etc/placement/certs/placement-cert.pem",
    "service_uwsgi_config_tls_key": "/etc/placement/certs/placement-key.pem",
    "service_uwsgi_config_uid": "placement",
    "service_uwsgi_config_workers": "{{ placement_api_workers }}",
}


def written(
    folder: Path, service: str, own: Path | None = None, **said: Any
) -> dict[str, str]:
    """The files of a container, such as nova-scheduler, by name. ``own``: what an
    operator has kolla-ansible merge into its configuration; ``said``: globals.yml."""
    role = service.partition("-")[0]
    templates = ROLES / role / "templates"
    sources = [templates / f"{role}.conf.j2", *([own] if own else [])]
    merged = {"sources": [*map(str, sources)], "dest": str(folder / f"{role}.conf")}
    tasks: list[dict[str, Any]] = [
        {"merge_configs": merged},
        _template(templates / f"{service}.json.j2", folder / "config.json"),
    ]
    if role == "placement":
        uwsgi = ROLES / "service-uwsgi-config" / "templates" / "uwsgi.ini.j2"
        tasks.append(_template(uwsgi, folder / "uwsgi.ini") | {"vars": UWSGI})
    _play(folder, tasks, {"service_name": service, **said})
    names = (f"{role}.conf", "config.json", "uwsgi.ini")
    return {
        name: (folder / name).read_text() for name in names if (folder / name).is_file()
    }


def _template(source: Path, target: Path) -> dict[str, Any]:
    return {"ansible.builtin.template": {"src": str(source), "dest": str(target)}}


def _play(folder: Path, tasks: list[dict[str, Any]], said: dict[str, Any]) -> None:
    examples = SHARE / "etc_examples" / "kolla" / "passwords.yml"
    passwords = {
        name: "pw"
        for name, value in yaml.safe_load(examples.read_text()).items()
        if value is None
    }
    (folder / "group_vars").symlink_to(SHARE / "ansible" / "group_vars")
    inventory = {"hosts": {"localhost": {"ansible_connection": "local"}}}
    groups = dict.fromkeys(GROUPS, inventory)
    # After the files of group_vars/all, as globals.yml is.
    told = {**GLOBALS, **passwords, **said}
    (folder / "inventory.yml").write_text(yaml.safe_dump({"all": {"children": groups}}))
    (folder / "globals.yml").write_text(yaml.safe_dump(told))
    roles = ("nova", "placement", "service-uwsgi-config")
    defaults = [str(ROLES / role / "defaults" / "main.yml") for role in roles]
    play = {"hosts": "nova-scheduler", "vars_files": defaults, "tasks": tasks}
    (folder / "play.yml").write_text(yaml.safe_dump([play]))
    ended = subprocess.run(
        [
            Path(sys.executable).with_name("ansible-playbook"),
            "-i",
            "inventory.yml",
            "-e",
            "@globals.yml",
            "play.yml",
        ],
        cwd=folder,
        env={
            "PATH": "/usr/bin:/bin",
            "HOME": str(folder),
            "LC_ALL": "C.UTF-8",
            "ANSIBLE_FILTER_PLUGINS": str(SHARE / "ansible" / "filter_plugins"),
            "ANSIBLE_ACTION_PLUGINS": str(SHARE / "ansible" / "action_plugins"),
            "ANSIBLE_LIBRARY": str(SHARE / "ansible" / "library"),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
