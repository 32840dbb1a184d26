"""Pinned and unpinned CPUs: from policies and masks to amounts of PCPU and VCPU.

Separate from the other translations because policies of flavor and image and explicit
amounts express the same in three ways, which may contradict each other.
"""

from __future__ import annotations

from typing import Final

from gantt.errors import Invalid
from gantt.model.spec import RequestSpec
from gantt.scheduler.request import settings
from gantt.scheduler.request.demand import Demand

HYPERTHREADING: Final = "HW_CPU_HYPERTHREADING"
_POLICY: Final = "hw:cpu_policy"
_THREADS: Final = "hw:cpu_thread_policy"
_EMULATOR: Final = "hw:emulator_threads_policy"
_MASK: Final = "hw:cpu_dedicated_mask"
_REALTIME: Final = "hw:cpu_realtime"
_REALTIME_MASK: Final = "hw:cpu_realtime_mask"
_POLICIES: Final = ("dedicated", "mixed", "shared")
_THREAD_POLICIES: Final = ("isolate", "prefer", "require")
# A mask is a set of CPUs of one instance; no machine has more than this.
_MOST_CPUS: Final = 65_536


def pin(spec: RequestSpec, demand: Demand) -> bool:
    """Turn CPU policies into amounts and traits; whether unpinned CPUs are acceptable
    instead.

    ``demand`` holds only the flavor's explicit amounts. Raises Invalid.
    """
    policy = cpu_policy(spec)
    threads = thread_policy(spec)
    is_isolated = _emulator_policy(spec) == "isolate"
    _check_explicit(spec, demand, policy, is_isolated)
    is_pinning = policy in ("dedicated", "mixed") or demand.total("PCPU") > 0
    if not is_pinning and threads in ("isolate", "require"):
        raise Invalid(_needs_pinning(_THREADS, threads))
    if not is_pinning and is_isolated:
        raise Invalid(_needs_pinning(_EMULATOR, "isolate"))
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


def cpu_policy(spec: RequestSpec) -> str | None:
    """dedicated, mixed, shared, or None: not given. Raises Invalid."""
    flavor = _one_of(_POLICY, spec.flavor.extra_specs.get(_POLICY), _POLICIES)
    named = settings.property_name(_POLICY)
    image = _one_of(named, settings.of_image(spec, _POLICY), _POLICIES)
    refused = {"mixed": ("dedicated",), "shared": ("dedicated", "mixed")}
    if flavor is not None and image in refused.get(flavor, ()):
        raise Invalid(
            f"the flavor says {_POLICY}={flavor}, the image {named}={image}: an image "
            "cannot ask for more than its flavor gives; use another flavor or image"
        )
    return flavor if flavor is not None else image


def thread_policy(spec: RequestSpec) -> str | None:
    """isolate, prefer, require, or None: not given. Raises Invalid."""
    flavor = _one_of(_THREADS, spec.flavor.extra_specs.get(_THREADS), _THREAD_POLICIES)
    named = settings.property_name(_THREADS)
    image = _one_of(named, settings.of_image(spec, _THREADS), _THREAD_POLICIES)
    if flavor in (None, "prefer"):
        return image if image is not None else flavor
    if image is not None and image != flavor:
        raise Invalid(
            f"the flavor says {_THREADS}={flavor}, the image {named}={image}: let them "
            "agree, or only one of them say it"
        )
    return flavor


def parse_mask(key: str, text: str, vcpus: int) -> frozenset[int]:
    """The CPUs that a mask names: "0-3,^1" and the like; one that begins with ``^``
    takes from all. Raises Invalid when it is malformed or exceeds the instance."""
    if not 0 <= vcpus <= _MOST_CPUS:
        raise Invalid(f"{key} is a mask over {vcpus} vCPUs: no host has so many")
    chosen: set[int] = set()
    removed: set[int] = set()
    if text.strip().startswith("^"):
        chosen.update(range(vcpus))
    for rule in text.split(","):
        rule = rule.strip()
        if rule:
            taken = removed if rule.startswith("^") else chosen
            taken.update(_span(key, text, rule.removeprefix("^"), vcpus))
    return frozenset(chosen - removed)


def _span(key: str, text: str, rule: str, vcpus: int) -> range:
    first, dash, last = (part.strip() for part in rule.partition("-"))
    if not dash:
        last = first
    numbers = [part for part in (first, last) if part.isascii() and part.isdigit()]
    if len(numbers) < 2 or max(map(len, numbers)) > 9 or int(first) > int(last):
        raise Invalid(
            f"{key}={text!r} is not a set of CPUs: {rule!r} is neither a number nor a "
            'range; write it like "0-3,^1"'
        )
    if int(last) >= vcpus:
        raise Invalid(
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
        raise Invalid(
            f"{_POLICY}=mixed does not say which CPUs are pinned: give {_MASK}, or "
            f"{_REALTIME} with {_REALTIME_MASK}"
        )
    pinned = len(parse_mask(key, mask, vcpus))
    if not 0 < pinned < vcpus:
        raise Invalid(
            f"{_POLICY}=mixed with {key}={mask!r} pins {pinned} of {vcpus} CPUs: at "
            "least one must be pinned and one not"
        )
    return pinned


def _realtime_mask(spec: RequestSpec) -> str | None:
    if not settings.truth(_REALTIME, spec.flavor.extra_specs.get(_REALTIME, "")):
        return None
    image = settings.of_image(spec, _REALTIME_MASK)
    return str(image) if image else spec.flavor.extra_specs.get(_REALTIME_MASK)


def _emulator_policy(spec: RequestSpec) -> str | None:
    said = spec.flavor.extra_specs.get(_EMULATOR)
    return _one_of(_EMULATOR, said, ("isolate", "share"))


def _check_explicit(
    spec: RequestSpec, demand: Demand, policy: str | None, is_isolated: bool
) -> None:
    pinned, shared = demand.total("PCPU"), demand.total("VCPU")
    if not (pinned or shared):
        return
    if pinned and shared:
        raise Invalid(
            f"the flavor asks for {pinned} resources:PCPU and {shared} resources:VCPU: "
            f"ask for one of them, or use {_POLICY}=mixed"
        )
    if policy is not None:
        name = "PCPU" if pinned else "VCPU"
        raise Invalid(
            f"{_POLICY}={policy} and resources:{name}={pinned or shared} both say how "
            "many CPUs are pinned: say only one of them"
        )
    expected = spec.flavor.vcpus + is_isolated
    if pinned and pinned != expected:
        raise Invalid(
            f"resources:PCPU={pinned} for a flavor of {spec.flavor.vcpus} vCPUs"
            f"{' and one for the emulator' if is_isolated else ''}: ask for {expected}"
        )


def _one_of(name: str, value: object, allowed: tuple[str, ...]) -> str | None:
    if value is None:
        return None
    if value not in allowed:
        raise Invalid(f"{name}={value!r} is unknown: give {' or '.join(allowed)}")
    return str(value)


def _needs_pinning(key: str, value: str) -> str:
    return (
        f"{key}={value} is for pinned CPUs, and none are asked for: set "
        f"{_POLICY}=dedicated or mixed, or leave it out"
    )
