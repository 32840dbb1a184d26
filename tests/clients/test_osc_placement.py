"""Unmodified osc-placement: every command of it, against a live service.

Each story declares the commands that it is about; together they must be all there are.
"""

from __future__ import annotations

from collections.abc import Callable
from uuid import uuid4

import pytest

from tests.clients.osc import OpenStack, Program, plugin_commands
from tests.live import Live

Story = Callable[[OpenStack], None]
STORIES: dict[str, tuple[Story, tuple[str, ...]]] = {}


def story(*covers: str) -> Callable[[Story], Story]:
    """Declare which commands a story is about."""

    def declare(function: Story) -> Story:
        STORIES[function.__name__] = function, covers
        return function

    return declare


def a_name(start: str = "osc") -> str:
    return f"{start}-{uuid4().hex[:12]}"


def a_custom_name() -> str:
    return f"CUSTOM_{uuid4().hex[:12].upper()}"


def a_provider(osc: OpenStack, *inventory: str) -> str:
    """A new provider, and what it has; its uuid."""
    uuid = str(uuid4())
    osc.do("resource provider create", a_name(), "--uuid", uuid)
    if inventory:
        words = [word for each in inventory for word in ("--resource", each)]
        osc.do("resource provider inventory set", uuid, *words)
    return uuid


@story(
    "resource provider create",
    "resource provider list",
    "resource provider set",
    "resource provider show",
    "resource provider delete",
)
def providers(osc: OpenStack) -> None:
    parent, uuid, name = a_provider(osc), str(uuid4()), a_name()
    made = osc.ask(
        "resource provider create", name, "--uuid", uuid, "--parent-provider", parent
    )
    assert made["generation"] == 0
    assert made["parent_provider_uuid"] == made["root_provider_uuid"] == parent
    shown = osc.ask("resource provider show", uuid, "--allocations")
    assert (shown["name"], shown["allocations"]) == (name, {})
    renamed = osc.ask("resource provider set", uuid, "--name", name + "ü")
    assert renamed["name"] == name + "ü"
    listed = osc.ask("resource provider list", "--name", name + "ü")
    assert [each["uuid"] for each in listed] == [uuid]
    tree = osc.ask("resource provider list", "--in-tree", uuid)
    assert {each["uuid"] for each in tree} == {parent, uuid}
    refused = osc.fail("resource provider delete", parent)
    assert "It has child resource providers." in refused
    osc.do("resource provider delete", uuid)
    assert f"No resource provider with uuid {uuid} found" in osc.fail(
        "resource provider show", uuid
    )


@story(
    "resource provider inventory set",
    "resource provider inventory class set",
    "resource provider inventory list",
    "resource provider inventory show",
    "resource provider inventory delete",
)
def inventories(osc: OpenStack) -> None:
    uuid = a_provider(osc)
    words = ("--resource", "VCPU=8", "--resource", "VCPU:allocation_ratio=1.5")
    osc.do("resource provider inventory set", uuid, *words)
    osc.do(
        "resource provider inventory set", uuid, "--resource", "DISK_GB=9", "--amend"
    )
    osc.do(
        "resource provider inventory class set",
        uuid,
        "DISK_GB",
        "--total",
        "90",
        "--reserved",
        "1",
    )
    listed = osc.ask("resource provider inventory list", uuid)
    by_class = {each["resource_class"]: each for each in listed}
    assert by_class["VCPU"]["allocation_ratio"] == 1.5
    assert (by_class["DISK_GB"]["total"], by_class["DISK_GB"]["reserved"]) == (90, 1)
    shown = osc.ask("resource provider inventory show", uuid, "VCPU")
    assert (shown["total"], shown["used"]) == (8, 0)
    osc.do("resource provider inventory delete", uuid, "--resource-class", "DISK_GB")
    left = osc.ask("resource provider inventory list", uuid)
    assert [each["resource_class"] for each in left] == ["VCPU"]
    osc.do("resource provider inventory delete", uuid)
    assert osc.ask("resource provider inventory list", uuid) == []
    assert "No such resource class CUSTOM_NOBODY" in osc.fail(
        "resource provider inventory set", uuid, "--resource", "CUSTOM_NOBODY=1"
    )


@story(
    "resource provider aggregate set",
    "resource provider aggregate list",
)
def aggregates(osc: OpenStack) -> None:
    uuid, aggregate = a_provider(osc), str(uuid4())
    set_, member = "resource provider aggregate set", ("--aggregate", aggregate)
    osc.do(set_, uuid, *member, "--generation", "0")
    listed = osc.ask("resource provider aggregate list", uuid)
    assert [each["uuid"] for each in listed] == [aggregate]
    members = osc.ask("resource provider list", "--member-of", aggregate)
    assert [each["uuid"] for each in members] == [uuid]
    assert "generation" in osc.fail(set_, uuid, *member, "--generation", "0")


@story(
    "trait create",
    "trait list",
    "trait show",
    "trait delete",
    "resource provider trait set",
    "resource provider trait list",
    "resource provider trait delete",
)
def traits(osc: OpenStack) -> None:
    uuid, name = a_provider(osc), a_custom_name()
    osc.do("trait create", name)
    assert osc.ask("trait show", name) == {"name": name}
    assert {"name": name} in osc.ask("trait list", "--name", f"startswith:{name}")
    osc.do(
        "resource provider trait set",
        uuid,
        "--trait",
        name,
        "--trait",
        "HW_CPU_X86_AVX2",
    )
    listed = osc.ask("resource provider trait list", uuid)
    assert {each["name"] for each in listed} == {name, "HW_CPU_X86_AVX2"}
    found = osc.ask("resource provider list", "--required", name)
    assert [each["uuid"] for each in found] == [uuid]
    assert name in {each["name"] for each in osc.ask("trait list", "--associated")}
    assert "in use by a resource provider" in osc.fail("trait delete", name)
    osc.do("resource provider trait delete", uuid)
    assert osc.ask("resource provider trait list", uuid) == []
    osc.do("trait delete", name)
    assert name in osc.fail("trait show", name)


@story(
    "resource class create",
    "resource class set",
    "resource class list",
    "resource class show",
    "resource class delete",
)
def resource_classes(osc: OpenStack) -> None:
    name, other = a_custom_name(), a_custom_name()
    osc.do("resource class create", name)
    osc.do("resource class set", other)
    assert osc.ask("resource class show", name) == {"name": name}
    listed = {each["name"] for each in osc.ask("resource class list")}
    assert {"VCPU", name, other} <= listed
    for each in (name, other):
        osc.do("resource class delete", each)
    assert name in osc.fail("resource class show", name)
    assert "Cannot delete standard resource class" in osc.fail(
        "resource class delete", "VCPU"
    )


@story(
    "resource provider allocation set",
    "resource provider allocation show",
    "resource provider allocation unset",
    "resource provider allocation delete",
    "resource provider usage show",
    "resource usage show",
)
def allocations(osc: OpenStack) -> None:
    uuid = a_provider(osc, "VCPU=4", "MEMORY_MB=1024")
    consumer, project = str(uuid4()), a_name("project")
    who = ("--project-id", project, "--user-id", "u", "--consumer-type", "INSTANCE")
    set_, show = "resource provider allocation set", "resource provider allocation show"
    amounts = ("--allocation", f"rp={uuid},VCPU=3", "--allocation")
    osc.do(set_, consumer, *amounts, f"rp={uuid},MEMORY_MB=512", *who)
    (shown,) = osc.ask(show, consumer)
    assert shown["resource_provider"] == uuid
    assert shown["resources"] == {"VCPU": 3, "MEMORY_MB": 512}
    assert shown["consumer_type"] == "INSTANCE"
    used = osc.ask("resource provider usage show", uuid)
    assert {each["resource_class"]: each["usage"] for each in used} == {
        "VCPU": 3,
        "MEMORY_MB": 512,
    }
    # The plug-in knows the answer's form of before 1.38, which sums by class.
    total = osc.at("1.37").ask("resource usage show", project, "--user-id", "u")
    assert {each["resource_class"]: each["usage"] for each in total} == {
        "VCPU": 3,
        "MEMORY_MB": 512,
    }
    too_much = osc.fail(set_, str(uuid4()), *amounts[:1], f"rp={uuid},VCPU=2", *who)
    assert "The requested amount would exceed the capacity" in too_much
    unset = "resource provider allocation unset"
    osc.do(unset, consumer, "--resource-class", "MEMORY_MB")
    (left,) = osc.ask(show, consumer)
    assert left["resources"] == {"VCPU": 3}
    osc.do(unset, consumer, "--provider", uuid)
    assert osc.ask(show, consumer) == []
    osc.do(set_, consumer, *amounts[:1], f"rp={uuid},VCPU=1", *who)
    osc.do("resource provider allocation delete", consumer)
    assert osc.ask(show, consumer) == []
    assert f"No allocations for consumer '{consumer}'" in osc.fail(
        "resource provider allocation delete", consumer
    )


@story("allocation candidate list")
def candidates(osc: OpenStack) -> None:
    name = a_custom_name()
    osc.do("resource class create", name)
    uuid = a_provider(osc, f"{name}=4", "VCPU=2")
    found = osc.ask("allocation candidate list", "--resource", f"{name}=1")
    assert [each["resource provider"] for each in found] == [uuid]
    assert found[0]["allocation"] == f"{name}=1"
    granular = ("--group", "1", "--resource", f"{name}=1")
    grouped = osc.ask("allocation candidate list", *granular, "--limit", "1")
    assert [each["resource provider"] for each in grouped] == [uuid]
    nothing = osc.ask("allocation candidate list", "--resource", f"{name}=9")
    assert nothing == []
    assert "No such resource class CUSTOM_NOBODY" in osc.fail(
        "allocation candidate list", "--resource", "CUSTOM_NOBODY=1"
    )


@pytest.mark.parametrize("name", STORIES)
def test_story(live: Live, program: Program, name: str) -> None:
    osc = OpenStack(program, live.url)
    function, covers = STORIES[name]
    function(osc)
    assert set(covers) <= osc.has_run


def test_the_stories_are_about_every_command() -> None:
    told = {command for _, covers in STORIES.values() for command in covers}
    assert told == plugin_commands()


def test_the_version_is_negotiated(live: Live, program: Program) -> None:
    """Version 1 means the newest that both speak, learned from a 406 if need be."""
    made = OpenStack(program, live.url, "1").ask("resource provider create", a_name())
    assert made["root_provider_uuid"] == made["uuid"]


def test_the_oldest_version(live: Live, program: Program) -> None:
    osc = OpenStack(program, live.url, "1.0")
    uuid = a_provider(osc)
    shown = osc.ask("resource provider show", uuid)
    assert set(shown) == {"uuid", "name", "generation"}
    osc.do("resource provider inventory set", uuid, "--resource", "VCPU=2")
    consumer = str(uuid4())
    set_ = "resource provider allocation set"
    osc.do(set_, consumer, "--allocation", f"rp={uuid},VCPU=1")
    (listed,) = osc.ask("resource provider allocation show", consumer)
    assert listed["resources"] == {"VCPU": 1}


def test_a_service_mounted_at_placement(live: Live, program: Program) -> None:
    made = OpenStack(program, live.url + "/placement").ask(
        "resource provider create", a_name()
    )
    assert made["generation"] == 0
