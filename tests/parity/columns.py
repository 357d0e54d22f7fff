"""What a column of --query-gpu must say of a card, told from the dump's own text. It knows where in -q -x the reading
stands, how CSV writes it, and which columns no dump determines."""

import datetime
import re
import xml.etree.ElementTree as ElementTree

# The place in -q -x of what a column of --query-gpu prints; "/" begins at the head of the dump.
ELEMENTS = {
    "driver_version": "/driver_version",
    "kmd_version": "/driver_version",  # one version on Linux, in the captures of 595 too
    "count": "/attached_gpus",
    "name": "product_name",
    "serial": "serial",
    "uuid": "uuid",
    "pci.bus_id": "pci/pci_bus_id",
    "pci.domain": "pci/pci_domain",
    "pci.bus": "pci/pci_bus",
    "pci.device": "pci/pci_device",
    "pci.baseClass": "pci/pci_base_class",
    "pci.subClass": "pci/pci_sub_class",
    "pci.device_id": "pci/pci_device_id",
    "pci.sub_device_id": "pci/pci_sub_system_id",
    "pcie.link.gen.current": "pci/pci_gpu_link_info/pcie_gen/current_link_gen",
    "pcie.link.gen.gpucurrent": "pci/pci_gpu_link_info/pcie_gen/device_current_link_gen",
    "pcie.link.gen.max": "pci/pci_gpu_link_info/pcie_gen/max_link_gen",
    "pcie.link.gen.gpumax": "pci/pci_gpu_link_info/pcie_gen/max_device_link_gen",
    "pcie.link.gen.hostmax": "pci/pci_gpu_link_info/pcie_gen/max_host_link_gen",
    "pcie.link.width.current": "pci/pci_gpu_link_info/link_widths/current_link_width",
    "pcie.link.width.max": "pci/pci_gpu_link_info/link_widths/max_link_width",
    "display_mode": "display_mode",
    "display_attached": "display_attached",
    "display_active": "display_active",
    "persistence_mode": "persistence_mode",
    "addressing_mode": "addressing_mode",
    "accounting.mode": "accounting_mode",
    "accounting.buffer_size": "accounting_mode_buffer_size",
    "driver_model.current": "driver_model/current_dm",
    "driver_model.pending": "driver_model/pending_dm",
    "vbios_version": "vbios_version",
    "inforom.img": "inforom_version/img_version",
    "inforom.oem": "inforom_version/oem_object",
    "inforom.ecc": "inforom_version/ecc_object",
    "inforom.pwr": "inforom_version/pwr_object",
    "gpu_recovery_action": "gpu_recovery_action",
    "gom.current": "gpu_operation_mode/current_gom",
    "gom.pending": "gpu_operation_mode/pending_gom",
    "fan.speed": "fan_speed",
    "pstate": "performance_state",
    "memory.total": "fb_memory_usage/total",
    "memory.reserved": "fb_memory_usage/reserved",
    "memory.used": "fb_memory_usage/used",
    "memory.free": "fb_memory_usage/free",
    "compute_mode": "compute_mode",
    "encoder.stats.sessionCount": "encoder_stats/session_count",
    "encoder.stats.averageFps": "encoder_stats/average_fps",
    "encoder.stats.averageLatency": "encoder_stats/average_latency",
    "dramEncryption.mode.current": "dram_encryption_mode/current_dram_encryption",
    "dramEncryption.mode.pending": "dram_encryption_mode/pending_dram_encryption",
    "ecc.mode.current": "ecc_mode/current_ecc",
    "ecc.mode.pending": "ecc_mode/pending_ecc",
    "ecc.errors.uncorrected.aggregate.sram.thresholdExceeded": "ecc_errors/aggregate/sram_threshold_exceeded",
    "retired_pages.single_bit_ecc.count": "retired_pages/multiple_single_bit_retirement/retired_count",
    "retired_pages.double_bit.count": "retired_pages/double_bit_retirement/retired_count",
    "retired_pages.pending": "retired_pages/pending_retirement",
    "remapped_rows.correctable": "remapped_rows/remapped_row_corr",
    "remapped_rows.correctable_inactive": "remapped_rows/remapped_row_corr_inactive",
    "remapped_rows.uncorrectable": "remapped_rows/remapped_row_unc",
    "remapped_rows.uncorrectable_inactive": "remapped_rows/remapped_row_unc_inactive",
    "remapped_rows.pending": "remapped_rows/remapped_row_pending",
    "remapped_rows.failure": "remapped_rows/remapped_row_failure",
    "temperature.gpu": "temperature/gpu_temp",
    "temperature.gpu.tlimit": "temperature/gpu_temp_tlimit",
    "temperature.memory": "temperature/memory_temp",
    "power.draw.average": "gpu_power_readings/average_power_draw",
    "power.draw.instant": "gpu_power_readings/instant_power_draw",
    "power.limit": "gpu_power_readings/requested_power_limit",
    "enforced.power.limit": "gpu_power_readings/current_power_limit",
    "power.default_limit": "gpu_power_readings/default_power_limit",
    "power.min_limit": "gpu_power_readings/min_power_limit",
    "power.max_limit": "gpu_power_readings/max_power_limit",
    "module.power.draw.average": "module_power_readings/average_power_draw",
    "module.power.draw.instant": "module_power_readings/instant_power_draw",
    "module.power.limit": "module_power_readings/requested_power_limit",
    "module.enforced.power.limit": "module_power_readings/current_power_limit",
    "module.power.default_limit": "module_power_readings/default_power_limit",
    "module.power.min_limit": "module_power_readings/min_power_limit",
    "module.power.max_limit": "module_power_readings/max_power_limit",
    "edpp_multiplier": "edpp_multiplier",
    "clocks.current.graphics": "clocks/graphics_clock",
    "clocks.current.sm": "clocks/sm_clock",
    "clocks.current.memory": "clocks/mem_clock",
    "clocks.current.video": "clocks/video_clock",
    "clocks.applications.graphics": "applications_clocks/graphics_clock",
    "clocks.applications.memory": "applications_clocks/mem_clock",
    "clocks.default_applications.graphics": "default_applications_clocks/graphics_clock",
    "clocks.default_applications.memory": "default_applications_clocks/mem_clock",
    "clocks.max.graphics": "max_clocks/graphics_clock",
    "clocks.max.sm": "max_clocks/sm_clock",
    "clocks.max.memory": "max_clocks/mem_clock",
    "mig.mode.current": "mig_mode/current_mig",
    "mig.mode.pending": "mig_mode/pending_mig",
    "c2c.mode": "c2c_mode",
    "fabric.cliqueId": "fabric/cliqueId",
    "fabric.clusterUuid": "fabric/clusterUuid",
    "platform.gpu_fabric_guid": "platformInfo/gpu_fabric_guid",
    # One name each in both.
    **{
        f"utilization.{unit}": f"utilization/{unit}_util"
        for unit in ("gpu", "memory", "encoder", "decoder", "jpeg", "ofa")
    },
    **{f"protected_memory.{part}": f"cc_protected_memory_usage/{part}" for part in ("total", "used", "free")},
    **{f"fabric.{part}": f"fabric/{part}" for part in ("state", "status")},
    **{
        f"fabric.health.{part}": f"fabric/health/{part}"
        for part in (
            "summary", "bandwidth", "route_recovery_in_progress", "route_unhealthy", "access_timeout_recovery",
            "incorrect_configuration", "partition_assigned",
        )
    },
    **{
        f"platform.{part}": f"platformInfo/{part}"
        for part in ("chassis_serial_number", "slot_number", "tray_index", "host_id", "peer_type", "module_id")
    },
    **{
        f"remapped_rows.histogram.{part}": f"remapped_rows/row_remapper_histogram/row_remapper_histogram_{part}"
        for part in ("max", "high", "partial", "low", "none")
    },
    **{
        f"clocks_event_reasons_counters.{column}":
            f"clocks_event_reasons_counters/clocks_event_reasons_counters_{element}"
        for column, element in {
            "sw_power_cap": "sw_power_cap",
            "sync_boost": "sync_boost",
            "sw_thermal_slowdown": "sw_therm_slowdown",
            "hw_thermal_slowdown": "hw_therm_slowdown",
            "hw_power_brake_slowdown": "hw_power_brake",
        }.items()
    },
    # Device memory is the older name for what stands in DRAM.
    **{
        f"ecc.errors.{column}.{since}.{place}": f"ecc_errors/{since}/dram_{element}"
        for column, element in {"corrected": "correctable", "uncorrected": "uncorrectable"}.items()
        for since in ("volatile", "aggregate")
        for place in ("dram", "device_memory")
    },
    **{
        f"ecc.errors.uncorrected.{since}.sram.{kind}": f"ecc_errors/{since}/sram_uncorrectable_{kind}"
        for since in ("volatile", "aggregate")
        for kind in ("parity", "secded")
    },
    **{
        f"ecc.errors.uncorrected.aggregate.sram.{column}":
            f"ecc_errors/aggregate_uncorrectable_sram_sources/sram_{element}"
        for column, element in {
            "l2": "l2", "sm": "sm", "mcu": "microcontroller", "pcie": "pcie", "other": "other",
        }.items()
    },
    # Said for all of them at once, "N/A"; no capture is of a card that has it.
    **{
        f"power_smoothing.{part}": "power_smoothing"
        for part in (
            "delayed_power_smoothing_supported", "primary_power_floor", "secondary_power_floor",
            "min_primary_floor_activation_offset", "min_primary_floor_activation_point", "window_multiplier",
            *(f"{of}.{part}"
              for of in ("curr_profile", "admin_override")
              for part in (
                  "secondary_power_floor", "primary_floor_act_window_multiplier",
                  "primary_floor_tar_window_multiplier", "primary_floor_act_offset",
              )),
        )
    },
}  # fmt: skip

# The bits of clocks_event_reasons.active and .supported: nvmlClocksEventReason… of nvml.h.
REASONS = {
    "gpu_idle": 0x1,
    "applications_clocks_setting": 0x2,
    "sw_power_cap": 0x4,
    "hw_slowdown": 0x8,
    "sync_boost": 0x10,
    "sw_thermal_slowdown": 0x20,
    "hw_thermal_slowdown": 0x40,
    "hw_power_brake_slowdown": 0x80,
    "display_clocks_setting": 0x100,
}
ELEMENTS |= {
    f"clocks_event_reasons.{name}": f"clocks_event_reasons/clocks_event_reason_{name}"
    for name in REASONS
    if name != "display_clocks_setting"  # a bit without a column
}

# Columns that no -q -x says anything of, by name or the beginning of one. Each with what would tell them.
NOT_IN_XML = {
    "vgpu_driver_capability.": "what the driver's library answers of virtual devices",
    "vgpu_device_capability.": "what the driver's library answers of virtual devices",
    "inforom.checksum_validation": "the check is made when the column is asked for",
    "compute_cap": "a number of the chip; -q names its generation only",
    "power.management": "what remained of it, power_state, is the performance state",
    "gsp.mode.default": "-q has the firmware's version, which tells whether it runs now",
    "hostname": "[N/A] in all captures that asked for it; not in -q",
}

# What -q says instead of a reading. CSV puts it into brackets, but for "N/A" in these columns.
ABSENCES = {"N/A", "GPU is lost", "Requested functionality has been deprecated"}
BARE_ABSENCE = re.compile(r"fabric\..*|temperature\.memory")


def cell_of(column, text):
    """What CSV prints for a reading that -q writes as `text`."""
    if text in ABSENCES:
        return text if text == "N/A" and BARE_ABSENCE.fullmatch(column) else f"[{text}]"
    if column == "pci.bus_id":  # the collectors cut the domain to four digits
        return re.sub(r"^0000:", "00000000:", text)
    if column.startswith("pci."):
        return "0x" + text.removeprefix("0x")
    if column.startswith("temperature."):
        return text.removesuffix(" C")
    if column.startswith("pcie.link.width."):
        return text.removesuffix("x")
    if column.startswith("remapped_rows.histogram."):
        return text.removesuffix(" bank(s)")
    if column == "edpp_multiplier":
        return text.replace("%", " %")
    if column == "timestamp":
        return datetime.datetime.strptime(text, "%a %b %d %H:%M:%S %Y").strftime("%Y/%m/%d %H:%M:%S.000")
    return text


def text_of(gpu, where):
    """What the dump says at `where`. A section that cannot be read is one word for all that stands below it. But -q of
    an H100 in MIG mode said "N/A" of all remapped rows, and CSV had their histogram."""
    element = gpu
    for tag in where.split("/"):
        whole = (element.text or "").strip() if len(element) == 0 else ""
        if whole:
            return None if "row_remapper_histogram" in where and element.tag == "remapped_rows" else whole
        element = element.find(tag)
        if element is None:  # an older driver's dump: nothing to hold a cell to
            return None
    return (element.text or "").strip() or None


def sum_of(texts):
    """A sum of counters. Where a part of it is not there, what CSV prints is not told."""
    if set(texts) == {"N/A"}:
        return "N/A"
    return str(sum(map(int, texts))) if all(text and text.isdigit() for text in texts) else None


def uncorrected_in_sram(gpu, since):
    """One line of older chips, two of newer ones."""
    alone = text_of(gpu, f"ecc_errors/{since}/sram_uncorrectable")
    return alone or sum_of([text_of(gpu, f"ecc_errors/{since}/sram_uncorrectable_{x}") for x in ("parity", "secded")])


def text_of_errors(gpu, column):
    """Counters that CSV adds up: those of all SRAM, and of all memory."""
    _, _, kind, since, place = column.split(".")
    if kind == "corrected":
        in_sram = text_of(gpu, f"ecc_errors/{since}/sram_correctable")
    else:
        in_sram = uncorrected_in_sram(gpu, since)
    if place == "sram":
        return in_sram
    return sum_of([in_sram, text_of(gpu, ELEMENTS[f"ecc.errors.{kind}.{since}.dram"])])


def mask_of(gpu, word):
    """The bits of the reasons of which the dump says `word`; without a word, of those it can tell."""
    said = {name: text_of(gpu, f"clocks_event_reasons/clocks_event_reason_{name}") for name in REASONS}
    if None in said.values() or "GPU is lost" in said.values():
        return None
    bits = sum(bit for name, bit in REASONS.items() if said[name] == word or (not word and said[name] != "N/A"))
    return f"0x{bits:016X}"


def power_draw(gpu):
    """The average; the instant on a chip that has no average."""
    average = text_of(gpu, ELEMENTS["power.draw.average"])
    return text_of(gpu, ELEMENTS["power.draw.instant"]) if average == "N/A" else average


ADDED_UP = re.compile(r"ecc\.errors\.(corrected|uncorrected)\.(volatile|aggregate)\.(total|sram)")
# Places that chips before Turing counted by themselves. From Turing on, -q counts by SRAM and DRAM. Then it has no line
# for these places, and CSV has "[N/A]" in all captures.
OLDER_PLACES = re.compile(r"ecc\.errors\.\w+\.\w+\.(register_file|l[12]_cache|texture_memory|cbu)")
MADE_OF_SEVERAL = {
    "timestamp": lambda root, gpu: text_of(root, "timestamp"),
    "index": lambda root, gpu: str(root.findall("gpu").index(gpu)),
    "clocks_event_reasons.supported": lambda root, gpu: mask_of(gpu, None),
    "clocks_event_reasons.active": lambda root, gpu: mask_of(gpu, "Active"),
    "power.draw": lambda root, gpu: power_draw(gpu),
    # The GSP's firmware has a version where it runs.
    "gsp.mode.current": lambda root, gpu: "Enabled"
    if re.fullmatch(r"[\d.]+", text_of(gpu, "gsp_firmware_version") or "")
    else None,
}


def is_told_by_xml(column):
    patterns = (ADDED_UP, OLDER_PLACES)
    return column in ELEMENTS or column in MADE_OF_SEVERAL or any(one.fullmatch(column) for one in patterns)


def is_not_in_xml(column):
    return any(column == name or (name.endswith(".") and column.startswith(name)) for name in NOT_IN_XML)


def cell_told_by_xml(root, gpu, column):
    """The cell that CSV must have for this card; None where the dump does not tell it."""
    if column in MADE_OF_SEVERAL:
        text = MADE_OF_SEVERAL[column](root, gpu)
    elif column in ELEMENTS:
        where = ELEMENTS[column]
        text = text_of(root, where[1:]) if where.startswith("/") else text_of(gpu, where)
    elif ADDED_UP.fullmatch(column):
        text = text_of_errors(gpu, column)
    elif OLDER_PLACES.fullmatch(column):
        text = "N/A" if gpu.find("ecc_errors/volatile/dram_correctable") is not None else None
    else:
        return None
    # A card without a rack: -q says "N/A". CSV has the zeros and the first word of a structure that nobody filled.
    # (These are "0", "Direct Connected", from 590 on; the host is 1.) So the dump does not tell.
    if text is None or (column.startswith("platform.") and text == "N/A"):
        return None
    return cell_of(column, text)


def held_against_xml(path, names, rows):
    """How many cells of CSV the dump tells, one row for each GPU. Also those cells that are not what it tells."""
    root = ElementTree.parse(path).getroot()
    held, wrong = 0, []
    for gpu, row in zip(root.findall("gpu"), rows, strict=True):
        for column, cell in zip(names, row, strict=True):
            told = cell_told_by_xml(root, gpu, column)
            held += told is not None
            if told not in (None, cell):
                wrong.append(f"{gpu.get('id')} {column}: {cell}, the dump: {told}")
    return held, wrong


# The -q and the CSV of one capture were taken a moment apart, and these may have moved in between. Such a cell must be
# the line of -q that is named here. The words say why it may differ from the CSV.
READ_WHEN_ASKED = "a sensor, read anew for each command"
MEAN = "a mean over the last moments before each command"
BY_LOAD = "the driver sets it by what the card does at the moment"
MOVING = {
    "timestamp": ("Timestamp", "each command prints when it was run itself"),
    "utilization.gpu": ("Utilization/GPU", MEAN),
    "utilization.memory": ("Utilization/Memory", MEAN),
    "utilization.encoder": ("Utilization/Encoder", MEAN),
    "utilization.decoder": ("Utilization/Decoder", MEAN),
    "utilization.jpeg": ("Utilization/JPEG", MEAN),
    "utilization.ofa": ("Utilization/OFA", MEAN),
    "encoder.stats.sessionCount": ("Encoder Stats/Active Sessions", "encoders come and go"),
    "encoder.stats.averageFps": ("Encoder Stats/Average FPS", MEAN),
    "encoder.stats.averageLatency": ("Encoder Stats/Average Latency", MEAN),
    "temperature.gpu": ("Temperature/GPU Current Temp", READ_WHEN_ASKED),
    "temperature.gpu.tlimit": ("Temperature/GPU T.Limit Temp", READ_WHEN_ASKED),
    "temperature.memory": ("Temperature/Memory Current Temp", READ_WHEN_ASKED),
    "power.draw.average": ("GPU Power Readings/Average Power Draw", MEAN),
    "power.draw.instant": ("GPU Power Readings/Instantaneous Power Draw", READ_WHEN_ASKED),
    "power.draw": ("GPU Power Readings/Average Power Draw", MEAN),
    "fan.speed": ("Fan Speed", READ_WHEN_ASKED),
    "memory.used": ("FB Memory Usage/Used", "processes come and go"),
    "memory.free": ("FB Memory Usage/Free", "processes come and go"),
    "pstate": ("Performance State", BY_LOAD),
    "clocks.current.graphics": ("Clocks/Graphics", BY_LOAD),
    "clocks.current.sm": ("Clocks/SM", BY_LOAD),
    "clocks.current.memory": ("Clocks/Memory", BY_LOAD),
    "clocks.current.video": ("Clocks/Video", BY_LOAD),
    "pcie.link.gen.current": ("PCI/GPU Link Info/PCIe Generation/Current", BY_LOAD),
    "pcie.link.gen.gpucurrent": ("PCI/GPU Link Info/PCIe Generation/Device Current", BY_LOAD),
    "clocks_event_reasons.gpu_idle": ("Clocks Event Reasons/Idle", BY_LOAD),
    "clocks_event_reasons.sw_power_cap": ("Clocks Event Reasons/SW Power Cap", BY_LOAD),
    # All reasons as one number; each of them that has a column is held by itself.
    "clocks_event_reasons.active": (None, BY_LOAD),
    "clocks_event_reasons_counters.sw_power_cap": ("Clocks Event Reasons Counters/SW Power Capping", "it counts"),
    "clocks_event_reasons_counters.sync_boost": ("Clocks Event Reasons Counters/Sync Boost", "it counts"),
    "clocks_event_reasons_counters.sw_thermal_slowdown": (
        "Clocks Event Reasons Counters/SW Thermal Slowdown", "it counts"),
    "clocks_event_reasons_counters.hw_thermal_slowdown": (
        "Clocks Event Reasons Counters/HW Thermal Slowdown", "it counts"),
    "clocks_event_reasons_counters.hw_power_brake_slowdown": (
        "Clocks Event Reasons Counters/HW Power Braking", "it counts"),
}  # fmt: skip


def cell_of_moved(column, lines):
    """The cell that -q itself tells of a column that moves; `lines` is {path of the first card's line: value}."""
    if column == "clocks_event_reasons.active":
        names = {"Idle": 0x1, "Applications Clocks Setting": 0x2, "SW Power Cap": 0x4, "HW Slowdown": 0x8,
                 "Sync Boost": 0x10, "SW Thermal Slowdown": 0x20, "HW Slowdown/HW Thermal Slowdown": 0x40,
                 "HW Slowdown/HW Power Brake Slowdown": 0x80, "Display Clock Setting": 0x100}  # fmt: skip
        said = {name: lines.get(f"Clocks Event Reasons/{name}") for name in names}
        return None if None in said.values() else f"0x{sum(names[x] for x in said if said[x] == 'Active'):016X}"
    where, _ = MOVING[column]
    if column == "power.draw" and lines.get(where) == "N/A":
        where, _ = MOVING["power.draw.instant"]
    text = lines.get(where)
    return None if text is None else cell_of(column, text)


def shape(cell):
    """What stays of a cell when its numbers move."""
    return re.sub(r"0x[0-9A-F]+|\d+(\.\d+)?|Not Active|Active", "#", cell)


def is_as_the_dump_says(column, cell, real, lines):
    """Whether a cell of a column that moves is what -q said, and of the kind of the CSV's own."""
    said = cell_of_moved(column, lines)
    return shape(cell) == shape(real) and said in (None, cell)  # None: a driver that names the line otherwise


def unlike_the_real(names, ours, theirs, unknown, lines):
    """What is wrong in a row of CSV. A wrong cell differs from the real one, and is neither `unknown` nor moved."""
    wrong = []
    for column, mine, right in zip(names, ours, theirs, strict=True):
        if mine == right:
            continue
        if column in unknown:
            if mine not in {"N/A", "[N/A]"}:
                wrong.append(f"{column}: {mine}, of which the dump says nothing; real: {right}")
        elif column not in MOVING or not is_as_the_dump_says(column, mine, right, lines):
            wrong.append(f"{column}: {mine}, real: {right}")
    return wrong
