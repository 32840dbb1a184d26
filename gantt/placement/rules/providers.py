"""Rules for resource providers: creating, renaming, moving and deleting them."""

from __future__ import annotations

from msgspec import UNSET
from msgspec.structs import replace

from gantt.errors import (
    DuplicateName,
    Invalid,
    NotFound,
    ProviderHasChildren,
    ProviderInUse,
)
from gantt.model import rows as t
from gantt.model.answers import Provider
from gantt.model.commands import CreateProvider, DeleteProvider, UpdateProvider
from gantt.model.rows import LinkRow, ProviderRow
from gantt.placement.rules.draft import Draft
from gantt.state.state import State


def existing(state: State, uuid: str, purpose: str = "") -> ProviderRow:
    """The provider that a command is about. Raises NotFound."""
    provider = state.providers.find(uuid)
    if provider is None:
        raise NotFound(f"No resource provider with uuid {uuid} found{purpose}")
    return provider


def create(draft: Draft, command: CreateProvider) -> Provider:
    """A new provider at generation 0; a root unless a parent is named."""
    return _answer(draft, create_row(draft, command))


def create_row(draft: Draft, command: CreateProvider) -> ProviderRow:
    """Creates a provider; answers with its row."""
    providers = draft.state.providers
    if not command.name:
        raise Invalid(
            f'Unable to create resource provider "", {command.uuid}: '
            "Object action create failed because: name is required"
        )
    key = draft.new_id(t.PROVIDERS)
    root_id, parent_id = key, None
    if command.parent_uuid is not None:
        parent = _parent_at_creation(draft.state, command)
        root_id, parent_id = parent.root_provider_id, parent.id
    if providers.row_of(command.uuid) is not None:
        raise DuplicateName(
            f"Conflicting resource provider uuid: {command.uuid} already exists."
        )
    if providers.row_of_name(command.name) is not None:
        raise DuplicateName(
            f"Conflicting resource provider name: {command.name} already exists."
        )
    row = ProviderRow(
        key, command.uuid, command.name, 0, root_id, parent_id, draft.now, None
    )
    draft.change(t.PROVIDERS, None, row)
    return row


def update(draft: Draft, command: UpdateProvider) -> Provider:
    """A new name, a new place in the forest, or both; the generation stays."""
    row = existing(draft.state, command.uuid)
    if command.parent_uuid is not UNSET:
        row = _move(draft, row, command)
    taken = draft.state.providers.row_of_name(command.name)
    if taken is not None and draft.state.providers.uuids[taken] != command.uuid:
        raise DuplicateName(
            f"Conflicting resource provider {command.name} already exists."
        )
    row = replace(row, name=command.name, updated_at=draft.now)
    draft.put(t.PROVIDERS, row)
    return _answer(draft, row)


def delete(draft: Draft, command: DeleteProvider) -> None:
    """Gone with its inventories and labels; children or allocations forbid it."""
    state = draft.state
    row = existing(state, command.uuid, " for delete")
    number = state.providers.row_by_id[row.id]
    if state.providers.forest.children(number):
        raise ProviderHasChildren(
            f"Unable to delete parent resource provider {command.uuid}: "
            "It has child resource providers."
        )
    if not state.allocations.by_provider.is_empty(number):
        raise ProviderInUse(
            f"Unable to delete resource provider {command.uuid}: "
            "Resource provider has allocations."
        )
    for class_index in state.inventories.classes_of(number):
        place = state.inventories.slot(number, class_index)
        assert place is not None
        inventory = state.get(t.INVENTORIES, int(place[0].id[place[1]]))
        assert inventory is not None
        draft.delete(t.INVENTORIES, inventory)
    for label in state.provider_traits.labels_of(number):
        trait = state.traits.at(label)
        draft.delete(t.PROVIDER_TRAITS, LinkRow(row.id, trait.id, None, None))
    for label in state.provider_aggregates.labels_of(number):
        aggregate = state.aggregates.at(label)
        draft.delete(t.PROVIDER_AGGREGATES, LinkRow(row.id, aggregate.id, None, None))
    draft.delete(t.PROVIDERS, row)


def _parent_at_creation(state: State, command: CreateProvider) -> ProviderRow:
    unable = f'Unable to create resource provider "{command.name}", {command.uuid}: '
    if command.parent_uuid == command.uuid:
        raise Invalid(
            f"{unable}Object action create failed because: parent provider UUID "
            "cannot be same as UUID. Please set parent provider UUID to None if "
            "there is no parent."
        )
    assert command.parent_uuid is not None
    parent = state.providers.find(command.parent_uuid)
    if parent is None:
        raise Invalid(
            f"{unable}Object action create failed because: "
            "parent provider UUID does not exist."
        )
    return parent


def _move(draft: Draft, row: ProviderRow, command: UpdateProvider) -> ProviderRow:
    """Rules in order: the parent exists, moving is permitted, no loop."""
    providers = draft.state.providers
    number = providers.row_by_id[row.id]
    unable = f"Unable to save resource provider {row.uuid}: Object action"
    parent_uuid = command.parent_uuid
    if parent_uuid is None:
        if row.parent_provider_id is None:
            return row
        if not command.may_move:
            raise Invalid(
                f"{unable} update failed because: "
                "un-parenting a provider is not currently allowed."
            )
        return _place_subtree(draft, row, None, row.id)
    assert isinstance(parent_uuid, str)
    parent = providers.find(parent_uuid)
    if parent is None:
        raise Invalid(
            f"{unable} create failed because: parent provider UUID does not exist."
        )
    if parent.id == row.parent_provider_id:
        return row
    if row.parent_provider_id is not None and not command.may_move:
        raise Invalid(
            f"{unable} update failed because: "
            "re-parenting a provider is not currently allowed."
        )
    if providers.row_by_id[parent.id] in providers.forest.subtree(number):
        raise Invalid(
            f"{unable} update failed because: "
            "creating loop in the provider tree is not allowed."
        )
    return _place_subtree(draft, row, parent.id, parent.root_provider_id)


def _place_subtree(
    draft: Draft, row: ProviderRow, parent_id: int | None, root_id: int
) -> ProviderRow:
    providers = draft.state.providers
    for number in providers.forest.subtree(providers.row_by_id[row.id]):
        member = providers.at(number)
        if member.id != row.id:
            draft.put(
                t.PROVIDERS,
                replace(member, root_provider_id=root_id, updated_at=draft.now),
            )
    return replace(row, parent_provider_id=parent_id, root_provider_id=root_id)


def _answer(draft: Draft, row: ProviderRow) -> Provider:
    def uuid_of(key: int) -> str:
        provider = draft.get(t.PROVIDERS, key)
        assert isinstance(provider, ProviderRow)
        return provider.uuid

    parent = row.parent_provider_id
    return Provider(
        row.uuid,
        row.name,
        row.generation,
        None if parent is None else uuid_of(parent),
        uuid_of(row.root_provider_id),
        row.updated_at if row.updated_at is not None else row.created_at,
    )
