"""Unknown and retired options, as warnings for startup.

Separate from the reading, which sees only the options it knows. Files may be shared
with Placement and Nova, whose own options are no mistakes: in sections whose option
names we know completely, every unknown one is reported; in others, only those similar
to ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType
from typing import Final

from oslo_config import cfg, iniparser

# Options of Placement 16, Nova 34 and nova-plugin in these sections that Gantt does not
# read.
UPSTREAMS: Final[Mapping[str, frozenset[str]]] = {
    "scheduler": frozenset(),
    "filter_scheduler": frozenset({"track_instance_changes"}),
    "metrics": frozenset(),
    "placement_database": frozenset(),
    "gantt": frozenset(
        "answer_size_limit breaker_failures breaker_seconds cafile mode "
        "request_delay_limit timeout token url weight_multiplier".split()
    ),
}
_FILTERS: Final = "filter_scheduler"
FORMER: Final[Mapping[str, tuple[str, str]]] = {
    "scheduler_max_attempts": ("scheduler", "max_attempts"),
    "scheduler_host_subset_size": (_FILTERS, "host_subset_size"),
    "scheduler_available_filters": (_FILTERS, "available_filters"),
    "scheduler_default_filters": (_FILTERS, "enabled_filters"),
    "scheduler_weight_classes": (_FILTERS, "weight_classes"),
    **{
        name: (_FILTERS, name)
        for name in (
            "max_io_ops_per_host max_instances_per_host ram_weight_multiplier "
            "disk_weight_multiplier io_ops_weight_multiplier isolated_images "
            "soft_affinity_weight_multiplier soft_anti_affinity_weight_multiplier "
            "isolated_hosts restrict_isolated_hosts_to_isolated_images "
            "aggregate_image_properties_isolation_namespace "
            "aggregate_image_properties_isolation_separator"
        ).split()
    },
}
"""Names in [DEFAULT] that Nova read before and reads no more -> those of today."""
_LIKE: Final = 0.6
_MUCH_LIKE: Final = 0.85
_PREFIX: Final = "OS_"


def unknown_options(
    files: Iterable[str],
    environ: Iterable[str],
    options: Sequence[tuple[str, Sequence[cfg.Opt]]],
    retired: Mapping[tuple[str, str], str] = MappingProxyType({}),
) -> tuple[str, ...]:
    """A warning for each name in ``files`` (of files or directories) or ``environ``
    that probably should be one of ``options``, but is not, and for each of ``retired``,
    (group, name) -> the constant in its place."""
    known: dict[str, set[str]] = {}
    for group, opts in options:
        for opt in opts:
            known.setdefault(group, set()).add(opt.dest)
            for old in opt.deprecated_opts:
                known.setdefault(old.group or group, set()).add(old.name or opt.dest)
    found: dict[str, None] = {}
    written = ((place, group, name) for place, group, name, _ in written_in(files))
    for place, group, name in (*written, *_exported(environ)):
        constant = retired.get((group, name))
        warning = (
            f"retired option {name} in [{group}] has no effect: {constant}."
            if constant
            else _warning(group, name, known)
        )
        if warning:
            found[f"{place}: {warning}"] = None
    return tuple(found)


def _warning(group: str, name: str, known: Mapping[str, set[str]]) -> str:
    """What is wrong with the name of an option; "" if it is fine."""
    if group not in known:
        near = get_close_matches(group, sorted(known), 1, _MUCH_LIKE)
        return f"unknown section [{group}]: did you mean [{near[0]}]?" if near else ""
    names = known[group]
    if group == "DEFAULT" and name in FORMER:
        section, today = FORMER[name]
        return (
            f"option {name} in [DEFAULT] has no effect, as in Nova: write {today} in "
            f"[{section}]."
        )
    if name in names or name in UPSTREAMS.get(group, ()):
        return ""
    likeness = _LIKE if group in UPSTREAMS else _MUCH_LIKE
    near = get_close_matches(name, sorted(names), 1, likeness)
    if near:
        return f"unknown option {name} in [{group}]: did you mean {near[0]}?"
    if group in UPSTREAMS:
        return f"unknown option {name} in [{group}]: it is ignored."
    return ""


def written_in(files: Iterable[str]) -> Iterator[tuple[str, str, str, str]]:
    """(file, section, option, value) of everything that the files, or those of a
    directory, set; values as they stand there."""
    for name in files:
        path = Path(name)
        for file in sorted(path.glob("*.conf")) if path.is_dir() else [path]:
            found = _Written()
            with file.open(encoding="utf-8") as lines:
                found.parse(lines)
            yield from ((str(file), *one) for one in found.found)


def _exported(environ: Iterable[str]) -> Iterator[tuple[str, str, str]]:
    """(variable, section, option) of ``OS_SECTION__OPTION``, for sections whose options
    we know completely: variables of other programs have the same form."""
    for variable in environ:
        group, separator, name = variable.removeprefix(_PREFIX).partition("__")
        if variable.startswith(_PREFIX) and separator and group.lower() in UPSTREAMS:
            yield variable, group.lower(), name.lower()


class _Written(iniparser.BaseParser):
    """The options of each section, with their values."""

    def __init__(self) -> None:
        self.found: list[tuple[str, str, str]] = []
        self._section = ""

    def new_section(self, section: str) -> None:
        self._section = section if section == "DEFAULT" else section.lower()

    def assignment(self, key: str, value: list[str]) -> None:
        self.found.append((self._section, key, "\n".join(value)))
