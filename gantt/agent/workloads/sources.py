"""Which workload sources an agent asks: by name, or those that suit the machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from importlib.metadata import entry_points
from typing import Any, Final

from gantt.agent.workloads.contract import WorkloadSource
from gantt.agent.workloads.libvirt import LibvirtWorkloads, UnaskedLibvirt, is_installed
from gantt.agent.workloads.processes import ProcessWorkloads
from gantt.agent.workloads.systemd import SystemdWorkloads
from gantt.errors import Invalid, Refused

PLUGINS: Final = "gantt.workloads"
NONE: Final = "none"
_OURS: Final[dict[str, Callable[[], WorkloadSource]]] = {
    "libvirt": LibvirtWorkloads,
    "systemd": SystemdWorkloads,
    "processes": ProcessWorkloads,
    "own-processes": partial(ProcessWorkloads, sees_all=False),
}


def sources(names: Sequence[str] = ()) -> tuple[WorkloadSource, ...]:
    """Those of ``names``, ours or of other packages; without names libvirt if its
    library is installed, units, processes, and all of other packages: one source alone
    does not see all that runs. ``none`` alone: the agent does not say what runs. Raises
    Invalid (an unknown name), Refused (a plug-in that cannot be loaded)."""
    if tuple(names) == (NONE,):
        return ()
    plugins = {one.name: one for one in entry_points(group=PLUGINS)}
    if not names:
        libvirt = LibvirtWorkloads() if is_installed() else UnaskedLibvirt()
        chosen = ["systemd", "processes", *sorted(plugins.keys() - _OURS.keys())]
        return (libvirt, *(_source(name, plugins) for name in chosen))
    unknown = [one for one in names if one not in _OURS and one not in plugins]
    if unknown:
        known = ", ".join(sorted({*_OURS, *plugins, NONE}))
        raise Invalid(
            f"--workloads: there is no source {', '.join(unknown)}; there are {known}, "
            f"and {NONE} stands alone."
        )
    return tuple(_source(name, plugins) for name in dict.fromkeys(names))


def _source(name: str, plugins: dict[str, Any]) -> WorkloadSource:
    if name in _OURS:
        return _OURS[name]()
    entry = plugins[name]
    try:
        found: WorkloadSource = entry.load()()
        if not callable(found.workloads):
            raise TypeError("its workloads is no method")
    except Exception as error:
        raise Refused(
            f"The entry point {name!r} of {PLUGINS} ({entry.value}) cannot be used: "
            f"{type(error).__name__}: {error}. Repair or remove the package that "
            "installed it."
        ) from error
    return found
