"""Keys of extra specs that are misspelt: they would limit nothing.

Extra specs are free-form: those of other programs and drivers, and of Nova where they
do not concern a scheduler, pass unread. So no unknown key is refused by itself, only
one that nearly is a key which limits hosts. Apart from ``known_names``, which needs the
State: this compares texts, in the caller's thread.
"""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import Final

from gantt.errors import Invalid
from gantt.model.spec import RequestSpec

_OF_CELL: Final = re.compile(r"\Ahw:numa_(?:cpus|mem)\.[0-9]+\Z")
LIMITING: Final = frozenset(
    "group_policy pci_passthrough:alias accel:device_profile hw:cpu_policy "
    "hw:cpu_thread_policy hw:emulator_threads_policy hw:cpu_dedicated_mask "
    "hw:cpu_realtime hw:cpu_realtime_mask hw:mem_page_size hw:locked_memory "
    "hw:numa_nodes hw:numa_cpus.0 hw:numa_mem.0 hw:pmem hw:pci_numa_affinity_policy "
    "hw:mem_encryption hw:mem_encryption_model hw:tpm_version hw:tpm_model "
    "hw:tpm_secret_security hw:maxphysaddr_mode hw:maxphysaddr_bits "
    "hw:ephemeral_encryption hw:ephemeral_encryption_format hw:virtio_packed_ring "
    "hw:sound_model hw:viommu_model".split()
)
"""Keys by which hosts are chosen here, or by Nova before its scheduler is asked."""
OTHERS: Final = frozenset(
    "hw:hide_hypervisor_id hw:cpu_sockets hw:cpu_cores hw:cpu_threads "
    "hw:cpu_max_sockets hw:cpu_max_cores hw:cpu_max_threads hw:boot_menu "
    "hw:vif_multiqueue_enabled hw:pmu hw:serial_port_count hw:watchdog_action "
    "hw:usb_model hw:redirected_usb_ports".split()
)
"""Other keys of Nova's under ``hw:``; they only look like those above."""
_BEGINS: Final = ("hw:", "pci_passthrough:", "accel:", "group_")
_LIKENESS: Final = 0.85


def check_spelling(spec: RequestSpec) -> None:
    """Raises Invalid, with the key that is meant."""
    for key in spec.flavor.extra_specs:
        if not key.startswith(_BEGINS) or key in LIMITING or key in OTHERS:
            continue
        if _OF_CELL.match(key):
            continue
        near = get_close_matches(key, LIMITING, 1, _LIKENESS)
        if near:
            raise Invalid(
                f"The extra spec {key!r} is not known, and limits nothing: {near[0]!r} "
                "is. Correct it, or leave it out."
            )
