"""What a claim promises of a host's cells and devices, until a report counts it.

A host that obeys claims starts the instance on exactly what the claim names. A compute
of Nova picks for itself: there a claim only says that the instance fits, so all pending
claims are fitted again onto each new report, in the order of their ids. One that no
longer fits closes what it wants of the host, cells or devices: which of them it will
take is unknown, and no other may be promised until it ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from gantt.errors import NotFree
from gantt.model.cpu_sets import cpus_of, text_of
from gantt.model.topology import Cpus, Fit, FitLack, HostTopology, Wanted
from gantt.topology.fit import fit
from gantt.topology.host_remainder import take

CLOSED: Final = FitLack("pending", 1, 0, "claims")
"""What a closed host lacks: a report that its pending claims fit, or that counts
them."""


class PromisedTopology(Struct, frozen=True):
    """What one instance was promised. ``providers``: those of its devices, by request
    group, where devices are in the books. ``packs``: fuller cells come first. ``fit``:
    what it takes on a host that obeys claims; None: any fit will do. ``is_running``:
    the host reports the instance, so what of ``fit`` is not free is its own.
    ``is_counted``: its last report contains the instance, by the numbers
    (``topology.reported_claims``), and nothing more is taken of it. ``held_by``: as in
    BookingRow. ``lost``: the uuid of the provider of its host, where
    that was deleted: it may come back, and what runs there still runs."""

    wanted: Wanted
    providers: dict[str, tuple[str, ...]] = {}
    packs: bool = False
    fit: Fit | None = None
    is_running: bool = False
    is_counted: bool = False
    held_by: str | None = None
    lost: str | None = None


class Remaining(Struct, frozen=True):
    """A host less its pending claims. ``has_closed_cells``, ``has_closed_devices``: a
    claim that wants some does not fit, and none are left."""

    host: HostTopology
    has_closed_cells: bool = False
    has_closed_devices: bool = False

    @property
    def is_closed(self) -> bool:
        """Whether a claim does not fit."""
        return self.has_closed_cells or self.has_closed_devices

    def is_closed_to(self, wanted: Wanted) -> bool:
        """Whether a claim does not fit that may take the same."""
        return bool(
            (self.has_closed_cells and wanted.cells)
            or (self.has_closed_devices and wanted.devices)
        )


def remaining(host: HostTopology, pendings: Iterable[PromisedTopology]) -> Remaining:
    """What ``pendings``, in the order of their claims, leave of a report."""
    left = Remaining(host)
    for one in pendings:
        left = less(left, one)
    return left


def less(left: Remaining, pending: PromisedTopology) -> Remaining:
    """What is left beside one more pending claim."""
    return after(left, pending, fitted(left, pending))


def after(
    left: Remaining, pending: PromisedTopology, found: Fit | FitLack
) -> Remaining:
    """What is left once ``found``, the answer of ``fitted``, is taken."""
    if isinstance(found, FitLack):
        return _closed(left, pending.wanted)
    try:
        host = take(left.host, found, may_be_counted=pending.is_running)
    except NotFree:
        return _closed(left, pending.wanted)
    return replace(left, host=host)


def _closed(left: Remaining, wanted: Wanted) -> Remaining:
    host = left.host
    if wanted.cells:
        host = replace(host, cells=())
    if wanted.devices:
        host = replace(host, pools=())
    return Remaining(
        host,
        has_closed_cells=left.has_closed_cells or bool(wanted.cells),
        has_closed_devices=left.has_closed_devices or bool(wanted.devices),
    )


def fitted(left: Remaining, pending: PromisedTopology) -> Fit | FitLack:
    """What an instance takes, or what the host lacks. A Fit that the host obeys stands,
    even if something of it is no longer free; so does that of an instance that runs."""
    if pending.is_counted:
        return Fit()
    if left.is_closed_to(pending.wanted):
        return CLOSED
    if pending.fit is not None and (left.host.obeys or pending.is_running):
        return pending.fit
    return fit(left.host, pending.wanted, pending.providers, packs=pending.packs)


def providers_of(
    mappings: Mapping[str, tuple[str, ...]], wanted: Wanted
) -> dict[str, tuple[str, ...]]:
    """Those of a candidate's mappings that are of devices."""
    suffixes = [
        suffix for one in wanted.devices if one.is_of_flavor for suffix in one.suffixes
    ]
    return {name: tuple(mappings[name]) for name in suffixes if name in mappings}


def running(pending: PromisedTopology) -> PromisedTopology:
    """What stays promised once the host reports the instance: what it was told to use,
    or as many devices. Its CPUs are counted by a host that chose them."""
    wanted = pending.wanted
    if pending.fit is None:
        wanted = replace(wanted, cells=())
    return replace(pending, wanted=wanted, is_running=True, is_counted=False)


# -- the text of a claim's row --------------------------------------------------------


def to_text(pending: PromisedTopology) -> str:
    """The value as JSON. Sets of CPUs are texts, ``0-3,8``: not every reader of JSON
    has numbers of so many bits."""
    plain: dict[str, Any] = msgspec.to_builtins(pending, order="deterministic")
    return msgspec.json.encode(_mapped(plain, _written), order="deterministic").decode()


def from_text(text: str) -> PromisedTopology:
    """The inverse of ``to_text``. Raises msgspec.ValidationError."""
    return msgspec.convert(
        _mapped(msgspec.json.decode(text), cpus_of), PromisedTopology
    )


def _mapped(plain: dict[str, Any], change: Callable[[Any], Any]) -> dict[str, Any]:
    """``plain`` with each set of CPUs changed."""
    cells = list(plain["wanted"]["cells"])
    found = plain["fit"]
    fitted_cells = [] if found is None else found["cells"]
    for one in fitted_cells:
        one["emulator"] = change(one["emulator"])
        cells.append(one["cell"])
    for cell in cells:
        cell["cpus"], cell["pcpus"] = change(cell["cpus"]), change(cell["pcpus"])
    return plain


def _written(cpus: Cpus) -> str:
    return text_of(cpus, empty="")
