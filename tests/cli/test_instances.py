"""``gantt instance`` and ``gantt claim list``, and names that are no uuids."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import cast
from uuid import uuid4

import pytest

import gantt as gantt_library
from gantt.cli.instance_lookup import find_instance
from gantt.cli.main import gantt
from gantt.errors import Invalid
from gantt.model.hosts import Instance, InstanceView
from gantt.model.protocol import GanttProtocol
from tests import inprocess
from tests.cli.conftest import Program
from tests.cli.test_scheduling import REPORT, SIZE


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Program]:
    """The program against a service of its own with one host."""
    with inprocess.service(tmp_path) as url:
        program = Program(gantt, url)
        program.do("host", "update", "one", *REPORT)
        yield program


def test_instances_are_listed_shown_and_released(fleet: Program) -> None:
    uuids = sorted(str(uuid4()) for _ in range(3))
    fleet.do("select", "--flavor", SIZE, "--instance", uuids[0])
    both = [word for uuid in uuids[1:] for word in ("--instance", uuid)]
    fleet.do("select", "--flavor", SIZE, "--lease", "60", *both)
    found = fleet.ask("instance", "list")
    assert [one["instance"] for one in found] == uuids
    assert [one["state"] for one in found] == ["claimed", "leased", "leased"]
    assert {one["host"] for one in found} == {"one"}
    page = fleet.ask("instance", "list", "--limit", "1", "--marker", uuids[0])
    assert [one["instance"] for one in page] == uuids[1:2]
    assert fleet.ask("instance", "list", "--host", "two") == []
    (one,) = fleet.ask("instance", "show", uuids[0])
    (amounts,) = one["allocations"].values()
    assert amounts == {"VCPU": 2, "MEMORY_MB": 4096, "DISK_GB": 20}
    for uuid in uuids[:2]:
        fleet.do("instance", "release", uuid)
        assert "no claim and no allocations" in fleet.fail("instance", "show", uuid)
        assert "no claim and no allocations" in fleet.fail("instance", "release", uuid)
    (host,) = fleet.ask("host", "list")
    assert host["claimed"]["instances"] == 1


def test_claims_are_listed_with_their_instances(fleet: Program) -> None:
    uuid, other = sorted(str(uuid4()) for _ in range(2))
    fleet.do("select", "--flavor", SIZE, "--instance", other)
    fleet.do("select", "--flavor", SIZE, "--instance", uuid, "--lease", "60")
    first, second = fleet.ask("claim", "list")
    assert (first["instance"], second["instance"]) == (uuid, other)
    assert first["leased_until"] and not second["leased_until"]
    assert fleet.ask("claim", "list", "--claim", first["claim"]) == [first]
    assert fleet.ask("claim", "list", "--host", "two") == []
    fleet.do("claim", "release", first["claim"])
    assert fleet.ask("claim", "list") == [second]


def test_a_name_that_is_no_uuid_is_refused(fleet: Program) -> None:
    told = fleet.fail("select", "--flavor", SIZE, "--instance", "job-2")
    assert "instance_uuids.0 must be a UUID, not 'job-2'" in told
    assert fleet.ask("instance", "list") == []


def test_an_instance_is_found_by_name_or_a_part(fleet: Program) -> None:
    web, other, third = sorted(str(uuid4()) for _ in range(3))
    for uuid in (web, other, third):
        fleet.do("select", "--flavor", SIZE, "--instance", uuid)
    with gantt_library.connect(fleet.url) as books:
        named = ((web, "web"), (other, "web-2"))
        books.update_instances(
            "one", [Instance(uuid, {"display_name": name}) for uuid, name in named]
        )
    found = fleet.ask("instance", "list", "--search", "WEB")
    assert [(one["instance"], one["name"]) for one in found] == list(named)
    assert len(fleet.ask("instance", "list", "--search", "web", "--limit", "1")) == 1
    for text in ("web", web, web[:18]):
        (one,) = fleet.ask("instance", "show", text)
        assert (one["instance"], one["name"], one["host"]) == (web, "web", "one")
    assert fleet.ask("instance", "show", "b-2")[0]["instance"] == other
    several = fleet.fail("instance", "show", "we")
    assert f"2 instances have 'we': {web} (web), {other} (web-2)." in several
    assert "No instance has 'mail'" in fleet.fail("instance", "show", "mail")
    assert f"{web} web" in fleet.do("explain", "web")
    assert "no record of a decision about 'mail'" in fleet.fail("explain", "mail")


def test_a_name_that_too_many_have_in_theirs_is_never_taken_for_the_only_one() -> None:
    """Those past the first 200 may be called so, too."""
    some = [InstanceView(str(uuid4()), "named", name=f"web-{n}") for n in range(199)]
    web = InstanceView(str(uuid4()), "named", name="web")
    books = SimpleNamespace(list_instances=lambda _: [*some, web])
    with pytest.raises(Invalid) as refused:
        find_instance(cast("GanttProtocol", books), "web")
    text = refused.value.message
    assert text.startswith(f"200 or more instances have 'web': {web.uuid} (web), ")
    assert "Give the uuid of one" in text
    some.pop()
    assert find_instance(cast("GanttProtocol", books), "web") == web
