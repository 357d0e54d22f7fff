#pragma once
// The part of NVML's binary interface that we use, in our own words: numbers and layouts, each
// pinned by a static_assert. Nothing outside src/probe/nvml and tests/fakes/nvml includes this.
//
// Source, where nothing else is said: nvml.h of CUDA 13 (API version 13) as published in
// NVIDIA/go-nvml, gen/nvml/nvml.h. "12.2": the header of CUDA 12.2 in the same repository.
// Structures with a `version` member want sizeof | (version << 24) in it.

#include <cstddef>
#include <cstdint>

namespace berth::nvml {

struct OpaqueDevice;
using Handle = OpaqueDevice*;

/// nvmlReturn_t. An int and not an enum: a driver may answer a number that we do not know.
using Return = int;
inline constexpr Return success = 0;
inline constexpr Return uninitialized = 1;
inline constexpr Return invalid_argument = 2;
inline constexpr Return not_supported = 3;
inline constexpr Return no_permission = 4;
inline constexpr Return not_found = 6;
inline constexpr Return insufficient_size = 7;
inline constexpr Return insufficient_power = 8;
inline constexpr Return driver_not_loaded = 9;
inline constexpr Return timed_out = 10;
inline constexpr Return irq_issue = 11;
inline constexpr Return library_not_found = 12;
inline constexpr Return function_not_found = 13;
inline constexpr Return corrupted_inforom = 14;
inline constexpr Return gpu_is_lost = 15;
inline constexpr Return reset_required = 16;
inline constexpr Return operating_system = 17;
inline constexpr Return version_mismatch = 18;  // of kernel module and library
inline constexpr Return in_use = 19;
inline constexpr Return insufficient_memory = 20;
inline constexpr Return no_data = 21;
inline constexpr Return argument_version_mismatch = 25;
inline constexpr Return deprecated = 26;
inline constexpr Return not_ready = 27;
inline constexpr Return gpu_not_found = 28;
inline constexpr Return unknown = 999;

/// NVML_VALUE_NOT_AVAILABLE as a 64-bit count, and the instance id of a process not under MIG.
inline constexpr std::uint64_t value_not_available = ~std::uint64_t{0};
inline constexpr std::uint32_t no_instance = 0xFFFFFFFF;

// NVML_DEVICE_NAME_V2_BUFFER_SIZE, the largest of the text buffers (UUID v2 too).
inline constexpr unsigned text_size = 96;

/// `version` members: NVML_STRUCT_VERSION.
template <class Struct>
constexpr unsigned struct_version(unsigned version) {
  return static_cast<unsigned>(sizeof(Struct)) | (version << 24);
}

// nvmlClockType_t, nvmlTemperatureSensors_t, nvmlTemperatureThresholds_t, nvmlMemoryErrorType_t,
// nvmlEccCounterType_t, nvmlSamplingType_t, nvmlAffinityScope_t.
inline constexpr unsigned clock_graphics = 0;
inline constexpr unsigned clock_sm = 1;
inline constexpr unsigned clock_memory = 2;
inline constexpr unsigned temperature_gpu = 0;
inline constexpr unsigned threshold_slowdown = 1;
inline constexpr unsigned error_corrected = 0;
inline constexpr unsigned error_uncorrected = 1;
inline constexpr unsigned ecc_volatile = 0;
inline constexpr unsigned samples_gpu_utilization = 1;
inline constexpr unsigned affinity_node = 0;

// Field identifiers for nvmlDeviceGetFieldValues.
inline constexpr unsigned field_memory_temperature = 82;
inline constexpr unsigned field_remapped_rows_failed = 145;
inline constexpr unsigned field_pcie_sent_bytes = 197;      // since driver 535; may wrap
inline constexpr unsigned field_pcie_received_bytes = 198;  // since driver 535; may wrap
inline constexpr unsigned field_recovery_action = 230;

/// nvmlPciInfo_t of nvmlDeviceGetPciInfo_v3.
struct PciInfoV3 {
  char bus_id_legacy[16];
  std::uint32_t domain;
  std::uint32_t bus;
  std::uint32_t device;
  std::uint32_t device_and_vendor;  // device id in the upper half, vendor in the lower
  std::uint32_t subsystem;
  char bus_id[32];  // "00000000:3B:00.0"
};
static_assert(sizeof(PciInfoV3) == 68);
static_assert(offsetof(PciInfoV3, bus_id) == 36);

/// nvmlExcludedDeviceInfo_t. Source: nvml.h of CUDA 11.2 to 13.0.
struct ExcludedDeviceInfo {
  PciInfoV3 place;
  char uuid[80];
};
static_assert(sizeof(ExcludedDeviceInfo) == 148);

/// nvmlDeviceGetPciInfo_v2 and older. Source: nvml.h of CUDA 8 (API version 8).
struct PciInfoV2 {
  char bus_id[16];  // "0000:3B:00.0"
  std::uint32_t domain;
  std::uint32_t bus;
  std::uint32_t device;
  std::uint32_t device_and_vendor;
  std::uint32_t subsystem;
  std::uint32_t reserved[4];
};
static_assert(sizeof(PciInfoV2) == 52);

/// nvmlMemory_t. `used` is "Sum of Reserved and Allocated device memory".
struct MemoryV1 {
  std::uint64_t total;
  std::uint64_t free;
  std::uint64_t used;
};
static_assert(sizeof(MemoryV1) == 24);

/// nvmlGetMemoryLimits_v1_t (nvml.h of CUDA 13.5): of a control group's directory, by its whole
/// path. The hard limit is memory_unlimited where there is none.
struct MemoryLimitsV1 {
  const char* group;
  unsigned long long soft;
  unsigned long long hard;
  unsigned long long used;
};
static_assert(sizeof(MemoryLimitsV1) == 32);
inline constexpr unsigned long long memory_unlimited = ~0ULL;
/// nvmlSetMemoryLimits_v1_t. Soft 0 and hard memory_unlimited take a limit away.
struct SetMemoryLimitsV1 {
  const char* group;
  unsigned long long soft;
  unsigned long long hard;
};
static_assert(sizeof(SetMemoryLimitsV1) == 24);

/// nvmlMemory_v2_t. `used` is "Allocated device memory": without `reserved`.
struct MemoryV2 {
  std::uint32_t version;
  std::uint64_t total;
  std::uint64_t reserved;
  std::uint64_t free;
  std::uint64_t used;
};
static_assert(sizeof(MemoryV2) == 40);
static_assert(struct_version<MemoryV2>(2) == 0x2000028);

/// nvmlUtilization_t.
struct Utilization {
  std::uint32_t gpu;
  std::uint32_t memory;
};
static_assert(sizeof(Utilization) == 8);

/// nvmlProcessInfo_v1_t: of the unversioned functions.
struct ProcessV1 {
  std::uint32_t pid;
  std::uint64_t used_memory;
};
static_assert(sizeof(ProcessV1) == 16);

/// nvmlProcessInfo_v2_t: of the _v2 functions, and of _v3 in all drivers but the next.
struct ProcessV2 {
  std::uint32_t pid;
  std::uint64_t used_memory;
  std::uint32_t gpu_instance;
  std::uint32_t compute_instance;
};
static_assert(sizeof(ProcessV2) == 24);

/// What the _v3 functions of drivers 535.43 to 535.86 wrote: a fifth member. Source: nvml.h 12.2,
/// where the five members remain as nvmlProcessDetail_v1_t.
struct ProcessV3Of535 {
  std::uint32_t pid;
  std::uint64_t used_memory;
  std::uint32_t gpu_instance;
  std::uint32_t compute_instance;
  std::uint64_t used_protected_memory;
};
static_assert(sizeof(ProcessV3Of535) == 32);

/// nvmlProcessUtilizationSample_t.
struct ProcessUtilization {
  std::uint32_t pid;
  std::uint64_t timestamp_us;
  std::uint32_t sm;
  std::uint32_t memory;
  std::uint32_t encoder;
  std::uint32_t decoder;
};
static_assert(sizeof(ProcessUtilization) == 32);

/// nvmlValue_t, and nvmlValueType_t that says which member holds.
union Value {
  double as_double;
  std::int32_t as_int;
  std::uint32_t as_unsigned;
  std::uint64_t as_unsigned_long;  // unsigned long and unsigned long long are alike here
  std::int64_t as_long;
  std::uint16_t as_unsigned_short;
};
static_assert(sizeof(Value) == 8);
inline constexpr unsigned value_is_double = 0;
inline constexpr unsigned value_is_unsigned = 1;
inline constexpr unsigned value_is_unsigned_long = 2;
inline constexpr unsigned value_is_unsigned_long_long = 3;
inline constexpr unsigned value_is_long_long = 4;
inline constexpr unsigned value_is_int = 5;
inline constexpr unsigned value_is_unsigned_short = 6;

/// nvmlSample_t.
struct Sample {
  std::uint64_t timestamp_us;
  Value value;
};
static_assert(sizeof(Sample) == 16);

/// nvmlFieldValue_t.
struct FieldValue {
  std::uint32_t field;
  std::uint32_t scope;
  std::int64_t timestamp_us;
  std::int64_t latency_us;
  std::uint32_t value_type;
  Return answer;
  Value value;
};
static_assert(sizeof(FieldValue) == 40);

/// nvmlTemperature_v1_t of nvmlDeviceGetTemperatureV.
struct TemperatureV1 {
  std::uint32_t version;
  std::uint32_t sensor;
  std::int32_t celsius;
};
static_assert(sizeof(TemperatureV1) == 12);

/// nvmlDeviceAttributes_t of nvmlDeviceGetAttributes_v2: MIG instances only.
struct Attributes {
  std::uint32_t multiprocessors;
  std::uint32_t shared_copy_engines;
  std::uint32_t shared_decoders;
  std::uint32_t shared_encoders;
  std::uint32_t shared_jpegs;
  std::uint32_t shared_ofas;
  std::uint32_t gpu_instance_slices;
  std::uint32_t compute_instance_slices;
  std::uint64_t memory_mib;
};
static_assert(sizeof(Attributes) == 40);

/// nvmlEventSet_t: a pointer to what only the library knows.
struct OpaqueEventSet;
using EventSet = OpaqueEventSet*;
// nvmlEventType…: one bit each.
inline constexpr std::uint64_t event_double_bit_error = 0x2;
inline constexpr std::uint64_t event_xid_error = 0x8;

/// nvmlEventData_t. The first nvmlEventSetWait (header of CUDA 10, API version 10) fills only what
/// stands before the instances.
struct EventData {
  Handle device;
  std::uint64_t type;
  std::uint64_t data;  // XID events: its number
  std::uint32_t gpu_instance;
  std::uint32_t compute_instance;
};
static_assert(sizeof(EventData) == 32);
static_assert(offsetof(EventData, gpu_instance) == 24);

}  // namespace berth::nvml
