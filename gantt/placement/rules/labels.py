"""Rules for what providers bear: traits and aggregates."""

from __future__ import annotations

from gantt.errors import ConcurrentUpdate, UnknownName
from gantt.model import rows as t
from gantt.model.answers import ProviderAggregates, ProviderTraits
from gantt.model.commands import DeleteTraits, SetAggregates, SetTraits
from gantt.model.rows import LinkRow, ProviderRow
from gantt.placement.rules.draft import Draft
from gantt.placement.rules.providers import existing
from gantt.state.bits import BitMatrix
from gantt.state.name_table import NameTable
from gantt.state.state import State


def set_aggregates(draft: Draft, command: SetAggregates) -> ProviderAggregates:
    """Aggregates come into being by being named; the generation always moves."""
    provider = existing(draft.state, command.provider_uuid)
    _check_generation(provider, command.generation)
    draft.rely(t.PROVIDER_AGGREGATES, provider.id)
    wanted = {
        draft.ensure_name(t.AGGREGATES, name): None for name in command.aggregates
    }
    _relink(
        draft,
        provider,
        t.PROVIDER_AGGREGATES,
        set(_ids(draft.state, provider, t.PROVIDER_AGGREGATES)),
        set(wanted),
    )
    if command.bump:
        provider = draft.bump(provider)
    return ProviderAggregates(
        provider.generation, tuple(dict.fromkeys(command.aggregates))
    )


def set_traits(draft: Draft, command: SetTraits) -> ProviderTraits:
    """The traits must exist; the generation moves only if the set changed."""
    state = draft.state
    provider = existing(state, command.provider_uuid)
    _check_generation(provider, command.generation)
    unknown = [name for name in command.traits if state.traits.find(name) is None]
    if unknown:
        raise UnknownName(f"No such trait {', '.join(dict.fromkeys(unknown))}")
    rows = [row for name in command.traits if (row := state.traits.find(name))]
    rows.sort(key=lambda row: row.id)
    wanted = {row.id: row for row in rows}
    provider = _replace_traits(draft, provider, set(wanted))
    times = [row.updated_at or row.created_at for row in wanted.values()]
    return ProviderTraits(
        provider.generation,
        tuple(row.name for row in wanted.values()),
        max((at for at in times if at is not None), default=None),
    )


def delete_traits(draft: Draft, command: DeleteTraits) -> None:
    """Deletes all traits of a provider: it sets none."""
    _replace_traits(draft, existing(draft.state, command.provider_uuid), set())


def join(draft: Draft, provider: ProviderRow, aggregate: str) -> None:
    """The provider becomes a member of an aggregate, unless it is one."""
    key = draft.ensure_name(t.AGGREGATES, aggregate)
    give(draft, provider, t.PROVIDER_AGGREGATES, key)


def leave(draft: Draft, provider: ProviderRow, aggregate: str) -> None:
    """The provider is no member of an aggregate any more."""
    known = draft.state.aggregates.find(aggregate)
    if known is not None:
        take(draft, provider, t.PROVIDER_AGGREGATES, known.id)


def give(draft: Draft, provider: ProviderRow, table: str, key: int) -> bool:
    """One label more; whether it was missing. The provider may be the draft's own."""
    is_missing = draft.add(table, LinkRow(provider.id, key, draft.now, None))
    if is_missing:
        draft.bump_once(provider)
    return is_missing


def take(draft: Draft, provider: ProviderRow, table: str, key: int) -> None:
    """One label less, where the provider has it."""
    if draft.get(table, (provider.id, key)) is not None:
        draft.delete(table, LinkRow(provider.id, key, None, None))
        draft.bump_once(provider)


def _replace_traits(
    draft: Draft, provider: ProviderRow, wanted: set[int]
) -> ProviderRow:
    old = set(_ids(draft.state, provider, t.PROVIDER_TRAITS))
    if old == wanted:
        draft.rely(t.PROVIDERS, provider.id)
        return provider
    _relink(draft, provider, t.PROVIDER_TRAITS, old, wanted)
    return draft.bump(provider)


def _check_generation(provider: ProviderRow, given: int | None) -> None:
    if given is not None and given != provider.generation:
        raise ConcurrentUpdate(
            "Resource provider's generation already changed. Please update the "
            "generation and try again."
        )


def _ids(state: State, provider: ProviderRow, table: str) -> list[int]:
    matrix, names = _label_table(state, table)
    number = state.providers.row_by_id[provider.id]
    return [names.at(label).id for label in matrix.labels_of(number)]


def _label_table(state: State, table: str) -> tuple[BitMatrix, NameTable]:
    if table == t.PROVIDER_TRAITS:
        return state.provider_traits, state.traits
    return state.provider_aggregates, state.aggregates


def _relink(
    draft: Draft, provider: ProviderRow, table: str, old: set[int], wanted: set[int]
) -> None:
    for key in sorted(old - wanted):
        draft.delete(table, LinkRow(provider.id, key, None, None))
    for key in sorted(wanted - old):
        draft.put(table, LinkRow(provider.id, key, draft.now, None))
