"""From names in the options to filters and weighers.

Three sources: built-in ones (one per file of ``filters``, ``historical`` and
``weighers``), installed plug-ins (entry points), and classes at dotted paths. Nova's
own dotted names stand for ours, so that an existing nova.conf means what it meant.
"""

from __future__ import annotations

import importlib
import inspect
import logging
import pkgutil
from collections.abc import Callable, Iterator
from importlib.metadata import entry_points
from types import ModuleType
from typing import Any, TypeVar, cast

from gantt.errors import Refused
from gantt.scheduler.contract import Filter, Weigher
from gantt.scheduler.feasibility import filters as filter_modules
from gantt.scheduler.feasibility import historical
from gantt.scheduler.options import SchedulerOptions
from gantt.scheduler.plugins.guards import GuardedFilter, GuardedWeigher
from gantt.scheduler.plugins.nova import LegacyFilter, LegacyWeigher
from gantt.scheduler.plugins.plugin_calls import IN_PLACE, Outside
from gantt.scheduler.scoring import weighers as weigher_modules

LOG = logging.getLogger(__name__)
P = TypeVar("P", Filter, Weigher)

FILTER_PLUGINS = "gantt.filters"
WEIGHER_PLUGINS = "gantt.weighers"
NOVA_FILTERS = "nova.scheduler.filters."
NOVA_WEIGHERS = "nova.scheduler.weights."
ALL_FILTERS = frozenset(
    (NOVA_FILTERS + "all_filters", NOVA_FILTERS + "standard_filters")
)
ALL_WEIGHERS = frozenset((NOVA_WEIGHERS + "all_weighers",))


def filters(
    options: SchedulerOptions, outside: Outside = IN_PLACE
) -> tuple[Filter, ...]:
    """The enabled filters, in the order given. A class that ``available_filters`` names
    goes before a plug-in, a plug-in before ours of the same name. What operators should
    know of one is logged. Raises Refused."""
    own = built_in_filters()
    known: dict[str, type] = {**own, **_plugins(FILTER_PLUGINS)}
    for path in options.available_filters:
        if path not in ALL_FILTERS:
            known |= _named(path, "available_filters", own, NOVA_FILTERS)
    chosen = tuple(
        _filter(name, _known_class(name, "enabled_filters", known), own, outside)
        for name in dict.fromkeys(options.enabled_filters)
    )
    for one in chosen:
        if one.advice:
            LOG.warning("%s", one.advice)
    return chosen


def weighers(
    options: SchedulerOptions, outside: Outside = IN_PLACE
) -> tuple[Weigher, ...]:
    """The weighers that ``weight_classes`` names, each once. Raises Refused."""
    own = built_in(weigher_modules, Weigher)
    plugins = _plugins(WEIGHER_PLUGINS)
    chosen: dict[type, str] = {}
    for path in options.weight_classes:
        if path in ALL_WEIGHERS:
            found: dict[str, type] = {**own}
        elif "." in path:
            found = _named(path, "weight_classes", own, NOVA_WEIGHERS)
        else:
            known = {**own, **plugins}
            found = {path: _known_class(path, "weight_classes", known)}
        for name, one in found.items():
            chosen.setdefault(one, name)
    return tuple(_weigher(name, one, own, outside) for one, name in chosen.items())


def sets_limits(one: Filter) -> bool:
    """Whether it is of another package, and asked about each host that is chosen."""
    return isinstance(one, GuardedFilter | LegacyFilter) and one.has_limits


def built_in_filters() -> dict[str, type[Filter]]:
    """Every filter of this distribution by name, those that Nova removed included."""
    return built_in(filter_modules, Filter) | built_in(historical, Filter)


def built_in(package: ModuleType, kind: type[P]) -> dict[str, type[P]]:
    """The classes of ``kind`` that the modules of ``package`` define, by name."""
    found: dict[str, type[P]] = {}
    for info in sorted(
        pkgutil.iter_modules(package.__path__), key=lambda one: one.name
    ):
        module = importlib.import_module(f"{package.__name__}.{info.name}")
        for one in _classes_of(module):
            if issubclass(one, kind) and not one.__name__.startswith("_"):
                found[one.__name__] = one
    return found


def _classes_of(module: ModuleType) -> Iterator[type]:
    for one in vars(module).values():
        if inspect.isclass(one) and one.__module__ == module.__name__:
            yield one


def _plugins(group: str) -> dict[str, type]:
    """Installed classes by the names of their entry points. Raises Refused."""
    found: dict[str, type] = {}
    for entry in entry_points(group=group):
        try:
            found[entry.name] = entry.load()
        except Exception as error:
            raise Refused(
                f"The entry point {entry.name!r} of {group} ({entry.value}) cannot be "
                f"loaded: {type(error).__name__}: {error}. Repair or remove the "
                "package that installed it."
            ) from error
    return found


def _named(path: str, option: str, own: dict[str, Any], nova: str) -> dict[str, type]:
    """What a dotted path stands for: a class, or a function that returns classes.
    Nova's own classes are ours."""
    name = path.rpartition(".")[2]
    if path.startswith(nova) and name in own:
        return {name: own[name]}
    found = _imported(path, option, own)
    listed = [found]
    if not inspect.isclass(found):
        listed = _returned(cast(Callable[[], Any], found), path, option)
    classes: dict[str, type] = {}
    for one in listed:
        if not inspect.isclass(one):
            raise Refused(
                f"{option} names {path}, which gives {one!r}: it must be a class, or "
                "a function that returns classes."
            )
        is_nova = one.__module__.startswith(nova) and one.__name__ in own
        classes[one.__name__] = own[one.__name__] if is_nova else one
    return classes


def _imported(path: str, option: str, own: dict[str, Any]) -> object:
    module, _, name = path.rpartition(".")
    try:
        return cast(object, getattr(importlib.import_module(module), name))
    except Exception as error:
        raise Refused(
            f"{option} names {path}, which cannot be imported: "
            f"{type(error).__name__}: {error}. Install it, or take the name out. Known "
            f"here are: {', '.join(sorted(own))}."
        ) from error


def _returned(function: Callable[[], Any], path: str, option: str) -> list[Any]:
    try:
        return list(function())
    except Exception as error:
        raise Refused(
            f"{option} names {path}, which is no class and gives no list of classes "
            f"when it is called: {type(error).__name__}: {error}."
        ) from error


def _known_class(name: str, option: str, known: dict[str, Any]) -> type:
    if name not in known:
        raise Refused(
            f"{option} names {name!r}, which does not exist. Known are: "
            f"{', '.join(sorted(known))}."
        )
    return cast(type, known[name])


def _filter(
    name: str, one: type, own: dict[str, type[Filter]], outside: Outside
) -> Filter:
    """Ours as it is, one of another package guarded."""
    made = _made(one)
    if not isinstance(made, Filter):
        return LegacyFilter(made, outside)
    return made if one in own.values() else GuardedFilter(name, made, outside)


def _weigher(
    name: str, one: type, own: dict[str, type[Weigher]], outside: Outside
) -> Weigher:
    made = _made(one)
    if not isinstance(made, Weigher):
        return LegacyWeigher(made, outside)
    return made if one in own.values() else GuardedWeigher(name, made, outside)


def _made(one: type) -> object:
    try:
        return cast(object, one())
    except Exception as error:
        raise Refused(
            f"{one.__module__}.{one.__name__} cannot be made: {type(error).__name__}: "
            f"{error}."
        ) from error
