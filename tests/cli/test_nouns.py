"""Every command on the books."""

from __future__ import annotations

from uuid import uuid4

from tests.cli.conftest import Program


def a_name() -> str:
    return f"cli-{uuid4().hex[:12]}"


def a_custom_name() -> str:
    return f"CUSTOM_{uuid4().hex[:12].upper()}"


def a_provider(cli: Program, *inventory: str) -> str:
    """A new provider with an inventory; its name."""
    name = a_name()
    cli.do("provider", "create", name)
    if inventory:
        cli.do("inventory", "set", name, *inventory)
    return name


def test_provider(cli: Program) -> None:
    parent, name = a_provider(cli), a_name()
    made = cli.ask("provider", "create", name, "--parent", parent)
    root = cli.ask("provider", "show", parent)
    assert (made["name"], made["parent_uuid"]) == (name, root["uuid"])
    assert cli.ask("provider", "show", made["uuid"]) == made
    undashed = made["uuid"].replace("-", "").upper()
    assert cli.ask("provider", "show", undashed) == made
    tree = cli.ask("provider", "list", "--in-tree", name)
    assert {each["name"] for each in tree} == {parent, name}
    alone = cli.ask("provider", "set", name, "--name", name + "ü", "--no-parent")
    assert (alone["name"], alone["parent_uuid"]) == (name + "ü", None)
    back = cli.ask("provider", "set", name + "ü", "--parent", parent)
    assert back["root_uuid"] == root["uuid"]
    assert "child" in cli.fail("provider", "delete", parent)
    assert cli.do("provider", "delete", name + "ü", parent) == ""
    said = cli.fail("provider", "show", parent)
    assert parent in said
    assert "gantt provider list" in said


def test_name_equal_to_another_uuid_is_ambiguous(cli: Program) -> None:
    uuid = cli.ask("provider", "show", a_provider(cli))["uuid"]
    cli.do("provider", "create", uuid)
    assert "give the uuid" in cli.fail("provider", "show", uuid)


def test_provider_list_filters(cli: Program) -> None:
    trait, aggregate = a_custom_name(), str(uuid4())
    cli.do("trait", "create", trait)
    large, small = a_provider(cli, "VCPU=8"), a_provider(cli, "VCPU=2")
    for name in (large, small):
        cli.do("trait", "add", name, trait)
        cli.do("aggregate", "set", name, aggregate)
    cli.do("trait", "add", small, "HW_CPU_X86_AVX2")

    def listed(*options: str) -> set[str]:
        found = cli.ask("provider", "list", "--required", trait, *options)
        return {each["name"] for each in found}

    assert listed() == {large, small}
    assert listed("--resource", "VCPU=4") == {large}
    assert listed("--forbidden", "HW_CPU_X86_AVX2") == {large}
    assert listed("--required", f"in:{trait},HW_CPU_X86_AVX2") == {large, small}
    assert listed("--member-of", aggregate, "--name", small) == {small}
    assert listed("--not-member-of", aggregate) == set()


def test_inventory(cli: Program) -> None:
    name = a_provider(cli, "VCPU=8", "VCPU:allocation_ratio=1.5", "DISK_GB=10")
    cli.do("inventory", "set", name, "VCPU:reserved=1")
    found = cli.ask("inventory", "list", name)
    by_class = {each.pop("resource_class"): each for each in found}
    assert by_class["VCPU"] == {
        "total": 8,
        "reserved": 1,
        "min_unit": 1,
        "max_unit": 2147483647,
        "step_size": 1,
        "allocation_ratio": 1.5,
    }
    assert set(by_class) == {"VCPU", "DISK_GB"}
    cli.do("inventory", "set", name, "--replace", "MEMORY_MB=64", "VCPU:reserved=2")
    left = cli.ask("inventory", "list", name)
    assert [(each["resource_class"], each["total"]) for each in left] == [
        ("VCPU", 8),
        ("MEMORY_MB", 64),
    ]
    cli.do("inventory", "delete", name, "VCPU")
    cli.do("inventory", "delete", name, "--all")
    assert cli.ask("inventory", "list", name) == []


def test_inventory_usage_errors(cli: Program) -> None:
    name = a_provider(cli)
    for words in (["VCPU"], ["VCPU=x"], ["VCPU:nothing=1"], ["VCPU:reserved=1"]):
        assert "VCPU" in cli.fail("inventory", "set", name, *words, status=2)
    assert "--all" in cli.fail("inventory", "delete", name, status=2)
    assert "CUSTOM_NOBODY" in cli.fail("inventory", "set", name, "CUSTOM_NOBODY=1")


def test_trait(cli: Program) -> None:
    name, trait, other = a_provider(cli), a_custom_name(), a_custom_name()
    made = cli.ask("trait", "create", trait, other)
    assert made == [
        {"name": trait, "is_new": True},
        {"name": other, "is_new": True},
    ]
    cli.do("trait", "set", name, trait)
    cli.do("trait", "add", name, other, "HW_CPU_X86_AVX2")
    cli.do("trait", "remove", name, trait)
    borne = cli.ask("trait", "list", "--provider", name)
    assert {each["name"] for each in borne} == {other, "HW_CPU_X86_AVX2"}
    prefixed = cli.ask("trait", "list", "--provider", name, "--prefix", "custom")
    assert prefixed == [{"name": other}]
    used = cli.ask("trait", "list", "--associated", "--prefix", "CUSTOM_")
    assert {"name": other} in used
    assert {"name": trait} not in used
    assert other in cli.fail("trait", "delete", other)
    cli.do("trait", "delete", trait)
    cli.do("trait", "set", name)
    assert cli.ask("trait", "list", "--provider", name) == []


def test_aggregate(cli: Program) -> None:
    name, first, second = a_provider(cli), str(uuid4()), str(uuid4())
    cli.do("aggregate", "set", name, first)
    cli.do("aggregate", "add", name, second)
    found = cli.ask("aggregate", "list", name)
    assert {each["uuid"] for each in found} == {first, second}
    assert cli.ask("aggregate", "remove", name, first) == [{"uuid": second}]


def test_resource_class(cli: Program) -> None:
    name = a_custom_name()
    assert cli.ask("resource-class", "create", name) == [{"name": name, "is_new": True}]
    assert {"name": name} in cli.ask("resource-class", "list")
    cli.do("resource-class", "delete", name)
    assert name in cli.fail("resource-class", "delete", name)
    assert "CUSTOM_" in cli.fail("resource-class", "create", "MINE")


def test_allocation_and_usage(cli: Program) -> None:
    name, project = a_provider(cli, "VCPU=4", "DISK_GB=10"), a_name()
    made = cli.ask(
        "allocation",
        "set",
        "new",
        "--provider",
        name,
        "VCPU=3",
        "--project",
        project,
        "--user",
        "u",
        "--type",
        "INSTANCE",
    )
    (row,) = made
    assert row["resources"] == {"VCPU": 3}
    assert (row["project"], row["type"], row["generation"]) == (project, "INSTANCE", 1)
    consumer = row["consumer"]
    assert cli.ask("allocation", "show", consumer) == made
    changed = cli.ask(
        "allocation", "set", consumer, f"{name}:VCPU=2", f"{name}:DISK_GB=5"
    )
    assert changed[0]["resources"] == {"VCPU": 2, "DISK_GB": 5}
    assert (changed[0]["project"], changed[0]["type"]) == (project, "INSTANCE")
    used = {each["resource_class"]: each for each in cli.ask("usage", "show", name)}
    assert (used["VCPU"]["used"], used["VCPU"]["capacity"]) == (2, 4)
    total = cli.ask("usage", "total", project)
    assert {(each["resource_class"], each["used"]) for each in total} == {
        ("VCPU", 2),
        ("DISK_GB", 5),
    }
    by_type = cli.ask("usage", "total", project, "--type", "INSTANCE", "--user", "u")
    assert {each["consumer_type"] for each in by_type} == {"INSTANCE"}
    listed = cli.ask("allocation", "list", name)
    assert [each["consumer"] for each in listed] == [consumer]
    assert "exceed the capacity" in cli.fail(
        "allocation", "set", "new", "--provider", name, "VCPU=3"
    )
    stale = cli.fail(
        "allocation", "set", consumer, f"{name}:VCPU=1", "--generation", "1"
    )
    assert "generation" in stale
    cli.do("allocation", "delete", consumer)
    assert consumer in cli.fail("allocation", "show", consumer)
    assert consumer in cli.fail("allocation", "delete", consumer)


def test_allocation_usage_errors(cli: Program) -> None:
    assert "--provider" in cli.fail("allocation", "set", "new", "VCPU=1", status=2)
    assert "VCPU" in cli.fail("allocation", "set", "new", "VCPU", status=2)
    assert "nobody" in cli.fail("allocation", "set", "nobody", "x:VCPU=1")
    assert "elsewhere" in cli.fail("allocation", "set", "new", "elsewhere:VCPU=1")


def test_candidates(cli: Program) -> None:
    name, trait = a_custom_name(), a_custom_name()
    cli.do("resource-class", "create", name)
    cli.do("trait", "create", trait)
    large, small = a_provider(cli, f"{name}=8"), a_provider(cli, f"{name}=2")
    cli.do("trait", "add", large, trait)
    uuids = {each: cli.ask("provider", "show", each)["uuid"] for each in (large, small)}

    def found(*words: str) -> set[str]:
        answer = cli.ask("candidates", *words)
        return {uuid for each in answer["candidates"] for uuid in each["allocations"]}

    assert found(f"{name}=2") == set(uuids.values())
    assert found(f"{name}:4") == {uuids[large]}
    for option in ("--required", "--root-required"):
        assert found(f"{name}=1", option, trait) == {uuids[large]}
    assert found(f"{name}=1", "--forbidden", trait) == {uuids[small]}
    assert found(f"{name}=1", "--in-tree", small) == {uuids[small]}
    assert len(found(f"{name}=1", "--limit", "1")) == 1
    granular = ("--group", "_A", f"{name}=1", "--required", f"_A:{trait}")
    assert found(*granular) == {uuids[large]}
    table = cli.do("candidates", f"{name}=4")
    assert f"{name}=0/8" in table
    assert "VCPU=1" in cli.fail("candidates", status=2)
    words = ("--group", "_A", f"{name}=1", "--required", "_B:X")
    assert "_B:X" in cli.fail("candidates", *words, status=2)
    assert "CUSTOM_NOBODY" in cli.fail("candidates", "CUSTOM_NOBODY=1")
