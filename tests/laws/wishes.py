"""Random commands: mostly sensible ones, so that the books fill; some senseless.

Each draws from small pools of names and looks at the reference model for what is
current, because a generation guessed blindly would be refused nearly always.
"""

from __future__ import annotations

from typing import Protocol, TypeVar

from hypothesis import strategies as st
from msgspec import UNSET, UnsetType

from gantt.model import commands as c
from gantt.model.names import MAX_INT, MAX_RATIO
from tests.simulation.reference import Reference

T = TypeVar("T")


class Draw(Protocol):
    """What hypothesis hands out as ``data.draw``; it favours the first of a choice."""

    def __call__(self, strategy: st.SearchStrategy[T], /) -> T: ...


PROVIDERS = tuple(f"{n:08x}-0000-4000-8000-000000000000" for n in range(1, 7))
CONSUMERS = tuple(f"{n:08x}-1111-4111-8111-111111111111" for n in range(1, 5))
AGGREGATES = tuple(f"{n:08x}-2222-4222-8222-222222222222" for n in range(1, 4))
NAMES = ("a", "A", "b", "c", "d", "é")
STANDARD_CLASSES = ("VCPU", "MEMORY_MB", "DISK_GB")
CUSTOM_CLASSES = ("CUSTOM_A", "CUSTOM_B")
STANDARD_TRAITS = ("HW_CPU_X86_AVX", "STORAGE_DISK_SSD")
CUSTOM_TRAITS = ("CUSTOM_T", "CUSTOM_U")
PROJECTS = ("p1", "p2")
USERS = ("u1", "u2")
TYPES = ("INSTANCE", "MIGRATION")

providers = st.sampled_from(PROVIDERS)
consumers = st.sampled_from(CONSUMERS)
classes = st.sampled_from((*STANDARD_CLASSES, *CUSTOM_CLASSES))
traits = st.sampled_from((*STANDARD_TRAITS, *CUSTOM_TRAITS))
names = st.sampled_from((*STANDARD_CLASSES[:1], *CUSTOM_CLASSES, "CUSTOM_", "x"))
trait_names = st.sampled_from((*STANDARD_TRAITS, *CUSTOM_TRAITS, "CUSTOM_t"))

inventories = st.builds(
    c.Inventory,
    total=st.integers(4, 20) | st.just(MAX_INT),
    reserved=st.sampled_from((0, 0, 0, 1, 2, 20, 21)),
    min_unit=st.sampled_from((1, 1, 1, 2)),
    max_unit=st.sampled_from((MAX_INT, MAX_INT, 4)),
    step_size=st.sampled_from((1, 1, 1, 2, 3)),
    allocation_ratio=st.sampled_from((1.0, 1.0, 1.0, 1.5, 16.0, 0.1, 0.0, MAX_RATIO)),
)
amounts = st.integers(1, 8) | st.sampled_from((20, MAX_INT))


def one_of_most(draw: Draw, all_of: tuple[str, ...], known: list[str]) -> str:
    """Something that exists, four times out of five, if anything does."""
    if known and draw(st.integers(0, 4)) < 4:
        return draw(st.sampled_from(known))
    return draw(st.sampled_from(all_of))


def provider(draw: Draw, model: Reference) -> str:
    return one_of_most(draw, PROVIDERS, sorted(model.names))


def resource_class(draw: Draw, model: Reference) -> str:
    everything = (*STANDARD_CLASSES, *CUSTOM_CLASSES)
    return one_of_most(draw, everything, sorted(model.known_classes))


def generation(draw: Draw, model: Reference, uuid: str) -> int | None:
    current = model.generations.get(uuid, 0)
    return draw(st.sampled_from((current, current, current, None, current + 1)))


def inventory_set(draw: Draw, model: Reference) -> dict[str, c.Inventory]:
    known = sorted(model.known_classes) or ["VCPU"]
    keys = st.sampled_from(known) if len(known) > 1 else classes
    return draw(st.dictionaries(keys | classes, inventories, max_size=3))


def consumer_type(draw: Draw) -> str | UnsetType:
    return draw(st.just(UNSET) | st.sampled_from(TYPES))


def shares(draw: Draw, model: Reference) -> dict[str, dict[str, int]]:
    """Mostly of what there is an inventory of."""
    places = sorted(model.inventories)
    kind = draw(st.integers(0, 7))
    if kind == 6:
        return {}
    if not places or kind == 7:
        resources = st.dictionaries(classes, amounts, min_size=0, max_size=2)
        return draw(st.dictionaries(providers, resources, max_size=2))
    chosen = draw(
        st.lists(st.sampled_from(places), min_size=1, max_size=3, unique=True)
    )
    found: dict[str, dict[str, int]] = {}
    for uuid, rc in chosen:
        found.setdefault(uuid, {})[rc] = draw(amounts)
    return found


def consumer(draw: Draw, model: Reference, uuid: str) -> c.ConsumerAllocations:
    current = model.consumer_generation(uuid)
    wrong = None if current else 3
    given = draw(st.sampled_from((current, current, current, UNSET, wrong)))
    return c.ConsumerAllocations(
        uuid,
        shares(draw, model),
        draw(st.sampled_from(PROJECTS)),
        draw(st.sampled_from(USERS)),
        given,
        consumer_type(draw),
    )


def consumer_list(
    draw: Draw, model: Reference, least: int
) -> tuple[c.ConsumerAllocations, ...]:
    chosen = draw(st.lists(consumers, min_size=least, max_size=3, unique=True))
    return tuple(consumer(draw, model, uuid) for uuid in chosen)


def reshape(draw: Draw, model: Reference) -> c.Reshape:
    pool = st.sampled_from(sorted(model.names)) if model.names else providers
    chosen = draw(st.lists(pool | providers, min_size=1, max_size=2, unique=True))
    wanted = []
    for uuid in chosen:
        current = model.generations.get(uuid, 0)
        given = draw(st.sampled_from((current, current, current, current + 1)))
        wanted.append(
            c.ReshapedProvider(
                uuid,
                given,
                inventory_set(draw, model),
            )
        )
    return c.Reshape(tuple(wanted), consumer_list(draw, model, 0))


def move_everything(draw: Draw, model: Reference) -> c.Reshape | None:
    """What reshapes are for: inventory and allocations go to another provider."""
    sources = sorted({uuid for uuid, _ in model.inventories})
    if not sources or len(model.names) < 2:
        return None
    source = draw(st.sampled_from(sources))
    target = draw(st.sampled_from(sorted(set(model.names) - {source})))
    moved = {rc: model.inventories[source, rc] for rc in model.classes_of(source)}
    kept = {rc: model.inventories[target, rc] for rc in model.classes_of(target)}
    owners = []
    for uuid, (project, user, current, _) in model.consumers.items():
        wanted: dict[str, dict[str, int]] = {}
        for place, resources in model.shares(uuid).items():
            to = target if place == source else place
            row = wanted.setdefault(to, {})
            for rc, amount in resources.items():
                row[rc] = row.get(rc, 0) + amount
        owners.append(c.ConsumerAllocations(uuid, wanted, project, user, current))
    return c.Reshape(
        (
            c.ReshapedProvider(source, model.generations[source], {}),
            c.ReshapedProvider(target, model.generations[target], {**kept, **moved}),
        ),
        tuple(owners),
    )
