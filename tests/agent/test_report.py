"""A machine is reported as a host that is linked to its provider."""

from __future__ import annotations

from msgspec.structs import replace

from gantt.agent.collectors.contract import Part
from gantt.agent.register import register
from gantt.agent.report import report
from gantt.engine.gantt import Gantt
from gantt.model.answers import Provider
from gantt.model.commands import ConsumerAllocations
from gantt.model.hosts import HostStats, HostView
from gantt.model.spec import Flavor, RequestSpec, ScheduleRequest
from tests.agent.parts import part

UUID = "0e3cf1f0-96ab-5f9d-9f6c-6c7d2d6e2f11"
INSTANCE = "7d1f2f0a-0c1b-4b55-8a55-6b1d7c2f9a01"
BY_HAND = "7d1f2f0a-0c1b-4b55-8a55-6b1d7c2f9a02"
SIZES = {"VCPU": 2, "MEMORY_MB": 4096, "DISK_GB": 100}
PART = part(SIZES)
SMALL = RequestSpec(Flavor(vcpus=1, memory_mb=512, root_gb=1))


def start(books: Gantt, part: Part = PART) -> tuple[Provider, HostView | None, str]:
    """What a start of the service does for its machine."""
    provider = register(books, part, name="node-1", uuid=UUID).provider
    return (provider, *report(books, part, provider))


def instances_on(books: Gantt) -> int:
    return books.capacity(SMALL).total


def test_provider_is_linked_to_the_host(books: Gantt) -> None:
    provider, host, refusal = start(books)
    assert refusal == ""
    assert host is not None
    assert (host.host, host.node, host.provider_uuid) == ("node-1", "node-1", UUID)
    assert [each.uuid for each in books.list_providers()] == [provider.uuid]
    assert books.get_inventories(UUID).inventories == PART.inventories


def test_instance_fits_beside_manual_allocations(books: Gantt) -> None:
    start(books)
    amounts = {UUID: {"VCPU": 1, "MEMORY_MB": 512}}
    books.set_allocations([ConsumerAllocations(BY_HAND, amounts, "p", "u")])
    request = ScheduleRequest(SMALL, (INSTANCE,))
    assert books.decide(replace(request, dry_run=True)).failure is None
    ((chosen,),) = books.schedule(request)
    assert chosen.service_host == "node-1"
    assert books.get_usages(UUID).usages == {
        "VCPU": 2,
        "MEMORY_MB": 1024,
        "DISK_GB": 1,
    }
    assert instances_on(books) == 0


def test_repeated_report_changes_nothing(books: Gantt) -> None:
    start(books)
    books.schedule(ScheduleRequest(SMALL, (INSTANCE,)))
    before = books.list_hosts(), books.get_inventories(UUID)
    start(books)
    assert (books.list_hosts(), books.get_inventories(UUID)) == before


def test_resize_is_reported_and_usage_kept(books: Gantt) -> None:
    start(books)
    books.update_host("node-1", "node-1", HostStats(memory_mb_used=1000, vcpus_used=1))
    larger = part({**SIZES, "MEMORY_MB": 8192})
    _, host, _ = start(books, larger)
    assert host is not None
    assert host.stats["memory_mb"] == 8192
    assert host.stats["free_ram_mb"] == 7192
    assert host.stats["vcpus_used"] == 1
    assert books.get_inventories(UUID).inventories == larger.inventories


def test_reporting_node_is_kept(books: Gantt) -> None:
    books.create_provider("node-1", uuid=UUID)
    books.update_host("node-1", "hypervisor", HostStats(uuid=UUID, vcpus=2))
    _, host, refusal = start(books)
    assert refusal == ""
    assert host is not None
    assert host.node == "hypervisor"
    assert len(books.list_hosts()) == 1


def test_provider_of_another_host_is_not_taken(books: Gantt) -> None:
    books.create_provider("node-1", uuid=UUID)
    books.update_host("other", "other", HostStats(uuid=UUID, vcpus=2))
    _, host, refusal = start(books)
    assert host is None
    assert "belongs to host other" in refusal
    assert [view.host for view in books.list_hosts()] == ["other"]
