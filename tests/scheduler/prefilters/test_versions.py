"""Every pre-filter beside computes of every release: hosts that Nova did not make are
chosen whatever the version, with and without books."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from typing import Any
from uuid import uuid4

import pytest

import gantt
from gantt.engine.gantt import Gantt
from gantt.engine.options import EngineOptions
from gantt.errors import NotFound, NoValidHost
from gantt.model.commands import Inventory
from gantt.model.fleet import FleetStatement, HostReport
from gantt.model.hosts import HostAggregate, HostStats, Service
from gantt.model.spec import (
    Flavor,
    Image,
    RequestedNetwork,
    RequestSpec,
    ScheduleRequest,
)
from gantt.scheduler.options import SchedulerOptions
from gantt.scheduler.request import prefilters
from gantt.scheduler.request.prefilters.context import PrefilterContext
from gantt.state.fleet_columns import Fleet

SEGMENT = "5b1e6c52-3f6b-4d39-9d6e-1f3f0b8a0c11"
TPM = frozenset({"COMPUTE_SECURITY_TPM_2_0", "COMPUTE_SECURITY_TPM_TIS"})
REMOTE = {"count": 1, "request_id": "r", "spec": [{"remote_managed": "true"}]}


def spec(
    extra_specs: dict[str, str] | None = None, image: Image | None = None, **more: Any
) -> RequestSpec:
    flavor = Flavor(vcpus=1, memory_mb=64, extra_specs=extra_specs or {})
    return RequestSpec(flavor=flavor, image=image, project_id="p1", **more)


REQUESTS: dict[str, tuple[RequestSpec, dict[str, Any]]] = {
    "tenant_aggregates": (spec(), {"limit_tenants_to_placement_aggregate": True}),
    "availability_zone": (spec(availability_zone="z1"), {}),
    "image_type": (
        spec(image=Image(disk_format="qcow2")),
        {"query_placement_for_image_type_support": True},
    ),
    "compute_status": (spec(), {}),
    "isolated_aggregates": (spec(), {"enable_isolated_aggregate_filtering": True}),
    "image_metadata": (
        spec(image=Image(properties={"hw_disk_bus": "virtio"})),
        {"image_metadata_prefilter": True},
    ),
    "accelerators": (spec({"accel:device_profile": "gpu"}), {}),
    "packed_virtqueue": (spec({"hw:virtio_packed_ring": "true"}), {}),
    "routed_networks": (
        spec(requested_networks=(RequestedNetwork(segments=frozenset({SEGMENT})),)),
        {"query_placement_for_routed_network_aggregates": True},
    ),
    "remote_managed_ports": (spec(pci_requests=(REMOTE,)), {}),
    "ephemeral_encryption": (spec({"hw:ephemeral_encryption": "true"}), {}),
    "sound_device": (spec({"hw:sound_model": "virtio"}), {}),
    "tpm_secret": (spec({"hw:tpm_version": "2.0"}), {}),
    "nova_providers": (spec(), {}),
}


def test_every_pre_filter_has_a_request() -> None:
    assert list(REQUESTS) == [one.__name__ for one in prefilters.PRE_FILTERS]


def implied(asked: RequestSpec, options: SchedulerOptions) -> list[str]:
    """The traits of a host that can take it."""
    if options.query_placement_for_routed_network_aggregates:
        return []
    found = prefilters.apply(asked, PrefilterContext(Fleet(), options, bool))
    of_flavor = TPM if "hw:tpm_version" in asked.flavor.extra_specs else frozenset()
    return sorted(found.request_level_params.root_required | of_flavor)


def stats(**more: Any) -> HostStats:
    return HostStats(
        vcpus=8, memory_mb=8192, local_gb=100, vcpus_used=0, memory_mb_used=0, **more
    )


def add_of_nova(
    books: Gantt, traits: list[str], version: int, *, has_books: bool
) -> None:
    """A host that a feed states; its compute writes the books, and marks its provider
    from 73 on."""
    uuid = str(uuid4())
    if has_books:
        books.create_provider("nova1", uuid=uuid)
        total = {"VCPU": Inventory(8), "MEMORY_MB": Inventory(8192)}
        books.set_inventories(uuid, total)
        books.set_traits(uuid, [*traits, *(["OWNER_NOVA"] if version >= 73 else [])])
    books.set_fleet(
        FleetStatement(
            services=(
                Service("nova1", disabled=False, forced_down=False, version=version),
            ),
            hosts=(HostReport("nova1", "nova1", stats(uuid=uuid)),),
        )
    )


@contextmanager
def fleet(
    name: str, version: int, *, has_books: bool, **options: Any
) -> Iterator[Gantt]:
    """A host of Nova and one that reports by itself, in all that a request may need."""
    asked, more = REQUESTS[name]
    chosen = SchedulerOptions(enabled_filters=(), **more, **options)
    books = gantt.connect("memory://", options=EngineOptions(scheduler=chosen))
    assert isinstance(books, Gantt)
    with closing(books):
        traits = implied(asked, chosen)
        add_of_nova(books, traits, version, has_books=has_books)
        books.update_host("own1", "own1", stats(traits=tuple(traits)))
        here = frozenset({"nova1", "own1"})
        said = {"filter_tenant_id": "p1", "availability_zone": "z1"}
        own, common = str(uuid4()), str(uuid4())
        books.set_host_aggregates([HostAggregate(own, "a", 1, here, said)])
        provider = books.create_provider("segment", uuid=SEGMENT)
        for uuid in (provider.uuid, *(one.provider_uuid for one in books.list_hosts())):
            with suppress(NotFound):  # hosts name theirs, whether it is there or not
                books.set_aggregates(str(uuid), [own, common])
        yield books


def chosen(books: Gantt, asked: RequestSpec) -> set[str]:
    """All hosts that may take the instance."""
    wanted = ScheduleRequest(
        asked, (str(uuid4()),), return_alternates=True, dry_run=True
    )
    try:
        (found,) = books.schedule(wanted)
    except NoValidHost:
        return set()
    return {one.service_host for one in found}


@pytest.mark.parametrize("version", range(66, 76))
@pytest.mark.parametrize("name", REQUESTS)
def test_with_books(name: str, version: int) -> None:
    asked, _ = REQUESTS[name]
    with fleet(name, version, has_books=True) as books:
        assert chosen(books, asked) == {"nova1", "own1"}


@pytest.mark.parametrize("version", range(66, 76))
@pytest.mark.parametrize("name", REQUESTS)
def test_without_books(name: str, version: int) -> None:
    """A host without a provider has no traits: what needs one may not go there."""
    asked, more = REQUESTS[name]
    needs_traits = bool(implied(asked, SchedulerOptions(**more)))
    with fleet(name, version, has_books=False, use_placement="never") as books:
        expected = {"own1"} if needs_traits else {"nova1", "own1"}
        assert chosen(books, asked) == expected


@pytest.mark.parametrize("version", range(66, 76))
def test_before_the_switch_to_the_books(version: int) -> None:
    """``auto``, with a host that has no inventory yet: reports decide."""
    with fleet("nova_providers", version, has_books=False) as books:
        assert chosen(books, spec()) == {"nova1", "own1"}
