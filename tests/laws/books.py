"""The same books, told by the queries and told by the reference model."""

from __future__ import annotations

from typing import Any

from gantt.model.requests import ProviderQuery, TraitQuery, UsageQuery
from gantt.model.rows import ROW_TYPES
from gantt.placement import queries
from gantt.placement.usages import total_usages
from gantt.state.state import State
from tests.simulation.reference import Reference

Books = dict[str, Any]


def told_by_queries(state: State, projects: tuple[str, ...]) -> Books:
    """What the public questions answer, times aside."""
    listed = queries.providers(state, ProviderQuery())
    return {
        "providers": {
            one.uuid: (one.name, one.generation, one.parent_uuid, one.root_uuid)
            for one in listed
        },
        "of": {one.uuid: _of_provider(state, one.uuid) for one in listed},
        "consumers": {
            row.uuid: _of_consumer(state, row.uuid)  # type: ignore[union-attr, arg-type]
            for row in state.rows("consumers")
        },
        "classes": [name.name for name in queries.resource_classes(state)],
        "traits": {
            name.name: name.name
            in {
                one.name
                for one in queries.trait_names(state, TraitQuery(is_associated=True))
            }
            for name in queries.trait_names(state, TraitQuery())
        },
        "usages": {
            project: {
                kind: (one.consumer_count, one.usages)
                for kind, one in total_usages(
                    state, UsageQuery(project, by_type=True)
                ).items()
            }
            for project in projects
        },
    }


def _of_provider(state: State, uuid: str) -> Books:
    inventories = queries.inventories(state, uuid)
    usages = queries.usages(state, uuid)
    traits = queries.traits(state, uuid)
    aggregates = queries.aggregates(state, uuid)
    allocations = queries.provider_allocations(state, uuid)
    assert inventories and usages and traits and aggregates and allocations
    assert len(set(traits.traits)) == len(traits.traits)
    generation = inventories.generation
    views = (usages, traits, aggregates, allocations)
    assert all(view.generation == generation for view in views)
    return {
        "inventories": inventories.inventories,
        "usages": usages.usages,
        "traits": set(traits.traits),
        "aggregates": set(aggregates.aggregates),
        "allocations": {
            consumer: (share.resources, share.generation)
            for consumer, share in allocations.allocations.items()
        },
    }


def _of_consumer(state: State, uuid: str) -> Books | None:
    view = queries.allocations(state, uuid)
    if view is None:
        return None
    return {
        "allocations": {
            uuid: (share.resources, share.generation)
            for uuid, share in view.allocations.items()
        },
        "record": (
            view.project_id,
            view.user_id,
            view.generation,
            view.consumer_type,
        ),
    }


def told_by_reference(model: Reference, projects: tuple[str, ...]) -> Books:
    """The same shape, from the plain dicts."""
    return {
        "providers": {
            uuid: (name, model.generations[uuid], model.parents[uuid], model.root(uuid))
            for uuid, name in model.names.items()
        },
        "of": {uuid: _provider_in(model, uuid) for uuid in model.names},
        "consumers": {
            consumer: {
                "allocations": {
                    uuid: (resources, model.generations[uuid])
                    for uuid, resources in model.shares(consumer).items()
                },
                "record": record,
            }
            for consumer, record in model.consumers.items()
        },
        "classes": model.known_classes,
        "traits": {
            name: any(name in borne for borne in model.traits.values())
            for name in model.known_traits
        },
        "usages": {project: _usages_in(model, project) for project in projects},
    }


def _provider_in(model: Reference, uuid: str) -> Books:
    allocations: dict[str, tuple[dict[str, int], int | None]] = {}
    for consumer in model.consumers:
        resources = model.shares(consumer).get(uuid)
        if resources:
            allocations[consumer] = (resources, model.consumer_generation(consumer))
    return {
        "inventories": {
            rc: inventory
            for (provider, rc), inventory in model.inventories.items()
            if provider == uuid
        },
        "usages": {rc: model.used(uuid, rc) for rc in model.classes_of(uuid)},
        "traits": model.traits[uuid],
        "aggregates": model.aggregates[uuid],
        "allocations": allocations,
    }


def _usages_in(model: Reference, project: str) -> Books:
    found: dict[str, tuple[int, dict[str, int]]] = {}
    for consumer, (owner, _, _, kind) in model.consumers.items():
        if owner != project:
            continue
        count, sums = found.get(kind or "unknown", (0, {}))
        for resources in model.shares(consumer).values():
            for rc, amount in resources.items():
                sums[rc] = sums.get(rc, 0) + amount
        found[kind or "unknown"] = (count + 1, sums)
    return found


def dump(state: State) -> dict[str, list[Any]]:
    """Every row of every table."""
    return {table: list(state.rows(table)) for table in ROW_TYPES}
