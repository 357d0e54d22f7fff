#pragma once
// The functions of NVML that the probe calls, as a table of pointers. Any may be missing. The
// library (Library::open) or a test fills it.

#include <cstddef>
#include <expected>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/sentence.h"
#include "probe/nvml/abi_details.h"

namespace berth::nvml {

/// What a library has under that name; null: nothing.
[[nodiscard]] void* look_up(void* library, const char* symbol);

/// One function: null where this driver's library has none. `ordinal` numbers the functions, for
/// remembering which of them a device refused.
template <class... Parameters>
struct Function {
  using Pointer = Return (*)(Parameters...);

  /// Looked up in the library when it is first asked for: one look calls few of two hundred.
  class Entry {
   public:
    // NOLINTNEXTLINE(google-explicit-constructor): it stands for the pointer
    operator Pointer() const {
      if (library_ != nullptr) {
        found_ = reinterpret_cast<Pointer>(look_up(std::exchange(library_, nullptr), name_));
      }
      return found_;
    }
    Entry& operator=(Pointer known) {
      library_ = nullptr;
      found_ = known;
      return *this;
    }
    void look_in(void* library, const char* name) {
      library_ = library;
      name_ = name;
    }

   private:
    mutable Pointer found_ = nullptr;
    mutable void* library_ = nullptr;  // in which nobody has looked yet
    const char* name_ = "";
  };

  std::size_t ordinal = 0;
  std::string_view symbol;
  Entry call = {};
};

// A macro, against the rule of two: each name is a member, a symbol's text and an ordinal. A list
// kept three times would disagree with itself. Versions stand newest first; "(since N)" is the
// driver whose library first has the name.
// clang-format off
#define BERTH_NVML_STATE_FUNCTIONS(X)                                                             \
  X(nvmlInit_v2)                                                                                  \
  X(nvmlInit)                                                                                     \
  X(nvmlShutdown)                                                                                 \
  X(nvmlSystemGetDriverVersion, char*, unsigned)                                                  \
  X(nvmlSystemGetNVMLVersion, char*, unsigned)                                                    \
  X(nvmlSystemGetCudaDriverVersion_v2, int*)                /* since 418 */                       \
  X(nvmlSystemGetCudaDriverVersion, int*)                                                         \
  X(nvmlGetExcludedDeviceCount, unsigned*)                  /* since 460 */                       \
  X(nvmlGetExcludedDeviceInfoByIndex, unsigned, ExcludedDeviceInfo*) /* since 460 */              \
  X(nvmlDeviceGetCount_v2, unsigned*)                                                             \
  X(nvmlDeviceGetCount, unsigned*)                                                                \
  X(nvmlDeviceGetHandleByIndex_v2, unsigned, Handle*)                                             \
  X(nvmlDeviceGetHandleByIndex, unsigned, Handle*)                                                \
  X(nvmlEventSetCreate, EventSet*)                                                                \
  X(nvmlEventSetFree, EventSet)                                                                   \
  X(nvmlEventSetWait_v2, EventSet, EventData*, unsigned)    /* since 450 */                       \
  X(nvmlEventSetWait, EventSet, EventData*, unsigned)                                             \
  X(nvmlDeviceGetSupportedEventTypes, Handle, unsigned long long*)                                \
  X(nvmlDeviceRegisterEvents, Handle, unsigned long long, EventSet)                               \
  X(nvmlDeviceGetName, Handle, char*, unsigned)                                                   \
  X(nvmlDeviceGetUUID, Handle, char*, unsigned)                                                   \
  X(nvmlDeviceGetSerial, Handle, char*, unsigned)                                                 \
  X(nvmlDeviceGetVbiosVersion, Handle, char*, unsigned)                                           \
  X(nvmlDeviceGetPciInfo_v3, Handle, PciInfoV3*)                                                  \
  X(nvmlDeviceGetPciInfo_v2, Handle, PciInfoV2*)                                                  \
  X(nvmlDeviceGetMinorNumber, Handle, unsigned*)                                                  \
  X(nvmlDeviceGetBrand, Handle, unsigned*)                                                        \
  X(nvmlDeviceGetArchitecture, Handle, unsigned*)           /* since 450 */                       \
  X(nvmlDeviceGetCudaComputeCapability, Handle, int*, int*)                                       \
  X(nvmlDeviceGetNumGpuCores, Handle, unsigned*)            /* since 510 */                       \
  X(nvmlDeviceGetMemoryBusWidth, Handle, unsigned*)         /* since 510 */                       \
  X(nvmlDeviceGetMemoryAffinity, Handle, unsigned, unsigned long*, unsigned) /* since 450 */      \
  X(nvmlDeviceGetPersistenceMode, Handle, unsigned*)                                              \
  X(nvmlDeviceGetMigMode, Handle, unsigned*, unsigned*)     /* since 450 */                       \
  X(nvmlDeviceGetEccMode, Handle, unsigned*, unsigned*)                                           \
  X(nvmlDeviceGetDisplayActive, Handle, unsigned*)                                                \
  X(nvmlDeviceGetDisplayMode, Handle, unsigned*)                                                  \
  X(nvmlDeviceGetComputeMode, Handle, unsigned*)                                                  \
  X(nvmlDeviceGetPerformanceState, Handle, unsigned*)                                             \
  X(nvmlDeviceGetMemoryInfo_v2, Handle, MemoryV2*)          /* since 510 */                       \
  X(nvmlDeviceGetMemoryInfo, Handle, MemoryV1*)                                                   \
  X(nvmlDeviceGetMemoryLimits_v1, Handle, MemoryLimitsV1*)  /* since 615 */                       \
  X(nvmlDeviceSetMemoryLimits_v1, Handle, SetMemoryLimitsV1*)  /* since 615; root */              \
  X(nvmlDeviceGetUtilizationRates, Handle, Utilization*)                                          \
  X(nvmlDeviceGetEncoderUtilization, Handle, unsigned*, unsigned*)                                \
  X(nvmlDeviceGetDecoderUtilization, Handle, unsigned*, unsigned*)                                \
  X(nvmlDeviceGetSamples, Handle, unsigned, unsigned long long, unsigned*, unsigned*, Sample*)    \
  X(nvmlDeviceGetTemperatureV, Handle, TemperatureV1*)      /* since 570 */                       \
  X(nvmlDeviceGetTemperature, Handle, unsigned, unsigned*)                                        \
  X(nvmlDeviceGetTemperatureThreshold, Handle, unsigned, unsigned*)                               \
  X(nvmlDeviceGetFanSpeed, Handle, unsigned*)                                                     \
  X(nvmlDeviceGetPowerUsage, Handle, unsigned*)                                                   \
  X(nvmlDeviceGetEnforcedPowerLimit, Handle, unsigned*)                                           \
  X(nvmlDeviceGetPowerManagementDefaultLimit, Handle, unsigned*)                                  \
  X(nvmlDeviceGetTotalEnergyConsumption, Handle, unsigned long long*)                             \
  X(nvmlDeviceGetClockInfo, Handle, unsigned, unsigned*)                                          \
  X(nvmlDeviceGetMaxClockInfo, Handle, unsigned, unsigned*)                                       \
  X(nvmlDeviceGetCurrentClocksEventReasons, Handle, unsigned long long*)    /* since 535 */       \
  X(nvmlDeviceGetCurrentClocksThrottleReasons, Handle, unsigned long long*)                       \
  X(nvmlDeviceGetCurrPcieLinkGeneration, Handle, unsigned*)                                       \
  X(nvmlDeviceGetMaxPcieLinkGeneration, Handle, unsigned*)                                        \
  X(nvmlDeviceGetCurrPcieLinkWidth, Handle, unsigned*)                                            \
  X(nvmlDeviceGetMaxPcieLinkWidth, Handle, unsigned*)                                             \
  X(nvmlDeviceGetPcieReplayCounter, Handle, unsigned*)                                            \
  X(nvmlDeviceGetFieldValues, Handle, int, FieldValue*)                                           \
  X(nvmlDeviceGetTotalEccErrors, Handle, unsigned, unsigned, unsigned long long*)                 \
  X(nvmlDeviceGetComputeRunningProcesses_v3, Handle, unsigned*, void*)      /* since 510 */       \
  X(nvmlDeviceGetComputeRunningProcesses_v2, Handle, unsigned*, void*)      /* since 450 */       \
  X(nvmlDeviceGetComputeRunningProcesses, Handle, unsigned*, void*)                               \
  X(nvmlDeviceGetGraphicsRunningProcesses_v3, Handle, unsigned*, void*)     /* since 510 */       \
  X(nvmlDeviceGetGraphicsRunningProcesses_v2, Handle, unsigned*, void*)     /* since 450 */       \
  X(nvmlDeviceGetGraphicsRunningProcesses, Handle, unsigned*, void*)                              \
  X(nvmlDeviceGetMPSComputeRunningProcesses_v3, Handle, unsigned*, void*)   /* since 510 */       \
  X(nvmlDeviceGetMPSComputeRunningProcesses_v2, Handle, unsigned*, void*)   /* since 450 */       \
  X(nvmlDeviceGetMPSComputeRunningProcesses, Handle, unsigned*, void*)                            \
  X(nvmlDeviceGetProcessUtilization, Handle, ProcessUtilization*, unsigned*, unsigned long long)  \
  X(nvmlDeviceGetMaxMigDeviceCount, Handle, unsigned*)      /* since 450 */                       \
  X(nvmlDeviceGetMigDeviceHandleByIndex, Handle, unsigned, Handle*) /* since 450 */               \
  X(nvmlDeviceGetGpuInstanceId, Handle, unsigned*)          /* since 450 */                       \
  X(nvmlDeviceGetComputeInstanceId, Handle, unsigned*)      /* since 450 */                       \
  X(nvmlDeviceGetAttributes_v2, Handle, Attributes*)        /* since 450 */                       \
  X(nvmlDeviceGetConfComputeMemSizeInfo, Handle, void*)     /* only whether it is there */        \
  X(nvmlDeviceGetRunningProcessDetailList, Handle, void*)   /* only whether it is there */

// For details alone (abi_details.h). "after 555": in none of the lists of symbols, but in the
// newest header.
#define BERTH_NVML_DETAIL_FUNCTIONS(X)                                                            \
  X(nvmlDeviceGetPciInfoExt, Handle, PciInfoExt*)         /* since 550 */                         \
  X(nvmlDeviceGetPdi, Handle, Pdi*)                       /* after 555 */                         \
  X(nvmlDeviceGetBoardId, Handle, unsigned*)                                                      \
  X(nvmlDeviceGetMultiGpuBoard, Handle, unsigned*)                                                \
  X(nvmlDeviceGetBoardPartNumber, Handle, char*, unsigned)                                        \
  X(nvmlDeviceGetPlatformInfo, Handle, PlatformInfo*)     /* after 555 */                         \
  X(nvmlDeviceGetModuleId, Handle, unsigned*)             /* since 535 */                         \
  X(nvmlDeviceGetInforomImageVersion, Handle, char*, unsigned)                                    \
  X(nvmlDeviceGetInforomVersion, Handle, unsigned, char*, unsigned)                               \
  X(nvmlDeviceValidateInforom, Handle)                                                            \
  X(nvmlDeviceGetLastBBXFlushTime, Handle, unsigned long long*, unsigned long*) /* since 535 */   \
  X(nvmlDeviceGetBBXTimeData_v1, Handle, BbxTime*)        /* after 555 */                         \
  X(nvmlDeviceGetBridgeChipInfo, Handle, BridgeChips*)                                            \
  X(nvmlDeviceGetGspFirmwareVersion, Handle, char*)       /* since 525 */                         \
  X(nvmlDeviceGetGspFirmwareMode, Handle, unsigned*, unsigned*) /* since 525 */                   \
  X(nvmlDeviceGetHostname_v1, Handle, Hostname*)          /* after 555 */                         \
  X(nvmlDeviceGetAddressingMode, Handle, VersionedNumber*) /* after 555 */                        \
  X(nvmlDeviceGetDriverModel_v2, Handle, unsigned*, unsigned*) /* since 555 */                    \
  X(nvmlDeviceGetDriverModel, Handle, unsigned*, unsigned*)                                       \
  X(nvmlDeviceGetCpuAffinity, Handle, unsigned, unsigned long*)                                   \
  X(nvmlDeviceGetGpuOperationMode, Handle, unsigned*, unsigned*)                                  \
  X(nvmlDeviceGetC2cModeInfoV, Handle, C2cMode*)          /* since 550 */                         \
  X(nvmlDeviceGetVirtualizationMode, Handle, unsigned*)                                           \
  X(nvmlDeviceGetHostVgpuMode, Handle, unsigned*)         /* since 450 */                         \
  X(nvmlDeviceGetVgpuHeterogeneousMode, Handle, VersionedNumber*) /* since 550 */                 \
  X(nvmlDeviceGetVgpuCapabilities, Handle, unsigned, unsigned*) /* since 525 */                   \
  X(nvmlGetVgpuDriverCapabilities, unsigned, unsigned*)   /* since 525 */                         \
  X(nvmlDeviceGetDramEncryptionMode, Handle, VersionedNumber*, VersionedNumber*) /* after 555 */  \
  X(nvmlDeviceGetAutoBoostedClocksEnabled, Handle, unsigned*, unsigned*)                          \
  X(nvmlDeviceGetCapabilities, Handle, VersionedNumber*)  /* since 555 */                         \
  X(nvmlDeviceGetPowerState, Handle, unsigned*)                                                   \
  X(nvmlDeviceGetGpuMaxPcieLinkGeneration, Handle, unsigned*) /* since 525 */                     \
  X(nvmlDeviceGetSupportedClocksEventReasons, Handle, unsigned long long*) /* since 535 */        \
  X(nvmlDeviceGetSupportedClocksThrottleReasons, Handle, unsigned long long*)                     \
  X(nvmlDeviceGetBAR1MemoryInfo, Handle, Bar1Memory*)                                             \
  X(nvmlDeviceGetConfComputeProtectedMemoryUsage, Handle, MemoryV1*) /* since 535 */              \
  X(nvmlDeviceGetJpgUtilization, Handle, unsigned*, unsigned*) /* since 535 */                    \
  X(nvmlDeviceGetOfaUtilization, Handle, unsigned*, unsigned*) /* since 535 */                    \
  X(nvmlDeviceGetEncoderStats, Handle, unsigned*, unsigned*, unsigned*)                           \
  X(nvmlDeviceGetFBCStats, Handle, FbcStats*)             /* since 418 */                         \
  X(nvmlDeviceGetMemoryErrorCounter, Handle, unsigned, unsigned, unsigned, unsigned long long*)   \
  X(nvmlDeviceGetSramEccErrorStatus, Handle, SramErrors*) /* since 535 */                         \
  X(nvmlDeviceGetRepairStatus, Handle, RepairStatus*)     /* after 555 */                         \
  X(nvmlDeviceGetUnrepairableMemoryFlag_v1, Handle, UnrepairableMemory*) /* after 555 */          \
  X(nvmlDeviceGetRetiredPages_v2, Handle, unsigned, unsigned*, std::uint64_t*, std::uint64_t*) /* since 418 */ \
  X(nvmlDeviceGetRetiredPages, Handle, unsigned, unsigned*, std::uint64_t*)                       \
  X(nvmlDeviceGetRetiredPagesPendingStatus, Handle, unsigned*)                                    \
  X(nvmlDeviceGetRemappedRows_v2, Handle, RemappedRowsV2*) /* after 555 */                        \
  X(nvmlDeviceGetRemappedRows, Handle, unsigned*, unsigned*, unsigned*, unsigned*) /* since 450 */ \
  X(nvmlDeviceGetRowRemapperHistogram, Handle, RemapHistogram*) /* since 450 */                   \
  X(nvmlDeviceGetMarginTemperature, Handle, VersionedNumber*) /* after 555 */                     \
  X(nvmlDeviceGetPowerManagementMode, Handle, unsigned*)                                          \
  X(nvmlDeviceGetPowerManagementLimit, Handle, unsigned*)                                         \
  X(nvmlDeviceGetPowerManagementLimitConstraints, Handle, unsigned*, unsigned*)                   \
  X(nvmlDeviceWorkloadPowerProfileGetCurrentProfiles, Handle, PowerProfiles*) /* after 555 */     \
  X(nvmlDeviceGetApplicationsClock, Handle, unsigned, unsigned*)                                  \
  X(nvmlDeviceGetDefaultApplicationsClock, Handle, unsigned, unsigned*)                           \
  X(nvmlDeviceGetMaxCustomerBoostClock, Handle, unsigned, unsigned*)                              \
  X(nvmlDeviceGetGpuFabricInfoV, Handle, FabricInfoV3*)   /* since 550 */                         \
  X(nvmlDeviceGetGpuFabricInfo, Handle, FabricInfoV1*)    /* since 525 */                         \
  X(nvmlDeviceGetAccountingMode, Handle, unsigned*)                                               \
  X(nvmlDeviceGetAccountingBufferSize, Handle, unsigned*)                                         \
  X(nvmlDeviceGetAccountingPids, Handle, unsigned*, unsigned*)                                    \
  X(nvmlDeviceGetAccountingStats, Handle, unsigned, AccountingStats*)                             \
  X(nvmlDeviceGetSupportedMemoryClocks, Handle, unsigned*, unsigned*)                             \
  X(nvmlDeviceGetSupportedGraphicsClocks, Handle, unsigned, unsigned*, unsigned*)                 \
  X(nvmlDeviceGetNvLinkRemotePciInfo_v2, Handle, unsigned, PciInfoV3*) /* since 418 */            \
  X(nvmlDeviceGetProcessesUtilizationInfo, Handle, ProcessesUtilization*) /* since 550 */         \
  X(nvmlGpmQueryDeviceSupport, Handle, GpmSupport*)       /* since 525 */                         \
  X(nvmlGpmSampleAlloc, GpmSample*)                       /* since 525 */                         \
  X(nvmlGpmSampleFree, GpmSample)                         /* since 525 */                         \
  X(nvmlGpmSampleGet, Handle, GpmSample)                  /* since 525 */                         \
  X(nvmlGpmMetricsGet, GpmMetrics*)                       /* since 525 */
// clang-format on

#define BERTH_NVML_FUNCTIONS(X) BERTH_NVML_STATE_FUNCTIONS(X) BERTH_NVML_DETAIL_FUNCTIONS(X)

enum class Ordinal : std::size_t {
#define BERTH_NVML_ORDINAL(name, ...) name,
  BERTH_NVML_FUNCTIONS(BERTH_NVML_ORDINAL) count
#undef BERTH_NVML_ORDINAL
};

struct Api {
#define BERTH_NVML_MEMBER(name, ...) \
  Function<__VA_ARGS__> name{static_cast<std::size_t>(Ordinal::name), #name};
  BERTH_NVML_FUNCTIONS(BERTH_NVML_MEMBER)
#undef BERTH_NVML_MEMBER

  /// Drivers 535.43 to 535.86: their _v3 process entries have another layout. They have the one
  /// function and not yet the other (found out by nvitop).
  [[nodiscard]] bool has_five_member_processes() const {
    return nvmlDeviceGetConfComputeMemSizeInfo.call != nullptr &&
           nvmlDeviceGetRunningProcessDetailList.call == nullptr;
  }
};

/// The names of all functions in the table.
[[nodiscard]] std::vector<std::string_view> symbols();

/// Why the library could not be used, as the loader put it.
struct LoadFailure {
  bool absent = false;  // there is no such file; false: it is there and unusable
  Sentence message;
};

/// An open libnvidia-ml. Closes it; does not call nvmlShutdown.
class Library {
 public:
  static std::expected<Library, LoadFailure> open(const std::string& path);
  [[nodiscard]] const Api& api() const { return api_; }

 private:
  struct Close {
    void operator()(void* handle) const;
  };
  std::unique_ptr<void, Close> handle_;
  Api api_;
};

}  // namespace berth::nvml
