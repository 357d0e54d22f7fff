#pragma once
// Rows of the field table: the board, its firmware and modes. Internal to fields.cc.

#include <array>

#include "snapshot/detail_row.h"

namespace berth::field_rows {

using enum Unit;

constexpr auto board_details = std::to_array<Field>({
    detail<Detail::pci_subsystem_id, std::string>(
        "pci_subsystem_id", "pci.sub_device_id", none,
        "Vendor and device number of the board, hexadecimal.", ""),
    detail<Detail::pci_base_class, std::uint64_t>("pci_base_class", "pci.baseClass", count,
                                                  "PCI base class.", ""),
    detail<Detail::pci_sub_class, std::uint64_t>("pci_sub_class", "pci.subClass", count,
                                                 "PCI sub class.", ""),
    detail<Detail::pdi, std::uint64_t>("pdi", "", count,
                                       "Identity of the device for the life of its silicon.", ""),
    detail<Detail::board_id, std::uint64_t>(
        "board_id", "", count, "Number of the board; devices on one board share it.", ""),
    detail<Detail::multi_gpu_board, bool>("multi_gpu_board", "", none,
                                          "Whether several devices sit on the board.", ""),
    detail<Detail::board_part_number, std::string>("board_part_number", "", none,
                                                   "Part number of the board.", ""),
    detail<Detail::gpu_part_number, std::string>("gpu_part_number", "", none,
                                                 "Part number of the chip.", ""),
    detail<Detail::fru_part_number, std::string>("fru_part_number", "", none,
                                                 "Part number of the replaceable unit.", ""),
    detail<Detail::platform_chassis_serial, std::string>("platform_chassis_serial",
                                                         "platform.chassis_serial_number", none,
                                                         "Serial number of the chassis.", ""),
    detail<Detail::platform_slot_number, std::uint64_t>(
        "platform_slot_number", "platform.slot_number", count,
        "Slot in the chassis, switches counted.", ""),
    detail<Detail::platform_tray_index, std::uint64_t>(
        "platform_tray_index", "platform.tray_index", count,
        "Tray in the chassis, switches not counted.", ""),
    detail<Detail::platform_host_id, std::uint64_t>("platform_host_id", "platform.host_id", count,
                                                    "Node in the slot.", ""),
    detail<Detail::platform_peer_type, std::string>(
        "platform_peer_type", "platform.peer_type",
        none, "How NVLink peers are reached: directly or through a switch.", ""),
    detail<Detail::platform_module_id, std::uint64_t>(
        "platform_module_id", "platform.module_id", count, "Number of the device in the node.", ""),
    detail<Detail::platform_fabric_guid, std::uint64_t>(
        "platform_fabric_guid", "platform.gpu_fabric_guid", count,
        "Identity of the device in the fabric.", ""),
    detail<Detail::inforom_image, std::string>("inforom_image", "inforom.img", none,
                                               "Version of the infoROM image.", ""),
    detail<Detail::inforom_oem, std::string>("inforom_oem", "inforom.oem", none,
                                             "Version of the maker's configuration in the infoROM.",
                                             ""),
    detail<Detail::inforom_ecc, std::string>("inforom_ecc", "inforom.ecc", none,
                                             "Version of the memory error record in the infoROM.",
                                             ""),
    detail<Detail::inforom_power, std::string>(
        "inforom_power", "inforom.pwr", none,
        "Version of the power management data in the infoROM.", ""),
    detail<Detail::inforom_valid, bool>("inforom_valid", "inforom.checksum_validation", none,
                                        "Whether the checksum of the infoROM is right.", ""),
    detail<Detail::inforom_flushed, Milliseconds>(
        "inforom_flushed_unix_ms", "", milliseconds,
        "When the black box was last written to the infoROM, since 1970.", ""),
    detail<Detail::inforom_flush_duration, Microseconds>("inforom_flush_duration_microseconds", "",
                                                         microseconds, "How long that took.", ""),
    detail<Detail::black_box_time_run, Seconds>(
        "black_box_time_run_seconds", "bbx.time_run", seconds,
        "Time run with the driver loaded, over its life.", ""),
    detail<Detail::bridge_chip_type, std::string>("bridge_chip_type", "", none,
                                                  "Kind of the bridge chip on the board.", ""),
    detail<Detail::bridge_chip_firmware, std::string>("bridge_chip_firmware", "", none,
                                                      "Firmware of the bridge chip.", ""),
    detail<Detail::gsp_firmware, std::string>("gsp_firmware_version", "", none,
                                              "Firmware version of the system processor.", ""),
    detail<Detail::gsp_mode, bool>("gsp_mode", "gsp.mode.current", none,
                                   "Whether the system processor runs the driver's firmware.", ""),
    detail<Detail::gsp_mode_default, bool>("gsp_mode_default", "gsp.mode.default", none,
                                           "Whether it does so by default.", ""),
    detail<Detail::hostname, std::string>("hostname", "hostname", none,
                                          "Name given to the device by an administrator.", ""),
    detail<Detail::display_mode, bool>("display_mode", "display_mode", none,
                                       "Whether a display is attached, in the old sense.", ""),
    detail<Detail::addressing_mode, std::string>(
        "addressing_mode", "addressing_mode", none,
        "How system memory is addressed: HMM, ATS or None.", ""),
    detail<Detail::mig_mode_pending, bool>("mig_mode_pending", "mig.mode.pending", none,
                                           "MIG mode after the next reset.", ""),
    detail<Detail::ecc_mode_pending, bool>("ecc_mode_pending", "ecc.mode.pending", none,
                                           "Error correction after the next reboot.", ""),
    detail<Detail::accounting_mode, bool>("accounting_mode", "accounting.mode", none,
                                          "Whether finished processes are accounted.", ""),
    detail<Detail::accounting_buffer_size, std::uint64_t>(
        "accounting_buffer_size", "accounting.buffer_size", count,
        "How many finished processes are kept.", ""),
    detail<Detail::driver_model, std::string>("driver_model", "driver_model.current", none,
                                              "Driver model in use; Windows alone has several.",
                                              ""),
    detail<Detail::driver_model_pending, std::string>("driver_model_pending",
                                                      "driver_model.pending", none,
                                                      "Driver model after the next reboot.", ""),
    detail<Detail::operation_mode, std::string>(
        "operation_mode", "gom.current", none,
        "GPU operation mode: All On, Compute, Low Double Precision.", ""),
    detail<Detail::operation_mode_pending, std::string>(
        "operation_mode_pending", "gom.pending", none, "GPU operation mode after the next reboot.",
        ""),
    detail<Detail::c2c_mode, bool>("c2c_mode", "c2c.mode", none,
                                   "Whether the chip-to-chip link to the CPU is on.", ""),
    detail<Detail::virtualization_mode, std::string>(
        "virtualization_mode", "", none, "None, Pass-Through, VGPU, Host VGPU or Host VSGA.", ""),
    detail<Detail::host_vgpu_mode, std::string>(
        "host_vgpu_mode", "", none, "How the host shares it among virtual machines.", ""),
    detail<Detail::vgpu_heterogeneous_mode, std::string>(
        "vgpu_heterogeneous_mode", "", none, "Whether virtual devices of different sizes share it.",
        ""),
    detail<Detail::vgpu_driver_heterogeneous, std::string>(
        "vgpu_driver_heterogeneous", "vgpu_driver_capability.heterogenous_multivGPU", none,
        "Whether the driver takes several kinds of virtual devices.", ""),
    detail<Detail::vgpu_fractional, std::string>(
        "vgpu_fractional", "vgpu_device_capability.fractional_multiVgpu", none,
        "Whether fractions can be combined in one virtual machine.", ""),
    detail<Detail::vgpu_timeslice_profiles, std::string>(
        "vgpu_timeslice_profiles", "vgpu_device_capability.heterogeneous_timeSlice_profile", none,
        "Whether time-sliced virtual devices of different types may run together.", ""),
    detail<Detail::vgpu_timeslice_sizes, std::string>(
        "vgpu_timeslice_sizes", "vgpu_device_capability.heterogeneous_timeSlice_sizes", none,
        "Whether time-sliced virtual devices of different memory sizes may run together.", ""),
    detail<Detail::vgpu_homogeneous_placements, std::string>(
        "vgpu_homogeneous_placements", "vgpu_device_capability.homogeneous_placements", none,
        "Whether places of equal virtual devices are told.", ""),
    detail<Detail::vgpu_mig_timeslicing, std::string>(
        "vgpu_mig_timeslicing", "vgpu_device_capability.mig_timeSlicing", none,
        "Whether virtual devices can share a MIG instance in time.", ""),
    detail<Detail::vgpu_mig_timeslicing_mode, std::string>(
        "vgpu_mig_timeslicing_mode", "vgpu_device_capability.mig_timeSlicing_mode", none,
        "Whether they do.", ""),
    detail<Detail::vgpu_licensed_product, std::string>(
        "vgpu_licensed_product", "", none, "In a virtual machine: what it needs a licence for.",
        ""),
    detail<Detail::vgpu_license_status, std::string>(
        "vgpu_license_status", "", none, "In a virtual machine: whether it has that licence.", ""),
    detail<Detail::reset_required, bool>("reset_required", "reset_status.reset_required", none,
                                         "Whether a reset is needed; drivers before 580.",
                                         "berth_device_reset_required"),
    detail<Detail::drain_and_reset_recommended, bool>(
        "drain_and_reset_recommended", "reset_status.drain_and_reset_recommended", none,
        "Whether to empty it and reset it; drivers before 580.", ""),
    detail<Detail::recovery_action, std::string>(
        "recovery_action", "gpu_recovery_action", none,
        "What the driver says to do to bring it back: None, Reset, Reboot, Drain.", ""),
    detail<Detail::relaxed_ordering, std::string>(
        "relaxed_ordering", "", none, "Relaxed ordering of the NPU link on IBM machines.", ""),
    detail<Detail::sparse_operation_mode, bool>("sparse_operation_mode", "", none,
                                                "Whether sparse operation is on.", ""),
    detail<Detail::dram_encryption, bool>("dram_encryption", "dramEncryption.mode.current", none,
                                          "Whether its memory is encrypted.", ""),
    detail<Detail::dram_encryption_pending, bool>(
        "dram_encryption_pending", "dramEncryption.mode.pending", none,
        "Whether its memory is encrypted after the next reboot.", ""),
    detail<Detail::auto_boost, bool>("auto_boost", "", none,
                                     "Whether clocks may rise by themselves.", ""),
    detail<Detail::auto_boost_default, bool>("auto_boost_default", "", none,
                                             "Whether they may by default.", ""),
    detail<Detail::egm, bool>(
        "egm", "", none, "Whether it can use memory of the whole machine as its own (EGM).", ""),
    detail<Detail::power_state, std::uint64_t>(
        "power_state", "", count, "The P-state once more, as older XML says it under power.", ""),
    detail<Detail::mig_copy_engines, std::uint64_t>("mig_copy_engines", "", count,
                                                    "Copy engines of a MIG instance.", ""),
    detail<Detail::mig_encoders, std::uint64_t>("mig_encoders", "", count,
                                                "Video encoders of a MIG instance.", ""),
    detail<Detail::mig_decoders, std::uint64_t>("mig_decoders", "", count,
                                                "Video decoders of a MIG instance.", ""),
    detail<Detail::mig_ofa_engines, std::uint64_t>("mig_ofa_engines", "", count,
                                                   "Optical flow engines of a MIG instance.", ""),
    detail<Detail::mig_jpeg_engines, std::uint64_t>("mig_jpeg_engines", "", count,
                                                    "JPEG engines of a MIG instance.", ""),
});

}  // namespace berth::field_rows
