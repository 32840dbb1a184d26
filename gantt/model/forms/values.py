"""Validates frozen values passed in Python like request bodies.

A value built in Python may have anything in its fields. Separate from the parsers of
documents because nearly all values are valid: msgspec checks them by converting them to
builtins and back, by their types and bounds. Only values that fail this go to the
parsers, field by field, which refuse or convert them. The result is a copy: a caller
may change its own object later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from operator import attrgetter
from typing import Annotated, Any, Final, TypeVar

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import replace

from gantt.model.bounds import MAX_NAME, MAX_REAL, MAX_TEXT, MAX_WHOLE, Text
from gantt.model.commands import ConsumerAllocations
from gantt.model.forms import fleet, nouns, scalars
from gantt.model.forms.document import DATA, NAME
from gantt.model.forms.shared_topology import shared_cells, shared_pools
from gantt.model.forms.spec import ROOT, read_spec
from gantt.model.forms.stats import COUNTS, read_stats
from gantt.model.forms.stats import ROOT as STATS
from gantt.model.hosts import HostAggregate, HostStats, Instance, ServerGroup, Service
from gantt.model.names import canonical, is_canonical
from gantt.model.spec import SPEC_VERSION, RequestSpec, ScheduleRequest

S = TypeVar("S", bound=Struct)

_Int64 = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
# Depth of ordinary JSON; deeper values go to the parsers.
_Leaf = None | bool | _Int64 | float | str
_Json1 = _Leaf | list[_Leaf] | dict[str, _Leaf]
_Json2 = _Leaf | list[_Json1] | dict[str, _Json1]
_Json3 = _Leaf | list[_Json2] | dict[str, _Json2]
_Json4 = _Leaf | list[_Json3] | dict[str, _Json3]
_Object = dict[str, _Json4]
_Triple = Annotated[list[Text], Meta(min_length=3, max_length=3)]


class PlainStats(HostStats, frozen=True, forbid_unknown_fields=True):
    """HostStats whose columns are ordinary JSON, to be decoded and checked in one
    pass."""

    cpu_info: _Object | UnsetType | None = UNSET
    supported_instances: list[_Triple] | UnsetType | None = UNSET
    metrics: list[_Object] | UnsetType | None = UNSET
    pci_stats: list[_Object] | UnsetType | None = UNSET
    # Text would be JSON text.
    extra_resources: _Object | list[_Json4] | UnsetType | None = UNSET
    stats: _Object | UnsetType | None = UNSET
    numa_topology: _Object | UnsetType | None = UNSET


# How floats above 2**1009, infinite ones and NaN begin.
_FAR: Final = (b"\xcb\x7f", b"\xcb\xff")
_encode: Final = msgspec.msgpack.Encoder().encode
_decode_request: Final = msgspec.msgpack.Decoder(ScheduleRequest).decode
_decode_spec: Final = msgspec.msgpack.Decoder(RequestSpec).decode
_decode_stats: Final = msgspec.msgpack.Decoder(PlainStats).decode
_decode_object: Final = msgspec.msgpack.Decoder(_Object).decode
_fields_of: Final = attrgetter(*HostStats.__struct_fields__)
_ODD: Final = (
    msgspec.MsgspecError,
    OverflowError,
    RecursionError,
    TypeError,
    ValueError,
)


def request(value: ScheduleRequest) -> ScheduleRequest:
    """``value`` as it may go on. Raises Invalid, which names the field."""
    try:
        raw = _encode(value)
        found: ScheduleRequest = _decode_request(raw)
        named = found.instance_uuids
        is_plain = not named or all(map(is_canonical, named))
        if is_plain and _is_near(raw) and _is_sound(found.spec):
            return found
    except _ODD:
        pass
    given = value.instance_uuids
    return ScheduleRequest(
        _read_spec(value.spec),
        None if given is None else uuids("instance_uuids", given),
        scalars.flag("return_alternates", value.return_alternates),
        scalars.flag("dry_run", value.dry_run),
        None if value.lease_s is None else scalars.seconds("lease", value.lease_s),
        scalars.text("request_id", value.request_id, MAX_NAME),
        _text("user_id", value.user_id),
        _text("project_id", value.project_id),
        _text("only_project", value.only_project),
        scalars.flag("replaces", value.replaces),
    )


def spec(value: RequestSpec) -> RequestSpec:
    """``value`` as it may go on. Raises Invalid, which names the field."""
    try:
        raw = _encode(value)
        found: RequestSpec = _decode_spec(raw)
        if _is_near(raw) and _is_sound(found):
            return found
    except _ODD:
        pass
    return _read_spec(value)


def stats(value: HostStats) -> HostStats:
    """``value`` as it may go on. Raises Invalid, which names the field."""
    try:
        raw = _encode(value)
        found: PlainStats = _decode_stats(raw)
        if _is_near(raw) and len(raw) <= MAX_TEXT and are_sound(found):
            return as_stats(found)
    except _ODD:
        pass
    return read_stats(_fields(value))


def service(value: Service) -> Service:
    """``value`` as it may go on. Raises Invalid, which names the field."""
    return fleet.read_service(_fields(value))


def aggregates(values: Iterable[HostAggregate]) -> tuple[HostAggregate, ...]:
    """``values`` as they may go on. Raises Invalid, which names the field."""
    return fleet.read_aggregates([_fields(one) for one in values])


def instances(values: Iterable[Instance]) -> tuple[Instance, ...]:
    """``values`` as they may go on. Raises Invalid, which names the field."""
    return fleet.read_instances([_fields(one) for one in values])


def server_group(value: ServerGroup) -> ServerGroup:
    """``value`` as it may go on. Raises Invalid, which names the field."""
    return fleet.read_server_group(_fields(value))


def uuids(path: str, values: Iterable[str]) -> tuple[str, ...]:
    """Uuids of instances, checked. Raises Invalid, which names the one that is none."""
    return fleet.read_uuids(path, list(names(path, values)))


def consumers(
    said: Iterable[ConsumerAllocations], is_known: Callable[[str], bool]
) -> tuple[ConsumerAllocations, ...]:
    """Each under the one form of its uuid, or as it is written where the books have it
    so: Placement's wire stores some of them verbatim. Raises Invalid: it is no uuid."""
    return tuple(
        one
        if is_canonical(one.consumer_uuid) or is_known(one.consumer_uuid)
        else replace(one, consumer_uuid=scalars.uuid("consumer", one.consumer_uuid))
        for one in said
    )


def names(path: str, values: Iterable[str]) -> tuple[str, ...]:
    """Names, any iterable of them that is not one itself. Raises Invalid."""
    is_one = isinstance(values, str | Mapping) or not isinstance(values, Iterable)
    return tuple(
        scalars.name(f"{path}.{number}", one)
        for number, one in enumerate(scalars.items(path, values) if is_one else values)
    )


# -- what msgspec cannot check ----------------------------------------------------


def _is_near(raw: bytes) -> bool:
    """Whether no float is NaN, infinite or close to it; false alarms do no harm."""
    return _FAR[0] not in raw and _FAR[1] not in raw


def _is_sound(found: RequestSpec) -> bool:
    """Whether a parser would leave a value of valid types unchanged. Raises Invalid,
    and what msgspec raises."""
    if found.version != SPEC_VERSION:
        return False
    group, image = found.instance_group, found.image
    if group is not None and group.policy not in (None, *nouns.POLICIES):
        return False
    if (
        found.instance_uuid is not None
        or group is not None
        or found.scheduler_hints
        or found.requested_destination is not None
        or found.requested_resources
    ) and not _has_plain_uuids(found):
        return False
    if found.numa_topology is not None or found.pci_requests:
        return False
    return image is None or not image.properties or _is_settled(image.properties)


def _has_plain_uuids(found: RequestSpec) -> bool:
    """Whether all uuids are in the one form that they have here."""
    uuid, group = found.instance_uuid, found.instance_group
    if uuid is not None and is_canonical(uuid) is None:
        return False
    if group is not None:
        if group.uuid and is_canonical(group.uuid) is None:
            return False
        if group.members and not all(map(is_canonical, group.members)):
            return False
    for one in found.requested_resources:
        if one.in_tree is not None and is_canonical(one.in_tree) is None:
            return False
    return all(canonical(one) == one for one in _other_uuids(found))


def _other_uuids(found: RequestSpec) -> Iterator[str]:
    """Those of hints, cells and aggregates, which may be none."""
    for name in nouns.UUID_HINTS & found.scheduler_hints.keys():
        yield from found.scheduler_hints[name]
    aim = found.requested_destination
    if aim is not None and aim.cell_uuid is not None:
        yield aim.cell_uuid
    for part in (*found.requested_resources, *(() if aim is None else (aim,))):
        yield from part.forbidden_aggregates
        for alternatives in part.aggregates:
            yield from alternatives


def _is_settled(properties: Mapping[str, Any]) -> bool:
    """Whether these are properties by today's names, and of JSON."""
    raw = _encode(properties)
    _decode_object(raw)
    return (
        len(raw) <= MAX_TEXT
        and "traits_required" not in properties
        and nouns.OLD_PROPERTIES.keys().isdisjoint(properties)
        and not any(key.startswith(nouns.REQUIRED_TRAIT) for key in properties)
    )


def are_sound(found: PlainStats) -> bool:
    """Whether a parser would leave ``found``, whose texts are not too long, unchanged.
    Raises Invalid."""
    cells, pools, counts = found.numa_topology, found.pci_stats, found.stats
    if cells is not UNSET and cells is not None:
        shared_cells(f"{STATS}.numa_topology", cells)
    if pools:
        if not all(map(_is_pool, pools)):
            return False
        shared_pools(f"{STATS}.pci_stats", pools)
    return (
        (not found.metrics or all(map(_is_metric, found.metrics)))
        and (not counts or all(_is_count(counts.get(name, 0)) for name in COUNTS))
        and (not isinstance(found.uuid, str) or is_canonical(found.uuid) is not None)
        and (not found.instances or all(map(is_canonical, found.instances)))
    )


def as_stats(found: PlainStats) -> HostStats:
    """Plain stats as ``HostStats``, without what they say of types."""
    return HostStats(*_fields_of(found))


def _is_metric(one: Mapping[str, Any]) -> bool:
    name, value = one.get("name"), one.get("value")
    return (
        isinstance(name, str)
        and 0 < len(name) <= MAX_NAME
        and type(value) in (int, float)
        and -MAX_REAL <= value <= MAX_REAL  # type: ignore[operator]
        and NAME not in one
        and DATA not in one
    )


def _is_pool(one: Mapping[str, Any]) -> bool:
    is_odd = "tags" in one or NAME in one or DATA in one
    return not is_odd and _is_amount(one.get("count"))


def _is_count(value: Any) -> bool:
    if isinstance(value, str):
        return len(value) < 10 and value.isascii() and value.isdigit()
    return _is_amount(value)


def _is_amount(value: Any) -> bool:
    return type(value) is int and 0 <= value <= MAX_WHOLE


# -- field by field ---------------------------------------------------------------


def _read_spec(value: Any) -> RequestSpec:
    if not isinstance(value, RequestSpec):
        raise scalars.refusal(ROOT, "a RequestSpec", value)
    return read_spec(_fields(value))


def _text(path: str, value: Any) -> str | None:
    return None if value is None else scalars.text(path, value)


def _fields(value: Any) -> Any:
    """A value as a parser expects it: objects and lists, all else unchanged."""
    if isinstance(value, Struct):
        return {
            name: _fields(one)
            for name in value.__struct_fields__
            if (one := getattr(value, name)) is not UNSET
        }
    if isinstance(value, list | tuple):
        return [_fields(one) for one in value]
    return value
