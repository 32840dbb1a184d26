"""Rules for the vocabulary: traits and resource classes, standard and custom."""

from __future__ import annotations

from msgspec.structs import replace

from gantt.errors import Conflict, Invalid, NotFound
from gantt.model import rows as t
from gantt.model.answers import Created
from gantt.model.commands import (
    CreateResourceClass,
    CreateTrait,
    DeleteResourceClass,
    DeleteTrait,
    RenameResourceClass,
    SyncNames,
)
from gantt.model.names import FIRST_CUSTOM_CLASS_ID, is_custom_name
from gantt.model.rows import NameRow
from gantt.placement.rules.draft import Draft
from gantt.state.state import State

_NAME_RULE = (
    "no longer than 255 characters, start with the prefix "
    '"CUSTOM_" and use following characters: "A"-"Z", "0"-"9" and "_"'
)


def create_trait(draft: Draft, command: CreateTrait) -> Created:
    """A custom trait; existing is fine."""
    if not is_custom_name(command.name):
        raise Invalid(f"The trait is invalid. A valid trait must be {_NAME_RULE}")
    known = draft.state.traits.find(command.name)
    if known is not None:
        draft.rely(t.TRAITS, known.id)
        return Created(command.name, False, known.created_at)
    key = draft.new_id(t.TRAITS)
    draft.change(t.TRAITS, None, NameRow(key, command.name, draft.now, None))
    return Created(command.name, True, draft.now)


def delete_trait(draft: Draft, command: DeleteTrait) -> None:
    """Only a custom one that no provider bears."""
    known = draft.state.traits.find(command.name)
    if known is None:
        raise NotFound(f"No such trait(s): {command.name}.")
    if not command.name.startswith("CUSTOM_"):
        raise Invalid(f"Cannot delete standard trait {command.name}.")
    index = draft.state.traits.index_by_id[known.id]
    if draft.state.provider_traits.is_used(index):
        raise Conflict(f"The trait {command.name} is in use by a resource provider.")
    draft.delete(t.TRAITS, known)


def create_class(draft: Draft, command: CreateResourceClass) -> Created:
    """A custom class, numbered from 10,000 so that standard ids never clash."""
    if not is_custom_name(command.name):
        raise Invalid(
            f"The resource class {command.name} is invalid. A valid resource class "
            f"must be {_NAME_RULE}"
        )
    known = draft.state.classes.find(command.name)
    if known is not None:
        if command.must_be_new:
            raise Conflict(f"Conflicting resource class already exists: {command.name}")
        draft.rely(t.RESOURCE_CLASSES, known.id)
        return Created(command.name, False, known.created_at)
    key = max(draft.new_id(t.RESOURCE_CLASSES), FIRST_CUSTOM_CLASS_ID)
    draft.change(t.RESOURCE_CLASSES, None, NameRow(key, command.name, draft.now, None))
    return Created(command.name, True, draft.now)


def rename_class(draft: Draft, command: RenameResourceClass) -> None:
    """Only a custom one, and only to a custom name that is free."""
    known = _existing_class(draft.state, command.name)
    if not is_custom_name(command.name):
        raise Invalid(f"Cannot update standard resource class {command.name}")
    if not is_custom_name(command.new_name):
        raise Invalid(
            f"The resource class {command.new_name} is invalid. A valid resource "
            f"class must be {_NAME_RULE}"
        )
    taken = draft.state.classes.find(command.new_name)
    if taken is not None and taken.id != known.id:
        raise Conflict(f"Resource class already exists: {command.new_name}")
    draft.put(
        t.RESOURCE_CLASSES,
        replace(known, name=command.new_name, updated_at=draft.now),
    )


def delete_class(draft: Draft, command: DeleteResourceClass) -> None:
    """Only a custom one that no inventory is of."""
    known = _existing_class(draft.state, command.name)
    unable = "Error in delete resource class: Cannot delete"
    if known.id < FIRST_CUSTOM_CLASS_ID:
        raise Invalid(f"{unable} standard resource class {command.name}.")
    table = draft.state.inventories.table(draft.state.classes.index_by_id[known.id])
    if table is not None and table.count:
        raise Conflict(
            f"{unable} resource class {command.name}. Class is in use in inventory."
        )
    draft.delete(t.RESOURCE_CLASSES, known)


def sync(draft: Draft, command: SyncNames) -> None:
    """Standard names that are missing come in; a class's position is its id."""
    for key, name in enumerate(command.resource_classes):
        if draft.state.classes.find(name) is None:
            other = draft.state.classes.get(key)
            if other is not None:
                raise Conflict(
                    f"The number {key} of the standard resource class {name} is "
                    f"taken by {other.name}: this database numbers its classes "
                    "differently."
                )
            draft.change(t.RESOURCE_CLASSES, None, NameRow(key, name, draft.now, None))
    for name in dict.fromkeys(command.traits):
        if draft.state.traits.find(name) is None:
            key = draft.new_id(t.TRAITS)
            draft.change(t.TRAITS, None, NameRow(key, name, draft.now, None))


def _existing_class(state: State, name: str) -> NameRow:
    known = state.classes.find(name)
    if known is None:
        raise NotFound(f"No such resource class {name}.")
    return known
