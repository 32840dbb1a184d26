"""Old names of options: those that Nova 34 and Placement 16 read are read, and those
that they read before are warned about."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import nova.conf.opts
import placement.conf.opts
import pytest
from oslo_config import cfg

from gantt.conf import credentials, list_opts
from gantt.conf.feed_settings import _THEIRS
from gantt.conf.options import PROBES
from gantt.conf.unknown_options import FORMER
from tests.configured import settings_of


def ours() -> dict[tuple[str, str], cfg.Opt]:
    lists = [*list_opts(), *PROBES.items(), *_THEIRS]
    lists.append((credentials.GROUP, credentials.OPTIONS))
    return {(group, opt.name): opt for group, opts in lists for opt in opts}


def upstreams() -> Iterator[tuple[str, cfg.Opt]]:
    lists = [*nova.conf.opts.list_opts(), *placement.conf.opts.list_opts()]
    for group, opts in lists:
        yield from ((str(getattr(group, "name", group or "DEFAULT")), o) for o in opts)


def old_names(group: str, opt: cfg.Opt) -> set[tuple[str, str]]:
    return {(old.group or group, old.name or opt.dest) for old in opt.deprecated_opts}


def test_every_old_name_that_upstream_reads_is_read() -> None:
    assert version("nova").split(".")[0] == "34"
    assert version("openstack-placement").split(".")[0] == "16"
    own, shared, old = ours(), 0, 0
    for group, opt in upstreams():
        mine = own.get((group, opt.name))
        if mine is not None:
            shared += 1
            wanted = old_names(group, opt)
            old += len(wanted)
            assert wanted <= old_names(group, mine), (group, opt.name)
    assert (shared > 60, old) == (True, 3)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        (
            'pci_alias = {"name": "gpu", "vendor_id": "10de"}',
            lambda found: found.engine.scheduler.pci_alias[0]["name"] == "gpu",
        ),
        (
            "notification_format = versioned",
            lambda found: found.rpc.notification_format == "versioned",
        ),
        ("auth_strategy = noauth2", lambda found: found.auth.strategy == "noauth2"),
    ],
)
def test_what_stands_under_an_old_name_holds(
    tmp_path: Path,
    text: str,
    read: object,
) -> None:
    found = settings_of(tmp_path, f"[DEFAULT]\n{text}\n")
    assert callable(read) and read(found)
    assert found.unknown == ()


@pytest.mark.parametrize("name", FORMER)
def test_what_upstream_reads_no_more_is_named(tmp_path: Path, name: str) -> None:
    group, today = FORMER[name]
    assert (group, today) in ours()
    assert all(
        ("DEFAULT", name) not in {*old_names(section, opt), (section, opt.name)}
        for section, opt in upstreams()
    )
    (line,) = settings_of(tmp_path, f"[DEFAULT]\n{name} = 1\n").unknown
    assert f"write {today} in [{group}]" in line
