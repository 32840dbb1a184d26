"""Flavors and images at random that ask for a topology, and for devices by alias.

Mostly what makes sense together, so that many are not refused; now and then what does
not.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from gantt.model.spec import Flavor, Image, RequestSpec

_FLAVOR: dict[str, tuple[tuple[Any, ...], tuple[Any, ...]]] = {
    # Often, and now and then.
    "hw:numa_nodes": (("1", "2"), ("0", "3", "4", "x", "-1", " 2")),
    "hw:cpu_policy": (("dedicated", "mixed"), ("shared", "pinned")),
    "hw:cpu_thread_policy": (("prefer", "isolate", "require"), ("maybe",)),
    "hw:emulator_threads_policy": (("isolate", "share"), ("away",)),
    "hw:cpu_dedicated_mask": (("0", "^0", "0-1"), ("0-3", "^0-3", "9", "^0,^9", "x")),
    "hw:cpu_realtime": (("yes", "no"), ("maybe",)),
    "hw:cpu_realtime_mask": (("^0", "0-1"), ("0-3", "^0-3", "^9", "")),
    "hw:mem_page_size": (
        ("small", "large", "any", "2048", "2MB"),
        ("4", "4KB", "1GB", "1GiB", "0.5GB", "3MB", "x", "2mb", "-1", "0", "100B"),
    ),
    "hw:locked_memory": (("true", "false"), ("maybe",)),
    "hw:pmem": (("6GB",), ("6GB,4GB",)),
    "resources:PCPU": (("4",), ("5", "0", "3")),
    "resources1:PCPU": ((), ("4", "2")),
    "resources:VCPU": ((), ("4", "2", "0")),
    "trait:HW_CPU_HYPERTHREADING": ((), ("required", "forbidden")),
    "trait2:HW_CPU_HYPERTHREADING": ((), ("required", "forbidden")),
}
_IMAGE: dict[str, tuple[tuple[Any, ...], tuple[Any, ...]]] = {
    "hw_numa_nodes": ((1, 2), (3,)),
    "hw_cpu_policy": (("dedicated",), ("shared", "mixed")),
    "hw_cpu_thread_policy": (("prefer", "isolate", "require"), ()),
    "hw_cpu_realtime_mask": (("^0",), ("0-3", "2-3")),
    "hw_mem_page_size": (("2MB", "small", "any"), ("4", "x")),
    "hw_locked_memory": ((True, False), ()),
    "traits_required": ((), (["HW_CPU_HYPERTHREADING"], ["CUSTOM_A"])),
}
_SETS = ("0-1", "2-3", "0", "1-3", "0-2", "3", "^0", "^3", "0-3", "2-4", "")
_SIZES = ("512", "1000", "24", "1024", "0", "x", "-24")
_SPLITS = (
    (("0-1", "512"), ("2-3", "512")),
    (("0-2", "1000"), ("^0-2", "24")),
    (("0", "24"), ("1-3", "1000")),
    (("0,2", "512"), ("1,3", "512")),
)


@st.composite
def _some(
    draw: st.DrawFn, known: dict[str, tuple[tuple[Any, ...], tuple[Any, ...]]]
) -> dict[str, Any]:
    """A few of the settings, seldom with an odd value."""
    count = draw(st.integers(0, 3))
    names = draw(
        st.lists(
            st.sampled_from(sorted(known)),
            min_size=min(count, len(known)),
            max_size=count,
            unique=True,
        )
    )
    found = {}
    for name in names:
        often, seldom = known[name]
        values = seldom if not often or not draw(st.integers(0, 9)) else often
        if values:
            found[name] = draw(st.sampled_from(values))
    return found


@st.composite
def _split(draw: st.DrawFn) -> dict[str, str]:
    """Which vCPUs and how much memory each node has; mostly consistent."""
    if draw(st.integers(0, 3)):
        split = draw(st.sampled_from(_SPLITS))
        found = {"hw:numa_nodes": "2"}
        for number, (cpus, memory) in enumerate(split):
            found |= {f"hw:numa_cpus.{number}": cpus, f"hw:numa_mem.{number}": memory}
        return found
    keys = [f"hw:numa_{what}.{number}" for what in ("cpus", "mem") for number in "012"]
    chosen = draw(st.lists(st.sampled_from(keys), max_size=5, unique=True))
    return {
        key: draw(st.sampled_from(_SETS if "cpus" in key else _SIZES)) for key in chosen
    }


@st.composite
def _image_split(draw: st.DrawFn) -> dict[str, Any]:
    sets = st.sampled_from([[[0, 1], [2, 3]], [[0], [1, 2, 3]], [[0, 1, 2, 3]]])
    memories = st.sampled_from([[512, 512], [24, 1000], [1024], [512]])
    return {"hw_numa_cpus": draw(sets), "hw_numa_mem": draw(memories)}


def _without_pinning(said: dict[str, str]) -> dict[str, str]:
    about = ("hw:cpu", "hw:emu", "resources", "trait")
    return {key: one for key, one in said.items() if not key.startswith(about)}


@st.composite
def topologies(draw: st.DrawFn) -> RequestSpec:
    """A flavor and an image."""
    extra_specs = draw(_some(_FLAVOR))
    if draw(st.booleans()):
        extra_specs = _without_pinning(extra_specs)
    elif "resources:PCPU" not in extra_specs:
        extra_specs.setdefault("hw:cpu_policy", "dedicated")
    properties = {} if draw(st.integers(0, 2)) else draw(_some(_IMAGE))
    if not draw(st.integers(0, 2)):
        extra_specs |= draw(_split())
    elif not draw(st.integers(0, 5)):
        properties |= draw(_image_split())
    flavor = Flavor(
        vcpus=draw(st.sampled_from([4, 4, 4, 4, 1, 8])),
        memory_mb=draw(st.sampled_from([1024, 1024, 1024, 1023])),
        extra_specs=extra_specs,
    )
    return RequestSpec(flavor=flavor, image=Image(properties=properties))


# --------------------------------------------------------------------------- devices

_NAMES = ("gpu", "nic", "any")


@st.composite
def aliases(draw: st.DrawFn) -> list[dict[str, str]]:
    """Valid ones; several of one name agree on what Nova compares, and have a device
    type, without which it compares nothing."""
    found = []
    for name in _NAMES:
        alike: dict[str, str] = {"name": name}
        if policy := draw(
            st.sampled_from(["", "required", "preferred", "legacy", "socket"])
        ):
            alike["numa_policy"] = policy
        if kind := draw(st.sampled_from(["", "type-PCI", "type-PF", "type-VF"])):
            alike["device_type"] = kind
        if migrates := draw(st.sampled_from(["", "", "yes", "no", "true"])):
            alike["live_migratable"] = migrates
        most = 2 if "device_type" in alike else 1
        for product in draw(
            st.lists(
                st.sampled_from(["1eb8", "1572"]),
                min_size=1,
                max_size=most,
                unique=True,
            )
        ):
            one = {**alike, "vendor_id": "10de", "product_id": product}
            if draw(st.integers(0, 3)) == 0:
                one |= {"resource_class": "GPU", "traits": "BLUE,CUSTOM_RED"}
            found.append(one)
    return found


@st.composite
def asked_devices(draw: st.DrawFn) -> RequestSpec:
    """A flavor that asks for devices by alias."""
    parts = st.tuples(
        st.sampled_from((*_NAMES * 5, "none")),
        st.sampled_from([*("1", "2", "3", "01") * 4, "0", "x"]),
    ).map(":".join)
    text = ",".join(draw(st.lists(parts, min_size=1, max_size=3)))
    extra_specs = {"pci_passthrough:alias": text}
    policies = ("required", "preferred", "legacy", "socket")
    if not draw(st.integers(0, 2)):
        extra_specs["hw:pci_numa_affinity_policy"] = draw(
            st.sampled_from((*policies * 2, "far"))
        )
    properties = {}
    if not draw(st.integers(0, 3)):
        properties["hw_pci_numa_affinity_policy"] = draw(st.sampled_from(policies))
    flavor = Flavor(vcpus=1, memory_mb=1, extra_specs=extra_specs)
    return RequestSpec(flavor=flavor, image=Image(properties=properties))
