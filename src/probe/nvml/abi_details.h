#pragma once
// The part of NVML's binary interface for details alone (Depth::details). Layouts and numbers are
// pinned like those of abi.h, and from the same header. "Since N" is the driver whose library first
// has the function that fills the structure.

#include "probe/nvml/abi.h"

namespace berth::nvml {

// nvmlClockType_t, nvmlClockId_t, nvmlEccCounterType_t, nvmlMemoryLocation_t.
inline constexpr unsigned clock_video = 3;
inline constexpr unsigned clock_id_customer_boost = 3;
inline constexpr unsigned ecc_aggregate = 1;
inline constexpr unsigned location_l1_cache = 0;
inline constexpr unsigned location_l2_cache = 1;
inline constexpr unsigned location_dram = 2;  // device memory before Turing
inline constexpr unsigned location_register_file = 3;
inline constexpr unsigned location_texture_memory = 4;
inline constexpr unsigned location_texture_shm = 5;
inline constexpr unsigned location_cbu = 6;
inline constexpr unsigned location_sram = 7;

// nvmlTemperatureThresholds_t, beyond slowdown.
inline constexpr unsigned threshold_shutdown = 0;
inline constexpr unsigned threshold_memory_max = 2;
inline constexpr unsigned threshold_gpu_max = 3;
inline constexpr unsigned threshold_acoustic_min = 4;
inline constexpr unsigned threshold_acoustic_current = 5;
inline constexpr unsigned threshold_acoustic_max = 6;

// nvmlSamplingType_t, beyond utilisation.
inline constexpr unsigned samples_power = 0;
inline constexpr unsigned samples_memory_utilization = 2;
inline constexpr unsigned samples_encoder_utilization = 3;
inline constexpr unsigned samples_decoder_utilization = 4;
inline constexpr unsigned samples_processor_clock = 5;
inline constexpr unsigned samples_memory_clock = 6;
inline constexpr unsigned samples_jpeg_utilization = 8;
inline constexpr unsigned samples_optical_flow_utilization = 9;

// nvmlInforomObject_t, nvmlPageRetirementCause_t, nvmlRestrictedAPI_t.
inline constexpr unsigned inforom_oem = 0;
inline constexpr unsigned inforom_ecc = 1;
inline constexpr unsigned inforom_power = 2;
inline constexpr unsigned retired_for_single_bit = 0;
inline constexpr unsigned retired_for_double_bit = 1;

// NVML_POWER_SCOPE_*, and the scope that means "all links together".
inline constexpr unsigned scope_gpu = 0;
inline constexpr unsigned scope_module = 1;
inline constexpr unsigned scope_memory = 2;
inline constexpr unsigned scope_gpu_base = 3;
inline constexpr unsigned scope_all_links = 0xFFFFFFFF;

/// nvmlPciInfoExt_v1_t of nvmlDeviceGetPciInfoExt, since 550.
struct PciInfoExt {
  std::uint32_t version;
  std::uint32_t domain;
  std::uint32_t bus;
  std::uint32_t device;
  std::uint32_t device_and_vendor;
  std::uint32_t subsystem;
  std::uint32_t base_class;
  std::uint32_t sub_class;
  char bus_id[32];
};
static_assert(sizeof(PciInfoExt) == 64);

/// nvmlBAR1Memory_t.
struct Bar1Memory {
  std::uint64_t total;
  std::uint64_t free;
  std::uint64_t used;
};
static_assert(sizeof(Bar1Memory) == 24);

/// nvmlC2cModeInfo_v1_t: without a version, its name notwithstanding. Since 550.
struct C2cMode {
  std::uint32_t enabled;
};
static_assert(sizeof(C2cMode) == 4);

/// What many of NVML's newer structures are: a version and one number.
/// nvmlDeviceAddressingMode_v1_t, nvmlMarginTemperature_v1_t (the number is signed),
/// nvmlDramEncryptionInfo_v1_t, nvmlVgpuHeterogeneousMode_v1_t, nvmlDeviceCapabilities_v1_t.
struct VersionedNumber {
  std::uint32_t version;
  std::uint32_t number;
};
static_assert(sizeof(VersionedNumber) == 8);
static_assert(struct_version<VersionedNumber>(1) == 0x1000008);

/// nvmlRepairStatus_v1_t.
struct RepairStatus {
  std::uint32_t version;
  std::uint32_t channel_pending;
  std::uint32_t tpc_pending;
};
static_assert(sizeof(RepairStatus) == 12);

/// nvmlUnrepairableMemoryStatus_v1_t: without a version.
struct UnrepairableMemory {
  std::uint32_t unrepairable;
};
static_assert(sizeof(UnrepairableMemory) == 4);

/// nvmlRowRemapperHistogramValues_t, since 450.
struct RemapHistogram {
  std::uint32_t max;
  std::uint32_t high;
  std::uint32_t partial;
  std::uint32_t low;
  std::uint32_t none;
};
static_assert(sizeof(RemapHistogram) == 20);

/// nvmlRemappedRowsInfo_v2_t of nvmlDeviceGetRemappedRows_v2, since 595: without a version.
struct RemappedRowsV2 {
  std::uint32_t corrected_active;
  std::uint32_t corrected_inactive;
  std::uint32_t uncorrected_active;
  std::uint32_t uncorrected_inactive;
  std::uint32_t pending;
  std::uint32_t failed;
};
static_assert(sizeof(RemappedRowsV2) == 24);

/// nvmlPdi_v1_t.
struct Pdi {
  std::uint32_t version;
  std::uint64_t value;
};
static_assert(sizeof(Pdi) == 16);
static_assert(offsetof(Pdi, value) == 8);

/// nvmlBBXTimeData_v1_t: without a version.
struct BbxTime {
  std::uint32_t seconds_run;
};
static_assert(sizeof(BbxTime) == 4);

/// nvmlHostname_v1_t: without a version.
struct Hostname {
  char value[64];
};
static_assert(sizeof(Hostname) == 64);

/// nvmlEccSramErrorStatus_v1_t, since 535.
struct SramErrors {
  std::uint32_t version;
  std::uint64_t aggregate_parity;
  std::uint64_t aggregate_secded;
  std::uint64_t aggregate_corrected;
  std::uint64_t volatile_parity;
  std::uint64_t volatile_secded;
  std::uint64_t volatile_corrected;
  std::uint64_t aggregate_l2;
  std::uint64_t aggregate_sm;
  std::uint64_t aggregate_pcie;
  std::uint64_t aggregate_mcu;
  std::uint64_t aggregate_other;
  std::uint32_t threshold_exceeded;
};
static_assert(sizeof(SramErrors) == 104);
static_assert(offsetof(SramErrors, threshold_exceeded) == 96);

/// nvmlPlatformInfo_v1_t and _v2_t: of one layout; version 1 has the rack's GUID where version 2
/// has the chassis' serial number.
struct PlatformInfo {
  std::uint32_t version;
  std::uint8_t ib_guid[16];
  std::uint8_t chassis_serial[16];
  std::uint8_t slot;
  std::uint8_t tray;
  std::uint8_t host;
  std::uint8_t peer_type;
  std::uint8_t module_id;
};
static_assert(sizeof(PlatformInfo) == 44);

/// nvmlGpuFabricInfo_t of nvmlDeviceGetGpuFabricInfo, since 525.
struct FabricInfoV1 {
  std::uint8_t cluster[16];
  Return status;
  std::uint32_t clique;
  std::uint8_t state;
};
static_assert(sizeof(FabricInfoV1) == 28);

/// nvmlGpuFabricInfo_v2_t of nvmlDeviceGetGpuFabricInfoV, since 550.
struct FabricInfoV2 {
  std::uint32_t version;
  std::uint8_t cluster[16];
  Return status;
  std::uint32_t clique;
  std::uint8_t state;
  std::uint32_t health;
};
static_assert(sizeof(FabricInfoV2) == 36);

/// nvmlGpuFabricInfo_v3_t of the same function.
struct FabricInfoV3 {
  std::uint32_t version;
  std::uint8_t cluster[16];
  Return status;
  std::uint32_t clique;
  std::uint8_t state;
  std::uint32_t health;
  std::uint8_t summary;
};
static_assert(sizeof(FabricInfoV3) == 40);
static_assert(offsetof(FabricInfoV3, health) == offsetof(FabricInfoV2, health));

/// nvmlFBCStats_t.
struct FbcStats {
  std::uint32_t sessions;
  std::uint32_t average_fps;
  std::uint32_t average_latency_us;
};
static_assert(sizeof(FbcStats) == 12);

/// nvmlBridgeChipHierarchy_t.
struct BridgeChip {
  std::uint32_t type;  // 0 PLX, 1 BRO4
  std::uint32_t firmware;
};
struct BridgeChips {
  std::uint8_t count;
  BridgeChip chips[128];
};
static_assert(sizeof(BridgeChips) == 1028);

/// nvmlAccountingStats_t.
struct AccountingStats {
  std::uint32_t gpu_utilization;     // ~0: not available
  std::uint32_t memory_utilization;  // ~0: not available
  std::uint64_t max_memory;          // ~0: not available
  std::uint64_t time_ms;             // 0 while it runs
  std::uint64_t start_us;
  std::uint32_t is_running;
  std::uint32_t reserved[5];
};
static_assert(sizeof(AccountingStats) == 56);

/// nvmlViolationTime_t.
struct ViolationTime {
  std::uint64_t reference_us;
  std::uint64_t violation_ns;
};
static_assert(sizeof(ViolationTime) == 16);

/// nvmlMask255_t and nvmlWorkloadPowerProfileCurrentProfiles_v1_t.
struct ProfileMask {
  std::uint32_t words[8];
};
struct PowerProfiles {
  std::uint32_t version;
  ProfileMask available;
  ProfileMask requested;
  ProfileMask enforced;
};
static_assert(sizeof(PowerProfiles) == 100);

/// nvmlProcessUtilizationInfo_v1_t and nvmlProcessesUtilizationInfo_v1_t of
/// nvmlDeviceGetProcessesUtilizationInfo, since 550.
struct ProcessUtilizationV2 {
  std::uint64_t timestamp_us;
  std::uint32_t pid;
  std::uint32_t sm;
  std::uint32_t memory;
  std::uint32_t encoder;
  std::uint32_t decoder;
  std::uint32_t jpeg;
  std::uint32_t ofa;
};
static_assert(sizeof(ProcessUtilizationV2) == 40);
struct ProcessesUtilization {
  std::uint32_t version;
  std::uint32_t count;
  std::uint64_t since_us;
  ProcessUtilizationV2* entries;
};
static_assert(sizeof(ProcessesUtilization) == 24);

// GPM (GPU performance monitoring), Hopper and newer, since 525.
struct OpaqueGpmSample;
using GpmSample = OpaqueGpmSample*;

// nvmlGpmMetricId_t.
inline constexpr unsigned gpm_graphics = 1;
inline constexpr unsigned gpm_sm = 2;
inline constexpr unsigned gpm_occupancy = 3;
inline constexpr unsigned gpm_integer = 4;
inline constexpr unsigned gpm_tensor = 5;
inline constexpr unsigned gpm_dram_bandwidth = 10;
inline constexpr unsigned gpm_fp64 = 11;
inline constexpr unsigned gpm_fp32 = 12;
inline constexpr unsigned gpm_fp16 = 13;

/// nvmlGpmSupport_t. The version is 1, not a struct version.
struct GpmSupport {
  std::uint32_t version;
  std::uint32_t supported;
};
static_assert(sizeof(GpmSupport) == 8);

/// nvmlGpmMetric_t.
struct GpmMetric {
  std::uint32_t metric;
  Return answer;
  double value;
  const char* names[3];
};
static_assert(sizeof(GpmMetric) == 40);

/// nvmlGpmMetricsGet_t. NVML_GPM_METRIC_MAX, the length of its array, grew with the headers: 98 in
/// that of 12.2, 333 now. The function reads `count` of them, and berth asks fewer than 98.
struct GpmMetrics {
  std::uint32_t version;  // 1, not a struct version
  std::uint32_t count;
  GpmSample before;
  GpmSample after;
  GpmMetric metrics[333];
};
static_assert(sizeof(GpmMetrics) == 24 + 333 * 40);

}  // namespace berth::nvml
