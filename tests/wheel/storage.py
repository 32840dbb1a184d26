"""The plug-in's wheel in the schedulers of Cinder and Manila: `make wheel`.

Their released packages are unpacked beside it, without what they need: filters and
weighers are found by entry points, and called by handlers, of the services' own. Not
part of `make test`: it needs the network.
"""

from __future__ import annotations

import configparser
import logging
import os
import re
import subprocess
import sys
import tempfile
import time
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tests.plugin.fake_gantt import Asked, FakeGantt, saying
from tests.wheel.check import ROOT, build, only, run

RELEASES = {"cinder": "29.0.0", "manila": "23.0.1"}
NAMES = ["h@lvm#one", "h@lvm#two", "h@ceph#three"]

# Of each service: module, class and entry points of its handlers.
FILTERS = {
    "cinder": ("cinder.scheduler.filters", "BackendFilterHandler", "filters"),
    "manila": ("manila.scheduler.filters.base_host", "HostFilterHandler", "filters"),
}
WEIGHERS = {
    "cinder": ("cinder.scheduler.weights", "OrderedHostWeightHandler", "weights"),
    "manila": ("manila.scheduler.weighers.base_host", "HostWeightHandler", "weighers"),
}


def install(folder: Path) -> Path:
    """A folder with the plug-in's wheel and both services."""
    build(ROOT / "nova-plugin", folder / "dist", "wheel")
    wheel = only(folder / "dist", "*.whl")
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "install")
    wanted = [f"{name}=={version}" for name, version in RELEASES.items()]
    site = folder / "site"
    run(*pip, "--no-deps", "--target", site, wheel, *wanted, folder=folder)
    return site


def handler(service: str, kind: tuple[str, str, str]) -> tuple[Any, list[Any]]:
    """A handler of a service, and the plug-in's classes as it finds them."""
    module, name, group = kind
    found = getattr(import_module(module), name)(f"{service}.scheduler.{group}")
    ours = [one for one in found.get_all_classes() if one.__name__.startswith("Gantt")]
    assert len(ours) == 1, f"{service} finds {ours}"
    return found, ours


def properties() -> dict[str, Any]:
    """What the schedulers hand to filters and weighers."""
    return {"context": SimpleNamespace(auth_token="secret"), "request_spec": {}}


def schedule(service: str) -> list[str]:
    """Names of backends, the best first, by the service's own handlers."""
    states = [SimpleNamespace(host=name) for name in NAMES]
    request = properties()
    filters, classes = handler(service, FILTERS[service])
    found = filters.get_filtered_objects(classes, states, request)
    left = found[0] if isinstance(found, tuple) else found  # Manila names the last
    weighers, classes = handler(service, WEIGHERS[service])
    return [
        one.obj.host for one in weighers.get_weighed_objects(classes, left, request)
    ]


def check_document(service: str) -> None:
    """The lines that docs/how-to/advise-nova.md shows name what the service finds."""
    text = (ROOT / "docs" / "how-to" / "advise-nova.md").read_text(encoding="utf-8")
    shown = re.search(r"```ini\n# cinder\.conf\n(.*?)```", text, re.DOTALL)
    assert shown is not None
    conf = configparser.ConfigParser()
    conf.read_string(shown[1])
    for option, kind in (("filters", FILTERS), ("weighers", WEIGHERS)):
        found, _ = handler(service, kind[service])
        known = {one.__name__ for one in found.get_all_classes()}
        named = conf["DEFAULT"][f"scheduler_default_{option}"].split(",")
        assert known.issuperset(named), f"{service} does not know all of {named}"


def check(service: str) -> None:
    """In a process that can import the service."""
    from oslo_config import cfg

    logging.disable()  # filters of the services lack packages

    def second_then_third(asked: Asked) -> object:
        sent = [host["host"] for host in asked.body["hosts"]]
        return {"hosts": [name for name in sent[::-1] if name != NAMES[0]]}

    check_document(service)
    gantt = FakeGantt(saying(second_then_third))
    import_module(f"gantt_nova_plugin.{service}")
    expected = {
        "observe": NAMES,
        "advise": [NAMES[2], NAMES[1], NAMES[0]],
        "decide": [NAMES[2], NAMES[1]],
    }
    for mode, order in expected.items():
        cfg.CONF.set_override("url", gantt.url, "gantt")
        cfg.CONF.set_override("mode", mode, "gantt")
        assert schedule(service) == order, mode
    assert {one.path for one in gantt.asked} == {f"/scheduler/{service}/external"}
    gantt.close()
    assert schedule(service) == NAMES, "without Gantt"


def main() -> None:
    """Check each service in a process of its own."""
    if sys.argv[1:]:
        check(sys.argv[1])
        return
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        site = install(Path(name).resolve())
        environ = {**os.environ, "PYTHONPATH": f"{site}:{ROOT}"}
        for service, version in RELEASES.items():
            module = (sys.executable, "-W", "ignore", "-m", "tests.wheel.storage")
            subprocess.run([*module, service], env=environ, check=True)
            print(f"{service} {version} finds and asks the plug-in", flush=True)
    print(f"== storage: took {(time.monotonic() - begun) / 60:.1f} minutes")


if __name__ == "__main__":
    main()
