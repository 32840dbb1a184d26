"""A machine is registered once, and its provider kept up to date."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import cast

import pytest
from msgspec.structs import replace

import gantt
from gantt.agent.collectors.contract import Part
from gantt.agent.machine import default_collectors, describe
from gantt.agent.register import ATTEMPTS, Registration, register
from gantt.errors import ConcurrentUpdate, DuplicateName
from gantt.model.answers import Name, Provider, ProviderInventories, ProviderTraits
from gantt.model.commands import Inventory
from gantt.model.protocol import GanttProtocol
from gantt.model.requests import ProviderQuery, TraitQuery
from tests.agent.parts import part

UUID = "0e3cf1f0-96ab-5f9d-9f6c-6c7d2d6e2f11"
OTHER = "9d3d8a9e-0c0b-4d5e-8a1f-0f3f6a0d7c22"
KNOWN_TRAITS = {"HW_CPU_X86_AVX", "HW_CPU_X86_AVX2", "CUSTOM_RACK_7"}
SIZES = {"VCPU": 8, "MEMORY_MB": 4096}
PART = part(SIZES, {"HW_CPU_X86_AVX", "HW_CPU_X86_AVX2"})


class Books:
    """The part of the protocol that registering uses; counts writes."""

    def __init__(self, *providers: Provider) -> None:
        self.providers = {provider.uuid: provider for provider in providers}
        self.inventories: dict[str, Inventory] = {}
        self.traits: tuple[str, ...] = ()
        self.writes: list[str] = []
        self.disturbances = 0

    def list_providers(self, query: ProviderQuery) -> tuple[Provider, ...]:
        return tuple(p for p in self.providers.values() if p.name == query.name)

    def get_provider(self, uuid: str) -> Provider:
        return self.providers[uuid]

    def create_provider(self, name: str, *, uuid: str) -> Provider:
        if uuid in self.providers:
            raise DuplicateName(uuid)
        self.writes.append("create")
        self.providers[uuid] = Provider(uuid, name, 0, None, uuid)
        return self.providers[uuid]

    def update_provider(self, uuid: str, *, name: str) -> Provider:
        self.writes.append("rename")
        self.providers[uuid] = replace(self.providers[uuid], name=name)
        return self.providers[uuid]

    def get_inventories(self, uuid: str) -> ProviderInventories:
        return ProviderInventories(self.providers[uuid].generation, self.inventories)

    def set_inventories(
        self, uuid: str, inventories: Mapping[str, Inventory], *, generation: int
    ) -> None:
        self._bump(uuid, generation)
        self.inventories = dict(inventories)
        self.writes.append("inventories")

    def get_traits(self, uuid: str) -> ProviderTraits:
        return ProviderTraits(self.providers[uuid].generation, self.traits)

    def set_traits(self, uuid: str, traits: Iterable[str], *, generation: int) -> None:
        self._bump(uuid, generation)
        self.traits = tuple(traits)
        self.writes.append("traits")

    def list_traits(self, query: TraitQuery) -> tuple[Name, ...]:
        return tuple(Name(n) for n in sorted((query.names or set()) & KNOWN_TRAITS))

    def _bump(self, uuid: str, generation: int) -> None:
        if self.disturbances:
            self.disturbances -= 1
            self._touch(uuid)
        if generation != self.providers[uuid].generation:
            raise ConcurrentUpdate("resource provider generation conflict")
        self._touch(uuid)

    def _touch(self, uuid: str) -> None:
        provider = self.providers[uuid]
        generation = provider.generation + 1
        self.providers[uuid] = replace(provider, generation=generation)


def enter(books: Books, part: Part = PART) -> Registration:
    return register(cast(GanttProtocol, books), part, name="node-1", uuid=UUID)


def test_new_machine_is_registered() -> None:
    books = Books()
    answer = enter(books)
    assert answer == Registration(Provider(UUID, "node-1", 2, None, UUID), True)
    assert books.inventories == PART.inventories
    assert set(books.traits) == PART.traits


def test_second_registration_writes_nothing() -> None:
    books = Books()
    first = enter(books)
    books.writes.clear()
    assert enter(books) == Registration(first.provider, False)
    assert books.writes == []


def test_existing_provider_keeps_its_uuid() -> None:
    books = Books(Provider(OTHER, "node-1", 4, None, OTHER))
    assert enter(books).provider.uuid == OTHER
    assert "create" not in books.writes


def test_renamed_machine_keeps_its_provider() -> None:
    books = Books(Provider(UUID, "old-name", 4, None, UUID))
    answer = enter(books)
    assert (answer.provider.uuid, answer.provider.name) == (UUID, "node-1")


def test_resize_keeps_operator_settings() -> None:
    books = Books()
    enter(books)
    chosen = replace(
        books.inventories["VCPU"], reserved=2, allocation_ratio=4.0, step_size=2
    )
    extra = Inventory(total=3)
    books.inventories |= {"VCPU": chosen, "CUSTOM_LICENSE": extra}
    enter(books, part({"VCPU": 16}, PART.traits))
    assert books.inventories["VCPU"] == replace(chosen, total=16, max_unit=16)
    assert books.inventories["CUSTOM_LICENSE"] == extra
    assert books.inventories["MEMORY_MB"] == PART.inventories["MEMORY_MB"]


def test_resize_adjusts_max_unit_and_reserved() -> None:
    books = Books()
    enter(books)
    books.inventories["VCPU"] = Inventory(total=8, max_unit=3, reserved=6)
    enter(books, part({"VCPU": 4}))
    assert books.inventories["VCPU"] == Inventory(total=4, max_unit=3, reserved=4)


def test_only_own_traits_are_removed() -> None:
    books = Books()
    enter(books)
    books.traits = (*books.traits, "CUSTOM_RACK_7")
    enter(books, part(SIZES, {"HW_CPU_X86_AVX"}))
    assert set(books.traits) == {"HW_CPU_X86_AVX", "CUSTOM_RACK_7"}


def test_unknown_traits_are_left_out() -> None:
    books = Books()
    enter(books, part({}, {"HW_CPU_X86_AVX", "HW_CPU_X86_TOO_NEW"}))
    assert books.traits == ("HW_CPU_X86_AVX",)


def test_concurrent_update_is_retried() -> None:
    books = Books()
    books.disturbances = ATTEMPTS - 1
    enter(books)
    assert books.inventories == PART.inventories


def test_retries_are_limited() -> None:
    books = Books()
    books.disturbances = 10 * ATTEMPTS
    with pytest.raises(ConcurrentUpdate):
        enter(books)


def test_this_machine_registers_once() -> None:
    books = gantt.connect("memory://")
    try:
        found = describe(default_collectors())
        first = register(books, found, name="node-1", uuid=UUID)
        second = register(books, found, name="node-1", uuid=UUID)
        assert books.get_inventories(UUID).inventories == found.inventories
        assert set(books.get_traits(UUID).traits) == found.traits
    finally:
        books.close()
    assert (first.has_written, second.has_written) == (True, False)
    assert first.provider.generation == second.provider.generation
