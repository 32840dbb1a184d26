"""Fields of newer objects in a request, which are ignored here.

A table, because readers of objects pass over much that is known and not needed. Names
are facts of Nova 34.0.0, for the versions in ``gantt.model.forms.document``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from gantt.errors import Invalid
from gantt.model.forms.document import DATA, NAME, VERSION, VERSIONS, check_version

# Objects that are read, or kept for plug-ins -> their fields.
KNOWN: Final[Mapping[str, frozenset[str]]] = {
    kind: frozenset(fields.split())
    for kind, fields in {
        "RequestSpec": "id image numa_topology pci_requests project_id user_id "
        "availability_zone flavor num_instances ignore_hosts force_hosts force_nodes "
        "requested_destination retry limits instance_group scheduler_hints "
        "instance_uuid security_groups network_metadata is_bfv requested_resources "
        "request_level_params requested_networks",
        "Flavor": "id name memory_mb vcpus root_gb ephemeral_gb flavorid swap "
        "rxtx_factor vcpu_weight disabled is_public extra_specs projects description "
        "created_at updated_at deleted_at deleted",
        "ImageMeta": "id name status visibility protected checksum owner size "
        "virtual_size container_format disk_format created_at updated_at tags "
        "direct_url min_ram min_disk properties",
        "ImageMetaProps": "hw_architecture hw_auto_disk_config hw_boot_menu "
        "hw_cdrom_bus hw_cpu_cores hw_cpu_max_cores hw_cpu_max_sockets "
        "hw_cpu_max_threads hw_cpu_policy hw_cpu_realtime_mask hw_cpu_sockets "
        "hw_cpu_thread_policy hw_cpu_threads hw_device_id hw_disk_bus hw_disk_type "
        "hw_emulation_architecture hw_ephemeral_encryption "
        "hw_ephemeral_encryption_format hw_ephemeral_encryption_secret_uuid "
        "hw_firmware_stateless hw_firmware_type hw_floppy_bus hw_input_bus "
        "hw_ipxe_boot hw_locked_memory hw_machine_type hw_maxphysaddr_bits "
        "hw_maxphysaddr_mode hw_mem_encryption hw_mem_encryption_model "
        "hw_mem_page_size hw_numa_cpus hw_numa_mem hw_numa_nodes "
        "hw_pci_numa_affinity_policy hw_pmu hw_pointer_model hw_qemu_guest_agent "
        "hw_redirected_usb_ports hw_rescue_bus hw_rescue_device hw_rng_model "
        "hw_scsi_model hw_serial_port_count hw_sound_model hw_time_hpet hw_tpm_model "
        "hw_tpm_version hw_usb_model hw_video_model hw_video_ram hw_vif_model "
        "hw_vif_multiqueue_enabled hw_viommu_model hw_virtio_packed_ring hw_vm_mode "
        "hw_watchdog_action img_bdm_v2 img_bittorrent img_block_device_mapping "
        "img_cache_in_nova img_compression_level img_config_drive "
        "img_hide_hypervisor_id img_hv_requested_version img_hv_type img_linked_clone "
        "img_mappings img_owner_id img_root_device_name img_signature "
        "img_signature_certificate_uuid img_signature_hash_method "
        "img_signature_key_type img_use_agent img_version os_admin_user "
        "os_command_line os_distro os_require_quiesce os_secure_boot "
        "os_skip_agent_inject_files_at_boot os_skip_agent_inject_ssh os_type "
        "traits_required",
        "Destination": "host node cell aggregates allow_cross_cell_move "
        "forbidden_aggregates",
        "CellMapping": "id uuid name transport_url database_connection disabled "
        "created_at updated_at",
        "InstanceGroup": "id user_id project_id uuid name policies members hosts "
        "policy _rules created_at updated_at deleted_at deleted",
        "RequestGroup": "use_same_provider resources required_traits "
        "forbidden_traits aggregates forbidden_aggregates requester_id provider_uuids "
        "in_tree",
        "RequestLevelParams": "root_required root_forbidden same_subtree",
        "NetworkRequestList": "objects",
        "NetworkRequest": "network_id address port_id pci_request_id tag arq_uuid "
        "device_profile",
        "InstanceNUMATopology": "id instance_uuid cells emulator_threads_policy",
        "InstanceNUMACell": "id cpuset pcpuset cpuset_reserved memory pagesize "
        "cpu_topology cpu_pinning_raw cpu_policy cpu_thread_policy",
        "InstancePCIRequests": "instance_uuid requests",
        "InstancePCIRequest": "count spec alias_name is_new request_id requester_id "
        "numa_policy",
        "SchedulerRetries": "num_attempts hosts",
    }.items()
}


def newer_fields(spec: Any) -> Iterator[str]:
    """KIND.FIELD of all that is not known in newer objects of ``spec``, the primitive
    of a RequestSpec (of other forms: nothing), however deep they are."""
    waiting = [spec]
    while waiting:
        one = waiting.pop()
        if isinstance(one, list):
            waiting.extend(part for part in one if isinstance(part, dict))
            continue
        data = one.get(DATA) if isinstance(one, dict) else None
        if not isinstance(data, dict):
            continue
        kind = str(one.get(NAME))
        if kind in KNOWN and _is_newer(kind, one.get(VERSION)):
            yield from (f"{kind}.{name}" for name in data.keys() - KNOWN[kind])
        waiting.extend(part for part in data.values() if isinstance(part, dict | list))


def _is_newer(kind: str, version: Any) -> bool:
    known = VERSIONS[kind]
    try:
        return version != known and check_version(kind, version, known)
    except Invalid:  # the reader refuses it
        return False
