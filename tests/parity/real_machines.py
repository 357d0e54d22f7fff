"""The machines that a fake driver shows the real nvidia-smi and `berth smi`: cards of three kinds. Their readings all
differ, so that one in another's place is seen."""

import copy
import json

MIB = 1 << 20
NOBODY = 5_000_000  # no kernel has a process of such a number
NOW_MS = 1_790_000_000_000  # the fake driver's clock stands still

CUDA = {"535": "12.2", "550": "12.4", "555": "12.5"}

# What every card tells, whatever it is.
COMMON = {
    "kind": "nvidia-gpu",
    "vbios_version": "96.00.A5.00.01",
    "persistence_mode": True,
    "display_active": False,
    "display_attached": False,
    "compute_mode": "Default",
    "performance_state": 2,
    "memory_total_bytes": 81559 * MIB,
    "memory_used_bytes": 61266 * MIB,
    "memory_free_bytes": 19814 * MIB,
    "memory_reserved_bytes": 479 * MIB,
    "utilization_gpu_percent": 97.0,
    "utilization_memory_percent": 44.0,
    "utilization_encoder_percent": 3.0,
    "utilization_decoder_percent": 4.0,
    "temperature_celsius": 67,
    "temperature_slowdown_celsius": 87,
    "temperature_shutdown_celsius": 92,
    "temperature_max_operating_celsius": 85,
    "temperature_target_celsius": 83,
    "temperature_target_min_celsius": 65,
    "temperature_target_max_celsius": 88,
    "power_management": "Supported",
    "power_draw_milliwatts": 634500,
    "power_draw_average_milliwatts": 634500,
    "power_draw_instant_milliwatts": 641230,
    "power_limit_milliwatts": 690000,
    "power_limit_requested_milliwatts": 691000,
    "power_limit_default_milliwatts": 700000,
    "power_limit_min_milliwatts": 200000,
    "power_limit_max_milliwatts": 705000,
    "power_state": 2,
    "clock_graphics_megahertz": 1921,
    "clock_sm_megahertz": 1922,
    "clock_memory_megahertz": 2619,
    "clock_video_megahertz": 1545,
    "clock_graphics_max_megahertz": 1980,
    "clock_sm_max_megahertz": 1981,
    "clock_memory_max_megahertz": 2620,
    "clock_video_max_megahertz": 1546,
    "throttle_reasons_mask": 0x44,
    "throttle_supported_mask": 0x1FF,
    "pcie_generation": 4,
    "pcie_generation_max": 5,
    "pcie_generation_device_max": 5,
    "pcie_width": 8,
    "pcie_width_max": 16,
    "pcie_replays": 9,
    "pcie_replay_rollovers": 2,
    "pcie_sent_bytes": 9_000_000_000,
    "pcie_received_bytes": 8_000_000_000,
    "pci_subsystem_id": "10de:16c1",
    "pci_base_class": 3,
    "pci_sub_class": 2,
    "board_id": 9,
    "multi_gpu_board": False,
    "inforom_image": "G520.0200.00.05",
    "inforom_oem": "2.1",
    "inforom_ecc": "7.16",
    "inforom_power": "1.3",
    "inforom_valid": True,
    "accounting_mode": True,
    "accounting_buffer_size": 4000,
    "bar1_total_bytes": 131072 * MIB,
    "bar1_used_bytes": 19 * MIB,
    "bar1_free_bytes": 131053 * MIB,
    "encoder_sessions": 2,
    "encoder_fps": 31,
    "encoder_latency_microseconds": 411,
    "capture_sessions": 1,
    "capture_fps": 17,
    "capture_latency_microseconds": 303,
    "samples_power_span_milliseconds": 2360,
    "samples_power_count": 119,
    "samples_power_max_milliwatts": 650000,
    "samples_power_min_milliwatts": 71000,
    "samples_power_average_milliwatts": 433000,
    "clock_application_graphics_megahertz": 1965,
    "clock_application_memory_megahertz": 2618,
    "clock_default_graphics_megahertz": 1964,
    "clock_default_memory_megahertz": 2617,
    "clock_customer_boost_megahertz": 1979,
    "virtualization_mode": "None",
    "utilization_history_ms_percent": [[100 + 1000 * i, 90.0 + i] for i in range(8)],
    "supported_clocks_megahertz": [
        {"memory": 2619, "graphics": [1980, 1965, 1950]},
        {"memory": 1593, "graphics": [1980, 345]},
    ],
    "accounted_processes": [
        {
            "pid": NOBODY + 7,
            "utilization_gpu_percent": 55.0,
            "utilization_memory_percent": 12.0,
            "memory_max_bytes": 4321 * MIB,
            "run_time_ms": 76543,
            "running": False,
        }
    ],
}  # fmt: skip


def samples(name, unit, count, span):
    told = {"max": 96, "min": 7, "average": 44}
    return {f"samples_{name}_{key}_{unit}": value for key, value in told.items()} | {
        f"samples_{name}_count": count,
        f"samples_{name}_span_milliseconds": span,
    }


def ecc_by_place(first):
    """Counts of errors by place, each another."""
    places = ("dram", "register_file", "l1_cache", "l2_cache", "texture", "cbu", "sram")
    kinds = [(kind, time) for kind in ("corrected", "uncorrected") for time in ("volatile", "aggregate")]
    names = [f"ecc_{kind}_{time}_{place}" for kind, time in kinds for place in places]
    counts = {name: first + number for number, name in enumerate(names)}
    for kind, time in kinds:
        total = f"ecc_{kind}_{time}_total" if time == "aggregate" else f"ecc_{kind}_errors"
        counts[total] = sum(counts[f"ecc_{kind}_{time}_{place}"] for place in places[:-1])
    return counts


def datacenter(index):
    """A Hopper that tells all that a driver of these branches can be asked."""
    uuid = f"GPU-{index:08x}-5e1a-4b0c-8d3f-0000b0e27000"
    pages = {"retired_pages_single_bit": None, "retired_pages_double_bit": None}
    return COMMON | pages | {
        "index": index, "minor_number": index, "id": uuid, "uuid": uuid,
        "name": "NVIDIA H100 80GB HBM3", "brand": "NVIDIA", "architecture": "Hopper",
        "pci_address": f"00000000:{0x1b + index:02x}:00.0", "pci_id": "10de:2330",
        "serial": f"165012300001{index}", "compute_capability": "9.0", "numa_node": 0,
        "mig_mode": False, "mig_mode_pending": True, "ecc_mode": True, "ecc_mode_pending": False,
        "board_part_number": "692-2G520-0200-000", "platform_module_id": 7,
        "inforom_flushed_unix_ms": 1_789_000_000_000, "inforom_flush_duration_microseconds": 12345,
        "gsp_firmware_version": "@driver", "gsp_mode": True, "gsp_mode_default": True,
        "c2c_mode": False, "host_vgpu_mode": "SR-IOV", "vgpu_heterogeneous_mode": "Disabled",
        "reset_required": False, "drain_and_reset_recommended": True, "egm": True,
        "protected_memory_total_bytes": 33 * MIB, "protected_memory_used_bytes": 12 * MIB,
        "protected_memory_free_bytes": 21 * MIB,
        "utilization_jpeg_percent": 5.0, "utilization_optical_flow_percent": 6.0,
        "temperature_memory_celsius": 73, "temperature_limit_margin_celsius": 26,
        "temperature_shutdown_margin_celsius": -8, "temperature_slowdown_margin_celsius": -2,
        "temperature_max_operating_margin_celsius": 1, "temperature_memory_margin_celsius": 3,
        "power_memory_average_milliwatts": 85830, "power_memory_instant_milliwatts": 85920,
        "module_power_draw_average_milliwatts": 812340, "module_power_draw_instant_milliwatts": 823450,
        "module_power_limit_milliwatts": 990000, "module_power_limit_requested_milliwatts": 991000,
        "module_power_limit_default_milliwatts": 1000000, "module_power_limit_min_milliwatts": 300000,
        "module_power_limit_max_milliwatts": 1005000,
        **ecc_by_place(101),
        "ecc_sram_parity_volatile": 11, "ecc_sram_secded_volatile": 12,
        "ecc_sram_parity_aggregate": 13, "ecc_sram_secded_aggregate": 14,
        "ecc_sram_threshold_exceeded": False, "ecc_sram_source_l2": 15, "ecc_sram_source_sm": 16,
        "ecc_sram_source_microcontroller": 17, "ecc_sram_source_pcie": 18, "ecc_sram_source_other": 19,
        "remapped_rows_correctable": 21, "remapped_rows_uncorrectable": 22,
        "remapped_rows_pending": False, "remapped_rows_failed": True,
        "remap_banks_max": 2560, "remap_banks_high": 4, "remap_banks_partial": 3,
        "remap_banks_low": 2, "remap_banks_none": 1,
        "fabric_state": "Completed", "fabric_status": "Success", "fabric_clique": 5,
        "fabric_cluster": "01234567-89ab-cdef-0123-456789abcdef", "fabric_health_bandwidth": "Full",
        **samples("utilization_memory", "percent", 99, 14000),
        **samples("utilization_encoder", "percent", 98, 14100),
        **samples("utilization_decoder", "percent", 97, 14200),
        **samples("clock_sm", "megahertz", 96, 14300),
        **samples("clock_memory", "megahertz", 95, 14400),
        "nvlink_count": 18, "cpu_affinity": "0-23,48-71",
        **samples("utilization_jpeg", "percent", 94, 14500),
        **samples("utilization_optical_flow", "percent", 93, 14600),
        "nvlinks": [
            {"number": link, "active": link != 5, "speed_bytes_per_second": 26_562_000_000,
             "remote_pci_address": f"00000000:{0xc0 + link % 4:02x}:00.0"}
            for link in range(18)
        ],
    }  # fmt: skip


def divided(card):
    """Its MIG instances, of two profiles, and what they are on."""
    card |= {"mig_mode": True, "nvlinks": None}
    instances = []
    for number, (slices, gib) in enumerate([(3, 40), (1, 10)]):
        uuid = f"MIG-{number:08x}-5e1a-4b0c-8d3f-0000b0e27000"
        instances.append(
            {
                "kind": "nvidia-mig", "parent": card["id"], "id": uuid, "uuid": uuid, "index": None,
                "mig": {"gpu_instance": 2 + 7 * number, "compute_instance": 0},
                "name": f"NVIDIA H100 80GB HBM3 MIG {slices}g.{gib}gb",
                "memory_total_bytes": gib * 1000 * MIB, "memory_used_bytes": (37 + number) * MIB,
                "memory_free_bytes": (gib * 1000 - 48) * MIB, "memory_reserved_bytes": 11 * MIB,
                "bar1_total_bytes": 65535 * MIB, "bar1_used_bytes": number * MIB,
                "bar1_free_bytes": (65535 - number) * MIB,
                "multiprocessors": 60 - 44 * number, "mig_copy_engines": 3 - number, "mig_encoders": 0,
                "mig_decoders": 3 - number, "mig_ofa_engines": 0, "mig_jpeg_engines": 3 - number,
                "ecc_uncorrected_volatile_sram": 0, "ecc_uncorrected_errors": 0,
            }
        )  # fmt: skip
    return instances


def turing(index):
    """A card for servers that counts errors of SRAM without kinds and retires pages."""
    uuid = f"GPU-{index:08x}-7777-4b0c-8d3f-0000b0e27000"
    return COMMON | {
        "index": index, "minor_number": index, "id": uuid, "uuid": uuid,
        "name": "Tesla T4", "brand": "NVIDIA", "architecture": "Turing",
        "pci_address": "00000000:3b:00.0", "pci_id": "10de:1eb8", "serial": "0325018000001",
        "compute_capability": "7.5", "ecc_mode": True, "ecc_mode_pending": True,
        "utilization_jpeg_percent": 5.0, "utilization_optical_flow_percent": 6.0,
        **ecc_by_place(201),
        "retired_pages_single_bit": 1, "retired_pages_double_bit": 1, "retired_pages_pending": True,
        "retired_pages": [
            {"address": 0x1234, "cause": "single bit", "retired_unix_ms": 1_700_000_000_000},
            {"address": 0x5678, "cause": "double bit", "retired_unix_ms": 1_700_000_100_000},
        ],
    }  # fmt: skip


def kepler(index):
    """An old card, which has few features and counts errors by place."""
    uuid = f"GPU-{index:08x}-1111-4b0c-8d3f-0000b0e27000"
    known = {key: value for key, value in COMMON.items() if not key.startswith(("encoder", "capture", "samples"))}
    return known | {
        "index": index, "minor_number": index, "id": uuid, "uuid": uuid,
        "name": "Tesla K80", "brand": "Tesla", "architecture": "Kepler", "performance_state": 0,
        "pci_address": "00000000:04:00.0", "pci_id": "10de:102d", "serial": "0324515000001",
        "compute_capability": "3.7", "ecc_mode": True, "ecc_mode_pending": True,
        "auto_boost": True, "auto_boost_default": False, "bridge_chip_type": "PLX", "bridge_chip_firmware": "0xF0472900",
        "operation_mode": "All On", "operation_mode_pending": "Compute", "fan_speed_percent": 31.0,
        **ecc_by_place(301),
        "utilization_gpu_percent": None, "utilization_memory_percent": None, "throttle_supported_mask": None,
        "throttle_reasons_mask": None, "supported_clocks_megahertz": None, "accounted_processes": None,
        "accounting_mode": None, "accounting_buffer_size": None,
    }  # fmt: skip


def with_reasons(device):
    """What is null is what this card cannot tell."""
    own = dict.fromkeys(KEYS) | device
    return own | {"why": {key: "unsupported" for key, value in own.items() if value is None}}


KEYS = sorted({*datacenter(0), *turing(0), *kepler(0), "fan_speed_percent"})


def process(device, pid, kind, mib, mig=None):
    return {"device": device["id"], "pid": pid, "type": kind, "mig": mig, "memory_used_bytes": mib * MIB}


def machine(version, devices, processes=()):
    """A snapshot of these devices under a driver of this version."""
    host = {"name": "box", "kernel": "6.1", "driver_version": version, "nvml_version": f"12.{version}"}
    text = copy.deepcopy(list(devices))
    for device in text:
        if device.get("gsp_firmware_version") == "@driver":
            device["gsp_firmware_version"] = version
    return {
        "berth_snapshot": 1,
        "taken_unix_ms": NOW_MS,
        "host": host | {"cuda_version_supported": CUDA[version.split(".")[0]]},
        "devices": [with_reasons(device) for device in text],
        "gpu_processes": list(processes),
        "processes": [],
    }


def one_card(version):
    card = datacenter(0)
    return machine(version, [card], [process(card, NOBODY + 2, "C", 61246), process(card, NOBODY + 1, "G", 20)])


def eight_cards(version):
    return machine(version, [datacenter(index) for index in range(8)])


def two_cards(version):
    return machine(version, [datacenter(index) for index in range(2)])


def a_lost_card(version):
    cards = [datacenter(index) for index in range(2)]
    cards[1]["lost"] = True
    return machine(version, cards)


def instances(version):
    card = datacenter(0)
    parts = divided(card)
    return machine(version, [card, *parts], [process(parts[1], NOBODY + 3, "C", 38, parts[1]["mig"])])


def error_counts(version):
    return machine(version, [turing(0)])


def old_card(version):
    return machine(version, [kepler(0)])


MACHINES = {
    "one card": one_card,
    "eight cards": eight_cards,
    "two cards": two_cards,
    "a lost card": a_lost_card,
    "instances": instances,
    "error counts": error_counts,
    "old card": old_card,
}


def as_json(snapshot):
    return json.dumps(snapshot)
