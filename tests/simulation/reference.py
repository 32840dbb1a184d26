"""The books as a naive model: plain dicts, sums recomputed, every step a copy.

Written from the wire contract and not from the rules, so that both can be wrong only
independently. Each refusal is the error class of the contract's status; checks are in
the contract's order.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable

from msgspec import UNSET

from gantt import errors
from gantt.model import commands as c
from gantt.model.commands import Inventory
from gantt.model.names import is_custom_name

Key = tuple[str, str]


class _Books:
    """Providers and inventories."""

    def __init__(self, fold: Callable[[str], str]) -> None:
        self.fold = fold
        self.names: dict[str, str] = {}
        self.generations: dict[str, int] = {}
        self.parents: dict[str, str | None] = {}
        self.inventories: dict[Key, Inventory] = {}
        self.traits: dict[str, set[str]] = {}
        self.aggregates: dict[str, set[str]] = {}
        self.known_classes: list[str] = []
        self.known_traits: set[str] = set()
        # consumer -> (project, user, generation, type)
        self.consumers: dict[str, tuple[str, str, int, str | None]] = {}
        # (consumer, provider, class) -> amount
        self.allocations: dict[tuple[str, str, str], int] = {}

    @staticmethod
    def method_of(command: c.Command[object]) -> str:
        """The name of the method that carries out ``command``."""
        return re.sub("(?=[A-Z])", "_", type(command).__name__).lower()

    def execute(self, command: c.Command[object]) -> None:
        before = copy.deepcopy({k: v for k, v in vars(self).items() if k != "fold"})
        try:
            getattr(self, self.method_of(command))(command)
        except errors.GanttError:
            vars(self).update(before)
            raise

    # -- what stands in the books -------------------------------------------------

    def root(self, uuid: str) -> str:
        parent = self.parents[uuid]
        return uuid if parent is None else self.root(parent)

    def used(self, uuid: str, rc: str) -> int:
        return sum(
            amount
            for (_, provider, name), amount in self.allocations.items()
            if (provider, name) == (uuid, rc)
        )

    def classes_of(self, uuid: str) -> set[str]:
        return {rc for provider, rc in self.inventories if provider == uuid}

    def consumer_generation(self, consumer: str) -> int | None:
        return self.consumers[consumer][2] if consumer in self.consumers else None

    def shares(self, consumer: str) -> dict[str, dict[str, int]]:
        found: dict[str, dict[str, int]] = {}
        for (owner, provider, rc), amount in self.allocations.items():
            if owner == consumer:
                found.setdefault(provider, {})[rc] = amount
        return found

    # -- providers ----------------------------------------------------------------

    def _exists(self, uuid: str) -> None:
        if uuid not in self.names:
            raise errors.NotFound

    def _bump(self, uuid: str) -> None:
        self.generations[uuid] += 1

    def _create_provider(self, command: c.CreateProvider) -> None:
        if command.parent_uuid is not None and (
            command.parent_uuid == command.uuid or command.parent_uuid not in self.names
        ):
            raise errors.Invalid
        if command.uuid in self.names or self._is_taken(command.name):
            raise errors.DuplicateName
        self.names[command.uuid] = command.name
        self.generations[command.uuid] = 0
        self.parents[command.uuid] = command.parent_uuid
        self.traits[command.uuid] = set()
        self.aggregates[command.uuid] = set()

    def _is_taken(self, name: str, by_other_than: str = "") -> bool:
        return any(
            self.fold(other) == self.fold(name) and uuid != by_other_than
            for uuid, other in self.names.items()
        )

    def _update_provider(self, command: c.UpdateProvider) -> None:
        self._exists(command.uuid)
        old, new = self.parents[command.uuid], command.parent_uuid
        if new is not UNSET and new != old:
            if new is not None and new not in self.names:
                raise errors.Invalid
            if old is not None and not command.may_move:
                raise errors.Invalid
            ancestor = new
            while ancestor is not None:
                if ancestor == command.uuid:
                    raise errors.Invalid
                ancestor = self.parents[ancestor]
            self.parents[command.uuid] = new
        if self._is_taken(command.name, command.uuid):
            raise errors.DuplicateName
        self.names[command.uuid] = command.name

    def _delete_provider(self, command: c.DeleteProvider) -> None:
        uuid = command.uuid
        self._exists(uuid)
        if uuid in self.parents.values():
            raise errors.ProviderHasChildren
        if any(provider == uuid for _, provider, _ in self.allocations):
            raise errors.ProviderInUse
        for rc in self.classes_of(uuid):
            del self.inventories[uuid, rc]
        del self.names[uuid], self.generations[uuid], self.parents[uuid]
        del self.traits[uuid], self.aggregates[uuid]

    # -- inventories --------------------------------------------------------------

    def _class_exists(self, rc: str) -> None:
        if rc not in self.known_classes:
            raise errors.UnknownResourceClass

    def _is_current(self, uuid: str, generation: int | None) -> None:
        if generation is not None and generation != self.generations[uuid]:
            raise errors.ConcurrentUpdate

    @staticmethod
    def _is_sound(inventory: Inventory, allow_full_reserve: bool) -> None:
        free = inventory.total - inventory.reserved
        capacity = int(free * inventory.allocation_ratio)
        if capacity < 0 or (capacity == 0 and not allow_full_reserve):
            raise errors.BadInventory

    def _replace(self, uuid: str, wanted: dict[str, Inventory]) -> None:
        for rc in wanted:
            self._class_exists(rc)
        for rc in self.classes_of(uuid) - set(wanted):
            if self.used(uuid, rc):
                raise errors.InventoryInUse
            del self.inventories[uuid, rc]
        for rc, inventory in wanted.items():
            self.inventories[uuid, rc] = inventory

    def _set_inventories(self, command: c.SetInventories) -> None:
        self._exists(command.provider_uuid)
        self._is_current(command.provider_uuid, command.generation)
        for inventory in command.inventories.values():
            self._is_sound(inventory, command.allow_full_reserve)
        self._replace(command.provider_uuid, command.inventories)
        self._bump(command.provider_uuid)

    def _add_inventory(self, command: c.AddInventory) -> None:
        uuid, rc = command.provider_uuid, command.resource_class
        self._exists(uuid)
        self._is_sound(command.inventory, command.allow_full_reserve)
        self._class_exists(rc)
        if (uuid, rc) in self.inventories:
            raise errors.ConcurrentUpdate
        self.inventories[uuid, rc] = command.inventory
        self._bump(uuid)

    def _set_inventory(self, command: c.SetInventory) -> None:
        uuid, rc = command.provider_uuid, command.resource_class
        self._exists(uuid)
        self._is_current(uuid, command.generation)
        self._is_sound(command.inventory, command.allow_full_reserve)
        self._class_exists(rc)
        if (uuid, rc) not in self.inventories:
            raise errors.Invalid
        self.inventories[uuid, rc] = command.inventory
        self._bump(uuid)

    def _put_inventory(self, command: c.PutInventory) -> None:
        uuid, rc = command.provider_uuid, command.resource_class
        self._exists(uuid)
        self._is_sound(command.inventory, command.allow_full_reserve)
        self._class_exists(rc)
        self.inventories[uuid, rc] = command.inventory
        self._bump(uuid)

    def _delete_inventory(self, command: c.DeleteInventory) -> None:
        uuid, rc = command.provider_uuid, command.resource_class
        self._exists(uuid)
        if (uuid, rc) not in self.inventories:
            raise errors.NoInventory
        if self.used(uuid, rc):
            raise errors.InventoryInUse
        del self.inventories[uuid, rc]
        self._bump(uuid)

    def _delete_inventories(self, command: c.DeleteInventories) -> None:
        self._exists(command.provider_uuid)
        self._replace(command.provider_uuid, {})
        self._bump(command.provider_uuid)


class _Labels(_Books):
    """Labels and names."""

    def _set_aggregates(self, command: c.SetAggregates) -> None:
        self._exists(command.provider_uuid)
        self._is_current(command.provider_uuid, command.generation)
        self.aggregates[command.provider_uuid] = set(command.aggregates)
        if command.bump:
            self._bump(command.provider_uuid)

    def _set_traits(self, command: c.SetTraits) -> None:
        uuid = command.provider_uuid
        self._exists(uuid)
        self._is_current(uuid, command.generation)
        if not set(command.traits) <= self.known_traits:
            raise errors.UnknownName
        if self.traits[uuid] != set(command.traits):
            self.traits[uuid] = set(command.traits)
            self._bump(uuid)

    def _delete_traits(self, command: c.DeleteTraits) -> None:
        self._exists(command.provider_uuid)
        if self.traits[command.provider_uuid]:
            self.traits[command.provider_uuid] = set()
            self._bump(command.provider_uuid)

    def _create_trait(self, command: c.CreateTrait) -> None:
        if not is_custom_name(command.name):
            raise errors.Invalid
        self.known_traits.add(command.name)

    def _delete_trait(self, command: c.DeleteTrait) -> None:
        folded = self.fold(command.name)
        known = next((one for one in self.known_traits if self.fold(one) == folded), "")
        if not known:
            raise errors.NotFound
        if not command.name.startswith("CUSTOM_"):
            raise errors.Invalid
        if any(known in traits for traits in self.traits.values()):
            raise errors.Conflict
        self.known_traits.discard(known)

    def _create_resource_class(self, command: c.CreateResourceClass) -> None:
        if not is_custom_name(command.name):
            raise errors.Invalid
        if command.name not in self.known_classes:
            self.known_classes.append(command.name)
        elif command.must_be_new:
            raise errors.Conflict

    def _rename_resource_class(self, command: c.RenameResourceClass) -> None:
        old, new = command.name, command.new_name
        if old not in self.known_classes:
            raise errors.NotFound
        if not old.startswith("CUSTOM_") or not is_custom_name(new):
            raise errors.Invalid
        if new != old and new in self.known_classes:
            raise errors.Conflict
        self.known_classes[self.known_classes.index(old)] = new

        def renamed(rc: str) -> str:
            return new if rc == old else rc

        self.inventories = {
            (uuid, renamed(rc)): inventory
            for (uuid, rc), inventory in self.inventories.items()
        }
        self.allocations = {
            (consumer, uuid, renamed(rc)): amount
            for (consumer, uuid, rc), amount in self.allocations.items()
        }

    def _delete_resource_class(self, command: c.DeleteResourceClass) -> None:
        if command.name not in self.known_classes:
            raise errors.NotFound
        if not command.name.startswith("CUSTOM_"):
            raise errors.Invalid
        if any(rc == command.name for _, rc in self.inventories):
            raise errors.Conflict
        self.known_classes.remove(command.name)

    def _sync_names(self, command: c.SyncNames) -> None:
        custom = [rc for rc in self.known_classes if rc.startswith("CUSTOM_")]
        standard = [rc for rc in self.known_classes if rc not in custom]
        new = [rc for rc in command.resource_classes if rc not in standard]
        self.known_classes = [*standard, *new, *custom]
        self.known_traits |= set(command.traits)


class Reference(_Labels):
    """All of it: ``execute`` carries out one command whole, or changes nothing."""

    def _set_allocations(self, command: c.SetAllocations) -> None:
        self._allocate(command.consumers, self.inventories)

    def _allocate(
        self,
        consumers: tuple[c.ConsumerAllocations, ...],
        inventories: dict[Key, Inventory],
    ) -> None:
        if len({one.consumer_uuid for one in consumers}) < len(consumers):
            raise errors.Invalid
        for one in consumers:
            self._check_consumer(one)
        wanted = [
            (one.consumer_uuid, uuid, rc, amount)
            for one in consumers
            for uuid, resources in one.allocations.items()
            for rc, amount in resources.items()
        ]
        if any(uuid not in self.names for one in consumers for uuid in one.allocations):
            raise errors.UnknownProvider
        for _, _, rc, _ in wanted:
            self._class_exists(rc)
        before = {(u, rc): self.used(u, rc) for _, u, rc, _ in wanted}
        emptied = self._drop_old(consumers)
        for consumer, uuid, rc, amount in wanted:
            if (uuid, rc) not in inventories:
                raise errors.DoesNotFit
            self._check_fit(
                inventories[uuid, rc], amount, self.used(uuid, rc), before[uuid, rc]
            )
            self.allocations[consumer, uuid, rc] = amount
        for uuid in {uuid for _, uuid, _, _ in wanted} | emptied:
            self._bump(uuid)
        for one in consumers:
            self._remember(one)

    def _check_consumer(self, one: c.ConsumerAllocations) -> None:
        expected = self.consumer_generation(one.consumer_uuid)
        if one.generation is not UNSET and one.generation != expected:
            raise errors.ConsumerMoved

    def _drop_old(self, consumers: tuple[c.ConsumerAllocations, ...]) -> set[str]:
        """The providers of consumers that are emptied."""
        emptied = set()
        for one in consumers:
            for uuid, resources in self.shares(one.consumer_uuid).items():
                if not any(one.allocations.values()):
                    emptied.add(uuid)
                for rc in resources:
                    del self.allocations[one.consumer_uuid, uuid, rc]
        return emptied

    @staticmethod
    def _check_fit(inventory: Inventory, amount: int, used: int, before: int) -> None:
        if not inventory.min_unit <= amount <= inventory.max_unit:
            raise errors.DoesNotFit
        if amount % inventory.step_size:
            raise errors.DoesNotFit
        free = inventory.total - inventory.reserved
        if used + amount > free * inventory.allocation_ratio and used + amount > before:
            raise errors.DoesNotFit

    def _remember(self, one: c.ConsumerAllocations) -> None:
        known = self.consumers.get(one.consumer_uuid)
        if not any(one.allocations.values()):
            self.consumers.pop(one.consumer_uuid, None)
            return
        kind = known[3] if known else None
        if one.consumer_type is not UNSET:
            kind = str(one.consumer_type)
        generation = (known[2] if known else 0) + 1
        row = (one.project_id, one.user_id, generation, kind)
        self.consumers[one.consumer_uuid] = row

    def _delete_allocations(self, command: c.DeleteAllocations) -> None:
        shares = self.shares(command.consumer_uuid)
        if not shares:
            raise errors.NotFound
        for uuid, resources in shares.items():
            for rc in resources:
                del self.allocations[command.consumer_uuid, uuid, rc]
        del self.consumers[command.consumer_uuid]

    def _reshape(self, command: c.Reshape) -> None:
        for asked in command.providers:
            if asked.provider_uuid not in self.names:
                raise errors.UnknownReshaped
            self._is_current(asked.provider_uuid, asked.generation)
        for one in command.consumers:
            self._check_consumer(one)
        interim = dict(self.inventories)
        for asked in command.providers:
            for rc, inventory in asked.inventories.items():
                self._class_exists(rc)
                interim[asked.provider_uuid, rc] = inventory
        self._allocate(command.consumers, interim)
        for asked in command.providers:
            self._replace(asked.provider_uuid, asked.inventories)
            self._bump(asked.provider_uuid)
            if asked.inventories:
                self._bump(asked.provider_uuid)
