"""What a record keeps of a request, so that it can be tried again.

Only what decides, and never more than so many bytes. What callers may name as they
like, and so may hold what must not be kept - image properties and scheduler hints that
no filter here is known to read - is named and left out.
"""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec.structs import asdict, replace

from gantt.model.selection import KeptRequest, KeptSpec
from gantt.model.spec import RequestSpec, ScheduleRequest

# Those that a filter or the cycle here reads.
HINTS: Final = frozenset(
    "group query same_host different_host build_near_host_ip cidr target_cell "
    "_nova_check_type gantt:spread gantt:distinct gantt:apart "
    "gantt:artifacts gantt:need_artifacts".split()
)
_PROPERTIES: Final = ("hw_", "img_", "os_", "traits_required")
# Free text of a user, whose name is known all the same; no filter reads it.
_FREE_TEXT: Final = frozenset({"os_command_line"})
_ENCODER: Final = msgspec.json.Encoder()


def kept_request(
    request: ScheduleRequest, most_bytes: int, filters_off: tuple[str, ...] = ()
) -> KeptRequest | None:
    """None: it has more than ``most_bytes`` as JSON, or 0 keeps none."""
    if not most_bytes:
        return None
    spec, left_out = request.spec, tuple[str, ...]()
    if spec.scheduler_hints or spec.image is not None or spec.requested_networks:
        spec, left_out = without_private(spec)
    fields = asdict(spec)
    del fields["user_id"], fields["unset"], fields["nulls"]
    fields["num_instances"] = request.count
    found = KeptRequest(KeptSpec(**fields), left_out, filters_off)
    return found if len(_ENCODER.encode(found)) <= most_bytes else None


def without_private(
    spec: RequestSpec, *, keeps_names: bool = False
) -> tuple[RequestSpec, tuple[str, ...]]:
    """``spec`` without what may be private, and the names of that. ``keeps_names``:
    hints and image properties of any name are kept, where filters may read them."""
    if keeps_names:
        return _without_addresses(spec), ()
    hints = {k: v for k, v in spec.scheduler_hints.items() if k in HINTS}
    left_out = [f"hint {name}" for name in spec.scheduler_hints if name not in hints]
    image = spec.image
    if image is not None:
        known = {k: v for k, v in image.properties.items() if _is_known(k)}
        others = [name for name in image.properties if name not in known]
        left_out += [f"image property {name}" for name in others]
        image = replace(image, properties=known)
    spec = replace(spec, scheduler_hints=hints, image=image)
    return _without_addresses(spec), tuple(left_out)


def _is_known(name: str) -> bool:
    return name.startswith(_PROPERTIES) and name not in _FREE_TEXT


def _without_addresses(spec: RequestSpec) -> RequestSpec:
    networks = tuple(
        replace(one, address=None, trouble="") for one in spec.requested_networks
    )
    return replace(spec, requested_networks=networks)
