"""Pinned and unpinned CPUs: from policies and masks to amounts of PCPU and VCPU.

Separate from the other translations because policies of flavor and image and explicit
amounts express the same in three ways, which may contradict each other.
"""

from __future__ import annotations

from typing import Final, cast

from msgspec import Struct

from gantt.errors import NeverFits
from gantt.model.cpu_sets import mask_of
from gantt.model.forms.instance_topology import MOST_CPUS
from gantt.model.spec import RequestSpec
from gantt.model.topology import CpuPolicy, Cpus, ThreadPolicy
from gantt.scheduler.request import settings
from gantt.scheduler.request.request_draft import RequestDraft, take_in_groups

HYPERTHREADING: Final = "HW_CPU_HYPERTHREADING"
_POLICY: Final = "hw:cpu_policy"
_THREADS: Final = "hw:cpu_thread_policy"
_EMULATOR: Final = "hw:emulator_threads_policy"
_MASK: Final = "hw:cpu_dedicated_mask"
_REALTIME: Final = "hw:cpu_realtime"
_REALTIME_MASK: Final = "hw:cpu_realtime_mask"
_POLICIES: Final = ("dedicated", "mixed", "shared")
_THREAD_POLICIES: Final = ("isolate", "prefer", "require")


class Pinning(Struct, frozen=True):
    """``policy`` None: not given. ``pinned``: the vCPUs that are pinned.
    ``isolates_emulator``: it gets a pinned CPU of its own."""

    policy: CpuPolicy | None = None
    threads: ThreadPolicy | None = None
    pinned: Cpus = 0
    isolates_emulator: bool = False

    @property
    def is_pinning(self) -> bool:
        return self.policy in ("dedicated", "mixed")


def pin(spec: RequestSpec, demand: RequestDraft) -> bool:
    """Turn CPU policies into amounts and traits; whether unpinned CPUs are acceptable
    instead.

    ``demand`` holds only the flavor's explicit amounts. Raises NeverFits.
    """
    policy = cpu_policy(spec)
    threads = thread_policy(spec)
    is_isolated = _emulator_policy(spec) == "isolate"
    _check_explicit(spec, demand, policy, is_isolated)
    is_pinning = policy in ("dedicated", "mixed") or demand.total("PCPU") > 0
    if not is_pinning and threads in ("isolate", "require"):
        raise NeverFits(_needs_pinning(_THREADS, threads))
    if not is_pinning and is_isolated:
        raise NeverFits(_needs_pinning(_EMULATOR, "isolate"))
    amounts = demand.main.amounts
    if policy == "dedicated":
        amounts["PCPU"] = spec.flavor.vcpus + is_isolated
    elif policy == "mixed":
        pinned = _dedicated_count(spec)
        amounts["VCPU"] = spec.flavor.vcpus - pinned
        amounts["PCPU"] = pinned + is_isolated
    if threads == "isolate":
        demand.main.forbidden.add(HYPERTHREADING)
    elif threads == "require":
        demand.main.required.add(HYPERTHREADING)
    return policy == "dedicated"


def pinning(spec: RequestSpec) -> Pinning:
    """Which vCPUs are pinned, and how, by all the rules of Nova's API (``pin`` takes
    amounts of requests that it made under older rules). Raises NeverFits."""
    demand = RequestDraft()
    take_in_groups(spec.flavor.extra_specs, demand)
    emulator = _emulator_policy(spec)
    policy = cpu_policy(spec)
    _check_explicit(spec, demand, policy, emulator == "isolate")
    if policy is None and demand.total("PCPU"):
        policy = "dedicated"
    elif policy is None and demand.total("VCPU"):
        policy = "shared"
    threads = _threads_or_trait(spec, demand)
    if policy not in ("dedicated", "mixed"):
        _check_unpinned(spec, threads, emulator)
    realtime = _realtime(spec, emulator)
    mask = spec.flavor.extra_specs.get(_MASK)
    if mask and policy != "mixed":
        raise NeverFits(
            f"{_MASK}={mask!r} is for {_POLICY}=mixed: set it, or leave it out"
        )
    pinned: Cpus = 0
    if policy == "dedicated":
        check_count(spec.flavor.vcpus)
        pinned = (1 << spec.flavor.vcpus) - 1
    elif policy == "mixed":
        pinned = _mixed(spec, mask, realtime)
    return Pinning(
        cast(CpuPolicy | None, policy),
        cast(ThreadPolicy | None, threads),
        pinned,
        emulator == "isolate",
    )


def cpu_policy(spec: RequestSpec) -> str | None:
    """dedicated, mixed, shared, or None: not given. Raises NeverFits."""
    flavor = _one_of(_POLICY, spec.flavor.extra_specs.get(_POLICY), _POLICIES)
    named = settings.property_name(_POLICY)
    image = _one_of(named, settings.of_image(spec, _POLICY), _POLICIES)
    refused = {"mixed": ("dedicated",), "shared": ("dedicated", "mixed")}
    if flavor is not None and image in refused.get(flavor, ()):
        raise NeverFits(
            f"the flavor says {_POLICY}={flavor}, the image {named}={image}: an image "
            "cannot ask for more than its flavor gives; use another flavor or image"
        )
    return flavor if flavor is not None else image


def thread_policy(spec: RequestSpec) -> str | None:
    """isolate, prefer, require, or None: not given. A flavor that prefers overrides its
    image, as in Nova. Raises NeverFits."""
    flavor = _one_of(_THREADS, spec.flavor.extra_specs.get(_THREADS), _THREAD_POLICIES)
    named = settings.property_name(_THREADS)
    image = _one_of(named, settings.of_image(spec, _THREADS), _THREAD_POLICIES)
    if flavor in (None, "prefer"):
        return flavor if flavor is not None else image
    if image is not None and image != flavor:
        raise NeverFits(
            f"the flavor says {_THREADS}={flavor}, the image {named}={image}: let them "
            "agree, or only one of them say it"
        )
    return flavor


def parse_mask(
    key: str, text: str, vcpus: int, *, is_of_all: bool = True
) -> frozenset[int]:
    """The CPUs that a mask names: "0-3,^1" and the like; ``is_of_all``: one that begins
    with ``^`` takes from all, else from none. Raises NeverFits when it is malformed or
    exceeds the instance."""
    check_count(vcpus)
    chosen: set[int] = set()
    removed: set[int] = set()
    if is_of_all and text.strip().startswith("^"):
        chosen.update(range(vcpus))
    for rule in text.split(","):
        rule = rule.strip()
        if rule:
            taken = removed if rule.startswith("^") else chosen
            taken.update(_span(key, text, rule.removeprefix("^"), vcpus))
    return frozenset(chosen - removed)


def check_count(vcpus: int) -> None:
    """Raises NeverFits: no host has so many."""
    if vcpus > MOST_CPUS:
        raise NeverFits(
            f"the flavor has {vcpus} vCPUs, which are told apart here: no host has so "
            f"many; give it at most {MOST_CPUS}"
        )


def _span(key: str, text: str, rule: str, vcpus: int) -> range:
    first, dash, last = (part.strip() for part in rule.partition("-"))
    if not dash:
        last = first
    numbers = [part for part in (first, last) if part.isascii() and part.isdigit()]
    if len(numbers) < 2 or max(map(len, numbers)) > 9 or int(first) > int(last):
        raise NeverFits(
            f"{key}={text!r} is not a set of CPUs: {rule!r} is neither a number nor a "
            'range; write it like "0-3,^1"'
        )
    if int(last) >= vcpus:
        raise NeverFits(
            f"{key}={text!r} names CPU {int(last)}, the flavor has {vcpus} (counted "
            "from 0)"
        )
    return range(int(first), int(last) + 1)


def _dedicated_count(spec: RequestSpec) -> int:
    """How many CPUs of a mixed instance are pinned."""
    vcpus = spec.flavor.vcpus
    mask = spec.flavor.extra_specs.get(_MASK)
    key = _MASK
    if not mask:
        key, mask = _REALTIME_MASK, _realtime_mask(spec)
    if not mask:
        raise NeverFits(
            f"{_POLICY}=mixed does not say which CPUs are pinned: give {_MASK}, or "
            f"{_REALTIME} with {_REALTIME_MASK}"
        )
    pinned = len(parse_mask(key, mask, vcpus))
    if not 0 < pinned < vcpus:
        raise NeverFits(
            f"{_POLICY}=mixed with {key}={mask!r} pins {pinned} of {vcpus} CPUs: at "
            "least one must be pinned and one not"
        )
    return pinned


def _mixed(spec: RequestSpec, mask: str | None, realtime: Cpus | None) -> Cpus:
    """The pinned vCPUs of a mixed instance: those of one of the two masks."""
    if mask and realtime is not None:
        raise NeverFits(
            f"{_MASK}={mask!r} and {_REALTIME} both say which CPUs of {_POLICY}=mixed "
            "are pinned: say only one of them"
        )
    _dedicated_count(spec)
    if mask:
        return mask_of(parse_mask(_MASK, mask, spec.flavor.vcpus))
    return realtime or 0


def _threads_or_trait(spec: RequestSpec, demand: RequestDraft) -> str | None:
    """The thread policy, or what a trait says of it. Raises NeverFits."""
    threads = thread_policy(spec)
    image = spec.image.properties.get("traits_required") if spec.image else None
    parts = demand.parts.values()
    is_forbidden = any(HYPERTHREADING in part.forbidden for part in parts)
    is_required = any(HYPERTHREADING in part.required for part in parts) or (
        isinstance(image, list | tuple | set | frozenset) and HYPERTHREADING in image
    )
    if is_forbidden and is_required:
        raise NeverFits(
            f"the trait {HYPERTHREADING} is required and forbidden: it says how "
            "threads are used; say one of them"
        )
    by_trait = "isolate" if is_forbidden else "require" if is_required else None
    if by_trait is None or threads is None:
        return by_trait or threads
    raise NeverFits(
        f"{_THREADS}={threads} and the trait {HYPERTHREADING} both say how threads are "
        "used: say only one of them"
    )


def _realtime(spec: RequestSpec, emulator: str | None) -> Cpus | None:
    """The real-time vCPUs; None: none. Raises NeverFits."""
    if not _is_realtime(spec):
        return None
    text, vcpus = _realtime_mask(spec), spec.flavor.vcpus
    check_count(vcpus)
    chosen = frozenset(range(vcpus))
    if text:
        chosen = parse_mask(_REALTIME_MASK, text, vcpus)
    if emulator is None and not 0 < len(chosen) < vcpus:
        raise NeverFits(
            f"{_REALTIME} with {_REALTIME_MASK}={text!r} makes {len(chosen)} of "
            f"{vcpus} CPUs real-time: leave some of them ordinary, or say where "
            f"emulator threads run with {_EMULATOR}"
        )
    return mask_of(chosen)


def _check_unpinned(
    spec: RequestSpec, threads: str | None, emulator: str | None
) -> None:
    if threads is not None:
        raise NeverFits(_needs_pinning(_THREADS, threads))
    if emulator == "isolate":
        raise NeverFits(_needs_pinning(_EMULATOR, emulator))
    if _is_realtime(spec):
        raise NeverFits(_needs_pinning(_REALTIME, "true"))


def _is_realtime(spec: RequestSpec) -> bool:
    return settings.truth(_REALTIME, spec.flavor.extra_specs.get(_REALTIME, ""))


def _realtime_mask(spec: RequestSpec) -> str | None:
    if not _is_realtime(spec):
        return None
    image = settings.of_image(spec, _REALTIME_MASK)
    return str(image) if image else spec.flavor.extra_specs.get(_REALTIME_MASK)


def _emulator_policy(spec: RequestSpec) -> str | None:
    said = spec.flavor.extra_specs.get(_EMULATOR)
    return _one_of(_EMULATOR, said, ("isolate", "share"))


def _check_explicit(
    spec: RequestSpec, demand: RequestDraft, policy: str | None, is_isolated: bool
) -> None:
    pinned, shared = demand.total("PCPU"), demand.total("VCPU")
    if not (pinned or shared):
        return
    if pinned and shared:
        raise NeverFits(
            f"the flavor asks for {pinned} resources:PCPU and {shared} resources:VCPU: "
            f"ask for one of them, or use {_POLICY}=mixed"
        )
    if policy is not None:
        name = "PCPU" if pinned else "VCPU"
        raise NeverFits(
            f"{_POLICY}={policy} and resources:{name}={pinned or shared} both say how "
            "many CPUs are pinned: say only one of them"
        )
    expected = spec.flavor.vcpus + is_isolated
    if pinned and pinned != expected:
        raise NeverFits(
            f"resources:PCPU={pinned} for a flavor of {spec.flavor.vcpus} vCPUs"
            f"{' and one for the emulator' if is_isolated else ''}: ask for {expected}"
        )


def _one_of(name: str, value: object, allowed: tuple[str, ...]) -> str | None:
    if value is None:
        return None
    if value not in allowed:
        raise NeverFits(f"{name}={value!r} is unknown: give {' or '.join(allowed)}")
    return str(value)


def _needs_pinning(key: str, value: str) -> str:
    return (
        f"{key}={value} is for pinned CPUs, and none are asked for: set "
        f"{_POLICY}=dedicated or mixed, or leave it out"
    )
